"""A user's Triton kernels that do not check the numbers they get. Imported only if there is a GPU."""

import torch
import triton
import triton.language as tl


@triton.jit
def put_kernel(source, where, out, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    to = tl.load(where + index, mask=inside)
    value = tl.load(source + index, mask=inside)
    tl.store(out + to, value, mask=inside)


def put(source, where):
    out = torch.empty_like(source)
    put_kernel[(triton.cdiv(source.numel(), 256),)](source, where, out, source.numel(), BLOCK=256)
    return out


@triton.jit
def wait_kernel(source, flag, out, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    while tl.load(flag, volatile=True) > 0:
        pass
    tl.store(out + index, tl.load(source + index, mask=inside), mask=inside)


def wait(source, flag):
    out = torch.empty_like(source)
    wait_kernel[(triton.cdiv(source.numel(), 256),)](source, flag, out, source.numel(), BLOCK=256)
    return out
