"""What the tests here share: starting victim.py bare or under the library, and reading the names it left.

The environment says where the library is: AOTI_DBGTEST_LIBRARY, set by CTest.
"""

from __future__ import annotations

import dataclasses
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
# In the folder of a program: where its packages were unpacked.
UNPACKED = "unpacked.txt"
collected = False
launch_line = re.compile(r"^\[ (before|after)_launch: (.+) \]$")


@dataclasses.dataclass
class Outcome:
    code: int
    stdout: str
    stderr: str
    folder: pathlib.Path  # where it ran
    log: pathlib.Path  # pattern of its logs, with a * for the process

    def logs(self) -> dict[int, list[str]]:
        """The launch lines of each process that wrote some."""
        found = {}
        for path in self.log.parent.glob(self.log.name):
            found[int(path.name.split(".")[1])] = read_log(path)
        return found

    def names(self) -> list[str]:
        """The launch lines, of the one process that wrote some."""
        (lines,) = [lines for lines in self.logs().values() if lines]
        return lines


def read_log(path: pathlib.Path) -> list[str]:
    return launches(path.read_text())


def launches(text: str) -> list[str]:
    return [line for line in text.splitlines() if launch_line.match(line)]


def kernels(lines: list[str]) -> list[str]:
    """The kernels in order of launch."""
    return [match[2] for line in lines if (match := launch_line.match(line)) and match[1] == "before"]


def both(kernel: str) -> list[str]:
    return [f"[ before_launch: {kernel} ]", f"[ after_launch: {kernel} ]"]


def unpacked_by(process: int | str) -> set[str]:
    """The folders that PyTorch unpacked the process's models into: /tmp/ and six letters, whatever TMPDIR says."""
    maps = pathlib.Path(f"/proc/{process}/maps").read_text()
    return set(re.findall(r" (/tmp/\w{6})/[^/\n]+/data/aotinductor/", maps))


def remove_unpacked(folders: set[str]) -> None:
    """A process that ends suddenly leaves them behind."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def run_victim(*arguments: str, folder: pathlib.Path, preload: bool, script: str = "victim.py", **environment: str):
    """Runs it in `folder`, which must exist. `environment` comes on top; an empty value removes a variable."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("AOTI_DBG_", "AOT_INDUCTOR_"))}
    for kept in ("AOTI_DBG_CACHE", "AOTI_DBGTEST_LIBRARY"):
        if kept in os.environ:
            variables[kept] = os.environ[kept]
    log = folder / "log.*.txt"
    if preload:
        variables["LD_PRELOAD"] = " ".join(filter(None, [os.environ.get("AOTI_DBGTEST_PRELOAD_FIRST"), library]))
        variables.setdefault("AOTI_DBG_LOG", str(folder / "log.%p.txt"))
        variables.setdefault("AOTI_DBG_LEVEL", "3")
    variables.update(environment)
    variables = {key: value for key, value in variables.items() if value}
    finished = subprocess.run(
        [sys.executable, str(here / script), *arguments], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=500,
    )  # fmt: skip
    if (unpacked := folder / UNPACKED).exists():
        remove_unpacked(set(unpacked.read_text().splitlines()))
        unpacked.unlink()
    return Outcome(finished.returncode, finished.stdout, finished.stderr, folder, log)


def collect_outputs(folder: pathlib.Path) -> None:
    """Copies the JSON of a folder to where tests/schemas validates it. What earlier processes collected goes first."""
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
    """Each test has a folder of its own to run programs in."""

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
    """Without our lines, and without what may differ: numbers (processes, times, addresses) differ between any two
    runs, and torch's stack traces show the frames of who stands between."""
    ours = re.compile(f"{our_line.pattern}|{launch_line.pattern}|frame #")
    lines = [line for line in stderr.splitlines() if not ours.match(line.strip())]
    return [re.sub(r"0x[0-9a-f]+|\d+", "N", line) for line in lines]
