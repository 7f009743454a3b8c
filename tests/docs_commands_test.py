"""Every command that a page shows does what the page shows: the fences with the mark `run` are run, with the built
command on real models, and their output is compared with the page. scripts/lib/docs_pages.py describes the marks.

The fences of a page run in its order and share a folder, which holds the programs of docs_programs/ and PACKAGES. They
run once for pages that begin alike.
"""

from __future__ import annotations

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import NamedTuple

here = pathlib.Path(__file__).resolve().parent
root = here.parent
sys.path[:0] = [str(root / "scripts" / "lib"), str(here / "models")]
import docs_pages
import packages

# What pages call the packages that tests/models compiles.
PACKAGES = {
    "model.pt2": "linear_softmax",
    "attention.pt2": "masked_attention",
    "batch.pt2": "dynamic_batch",
    "custom.pt2": "custom_op",
}
# Garbage collection takes a third of the time of a page's Python program, and finds nothing while torch is imported or
# at exit.
SITECUSTOMIZE = """\
import atexit
import gc

gc.disable()
atexit.register(gc.freeze)
"""
ANY_LINES = re.compile(r"^\s*\.\.\.\s*$")
NUMBER = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{16}\b|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


class Step(NamedTuple):
    """What a fence does: it writes a file, or runs a script."""

    file: str
    text: str


class Folder:
    """Where the fences of one page run. `python` and `aoti-dbg` are those under test."""

    def __init__(self, path: pathlib.Path):
        self.path = path
        programs = path / ".bin"
        programs.mkdir()
        self.command(programs / "python", sys.executable)
        self.command(programs / "aoti-dbg", os.environ["AOTI_DBGTEST_TOOL"])
        (programs / "sitecustomize.py").write_text(SITECUSTOMIZE)
        for program in (here / "docs_programs").glob("*.py"):
            (path / program.name).write_bytes(program.read_bytes())
        for shown, model in PACKAGES.items():
            (path / shown).symlink_to(packages.package_path(model, packages.RELEASED))
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AOTI_DBG", "AOT_INDUCTOR"))}
        # `doctor` warns where the disk has less room than the cap of saved tensors: pages show a machine with enough.
        self.environment = kept | {
            "PATH": f"{programs}:{kept['PATH']}", "PYTHONPATH": str(programs), "TMPDIR": str(path / ".tmp"),
            "AOTI_DBG_MAX_BYTES": "100M",
        }  # fmt: skip
        (path / ".tmp").mkdir()

    @staticmethod
    def command(path: pathlib.Path, program: str) -> None:
        path.write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
        path.chmod(0o755)

    def do(self, step: Step) -> tuple[int, list[str]]:
        if step.file:
            (self.path / step.file).write_text(step.text)
            return 0, []
        return self.run(step.text)

    def run(self, script: str) -> tuple[int, list[str]]:
        finished = subprocess.run(
            ["bash", "-c", script], cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
        )  # fmt: skip
        # A shell replaces itself by its last command: what a signal ended, it then does not count from 128.
        code = finished.returncode if finished.returncode >= 0 else 128 - finished.returncode
        return code, finished.stdout.splitlines()


def as_words(line: str) -> str:
    """With numbers left out, and with one blank for many: columns move when numbers change their length."""
    return re.sub(r"\s+", " ", NUMBER.sub("N", line)).strip()


def matches(shown: str, printed: str, numbers_differ: bool) -> bool:
    parts = shown.split("...")
    if numbers_differ:
        parts, printed = [as_words(part) for part in parts], as_words(printed)
    return re.fullmatch(r"\s*.*\s*".join(map(re.escape, parts)), printed) is not None


def first_difference(shown: list[str], printed: list[str], numbers_differ: bool) -> str | None:
    """None if the output is what the page shows. A line with only `...` stands for any lines, or for none."""
    # reached[i]: the printed lines that the first lines of the page can stand for.
    reached = {0}
    for line in shown:
        if ANY_LINES.match(line):
            reached = set(range(min(reached), len(printed) + 1))
            continue
        after = {at + 1 for at in reached if at < len(printed) and matches(line, printed[at], numbers_differ)}
        if not after:
            return f"the page shows, and the program does not print there: {line}"
        reached = after
    if len(printed) not in reached:
        return f"the program prints, and the page does not show: {printed[max(reached)]}"
    return None


def commands_of(fence: docs_pages.Fence) -> list[tuple[str, list[str]]]:
    """Each command with the output that the page shows below it."""
    found: list[tuple[str, list[str]]] = []
    for line in fence.body:
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif found and found[-1][0].endswith("\\") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        else:
            found[-1][1].append(line)
    return found


def exit_code_of(details: str) -> int:
    given = re.search(r"exit (\d+)", details)
    return int(given[1]) if given else 0


