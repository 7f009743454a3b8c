"""Runs the groups of groups.py and prints a table for each. scripts/bench builds the programs and calls this.

Bare and loaded processes take turns (A B C A B C ...), so that other load on the machine affects all alike.
Medians over the repetitions are compared. Each group is appended to the results file as one line of JSON. A
variant that fails prints why and is left out, and the others continue. Needs only Python. It must never
import torch, which would take longer than most measurements.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import groups
import measured
import saving
import table
from process import BenchError, Process, end_of


# Enough for all threads of a process: the model's, the library's and the driver's.
CORES = 4
# Turns of processes that stay take a second, instead of ten for the start of new ones.
TURNS = 4


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
    """Starts the processes of a group's variants, and checks what they leave."""

    def __init__(self, arguments: argparse.Namespace):
        self.library = arguments.library.resolve()
        self.scratch = arguments.scratch
        # Indexed by variant of the current group: the tensors and bytes that it measured, or the files that
        # it saved.
        self.measured: dict[str, dict] = {}
        self.sizes: dict[str, list[int]] = {}  # of the files that it wrote
        self.place: saving.Place | None = None
        self.results: list[dict] = []  # of all groups
        self.folders = {
            "bench": str(arguments.bench.resolve()),
            "gpu": str(arguments.programs.resolve()),
            "packages": str(arguments.packages.resolve()),
            "seconds": str(arguments.seconds),
            "python": arguments.torch_python,
        }
        # A user's own settings must not affect the measurement.
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name != "LD_PRELOAD" and not name.startswith(("AOTI_DBG_", "AOT_INDUCTOR_"))
        }

    def start(self, variant: groups.Variant, kept: contextlib.ExitStack) -> Process:
        """`kept` ends the process and removes all its output."""
        self.scratch.mkdir(parents=True, exist_ok=True)
        scratch = pathlib.Path(kept.enter_context(tempfile.TemporaryDirectory(dir=self.scratch)))
        folders = {**self.folders, "scratch": str(scratch), "sizes": str(scratch / "sizes")}
        if variant.saves:
            folders["save"] = kept.enter_context(self.place.folder())
        if variant.files_of:
            if variant.files_of not in self.sizes:
                raise BenchError(f"there are no files of '{variant.files_of}'")
            (scratch / "sizes").write_text("".join(f"{size}\n" for size in self.sizes[variant.files_of]))
        environment = dict(self.environment)
        for name, value in variant.environment.items():
            environment[name] = value.format(**folders)
        preloaded = [variant.preload_first.format(**folders)] * bool(variant.preload_first)
        preloaded += [str(self.library)] * variant.preload
        if preloaded:
            environment["LD_PRELOAD"] = " ".join(preloaded)
        command = [part.format(**folders) for part in variant.command]
        return kept.enter_context(contextlib.closing(Process(command, environment, scratch, folders.get("save"))))

    def finish(self, variant: groups.Variant, process: Process) -> None:
        """Wait for the end of the process. It must have measured what the variant says."""
        process.finish()
        scratch = process.scratch
        log = scratch / "log"
        written = log.stat().st_size if log.exists() else 0
        if (written > 0) != variant.lines:
            raise BenchError(f"left {written} bytes of launch lines: it measured something else: {process.said()}")
        if variant.counted and variant.name not in self.measured:
            found = measured.measured_in_a_run(scratch / "out" / "events.jsonl")
            if not found or not found["tensors"]:
                raise BenchError(f"measured nothing: {process.said()}")
            self.measured[variant.name] = found

    def run(self, variant: groups.Variant) -> float:
        """Return nanoseconds: the program's own value, or the time to save."""
        with contextlib.ExitStack() as kept:
            process = self.start(variant, kept)
            self.finish(variant, process)
            return self.time_to_disk(variant, process) if variant.saves else self.last_value(process.scratch / "stdout")

    def time_to_disk(self, variant: groups.Variant, process: Process) -> float:
        """Return the nanoseconds from the start of the first run."""
        end = self.place.sync()
        start = saving.started(process.scratch / "stdout")
        if variant.saves == groups.LEVEL_1:
            found = saving.by_level_1(pathlib.Path(process.folder))
        elif variant.saves == groups.PYTORCH:
            found = saving.by_pytorch(process.scratch / "stdout")
        else:
            sizes = self.sizes.get(variant.files_of, [])
            found = saving.Saved(len(sizes), sizes)
        if start is None or found is None:
            raise BenchError(f"did not save all of it: {process.said()}")
        self.sizes[variant.name] = found.sizes
        if found.sizes:
            self.measured[variant.name] = found.counts()
        return end - start

    @staticmethod
    def last_value(path: pathlib.Path) -> float:
        lines = end_of(path, 256).splitlines()
        for line in reversed(lines):
            # PyTorch's printer does not end its last line.
            before, found, value = line.rpartition("value ")
            if found and (not before or before.endswith("\\n")):
                return float(value)
        raise BenchError(f"no value in what was printed: {lines[-3:]}")


