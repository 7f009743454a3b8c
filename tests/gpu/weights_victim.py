"""Changes the weights of a loaded package: weights_victim.py DEVICE PACKAGE. Its third and its seventh run compute with a
NaN in a weight. The first weights are copies, and the last are memory that the caller changes in place. It prints
which runs returned a NaN, and must not use the library.
"""

from __future__ import annotations

import pathlib
import sys

import torch
import torch._inductor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import models

device, package = sys.argv[1:]
case = models.build("linear_softmax")
inputs = [tensor.to(device) for tensor in case.inputs]
runner = torch._inductor.aoti_load_package(package)
weights = {name: case.module.get_parameter(name).detach().to(device) for name in runner.get_constant_fqns()}


def run(what: str) -> None:
    print(f"{what}: {'NaN' if runner(*inputs).isnan().any() else 'numbers'}")


def spoil(tensor: torch.Tensor) -> torch.Tensor:
    tensor.view(-1)[3] = float("nan")
    return tensor


run("as compiled")
run("as compiled")
name = "first.weight"
runner.load_constants({**weights, name: spoil(weights[name].clone())}, check_full_update=True)
run("a copy with a NaN")
runner.load_constants(weights, check_full_update=True)
run("a copy without")
runner.load_constants(weights, check_full_update=True, user_managed=True)
run("memory of the caller")
run("memory of the caller")
spoil(weights[name])
run("changed in place")
