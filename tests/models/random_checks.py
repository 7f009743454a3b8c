"""Checks of what the library recorded of a random model (random_recording.py). They compare the record with torch, with
the program's own tensors and with itself. Each check returns one sentence for each disagreement.
"""

from __future__ import annotations

import collections
import math
import pathlib

import torch

from random_recording import Argument, Call, Recording

TOLERANCE = 1e-6  # for mean and standard deviation, see stats_kernels/README.md
COUNTS = ("zeros", "nan", "pos_inf", "neg_inf")


def bytes_of(tensor: torch.Tensor) -> bytes:
    """Return the elements in logical order, as the program sees them."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    plain = (plain.view(torch.uint8) if plain.dtype == torch.bool else plain).reshape(-1)  # copies change a bool's bits
    copy = plain.clone(memory_format=torch.contiguous_format)
    return bytes(copy.view(torch.uint8).tolist()) if tensor.numel() else b""


def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return (one.dtype, one.shape, bytes_of(one)) == (other.dtype, other.shape, bytes_of(other))


def short(tensor: torch.Tensor) -> str:
    return f"{tensor.dtype} {list(tensor.shape)} {tensor.flatten()[:4].tolist()}"


# Statistics.


def number(read: object) -> float:
    return read if isinstance(read, (int, float)) else float(str(read))


def is_near(found: object, expected: float, scale: float) -> bool:
    value = number(found)
    if math.isnan(expected) or math.isinf(expected):
        return math.isnan(value) if math.isnan(expected) else value == expected
    return abs(value - expected) <= TOLERANCE * scale


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Return the values as float64, which represents all dtypes except 64-bit integers."""
    flat = tensor.resolve_neg().reshape(-1)
    return flat.to(torch.float32).double() if flat.dtype.itemsize == 1 and flat.is_floating_point() else flat.double()


def compared(said: dict, name: str, expected: object) -> list[str]:
    found = said.get(name, 0 if name in COUNTS else None)
    return [] if found == expected else [f"{name}: expected {expected}, got {found}"]


def moments(said: dict, values: torch.Tensor, exact_mean: float | None = None) -> list[str]:
    """Check mean and standard deviation of float64 values."""
    mean = exact_mean if exact_mean is not None else (values.mean().item() if len(values) else math.nan)
    std = values.std().item() if len(values) > 1 else math.nan
    scale = values.abs().mean().item() if len(values) else 0.0
    wrong = []
    if not is_near(said["mean"], mean, scale if math.isfinite(scale) else 0.0):
        wrong.append(f"mean: expected {mean}, got {said['mean']}")
    spread = (abs(std) if math.isfinite(std) else 0.0) + 1e-9 * (scale if math.isfinite(scale) else 0.0)
    if not is_near(said["std"], std, spread):
        wrong.append(f"std: expected {std}, got {said['std']}")
    return wrong


def extremes(said: dict, tensor: torch.Tensor) -> list[str]:
    """Check the extremes of real numbers exactly."""
    flat = tensor.resolve_neg().reshape(-1)
    if not len(flat):
        expected = math.nan if tensor.is_floating_point() else 0
        pairs = {"min": expected, "max": expected}
    elif tensor.is_floating_point():
        values = wide(tensor)
        pairs = {"min": values.min().item() + 0.0, "max": values.max().item() + 0.0}
    else:
        values = [int(value) for value in flat.tolist()]
        pairs = {"min": min(values), "max": max(values)}
    wrong = []
    for name, expected in pairs.items():
        found = number(said[name])
        if tensor.dtype in (torch.float32, torch.float16, torch.bfloat16):  # has only that dtype's digits
            found = torch.tensor(found, dtype=torch.float64).to(tensor.dtype).double().item()
        if not (found == expected or (math.isnan(found) and math.isnan(float(expected)))):
            wrong.append(f"{name}: expected {expected}, got {said[name]}")
    return wrong


def counts(said: dict, tensor: torch.Tensor) -> list[str]:
    values = wide(tensor)
    found = {"nan": values.isnan(), "pos_inf": values == math.inf, "neg_inf": values == -math.inf, "zeros": values == 0}
    return [text for name, mask in found.items() for text in compared(said, name, int(mask.sum()))]


def indices(said: dict, tensor: torch.Tensor) -> list[str]:
    if "min_at" not in said:
        return []
    values = wide(tensor)
    nan = values.isnan().nonzero()
    if not len(values):
        low = high = None
    elif len(nan):
        low = high = int(nan[0])
    else:
        low, high = ((values == extreme).nonzero()[0].item() for extreme in (values.min(), values.max()))
    unfinished = (~values.isfinite()).nonzero()
    return [
        *compared(said, "min_at", low), *compared(said, "max_at", high),
        *compared(said, "first_nan", int(nan[0]) if len(nan) else None),
        *compared(said, "first_nonfinite", int(unfinished[0]) if len(unfinished) else None),
    ]  # fmt: skip


