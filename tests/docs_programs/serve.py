"""Gives a model more rows than it was exported for: serve.py PACKAGE.pt2."""

import sys

import torch

model = torch._C._aoti.AOTIModelPackageLoader(sys.argv[1], "model", False, 1, -1)
normalized, _ = model.run([torch.ones(513, 12)])
print(f"result: {list(normalized.shape)}")