class Turns:
    """Each turn of a group gives a value of each variant that has not failed. Without the first variant there is
    nothing to compare with."""

    def __init__(self, group: groups.Group, runner: Runner):
        self.group, self.runner = group, runner
        self.failed: dict[str, str] = {}
        self.processes: dict[str, Process] = {}

    def each(self, step) -> dict:
        """Return what `step` returns for each variant."""
        found = {}
        for variant in self.group.variants:
            if variant.name in self.failed:
                continue
            try:
                found[variant.name] = step(variant)
            except (BenchError, OSError) as error:
                if variant is self.group.variants[0]:
                    raise BenchError(f"'{variant.name}': {error}") from error
                self.failed[variant.name] = str(error)
        return found

    def start(self, kept: contextlib.ExitStack) -> None:
        """Start the processes that take turns, all at once, which takes about as long as to start one."""
        if self.group.together:
            self.processes = self.each(lambda variant: self.runner.start(variant, kept))
            # Cores of one machine can differ in speed for minutes.
            cores = sorted(os.sched_getaffinity(0))[:CORES]
            for process in self.processes.values():
                os.sched_setaffinity(process.process.pid, cores)
            self.each(lambda variant: self.processes[variant.name].answer())

    def take(self) -> dict[str, float]:
        if self.group.together:
            return self.each(lambda variant: self.processes[variant.name].take_turn())
        return self.each(self.runner.run)

    def finish(self) -> None:
        if self.group.together:
            self.each(lambda variant: self.runner.finish(variant, self.processes[variant.name]))


def measure(group: groups.Group, runner: Runner, repetitions: int, at_most: float) -> tuple[list[list], dict[str, str]]:
    """Return the values of each variant, and why some have none."""
    values: list[dict[str, float]] = []
    runner.measured, runner.sizes = {}, {}
    turns = Turns(group, runner)
    started = time.monotonic()
    with contextlib.ExitStack() as kept:
        turns.start(kept)
        # The first turn does not count, because files and caches are cold.
        turns.take()
        repetitions *= TURNS if group.together else 1
        for turn in range(1, repetitions + 1):
            began = time.monotonic()
            values.append(turns.take())
            now = time.monotonic()
            print(f"   {group.key}: repetition {turn} of {repetitions}", file=sys.stderr, flush=True)
            if turn < repetitions and now - started + now - began > at_most:
                print(f"   {group.key}: no more than {turn}, for {at_most:g} s are over", file=sys.stderr, flush=True)
                break
        turns.finish()
    names = [variant.name for variant in group.variants]
    return [[] if name in turns.failed else [turn[name] for turn in values] for name in names], turns.failed


def missing_for(group: groups.Group, arguments: argparse.Namespace) -> str:
    """Return what a group lacks, or an empty text."""
    if group.needs_gpu and not arguments.gpu:
        return "a GPU"
    if group.needs_torch and not (arguments.programs / "model_bench").exists():
        return "LibTorch"
    for part in group.variants[0].command:
        if part.startswith("{packages}") and not pathlib.Path(part.format(packages=arguments.packages)).exists():
            return f"{pathlib.Path(part).name}, which was not compiled"
    return ""


