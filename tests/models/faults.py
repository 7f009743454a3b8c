"""Models with a seeded bug: what each is exported with is good, the last of its further inputs is not.

Each is compiled for the GPU by bench/compile_models.py under the name that it has here. A kernel that reads or writes at
an index does not look at the index first: that is what the models that people ship do where assertions are off.
"""

from __future__ import annotations

import torch

from models import Case

FAR = 1 << 40
UNCHECKED = {"assert_indirect_indexing": False}


def fault_index_read() -> Case:
    """A gather reads far behind its table."""

    class Net(torch.nn.Module):
        def forward(self, table, index, x):
            y = torch.sin(x) + 1.0
            return torch.relu(table[index]) * 2.0 + y.sum(0, keepdim=True)

    table, index, x = torch.randn(1000, 64), torch.arange(256) % 1000, torch.randn(256, 64)
    bad = index.clone()
    bad[77] = FAR
    return Case(Net(), (table, index, x), more_inputs=[(table, bad, x)], config=UNCHECKED)


def fault_index_write() -> Case:
    """A scatter writes far behind its target."""

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
    """As the first, with the assertion that is PyTorch's default."""
    case = fault_index_read()
    case.config = {}
    return case


def fault_user_kernel() -> Case:
    """A Triton kernel of the user's writes where a number in a tensor tells it to."""
    import faulty_kernel

    class Net(torch.nn.Module):
        def forward(self, x, where):
            return faulty_kernel.put(torch.relu(x), where) + 1.0

    x = torch.randn(128, 64)
    good = torch.arange(x.numel())
    bad = good.clone()
    bad[4000] = FAR
    return Case(Net(), (x, good), more_inputs=[(x, bad)])


FAULTS = {make.__name__: make for make in (fault_index_read, fault_index_write, fault_index_assert, fault_user_kernel)}
