"""Compiles the models of the benchmarks and of the GPU checks with AOTInductor:
compile_models.py --device cpu|cuda --out FOLDER [--jobs N] PACKAGE...

A package is a model of MODELS and a variant: `transformer-released` as PyTorch compiles it,
`transformer-printer` with PyTorch's own debug printer for names, `transformer-statistics` with its printer
for values, and `transformer-saving` with its printer for files. `transformer-alike` and
`transformer-alike_saving` are the first and the last without measured kernel choices, so that both add in the
same order. `transformer.inputs.pt` beside them lists the model's inputs. Existing packages of these same
sources and this torch are kept. It must never run under the library, because the printer would no longer be
an independent judge.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import time
import traceback

here = pathlib.Path(__file__).resolve()
models_of_tests = here.parents[1] / "tests" / "models"
PRINTER = "aot_inductor.debug_intermediate_value_printer"
ALIKE = {"deterministic": True}
VARIANTS = {"released": {}, "printer": {PRINTER: "3"}, "statistics": {PRINTER: "2"},
            "saving": {PRINTER: "1"}, "alike": ALIKE, "alike_saving": {PRINTER: "1", **ALIKE}}  # fmt: skip


def of_tests(name: str):
    """Use a model of tests/models unchanged."""

    def make(torch, device):
        import models

        return models.build(name)

    return make


def transformer(torch, device):
    import models

    if device == "cpu":
        return models.build("transformer")
    case = transformer_512(torch, device)
    return models.Case(case.module.half(), tuple(tensor.half() for tensor in case.inputs))


def transformer_512(torch, device):
    """The transformer for a GPU, in float32."""
    import models

    blocks = torch.nn.Sequential(*[models.TransformerBlock(512, 8) for _ in range(8)])
    return models.Case(blocks, (torch.randn(4, 128, 512),))


def mixed(torch, device):
    """Ops with different implementations: sort, cumsum, fft, and on a GPU a user's Triton kernel."""
    import models

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

    return models.Case(Mixed(), (torch.randn(128, 64),))


def linear(torch, device):
    """A model for the example server, with any number of rows of 12 numbers."""
    import models

    model = torch.nn.Sequential(torch.nn.Linear(12, 8), torch.nn.Softmax(-1))
    rows = {0: torch.export.Dim("rows", min=1, max=1024)}
    return models.Case(model, (torch.randn(6, 12),), dynamic_shapes=(rows,))


def bert(torch, device):
    """BERT with random weights, in the sizes of the transformer. Only this model needs the package transformers."""
    import models
    import transformers

    layers, width = (6, 512) if device == "cuda" else (2, 64)
    config = transformers.BertConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64,
                                     intermediate_size=4 * width)  # fmt: skip

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = transformers.BertModel(config, add_pooling_layer=False)

        def forward(self, tokens):
            return self.bert(input_ids=tokens).last_hidden_state

    net = Net().half() if device == "cuda" else Net()
    shape = (4, 128) if device == "cuda" else (2, 16)
    return models.Case(net, (torch.randint(0, 1000, shape),))


def pointwise(torch, device, on_a_cpu=24):
    """One kernel that reads and writes 1 GiB on a GPU or 64 MiB on a CPU, so only bandwidth counts."""
    import models

    class Net(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) * 2 + 1

    return models.Case(Net(), (torch.randn(1 << (28 if device == "cuda" else on_a_cpu)),))


def pointwise_256(torch, device):
    """The same model on 256 MiB of a CPU."""
    return pointwise(torch, device, on_a_cpu=26)


MODELS = {"transformer": transformer, "transformer_512": transformer_512, "mixed": mixed, "linear": linear,
          "bert": bert, "pointwise": pointwise, "pointwise_256": pointwise_256}  # fmt: skip
for _name in ("linear_softmax", "frozen_conv", "dynamic_batch", "indices_and_masks", "masked_attention", "custom_op",
              "cat_100", "views_and_bits"):  # fmt: skip
    MODELS[_name] = of_tests(_name)


def with_fault(name: str):
    """Use a model of tests/models/faults.py."""

    def make(torch, device):
        import faults

        return faults.FAULTS[name]()

    return make


for _name in ("index_read", "index_write", "index_assert", "user_kernel", "hang", "custom_op", "rows"):
    MODELS[f"fault_{_name}"] = with_fault(f"fault_{_name}")


# Only strict export traces a user's Triton kernel.
STRICT = ("mixed", "fault_user_kernel", "fault_hang")


