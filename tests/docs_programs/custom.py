"""Runs a package with a custom op that goes wrong in the second run: custom.py PACKAGE.pt2 crash|hang."""

import ctypes
import sys
import time

import torch

runs = 0  # of the model; 0 while the op warms up


@torch.library.custom_op("mylib::my_op", mutates_args=())
def my_op(x: torch.Tensor, scale: float) -> torch.Tensor:
    if runs == 2:
        if sys.argv[2] == "crash":
            ctypes.string_at(0)
        time.sleep(3600)
    return x * scale + 1.0


my_op(torch.ones(1), 1.0)
model = torch._C._aoti.AOTIModelPackageLoader(sys.argv[1], "model", False, 1, -1)
while True:
    runs += 1
    model.run([torch.ones(4, 5)])
