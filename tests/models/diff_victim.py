"""Runs whose results change for one reason at a time. It must not use the library.

run 0 and 1  linear_softmax, the same twice
run 2        the same with another weight
run 3        another input
run 4 and 5  custom_op, whose op adds a random number
"""

from __future__ import annotations

import secrets

import torch

import models
import victim


def main() -> None:
    loader = victim.loader_of("linear_softmax")
    case = models.build("linear_softmax")
    (x,) = case.inputs
    loader.run([x])
    loader.run([x])
    weight = case.module.second.weight.detach().clone()
    weight[1, 2] += 0.5
    loader.load_constants({"second.weight": weight}, False, False)
    loader.run([x])
    loader.run([x + 1])

    models.my_op.register_kernel("cpu")(lambda x, scale: x * scale + secrets.randbelow(1000))
    loader = victim.loader_of("custom_op")
    (x,) = models.build("custom_op").inputs
    loader.run([x])
    loader.run([x])


if __name__ == "__main__":
    main()
