# SPDX-License-Identifier: GPL-2.0-or-later
"""kubevirt_crd.py [VERSION [KIND]]: prints the CRD of KubeVirt's KIND (KubeVirt), served as that version (v1), with the schema that KubeVirt itself
installs: it is taken from KubeVirt's module, which was fetched to build the judges. Exit status 77: it is not there."""
import glob
import os
import re
import subprocess
import sys

version, kind = (sys.argv[1:] + ["v1", "KubeVirt"][len(sys.argv) - 1:])[:2]
name = kind.lower()
try:
    cache = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()
except (OSError, subprocess.CalledProcessError):
    cache = os.path.expanduser("~/go/pkg/mod")
found = sorted(glob.glob(cache + "/kubevirt.io/kubevirt@*/pkg/virt-operator/resource/generate/components/validations_generated.go"))
if not found:
    print("KubeVirt's module is not in Go's cache: make test-k8s")
    sys.exit(77)
with open(found[-1], encoding="utf-8") as f:
    text = f.read().replace('` + "`" + `', "`")
schema = re.search(f'\t"{name}": `(.*?)\n`,\n', text, re.S).group(1)
print(f"""apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {name}s.kubevirt.io}}
spec:
  group: kubevirt.io
  names: {{kind: {kind}, plural: {name}s, singular: {name}}}
  scope: Namespaced
  versions:
  - name: {version}
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema:""")
print("\n".join("      " + line for line in schema.splitlines()))
