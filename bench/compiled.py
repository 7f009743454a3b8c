"""Measures functions that torch.compile compiled: one process for each variant, bare and under the library, which take
turns (A B C A B C ...). scripts/bench calls this. Each process imports torch and compiles once, which takes much longer
than to measure. Prints a table and appends it to the results, like run.py.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PRINTER = "AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER"
_FILES = {"AOTI_DBG_LOG": "{folder}/log", "AOTI_DBG_OUT": "{folder}/out"}
# Name, whether the library is loaded, the environment, the limit of the ratio to the first.
VARIANTS = (
    ("bare", False, {}, None),
    ("level 0", True, {"AOTI_DBG_LEVEL": "0"}, 1.01),
    ("names (level 3 into a file)", True, {"AOTI_DBG_LEVEL": "3", **_FILES}, 1.10),
    ("statistics (level 2)", True, {"AOTI_DBG_LEVEL": "2", **_FILES}, 2.5),
    ("statistics without reuse (AOTI_DBG_REUSE=off)", True, {"AOTI_DBG_LEVEL": "2", "AOTI_DBG_REUSE": "off", **_FILES}, None),
    ("NaN check (AOTI_DBG_CHECK=nan)", True, {"AOTI_DBG_CHECK": "nan", **_FILES}, None),
    ("armed (AOTI_DBG_TRIAGE=1)", True, {"AOTI_DBG_TRIAGE": "1", **_FILES}, None),
    ("PyTorch's printer, level 2 into a file", False, {PRINTER: "2"}, None),
)
TITLES = {
    "cuda": "torch.compile: transformer of 8 layers, fp16, width 512, batch 4 of 128 tokens, on the GPU, a run",
    "cpu": "torch.compile: transformer of 2 layers, fp32, width 64, on one CPU thread, a run",
}


def measure(device: str, lines) -> None:
    """The process of a variant: answers each line of seconds with the nanoseconds of a run."""
    import torch

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))
    import compile_models

    torch.set_num_threads(1)
    torch.manual_seed(0)
    case = compile_models.transformer(torch, device)
    compiled = torch.compile(case.module.eval().to(device))
    inputs = [tensor.to(device) for tensor in case.inputs]
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    with torch.no_grad():
        for _ in range(3):
            compiled(*inputs)
        wait()
        print("ready", file=lines, flush=True)
        for line in sys.stdin:
            end, rounds = time.monotonic() + float(line), []
            while time.monotonic() < end or len(rounds) < 3:
                started = time.perf_counter_ns()
                for _ in range(20):
                    compiled(*inputs)
                wait()
                rounds.append((time.perf_counter_ns() - started) / 20)
            print(statistics.median(rounds), file=lines, flush=True)


class Process:
    def __init__(self, variant: tuple, arguments: argparse.Namespace, folder: pathlib.Path):
        self.name, is_loaded, settings, self.limit = variant
        folder.mkdir()
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("LD_PRELOAD", PRINTER) and not name.startswith("AOTI_DBG_")
        }
        environment |= {name: value.format(folder=folder) for name, value in settings.items()}
        environment |= {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")}
        if is_loaded:
            environment["LD_PRELOAD"] = str(arguments.library.resolve())
        own, given = os.pipe()
        self.lines, self.folder = os.fdopen(own), folder
        command = [arguments.torch_python, __file__, "--device", arguments.device, "--worker", str(given)]
        with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr, pass_fds=[given], text=True
            )
        os.close(given)

    def answer(self) -> str:
        line = self.lines.readline()
        if not line:
            errors = (self.folder / "stderr").read_text(errors="replace")
            sys.exit(f"'{self.name}' ended: {errors[-1500:]}")
        return line

    def take_turn(self, seconds: float) -> float:
        print(seconds, file=self.process.stdin, flush=True)
        return float(self.answer())

    def end(self) -> None:
        self.process.stdin.close()
        if self.process.wait(timeout=120) != 0:
            sys.exit(f"'{self.name}' ended with {self.process.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--worker", type=int, help="answers on this descriptor")
    parser.add_argument("--library", type=pathlib.Path)
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.4)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        return measure(arguments.device, os.fdopen(arguments.worker, "w"))
    import run
    import table

    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        processes = [Process(one, arguments, pathlib.Path(scratch) / str(at)) for at, one in enumerate(VARIANTS)]
        for process in processes:
            process.answer()
        turns = [[one.take_turn(arguments.seconds) for one in processes] for _ in range(arguments.repetitions + 1)]
        for process in processes:
            process.end()
    rows = [
        {"name": one.name, "limit": one.limit and ("ratio", one.limit), "values": list(values), "measured": None}
        for one, values in zip(processes, zip(*turns[1:]))
    ]
    result = {
        "group": f"compile{'-cpu' * (arguments.device == 'cpu')}", "title": TITLES[arguments.device],
        "unit": "ms" if arguments.device == "cuda" else "us", "machine": run.describe_machine(arguments.torch_python),
        "library": hashlib.sha256(arguments.library.read_bytes()).hexdigest()[:12],
        "when": time.strftime("%Y-%m-%d %H:%M"), "load": load, "repetitions": arguments.repetitions, "rows": rows,
    }  # fmt: skip
    if arguments.results:
        arguments.results.parent.mkdir(parents=True, exist_ok=True)
        with arguments.results.open("a") as stream:
            stream.write(json.dumps(result) + "\n")
    print(table.group_table(result), flush=True)


if __name__ == "__main__":
    main()
