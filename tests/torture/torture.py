#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
torture.py [--seed N] [--seconds S | --trace FILE] [--without NAME]... [--shrink]: a random tester of pcidevfsd on the simulated kernel

After each operation tree, intents, state file and kernel are held against what was accepted. The operations
are written to $D/trace, a line each, as they are begun; --trace does them again, --shrink leaves out those
that the failure does not need. It wants namespaces of its own: `make torture`, or tests/run fs/torture.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from machine import Failure, Machine  # noqa: E402
from operations import ROWS  # noqa: E402
from oracle import Oracle  # noqa: E402

BY_NAME = {row.name: row for row in ROWS}


def chosen(rng, machine, without):
    """Operations without end."""
    rows = [r for r in ROWS if r.name not in without]
    while True:
        row = rng.choices(rows, [r.weight for r in rows])[0]
        yield [row.name] + row.pick(rng, machine)


def torture(place, operations, seconds, trace):
    """None, or what went wrong; and how many operations there were."""
    machine = Machine(place, os.path.abspath(os.environ.get("B", "build") + "/bin"), 0.1)
    end, count = time.monotonic() + seconds, 0
    try:
        machine.start_daemon()
        oracle = Oracle(machine)
        for name, *args in operations(machine):
            if time.monotonic() > end:
                break
            count += 1
            print(json.dumps([name] + args), file=trace, flush=True)
            said = BY_NAME[name].act(machine, oracle, *args)
            print("# %s" % said, file=trace, flush=True)
            oracle.check()
        BY_NAME["settle"].act(machine, oracle)
        oracle.undo_all()
        machine.end_daemon()
        return None, count
    except Failure as e:
        for line in machine.remains():
            print("# " + line, file=trace)
        return "%s\n%s" % (e, machine.daemon_said()), count
    finally:
        machine.close()


def run_trace(place, operations):
    with open(os.devnull, "w") as null:
        return torture(place, lambda m: iter(operations), 1e9, null)[0]


def fails_alike(place, operations, said):
    told = run_trace(place, operations)
    return told is not None and told.split(":")[0][:8] == said.split(":")[0][:8]


def shrink(place, operations, said):
    """Leaves out halves, quarters, ... as long as it fails."""
    size = len(operations) // 2
    while size:
        at = 0
        while at < len(operations):
            fewer = operations[:at] + operations[at + size:]
            if fails_alike(place, fewer, said):
                operations = fewer
                print("# %d operations" % len(operations), flush=True)
            else:
                at += size
        size //= 2
    return operations


def read_trace(path):
    with open(path) as f:
        return [json.loads(line) for line in f if not line.startswith("#")]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--without", action="append", default=[], choices=sorted(BY_NAME))
    p.add_argument("--trace")
    p.add_argument("--shrink", action="store_true")
    a = p.parse_args()
    place = os.path.abspath(os.environ["D"]) + "/torture"
    out = os.environ.get("TRACE", os.environ["D"] + "/trace")
    if a.trace:
        operations = read_trace(a.trace)
        with open(out, "w") as trace:
            said, count = torture(place, lambda m: iter(operations), 1e9, trace)
    else:
        with open(out, "w") as trace:
            said, count = torture(place, lambda m: chosen(random.Random(a.seed), m, a.without), a.seconds, trace)
        operations = read_trace(out)
    print("seed %d: %d operations%s" % (a.seed, count, "" if said is None else ", then " + said), flush=True)
    if said is None:
        return 0
    if a.shrink:
        operations = shrink(place, operations, said)
    for o in operations[-40:]:
        print(json.dumps(o))
    return 1


if __name__ == "__main__":
    sys.exit(main())
