#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""KUBELET-DIR TREE claim|allocate|again ROUNDS DEVICE | lists|stay DEVICES: as kubelet.go, where there is no Go."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../k8s"))
from peer import Kubelet, dp  # noqa: E402

DIR, TREE, COMMAND, N = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
PATIENCE = 60
APART = 0.25  # s; a pod's end and the next one's Allocate, at least
WARM = 0.03  # of that
IN_ROW = 6  # calls that do nothing, which take as long as an Allocate


def put(device, name, value):
    """When it began: who writes waits from then on."""
    begin = time.monotonic()
    with open("%s/devices/%s/%s" % (TREE, device, name), "wb", buffering=0) as f:
        f.write(value.encode() + b"\n")
    return begin


def wait(what, true):
    with k.cond:
        if not k.cond.wait_for(true, PATIENCE):
            sys.exit("kubelet.py: in vain: " + what)


def has(device):
    return next((e for e in k.endpoints.values() if not e.ended and e.health().get(device) == "Healthy"), None)


def well():
    return sum(h == "Healthy" for e in k.endpoints.values() for h in e.health().values())


def percentiles(name, v):
    v = sorted(1e3 * s for s in v)
    at = [v[min(len(v) * p // 100, len(v) - 1)] for p in (50, 99, 100)]
    print("%s p50_ms=%.3f p99_ms=%.3f max_ms=%.3f" % (name, *at))


def claim(device):
    claims, releases = [], []
    for _ in range(N):
        asked = put(device, "claim", "bench")
        wait(device + " is offered", lambda: has(device))
        e = has(device)
        claims.append(e.lists[-1][0] - asked)
        asked = put(device, "claim", "none")
        wait(device + " is gone", lambda e=e: device not in e.now())
        releases.append(e.lists[-1][0] - asked)
        if not e.now():  # the last of its resource: until that is gone too
            wait("the end", lambda e=e: e.ended)
            time.sleep(APART)  # a name that comes back at once waits until kubelet has ended the former
    percentiles("claim", claims)
    percentiles("release", releases)


def allocate(name, device, after):
    """`after` is called between a pod's end and the next one's Allocate."""
    wait(device + " is offered", lambda: has(device))
    e = has(device)
    request = dp.AllocateRequest(container_requests=[dp.ContainerAllocateRequest(devices_ids=[device])])
    took = []
    for _ in range(N):
        begin = time.monotonic()
        e.call("Allocate", request, dp.AllocateResponse)
        took.append(time.monotonic() - begin)
        put(device, "allocated_to", "none")
        after(e)
    percentiles(name, took)


def allocate_apart(device):
    nothing, rows = [], []

    def after(e):
        time.sleep(APART - WARM)
        slept = time.monotonic()
        while time.monotonic() - slept < WARM:  # no processor sleeps: a node that starts a pod is at work
            row = time.monotonic()
            for _ in range(IN_ROW):
                begin = time.monotonic()
                e.call("GetDevicePluginOptions", dp.Empty(), dp.DevicePluginOptions)
                nothing.append(time.monotonic() - begin)
            rows.append(time.monotonic() - row)

    allocate("allocate", device, after)
    percentiles("nothing", nothing)
    percentiles("row", rows)


def allocate_again(device):
    def after(_):  # until it was looked who holds the device after its pod's end
        with open("%s/devices/%s/holders" % (TREE, device)) as f:
            f.read()

    allocate("again", device, after)


def lists():
    begin = time.monotonic()
    wait("%d devices" % N, lambda: well() == N)
    largest = max(dp.ListAndWatchResponse(devices=e.now().values()).ByteSize() for e in k.endpoints.values())
    print("lists resources=%d largest=%d ms=%.1f" % (len(k.endpoints), largest, 1e3 * (time.monotonic() - begin)))


k = Kubelet(DIR)
k.start()
{"claim": claim, "allocate": allocate_apart, "again": allocate_again}.get(COMMAND, lambda *_: lists())(*sys.argv[5:])
sys.stdout.flush()
if COMMAND == "stay":
    time.sleep(1e6)
os._exit(0)  # what still listens is cut off
