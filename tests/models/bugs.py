"""Bugs of a caller or a model on a CPU: for each, the bad input of the model `seeded_bugs`, the program's
exit code and the report's verdict.

docs/explanation/verdicts.md has them as a table, which bugs_test.py compares with this one.
"""

from __future__ import annotations

import dataclasses

import torch


@dataclasses.dataclass
class Bug:
    what: str
    place: int  # of the bad input
    element: int  # of the bad element in it
    value: float
    exit_code: int  # of the program, bare and preloaded; a signal if negative
    bare: str  # what the program itself prints on standard error; empty if nothing
    verdict: str  # a regular expression
    kind: str  # the class in the report
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
