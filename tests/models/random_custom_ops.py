"""Custom ops for random models. Each records what it got and what it left, so that a test can compare that with what
the library saved. A process that compiles or runs a random model must have imported this module.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

# Set by the victim: receives the op's name and copies of its tensors, before and after the call.
record: Callable[[str, list[torch.Tensor], list[torch.Tensor]], None] | None = None


def copy_of(tensor: torch.Tensor) -> torch.Tensor:
    """The values that a program sees, laid out as the tensor is: without a pending conjugation or negation."""
    return tensor.detach().resolve_conj().resolve_neg().clone()


def _recorded(name: str, given: list[torch.Tensor], work: Callable[[], object]):
    if record is None:
        return work()
    before = [copy_of(tensor) for tensor in given]
    made = work()
    tensors = [made] if isinstance(made, torch.Tensor) else list(made or [])
    record(name, before, [copy_of(tensor) for tensor in [*given, *tensors]])
    return made


@torch.library.custom_op("rnd::double", mutates_args=())
def double(x: torch.Tensor, factor: float) -> torch.Tensor:
    return _recorded("double", [x], lambda: (x + x).contiguous())


@double.register_fake
def _(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.empty(x.shape, dtype=(x + x).dtype)


@torch.library.custom_op("rnd::halves", mutates_args=())
def halves(x: torch.Tensor, twice: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    return _recorded("halves", [x], lambda: (x.clone(memory_format=torch.contiguous_format), x.t().contiguous()))


@halves.register_fake
def _(x: torch.Tensor, twice: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty(x.shape, dtype=x.dtype), torch.empty((x.shape[1], x.shape[0]), dtype=x.dtype)


@torch.library.custom_op("rnd::accumulate_", mutates_args=("x",))
def accumulate_(x: torch.Tensor, y: torch.Tensor) -> None:
    _recorded("accumulate_", [x, y], lambda: _none(x.copy_(x + y)))


@torch.library.custom_op("rnd::move_", mutates_args=("to", "count"))
def move_(source: torch.Tensor, to: torch.Tensor, count: torch.Tensor, times: int) -> torch.Tensor:
    def work() -> torch.Tensor:
        to.copy_(source)
        count.add_(times)
        return source.clone(memory_format=torch.contiguous_format)

    return _recorded("move_", [source, to, count], work)


@move_.register_fake
def _(source: torch.Tensor, to: torch.Tensor, count: torch.Tensor, times: int) -> torch.Tensor:
    return torch.empty(source.shape, dtype=source.dtype)


@torch.library.custom_op("rnd::fill_all_", mutates_args=("xs",))
def fill_all_(xs: list[torch.Tensor], value: float) -> None:
    _recorded("fill_all_", list(xs), lambda: _none(*[x.fill_(value) for x in xs]))


@torch.library.custom_op("rnd::first_of", mutates_args=())
def first_of(xs: list[torch.Tensor], other: torch.Tensor | None) -> torch.Tensor:
    given = [*xs, *([] if other is None else [other])]
    return _recorded("first_of", given, lambda: xs[0].clone(memory_format=torch.contiguous_format))


@first_of.register_fake
def _(xs: list[torch.Tensor], other: torch.Tensor | None) -> torch.Tensor:
    return torch.empty(xs[0].shape, dtype=xs[0].dtype)


# By number: PyTorch 2.11 passes a dtype to a custom op as another one.
NARROW = (torch.float8_e4m3fn, torch.float8_e5m2, torch.uint16, torch.uint32)


@torch.library.custom_op("rnd::narrow", mutates_args=())
def narrow(x: torch.Tensor, to: int) -> torch.Tensor:
    return _recorded("narrow", [x], lambda: x.float().contiguous().to(NARROW[to]))


@narrow.register_fake
def _(x: torch.Tensor, to: int) -> torch.Tensor:
    return torch.empty(x.shape, dtype=NARROW[to])


@torch.library.custom_op("rnd::widen", mutates_args=())
def widen(x: torch.Tensor) -> torch.Tensor:
    return _recorded("widen", [x], lambda: x.float().contiguous())


@widen.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty(x.shape, dtype=torch.float32)


def _none(*_: object) -> None:
    return None
