# SPDX-License-Identifier: GPL-2.0-or-later
"""golden.py GOLDEN PRINTED: what Harvester's controller wrote against what pcidevfs-sync prints."""
import json
import sys

import yaml

# The controller never reached the vGPUs on this kernel, so it left their labels out.
PARENT = "harvesterhci.io/parentSRIOVGPUDevice"
# Devices and NICs of the management network: the controller asked netlink of another kernel.
MANAGED = {"node1-000004001", "node1-eno50"}
KINDS = {"PCIDevice", "SRIOVGPUDevice"}


def key(o):
    return o["kind"], o["metadata"]["name"]


def same_names():
    """The golden's pci.ids; another one has other names."""
    for path in ("/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids"):
        try:
            with open(path, encoding="utf-8", errors="replace") as ids:
                return "2023.04.10" in ids.read(400)
        except OSError:
            pass
    return False


def without(o, *path):
    for p in path[:-1]:
        o = o.get(p, {})
    return o.pop(path[-1], None)


def main():
    golden = {key(o): o for o in map(json.loads, open(sys.argv[1], encoding="utf-8"))
              if o["apiVersion"].startswith("devices.") and o["kind"] in KINDS}
    printed = {key(o): o for o in yaml.safe_load_all(open(sys.argv[2], encoding="utf-8"))
               if o["kind"] in KINDS}
    names = same_names()
    bad = managed = parents = 0
    for k in sorted(golden.keys() | printed.keys()):
        g, p = golden.get(k), printed.get(k)
        if k[1] in MANAGED:
            managed += p is None
            continue
        if p and k[0] == "PCIDevice":
            parents += without(p, "metadata", "labels", PARENT) is not None
        for o in (g, p) if not names else ():
            for name in ("description", "resourceName"):
                without(o or {}, "status", name)
        if g != p:
            bad += 1
            print(f"{k}:\n- {json.dumps(g, sort_keys=True)}\n+ {json.dumps(p, sort_keys=True)}")
    if managed != sum(k[1] in MANAGED for k in golden):
        print("a device of the management network has an object")
        bad += 1
    if parents != 16:
        print(f"{parents} VFs name their GPU")
        bad += 1
    if len(golden) < 200:
        print(f"only {len(golden)} golden objects")
        bad += 1
    return bad > 0


sys.exit(main())
