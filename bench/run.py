"""Runs the groups of groups.py and prints one table each; scripts/bench builds what it needs and calls it.

Bare and loaded processes take turns (A B C A B C ...), so that what the machine does meanwhile falls on all alike;
what is compared are medians over the repetitions. Every group is appended to the results file as one line of JSON. A
variant that fails says why and is left out, and the others are measured.
Needs nothing but Python and must never import torch, which would take longer than most of what is measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import groups
import measured
import table


# Of one process: none is to take more than some ten seconds.
TIMEOUT_SECONDS = 90


class BenchError(Exception):
    pass


def end_of(path: pathlib.Path, size: int = 1500) -> str:
    """What a program said last is about its end."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - size))
        return stream.read().decode(errors="replace")


def describe_machine(torch_python: str) -> dict:
    cpu = "unknown CPU"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    machine = {"cpu": cpu, "cores": len(os.sched_getaffinity(0))}
    if shutil.which("nvidia-smi"):
        asked = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if asked.returncode == 0 and "," in asked.stdout:
            machine["gpu"], machine["driver"] = (part.strip() for part in asked.stdout.strip().split(",")[:2])
    if torch_python:
        find = "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
        asked = subprocess.run([torch_python, "-c", find], capture_output=True, text=True, check=False)
        version = pathlib.Path(asked.stdout.strip()) / "version.py"
        if asked.returncode == 0 and version.exists():
            found: dict = {}
            exec(version.read_text(), found)  # noqa: S102: torch's own file of a few assignments
            machine["torch"] = str(found["__version__"])
    return machine


