"""Compiles the models of models.py with AOTInductor: each as released and with PyTorch's own debug printer.
The printer prints names (level 3) or values (level 2), or saves some models' files (level 1). The packages
stay in the cache folder, so a later run compiles nothing.

As a program, `packages.py [--jobs N] [--variant V]... [NAME...]` compiles missing packages and prints each. It
must never run under the library, because the printer would no longer be an independent judge.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import inspect
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import traceback

import quick_imports

RELEASED = "released"
PRINTER = "printer"  # PyTorch's debug printer, names: the judge of our names
STATISTICS = "statistics"  # PyTorch's debug printer, values: the judge of our statistics
SAVING = "saving"  # PyTorch's debug printer, files: the judge of those that we save

# Models that are judged only by values, or only by names. All others are judged by both, and each variant
# takes time.
NOT_NAMED = ["transformer", "indices_and_masks", "masked_attention", "seeded_bugs", "views_and_bits"]
NOT_MEASURED = ["cat_1000", "seeded_bugs"]
# Models that are judged by files: repeated kernels and ops, odd dtypes, library ops. AOTI_DBGTEST_SAVING=all
# selects all models that are judged by values.
SAVED = ["transformer", "indices_and_masks", "fallback_ops"]

PRINTER_LEVELS = {PRINTER: "3", STATISTICS: "2", SAVING: "1"}

# Not in models.py: random_cases.py creates it, and random_packages.py compiles it as released and with
# printed values.
RANDOM = "random_cases"

# Part of every key. Increase it when compile_package changes its result.
RECIPE = 1


def cache_folder() -> pathlib.Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("AOTI_DBG_CACHE") or os.path.join(home, "aoti-dbg"))


def package_path(name: str, variant: str) -> pathlib.Path:
    """Return the path of the model's package, which may not exist yet. The name depends on everything that
    it is built from."""
    if name == RANDOM:
        import random_cases
        import random_packages

        return random_packages.home_of(random_cases.model()) / f"{variant}.pt2"
    with quick_imports.uncollected(freeze="torch" not in sys.modules):
        import torch

        import models

    made_from = [
        str(RECIPE),
        os.environ.get("AOTI_DBGTEST_COMPILED_BY") or torch.__version__,  # the release that compiled it
        torch.backends.cpu.get_cpu_capability(),  # the code is compiled for this machine's vector unit
        inspect.getsource(models.MODELS[name]),
        inspect.getsource(models.SHARED[name]) if name in models.SHARED else "",
        inspect.getsource(models.build),
    ]
    key = hashlib.sha256("\0".join(made_from).encode()).hexdigest()[:16]
    return cache_folder() / "models" / f"{name}-{variant}-{key}.pt2"


def variants(name: str) -> list[str]:
    if name == RANDOM:
        return [RELEASED, STATISTICS]
    unwanted = [PRINTER] * (name in NOT_NAMED) + [STATISTICS, SAVING] * (name in NOT_MEASURED)
    if name not in SAVED and os.environ.get("AOTI_DBGTEST_SAVING") != "all":
        unwanted.append(SAVING)
    return [variant for variant in (RELEASED, *PRINTER_LEVELS) if variant not in unwanted]


def chosen_models() -> list[str]:
    """Return the names in AOTI_DBGTEST_MODELS, or those of all models."""
    import models

    return os.environ.get("AOTI_DBGTEST_MODELS", "").split() or list(models.MODELS)


def not_measured() -> list[str]:
    return [name for name in NOT_MEASURED if name in chosen_models()]


def with_variant(variant: str) -> list[str]:
    return [name for name in chosen_models() if variant in variants(name)]


def compile_packages(name: str, requested: list[str]) -> None:
    if name == RANDOM:
        import random_cases
        import random_packages

        if problem := random_packages.compile_model(random_cases.model()):
            raise RuntimeError(problem)
        return
    import torch

    import models

    case = models.build(name)
    with torch.no_grad():
        exported = torch.export.export(case.module, case.inputs, dynamic_shapes=case.dynamic_shapes)
    for variant in requested:
        config = dict(case.config)
        if variant in PRINTER_LEVELS:
            config["aot_inductor.debug_intermediate_value_printer"] = PRINTER_LEVELS[variant]
        target = package_path(name, variant)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as folder, torch.no_grad():
            partial = os.path.join(folder, target.name)
            torch._inductor.aoti_compile_and_package(exported, package_path=partial, inductor_configs=config)
            os.replace(partial, target)


def _prepare(scratch: str) -> None:
    """Set up a worker process, which must happen before it imports torch."""
    os.environ.update(TORCHINDUCTOR_CACHE_DIR=scratch, TORCHINDUCTOR_COMPILE_THREADS="1")
    # Vector instructions without a check of the compiler, which would take some seconds more.
    os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "1")
    # PyTorch's variable would also compile the printer into the released package.
    os.environ.pop("AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER", None)
    if os.path.exists("/usr/bin/g++"):
        os.environ.setdefault("CXX", "/usr/bin/g++")


def _compile_quietly(name: str, requested: list[str]) -> tuple[float, str]:
    """Compile in a worker. Return the time it took and, after a failure, all its output."""
    started = time.monotonic()
    kept = [os.dup(1), os.dup(2)]
    failed = False
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        for descriptor in (1, 2):
            os.dup2(log.fileno(), descriptor)
        try:
            compile_packages(name, requested)
        except Exception:  # noqa: BLE001: handed to the parent as text; compilers raise many kinds
            failed = True
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for descriptor, saved in zip((1, 2), kept, strict=True):
                os.dup2(saved, descriptor)
                os.close(saved)
        log.seek(0)
        return time.monotonic() - started, (log.read() or "no word") if failed else ""


def compile_missing(names: list[str], only: list[str], jobs: int) -> bool:
    chosen = {name: [one for one in variants(name) if one in only] for name in names}
    missing = {name: [one for one in chosen[name] if not package_path(name, one).exists()] for name in names}
    count = sum(map(len, missing.values()))
    print(f"{sum(map(len, chosen.values())) - count} packages at hand, {count} to compile", flush=True)
    missing = {name: requested for name, requested in missing.items() if requested}
    if not missing:
        return True
    os.environ.pop("LD_PRELOAD", None)
    good = True
    # Few processes serve all models, because importing torch and probing the vector unit take longer than a
    # package.
    with tempfile.TemporaryDirectory(prefix="aoti-dbg-compile-") as scratch, concurrent.futures.ProcessPoolExecutor(
        min(jobs, len(missing)), multiprocessing.get_context("spawn"), _prepare, (scratch,)
    ) as workers:
        started = {workers.submit(_compile_quietly, name, requested): name for name, requested in missing.items()}
        for job in concurrent.futures.as_completed(started):
            name = started[job]
            seconds, problem = job.result()
            good = good and not problem
            print(f"{'FAILED' if problem else 'compiled'} {name} ({', '.join(missing[name])}) in {seconds:.0f} s")
            print(problem[-4000:], end="\n" if problem else "", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    # Compiling the largest model needs two gigabytes, so more jobs may not fit.
    parser.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    every = [RELEASED, *PRINTER_LEVELS]
    parser.add_argument("--variant", action="append", choices=every, help="compile only this one (can be repeated)")
    arguments = parser.parse_args()
    everything = chosen_models() if os.environ.get("AOTI_DBGTEST_MODELS") else [RANDOM, *chosen_models()]
    names = arguments.names or everything
    return 0 if compile_missing(names, arguments.variant or every, arguments.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
