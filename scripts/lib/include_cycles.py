#!/usr/bin/env python3
"""Checks that no header of the project includes itself through others. layers.cmake checks the folders."""

from __future__ import annotations

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from docs_check import listed, name_of
from docs_code import CPP_KINDS

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
Graph = dict[str, list[str]]


def find_cycles(graph: Graph) -> list[list[str]]:
    """Return each cycle once, from one of its headers back to the same header."""
    done: set[str] = set()
    cycles = []

    def visit(file: str, path: list[str]) -> None:
        if file in path:
            cycles.append(path[path.index(file) :] + [file])
        elif file not in done:
            for header in graph.get(file, []):
                visit(header, path + [file])
            done.add(file)

    for file in graph:
        visit(file, [])
    return cycles


def main() -> int:
    graph = {name_of(path): INCLUDE.findall(path.read_text()) for path in listed(*CPP_KINDS)}
    cycles = find_cycles(graph)
    print("\n".join(" -> ".join(cycle) for cycle in cycles) or "no header includes itself through others")
    return 1 if cycles else 0


if __name__ == "__main__":
    sys.exit(main())
