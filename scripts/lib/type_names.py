#!/usr/bin/env python3
"""Checks that no two files define a type of the same name in the same namespace. The linker would take either
of their inline functions for both. It relies on clang-format: such a definition begins in the first column.
"""

from __future__ import annotations

import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from cpp_scopes import line_at
from docs_check import listed, name_of
from docs_code import CPP_KINDS

# Programs and libraries that other sources of the project are never linked with.
ALONE = ("bench/", "examples/", "tests/")
EVENT = re.compile(
    r"^(?:inline )?namespace(?: (?P<opened>[\w:]+))? \{$|^(?P<closed>\})  // namespace"
    r"|^(?:class|struct|union|enum(?: class)?)(?: alignas\(\w+\))? (?P<type>\w+)(?: final)?(?: : [^;{]*)? \{",
    re.MULTILINE,
)


def types(source: str) -> list[tuple[str, int]]:
    """Return the types that other files can see, with their namespaces and lines. Nested types and
    specializations of templates are not among them."""
    spaces: list[str] = []
    found = []
    for event in EVENT.finditer(source):
        if event["closed"]:
            spaces.pop()
        elif event["type"]:
            if "" not in spaces:
                found.append(("::".join([*spaces, event["type"]]), line_at(source, event.start())))
        else:
            spaces.append(event["opened"] or "")
    return found


def main() -> int:
    places = collections.defaultdict(list)
    for path in listed(*CPP_KINDS):
        if not name_of(path).startswith(ALONE):
            for name, line in types(path.read_text()):
                places[name].append(f"{name_of(path)}:{line}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    for name, where in sorted(twice.items()):
        print(f"{name} is defined in {' and in '.join(where)}")
    print(f"{len(places)} types, {len(twice)} of them in several files")
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
