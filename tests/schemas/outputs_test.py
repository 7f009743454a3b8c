"""Real output of aoti-dbg follows the schemas of docs/schema, and so do the examples of docs/reference.

    outputs_test.py pages            the examples
    outputs_test.py doctor           what AOTI_DBGTEST_TOOL prints
    outputs_test.py folder EXPECTED FOLDER...
                                     what tests have left in these folders. EXPECTED: names of schemas, separated by
                                     commas. For each, at least one file must exist
"""

from __future__ import annotations

import collections
import copy
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import outputs

PAGES = outputs.FOLDER.parent / "reference"
# The examples that unit.event_format_test keeps.
EXAMPLES = {"jsonl": "events", "index": "index", "report.json": "report", "verdict": "verdict", "hang.json": "hang"}
FENCE = re.compile(r"^(?P<mark>[^\n]*)\n```json\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> list[tuple[str, str, str]]:
    """Page, schema (empty: none) and text of each block of JSON."""
    found = []
    # The JSON of selection.md is a configuration file, which the command itself reads in the test of that page.
    for page in sorted(PAGES.glob("*.md")):
        if page.name == "selection.md":
            continue
        for match in FENCE.finditer(page.read_text()):
            mark = re.fullmatch(r"<!-- (example|schema|no schema): (.+) -->", match["mark"])
            schema = None
            if mark:
                schema = {"example": EXAMPLES.get(mark[2]), "schema": mark[2], "no schema": ""}[mark[1]]
            if schema is None:
                raise AssertionError(f"{page.name}: a block of JSON without the name of its schema: {match['text'][:80]}")
            found.append((page.name, schema, match["text"]))
    return found


class Pages(unittest.TestCase):
    def test_every_example_of_the_reference_follows_its_schema(self):
        schemas = outputs.Schemas()
        seen = set()
        for page, schema, text in examples():
            if schema:
                with self.subTest(page=page, schema=schema):
                    count, errors = schemas.errors_of_text(schema, text)
                    self.assertEqual(errors, [])
                    self.assertGreater(count, 0)
                    seen.add(schema)
        self.assertEqual(seen, set(schemas.validators) - {"common", "finding"})

    def test_an_example_with_one_member_more_less_or_of_another_type_does_not(self):
        schemas = outputs.Schemas()
        for page, schema, text in examples():
            if not schema:
                continue
            documents = map(json.loads, text.splitlines()) if schema in outputs.LINES else [json.loads(text)]
            for document in documents:
                required = {"format", "event", "pid"} & set(document) or {"library"}
                for name in sorted(required):
                    with self.subTest(page=page, schema=schema, member=name):
                        for change in (
                            {name: document[name], "unheard_of": 1},
                            {name: [document[name]]},
                        ):
                            self.assertTrue(schemas.errors(schema, {**document, **change}), change)
                        without = copy.copy(document)
                        del without[name]
                        self.assertTrue(schemas.errors(schema, without))


class Doctor(unittest.TestCase):
    def test_what_doctor_prints_follows_its_schema(self):
        run = subprocess.run(
            [os.environ["AOTI_DBGTEST_TOOL"], "doctor", "--format", "json"], capture_output=True, text=True, timeout=120
        )
        self.assertEqual(outputs.Schemas().errors_of_text("doctor", run.stdout), (1, []), run.stderr)


class Folder(unittest.TestCase):
    expected: list[str] = []
    folders: list[str] = []

    def test_whatever_the_tests_have_left_follows_its_schema(self):
        schemas = outputs.Schemas()
        seen: collections.Counter[str] = collections.Counter()
        for folder in self.folders:
            for path in sorted(pathlib.Path(folder).rglob("*")):
                schema = outputs.schema_of(path)
                if schema is None or not path.is_file():
                    continue
                with self.subTest(file=str(path), schema=schema):
                    count, errors = schemas.errors_of_text(schema, path.read_text())
                    seen[schema] += count
                    self.assertEqual(errors, [])
        print(f"validated {dict(seen)}")
        self.assertEqual([schema for schema in self.expected if not seen[schema]], [], dict(seen))


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "folder":
        Folder.expected, Folder.folders = rest[0].split(","), rest[1:]
    unittest.main(argv=sys.argv[:1], defaultTest=what.capitalize())
