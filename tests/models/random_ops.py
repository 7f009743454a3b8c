"""The ops of random graphs. Each op is a function that takes a Builder (random_graphs.py) and returns a line of Python.
The Builder drops a line that does not fit the values. A line that begins with `!` is a statement and mutates a tensor.
The ops with effects are in random_effects.py.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from random_graphs import BATCH, Builder, Unfit

Op = Callable[[Builder], str]
OPS: list[Op] = []
WEIGHTS: list[int] = []


def op(weight: int) -> Callable[[Op], Op]:
    def add(function: Op) -> Op:
        OPS.append(function)
        WEIGHTS.append(weight)
        return function

    return add


def pair(b: Builder) -> tuple[str, str]:
    one = b.any()
    return one, b.like(one)


def span(b: Builder, name: str) -> tuple[int, int, int]:
    """Return a dimension, and begin and end of a slice of it, which may be empty or at the end."""
    dim = b.dim(name)
    size = b.sizes(name)[dim]
    begin = b.dice.choice((0, 0, 1, size // 2, size))
    return dim, begin, b.dice.choice((begin, begin + 1, size, size, size + 3))


def sliced(b: Builder, name: str) -> str:
    dim, begin, end = span(b, name)
    return f"{name}[{':, ' * dim}{begin}:{end}]"


def static(b: Builder, name: str) -> list[int]:
    sizes = b.sizes(name)
    if BATCH in sizes:
        raise Unfit
    return sizes


# Pointwise ops, which fuse or separate the others.


@op(6)
def unary(b: Builder) -> str:
    return f"{b.floating()}.{b.dice.choice(('relu', 'sin', 'exp', 'sigmoid', 'neg', 'abs', 'tanh', 'sqrt', 'log'))}()"


@op(6)
def binary(b: Builder) -> str:
    one, other = pair(b)
    return f"{one} {b.dice.choice('+*-')} {other}"


@op(5)
def scalar(b: Builder) -> str:
    return f"{b.any()} {b.dice.choice('+*-')} {b.number()}"


@op(4)
def cast(b: Builder) -> str:
    dtypes = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
    return f"{b.real()}.to(torch.{b.dice.choice(dtypes)})"


@op(2)
def compare(b: Builder) -> str:
    return f"{b.real()} {b.dice.choice(('>', '<=', '=='))} {b.number()}"


@op(2)
def where(b: Builder) -> str:
    one = b.real()
    return f"torch.where({one} > 0, {one}, {b.like(one)})"


@op(2)
def broadcast(b: Builder) -> str:
    one = b.real(rank=2)
    return f"{one} + {one}.{b.dice.choice(('sum', 'amax', 'mean'))}({b.dim(one, 1)}, keepdim=True)"


# Views.


@op(6)
def slice_(b: Builder) -> str:
    return sliced(b, b.any(rank=1))


@op(4)
def transpose(b: Builder) -> str:
    return f"{b.any(rank=2)}.transpose(-1, -2)"


@op(3)
def expand(b: Builder) -> str:
    name = b.any()
    return f"{name}.unsqueeze(0).expand({', '.join(['2'] + ['-1'] * b.tensor(name).dim())})"


@op(3)
def split(b: Builder) -> str:
    name = b.any(rank=1)
    dim = b.dim(name, 1)
    size = b.sizes(name)[dim]
    return f"torch.split({name}, {max(1, size // b.dice.choice((1, 2, 3)))}, {dim})"


@op(5)
def split_and_stack(b: Builder) -> str:
    name = b.any(rank=1)
    dim = b.dim(name, 1)
    return f"torch.stack(torch.split({name}, 1, {dim}){b.dice.choice(('', ', -1', ', 1'))})"


@op(2)
def flatten(b: Builder) -> str:
    return f"{b.any(rank=2)}.{b.dice.choice(('flatten()', 'reshape(-1)', 'unsqueeze(1)', 'contiguous()'))}"


@op(2)
def select(b: Builder) -> str:
    name = b.any(rank=1)
    dim = b.dim(name, 1)
    return f"{name}.select({dim}, {b.dice.choice((0, -1))})"


@op(2)
def steps(b: Builder) -> str:
    name = b.any(rank=1)
    return f"{name}[{':, ' * b.dim(name, 2)}::2]"


@op(1)
def bits(b: Builder) -> str:
    name = b.pick(lambda t: t.dtype in (torch.float32, torch.int32, torch.float64, torch.bfloat16))
    other = {"float32": "int32", "int32": "float32", "float64": "int64", "bfloat16": "int16"}
    return f"{name}.view(torch.{other[str(b.tensor(name).dtype).removeprefix('torch.')]})"


@op(1)
def strided(b: Builder) -> str:
    name = b.any(rank=2)
    static(b, name)
    return f"{name}.contiguous().as_strided((2, 2), (1, 1), {b.dice.choice((0, 1))})"


# Joins.


@op(4)
def cat(b: Builder) -> str:
    one, other = pair(b)
    if b.tensor(one).dim() == 0:
        raise Unfit
    return f"torch.cat([{one}, {other}], {b.dim(one)})"


@op(3)
def cat_slices(b: Builder) -> str:
    name = b.any(rank=1)
    dim, begin, end = span(b, name)
    return f"torch.cat([{name}[{':, ' * dim}{begin}:{end}], {name}], {dim})"


@op(2)
def stack(b: Builder) -> str:
    one, other = pair(b)
    return f"torch.stack([{one}, {other}, {one}])"


# Complex numbers.


@op(3)
def make_complex(b: Builder) -> str:
    one = b.pick(lambda t: t.dtype in (torch.float32, torch.float64))
    return f"torch.complex({one}, {b.like(one)})"


@op(6)
def conjugate(b: Builder) -> str:
    return f"{b.complex()}.conj()"


@op(6)
def part(b: Builder) -> str:
    return f"{b.complex()}.{b.dice.choice(('conj().imag', 'imag', 'real', 'conj().real', 'abs()', 'angle()'))}"


@op(4)
def of_complex(b: Builder) -> str:
    name = b.complex()
    forms = ("torch.view_as_real({})", "{}.resolve_conj()", "{}.conj() * 2", "{}.conj().sum()", "{}.clone()",
             "{}.conj().clone()", "{}.mH", "torch.view_as_real({}.resolve_conj())")  # fmt: skip
    return b.dice.choice(forms).format(name)


@op(2)
def negated_view(b: Builder) -> str:
    return f"torch._neg_view({b.real()})"


@op(2)
def complex_product(b: Builder) -> str:
    name = b.complex(rank=2)
    return b.dice.choice(("{0} @ {0}.mH", "{0}.mH @ {0}", "{0} @ {0}.transpose(-1, -2)")).format(name)


# Reductions, scans and sorts, mostly ops of libraries.


@op(4)
def reduce(b: Builder) -> str:
    name = b.real(rank=1)
    kind = b.dice.choice(("sum", "amax", "prod", "argmax", "float().mean", "float().var", "cumsum", "any"))
    return f"{name}.{kind}({b.dim(name, 1)})"


@op(1)
def reduce_all(b: Builder) -> str:
    return f"{b.real()}.{b.dice.choice(('sum()', 'float().mean()', 'any()', 'float().norm()'))}"


@op(3)
def scan(b: Builder) -> str:
    name = b.real(rank=1)
    return f"{name}.{b.dice.choice(('cumsum', 'cumprod', 'float().logcumsumexp', 'cummax'))}({b.dim(name)})"


@op(3)
def sort(b: Builder) -> str:
    name = b.real(rank=1)
    return f"torch.sort({name}, dim={b.dim(name)}, stable=True, descending={b.dice.random() < 0.5})"


@op(2)
def topk(b: Builder) -> str:
    name = b.real(rank=1)
    dim = b.dim(name, 1)
    return f"torch.topk({name}, {b.dice.choice((0, 1, b.sizes(name)[dim]))}, {dim})"


@op(2)
def softmax(b: Builder) -> str:
    name = b.floating(rank=1)
    return f"torch.{b.dice.choice(('softmax', 'log_softmax'))}({name}, {b.dim(name)})"


@op(2)
def other_ops(b: Builder) -> str:
    name = b.floating(rank=2)
    forms = ("torch.layer_norm({0}, {0}.shape[-1:])", "torch.fft.fft({0}.float()).real", "torch.histc({0}.float(), 4)",
             "torch.searchsorted({0}.sort(-1)[0].contiguous(), {0}.contiguous())",
             "torch.cdist({0}.float(), {0}.float())", "torch.nn.functional.pad({0}, (1, 0))", "{0}.roll(1, -1)",
             "{0}.flip(0)", "{0}.tril()", "torch.bucketize({0}, torch.arange(3.0))", "{0}.unfold(-1, 2, 1)",
             "torch.linalg.inv({0}.float() @ {0}.float().mT)", "{0}.median(-1)", "{0}.kthvalue(1, -1)",
             "torch.kron({0}[:1], {0}[:, :1])")  # fmt: skip
    return b.dice.choice(forms).format(name)


# Products.


@op(5)
def product(b: Builder) -> str:
    name = b.floating(rank=2)
    return b.dice.choice(("{0} @ {0}.mT", "{0}.mT @ {0}", "{0}[..., 1:] @ {0}[..., 1:].mT")).format(name)


@op(3)
def addmm(b: Builder) -> str:
    name = b.pick(lambda t: t.is_floating_point() and t.dim() == 2)
    dtype = str(b.tensor(name).dtype).removeprefix("torch.")
    width = b.sizes(name)[1]
    if width == BATCH:
        raise Unfit
    weight, bias = b.new(dtype, [width, 3], kept=b.dice.random() < 0.5), b.new(dtype, [3])
    forms = ("torch.addmm({0}, {1}, {2})", "torch.nn.functional.linear({1}, {2}.t(), {0})",
             "torch.addmm({0}, {1}, {2}, beta=0.5, alpha=2)")  # fmt: skip
    return b.dice.choice(forms).format(bias, name, weight)


@op(2)
def bmm(b: Builder) -> str:
    name = b.pick(lambda t: t.is_floating_point() and t.dim() == 3)
    return f"torch.bmm({name}, {name}.mT)"


# Indices.


@op(3)
def take(b: Builder) -> str:
    name = b.any(rank=1)
    dim = b.dim(name, 1)
    index = b.index(b.sizes(name)[dim])
    if dim == 0 and b.dice.random() < 0.5:
        return f"{name}[{index}]"
    return f"torch.index_select({name}, {dim}, {index})"


@op(2)
def embedding(b: Builder) -> str:
    rows = b.dice.choice((2, 5))
    return f"torch.nn.functional.embedding({b.index(rows)}, {b.new('float32', [rows, 3], kept=True)})"


@op(3)
def index_put(b: Builder) -> str:
    name = b.real(rank=1)
    length = static(b, name)[0]
    if length == 0:
        raise Unfit
    index = b.index(length)
    return f"{name}.index_put(({index},), {name}[:1], accumulate={b.dice.random() < 0.5})"


@op(2)
def scatter(b: Builder) -> str:
    name = b.real(rank=1)
    length = static(b, name)[0]
    if length == 0:
        raise Unfit
    kind = b.dice.choice(("index_add(0, {0}, {1}[{0}])", "index_copy(0, {0}, {1}[{0}])", "index_fill(0, {0}, 1)"))
    return f"{name}." + kind.format(b.index(length), name)