def compile_packages(torch, device: str, name: str, packages: list[str], folder: pathlib.Path) -> None:
    torch.manual_seed(0)
    case = MODELS[name](torch, device)
    # PyTorch requires the extension .pt2.
    partial = folder / f"partial-{os.getpid()}.pt2"
    # The benchmark's inputs are large and are created where it runs.
    if not name.startswith("pointwise"):
        inputs = [torch.utils._pytree.tree_leaves(one) for one in (case.inputs, *case.more_inputs)]
        torch.save(inputs, partial)
        partial.replace(folder / f"{name}.inputs.pt")
    example = torch.utils._pytree.tree_map(lambda tensor: tensor.to(device), case.inputs)
    with torch.no_grad():
        exported = torch.export.export(
            case.module.eval().to(device), example, strict=name in STRICT, dynamic_shapes=case.dynamic_shapes
        )
        for package in packages:
            started = time.monotonic()
            keeps_config = device == "cpu" or name.startswith("fault_")
            config = {**(case.config if keeps_config else {}), **VARIANTS[package.partition("-")[2]]}
            torch._inductor.aoti_compile_and_package(exported, package_path=str(partial), inductor_configs=config)
            partial.replace(folder / f"{package}.pt2")
            print(f"compiled {package} for {device} in {time.monotonic() - started:.0f} s", flush=True)


def forget_others(folder: pathlib.Path) -> None:
    """Remove packages of another version of these files or of another torch."""
    key = hashlib.sha256(importlib.metadata.version("torch").encode())
    for source in (here, here.with_name("user_kernel.py"), models_of_tests / "models.py",
                   models_of_tests / "faults.py", models_of_tests / "faulty_kernel.py"):  # fmt: skip
        key.update(source.read_bytes())
    stamp = folder / "made-by"
    if stamp.exists() and stamp.read_text() == key.hexdigest():
        return
    for package in folder.glob("*.pt2"):
        package.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    stamp.write_text(key.hexdigest())


def compile_in_processes(arguments: argparse.Namespace, by_model: dict[str, list[str]]) -> int:
    """Give each process its share at once, because importing torch and the first compilation take longer
    than all later compilations."""
    shares: list[list[str]] = [[] for _ in range(min(arguments.jobs, len(by_model)))]
    for packages in sorted(by_model.values(), key=len, reverse=True):
        min(shares, key=len).extend(packages)
    command = [sys.executable, str(here), "--device", arguments.device, "--out", str(arguments.out), "--jobs", "1"]
    running = [subprocess.Popen([*command, *share]) for share in shares]
    return 1 if any([process.wait() for process in running]) else 0


def compile_here(arguments: argparse.Namespace, by_model: dict[str, list[str]]) -> int:
    """Compile as many as possible. A failed model prints an error, and the others continue."""
    import torch

    sys.path.insert(0, str(models_of_tests))
    status = 0
    for name, packages in by_model.items():
        try:
            compile_packages(torch, arguments.device, name, packages, arguments.out)
        except Exception:  # noqa: BLE001: compilers raise many kinds
            traceback.print_exc()
            print(f"FAILED: {name} for {arguments.device}", flush=True)
            status = 1
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=max(1, min(8, len(os.sched_getaffinity(0)) // 2)))
    arguments = parser.parse_args()
    by_model: dict[str, list[str]] = {}
    for package in dict.fromkeys(arguments.packages):
        name, _, variant = package.partition("-")
        if name not in MODELS or variant not in VARIANTS:
            parser.error(f"no package {package}")
        by_model.setdefault(name, []).append(package)

    forget_others(arguments.out)
    for name, packages in list(by_model.items()):
        by_model[name] = [package for package in packages if not (arguments.out / f"{package}.pt2").exists()]
        if not by_model[name]:
            del by_model[name]
    missing = sum(map(len, by_model.values()))
    print(f"{len(set(arguments.packages)) - missing} packages at hand, {missing} to compile", flush=True)
    # PyTorch's variable would also compile the printer into the released packages.
    os.environ.pop("AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER", None)
    # A compiler that links libstdc++ statically yields models that crash when they load.
    if os.path.exists("/usr/bin/g++"):
        os.environ.setdefault("CXX", "/usr/bin/g++")
    if arguments.jobs > 1 and len(by_model) > 1:
        return compile_in_processes(arguments, by_model)
    return compile_here(arguments, by_model) if by_model else 0


if __name__ == "__main__":
    sys.exit(main())
