# SPDX-License-Identifier: GPL-2.0-or-later
"""label.py NODE NAME VALUE DIR: writes the label of the Node at that URL, and prints after how many ms DIR has other entries
than before; inf: not within 30 s."""
import json
import os
import sys
import time
import urllib.request

url, name, value, where = sys.argv[1:]
before = os.listdir(where)
body = json.dumps({"metadata": {"labels": {name: value}}}).encode()
start = time.monotonic()
urllib.request.urlopen(urllib.request.Request(url, body, method="PATCH")).read()
while os.listdir(where) == before and time.monotonic() - start < 30:
    time.sleep(0.001)
took = time.monotonic() - start
print("%.1f" % (took * 1e3) if took < 30 else "inf")
