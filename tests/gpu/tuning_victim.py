"""A user's Triton kernel with a faulty second configuration, which Triton detects by running it. It prints
the errors that it gets, and exits with 3 after a fault. It must not use the library.
"""

from __future__ import annotations

import os
import sys

import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 256, "FAR": 0}), triton.Config({"BLOCK": 512, "FAR": 1 << 40})], key=["count"])
@triton.jit
def scale_kernel(source, out, count, BLOCK: tl.constexpr, FAR: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    value = tl.load(source + index.to(tl.int64) + FAR, mask=inside)
    tl.store(out + index, 2 * value, mask=inside)


x = torch.randn(1 << 16, device="cuda")
out = torch.empty_like(x)
status = 0
try:
    scale_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    torch.cuda.synchronize()
    print("tuned")
except Exception as error:
    print("complained:", "illegal memory access" in str(error))
    status = 3
sys.stdout.flush()
os._exit(status)
