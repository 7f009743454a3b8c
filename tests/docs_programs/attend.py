"""Runs an attention package whose mask leaves nothing to attend to in one row: attend.py PACKAGE.pt2."""

import sys

import torch

model = torch._C._aoti.AOTIModelPackageLoader(sys.argv[1], "model", False, 1, -1)
torch.manual_seed(1)
mask = torch.ones(12, 12, dtype=torch.bool).tril()
mask[2] = False
result, _ = model.run([torch.randn(12, 8), mask])
print(f"NaN in the result: {result.isnan().sum().item()}")
