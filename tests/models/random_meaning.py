"""Checks what the library concludes about a random model against the saved tensors: the arguments that a call
writes, and the first call that computes NaN or infinities.
"""

from __future__ import annotations

import torch

import random_checks
from random_recording import Argument, Call, Recording
from random_sites import Source

WRITING = ("writes", "updates", "makes", "unknown")
MUTATED = {"rnd::accumulate_": {0}, "rnd::move_": {1, 2}, "rnd::fill_all_": {0, 1}}  # tensors, by place


def sides(recording: Recording) -> list[tuple[Call, Call]]:
    """Return the calls before and after each launch as pairs."""
    before = {(call.run, call.number): call for call in recording.calls if call.side == "before"}
    pairs = ((before.get((call.run, call.number)), call) for call in recording.calls if call.side == "after")
    return [(first, last) for first, last in pairs if first is not None]


def addresses(argument: Argument) -> torch.Tensor:
    """Return the addresses of the elements, in logical order."""
    itemsize = getattr(torch, argument.facts["dtype"]).itemsize
    found = torch.tensor(int(argument.said.get("address", "0x0"), 16))
    for size, stride in zip(argument.facts["sizes"], argument.facts["strides"]):
        found = found.unsqueeze(-1) + torch.arange(size) * stride * itemsize
    return found.flatten()


def is_written_as_another(argument: Argument, changed: torch.Tensor, call: Call) -> bool:
    """Whether other arguments of the call may write all changed bytes. A kernel may get one buffer twice:
    as an input, which it only reads, and as an output, or as views to write."""
    written = [addresses(other) for other in call.tensors() if other.role in WRITING]
    return bool(written) and bool(torch.isin(addresses(argument)[changed], torch.cat(written)).all())


def elements(tensor: torch.Tensor) -> torch.Tensor:
    """Return the bytes of each element, in logical order."""
    return torch.tensor(list(random_checks.bytes_of(tensor)), dtype=torch.uint8).view(tensor.numel(), tensor.itemsize)


def roles(recording: Recording) -> list[str]:
    """Return tensors that changed although their role forbids it, and custom op roles that contradict the
    declaration."""
    wrong = []
    for before, after in sides(recording):
        for at, (was, argument) in enumerate(zip(before.tensors(), after.tensors())):
            name = f"{after} - {argument.label}"
            if at in MUTATED.get(after.kernel, ()) and argument.role not in WRITING:
                wrong.append(f"{name}: the op mutates it, its role is {argument.role}")
            if was.file is None or argument.file is None or was.label != argument.label or argument.role in WRITING:
                continue
            changed = (elements(recording.load(was)) != elements(recording.load(argument))).any(dim=1)
            if changed.any() and not is_written_as_another(argument, changed, after):
                wrong.append(f"{name}: the call changed it, its role is {argument.role}")
        if after.kernel in MUTATED:
            places = MUTATED[after.kernel]
            wrong += [f"{after} - {argument.label}: the op only reads it, its role is {argument.role}"
                      for at, argument in enumerate(before.tensors())
                      if at not in places and argument.role not in ("reads", "unknown")]  # fmt: skip
    return wrong


def bad(kind: str, tensor: torch.Tensor) -> int:
    plain = torch.view_as_real(tensor.resolve_conj().resolve_neg()) if tensor.is_complex() else tensor
    if not plain.is_floating_point():
        return 0
    plain = plain.float() if plain.dtype.itemsize == 1 else plain
    return int((plain.isnan() if kind == "nan" else plain.isinf()).sum())


def are_bad(recording: Recording, kind: str, arguments: list[Argument]) -> list[str]:
    return [argument.label for argument in arguments if argument.file and bad(kind, recording.load(argument))]


def findings(found: Recording, recording: Recording, source: Source) -> list[str]:
    """Check the findings in `found` against the tensors in `recording`."""
    wrong, pairs = [], {(after.run, after.number): (before, after) for before, after in sides(recording)}
    for finding in found.findings:
        kind = finding["kind"]
        if kind not in ("nan", "inf") or (finding["run"], finding["call"]) not in pairs:
            continue
        before, after = pairs[finding["run"], finding["call"]]
        label = finding["tensor"]["label"]
        site = source.site_of(after)
        if label not in are_bad(recording, kind, after.tensors()):
            wrong.append(f"{after}: finding of {kind} in {label}, which has none")
        read = [argument for argument in before.tensors() if site and argument.label in site.reads]
        for other in are_bad(recording, kind, read):
            wrong.append(f"{after}: finding of {kind} in {label}, though the call read {other}, which has some")
    kernels = {(finding["kind"], finding["kernel"]) for finding in found.findings}
    for kind in ("nan", "inf"):
        for before, after in pairs.values():
            was_bad = any(are_bad(recording, one, before.tensors()) for one in ("nan", "inf"))
            if (kind, after.kernel) in kernels or was_bad:
                continue
            for label in are_bad(recording, kind, after.tensors()):
                wrong.append(f"{after}: {kind} in {label}, and no finding")
    return wrong
