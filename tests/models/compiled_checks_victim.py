"""Functions of torch.compile that get or return what they were not compiled for: compiled_checks_victim.py [CASE...]

Prints each result, or the exception. Most cases have no kernel that needs a compiler. It must not use the library.
"""

from __future__ import annotations

import sys

import quick_imports

with quick_imports.uncollected():
    import torch
with quick_imports.uncollected(freeze=False):
    import torch._inductor.compile_fx  # as torch.compile does
    from torch.fx.experimental.proxy_tensor import make_fx


def attempt(case: str, function, *inputs) -> None:
    try:
        result = function(*inputs)
    except BaseException as error:  # noqa: BLE001: KeyboardInterrupt too
        print(case, type(error).__name__, " ".join(str(error).split()), flush=True)
    else:
        print(case, [round(float(each.double().sum()), 4) for each in result], flush=True)


def inputs() -> None:
    """A function without guards gets other sizes and strides than those it was compiled for."""
    example = [torch.ones(4, 6), torch.ones(6, 4)]
    compiled = torch._inductor.compile(make_fx(lambda x, y: (x @ y,))(*example), example)
    attempt("inputs", compiled, *example)
    attempt("inputs", compiled, torch.ones(5, 6), torch.ones(4, 6).t())
    attempt("inputs", compiled, *example)


def unasserted() -> None:
    """The wrapper asserts nothing."""
    example = [torch.ones(4, 6), torch.ones(6, 4)]
    with torch._inductor.config.patch(size_asserts=False, alignment_asserts=False):
        compiled = torch._inductor.compile(make_fx(lambda x, y: (y @ x,))(*example), example)
        attempt("unasserted", compiled, *example)
        attempt("unasserted", compiled, torch.ones(4, 6), torch.ones(4, 6).t())


@torch.library.custom_op("aoti_dbg_checks::transposed", mutates_args=())
def transposed(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).t().contiguous().t()


@transposed.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("aoti_dbg_checks::shifted", mutates_args=())
def shifted(x: torch.Tensor) -> torch.Tensor:
    return x.new_ones(x.numel() + 1)[1:].view(x.shape)


@shifted.register_fake
def _(x):
    return torch.empty_like(x)


def results() -> None:
    """The fake implementation of an op promises another layout than the op returns. PyTorch expects alignment where all
    inputs of the op are its own buffers."""
    compiled = torch.compile(lambda x: (transposed(x),), dynamic=True)
    attempt("results", compiled, torch.ones(4, 6))
    attempt("results", compiled, torch.ones(1, 6))  # the layouts of one row are the same
    attempt("results", torch.compile(lambda x: (shifted(x.sin()) + 1,)), torch.ones(4, 6))


def freed() -> None:
    weight = torch.nn.Parameter(torch.ones(6, 4), requires_grad=False)
    compiled = torch.compile(lambda x: (x @ weight.t(),))
    attempt("freed", compiled, torch.ones(3, 4))
    weight.untyped_storage().resize_(0)
    attempt("freed", compiled, torch.ones(3, 4))


@torch.library.custom_op("aoti_dbg_checks::raising", mutates_args=())
def raising(x: torch.Tensor, what: int) -> torch.Tensor:
    raise [KeyboardInterrupt, ValueError][what]("raised in an op")


@raising.register_fake
def _(x, what):
    return torch.empty_like(x)


def exceptions() -> None:
    for what in (0, 1):
        attempt("exceptions", torch.compile(lambda x: (raising(x, what),)), torch.ones(3))


def nans() -> None:
    compiled = torch.compile(lambda x: (torch.log(x) * 2,))
    for first in (1.0, -1.0, 1.0, -1.0):
        attempt("nans", compiled, torch.tensor([first, 1.0]))


def backward() -> None:
    compiled = torch.compile(lambda x: x.sqrt().sum())
    for first in (0.0, 1.0):
        x = torch.tensor([first, 1.0], requires_grad=True)
        y = compiled(x)
        attempt("backward", lambda: (y * 0).backward() or (x.grad,))


CASES = [inputs, unasserted, results, freed, exceptions, nans, backward]

if __name__ == "__main__":
    for case in CASES:
        if len(sys.argv) == 1 or case.__name__ in sys.argv[1:]:
            case()
