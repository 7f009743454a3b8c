"""Runs a compiled model once: run.py PACKAGE.pt2. Nothing here knows of aoti-dbg."""

import sys

import torch

model = torch._inductor.aoti_load_package(sys.argv[1])
device = model.get_metadata()["AOTI_DEVICE_KEY"]
torch.manual_seed(1)
result = model(torch.randn(2, 16, 64, device=device))
print(f"the program says: the sum of the result is {result.sum().item():.6f}", flush=True)
