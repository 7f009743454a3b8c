"""Which schema of docs/schema an output of aoti-dbg has to follow, and whether it does.

The validator is the `jsonschema` package, which knows nothing of this project. Nothing here writes a file.
"""

from __future__ import annotations

import json
import pathlib
import re
import typing

import jsonschema
import referencing
import referencing.jsonschema

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "schema"
# By the name of a file in an output folder. What no pattern takes is not an output of aoti-dbg.
NAMES = {
    r"events(-\d+)?(\.\d+)?\.jsonl": "events",
    r"index\.jsonl": "index",
    r"report(-\d+)?(\.\d+)?\.json": "report",
    r"verdict\d*(\.jsonl)?": "verdict",
    r"hang(-\d+)?(\.\d+)?\.json": "hang",
    r"process(-\d+)?(\.\d+)?\.jsonl": "process",
    r"diff\d*\.json": "diff",
    r"ranks\d*\.json": "diff-ranks",
    r"top\d*\.json": "top",
    r"run\d+-call\d+\.json": "launch",
    r"manifest\.json": "bundle",
    r"page\d*\.json": "page",
    r"inspect\d*\.json": "inspect",
    r"models\.jsonl": "models",
    r"library\.json": "library",
    r"timeline(-\d+)?(\.\d+)?\.jsonl": "timeline",
}
LINES = {"events", "index", "verdict", "process", "models", "timeline"}


def schema_of(path: pathlib.Path) -> str | None:
    if "foreign" in path.parts:  # files that a test wrote itself
        return None
    # What a process that was killed had not finished. A package gets its name only when it is whole.
    if re.fullmatch(r"\.\d+-\d+\.unfinished", path.parent.name):
        return None
    return next((schema for pattern, schema in NAMES.items() if re.fullmatch(pattern, path.name)), None)


class Schemas:
    def __init__(self):
        found = {path.name: json.loads(path.read_text()) for path in FOLDER.glob("*.schema.json")}
        resources = [
            (name, referencing.Resource.from_contents(contents)) for name, contents in found.items()
        ]
        registry = referencing.Registry().with_resources(resources)
        self.validators = {
            name.removesuffix(".schema.json"): jsonschema.Draft202012Validator(
                {"$ref": name}, registry=registry
            )
            for name in found
        }
        for contents in found.values():
            jsonschema.Draft202012Validator.check_schema(contents)
        self.known: set[tuple[str, str]] = set()

    def errors(self, schema: str, document: typing.Any) -> list[str]:
        """What is wrong, each with its place in the document."""
        return [describe(error) for error in self.validators[schema].iter_errors(document)]

    def errors_of_line(self, schema: str, line: str) -> list[str]:
        """The same, except that a line like an earlier one has no errors: most differ only in numbers."""
        shape = (schema, shape_of(line))
        if shape in self.known:
            return []
        found = self.errors(schema, json.loads(line))
        if not found:
            self.known.add(shape)
        return found

    def errors_of_text(self, schema: str, text: str) -> tuple[int, list[str]]:
        """How many documents a file has, and what is wrong with them. A killed process leaves blank lines, and a last
        line without its newline."""
        if schema not in LINES:
            return 1, self.errors(schema, json.loads(text))
        count, found = 0, []
        for number, line in enumerate(text.split("\n")[:-1], 1):
            if line:
                count += 1
                found += [f"line {number}: {error}" for error in self.errors_of_line(schema, line)]
        return count, found


def shape_of(line: str) -> str:
    """The line with each number, and each string of hexadecimal digits, replaced by 0 if it is one and else by 9."""
    return re.sub(r"[0-9a-f]*[0-9][0-9a-f]*", lambda match: "9" if match[0].strip("0") else "0", line)


def describe(error: jsonschema.ValidationError) -> str:
    while error.context:
        error = max(error.context, key=lambda inner: len(inner.absolute_path))
    return f"{error.json_path}: {error.message[:400]}"
