#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""circles.py DIR...: source files below build/obj's DIRs that call each other in a circle, one circle a line; 1 if any.

A call is a function that one object defines and another does not: who is handed a function, or finds it in a table,
does not depend on its file.
"""
import glob
import os
import subprocess
import sys


def symbols(path):
    """(functions that it defines, names that it wants)."""
    defined, wanted = set(), set()
    for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if words[-2] == "T":
            defined.add(words[-1])
        elif words[-2] == "U":
            wanted.add(words[-1])
    return defined, wanted


def calls(objects):
    """{file: files that it calls}"""
    told = {o: symbols(o) for o in objects}
    home = {name: o for o, (defined, _) in told.items() for name in defined}
    return {o: {home[n] for n in wanted if n in home} - {o} for o, (_, wanted) in told.items()}


def reached(graph, start):
    seen, todo = set(), [start]
    while todo:
        for o in graph[todo.pop()] - seen:
            seen.add(o)
            todo.append(o)
    return seen


def main(dirs):
    objects = [o for d in dirs for o in glob.glob(d + "/**/*.o", recursive=True)]
    # Of sources that are gone objects may be left.
    objects = [o for o in objects if os.path.exists(o.split("/obj/", 1)[1][:-1] + "c")]
    if len(objects) < 10:
        sys.exit("%s: %d objects; is it built?" % (" ".join(dirs), len(objects)))
    graph = calls(objects)
    far = {o: reached(graph, o) for o in graph}
    circles = {tuple(sorted(p for p in far[o] if o in far[p])) for o in graph if o in far[o]}
    for c in sorted(circles):
        print("circle: " + " ".join(os.path.basename(o)[:-2] for o in c))
    return bool(circles)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
