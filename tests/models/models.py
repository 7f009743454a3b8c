"""The models the tests run: small, but compiled and run by the real PyTorch, with nothing faked.

Each function decorated with @model returns a Case. Its text is part of the key under which packages.py keeps the
compiled package, so that a changed model is compiled again and the others are not. No model needs more than the
CPU, and none depends on the clock or on random numbers that are not seeded here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch


@dataclasses.dataclass
class Case:
    module: torch.nn.Module
    inputs: tuple  # what export traces with and the tests run
    more_inputs: list = dataclasses.field(default_factory=list)  # further inputs the package must accept
    dynamic_shapes: object = None
    config: dict = dataclasses.field(default_factory=dict)  # inductor options besides the defaults


MODELS: dict[str, Callable[[], Case]] = {}


def model(function: Callable[[], Case]) -> Callable[[], Case]:
    MODELS[function.__name__] = function
    return function


# victim.py sets this to run something inside the custom op.
on_my_op: Callable[[], None] | None = None
# diff_victim.py changes what the custom op computes.
my_op_adds = 1.0


# The custom op of `custom_op`: a process that runs that model must have imported this module. torch.library.custom_op
# would import torch._dynamo at the first call, which takes half a second.
library = torch.library.Library("mylib", "DEF")
library.define("my_op(Tensor x, float scale) -> Tensor", tags=torch.Tag.pt2_compliant_tag)


@torch.library.impl(library, "my_op", "CPU")
def my_op(x: torch.Tensor, scale: float) -> torch.Tensor:
    if on_my_op:
        on_my_op()
    if torch.isnan(x).any():
        raise ValueError("my_op takes no NaN")
    return x * scale + my_op_adds


@torch.library.register_fake("mylib::my_op", lib=library)
def _(x: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.empty_like(x)


@model
def linear_softmax() -> Case:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(10, 16)
            self.second = torch.nn.Linear(16, 4)

        def forward(self, x):
            return torch.softmax(self.second(torch.relu(self.first(x))), -1)

    return Case(Net(), (torch.randn(8, 10),))


@model
def dynamic_batch() -> Case:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(12, 12)

        def forward(self, x):
            y = self.layer(x)
            return torch.layer_norm(y + x, (12,)), y.sum(0)

    dim = torch.export.Dim("batch", min=0, max=512)
    return Case(
        Net(),
        (torch.randn(6, 12),),
        more_inputs=[(torch.randn(batch, 12),) for batch in (1, 0, 33, 512)],
        dynamic_shapes=({0: dim},),
    )


@model
def fallback_ops() -> Case:
    class Net(torch.nn.Module):
        def forward(self, x):
            values, order = torch.sort(x, stable=True)
            spectrum = torch.fft.fft(x).real
            reduced = torch.zeros(5, 4).scatter_reduce(0, order.clamp(max=4), x, "sum")
            return values, torch.cumsum(order, 0), spectrum, reduced, torch.topk(x, 2)[0]

    return Case(Net(), (torch.randn(8, 4),))


def _cat(ways: int) -> Case:
    class Net(torch.nn.Module):
        def forward(self, xs):
            return torch.cat([x * (i + 1) for i, x in enumerate(xs)], 0)

    return Case(Net(), ([torch.randn(2, 3) for _ in range(ways)],))


@model
def cat_100() -> Case:
    return _cat(100)


@model
def cat_1000() -> Case:
    """Compiled as PyTorch advises for large wrappers, which takes half as long."""
    return dataclasses.replace(_cat(1000), config={"aot_inductor.compile_wrapper_opt_level": "O0"})


@model
def custom_op() -> Case:
    class Net(torch.nn.Module):
        def forward(self, x):
            y = torch.ops.mylib.my_op(torch.sin(x), 2.5)
            return torch.cos(y) + torch.ops.mylib.my_op(y, -1.0)

    return Case(Net(), (torch.randn(4, 5),))


@model
def frozen_conv() -> Case:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
            self.norm = torch.nn.BatchNorm2d(8)
            self.head = torch.nn.Linear(8 * 8 * 8, 10)

        def forward(self, x):
            return self.head(torch.relu(self.norm(self.conv(x))).flatten(1))

    # Freezing turns convolution and linear layer into mkldnn calls.
    return Case(Net(), (torch.randn(2, 3, 8, 8),), config={"freezing": True})


@model
def embedding_index_put() -> Case:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(20, 6)

        def forward(self, index, x):
            rows = self.table(index)
            return x.index_put((index,), rows, accumulate=True), torch.bincount(index, minlength=20)

    return Case(Net(), (torch.tensor([3, 1, 3, 19]), torch.randn(20, 6)))


@model
def control_flow() -> Case:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(2))

        def forward(self, x, count):
            self.calls.add_(1)
            chosen = torch.cond(x.sum() > 0, lambda t: t.sin() @ t.t(), lambda t: t.cos() @ t.t() - 1, (x,))
            rounds, grown = torch._higher_order_ops.while_loop(
                lambda i, t: i > 0, lambda i, t: (i - 1, t * 1.5 + 1), (count, x)
            )
            same = chosen + self.calls[0]
            return same, same, grown

    return Case(
        Net(),
        (torch.ones(3, 3), torch.tensor(4)),
        more_inputs=[(-torch.ones(3, 3), torch.tensor(0)), (torch.ones(3, 3), torch.tensor(1))],
    )


class TransformerBlock(torch.nn.Module):
    """Pre-norm: attention with the three projections in one, then a GELU layer four times as wide."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_1 = torch.nn.LayerNorm(width)
        self.norm_2 = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.up = torch.nn.Linear(width, 4 * width)
        self.down = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm_2(x))))


