"""Writes the Python wheel from a finished build: wheel.py --build FOLDER --out FOLDER. It prints the wheel's path.

It compiles nothing and needs no network. The same binaries give the same bytes: entries are sorted, and all times are
SOURCE_DATE_EPOCH, by default the last commit. pyproject.toml has the metadata.
"""

from __future__ import annotations

import argparse
import base64
import dataclasses
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TAG = "py3-none-manylinux_2_34_x86_64"
EARLIEST = 315532800  # a zip file has no time before 1980
PROGRAM, TEXT = 0o100755, 0o100644


@dataclasses.dataclass
class Entry:
    path: str
    content: bytes
    mode: int = TEXT


def project_table() -> dict:
    """Returns the table [project] of pyproject.toml. Python 3.11 has a reader, and pip brings one."""
    try:
        import tomllib
    except ImportError:
        from pip._vendor import tomli as tomllib
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def project_version() -> str:
    found = re.search(r"(?m)^project\(aoti_dbg VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    if not found:
        sys.exit("error: CMakeLists.txt has no line `project(aoti_dbg VERSION ...`")
    return found.group(1)


def source_time() -> int:
    """Returns SOURCE_DATE_EPOCH, else the time of the last commit, else the earliest time."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return max(int(given), EARLIEST)
    asked = subprocess.run(["git", "-C", str(ROOT), "log", "-1", "--format=%ct"], capture_output=True, text=True)
    return max(int(asked.stdout), EARLIEST) if asked.returncode == 0 else EARLIEST


def stripped(file: pathlib.Path) -> bytes:
    """Strips a copy. Unwind tables and dynamic symbols are loaded, so strip keeps them."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / file.name
        subprocess.run(["strip", "--strip-unneeded", "-o", str(copy), str(file)], check=True)
        return copy.read_bytes()


def description(readme: str) -> str:
    """A package index shows this alone, so links to other files and their pictures would be broken."""
    text = re.sub(r"!\[([^\]]*)\]\((?!https?:)[^)]*\)", r"*\1*", readme)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]+\)", r"\1", text)


def metadata(project: dict, version: str) -> bytes:
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version}",
        f"Summary: {project['description']}",
        f"Keywords: {','.join(project['keywords'])}",
        f"License-Expression: {project['license']}",
        *(f"License-File: {name}" for name in project["license-files"]),
        *(f"Classifier: {classifier}" for classifier in project["classifiers"]),
        f"Requires-Python: {project['requires-python']}",
    ]
    for extra, requirements in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {requirement}; extra == "{extra}"' for requirement in requirements]
    lines += ["Description-Content-Type: text/markdown", "", description((ROOT / project["readme"]).read_text())]
    return "\n".join(lines).encode()


def entries(build: pathlib.Path, project: dict, version: str) -> list[Entry]:
    name = project["name"].replace("-", "_")
    info = f"{name}-{version}.dist-info"
    wheel = f"Wheel-Version: 1.0\nGenerator: aoti-dbg scripts/wheel\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    found = [
        Entry(f"{name}/libaoti_dbg.so", stripped(build / "libaoti_dbg.so"), PROGRAM),
        Entry(f"{name}/_version.py", f'version = "{version}"\n'.encode()),
        Entry(f"{name}-{version}.data/scripts/aoti-dbg", stripped(build / "aoti-dbg"), PROGRAM),
        Entry(f"{info}/METADATA", metadata(project, version)),
        Entry(f"{info}/WHEEL", wheel.encode()),
    ]
    found += [Entry(f"{name}/{file.name}", file.read_bytes()) for file in (ROOT / "python" / name).glob("*.py")]
    found += [Entry(f"{info}/licenses/{file}", (ROOT / file).read_bytes()) for file in project["license-files"]]
    found.sort(key=lambda entry: entry.path)
    return [*found, record(found, f"{info}/RECORD")]


def record(found: list[Entry], path: str) -> Entry:
    lines = []
    for entry in found:
        digest = base64.urlsafe_b64encode(hashlib.sha256(entry.content).digest()).rstrip(b"=").decode()
        lines.append(f"{entry.path},sha256={digest},{len(entry.content)}\n")
    return Entry(path, "".join([*lines, f"{path},,\n"]).encode())


def write_wheel(path: pathlib.Path, found: list[Entry]) -> None:
    """Replaces the wheel only when the new one is complete."""
    moment = time.gmtime(source_time())[:6]
    partial = path.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as archive:
        for entry in found:
            info = zipfile.ZipInfo(entry.path, moment)
            info.create_system = 3  # Unix, so that the upper half of external_attr is a mode
            info.external_attr = entry.mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.content, compresslevel=9)
    partial.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="has both binaries")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "packages", help="gets the wheel")
    arguments = parser.parse_args()
    project, version = project_table(), project_version()
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / f"{project['name'].replace('-', '_')}-{version}-{TAG}.whl"
    write_wheel(path, entries(arguments.build, project, version))
    print(path)


if __name__ == "__main__":
    main()
