"""Functions that torch.compile compiles more than once, or in parts: recompiled_victim.py cpu|cuda [CASE...]

Prints a digest of each case's results, and what Dynamo counted. It must not use the library.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys

import quick_imports

with quick_imports.uncollected():
    import torch
with quick_imports.uncollected(freeze=False):
    import torch._inductor.compile_fx  # as torch.compile does
    from torch._dynamo.utils import counters

device = sys.argv[1]


def say(case: str, *results: torch.Tensor) -> None:
    digest = hashlib.sha256()
    for tensor in results:
        digest.update(f"{tensor.dtype} {list(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    print(case, digest.hexdigest()[:16], flush=True)


def randn(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes).to(device)


def recompiling() -> None:
    @torch.compile(dynamic=False)
    def scaled(x):
        return (x * 2).sin()

    say("recompiling", scaled(randn(3)), scaled(randn(4)), scaled(randn(3)))


def growing() -> None:
    """The second size makes Dynamo compile for any size."""

    @torch.compile
    def summed(x):
        return x.cos().sum(0)

    say("growing", *[summed(randn(size, 2)) for size in (5, 7, 9)])


def breaking() -> None:
    @torch.compile
    def halves(x):
        y = x.exp()
        torch._dynamo.graph_break()
        return y.tanh()

    say("breaking", halves(randn(6)))


def learning() -> None:
    weight = randn(4, 4).requires_grad_()

    @torch.compile
    def loss(x):
        return (x @ weight).sigmoid().sum()

    loss(randn(2, 4)).backward()
    say("learning", weight.grad)


def branching() -> None:
    @torch.compile
    def chosen(x):
        return torch.cond(x.sum() > 0, lambda x: (x @ x).sin(), lambda x: (x @ x).cos(), (x,))

    say("branching", chosen(randn(3, 3).abs()), chosen(-randn(3, 3).abs()))


def looping() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    @torch.compile
    def grown(count, x):
        return while_loop(lambda count, x: count < 3, lambda count, x: (count + 1, x @ x), (count, x))

    say("looping", *grown(torch.tensor(0, device=device), randn(3, 3)))


def nested() -> None:
    @torch.compiler.nested_compile_region
    def inner(x):
        return (x @ x).relu()

    @torch.compile
    def outer(x):
        return inner(x) + inner(x.sin())

    say("nested", outer(randn(3, 3)))


def poisoned() -> None:
    """The backward makes a NaN: 0 / 0."""
    weight = torch.zeros(3, device=device, requires_grad=True)

    @torch.compile
    def root(x):
        return x.sqrt()  # the root's line

    root(weight).backward(torch.zeros(3, device=device))  # the backward's caller
    say("poisoned", weight.grad.isnan())


def partitioned() -> None:
    """Inductor makes partitions on a GPU only: the op on the CPU is none of them."""

    @torch.compile(options={"graph_partition": True})
    def parts(x, y):
        return (x @ x).erf() @ (y @ y).to(device)

    say("partitioned", parts(randn(5, 5), torch.randn(5, 5)))


def several() -> None:
    """Inductor makes two kernels on a GPU, and takes the faster one."""
    softmax = torch.compile(lambda x: torch.softmax(x * 2, -1), options={"triton.multi_kernel": 1})
    x = randn(64, 2048)
    say("several", *[torch.isclose(softmax(x), torch.softmax(x * 2, -1)) for _ in range(3)])


@torch.library.custom_op("aoti_dbg_victim::crash", mutates_args=())
def crash(x: torch.Tensor) -> torch.Tensor:
    ctypes.string_at(0)
    return x.clone()


@crash.register_fake
def _(x):
    return torch.empty_like(x)


class Crashing(torch.nn.Module):
    def forward(self, x):
        return crash(x.sin() @ x) + 1


def crashing() -> None:
    compiled = torch.compile(Crashing())
    compiled(randn(3, 3))  # the crash's caller


CASES = [recompiling, growing, breaking, learning, branching, looping, nested, poisoned, partitioned]
CASES += [several] * (device == "cuda")

if __name__ == "__main__":
    chosen = sys.argv[2:] or [case.__name__ for case in CASES]
    for case in [*CASES, crashing]:
        if case.__name__ in chosen:
            torch.manual_seed(0)
            case()
    for name in ("stats", "frames", "graph_break", "unimplemented"):
        print(name, sorted(counters[name].items()))
