"""Runs whose results change for one reason at a time. It must not use the library.

run 0 and 1  linear_softmax, the same twice
run 2        the same with another weight
run 3        another input
run 4        with another weight of more elements than are recorded
run 5 and 6  custom_op, whose op adds a random number
"""

from __future__ import annotations

import secrets

import quick_imports

with quick_imports.uncollected():
    import torch

import models
import victim


def change(loader, name: str, weight: torch.Tensor) -> None:
    changed = weight.detach().clone()
    changed[1, 2] += 0.5
    loader.load_constants({name: changed}, False, False)


def main() -> None:
    loader = victim.loader_of("linear_softmax")
    case = models.build("linear_softmax")
    (x,) = case.inputs
    loader.run([x])
    loader.run([x])
    change(loader, "second.weight", case.module.second.weight)
    loader.run([x])
    loader.run([x + 1])
    change(loader, "first.weight", case.module.first.weight)
    loader.run([x])

    models.on_my_op = lambda: float(secrets.randbelow(1000))
    loader = victim.loader_of("custom_op")
    (x,) = models.build("custom_op").inputs
    loader.run([x])
    loader.run([x])


if __name__ == "__main__":
    main()
