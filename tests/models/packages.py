"""Compiles the models of models.py with AOTInductor, each as released and with PyTorch's own debug printer (names at
level 3, values at level 2), and keeps the packages in the cache folder, so that a later run compiles nothing.

As a program: `packages.py [--jobs N] [NAME...]` compiles what is missing, and says so line by line. It must never
run under the library: the printer would then not be the judge.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

RELEASED = "released"
PRINTER = "printer"  # PyTorch's debug printer, names: the judge of our names
STATISTICS = "statistics"  # PyTorch's debug printer, values: the judge of our statistics

# Judged by values only, or by names only; every other model by both. Each variant costs time.
NOT_NAMED = ["transformer", "indices_and_masks", "masked_attention"]
NOT_MEASURED = ["cat_1000"]

PRINTER_LEVELS = {PRINTER: "3", STATISTICS: "2"}

# Part of every key: raise it when compile_package makes something else than before.
RECIPE = 1


def cache_folder() -> pathlib.Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("AOTI_DBG_CACHE") or os.path.join(home, "aoti-dbg"))


def package_path(name: str, variant: str) -> pathlib.Path:
    """Where the package of this model lies or will lie: the name tells everything it was made from."""
    import torch

    import models

    made_from = [
        str(RECIPE),
        torch.__version__,
        torch.backends.cpu.get_cpu_capability(),  # the code is compiled for this machine's vector unit
        inspect.getsource(models.MODELS[name]),
        inspect.getsource(models.SHARED[name]) if name in models.SHARED else "",
        inspect.getsource(models.build),
    ]
    key = hashlib.sha256("\0".join(made_from).encode()).hexdigest()[:16]
    return cache_folder() / "models" / f"{name}-{variant}-{key}.pt2"


def variants(name: str) -> list[str]:
    unwanted = [PRINTER] * (name in NOT_NAMED) + [STATISTICS] * (name in NOT_MEASURED)
    return [variant for variant in (RELEASED, PRINTER, STATISTICS) if variant not in unwanted]


def with_variant(variant: str) -> list[str]:
    import models

    return [name for name in models.MODELS if variant in variants(name)]


def compile_packages(name: str, wanted: list[str]) -> None:
    import torch

    import models

    case = models.build(name)
    with torch.no_grad():
        exported = torch.export.export(case.module, case.inputs, dynamic_shapes=case.dynamic_shapes)
    for variant in wanted:
        config = dict(case.config)
        if variant in PRINTER_LEVELS:
            config["aot_inductor.debug_intermediate_value_printer"] = PRINTER_LEVELS[variant]
        target = package_path(name, variant)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as folder, torch.no_grad():
            partial = os.path.join(folder, target.name)
            torch._inductor.aoti_compile_and_package(exported, package_path=partial, inductor_configs=config)
            os.replace(partial, target)


def _start(name: str, wanted: list[str]) -> tuple:
    scratch = tempfile.mkdtemp(prefix="aoti-dbg-compile-")
    environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=scratch, TORCHINDUCTOR_COMPILE_THREADS="1")
    environment.pop("LD_PRELOAD", None)
    # PyTorch's variable would bake the printer into the released package too.
    environment.pop("AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER", None)
    if os.path.exists("/usr/bin/g++"):
        environment.setdefault("CXX", "/usr/bin/g++")
    log = open(os.path.join(scratch, "log"), "w+")
    process = subprocess.Popen(
        [sys.executable, __file__, "--one", name, *wanted], env=environment, stdin=subprocess.DEVNULL,
        stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return process, name, wanted, scratch, log, time.monotonic()


def _finish(job: tuple) -> bool:
    process, name, wanted, scratch, log, started = job
    failed = process.wait() != 0
    seconds = time.monotonic() - started
    print(f"{'FAILED' if failed else 'compiled'} {name} ({', '.join(wanted)}) in {seconds:.0f} s", flush=True)
    if failed:
        log.seek(0)
        print(log.read()[-4000:], flush=True)
    log.close()
    shutil.rmtree(scratch, ignore_errors=True)
    return not failed


def compile_missing(names: list[str], jobs: int) -> bool:
    missing = {name: [one for one in variants(name) if not package_path(name, one).exists()] for name in names}
    count = sum(map(len, missing.values()))
    print(f"{sum(map(len, map(variants, names))) - count} packages at hand, {count} to compile", flush=True)
    # The variants of a model in one process: importing torch and exporting take as long as compiling one.
    waiting = [(name, wanted) for name, wanted in missing.items() if wanted]
    running: list[tuple] = []
    good = True
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(_start(*waiting.pop(0)))
        # Jobs take about as long as each other: waiting for the oldest keeps the others busy.
        good = _finish(running.pop(0)) and good
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--one", nargs="+", metavar="WORD", help="NAME VARIANT...: compile one model in this process")
    arguments = parser.parse_args()
    if arguments.one:
        compile_packages(arguments.one[0], arguments.one[1:])
        return 0
    import models

    return 0 if compile_missing(arguments.names or list(models.MODELS), arguments.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
