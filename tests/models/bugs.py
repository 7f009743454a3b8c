"""Bugs that a caller or a model can have on a CPU: the input that shows each in the model `seeded_bugs`, and what a
program ends with and a report says.

docs/explanation/verdicts.md has them as a table, which bugs_test.py holds against this one.
"""

from __future__ import annotations

import dataclasses

import torch


@dataclasses.dataclass
class Bug:
    what: str
    place: int  # of the input that is bad
    element: int  # of it that is
    value: float
    exit_code: int  # of the program, bare as preloaded; below 0 a signal
    bare: str  # what the program itself prints of it on standard error; empty: nothing
    verdict: str  # a regular expression
    kind: str  # the report's class
    finding: bool = False


BUGS = {
    "log": Bug(
        "NaN: the logarithm of a negative number",
        place=0,
        element=9,
        value=-1.0,
        exit_code=0,
        bare="",
        verdict=r"NaN in buf\d+, first made by cpp_fused_log_\d+ \(run 1, call 0\)",
        kind="kernel",
        finding=True,
    ),
    "overflow": Bug(
        "Inf: a number too large for float16",
        place=1,
        element=33,
        value=30000.0,
        exit_code=0,
        bare="",
        verdict=r"Inf in buf\d+, written by cpp_fused__to_copy_index_mul_\d+ \(run 1, call 2\)",
        kind="kernel",
        finding=True,
    ),
    "index": Bug(
        "an index beyond its table",
        place=3,
        element=2,
        value=10,
        exit_code=1,
        bare="index out of bounds",
        verdict=r"an exception unwound cpp_fused__to_copy_index_mul_\d+ \(run 1, call 2\); the program then exited with status 1",
        kind="host",
        finding=True,
    ),
    "division": Bug(
        "an integer divided by zero",
        place=5,
        element=17,
        value=0,
        exit_code=-8,
        bare="",
        verdict=r"floating point exception \(SIGFPE\) inside cpp_fused_div_\d+ \(run 1, call 4\)",
        kind="host",
    ),
}


def inputs_with(name: str, good: tuple) -> tuple:
    bug = BUGS[name]
    bad = [tensor.clone() for tensor in good]
    bad[bug.place].view(-1)[bug.element] = bug.value
    return tuple(bad)
