"""Joins what the library recorded of a program: calls with the facts of their arguments, and their files. It
must depend only on the formats in docs/reference/events.md and docs/reference/tensors.md.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import pathlib

import torch

import saved_tensors


@dataclasses.dataclass
class Argument:
    label: str
    position: int
    role: str
    facts: dict  # dtype, sizes, strides ...; empty for a scalar
    said: dict  # the call's own fields for the argument
    file: dict | None = None

    @property
    def is_tensor(self) -> bool:
        return bool(self.facts)

    @property
    def is_measured(self) -> bool:
        return self.is_tensor and "measured" not in self.said


@dataclasses.dataclass
class Call:
    side: str
    kernel: str
    run: int
    number: int  # of the call within its run
    seq: int
    site: dict
    arguments: list[Argument]

    def __str__(self) -> str:
        return f"run {self.run}, {self.side} {self.kernel}"

    @property
    def symbol(self) -> str:
        """The called function of an op. It is omitted if the kernel has that name."""
        return self.site.get("symbol") or self.kernel

    def tensors(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.is_tensor]

    def named(self, label: str) -> list[Argument]:
        return [argument for argument in self.arguments if argument.label == label]


class Recording:
    """The recording in an `AOTI_DBG_OUT` folder, with saved tensors if it has any."""

    def __init__(self, home: pathlib.Path):
        self.calls: list[Call] = []
        self.findings: list[dict] = []
        self.counts: dict = {}
        definitions: dict[str, dict[int, dict]] = {"site": {}, "argument": {}, "tensor": {}}
        for line in (home / "events.jsonl").read_text().splitlines():
            event = json.loads(line, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))
            if event["event"] in definitions:
                definitions[event["event"]][event["id"]] = event
            elif event["event"] == "call":
                self.calls.append(read_call(event, definitions))
            elif event["event"] == "finding":
                self.findings.append(event)
            elif event["event"] == "coverage":
                self.counts = event["counts"]
        self.saved = saved_tensors.Saved(home / "tensors") if (home / "tensors").exists() else None
        self.unjoined = self.join() if self.saved else []

    def join(self) -> list[dict]:
        """Assign each argument its file, and return the files without one."""
        by_place = collections.defaultdict(list)
        for file in self.saved.files:
            by_place[file["seq"], file["side"], file["label"], file["position"]].append(file)
        for call in self.calls:
            for argument in call.tensors():
                files = by_place[call.seq, call.side, argument.label, argument.position]
                argument.file = files.pop(0) if files else None
        return [file for files in by_place.values() for file in files]

    def load(self, argument: Argument) -> torch.Tensor:
        return self.saved.load(argument.file["path"])

    def of(self, run: int, side: str) -> list[Call]:
        return [call for call in self.calls if call.run == run and call.side == side]


def read_call(event: dict, definitions: dict[str, dict[int, dict]]) -> Call:
    def argument(said: dict) -> Argument:
        defined = definitions["argument"][said["argument"]]
        facts = definitions["tensor"][said["tensor"]] if "tensor" in said else {}
        return Argument(said["label"], defined["position"], defined["role"], facts, said)

    site = definitions["site"].get(event.get("site"), {})
    arguments = [argument(said) for said in event.get("arguments", [])]
    return Call(event["side"], event.get("kernel", ""), event.get("run", -1), event.get("call", -1),
                event.get("seq", -1), site, arguments)  # fmt: skip
