"""Compares a report.json with what is known about the fault:
    verdict.py REPORT [class=C] [kernel=PATTERN] [file=NAME] [run=N] [call=N] [launch=N/OF]
                      [certainty=exact|kernel] [suspect=LABEL|none] [source=yes] [inside=OP]
                      [verdict=PATTERN] [tensor=NAME] [device=N] [gpus=N] [rank=N]

launch: the faulting launch, from 0, of OF launches, which only a few calls and fills precede. certainty:
exact requires that launch, if the report names it, without doubt, and kernel only its kernel. tensor: the
tensor at the address of the fault. gpus: the number of GPUs, each with its own launch numbers, used in turn.
device: the faulting one.
"""

from __future__ import annotations

import fnmatch
import json
import os
import sys


def faults(report: dict, want: dict[str, str]) -> list[str]:
    call, device, wrong = report.get("call", {}), report.get("device", {}), []

    def check(what: str, is_so: bool, found: object) -> None:
        if not is_so:
            wrong.append(f"{what}: {found!r}, and not {want[what]!r}")

    if "class" in want:
        check("class", report.get("class") == want["class"], report.get("class"))
    if "kernel" in want:
        names = [call.get("kernel", "")] + ([device.get("kernel", "")] if device else [])
        check("kernel", all(fnmatch.fnmatchcase(name, want["kernel"]) for name in names), names)
    if "file" in want:
        check("file", os.path.basename(device.get("file", "")) == want["file"] and device.get("line", 0) > 0, device)
    for number in ("run", "call"):
        if number in want:
            check(number, call.get(number) == int(want[number]), call.get(number))
    if want.get("certainty") == "exact":
        is_certain = "block" in device and "thread" in device and not call.get("likely")
        check("certainty", is_certain, (device, call))
    if want.get("certainty") == "exact" and "launch" in want:
        number = int(want["launch"].split("/")[0])
        # The driver's number and ours differ by what precedes the first launch, which is the same in every
        # run.
        gpus = int(want.get("gpus", "1"))
        ahead = device.get("launch", 0) - number // gpus, call.get("seq", 0) - number
        check("launch", all(1 <= count <= 8 * gpus for count in ahead), (ahead, device, call))
    if "device" in want:
        named = "cuda:" + want["device"]
        # With several GPUs, each call has its own device.
        called = call.get("device", named if int(want.get("gpus", "1")) == 1 else None)
        check("device", device.get("device") == named and called == named, (device, call))
    if "rank" in want:
        check("rank", report.get("ended", {}).get("rank") == want["rank"], report.get("ended"))
    if "suspect" in want:
        labels = [one["label"] for one in report.get("arguments", []) if one.get("suspect")]
        check("suspect", labels == ([] if want["suspect"] == "none" else [want["suspect"]]), labels)
    if "inside" in want:
        check("inside", want["inside"] in call.get("inside", ""), call.get("inside"))
    if "verdict" in want:
        check("verdict", fnmatch.fnmatchcase(report.get("verdict", ""), want["verdict"]), report.get("verdict"))
    if "tensor" in want:
        names = [tensor.get("name") for memory in report.get("allocations", []) for tensor in memory.get("tensors", [])]
        check("tensor", want["tensor"] in names, names)
    if want.get("source") == "yes":
        check("source", "tl." in device.get("source", ""), device.get("source"))
    return wrong


def main(path: str, *expected: str) -> int:
    try:
        with open(path) as file:
            report = json.load(file)
    except OSError as error:
        print(f"no report: {error}")
        return 1
    wrong = faults(report, dict(one.split("=", 1) for one in expected))
    for fault in wrong:
        print(fault)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
