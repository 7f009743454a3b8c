"""Compiles the models of the benchmarks and of the checks on a GPU with AOTInductor, all in one process:
compile_models.py --device cpu|cuda --out FOLDER PACKAGE...

A package is a model of MODELS and a variant: `transformer-released` as PyTorch makes it, `transformer-printer` with
PyTorch's own debug printer for names baked in. Those that are there, made by this very file and this torch, are not
made again. Must never run under the library: the printer would not be the judge.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import pathlib
import sys
import time

VARIANTS = {"released": {}, "printer": {"aot_inductor.debug_intermediate_value_printer": "3"}}


def transformer(torch, device):
    class Block(torch.nn.Module):
        """Pre-norm: attention with the three projections in one, then a GELU layer four times as wide."""

        def __init__(self, width: int, heads: int):
            super().__init__()
            self.heads = heads
            self.norm_1 = torch.nn.LayerNorm(width)
            self.norm_2 = torch.nn.LayerNorm(width)
            self.qkv = torch.nn.Linear(width, 3 * width)
            self.out = torch.nn.Linear(width, width)
            self.up = torch.nn.Linear(width, 4 * width)
            self.down = torch.nn.Linear(4 * width, width)

        def forward(self, x):
            q, k, v = self.qkv(self.norm_1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            attended = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + self.out(attended.transpose(1, 2).flatten(2))
            return x + self.down(torch.nn.functional.gelu(self.up(self.norm_2(x))))

    if device == "cuda":
        model = torch.nn.Sequential(*[Block(512, 8) for _ in range(8)]).cuda().half()
        return model, torch.randn(4, 128, 512, device="cuda", dtype=torch.half)
    return torch.nn.Sequential(*[Block(64, 4) for _ in range(2)]), torch.randn(2, 16, 64)


def mixed(torch, device):
    """Ops that go different ways: sort, cumsum, fft, and on a GPU a Triton kernel that a user wrote."""
    if device == "cuda":
        import user_kernel

        add = user_kernel.add
    else:
        add = torch.add

    class Mixed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(64, 64)

        def forward(self, x):
            y = add(x, torch.relu(self.layer(x)))
            ordered, _ = torch.sort(y, stable=True)
            return torch.cumsum(ordered, 0), torch.fft.fft(y).real, add(y, ordered)

    return Mixed().to(device), torch.randn(128, 64, device=device)


def linear(torch, device):
    """For the example server: any number of rows of 12 numbers."""
    model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Softmax(-1)).to(device)
    return model, torch.randn(6, 12, device=device)


MODELS = {"transformer": transformer, "mixed": mixed, "linear": linear}


def compile_package(torch, device: str, package: str, target: pathlib.Path) -> None:
    name, variant = package.split("-")
    torch.manual_seed(0)
    model, example = MODELS[name](torch, device)
    rows = {0: torch.export.Dim("rows", min=1, max=1024)}
    with torch.no_grad():
        # A Triton kernel of the user's is only seen by the strict way of exporting.
        exported = torch.export.export(
            model.eval(), (example,), strict=name == "mixed", dynamic_shapes=(rows,) if name == "linear" else None
        )
        # PyTorch wants the ending .pt2.
        partial = target.with_name(f"partial-{os.getpid()}-{target.name}")
        torch._inductor.aoti_compile_and_package(
            exported, package_path=str(partial), inductor_configs=VARIANTS[variant]
        )
        partial.replace(target)


def forget_others(folder: pathlib.Path) -> None:
    """Removes packages that were made by another version of this file or by another torch."""
    here = pathlib.Path(__file__).resolve()
    key = hashlib.sha256(importlib.metadata.version("torch").encode())
    for source in (here, here.with_name("user_kernel.py")):
        key.update(source.read_bytes())
    stamp = folder / "made-by"
    if stamp.exists() and stamp.read_text() == key.hexdigest():
        return
    for package in folder.glob("*.pt2"):
        package.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key.hexdigest())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    for package in arguments.packages:
        name, _, variant = package.partition("-")
        if name not in MODELS or variant not in VARIANTS:
            parser.error(f"no package {package}")

    forget_others(arguments.out)
    missing = [name for name in arguments.packages if not (arguments.out / f"{name}.pt2").exists()]
    print(f"{len(arguments.packages) - len(missing)} packages at hand, {len(missing)} to compile", flush=True)
    if not missing:
        return 0
    # PyTorch's variable would bake the printer into the released packages too.
    os.environ.pop("AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER", None)
    # A compiler that links libstdc++ statically makes models that crash when they are loaded.
    if os.path.exists("/usr/bin/g++"):
        os.environ.setdefault("CXX", "/usr/bin/g++")
    import torch

    for package in missing:
        started = time.monotonic()
        compile_package(torch, arguments.device, package, arguments.out / f"{package}.pt2")
        print(f"compiled {package} for {arguments.device} in {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
