"""The model of random_test.py: graphs of random seeds, reduced by hand to what each of them covers, and one
whole graph of a fixed seed. Changes of the generator do not affect the reduced graphs.
"""

from __future__ import annotations

import random_graphs
from random_graphs import BATCH, Given, Graph
from random_packages import Model

# (seed, number) of graphs that the generator makes. They use many ops of libtorch.
WHOLE = ((1, 2),)


def tensor(name: str, dtype: str, *sizes: int | str, layout: str = "contiguous", special: bool = False) -> Given:
    return Given(name, dtype, list(sizes), layout, sum(map(ord, name + dtype)), special)


def views() -> list[Graph]:
    """Tensors that share an address, and views that begin inside their storage."""
    return [
        Graph("transposed", [], [tensor("self.turned", "float32", 3, 6)],
              ["v0 = torch.log_softmax(self.turned.transpose(-1, -2), 0)", "v1 = v0.mT @ v0"], ["v1"]),
        Graph("columns", [tensor("x0", "float32", 2, 3)], [],
              ["v0 = torch.stack(torch.split(x0.relu(), 1, -1), 0).sum(0)"], ["v0"]),
        Graph("split", [tensor("x0", "float32", BATCH, 4)], [],
              ["v0 = x0.relu()", "v1 = torch.stack(torch.split(v0, 1, -1))",
               "v2 = torch.ops.rnd.double(v0[:, :2], 2.0)", "v3 = torch.ops.rnd.double(v0[:, 2:], 2.0)"],
              ["v1", "v2", "v3"]),
        Graph("expanded", [tensor("x0", "bfloat16", 4, 6, layout="expanded"),
                           tensor("x1", "int64", 5, 4, layout="offset")], [],
              ["v0 = torch.sort(x0, stable=True)[0]", "v1 = x1.cumsum(0)",
               "v2 = torch.ops.rnd.halves(x1[1:], True)[1]"],
              ["v0", "v1", "v2"]),
    ]  # fmt: skip


def bits() -> list[Graph]:
    """Conjugate and negative bits, which PyTorch keeps beside the elements."""
    return [
        Graph("conjugate", [tensor("x0", "complex128", 5, 4)], [], ["v0 = x0.conj()", "v1 = v0[0:1]"], ["v1"]),
        Graph("negative", [tensor("x0", "complex64", 5, 4, layout="conjugated")], [],
              ["v0 = torch.ops.rnd.double(x0.conj().imag, 1.0)", "v1 = torch.ops.rnd.double(x0.imag, 1.0)",
               "v2 = torch.view_as_real(x0.resolve_conj())"], ["v0", "v1", "v2"]),
        Graph("negated_input", [tensor("x0", "float32", 5, 4, layout="negated")], [],
              ["v0 = torch.ops.rnd.double(x0, 1.0)"], ["v0"]),
    ]  # fmt: skip


def empties() -> list[Graph]:
    """Tensors without elements, at offset 0 and at the end of a storage."""
    return [
        Graph("no_columns", [tensor("x0", "float32", BATCH, 2, layout="steps"),
                             tensor("x1", "complex128", BATCH, 2, layout="steps")], [],
              ["v0 = x1[:, 2:5]", "v1 = x0.tanh()"], ["v0", "v1"]),
        Graph("behind_the_end", [tensor("x0", "float32", 4, 6)], [tensor("self.cache", "float32", 4, 6)],
              ["v0 = torch.cat([self.cache[4:], x0], 0)", "v1 = torch.ops.rnd.double(x0[:, 6:], 1.0)",
               "v2 = x0[:, 4:4] @ x0[:, 4:4].mT"], ["v0", "v1", "v2"]),
    ]  # fmt: skip


def mutations() -> list[Graph]:
    """Buffers and inputs that ops, kernels and custom ops write to."""
    return [
        Graph("cache", [tensor("x0", "float32", 2, 4), tensor("x1", "int64", 2)],
              [tensor("self.rows", "float32", 6, 4)],
              ["self.rows[2:4].copy_(x0)", "self.rows.index_put_((x1 % 6,), x0, accumulate=True)",
               "v0 = self.rows.cumsum(0)", "self.rows.mul_(0.5)"], ["v0"]),
        Graph("custom", [tensor("x0", "float16", 8, 4)], [tensor("self.count", "int64", 2)],
              ["v0 = torch.ops.rnd.move_(x0, x0, self.count, 3)"], ["v0"]),
        Graph("lists", [tensor("x0", "bfloat16", 5, 4), tensor("x1", "bfloat16", 5, 4)],
              [tensor("self.filled", "float32", 2, 2)],
              ["v0 = torch.ops.rnd.first_of([x0, x1], None)", "torch.ops.rnd.fill_all_([x0, self.filled], 2.0)",
               "torch.ops.rnd.accumulate_(x1[:, 2:], x1[:, :2])"], ["v0"]),
    ]  # fmt: skip


def branches() -> list[Graph]:
    """Conditionals, whose branches are subgraphs, and values that are findings."""
    return [
        Graph("condition", [tensor("x0", "float32", 5, 4, special=True),
                            tensor("x1", "float32", 5, 4, layout="offset")], [],
              ["v0 = torch.cond(x1.sum() > 3, lambda t: torch.ops.rnd.double(t, 1.0), lambda t: t.cumsum(0), (x1,))",
               "v1 = torch.log(x1)", "v2 = x0.sort(stable=True, descending=True)[0]"], ["v0", "v1", "v2"]),
    ]  # fmt: skip


def model() -> Model:
    whole = [random_graphs.graph(seed, number, f"s{seed}g{number}") for seed, number in WHOLE]
    return Model([*views(), *bits(), *empties(), *mutations(), *branches(), *whole])
