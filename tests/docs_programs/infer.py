"""Runs a package of a small linear model once: infer.py PACKAGE.pt2."""

import sys

import torch

# What torch._inductor.aoti_load_package wraps; importing the compiler would take longer than everything else here.
model = torch._C._aoti.AOTIModelPackageLoader(sys.argv[1], "model", False, 1, -1)
torch.manual_seed(1)
(result,) = model.run([torch.randn(8, 10)])
print(f"sum of the result: {result.sum().item():.4f}")
