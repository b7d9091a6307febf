#!/usr/bin/env python3
"""Makes a graph of package dependencies, in Par's value syntax.

Usage: graph_from_packages.py FILE > packages.in

FILE is a list of Debian packages (a `Packages` index, or dpkg's `status`). Every package of the list is a vertex, numbered
in the order of the names; there is an edge from a package to each package of the list that its `Depends` field names
(alternatives included, versions ignored). Printed are two arrays: where the edges begin, and where they end.
"""

import re
import sys


def stanzas(path):
    for block in open(path, encoding="utf-8").read().split("\n\n"):
        fields = {}
        for line in block.split("\n"):
            if line[:1] not in ("", " ", "\t") and ":" in line:
                name, value = line.split(":", 1)
                fields[name] = value.strip()
        if "Package" in fields:
            yield fields


packages = {f["Package"]: f.get("Depends", "") for f in stanzas(sys.argv[1])}
number = {name: i for i, name in enumerate(sorted(packages))}
edges = set()
for name, depends in packages.items():
    for other in re.findall(r"[a-z0-9][a-z0-9+.-]+(?=[\s,|:(]|$)(?![^(]*\))", depends):
        if other in number and other != name:
            edges.add((number[name], number[other]))
edges = sorted(edges)
print("[" + ",".join(str(a) for a, _ in edges) + "]")
print("[" + ",".join(str(b) for _, b in edges) + "]")
