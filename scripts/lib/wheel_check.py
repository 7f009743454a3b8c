"""Checks a wheel before it is published: wheel_check.py WHEEL. Needs scripts/lib/wheel_requirements.txt.

It reports every problem, then fails: a library that the tag does not promise, metadata that an index refuses, or a path
of the machine that built it.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import zipfile

from packaging.metadata import ExceptionGroup, Metadata
from packaging.utils import parse_wheel_filename

ROOT = pathlib.Path(__file__).resolve().parents[2]


def platform_problems(wheel: pathlib.Path) -> list[str]:
    """The oldest system that auditwheel finds possible must not be newer than the tag says."""
    shown = subprocess.run([sys.executable, "-m", "auditwheel", "show", str(wheel)], capture_output=True, text=True)
    print(shown.stdout, shown.stderr)
    words = " ".join(shown.stdout.split())
    found = re.search(r'consistent with the following platform tag: "manylinux_2_(\d+)_x86_64"', words)
    promised = re.search(r"manylinux_2_(\d+)_x86_64\.whl$", wheel.name)
    if shown.returncode != 0 or not found or not promised:
        return ["auditwheel finds no manylinux tag for this wheel; its output is above"]
    if int(found.group(1)) > int(promised.group(1)):
        return [f"expected manylinux_2_{promised.group(1)} or older, got manylinux_2_{found.group(1)}"]
    return []


def metadata_problems(wheel: pathlib.Path, archive: zipfile.ZipFile) -> list[str]:
    name, version, _, _ = parse_wheel_filename(wheel.name)
    text = archive.read(f"aoti_dbg-{version}.dist-info/METADATA")
    try:
        metadata = Metadata.from_email(text, validate=True)
    except ExceptionGroup as group:
        return [str(error) for error in group.exceptions]
    problems = []
    if (metadata.name.replace("_", "-"), metadata.version) != (name, version):
        problems.append(f"expected {name} {version}, got {metadata.name} {metadata.version}")
    if metadata.description_content_type != "text/markdown" or not (metadata.description or "").startswith("# "):
        problems.append("the metadata has no description in Markdown")
    return problems


def private_paths(archive: zipfile.ZipFile) -> list[str]:
    """A file must not name the source tree, the home folder or the cache of the machine that built it."""
    private = {str(ROOT), str(pathlib.Path.home()), os.environ.get("AOTI_DBG_CACHE", "")} - {"", "/"}
    problems = []
    for entry in archive.namelist():
        content = archive.read(entry)
        problems += [f"{entry} has the path {path}" for path in private if f"{path}/".encode() in content]
    return problems


def main() -> None:
    wheel = pathlib.Path(sys.argv[1])
    with zipfile.ZipFile(wheel) as archive:
        problems = platform_problems(wheel) + metadata_problems(wheel, archive) + private_paths(archive)
    for problem in problems:
        print(f"error: {wheel.name}: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