class Runner:
    def __init__(self, arguments: argparse.Namespace):
        self.library = arguments.library.resolve()
        self.scratch = arguments.scratch
        self.measured: dict[str, dict] = {}  # by the name of a variant of the group at hand: tensors, bytes
        self.folders = {
            "bench": str(arguments.bench.resolve()),
            "gpu": str(arguments.programs.resolve()),
            "packages": str(arguments.packages.resolve()),
            "seconds": str(arguments.seconds),
        }
        # What somebody has set for a run of their own must not decide what is measured here.
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith(("AOTI_DBG_", "AOT_INDUCTOR_"))
        }

    def run(self, variant: groups.Variant) -> float:
        """Nanoseconds, as one process reports them. Leaves nothing behind."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.scratch) as scratch:
            environment = dict(self.environment)
            for name, value in variant.environment.items():
                environment[name] = value.format(scratch=scratch)
            if variant.preload:
                environment["LD_PRELOAD"] = str(self.library)
            command = [part.format(**self.folders) for part in variant.command]
            out, error = pathlib.Path(scratch, "stdout"), pathlib.Path(scratch, "stderr")
            # Standard output is a file for all, as the printer that is compared with writes there.
            with out.open("wb") as stdout, error.open("wb") as stderr:
                try:
                    status = subprocess.run(
                        command, env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                        timeout=TIMEOUT_SECONDS, check=False,
                    ).returncode  # fmt: skip
                    how = f"ended with {status}"
                except subprocess.TimeoutExpired:
                    status, how = None, f"was not done after {TIMEOUT_SECONDS} s"
            if status != 0:
                raise BenchError(f"{' '.join(command)} {how}: {end_of(error)}")
            log = pathlib.Path(scratch, "log")
            written = log.stat().st_size if log.exists() else 0
            if (written > 0) != variant.lines:
                raise BenchError(f"left {written} bytes of launch lines: it measured something else: {end_of(error)}")
            if variant.counted and variant.name not in self.measured:
                found = measured.measured_in_a_run(pathlib.Path(scratch, "out", "events.jsonl"))
                if not found or not found["tensors"]:
                    raise BenchError(f"measured nothing: {end_of(error)}")
                self.measured[variant.name] = found
            return self.last_value(out)

    @staticmethod
    def last_value(path: pathlib.Path) -> float:
        lines = end_of(path, 256).splitlines()
        for line in reversed(lines):
            # PyTorch's printer does not end its last line.
            before, found, value = line.rpartition("value ")
            if found and (not before or before.endswith("\\n")):
                return float(value)
        raise BenchError(f"no value in what was printed: {lines[-3:]}")


def measure(group: groups.Group, runner: Runner, repetitions: int, at_most: float) -> tuple[list[list], dict[str, str]]:
    """Values of each variant, and why some have none."""
    found: list[list[float]] = [[] for _ in group.variants]
    failed: dict[str, str] = {}
    runner.measured = {}
    started = time.monotonic()
    # The first turn is not counted: files and caches are cold once, and that is not what is measured.
    for turn in range(repetitions + 1):
        began = time.monotonic()
        for values, variant in zip(found, group.variants):
            if variant.name in failed:
                continue
            try:
                value = runner.run(variant)
            except (BenchError, OSError) as error:
                if variant is group.variants[0]:
                    raise BenchError(f"'{variant.name}': {error}") from error
                failed[variant.name] = str(error)
                values.clear()
                continue
            if turn > 0:
                values.append(value)
        now = time.monotonic()
        if turn > 0:
            print(f"   {group.key}: repetition {turn} of {repetitions}", file=sys.stderr, flush=True)
        if 0 < turn < repetitions and now - started + now - began > at_most:
            print(f"   {group.key}: no more than {turn}, for {at_most:g} s are over", file=sys.stderr, flush=True)
            break
    return found, failed


def available(group: groups.Group, arguments: argparse.Namespace) -> bool:
    if group.needs_gpu != (arguments.gpu and group.needs_gpu):
        return False
    return not group.needs_torch or (arguments.programs / "model_bench").exists()


def main() -> int:
    known = {word for group in groups.GROUPS for word in (group.key, group.key.partition(":")[0])}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=pathlib.Path, help="folder of passage_bench and launch_bench")
    parser.add_argument("--programs", type=pathlib.Path, help="folder of model_bench and empty_kernels")
    parser.add_argument("--packages", type=pathlib.Path, help="folder of the folders cpu and cuda with packages")
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, help="where logs are written meanwhile")
    parser.add_argument("--torch-python", default="")
    parser.add_argument("--gpu", action="store_true", help="also what needs a GPU")
    parser.add_argument("--only", nargs="*", default=[], choices=sorted(known),
                        metavar="GROUP")  # fmt: skip
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument("--at-most", type=float, default=1e9, metavar="SECONDS",
                        help="for a group: no repetition is begun that would end later, but for the first")  # fmt: skip
    parser.add_argument("--seconds", type=float, default=1.5, help="how long a model is measured in each process")
    parser.add_argument("--write-docs", type=pathlib.Path, metavar="PAGE", help="only write the figures into PAGE")
    arguments = parser.parse_args()
    if arguments.write_docs:
        table.write_docs(arguments.results, arguments.write_docs)
        return 0

    machine = describe_machine(arguments.torch_python)
    print(f"{table.machine_line(machine)}\n", flush=True)
    library = hashlib.sha256(arguments.library.read_bytes()).hexdigest()[:12]
    runner = Runner(arguments)
    status = 0
    for group in groups.GROUPS:
        if arguments.only and not {group.key, group.key.partition(":")[0]} & set(arguments.only):
            continue
        if not available(group, arguments):
            # Asked for by name, it must not be left out in silence; of a family, what needs a GPU may be.
            if group.key in arguments.only or (arguments.only and arguments.gpu >= group.needs_gpu):
                status = 1
            print(f"not measured: {group.title}: {'needs a GPU' if group.needs_gpu else 'needs LibTorch'}\n")
            continue
        load = os.getloadavg()[0]
        try:
            values, failed = measure(group, runner, arguments.repetitions, arguments.at_most)
        except (BenchError, OSError) as error:
            print(f"failed: {group.title}: {error}\n", flush=True)
            status = 1
            continue
        result = {
            "group": group.key, "title": group.title, "unit": group.unit, "machine": machine, "library": library,
            "when": time.strftime("%Y-%m-%d %H:%M"), "load": load, "repetitions": len(values[0]),
            "rows": [
                {"name": variant.name, "limit": variant.limit, "values": row,
                 "measured": runner.measured.get(variant.name), "failed": failed.get(variant.name)}
                for variant, row in zip(group.variants, values)
            ],
        }  # fmt: skip
        arguments.results.parent.mkdir(parents=True, exist_ok=True)
        with arguments.results.open("a") as stream:
            stream.write(json.dumps(result) + "\n")
        print(table.group_table(result) + "\n", flush=True)
        for name, why in failed.items():
            print(f"failed: {group.title}: '{name}': {why}\n", flush=True)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
