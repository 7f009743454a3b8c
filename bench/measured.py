"""Counts what level 2 measured in one run of a model, from its events.jsonl (docs/reference/events.md). It
stops after that run, because the file has hundreds of runs.
"""

from __future__ import annotations

import json
import math
import pathlib
import re

# Early enough to find quickly, and after everything that only a first run does.
RUN = 3

_BITS = re.compile(r"(\d+)")


def bytes_of(argument: dict) -> int:
    dtype = argument["dtype"]
    # In float8_e4m3fn, bfloat16, complex64 and uint8, the first number is the bit count. bool has none.
    bits = int(match[1]) if (match := _BITS.search(dtype)) else 8
    return argument.get("count", math.prod(argument.get("sizes", []))) * bits // 8


def measured_in_a_run(events: pathlib.Path) -> dict | None:
    """Return the number of tensors and the bytes of their elements, or None if the run is missing."""
    tensors = size = 0
    is_there = False
    with events.open() as lines:
        for line in lines:
            if not line.startswith('{"event":"call"'):
                continue
            # Only lines of this run are worth decoding.
            run = re.search(r'"run":(\d+)', line)
            if run is None or int(run[1]) < RUN:
                continue
            if int(run[1]) > RUN:
                break
            is_there = True
            for argument in json.loads(line).get("arguments", []):
                if "tensor" in argument and "measured" not in argument and "measured_at" not in argument:
                    tensors += 1
                    size += bytes_of(argument)
    return {"tensors": tensors, "bytes": size} if is_there else None
