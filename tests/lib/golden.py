# SPDX-License-Identifier: GPL-2.0-or-later
"""golden.py machine WORLD GOLDEN <RECORDING >MACHINE: the recorded machine, with the vGPU types that GOLDEN has.
golden.py compare WORLD GOLDEN PRINTED: what Harvester's controller wrote against what pcidevfs-sync prints."""
import collections
import json
import sys

import yaml

# Devices and NICs of the management network: the controller asked netlink of another kernel.
MANAGED = {"node1-000004001", "node1-eno50"}
KINDS = {"vfio": {"Node", "PCIDevice", "SRIOVGPUDevice", "SRIOVNetworkDevice", "USBDevice", "VGPUDevice"}, "mdev": {"VGPUDevice"}}
COUNT = {"vfio": 223, "mdev": 16}


def golden_objects(kinds):
    with open(sys.argv[3], encoding="utf-8") as f:
        return [o for o in map(json.loads, f) if o["apiVersion"].startswith("devices.") and o["kind"] in kinds]


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


def machine(world):
    """The kernel lists the types of a VF in these files; the recording, of another driver, has none. Where a VF has a
    mediated device, none is available."""
    types = {n: i for o in golden_objects({"VGPUDevice"}) for n, i in o["status"].get("availableTypes", {}).items()}
    path, live = None, set()
    lines = sys.stdin.read().split("\n")
    for line in lines:
        if line.startswith("P: "):
            path = line[3:]
        elif line.startswith("L: mdev_type="):
            live.add(path.rsplit("/", 1)[0])
    for line in lines:
        print(line)
        if line.startswith("P: "):
            path = line[3:]
        if not line.startswith("L: physfn=") or "/0000:08:" not in path:
            continue
        if world == "vfio":
            text = "".join(f"{i} : {n}\\n" for n, i in types.items())
            print(f"A: nvidia/creatable_vgpu_types=ID    : vGPU Name\\n{text}\nA: nvidia/current_vgpu_type=0\\n")
            continue
        for name, i in types.items():
            at = f"A: mdev_supported_types/{i}"
            print(f"{at}/available_instances={int(path not in live)}\\n\n{at}/name={name}\\n\n{at}/device_api=vfio-pci\\n")


def deviate(golden, printed, counts):
    """Takes out what is known to differ (docs/KUBERNETES.md), and counts it."""
    kind, name = key(golden or printed)
    if name in MANAGED:
        counts["of the management network"] += printed is None and golden is not None
        return None, None
    if golden and printed and kind == "USBDevice":
        both = [o["status"].pop("description") for o in (golden, printed)]
        counts["described by the tree"] += both[0] != both[1]
    if golden and printed and kind == "VGPUDevice" and golden["spec"]["enabled"] and not golden["spec"]["vGPUTypeName"]:
        counts["adopted with its type"] += 1
        golden["spec"]["vGPUTypeName"] = golden["status"]["configureVGPUTypeName"]
    return golden, printed


EXPECTED = {"vfio": {"of the management network": 2, "described by the tree": 3}, "mdev": {"adopted with its type": 3}}


def main(world):
    golden = {key(o): o for o in golden_objects(KINDS[world])}
    with open(sys.argv[4], encoding="utf-8") as f:
        printed = {key(o): o for o in yaml.safe_load_all(f) if o["kind"] in KINDS[world]}
    names = same_names()
    bad, counts = 0, collections.Counter()
    for k in sorted(golden.keys() | printed.keys()):
        g, p = deviate(golden.get(k), printed.get(k), counts)
        for o in (g, p) if not names else ():
            for name in ("description", "resourceName"):
                (o or {}).get("status", {}).pop(name, None)
        if g != p:
            bad += 1
            print(f"{k}:\n- {json.dumps(g, sort_keys=True)}\n+ {json.dumps(p, sort_keys=True)}")
    if +counts != EXPECTED[world]:
        print(f"deviations: {dict(counts)}, should be {EXPECTED[world]}")
        bad += 1
    if len(golden) < COUNT[world]:
        print(f"only {len(golden)} golden objects")
        bad += 1
    return bad > 0


if sys.argv[1] == "machine":
    machine(sys.argv[2])
else:
    sys.exit(main(sys.argv[2]))