def statistics(said: dict, tensor: torch.Tensor) -> list[str]:
    if tensor.is_complex():
        plain = torch.view_as_real(tensor.resolve_conj().resolve_neg())
        parts = {"real": plain[..., 0], "imaginary": plain[..., 1]}
        return [f"{part}: {text}" for part, half in parts.items() for text in statistics(said[part], half)]
    wrong = [*extremes(said, tensor), *counts(said, tensor), *indices(said, tensor)]
    if tensor.is_floating_point():
        values = wide(tensor)
        finite = values[values.isfinite()]
        wrong += moments(said, values)
        if ("finite" in said) != (len(finite) < len(values)):
            wrong.append(f"finite: {said.get('finite')} of {len(finite)} finite among {len(values)}")
        elif "finite" in said:
            wrong += [f"finite: {text}" for text in moments(said["finite"], finite)]
            wrong += compared(said["finite"], "count", len(finite))
        return wrong
    whole = [int(value) for value in tensor.reshape(-1).tolist()]
    wrong += compared(said, "sum", sum(whole))
    return wrong + moments(said, torch.tensor(whole, dtype=torch.float64), sum(whole) / len(whole) if whole else None)


def values(said: dict, tensor: torch.Tensor) -> list[str]:
    if tensor.numel() > 64 or not tensor.numel():
        return ["values of an empty or large tensor"] if said.get("values") else []
    if "values" not in said:
        return ["values: missing"]
    plain = tensor.resolve_conj().resolve_neg().reshape(-1)
    plain = torch.view_as_real(plain.clone(memory_format=torch.contiguous_format)) if tensor.is_complex() else plain
    found = [one for read in said["values"] for one in (read if isinstance(read, list) else [read])]
    if tensor.is_floating_point() or tensor.is_complex():
        read = torch.tensor([number(str(one).replace("-NaN", "NaN")) for one in found], dtype=torch.float64)
        small = plain.reshape(-1).to(torch.float32) if plain.dtype.itemsize < 8 else plain.reshape(-1)
        same = torch.equal(read.to(small.dtype).nan_to_num(7e7), small.nan_to_num(7e7)) and torch.equal(
            read.signbit() | read.isnan(), small.signbit() | small.isnan())  # fmt: skip
    else:
        same = found == plain.tolist()
    return [] if same else [f"values: expected {plain.tolist()}, got {said['values']}"]


# Files.


def in_the_file(line: dict) -> dict:
    """Return a line of the index, with the storage in the file instead of the tensor's whole storage."""
    return {**line, "storage_bytes": line.get("saved_storage_bytes", line.get("storage_bytes"))}


def facts(argument: Argument, tensor: torch.Tensor) -> list[str]:
    found = {
        "dtype": str(tensor.dtype).removeprefix("torch."), "sizes": list(tensor.shape),
        "strides": list(tensor.stride()), "storage_offset": tensor.storage_offset(),
        "storage_bytes": tensor.untyped_storage().nbytes(), "contiguous": tensor.is_contiguous(),
    }  # fmt: skip
    wrong = [
        f"{source} says {name} {stated[name]}, the file has {found[name]}"
        for source, stated in (("the event", argument.facts), ("the index", in_the_file(argument.file)))
        for name in found if name in stated and stated[name] != found[name]
        # A file ends with the tensor, but its storage may be larger.
        and not (name == "storage_bytes" and stated is argument.facts and stated[name] > found[name])
    ]  # fmt: skip
    for name in ("dtype", "sizes"):
        if argument.said.get(name) != found[name]:
            wrong.append(f"the call says {name} {argument.said.get(name)}, the file has {found[name]}")
    return wrong


def files(recording: Recording) -> list[str]:
    """Check that every tensor has its file, with the facts of the event."""
    wrong = [f"{file['path']}: no event speaks of it" for file in recording.unjoined]
    for call in recording.calls:
        for argument in call.tensors():
            name = f"{call} - {argument.label}"
            if argument.file is None:
                if "why" not in argument.said:
                    wrong.append(f"{name} {argument.said['sizes']}: no file, and no reason")
                continue
            tensor = recording.load(argument)
            found = facts(argument, tensor)
            if argument.is_measured and not found:
                found = [*statistics(argument.said, tensor), *values(argument.said, tensor)]
            wrong += [f"{name}: {text}" for text in found]
    return wrong


