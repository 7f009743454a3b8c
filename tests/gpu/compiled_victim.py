"""Functions that torch.compile compiled on a GPU, in ways that tests/models/compiled_victim.py cannot try on a CPU:
compiled_victim.py CASE

    modes    a transformer block and a convolutional net in each mode; prints a digest of the results of four calls
    fault    reads far beyond a table, and then waits for the device

It must not use the library.
"""

from __future__ import annotations

import hashlib
import sys

import torch


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
    {"modes": modes, "fault": fault}[sys.argv[1]]()
