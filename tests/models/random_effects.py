"""The ops of random graphs that have effects or contain code: writes, subgraphs and custom ops. They have the same form
as those of random_ops.py.
"""

from __future__ import annotations

import torch

from random_custom_ops import NARROW
from random_graphs import BATCH, Builder, Unfit
from random_ops import op, pair, sliced, static


# Writes to buffers and inputs.


def target(b: Builder) -> str:
    """Return a buffer, or an input that does not overlap itself, or a view of one."""
    fitting = [given.name for given in b.buffers]
    fitting += [given.name for given in b.inputs if given.layout not in ("expanded", "conjugated")]
    fitting = [name for name in fitting if b.tensor(name).dtype != torch.bool and b.tensor(name).dim()]
    if not fitting:
        raise Unfit
    name = b.dice.choice(fitting)
    return sliced(b, name) if b.dice.random() < 0.4 else name


@op(4)
def write(b: Builder) -> str:
    to = target(b)
    changes = ("add_(1)", "mul_(2)", "neg_()", "fill_(3)", "zero_()", f"copy_({b.any()})", f"add_({b.any()})")
    return f"!{to}.{b.dice.choice(changes)}"


@op(3)
def copy_into(b: Builder) -> str:
    to = b.pick(lambda t: t.dim() > 0 and t.dtype != torch.bool)
    if to.startswith("v"):
        raise Unfit
    return f"!{to}.copy_({b.like(to)} + 1)"


@op(2)
def new_buffer(b: Builder) -> str:
    name = b.pick(lambda t: t.dim() > 0 and not t.is_complex() and t.dtype != torch.bool)
    dtype = str(b.tensor(name).dtype).removeprefix("torch.")
    kept = b.new(dtype, static(b, name), kept=True)
    return f"!{kept}.{b.dice.choice(('copy_', 'add_', 'sub_'))}({name})"


@op(2)
def write_rows(b: Builder) -> str:
    name = target(b)
    if "[" in name or BATCH in b.sizes(name) or b.sizes(name)[0] == 0:
        raise Unfit
    index = b.index(b.sizes(name)[0])
    rows = f"{name}[:1] + 1"
    return b.dice.choice((f"!{name}.index_put_(({index},), {rows}, accumulate=True)", f"!{name}[{index}] = {rows}",
                          f"!{name}.index_add_(0, {index}, {name}[{index}])"))  # fmt: skip


# Subgraphs.


@op(3)
def condition(b: Builder) -> str:
    name, other = b.floating(rank=1), b.floating(rank=1)
    branches = (
        ("t.sin()", "t.cos() * 2"), ("t.cumsum(0)", "t + 1"), ("torch.sort(t, stable=True)[0]", "t * 3"),
        ("torch.ops.rnd.double(t, 1.0)", "t - 1"), ("t.relu()[:1] + 1", "t[:1].sigmoid()"),
    )  # fmt: skip
    yes, no = b.dice.choice(branches)
    test = f"{other}.sum() > {b.number()}" if BATCH not in b.sizes(other) else f"{other}.float().sum() > {b.number()}"
    return f"torch.cond({test}, lambda t: {yes}, lambda t: {no}, ({name},))"


@op(1)
def loop(b: Builder) -> str:
    name = b.pick(lambda t: t.dtype == torch.float32 and t.dim() > 0)
    count = b.new("uint8", [], "contiguous")
    return (f"torch._higher_order_ops.while_loop(lambda i, t: i > 0, lambda i, t: (i - 1, t * 0.5 + 1), "
            f"({count}.to(torch.int64) % 3, {name}.clone()))[1]")  # fmt: skip


# Custom ops, which go through the proxy executor.


@op(3)
def custom(b: Builder) -> str:
    if b.dice.random() < 0.5:
        return f"torch.ops.rnd.double({b.pick(lambda t: t.dtype != torch.bool)}, {b.number()}.0)"
    return f"torch.ops.rnd.halves({b.pick(lambda t: t.dim() == 2)}, {b.dice.random() < 0.5})"


@op(3)
def custom_in_place(b: Builder) -> str:
    to = target(b)
    source = b.any() if "[" in to else b.like(to)
    return f"!torch.ops.rnd.accumulate_({to}, {source})"


@op(2)
def custom_move(b: Builder) -> str:
    to = target(b)
    return f"torch.ops.rnd.move_({b.any() if '[' in to else b.like(to)}, {to}, {b.new('int64', [2], kept=True)}, 3)"


@op(2)
def custom_lists(b: Builder) -> str:
    one, other = pair(b)
    if b.dice.random() < 0.3:
        return f"!torch.ops.rnd.fill_all_([{target(b)}, {b.new('float32', [2, 2], kept=True)}], 2.0)"
    return f"torch.ops.rnd.first_of([{one}, {other}], {b.dice.choice(('None', b.any()))})"


@op(1)
def custom_narrow(b: Builder) -> str:
    return f"torch.ops.rnd.narrow({b.floating()}.abs(), {b.dice.randrange(4)})"


@op(1)
def custom_widen(b: Builder) -> str:
    return f"torch.ops.rnd.widen({b.pick(lambda t: t.dtype in NARROW)})"
