"""Shared by the tests here: starts victim.py bare or under the library, and reads the names that it logged.

CTest sets AOTI_DBGTEST_LIBRARY to the library.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

here = pathlib.Path(__file__).resolve().parent
library = os.environ.get("AOTI_DBGTEST_LIBRARY", str(here.parents[1] / "build" / "release" / "libaoti_dbg.so"))
our_line = re.compile(r"^aoti-dbg\[\d+:\d+\] ")
torch_version = importlib.metadata.version("torch")
release = tuple(map(int, torch_version.split(".")[:2]))
# The release that compiled the models. Names follow it.
compiled_by = tuple(map(int, os.environ.get("AOTI_DBGTEST_COMPILED_BY", torch_version).split(".")[:2]))
# For what Inductor decides: how it numbers buffers, what it fuses, which calls its printer leaves out.
as_decided_by_2_11 = unittest.skipUnless(release == (2, 11), "another release decides otherwise")
# Wrappers of earlier releases lack __check_inputs_outputs, so nothing says what their inputs must be.
describes_inputs = compiled_by >= (2, 8)
as_inputs_are_described = unittest.skipUnless(describes_inputs, "packages before 2.8 do not describe their inputs")
# A file in the program's folder that lists where its packages were unpacked.
UNPACKED = "unpacked.txt"
collected = False
launch_line = re.compile(r"^\[ (before|after)_launch: (.+) \]$")


@dataclasses.dataclass
class Outcome:
    code: int
    stdout: str
    stderr: str
    folder: pathlib.Path  # the working directory
    log: pathlib.Path  # pattern of its logs, with a * for the process

    def logs(self) -> dict[int, list[str]]:
        """Return the launch lines of each process that wrote some."""
        found = {}
        for path in self.log.parent.glob(self.log.name):
            found[int(path.name.split(".")[1])] = read_log(path)
        return found

    def names(self) -> list[str]:
        """Return the launch lines of the only process that wrote some."""
        (lines,) = [lines for lines in self.logs().values() if lines]
        return lines


def read_log(path: pathlib.Path) -> list[str]:
    return launches(path.read_text())


def launches(text: str) -> list[str]:
    return [line for line in text.splitlines() if launch_line.match(line)]


def kernels(lines: list[str]) -> list[str]:
    """Return the kernels in launch order."""
    return [match[2] for line in lines if (match := launch_line.match(line)) and match[1] == "before"]


def both(kernel: str) -> list[str]:
    return [f"[ before_launch: {kernel} ]", f"[ after_launch: {kernel} ]"]


def unpacked_by(process: int | str) -> set[str]:
    """Return the folders to which PyTorch unpacked the process's models: /tmp/ and six letters, whatever
    TMPDIR is."""
    maps = pathlib.Path(f"/proc/{process}/maps").read_text()
    return set(re.findall(r" (/tmp/\w{6})/[^/\n]+/data/aotinductor/", maps))


def remove_unpacked(folders: set[str]) -> None:
    """Remove what a process with an abrupt exit left behind."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def remove_listed(folder: pathlib.Path) -> None:
    """Remove what programs that ran in `folder` left behind."""
    if (unpacked := folder / UNPACKED).exists():
        remove_unpacked(set(unpacked.read_text().splitlines()))
        unpacked.unlink()


@dataclasses.dataclass
class Program:
    command: list[str]
    requests: str | None = None  # what it reads from standard input


def victim(*arguments: str, script: str = "victim.py") -> Program:
    return Program([sys.executable, str(here / script), *arguments])


def run_victim(*arguments: str, folder: pathlib.Path, preload: bool, script: str = "victim.py", **environment: str):
    """Run the script in `folder`, as run() does."""
    return run(victim(*arguments, script=script), folder=folder, preload=preload, **environment)


def bare_variables() -> dict[str, str]:
    """Return the environment of a program without the library."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("AOTI_DBG_", "AOT_INDUCTOR_"))}
    for kept in ("AOTI_DBG_CACHE", "AOTI_DBGTEST_LIBRARY"):
        if kept in os.environ:
            variables[kept] = os.environ[kept]
    # Kernels without vector instructions: before it uses them, each process compiles small programs for 15 s.
    return {"TORCHINDUCTOR_VEC_ISA_OK": "0", **variables}


def run(program: Program, *, folder: pathlib.Path, preload: bool, **environment: str) -> Outcome:
    """Run the program in `folder`, which must exist. `environment` is added, and an empty value removes a
    variable."""
    variables = bare_variables()
    log = folder / "log.*.txt"
    if preload:
        variables["LD_PRELOAD"] = " ".join(filter(None, [os.environ.get("AOTI_DBGTEST_PRELOAD_FIRST"), library]))
        variables.setdefault("AOTI_DBG_LOG", str(folder / "log.%p.txt"))
        variables.setdefault("AOTI_DBG_LEVEL", "3")
    variables.update(environment)
    variables = {key: value for key, value in variables.items() if value}
    stdin = {"stdin": subprocess.DEVNULL} if program.requests is None else {"input": program.requests}
    finished = subprocess.run(
        program.command, cwd=folder, env=variables, capture_output=True, text=True, timeout=500, **stdin
    )
    remove_listed(folder)
    return Outcome(finished.returncode, finished.stdout, finished.stderr, folder, log)


def is_wrapper(name: str) -> bool:
    """Whether a file of a package is the wrapper's source. Releases before 2.7 name it X.cpp."""
    return name.endswith(".wrapper.cpp" if compiled_by >= (2, 7) else ".cpp") and not name.endswith(".kernel.cpp")


def wrapper_in(folder: pathlib.Path) -> pathlib.Path:
    """Return the wrapper's source in a folder with the files of one package."""
    (source,) = [path for path in folder.iterdir() if is_wrapper(path.name)]
    return source


def collect_outputs(folder: pathlib.Path) -> None:
    """Copy the JSON files of a folder to the place where tests/schemas validates them. Files of earlier
    processes are removed first."""
    global collected
    to = os.environ.get("AOTI_DBGTEST_COLLECT")
    if not to:
        return
    if not collected:
        shutil.rmtree(to, ignore_errors=True)
    collected = True
    for path in folder.rglob("*"):
        is_json = ".json" in path.name or path.name.startswith("verdict")
        if is_json and path.is_file() and path.stat().st_size <= 4 << 20:
            copy = pathlib.Path(to) / folder.name / path.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


class Test(unittest.TestCase):
    """Each test has its own folder to run programs in."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(collect_outputs, self.folder)

    def assert_alike(self, bare: Outcome, seen: Outcome, code: int = 0) -> None:
        self.assertEqual(bare.code, code, bare.stderr)
        self.assertEqual(seen.code, code, seen.stderr)
        self.assertEqual(seen.stdout, bare.stdout)
        self.assertEqual(program_lines(seen.stderr), program_lines(bare.stderr))


def program_lines(stderr: str) -> list[str]:
    """Drop the library's lines and what may differ. Numbers (processes, times, addresses) differ between
    any two runs, and torch's stack traces show the library's frames."""
    ours = re.compile(f"{our_line.pattern}|{launch_line.pattern}|frame #")
    lines = [line for line in stderr.splitlines() if not ours.match(line.strip())]
    return [re.sub(r"0x[0-9a-f]+|\d+", "N", line) for line in lines]
