# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# --print over the recorded machine against what Harvester's controller wrote on it, key for key, but for the
# deviations of docs/KUBERNETES.md, each of which must still be one; with vGPUs as in the world that $world names.
. tests/fs/lib.sh
python3 -c 'import yaml' 2>/dev/null || skip "python3-yaml is not installed"
golden=tests/data/harvester-golden-$world.jsonl
zcat tests/machines/vgpu-node.umockdev.gz | python3 tests/lib/golden.py machine "$world" $golden >"$D/machine" || fail "no machine"
start_sim "$D/machine"
start_daemon
"$bin/pcidevfs-sync" --tree "$T" --node node1 --print >"$D/printed" || fail "--print failed"
python3 tests/lib/golden.py compare "$world" $golden "$D/printed" || fail "see above"
stop_daemon
