"""The program under test of random_models.py: runs a package with several inputs. It must not use the
library.

    random_victim.py MODEL.json PACKAGE TURNS [TRUTH]

It makes TURNS runs and prints a digest of each result. With TRUTH, it saves its inputs, its outputs and the
arguments of its custom ops to that folder.
"""

from __future__ import annotations

import hashlib
import pathlib
import sys

import quick_imports

with quick_imports.uncollected():
    import torch

import random_checks
import random_custom_ops
import victim
from random_packages import Model


def described(tensors: list[torch.Tensor]) -> str:
    found = hashlib.sha256()
    for tensor in tensors:
        facts = (tensor.dtype, tensor.shape, tensor.stride(), tensor.is_conj(), tensor.is_neg())
        found.update(str(facts).encode() + random_checks.bytes_of(random_custom_ops.copy_of(tensor)))
    return found.hexdigest()[:16]


def save(home: pathlib.Path | None, name: str, tensors: list[torch.Tensor]) -> None:
    if home:
        copies = [random_custom_ops.copy_of(tensor) for tensor in tensors]
        facts = [(tensor.stride(), tensor.storage_offset(), tensor.is_conj(), tensor.is_neg()) for tensor in tensors]
        torch.save({"values": copies, "facts": facts}, home / f"{name}.pt")


def main(definition: str, package: str, turns: str, truth: str = "") -> None:
    model = Model.from_json(pathlib.Path(definition).read_text())
    home = pathlib.Path(truth) if truth else None
    calls: list = []
    if home:
        random_custom_ops.record = lambda *call: calls.append(call)
    loader = torch._C._aoti.AOTIModelPackageLoader(package, "model", False, 1, -1)
    with open(victim.support.UNPACKED, "a") as file:
        file.writelines(f"{folder}\n" for folder in victim.support.unpacked_by("self"))
    for turn, batch in enumerate(model.batches()[: int(turns)]):
        inputs = model.inputs(batch, turn)
        save(home, f"inputs-{turn}", inputs)
        calls.clear()
        victim.say(f"run {turn}")
        try:
            outputs = loader.run(inputs)
        except RuntimeError as error:
            victim.say(f"result {turn} {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        victim.libc.fflush(None)
        victim.say(f"result {turn} {described(outputs)} {described(inputs)}")
        save(home, f"outputs-{turn}", outputs)
        save(home, f"after-{turn}", inputs)
        if home:
            torch.save(calls, home / f"custom-{turn}.pt")


if __name__ == "__main__":
    main(*sys.argv[1:])
