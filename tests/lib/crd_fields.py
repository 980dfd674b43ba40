# SPDX-License-Identifier: GPL-2.0-or-later
# crd_fields.py FILE: each field that the CRDs of FILE declare, a line each: KIND PATH TYPE.
import sys

import yaml


def fields(path, schema):
    for name, inner in (schema.get('properties') or {}).items():
        yield path + name, inner.get('type')
        yield from fields(path + name + '.', inner)
    if 'items' in schema:
        yield from fields(path + '[].', schema['items'])


lines = set()
for crd in yaml.safe_load_all(open(sys.argv[1])):
    for version in crd['spec']['versions']:
        for path, kind in fields('', version['schema']['openAPIV3Schema']):
            lines.add(f"{crd['spec']['names']['kind']}/{version['name']} {path} {kind}")
print('\n'.join(sorted(lines)))
