#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""board.py BOARD METRICS: the board of Grafana has a panel for each of the metrics, and names no other one; prints tests for
promtool, by which each panel shows something of these metrics."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    board = json.load(f)
with open(sys.argv[2], encoding="utf-8") as f:
    lines = f.read().splitlines()
printed = {line.split()[2] for line in lines if line.startswith("# TYPE ")}
exprs = [t["expr"] for p in board["panels"] for t in p["targets"]]
shown = set(re.findall(r"\bpcidevfs_[a-z_]+", " ".join(exprs)))
if shown != printed:
    sys.exit(f"no panel shows {sorted(printed - shown)}; no metric is called {sorted(shown - printed)}")
for p in board["panels"]:
    g = p["gridPos"]
    if any(p is not q and g["x"] < q["gridPos"]["x"] + q["gridPos"]["w"] and q["gridPos"]["x"] < g["x"] + g["w"] and
           g["y"] < q["gridPos"]["y"] + q["gridPos"]["h"] and q["gridPos"]["y"] < g["y"] + g["h"] for q in board["panels"]):
        sys.exit(f"panel {p['title']} covers another one")

variables = {"$instance": ".*", "$__rate_interval": "5m"}
rules = []
for n, expr in enumerate(exprs):
    for name, value in variables.items():
        expr = expr.replace(name, value)
    if "$" in expr:
        sys.exit(f"an unknown variable: {expr}")
    rules.append({"record": f"panel:{n}", "expr": f"count({expr})"})
series = [line.rsplit(" ", 1) for line in lines if line and not line.startswith("#")]
with open("rules.yml", "w", encoding="utf-8") as f:
    json.dump({"groups": [{"name": "board", "rules": rules}]}, f)
with open("board.yml", "w", encoding="utf-8") as f:
    json.dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": [{
        "interval": "1m", "input_series": [{"series": s, "values": f"{v}x20"} for s, v in series],
        "promql_expr_test": [{"expr": 'count(count by (__name__) ({__name__=~"panel:.*"} > 0))', "eval_time": "10m",
                              "exp_samples": [{"value": len(exprs)}]}]}]}, f)
