"""Compiles a small transformer block with AOTInductor: compile.py cpu|cuda PACKAGE.pt2. It must not use aoti-dbg."""

import sys

import torch


class Block(torch.nn.Module):
    """Embeds a batch of token sequences, then attends to the first `lengths` tokens of each."""

    def __init__(self, words: int = 1000, width: int = 64):
        super().__init__()
        self.embedding = torch.nn.Embedding(words, width)
        self.norm = torch.nn.LayerNorm(width)
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(width, 256), torch.nn.GELU(), torch.nn.Linear(256, width))

    def forward(self, tokens, lengths):
        x = self.embedding(tokens)
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        padding = torch.arange(tokens.shape[1], device=tokens.device) >= lengths[:, None, None]
        bias = torch.zeros(padding.shape, device=tokens.device).masked_fill(padding, -torch.inf)
        scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
        x = x + self.out(scores.softmax(-1) @ v)
        return x + self.mlp(x)


torch.manual_seed(0)
device, package = sys.argv[1:]
model = Block().eval().to(device)
inputs = (torch.randint(1000, (2, 16), device=device), torch.tensor([16, 9], device=device))
# Models in production often run without these checks of each index, for speed.
unchecked = {"assert_indirect_indexing": False}
with torch.no_grad():
    exported = torch.export.export(model, inputs)
    torch._inductor.aoti_compile_and_package(exported, package_path=package, inductor_configs=unchecked)
