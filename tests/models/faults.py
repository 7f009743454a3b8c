"""Models with a seeded bug: the inputs for the export are good, the last of the further inputs is bad.

bench/compile_models.py compiles each for the GPU under its name here. Kernels do not check an index before
they use it, like those of production models with assertions disabled.
"""

from __future__ import annotations

import torch

from models import Case

FAR = 1 << 40
UNCHECKED = {"assert_indirect_indexing": False}


def fault_index_read() -> Case:
    """A gather reads far beyond its table."""

    class Net(torch.nn.Module):
        def forward(self, table, index, x):
            y = torch.sin(x) + 1.0
            return torch.relu(table[index]) * 2.0 + y.sum(0, keepdim=True)

    table, index, x = torch.randn(1000, 64), torch.arange(256) % 1000, torch.randn(256, 64)
    bad = index.clone()
    bad[77] = FAR
    return Case(Net(), (table, index, x), more_inputs=[(table, bad, x)], config=UNCHECKED)


def fault_index_write() -> Case:
    """A scatter writes far beyond its target."""

    class Net(torch.nn.Module):
        def forward(self, index, x):
            out = torch.zeros(1000, 64, device=x.device)
            out[index] = torch.cos(x)
            return torch.exp(out)

    index, x = torch.arange(256), torch.randn(256, 64)
    bad = index.clone()
    bad[77] = FAR
    return Case(Net(), (index, x), more_inputs=[(bad, x)], config=UNCHECKED)


def fault_index_assert() -> Case:
    """Like fault_index_read, with the assertion that PyTorch generates by default."""
    case = fault_index_read()
    case.config = {}
    return case


def fault_user_kernel() -> Case:
    """A user's Triton kernel writes at an offset from a tensor."""
    import faulty_kernel

    class Net(torch.nn.Module):
        def forward(self, x, where):
            return faulty_kernel.put(torch.relu(x), where) + 1.0

    x = torch.randn(128, 64)
    good = torch.arange(x.numel())
    bad = good.clone()
    bad[4000] = FAR
    return Case(Net(), (x, good), more_inputs=[(x, bad)])


def fault_hang() -> Case:
    """A user's Triton kernel waits for a value that never changes."""
    import faulty_kernel

    class Net(torch.nn.Module):
        def forward(self, x, flag):
            return faulty_kernel.wait(torch.relu(x), flag) + 1.0

    x, go, stop = torch.randn(128, 64), torch.zeros(1, dtype=torch.int32), torch.ones(1, dtype=torch.int32)
    return Case(Net(), (x, go), more_inputs=[(x, stop)])


# The op of `fault_custom_op`. For a GPU, seeded_victim.cpp implements it.
@torch.library.custom_op("seeded::scatter", mutates_args=())
def scatter(x: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    return (2 * x).flatten()[where].view_as(x)


@scatter.register_fake
def _(x: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def fault_custom_op() -> Case:
    """A custom op in C++ writes at an offset from a tensor."""

    class Net(torch.nn.Module):
        def forward(self, x, where):
            return torch.ops.seeded.scatter(torch.relu(x), where) + 1.0

    x = torch.randn(128, 64)
    good = torch.arange(x.numel())
    bad = good.clone()
    bad[4000] = FAR
    return Case(Net(), (x, good), more_inputs=[(x, bad)])


def fault_rows() -> Case:
    """Reads as many rows of a table as the input has. The table has 64."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.randn(64, 64))

        def forward(self, x):
            return torch.relu(x + self.table[: x.shape[0]])

    rows = {0: torch.export.Dim("rows", min=2, max=64)}
    return Case(Net(), (torch.randn(48, 64),), dynamic_shapes=(rows,))


FAULTS = {
    make.__name__: make
    for make in (
        fault_index_read, fault_index_write, fault_index_assert, fault_user_kernel, fault_hang, fault_custom_op, fault_rows
    )
}  # fmt: skip