def measure_in(place: saving.Place | None, group: groups.Group, runner: Runner, machine: dict,
               arguments: argparse.Namespace) -> int:  # fmt: skip
    """Print and store the results. Return 1 if any are missing."""
    title = group.title
    if place is not None:
        title += f", to {place.kind}{' in memory' if place.lies_in == groups.MEMORY else ''}"
        if place.room() < group.room:
            room, needed = place.room() / (1 << 30), group.room / (1 << 30)
            print(f"not measured: {title}: {place.parent} has room for {room:.1f} GiB, needed are {needed:.1f}; "
                  "name another folder with --save-to\n", flush=True)  # fmt: skip
            return 1
    runner.place = place
    load = os.getloadavg()[0]
    try:
        values, failed = measure(group, runner, arguments.repetitions, arguments.at_most)
    except (BenchError, OSError) as error:
        print(f"failed: {title}: {error}\n", flush=True)
        return 1
    result = {
        "group": group.key, "title": title, "unit": group.unit, "machine": machine,
        "library": hashlib.sha256(arguments.library.read_bytes()).hexdigest()[:12],
        "when": time.strftime("%Y-%m-%d %H:%M"), "load": load, "repetitions": len(values[0]),
        "rows": [
            {"name": variant.name, "limit": variant.limits.get(place.lies_in) if place else variant.limit,
             "values": row, "measured": runner.measured.get(variant.name), "failed": failed.get(variant.name)}
            for variant, row in zip(group.variants, values)
        ],
    }  # fmt: skip
    if place is not None:
        result["place"] = place.kind
        for variant, row in zip(group.variants, result["rows"]):
            row |= {"saves": variant.saves, "files_of": variant.files_of}
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    with arguments.results.open("a") as stream:
        stream.write(json.dumps(result) + "\n")
    print(table.group_table(result) + "\n", flush=True)
    runner.results.append(result)
    for name, why in failed.items():
        print(f"failed: {title}: '{name}': {why}\n", flush=True)
    return 1 if failed else 0


def measure_all(places: list[saving.Place], runner: Runner, machine: dict, arguments: argparse.Namespace) -> int:
    """Return 1 if a requested group is missing."""
    status = 0
    for group in groups.GROUPS:
        if arguments.only and not {group.key, group.key.partition(":")[0]} & set(arguments.only):
            continue
        if missing := missing_for(group, arguments):
            # A group requested by name must not be skipped silently. One of a family may be skipped if it
            # needs a GPU.
            if group.key in arguments.only or (arguments.only and arguments.gpu >= group.needs_gpu):
                status = 1
            print(f"not measured: {group.title}: needs {missing}\n")
            continue
        for place in places if group.room else [None]:
            status |= measure_in(place, group, runner, machine, arguments)
    for family in ("cost:", "cost-cpu:"):
        measured_here = [result for result in runner.results if result["group"].startswith(family)]
        if len(measured_here) > 1:
            print(f"**{family[:-1]}: ratios to {measured_here[0]['rows'][0]['name']}, median of pairs and lowest pair**\n")
            print(table.cost_table(measured_here) + "\n", flush=True)
    return status


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
    parser.add_argument("--save-to", type=pathlib.Path, action="append", metavar="FOLDER",
                        help="where tensors are saved; may be given again (the scratch folder)")  # fmt: skip
    parser.add_argument("--write-docs", type=pathlib.Path, metavar="DOCS",
                        help="only write the figures into the pages of the folder DOCS")  # fmt: skip
    arguments = parser.parse_args()
    if arguments.write_docs:
        results = table.read_results(arguments.results)
        table.write_docs(results, arguments.write_docs / "internals" / "benchmarks.md")
        table.write_costs(results, arguments.write_docs / "explanation" / "costs.md")
        return 0

    machine = describe_machine(arguments.torch_python)
    print(f"{table.machine_line(machine)}\n", flush=True)
    runner = Runner(arguments)
    # This also removes saved tensors.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with contextlib.ExitStack() as made:
        places = []
        for folder in arguments.save_to or [arguments.scratch]:
            try:
                places.append(made.enter_context(contextlib.closing(saving.Place(folder))))
            except OSError as error:
                print(f"failed: cannot save to {folder}: {error.strerror}")
                return 1
        return measure_all(places, runner, machine, arguments)


if __name__ == "__main__":
    sys.exit(main())
