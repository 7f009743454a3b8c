"""Repeats libtorch ops in eager torch on the tensors saved before the call, and compares the results with
those saved after it."""

from __future__ import annotations

from collections.abc import Callable

import torch

import random_checks
from random_recording import Call, Recording

Redone = tuple[torch.Tensor, ...]


def value(call: Call, name: str, otherwise: object = None) -> object:
    """Return a scalar by its parameter name in the header."""
    for argument in call.named(name):
        if "value" in argument.said:
            text = argument.said["value"]
            return float(text) if "." in text or "e" in text else int(text)
    return otherwise


def product(function: Callable, *names: str) -> Callable[[Call, list[torch.Tensor]], Redone]:
    """Repeat an `_out` op, whose first tensor is the result."""

    def again(call: Call, given: list[torch.Tensor]) -> Redone:
        scalars = {name: value(call, name, 1) for name in names}
        return (function(*given[1:], **scalars),)

    return again


def sort(call: Call, given: list[torch.Tensor]) -> Redone:
    return torch.sort(given[0], dim=value(call, "dim"), descending=bool(value(call, "descending")), stable=True)


def scan(function: Callable) -> Callable[[Call, list[torch.Tensor]], Redone]:
    def again(call: Call, given: list[torch.Tensor]) -> Redone:
        made = function(given[0], value(call, "dim"))
        return (made,) if isinstance(made, torch.Tensor) else tuple(made)

    return again


def topk(call: Call, given: list[torch.Tensor]) -> Redone:
    largest, ordered = bool(value(call, "largest")), bool(value(call, "sorted"))
    return torch.topk(given[0], value(call, "k"), value(call, "dim"), largest, ordered)


AGAIN: dict[str, Callable[[Call, list[torch.Tensor]], Redone]] = {
    "aoti_torch_cpu_mm_out": product(torch.mm),
    "aoti_torch_cpu_bmm_out": product(torch.bmm),
    "aoti_torch_cpu_addmm_out": product(torch.addmm, "beta", "alpha"),
    "aoti_torch_cpu_sort_stable": sort,
    "aoti_torch_cpu_topk": topk,
    "aoti_torch_cpu_logcumsumexp": scan(torch.logcumsumexp),
    "aoti_torch_cpu_cummax": scan(torch.cummax),
    "aoti_torch_cpu_view_as_real": lambda _, given: (torch.view_as_real(given[0].resolve_conj()),),
    "aoti_torch_cpu_cat": lambda call, given: (torch.cat(given, value(call, "dim")),),
    "aoti_torch_cpu_mul_Tensor": lambda _, given: (given[0] * given[1],),
    "aten::_conj": lambda _, given: (given[0].conj(),),
    "aten::clone": lambda _, given: (given[0].clone(),),
    "aten::complex": lambda _, given: (torch.complex(*given),),
    "aten::resolve_conj": lambda _, given: (given[0].resolve_conj(),),
    "aten::imag": lambda _, given: (given[0].imag,),
    "aten::real": lambda _, given: (given[0].real,),
}
ROUNDED = ("aoti_torch_cpu_mm_out", "aoti_torch_cpu_bmm_out", "aoti_torch_cpu_addmm_out")  # sums in any order


def is_result(call: Call, made: torch.Tensor, found: torch.Tensor) -> bool:
    if random_checks.is_same(made, found):
        return True
    if call.symbol not in ROUNDED or made.dtype != found.dtype or made.shape != found.shape:
        return False
    eps = torch.finfo(made.dtype).eps
    wide = torch.complex128 if made.is_complex() else torch.float64
    return torch.allclose(made.to(wide), found.to(wide), rtol=4 * eps, atol=16 * eps, equal_nan=True)


def check(recording: Recording) -> tuple[int, list[str]]:
    """Return the number of repeated calls and the differences."""
    wrong, judged = [], 0
    before = {(call.run, call.seq): call for call in recording.calls if call.side == "before"}
    for call in recording.calls:
        again = AGAIN.get(call.symbol, AGAIN.get(call.kernel))
        first = before.get((call.run, call.seq))
        if call.side != "after" or again is None or first is None:
            continue
        given, left = first.tensors(), call.tensors()
        if not left or any(argument.file is None for argument in [*given, *left]):
            continue
        results = left[:1] if call.symbol in ROUNDED else left[len(given) :]
        made = again(call, [recording.load(argument) for argument in given])
        if len(made) != len(results):
            wrong.append(f"{call}: {len(made)} results, recorded are {[argument.label for argument in results]}")
            continue
        judged += 1
        for expected, argument in zip(made, results):
            found = recording.load(argument)
            if not is_result(call, expected, found):
                wrong.append(f"{call} - {argument.label}: done again it is {random_checks.short(expected)}, "
                             f"saved is {random_checks.short(found)}")  # fmt: skip
    return judged, wrong
