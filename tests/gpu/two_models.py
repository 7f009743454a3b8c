"""Compares the library's record of two models that ran at once with torch's values on the same streams:
    two_models.py HELD EVENTS VARIANT,...   the output of two_models.cpp, and events.jsonl of that process

Inputs and outputs of each run must have these values, wherever a call uses an input too. Everything must be
measured on the run's stream and device. Intermediate tensors must equal those of a model that ran alone with
the same inputs. It must not import torch, and uses only the library's file.
"""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import struct
import sys

# For the mean, in units of the mean magnitude.
TOLERANCE = 1e-6
NUMBERS = ("zeros", "nan", "pos_inf", "neg_inf")


@dataclasses.dataclass
class Side:
    """One side of a call, or the inputs or outputs of a run."""

    kind: str
    kernel: str
    stream: str
    tensors: list[dict]  # arguments in events.jsonl, with the device from the tensor's own record

    def where(self, tensor: dict) -> str:
        return f"{self.kind} {self.kernel} {tensor['label']}".replace("  ", " ")


@dataclasses.dataclass
class Seen:
    thread: int
    sides: list[Side] = dataclasses.field(default_factory=list)

    def of_run(self, kind: str) -> list[dict]:
        return [tensor for side in self.sides if side.kind == kind for tensor in side.tensors]


def read_events(path: str) -> tuple[dict[int, Seen], dict]:
    """Return the runs by number, and the counts of the last line."""
    runs: dict[int, Seen] = {}
    devices: dict[int, str] = {}
    counts: dict = {}
    with open(path) as lines:
        for line in lines:
            if not line.strip():
                continue
            event = json.loads(line)
            if event["event"] == "tensor":
                devices[event["id"]] = event["device"]
            elif event["event"] == "coverage":
                counts = event["counts"]
            elif event["event"] == "call" and "run" in event:
                tensors = [
                    {**argument, "device": devices[argument["tensor"]]}
                    for argument in event.get("arguments", [])
                    if "tensor" in argument
                ]
                seen = runs.setdefault(event["run"], Seen(event["thread"]))
                seen.sides.append(Side(event["side"], event.get("kernel", ""), event["stream"], tensors))
    return runs, counts


def number(dtype: str, value: float | str) -> float:
    """Round the number to the tensor's dtype, as both files store it."""
    value = float(value)
    is_small = dtype.startswith(("float", "bfloat")) and dtype != "float64"
    return struct.unpack("f", struct.pack("f", value))[0] if is_small and math.isfinite(value) else value


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def near(one: float, other: float, magnitude: float) -> bool:
    if not math.isfinite(one) or not math.isfinite(other):
        return same(one, other)
    return abs(one - other) <= TOLERANCE * magnitude


def from_torch(tensor: dict, held: dict) -> str | None:
    """Return what is wrong with the library's record of a tensor with these values."""
    if "mean" not in tensor:
        return f"not measured: {tensor.get('why', tensor.get('measured'))}"
    if math.prod(tensor.get("sizes", [])) != held["count"]:
        return f"sizes {tensor.get('sizes')} of {held['count']} elements"
    for name in ("min", "max"):
        mine, theirs = number(tensor["dtype"], tensor[name]), number(tensor["dtype"], held[name])
        if not same(mine, theirs):
            return f"{name} {mine!r} for {theirs!r}"
    mean, magnitude = float(tensor["mean"]), float(held["magnitude"])
    if not near(mean, float(held["mean"]), magnitude):
        return f"mean {mean!r} for {held['mean']!r}"
    if not near(mean * held["count"], float(held["sum"]), magnitude * held["count"]):
        return f"mean {mean!r} for a sum of {held['sum']!r}"
    return None


def from_other_run(tensor: dict, other: dict) -> str | None:
    """Return the difference from the same tensor in another run with the same inputs."""
    if ("mean" in tensor) != ("mean" in other):
        return "measured in one of them only"
    if "mean" not in tensor:
        return None
    if tensor.get("hash") != other.get("hash"):
        return f"hash {tensor.get('hash')} for {other.get('hash')}"
    for name in ("sizes", "dtype", "min", "max", *NUMBERS):
        if tensor.get(name) != other.get(name):
            return f"{name} {tensor.get(name)} for {other.get(name)}"
    magnitude = math.hypot(float(other["mean"]), float(other["std"]))
    # A single element has no deviation.
    magnitude = magnitude if math.isfinite(magnitude) else abs(float(other["mean"]))
    if not near(float(tensor["mean"]), float(other["mean"]), magnitude):
        return f"mean {tensor['mean']} for {other['mean']}"
    return None


