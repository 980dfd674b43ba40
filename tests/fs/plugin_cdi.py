#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The CDI spec that the plugin writes, against the schema of CDI itself and against the tree."""
import copy
import json
import os
import time

import jsonschema

from plugin_lib import ARGV, DIR, DISK, DISK_NAME, MATE, NIC, NIC_NAME, Plugin, get, put
from peer import Kubelet

SPEC = os.environ["D"] + "/cdi/pcidevfs.json"
SCHEMA = os.path.abspath("tests/data/cdi-schema/schema.json")


def load(path):
    with open(path) as f:
        return json.load(f)


schema = load(SCHEMA)
validator = jsonschema.Draft7Validator(schema, resolver=jsonschema.RefResolver("file://" + SCHEMA, schema))


def only(keys, value):
    # Runtimes refuse what they do not know; the schema lets it pass.
    assert set(value) <= set(keys.split()), value


def check(spec, devices):
    validator.validate(spec)
    only("cdiVersion kind devices", spec)
    assert spec["kind"] == "pcidevfs/device"
    assert [d["name"] for d in spec["devices"]] == devices, spec
    for d in spec["devices"]:
        only("name containerEdits", d)
        only("deviceNodes", d["containerEdits"])
        nodes = d["containerEdits"]["deviceNodes"]
        assert [n["path"] for n in nodes] == get(d["name"], "nodes").split("\n"), nodes
        for n in nodes:
            only("path hostPath permissions", n)
            assert n["hostPath"] == os.environ["S"] + n["path"] and n["permissions"] == "rwm", n


def wait(devices):
    end = time.monotonic() + 10
    while not os.path.exists(SPEC) or [d["name"] for d in load(SPEC).get("devices", [])] != devices:
        assert time.monotonic() < end, devices
        time.sleep(0.01)
    check(load(SPEC), devices)


k = Kubelet(DIR)

# What a former one of us has written containers need until the tree is known.
os.mkdir(os.path.dirname(SPEC))
with open(SPEC, "w") as f:
    f.write("{}")
ARGV += ["--tree", DIR + "/nowhere"]
p = Plugin()
end = time.monotonic() + 10
while "/nowhere/events_pipe: No such file or directory" not in p.said():
    assert time.monotonic() < end, p.said()
    time.sleep(0.01)
time.sleep(0.2)
assert p.end() == 0
assert load(SPEC) == {}
del ARGV[-2:]

p.start()
k.start()
put(NIC, "claim", "alice")
wait([MATE, NIC])
put(DISK, "claim", "alice")
wait([MATE, NIC, DISK])

# That a wrong one would be found.
for wrong in ("kind", "devices"):
    bad = copy.deepcopy(load(SPEC))
    del bad[wrong]
    assert not validator.is_valid(bad), wrong
bad = copy.deepcopy(load(SPEC))
del bad["devices"][0]["containerEdits"]["deviceNodes"][0]["path"]
assert not validator.is_valid(bad)

# Names that lead nowhere would keep the pod from starting.
k.wait_health(NIC_NAME, {NIC: "Healthy"})
os.unlink(SPEC)
a = k.allocate(NIC_NAME, NIC).container_responses[0]
assert [c.name for c in a.cdi_devices] == ["pcidevfs/device=" + NIC]
wait([MATE, NIC, DISK])
k.wait_health(DISK_NAME, {DISK: "Healthy"})
os.unlink(SPEC)
os.rmdir(os.path.dirname(SPEC))
a = k.allocate(DISK_NAME, DISK).container_responses[0]
assert [c.name for c in a.cdi_devices] == ["pcidevfs/device=" + DISK]
wait([MATE, NIC, DISK])

# Where no spec can be written a container gets its device without, and all else goes on: from the start, too.
put(DISK, "allocated_to", "none")
assert p.end() == 0
os.unlink(SPEC)
os.rmdir(os.path.dirname(SPEC))
with open(os.path.dirname(SPEC), "w"):
    pass
k.reset()
p.start()
k.wait_health(DISK_NAME, {DISK: "Healthy"})
assert not k.allocate(DISK_NAME, DISK).container_responses[0].cdi_devices
assert p.said().count("/cdi/pcidevfs.json: Not a directory; containers get their devices without it") == 1
os.unlink(os.path.dirname(SPEC))
put(DISK, "allocated_to", "none")
k.wait_health(DISK_NAME, {DISK: "Healthy"})
assert k.allocate(DISK_NAME, DISK).container_responses[0].cdi_devices
wait([MATE, NIC, DISK])

# A spec without devices is not legal.
for dev in (NIC, DISK):
    put(dev, "allocated_to", "none")
put(DISK, "claim", "none")
wait([MATE, NIC])
put(NIC, "claim", "none")
end = time.monotonic() + 10
while os.path.exists(SPEC):
    assert time.monotonic() < end, load(SPEC)
    time.sleep(0.01)
assert p.end() == 0
k.stop()
