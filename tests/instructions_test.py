"""The library executes no more instructions per call than the table of docs/internals/benchmarks.md says. callgrind
counts them, so the load of the machine does not matter.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))

import instructions  # noqa: E402

ALLOWED = 1.03
BUILD = pathlib.Path(os.environ.get("AOTI_DBGTEST_BUILD", instructions.ROOT / "build" / "release")).resolve()
UPDATE = "bench/instructions.py --write updates the table"
SKIPPED = 77  # ctest's code


def why_skipped() -> str | None:
    if shutil.which("valgrind") is None:
        return "valgrind is not installed (scripts/setup --dev installs it)"
    compiler = instructions.read_table(instructions.written_table())[0]
    found = instructions.compiler_of(BUILD)
    return None if found == compiler else f"the table is for {compiler}, this is {found}"


class Instructions(unittest.TestCase):
    maxDiff = None

    def test_no_call_costs_more_than_the_table_says(self):
        limits = instructions.read_table(instructions.written_table())[1]
        counts = instructions.measure(BUILD, len(os.sched_getaffinity(0)))
        self.assertEqual(set(counts), set(limits), UPDATE)
        dearer = []
        for (title, column), limit in limits.items():
            found = counts[title, column]
            # A few instructions are the noise of a count that is divided by the calls.
            if found > limit * ALLOWED + 3:
                dearer.append(f"{title}, {column}: expected at most {limit} instructions, got {found}")
            elif found * ALLOWED + 3 < limit:
                print(f"{title}, {column}: {found} instructions, the table says {limit}. {UPDATE}.")
        self.assertEqual(dearer, [], f"make it cheaper, or say why in the commit: {UPDATE}")

    def test_a_table_is_read_as_it_was_written(self):
        counts = {(program.title, column): 7 for program in instructions.PROGRAMS for column in program.columns}
        self.assertEqual(instructions.read_table(instructions.as_table(counts, "g++ 1.2")), ("g++ 1.2", counts))


if __name__ == "__main__":
    if reason := why_skipped():
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main()
