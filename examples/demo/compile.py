"""Compiles a small attention model with AOTInductor: compile.py PACKAGE.pt2. It must not use aoti-dbg."""

import sys

import torch


class Block(torch.nn.Module):
    def __init__(self, width: int = 64, heads: int = 4):
        super().__init__()
        self.heads = heads
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 256), torch.nn.GELU(), torch.nn.Linear(256, width))

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(x)


torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = Block().eval().to(device)
inputs = (torch.randn(2, 16, 64, device=device),)
with torch.no_grad():
    torch._inductor.aoti_compile_and_package(torch.export.export(model, inputs), package_path=sys.argv[1])