def without_shell_words(lines: list[str]) -> list[str]:
    """Without what bash prints after a command that a signal ended: it differs between shells."""
    return [line for line in lines if not re.match(r"^bash: line \d+: +\d+ (Segmentation fault|Aborted)", line)]


# What is printed between the commands of a fence. They run in one shell, so that a variable that one command sets is
# there for the next.
SEPARATOR = "-- next command --"


def step_of(fence: docs_pages.Fence) -> Step:
    if file := re.search(r"file (\S+)", fence.details):
        return Step(file[1], "\n".join(fence.body) + "\n")
    return Step("", f"\nprintf '%s\\n' '{SEPARATOR}'\n".join(command for command, _ in commands_of(fence)))


def outputs_of(steps: tuple[Step, ...]) -> list[tuple[int, list[str]]]:
    """Does the steps in a new folder. Returns the exit code and the output of each."""
    with tempfile.TemporaryDirectory() as place:
        folder = Folder(pathlib.Path(place))
        return [folder.do(step) for step in steps]


def problem_of(fence: docs_pages.Fence, code: int, output: list[str]) -> str | None:
    """None if the output of a fence is what the page shows."""
    step = step_of(fence)
    if step.file:
        return None
    text = "\n".join(output)
    if code != exit_code_of(fence.details):
        return f"expected exit code {exit_code_of(fence.details)}, got {code}:\n{step.text}\n{text}"
    printed: list[list[str]] = [[]]
    for line in without_shell_words(output):
        if line == SEPARATOR:
            printed.append([])
        else:
            printed[-1].append(line)
    shown = commands_of(fence)
    if len(printed) != len(shown):
        return f"expected {len(shown)} commands to run, got {len(printed)}:\n{step.text}\n{text}"
    for (command, expected), got in zip(shown, printed, strict=True):
        if problem := first_difference(expected, got, "numbers differ" in fence.details):
            return f"{command}\n{problem}\nIt prints:\n" + "\n".join(got)
    return None


def begins_with(steps: tuple[Step, ...], first: tuple[Step, ...]) -> bool:
    return steps[: len(first)] == first


class Commands(unittest.TestCase):
    def test_each_command_of_each_page_prints_what_the_page_shows(self):
        pages = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
        only = os.environ.get("AOTI_DBGTEST_DOCS_PAGE", "")
        fences = {page: [fence for fence in docs_pages.fences(page.read_text()) if fence.mark == "run"]
                  for page in pages if only in str(page)}  # fmt: skip
        steps = {page: tuple(map(step_of, found)) for page, found in fences.items() if found}
        self.assertTrue(steps)
        longest = [some for some in dict.fromkeys(steps.values())
                   if not any(begins_with(other, some) and other != some for other in steps.values())]  # fmt: skip
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
            outputs = dict(zip(longest, workers.map(outputs_of, longest), strict=True))
        for page, some in steps.items():
            done = next(outputs[other] for other in longest if begins_with(other, some))
            for fence, (code, output) in zip(fences[page], done, strict=False):
                with self.subTest(f"{page.relative_to(root)}:{fence.line}"):
                    problem = problem_of(fence, code, output)
                    self.assertIsNone(problem, problem)


class Comparison(unittest.TestCase):
    """Whether output is what a page shows."""

    def test_a_line_must_be_printed_as_it_is_shown(self):
        self.assertIsNone(first_difference(["a", "b"], ["a", "b"], False))
        self.assertIn("does not print", first_difference(["a", "b"], ["a"], False))
        self.assertIn("does not show: b", first_difference(["a"], ["a", "b"], False))
        self.assertIn("does not print", first_difference(["a 1"], ["a 2"], False))

    def test_dots_stand_for_any_lines_and_within_a_line_for_any_text(self):
        self.assertIsNone(first_difference(["a", "...", "c"], ["a", "b", "b", "c"], False))
        self.assertIsNone(first_difference(["a", "...", "c"], ["a", "c"], False))
        self.assertIsNone(first_difference(["ring: .../flight.ring"], ["ring: /tmp/x/flight.ring"], False))
        self.assertIsNotNone(first_difference(["a", "...", "c"], ["a", "b"], False))
        self.assertIsNotNone(first_difference(["ring: .../flight.ring"], ["log: /tmp/x/flight.ring"], False))

    def test_numbers_may_differ_only_where_the_mark_says_so(self):
        shown, printed = "mean   0.119 at 0x7f10", "mean 1.2e+33 at 0xaa00ff"
        self.assertIsNone(first_difference([shown], [printed], True))
        self.assertIsNotNone(first_difference([shown], [printed], False))
        self.assertIsNotNone(first_difference(["mean 0.1"], ["max 0.1"], True))


if __name__ == "__main__":
    unittest.main()
