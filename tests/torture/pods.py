#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
pods.py [--seed N] [--seconds S | --trace FILE] [--without NAME]...: a random tester of pods on a genuine kubelet

Pods come and go while daemon, plugin and kubelet are ended, the tree is away, devices are unplugged and the node
reboots. After each operation /proc tells which container has what, and that is held against the tree. The
operations are written to $TRACE, a line each, as they are begun; --trace does them again. It wants namespaces
of its own: `make torture-k8s`.
"""
import argparse
import json
import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from machine import Failure, wait_for  # noqa: E402
from node import Node  # noqa: E402
from pod_operations import PFS, PLAIN, ROWS, all_claims, settle  # noqa: E402
from pod_oracle import Oracle  # noqa: E402

BY_NAME = {row.name: row for row in ROWS}


def chosen(rng, without):
    """Operations without end."""
    rows = [r for r in ROWS if r.name not in without]
    while True:
        row = rng.choices(rows, [r.weight for r in rows])[0]
        yield [row.name] + row.pick(rng)


def end_claims(node):
    """All is released, whatever was done, and the host's drivers have it again."""
    for address in [a for pf in PFS for a in node.vfs(pf).values()] + list(PLAIN):
        def released(address=address):
            said = node.put(address, "claim", "none")
            return said == "ok" or "%s: %s: %s" % (address, said, node.get(address, "last_error"))
        wait_for("the release", 10, released)
    left = [a for a in node.functions() if node.driver(a) == "vfio-pci"]
    if left:
        raise Failure("released: %s are still with vfio-pci" % left)


def torture(place, operations, seconds, trace):
    """None, or what went wrong; how many operations there were; the oracle."""
    node = Node(place, os.path.abspath(os.environ.get("B", "build") + "/bin"))
    oracle, count = Oracle(node, trace), 0
    try:
        node.start_daemon()
        node.up()
        node.start_plugin()
        all_claims(node, oracle)
        end = time.monotonic() + seconds
        for name, *args in operations:
            if time.monotonic() > end:
                break
            count += 1
            print(json.dumps([name] + args), file=trace, flush=True)
            said = BY_NAME[name].act(node, oracle, *args)
            print("# %s %s" % (time.strftime("%T"), said), file=trace, flush=True)
            oracle.check()
        settle(node, oracle)
        oracle.end_all()
        end_claims(node)
        node.end_plugin()
        node.end_daemon()
        return None, count, oracle
    except Failure as e:
        return "%s\n# plugin: %s\n# daemon: %s" % (e, node.said("plugin"), node.daemon_said()), count, oracle
    finally:
        node.close()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=300)
    p.add_argument("--without", action="append", default=[], choices=sorted(BY_NAME))
    p.add_argument("--trace")
    a = p.parse_args()
    operations, seconds = chosen(random.Random(a.seed), a.without), a.seconds
    if a.trace:
        with open(a.trace) as f:
            operations, seconds = [json.loads(line) for line in f if not line.startswith("#")], 1e9
    with open(os.environ["TRACE"], "w") as trace:
        said, count, oracle = torture(os.environ["D"] + "/t", operations, seconds, trace)
    for why, n in sorted(oracle.refusals.items(), key=lambda i: -i[1]):
        print("# refused %d times: %s" % (n, why))
    if oracle.by_hand:
        print("# deleted since the sentence said so: %d pods" % oracle.by_hand)
    print("seed %d: %d operations%s" % (a.seed, count, "" if said is None else ", then " + said), flush=True)
    return said is not None


if __name__ == "__main__":
    sys.exit(main())
