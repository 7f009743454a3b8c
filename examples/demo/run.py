"""Runs a compiled model once: run.py PACKAGE.pt2. It must not use aoti-dbg."""

import sys

import torch

# torch._inductor.aoti_load_package wraps this. Importing the compiler would take longer than everything else.
model = torch._C._aoti.AOTIModelPackageLoader(sys.argv[1], "model", False, 1, -1)
torch.manual_seed(1)
(result,) = model.run([torch.randn(2, 16, 64).to(model.get_metadata()["AOTI_DEVICE_KEY"])])
print(f"the program says: the sum of the result is {result.sum().item():.6f}", flush=True)
