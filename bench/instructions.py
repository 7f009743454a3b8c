#!/usr/bin/env python3
"""Counts the library's own instructions for one call, with callgrind. Counts repeat, unlike times.

    bench/instructions.py [--build build/release] [--write]

Each program runs twice, the second time with more calls. The difference has no start and no exit in it. Only the
calling thread counts, and only code of this project: libc picks its functions by processor. --write puts the counts
into the table of docs/internals/benchmarks.md, with which tests/instructions_test.py compares them.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "internals" / "benchmarks.md"
BEGIN, END = "<!-- instructions -->\n", "<!-- end of instructions -->\n"
MODEL = "fakes/stats/data/aotinductor/model/cstats.wrapper.so"

COLUMNS = {
    "level 0": {},
    "nothing selected": {"AOTI_DBG_LEVEL": "3", "AOTI_DBG_KERNELS": "no_such_kernel"},
    "names": {"AOTI_DBG_LEVEL": "3", "AOTI_DBG_SCOPE": "all"},
    "armed": {"AOTI_DBG_TRIAGE": "1", "AOTI_DBG_HANG": "0"},
    "statistics": {"AOTI_DBG_LEVEL": "2"},
    "a later run": {"AOTI_DBG_LEVEL": "2", "AOTI_DBG_RUNS": ":1"},
}


@dataclasses.dataclass
class Program:
    """What runs, and how often. `counts` selects the code that counts, by its file's name."""

    title: str
    command: list[str]
    few: int
    many: int
    calls: int  # per step from few to many
    counts: str
    columns: tuple[str, ...]


CALLS = ("level 0", "nothing selected", "names", "armed")
PROGRAMS = [
    Program("an op, through its stub", ["bench/passage_bench", "stub", "{}", "1000"], 1, 3, 1000, "passage_bench", CALLS),
    Program("a launch, through its hook", ["bench/launch_bench", "{}", "1000"], 1, 3, 1000, "libaoti_dbg.so", CALLS),
    Program(
        "a run of 8 calls and 11 tensors",
        ["victims/cuda_models", "--negative", "0", "--runs", "{}", MODEL],
        40,
        140,
        1,
        "libaoti_dbg.so",
        tuple(COLUMNS),
    ),
]


def instructions(report: pathlib.Path, file: str) -> int:
    """Add up what the code of `file` executed itself, from callgrind's report on one thread."""
    names: dict[str, str] = {}
    total, is_counted, is_inclusive = 0, False, False
    with report.open() as lines:
        for line in lines:
            if line.startswith(("ob=", "cob=")):
                number, _, name = line.rstrip("\n").partition("=")[2].partition(" ")
                name = names.setdefault(number, name)
                if line.startswith("ob="):
                    is_counted = name.endswith("/" + file)
            elif line.startswith("calls="):
                is_inclusive = True  # of the callee, on the next line
            elif line[0].isdigit() or line[0] in "+-*":
                if is_counted and not is_inclusive:
                    total += int(line.split()[1])
                is_inclusive = False
    return total


def count(build: pathlib.Path, program: Program, column: str, times: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        report = folder / "callgrind"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("AOTI_DBG_")}
        environment |= COLUMNS[column]
        environment |= {
            "AOTI_DBG_LOG": str(folder / "log"),
            "AOTI_DBG_OUT": str(folder / "out"),
            "LC_ALL": "C",
        }
        if program.counts != "passage_bench":
            environment["LD_PRELOAD"] = str(build / "libaoti_dbg.so")
        if "launch_bench" not in program.command[0]:
            environment["LD_LIBRARY_PATH"] = str(build / "fakes")
        command = [str(build / program.command[0])]
        command += [str(build / word) if word == MODEL else word.format(times) for word in program.command[1:]]
        valgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={report}"]
        done = subprocess.run(
            [*valgrind, *command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program.title}, {column}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        return instructions(folder / "callgrind-01", program.counts)


def per_step(build: pathlib.Path, program: Program, column: str) -> int:
    few, many = (count(build, program, column, times) for times in (program.few, program.many))
    return round((many - few) / (program.many - program.few) / program.calls)


def measure(build: pathlib.Path, workers: int) -> dict[tuple[str, str], int]:
    cells = [(program, column) for program in PROGRAMS for column in program.columns]
    with ThreadPoolExecutor(workers) as pool:
        counts = pool.map(lambda cell: per_step(build, *cell), cells)
        return {(program.title, column): number for (program, column), number in zip(cells, counts)}


def compiler_of(build: pathlib.Path) -> str:
    """Return the name of the compiler that built the library, as it is written into each object."""
    library = (build / "libaoti_dbg.so").read_bytes()
    # The start files of a program that clang built name GCC, too.
    for pattern, name in ((rb"clang version ([0-9.]+)", "clang++"), (rb"GCC: \([^)]*\) ([0-9.]+)", "g++")):
        if found := re.search(pattern, library):
            return f"{name} {found[1].decode()}"
    return "an unknown compiler"


def as_table(counts: dict[tuple[str, str], int], compiler: str) -> str:
    lines = [f"| {compiler} | {' | '.join(COLUMNS)} |", "|---|" + "---|" * len(COLUMNS)]
    for program in PROGRAMS:
        cells = [str(counts.get((program.title, column), "")) for column in COLUMNS]
        lines.append(f"| {program.title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def read_table(text: str) -> tuple[str, dict[tuple[str, str], int]]:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in text.strip().splitlines()]
    compiler, *columns = rows[0]
    cells = ((row[0], column, cell) for row in rows[2:] for column, cell in zip(columns, row[1:]))
    return compiler, {(title, column): int(cell) for title, column, cell in cells if cell}


def written_table() -> str:
    return PAGE.read_text().split(BEGIN)[1].split(END)[0].strip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--write", action="store_true", help="update the table in the documentation")
    given = parser.parse_args()
    build = given.build.resolve()
    table = as_table(measure(build, os.cpu_count() or 1), compiler_of(build))
    print(table, end="")
    if given.write:
        text = PAGE.read_text()
        PAGE.write_text(text.split(BEGIN)[0] + BEGIN + "\n" + table + "\n" + END + text.split(END)[1])


if __name__ == "__main__":
    main()