def pairs_with_hashes(recording: Recording) -> tuple[list, list]:
    """Return (hash, hashed data, name) of the events and of the index."""
    events, index = [], []
    for call in recording.calls:
        for argument in call.tensors():
            if argument.file is None:
                continue
            tensor, name = recording.load(argument), f"{call} - {argument.label}"
            if "hash" in argument.said:
                events.append((argument.said["hash"], (tensor.dtype, tuple(tensor.shape), bytes_of(tensor)), name))
            # The part of the storage before the tensor is zeros and is not hashed.
            own = torch.tensor([], dtype=torch.uint8).set_(tensor.untyped_storage())
            if "hash" in argument.file:
                own = own[tensor.storage_offset() * tensor.itemsize :]
                index.append((argument.file["hash"], bytes_of(own), name))
    return events, index


def hashes(recording: Recording) -> list[str]:
    wrong = []
    for kind, pairs in zip(("event", "index"), pairs_with_hashes(recording)):
        by_hash, by_content = {}, {}
        for found, content, name in pairs:
            other, at = by_hash.setdefault(found, (content, name))
            if other != content:
                wrong.append(f"{name}: the {kind}'s hash {found} is that of {at}, which has other contents")
            other, at = by_content.setdefault(content, (found, name))
            if other != found:
                wrong.append(f"{name}: the {kind}'s hash {found} differs from that of {at}, which has equal contents")
    return wrong


# What the program's own tensors contain.


def as_given(recording: Recording, side: str, held: dict, run: int) -> list[str]:
    calls = recording.of(run, side)
    if len(calls) != 1:
        return [f"run {run}: {len(calls)} events of {side}"]
    arguments = calls[0].tensors()
    if len(arguments) != len(held["values"]):
        return [f"run {run}: {len(held['values'])} {side}, of which {len(arguments)} are recorded"]
    wrong = []
    for argument, expected, (strides, offset, *_) in zip(arguments, held["values"], held["facts"]):
        if argument.file is None:
            continue
        tensor = recording.load(argument)
        if not is_same(tensor, expected):
            wrong.append(f"run {run}, {side} {argument.label}: expected {short(expected)}, got {short(tensor)}")
        elif (tensor.stride(), tensor.storage_offset()) != (strides, offset):
            wrong.append(f"run {run}, {side} {argument.label}: expected strides {strides} and offset {offset}, "
                         f"got {tensor.stride()}, {tensor.storage_offset()}")  # fmt: skip
    return wrong


def as_seen_inside(recording: Recording, calls: list[tuple], run: int) -> list[str]:
    """Compare with what custom ops recorded of their own arguments."""
    wrong = []
    for at, side in enumerate(("before", "after")):
        ours = [call for call in recording.of(run, side) if call.kernel.startswith("rnd::")]
        if [call.kernel.removeprefix("rnd::") for call in ours] != [name for name, *_ in calls]:
            return [f"run {run}: custom ops {[name for name, *_ in calls]}, {side} {[call.kernel for call in ours]}"]
        for call, (_, *sides) in zip(ours, calls):
            found, expected = call.tensors(), sides[at]
            if len(found) != len(expected):
                names = [argument.label for argument in found]
                wrong.append(f"{call}: {len(expected)} tensors, recorded are {names}")
                continue
            for argument, tensor in zip(found, expected):
                if argument.file is not None and not is_same(recording.load(argument), tensor):
                    held = recording.load(argument)
                    wrong.append(f"{call} - {argument.label}: expected {short(tensor)}, got {short(held)}")
    return wrong


def program(recording: Recording, truth: pathlib.Path, runs: int) -> list[str]:
    wrong = []
    for run in range(runs):
        wrong += as_given(recording, "inputs", torch.load(truth / f"inputs-{run}.pt"), run)
        if (truth / f"outputs-{run}.pt").exists():
            wrong += as_given(recording, "outputs", torch.load(truth / f"outputs-{run}.pt"), run)
            wrong += as_seen_inside(recording, torch.load(truth / f"custom-{run}.pt"), run)
    return wrong


# What must agree between recordings.


def summary(call: Call, argument: Argument) -> tuple:
    ignored = ("argument", "tensor", "address", "measured_at")
    said = {name: value for name, value in argument.said.items() if name not in ignored}
    return str(call), argument.label, str(said), str(argument.facts.get("strides"))


def alike(one: Recording, other: Recording, what: str) -> list[str]:
    """Check that both have the same values, however they were measured."""
    sides = [[summary(call, argument) for call in recording.calls for argument in call.arguments]
             for recording in (one, other)]  # fmt: skip
    wrong = [f"{mine[0]} - {mine[1]} {what}: expected {theirs[2]}, got {mine[2]}"
             for mine, theirs in zip(*sides) if mine != theirs and mine[:2] == theirs[:2]]  # fmt: skip
    if [side[:2] for side in sides[0]] != [side[:2] for side in sides[1]]:
        differ = collections.Counter(side[:2] for side in sides[0])
        differ.subtract(side[:2] for side in sides[1])
        wrong.append(f"{what}: other arguments: {[key for key, count in differ.items() if count][:5]}")
    return wrong
