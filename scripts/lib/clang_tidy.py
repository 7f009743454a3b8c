#!/usr/bin/env python3
"""Checks all sources with clang-tidy: clang_tidy.py CLANG_TIDY BUILD KNOWN

BUILD has the compile commands. KNOWN is a folder of empty files, each named after what clang-tidy has read and found
clean: a source, what it includes, the command and the checks. Such a source is not checked again.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from include_cycles import INCLUDE

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = "base binary cli compare config gpu_dump model packaging serializer shim triage".split()
TYPENAME = re.compile(r"\btypename\s+(::|\w+\s*(::|<))")

# All checks run, but the analyzer stops after 40000 steps per function instead of 225000. The rest takes two thirds of
# the time, for paths that differ only in the number of loop iterations.
ARGUMENTS = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=40000"]
# The commands are those of g++, and so is the standard library.
ARGUMENTS += ["-Wno-unknown-warning-option", "-Wno-deprecated-declarations"]
NO_TYPENAMES = "--checks=-readability-redundant-typename"
AT_ONCE = 10  # They share a process, because each start takes 0.14 s.
KEPT_DAYS = 30


@functools.cache
def text_of(path: pathlib.Path) -> str:
    return path.read_text(errors="replace")


@functools.cache
def included_by(path: pathlib.Path) -> frozenset[pathlib.Path]:
    """Return the files of the project that a file includes. Includes start at the root, or beside the file."""
    named = INCLUDE.findall(text_of(path))
    found = (folder / name for name in named for folder in (ROOT, path.parent))
    return frozenset(file.resolve() for file in found if file.is_file())


@functools.cache
def all_included(path: pathlib.Path) -> frozenset[pathlib.Path]:
    seen: set[pathlib.Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in seen:
            seen.add(file)
            waiting += included_by(file)
    return frozenset(seen)


def system_headers(commands: collections.abc.Iterable[str]) -> str:
    """Return a digest of the names, sizes and times of the headers outside the project."""
    folders = {"/usr/include", "/usr/local/include"}
    for command in commands:
        words = shlex.split(command)
        folders |= {after for word, after in zip(words, words[1:]) if word == "-isystem"}
    digest = hashlib.sha256()
    for folder in sorted(folders):
        for place, inside, names in os.walk(folder):
            inside.sort()
            for name in sorted(names):
                status = os.stat(os.path.join(place, name), follow_symlinks=False)
                digest.update(f"{place}/{name} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


class Checker:
    def __init__(self, tool: str, build: pathlib.Path, known: pathlib.Path):
        self.command = [tool, "--quiet", "-p", str(build), *(f"--extra-arg={argument}" for argument in ARGUMENTS)]
        self.known = known
        commands = json.loads((build / "compile_commands.json").read_text())
        self.commands = {
            pathlib.Path(entry["file"]): entry["command"]
            for entry in commands
            if entry["file"].endswith(".cpp") and entry["file"].startswith(tuple(f"{ROOT}/{top}/" for top in FOLDERS))
        }
        version = subprocess.run([tool, "--version"], check=True, capture_output=True, text=True).stdout
        headers = system_headers(self.commands.values())
        self.common = [version, text_of(ROOT / ".clang-tidy"), *ARGUMENTS, headers]
        self.names_types = {path for path in self.commands if any(map(names_type, all_included(path)))}
        self.keys = {source: self.key_of(source) for source in self.commands}

    def key_of(self, source: pathlib.Path) -> pathlib.Path:
        parts = [*self.common, self.commands[source], str(source)]
        parts += [f"{path}\n{text_of(path)}" for path in sorted(all_included(source))]
        text = "\0".join(parts).replace(str(ROOT), "")
        return self.known / hashlib.sha256(text.encode()).hexdigest()

    def check(self, sources: list[pathlib.Path], *arguments: str) -> str:
        """Return the complaints, or nothing."""
        ran = subprocess.run([*self.command, *arguments, *map(str, sources)], capture_output=True, text=True)
        if ran.returncode == 0:
            for source in sources:
                self.keys[source].touch()
            return ""
        # Standard error counts the warnings in headers outside this project.
        noise = re.sub(r".* generated\.\n|.*Processing file.*\n", "", ran.stderr)
        return ran.stdout + noise or f"clang-tidy ended with status {ran.returncode}\n"

    def check_all(self) -> int:
        waiting = [source for source in sorted(self.commands) if not self.keys[source].exists()]
        for source in set(self.commands) - set(waiting):
            self.keys[source].touch()  # still used
        # The check for a redundant typename takes 0.04 s per source. It runs where a typename precedes a type.
        batches = []
        for arguments, part in (
            ([], [source for source in waiting if source in self.names_types]),
            ([NO_TYPENAMES], [source for source in waiting if source not in self.names_types]),
        ):
            batches += [(part[start : start + AT_ONCE], *arguments) for start in range(0, len(part), AT_ONCE)]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            complaints = "".join(pool.map(lambda batch: self.check(*batch), batches))
        print(f"{len(waiting)} files checked, {len(self.commands) - len(waiting)} known to be clean")
        print(complaints, end="")
        return 1 if complaints else 0


def names_type(path: pathlib.Path) -> bool:
    return TYPENAME.search(text_of(path)) is not None


def forget_old(known: pathlib.Path) -> None:
    for path in known.iterdir():
        if path.stat().st_mtime < time.time() - KEPT_DAYS * 24 * 3600:
            path.unlink(missing_ok=True)


def main() -> int:
    tool, build, known = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    known.mkdir(parents=True, exist_ok=True)
    forget_old(known)
    return Checker(tool, build, known).check_all()


if __name__ == "__main__":
    sys.exit(main())
