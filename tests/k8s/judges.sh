# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the tests that show KubeVirt's own code what a container got, after lib.sh.
# shellcheck shell=bash disable=SC2154
judges=$(tests/k8s/ground/build --where kubevirt) || skip "KubeVirt's judges are not built: make test-k8s"

hostdev() { # hostdev ALIAS ADDRESS: libvirt's element for it, as both judges print it
	local domain bus slot function
	IFS=:. read -r domain bus slot function <<<"$2"
	cat <<-END
		<hostdev type="pci" managed="no">
		  <source>
		    <address type="pci" domain="0x$domain" bus="0x$bus" slot="0x$slot" function="0x$function"></address>
		  </source>
		  <alias name="ua-$1"></alias>
		</hostdev>
	END
}

mediated() { # mediated ALIAS UUID [ATTRIBUTES]: the same for a mediated device
	cat <<-END
		<hostdev type="mdev" mode="subsystem" model="vfio-pci"${3:+ $3}>
		  <source>
		    <address uuid="$2"></address>
		  </source>
		  <alias name="ua-$1"></alias>
		</hostdev>
	END
}

plugged() { # plugged ALIAS BUS DEVICE: the same for a USB device
	cat <<-END
		<hostdev type="usb" mode="subsystem">
		  <source>
		    <address bus="$2" device="$3"></address>
		  </source>
		  <alias name="ua-$1"></alias>
		</hostdev>
	END
}

vmi() { # vmi LIST NAME=RESOURCE...: hostDevices or gpus of a VM
	local list=$1
	shift
	printf '%s\n' "$@" | jq -nR --arg l "$list" \
		'{spec: {domain: {devices: {($l): [inputs | split("=") | {name: .[0], deviceName: .[1]}]}}}}'
}

judged() { # judged POD VMI ELEMENTS: both make these of it
	local judge said env
	mapfile -t env < <(pod_env "$1")
	for judge in kubevirt-new kubevirt-old; do
		said=$(env -i "${env[@]}" "$judges/$judge" -vmi <(echo "$2")) || fail "$judge refuses the environment of $1"
		said=${said//' type="" bus=""'/} # the old one says so of each UUID,
		said=${said//' type=""'/} # and this of a USB device
		[ "$said" = "$3" ] || fail "$judge makes of ${env[*]}: $said, should be $3"
	done
}

variables() { # variables POD VARIABLE=VALUE...: just these
	local pod=$1
	shift
	[ "$(pod_env "$pod" | sort)" = "$(printf '%s\n' "$@" | sort)" ] || fail "$pod has $(pod_env "$pod")"
}
