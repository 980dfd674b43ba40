# SPDX-License-Identifier: GPL-2.0-or-later
"""policies.py DIR: asks the API server, as who DIR/WHO.json (a kubeconfig) is, what lines WHO METHOD PATH [BODY] say. Answers
each by one line, the status and the object's uid or why it is refused. PUT puts the whole object, with BODY merged into it."""
import json
import sys

from api import Api


def merged(old, new):
    """As a typed client writes it: null stays."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return old | {key: merged(old.get(key), value) for key, value in new.items()}


def main():
    callers = {}
    for line in sys.stdin:
        who, method, path, *body = line.rstrip("\n").split(" ", 3)
        if who not in callers:
            callers[who] = Api(f"{sys.argv[1]}/{who}.json")
        body = json.loads(body[0]) if body and body[0] else None
        if method == "PUT":
            body = merged(callers[who].ask("GET", path)[1], body)
        status, said = callers[who].ask(method, path, body)
        text = said.get("message") or said.get("metadata", {}).get("uid") or said.get("details", {}).get("uid")
        print(status or 599, str(text).replace("\n", " "), flush=True)


main()
