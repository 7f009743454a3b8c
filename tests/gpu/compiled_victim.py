"""Functions that torch.compile compiled on a GPU, in ways that tests/models/compiled_victim.py cannot try on a CPU:
compiled_victim.py CASE

    modes    a transformer block and a convolutional net in each mode; prints a digest of the results of four calls
    kernels  Triton kernels of the author, one of them tuned; prints a digest and the mean of each result
    raises   an op that raises behind a product; prints the exception
    fault    reads far beyond a table, and then waits for the device

It must not use the library.
"""

from __future__ import annotations

import hashlib
import sys

import torch
import triton
import triton.language as tl


def digest(*tensors: torch.Tensor) -> str:
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()[:16]


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)
        self.qkv = torch.nn.Linear(256, 768)
        self.out = torch.nn.Linear(256, 256)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        return x + self.out(torch.softmax(q @ k.transpose(-1, -2) / 16, -1) @ v)


def modes() -> None:
    conv = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 8, 3))
    for name, net, x in (("block", Block(), torch.randn(4, 64, 256)), ("conv", conv, torch.randn(4, 3, 32, 32))):
        net, x = net.eval().cuda(), x.cuda()
        for mode in ("default", "max-autotune", "reduce-overhead"):
            torch._dynamo.reset()
            compiled = torch.compile(net, mode=mode)
            with torch.no_grad():
                print(name, mode, [digest(compiled(x)) for _ in range(4)], flush=True)


@triton.jit
def scale_rows(source, factors, out, columns, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + row * columns + column, mask=column < columns)
    tl.store(out + row * columns + column, value * tl.load(factors + row), mask=column < columns)


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (128, 256)], key=["count"])
@triton.jit
def square(source, out, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + index, mask=index < count)
    tl.store(out + index, value * value, mask=index < count)


def kernels() -> None:
    def scaled(x, factors):
        out = torch.empty_like(x)
        scale_rows[(x.shape[0], triton.cdiv(x.shape[1], 128))](x, factors, out, x.shape[1], BLOCK=128)
        return out

    @torch.compile
    def fixed(x, factors):
        return scaled((x @ x.t()).relu(), factors).cos()

    @torch.compile
    def tuned(x):
        x = x.sin()
        out = torch.empty_like(x)
        square[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
        return out + 1

    x, factors = torch.randn(64, 64).cuda(), torch.arange(1.0, 65.0).cuda()
    for name, result in (("fixed", fixed(x, factors)), ("fixed", fixed(x, factors)), ("tuned", tuned(x))):
        print(name, digest(result), float(result.double().mean()), flush=True)


@torch.library.custom_op("aoti_dbg_victim::refuse", mutates_args=())
def refuse(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("refused on purpose")


@refuse.register_fake
def _(x):
    return torch.empty_like(x)


def raises() -> None:
    compiled = torch.compile(lambda x: refuse(x @ x).cos())
    x = torch.randn(8, 8).cuda()
    for _ in range(2):
        try:
            compiled(x)
        except Exception as error:
            print(type(error).__name__, "refused on purpose" in str(error), flush=True)
    print(digest(torch.compile(lambda x: (x @ x).cos())(x)), flush=True)


def fault() -> None:
    torch._inductor.config.assert_indirect_indexing = False
    table = torch.randn(10, 64).cuda()
    rows = torch.tensor([1, 2, 1 << 33]).cuda()

    @torch.compile
    def look_up(table, rows):
        return (table[rows] * 2).relu() @ table.t()

    look_up(table, rows)
    torch.cuda.synchronize()


if __name__ == "__main__":
    torch.manual_seed(0)
    {"modes": modes, "kernels": kernels, "raises": raises, "fault": fault}[sys.argv[1]]()
