"""Kernels with errors that a program does not notice, launched from compiled functions on a GPU. Replays show
them. replay_victim.py [kernels]

    past      an index one row past a table
    unset     adds to uninitialized memory
    race      increments a counter without an atomic operation
    tma       copies through a tensor map

With an argument, runs only these. It must not use the library.
"""

from __future__ import annotations

import sys

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def pick_rows(table, index, out, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, COLUMNS)
    source = tl.load(index + row)
    tl.store(out + row * COLUMNS + column, tl.load(table + source * COLUMNS + column))


@triton.jit
def add_to(source, out, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < count
    tl.store(out + index, tl.load(out + index, mask=mask) + tl.load(source + index, mask=mask), mask=mask)


@triton.jit
def count_blocks(counter):
    tl.store(counter, tl.load(counter) + 1)


@triton.jit
def copy_tiles(source, out, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    out.store([row, 0], source.load([row, 0]))


@torch.compile
def past(table, index):
    out = torch.empty(index.shape[0], table.shape[1], device="cuda")
    pick_rows[(index.shape[0],)](table, index, out, COLUMNS=512)
    return out.sin()


@torch.compile
def unset(source):
    out = torch.empty_like(source)
    add_to[(triton.cdiv(source.numel(), 128),)](source, out, source.numel(), BLOCK=128)
    return out


@torch.compile
def race(counter):
    counter = counter + 1
    count_blocks[(4096,)](counter)
    return counter


@torch.compile
def tma(source):
    out = torch.empty_like(source)
    copy_tiles[(source.shape[0] // 32,)](
        TensorDescriptor.from_tensor(source, [32, 64]), TensorDescriptor.from_tensor(out, [32, 64]), BLOCK=32
    )
    return out + 1


def main(names: list[str]) -> None:
    cases = {
        "past": lambda: past(torch.randn(64, 512, device="cuda"), torch.arange(49, 65, device="cuda")),
        "unset": lambda: unset(torch.randn(1000, device="cuda")),
        "race": lambda: race(torch.zeros(1, dtype=torch.int32, device="cuda")),
        "tma": lambda: tma(torch.randn(128, 64, device="cuda")),
    }
    for name in names or cases:
        result = cases[name]()
        torch.cuda.synchronize()
        print(name, tuple(result.shape), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
