# SPDX-License-Identifier: GPL-2.0-or-later
"""sync_crds.py TEXT crds|objects|statuses|same FILE...: Harvester's CRDs, as tests/data/harvester-crds.txt has them field by
field, and an object of each kind with every field set, as JSON for kubectl. same: are spec and status of the objects in the
second file those of the first?"""
import json
import sys

GROUP = "devices.harvesterhci.io"
VALUES = {"string": "text", "integer": 7, "boolean": True}


def read(path):
    kinds = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            word, rest = line.rstrip("\n").split(" ", 1)
            if word == "crd":
                kind, plural, singular = rest.split()
                kinds.append({"kind": kind, "plural": plural, "singular": singular, "columns": [], "fields": []})
            elif word == "subresources":
                kinds[-1]["status"] = rest == "status"
            elif word == "column":
                kinds[-1]["columns"].append(json.loads(rest))
            else:
                kinds[-1]["fields"].append((word, rest.split()))
    return kinds


def steps(path):
    return path.replace("[]", ".[]").replace("{}", ".{}").split(".")


def schema(kind):
    root = {"type": "object", "properties": {}}
    for path, (what, *more) in kind["fields"]:
        at = root
        *parents, last = steps(path)
        for p in parents:
            at = at["items"] if p == "[]" else at["properties"][p]
        new = {"type": what, **({"nullable": True} if "nullable" in more else {})}
        if last == "[]":
            at["items"] = new
        elif last == "{}":
            at["additionalProperties"] = new
        else:
            at.setdefault("properties", {})[last] = new
    return root


def fill(node):
    if node["type"] == "object":
        if "additionalProperties" in node:
            return {"key": fill(node["additionalProperties"])}
        return {name: fill(member) for name, member in node.get("properties", {}).items()}
    return [fill(node["items"])] if node["type"] == "array" else VALUES[node["type"]]


def crd(kind):
    version = {"name": "v1beta1", "served": True, "storage": True, "additionalPrinterColumns": kind["columns"],
               "subresources": {"status": {}} if kind["status"] else None, "schema": {"openAPIV3Schema": schema(kind)}}
    names = {"kind": kind["kind"], "listKind": kind["kind"] + "List", "plural": kind["plural"], "singular": kind["singular"]}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{kind['plural']}.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Cluster", "names": names, "versions": [version]}}


def whole(kind):
    return {"apiVersion": GROUP + "/v1beta1", "kind": kind["kind"], "metadata": {"name": "every-field"}, **fill(schema(kind))}


def stored(path):
    with open(path, encoding="utf-8") as f:
        return {o["kind"]: {part: o.get(part) for part in ("spec", "status")} for o in json.load(f)["items"]}


def same(kinds, before, after):
    was, now = stored(before), stored(after)
    for kind in kinds:
        made = whole(kind)
        for part in "spec", "status":
            if was[kind["kind"]][part] != made.get(part):
                sys.exit(f"FAILED: {kind['kind']}: {part} was not stored as {made.get(part)}: {was[kind['kind']][part]}")
            if now[kind["kind"]][part] != was[kind["kind"]][part]:
                sys.exit(f"FAILED: {kind['kind']}: {part} was {was[kind['kind']][part]}, is {now[kind['kind']][part]}")


def main():
    kinds, what = read(sys.argv[1]), sys.argv[2]
    if what == "same":
        same(kinds, *sys.argv[3:])
        return
    lists = {"crds": [crd(k) for k in kinds], "objects": [whole(k) for k in kinds],
             "statuses": [whole(k) for k in kinds if k["status"]]}
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": lists[what]}))


main()