@model
def transformer() -> Case:
    return Case(torch.nn.Sequential(*[TransformerBlock(64, 4) for _ in range(2)]), (torch.randn(2, 16, 64),))


@model
def indices_and_masks() -> Case:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(20, 6)

        def forward(self, index, keep, large, wide):
            rows = torch.where(keep, self.table(index), 0)
            ordered, places = torch.sort(large, stable=True)
            return rows @ rows.t(), keep.logical_not().any(1), ordered - 1, places, torch.cumsum(wide, 0) * 2

    # Numbers that float32 cannot distinguish from their neighbours, so that rounding on the way would be seen.
    large = torch.arange(100, dtype=torch.int64) * 7919 % 100 + (1 << 53) + 1
    wide = torch.randn(100, dtype=torch.float64) + 1e9
    return Case(Net(), (torch.tensor([3, 1, 3, 19]), torch.randn(4, 6) > 0, large, wide))


@model
def masked_attention() -> Case:
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = torch.nn.Linear(8, 24)

        def forward(self, x, keep):
            q, k, v = self.qkv(x).chunk(3, -1)
            bias = torch.zeros(keep.shape, device=x.device).masked_fill(~keep, -torch.inf)
            return torch.softmax(torch.addmm(bias, q, k.t(), alpha=8**-0.5), -1) @ v, bias

    causal = torch.ones(12, 12, dtype=torch.bool).tril()
    third_row_masked = causal.clone()
    third_row_masked[2] = False
    x = torch.randn(12, 8)
    return Case(Net(), (x, causal), more_inputs=[(x, third_row_masked)])


@model
def views_and_bits() -> Case:
    """Names that share an address, PyTorch's conjugate and negative bits, and views without elements."""

    class Net(torch.nn.Module):
        def forward(self, x, c):
            columns = torch.stack(torch.split(x.relu(), 1, -1), 0).sum(0)
            conjugate, doubled = c.conj(), x * 2
            return columns, conjugate, torch.mm(conjugate, c), torch._neg_view(x), doubled[:, 3:], doubled

    x = torch.arange(6.0).view(2, 3) + 1
    return Case(Net(), (x, torch.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]])))


@model
def seeded_bugs() -> Case:
    """Correct with these inputs. bugs.py has others, and each of them makes another kernel fail."""

    class Net(torch.nn.Module):
        def forward(self, x, large, table, index, count, divisor):
            logs = torch.log(x) @ x.t()
            halves = (large * 3.0).to(torch.float16)
            rows = table[index] @ table.t()
            return logs, halves, rows, torch.div(count, divisor, rounding_mode="floor")

    count = torch.arange(64) + 100
    return Case(Net(), (torch.rand(4, 6) + 0.5, torch.rand(40), torch.randn(10, 6), torch.arange(5), count, count // 50))


# Definitions outside a model's own function, which are also part of its key.
SHARED = {"cat_100": _cat, "cat_1000": _cat, "transformer": TransformerBlock}


def build(name: str) -> Case:
    """The same module, weights and inputs in every process."""
    torch.manual_seed(len(name))
    case = MODELS[name]()
    case.module.eval()
    return case