def judged(sides: list[Side]) -> list[tuple[str, dict]]:
    """Return the tensors whose values follow from a run's inputs, and where they appear. A buffer before
    the first call that uses it may contain anything. So may integers that attention passes on, such as an
    unset seed."""
    known, found = set(), []
    for side in sides:
        for tensor in side.tensors:
            is_unwritten = side.kind == "before" and tensor["label"].startswith("buf") and tensor["label"] not in known
            if not is_unwritten and "float" in tensor["dtype"]:
                found.append((side.where(tensor), tensor))
        known.update(tensor["label"] for tensor in side.tensors)
    return found


class Judge:
    def __init__(self):
        self.faults: list[str] = []
        self.held = self.alike = self.other_results = 0

    def fault(self, held: dict, what: str) -> None:
        self.faults.append(f"{held['variant']}, {held['model']}, run {held['run']}: {what}")

    def run(self, held: dict, seen: Seen) -> None:
        for kind in ("inputs", "outputs"):
            tensors = seen.of_run(kind)
            if len(tensors) != len(held[kind]):
                self.fault(held, f"{len(tensors)} {kind}, where torch had {len(held[kind])}")
            for tensor, truth in zip(tensors, held[kind]):
                self.tensor(held, kind, tensor, truth)
        inputs = {tensor["label"]: truth for tensor, truth in zip(seen.of_run("inputs"), held["inputs"])}
        for side in seen.sides:
            if side.stream != held["stream"]:
                self.fault(held, f"{side.kind} {side.kernel} on stream {side.stream} for {held['stream']}")
            for tensor in side.tensors:
                # Views of an input have other values.
                truth = inputs.get(tensor["label"]) if side.kind in ("before", "after") else None
                if truth and math.prod(tensor.get("sizes", [])) == truth["count"]:
                    self.tensor(held, side.where(tensor), tensor, truth)

    def tensor(self, held: dict, where: str, tensor: dict, truth: dict) -> None:
        self.held += 1
        if tensor["device"] != held["device"]:
            self.fault(held, f"{where}: on {tensor['device']} for {held['device']}")
        if wrong := from_torch(tensor, truth):
            self.fault(held, f"{where}: {wrong}")

    def company(self, held: dict, seen: Seen, alone: Seen) -> None:
        mine, other = judged(seen.sides), judged(alone.sides)
        if [where for where, _ in mine] != [where for where, _ in other]:
            self.fault(held, f"{len(mine)} tensors, others than the {len(other)} of the run alone")
            return
        self.alike += len(mine)
        for (where, tensor), (_, reference) in zip(mine, other):
            if wrong := from_other_run(tensor, reference):
                self.fault(held, f"{where}: {wrong} of the run alone")


def runs_by_thread(runs: dict[int, Seen]) -> dict[int, list[Seen]]:
    found: dict[int, list[Seen]] = {}
    for _, seen in sorted(runs.items()):
        found.setdefault(seen.thread, []).append(seen)
    return found


def main(held_path: str, events_path: str, variants: str) -> int:
    all_held = [json.loads(line) for line in pathlib.Path(held_path).read_text().splitlines()]
    runs, counts = read_events(events_path)
    judge, waiting = Judge(), runs_by_thread(runs)
    pairs = []
    for held in all_held:
        of_thread = waiting.get(held["thread"])
        if not of_thread:
            judge.fault(held, "its thread has no such run in the events")
            continue
        pairs.append((held, of_thread.pop(0)))
    if left := sum(map(len, waiting.values())):
        judge.faults.append(f"{left} runs more than the program made")
    if {held["variant"] for held in all_held} != set(variants.split(",")):
        judge.faults.append(f"not all of {variants} was run")
    identities = {json.dumps([held["variant"], held["model"], held["inputs"]]) for held in all_held}
    if len(identities) != len(all_held) or len(all_held) < 2:
        judge.faults.append("runs cannot be distinguished by their inputs")
    if lost := counts.get("not_measured_for_want_of_room", -1):
        judge.faults.append(f"lost: {lost}" if lost > 0 else "the events have no end")
    alone = {(held["model"], held["run"]): (held, seen) for held, seen in pairs if held["variant"] == "alone"}
    for held, seen in pairs:
        judge.run(held, seen)
        if held["variant"] == "alone" or (held["model"], held["run"]) not in alone:
            continue
        reference, seen_alone = alone[held["model"], held["run"]]
        if reference["digest"] == held["digest"]:
            judge.company(held, seen, seen_alone)
        else:
            judge.other_results += 1
    if alone and not judge.alike:
        judge.faults.append("no run could be compared with one alone")
    for fault in judge.faults[:20]:
        print(fault)
    others = f", {judge.other_results} runs with other results than alone" if judge.other_results else ""
    print(f"note: {len(pairs)} runs, {judge.held} tensors as torch says, {judge.alike} as alone{others}")
    return 1 if judge.faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
