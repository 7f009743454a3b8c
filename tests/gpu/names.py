"""Compares lists of launches: those that PyTorch's printer printed, and those that the library logged.
    names.py subsequence PRINTED LOG   PyTorch's list must be a subsequence of ours, and
                                       forgotten_by_pytorch.txt must list the rest
    names.py begins LOG SHORT_LOG      the first log must begin with everything in the second
    names.py count LOG NUMBER          that many launches must have started and ended
"""

from __future__ import annotations

import pathlib
import re
import sys

LAUNCH = re.compile(r"^ *\[ (before|after)_launch: (.+) \]$")


def launches(path: str) -> list[str]:
    return [line.strip() for line in pathlib.Path(path).read_text().splitlines() if LAUNCH.match(line)]


def forgotten() -> set[str]:
    lines = pathlib.Path(__file__).with_name("forgotten_by_pytorch.txt").read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def subsequence(printed: str, log: str) -> str | None:
    theirs, ours = launches(printed), launches(log)
    if not theirs:
        return "PyTorch's printer printed nothing"
    matched, extra = 0, set()
    for line in ours:
        if matched < len(theirs) and line == theirs[matched]:
            matched += 1
        else:
            extra.add(LAUNCH.match(line)[2])
    if matched < len(theirs):
        around = theirs[max(0, matched - 3) : matched + 3]
        return f"line {matched + 1} of PyTorch's {len(theirs)} is not in ours: {theirs[matched]}; around it: {around}"
    if unknown := extra - forgotten():
        return f"printed by us and not by PyTorch, and not documented: {sorted(unknown)}"
    print(f"note: {len(theirs)} lines of PyTorch's, {len(ours)} of ours, left over: {sorted(extra) or 'nothing'}")
    return None


def begins(log: str, short_log: str) -> str | None:
    whole, start = launches(log), launches(short_log)
    if not start or whole[: len(start)] != start:
        return f"{len(start)} lines, of which {log} does not begin with all"
    print(f"note: {len(start)} lines alike")
    return None


def count(log: str, number: str) -> str | None:
    lines = launches(log)
    begun = sum("before_launch" in line for line in lines)
    if begun != int(number) or len(lines) != 2 * begun:
        return f"{begun} launches begun and {len(lines) - begun} ended, where the program made {number}"
    print(f"note: {begun} launches, each begun and ended")
    return None


if __name__ == "__main__":
    wrong = {"subsequence": subsequence, "begins": begins, "count": count}[sys.argv[1]](*sys.argv[2:])
    if wrong:
        print(wrong)
    sys.exit(1 if wrong else 0)
