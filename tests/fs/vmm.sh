# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced after lib.sh: what VMMs say of hostdev.xml and qemu. What is not installed is not asked, and named by the skip
# with which the test then must end.
# shellcheck shell=sh
lacking=

here() { # here PROGRAM...: is all of it installed?
	h_all=0
	for p; do
		command -v "$p" >/dev/null && continue
		lacking="$lacking $p"
		h_all=1
	done
	return $h_all
}

skip_if_lacking() {
	[ -z "$lacking" ] || skip "not installed, hence not asked:$lacking"
}

libvirt_takes() { # libvirt_takes FILE: as a device of a domain, by the schema
	here virt-xml-validate xmllint || return 0
	{
		echo "<domain type='kvm'><name>vm</name><memory>1024</memory><os><type>hvm</type></os><devices>"
		cat "$1"
		echo '</devices></domain>'
	} >"$D/domain.xml"
	virt-xml-validate "$D/domain.xml" domain >"$D/said" 2>&1 || fail "libvirt: $(cat "$D/said")"
}
