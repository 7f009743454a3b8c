"""Compares random models under the library with torch, with PyTorch's printer and with the program's own
tensors.

    python tests/models/random_models.py --seed 17 --count 5

This creates the models of seeds 17 to 21 and compiles each twice (kept in the cache folder). It runs them
bare and under the library at every level, and prints each disagreement. AOTI_DBGTEST_LIBRARY is the library,
by default that of build/release. To reduce a model, `--parts g3,g5:v4+v7` selects these graphs, and of g5
only what leads to these values. `--show` prints the model. The exit code is 1 if there are disagreements.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import re
import shutil
import sys
import tempfile

import packages
import parity
import random_checks
import random_meaning
import random_packages
import random_redo
import random_sites
import support
from random_graphs import Graph, pruned
from random_packages import Model
from random_recording import Recording

FULL = {"AOTI_DBG_STATS": "full"}
# The variables of each run, besides the output paths.
RUNS = {
    "level 0": {"AOTI_DBG_LEVEL": "0"},
    "level 3": {"AOTI_DBG_LEVEL": "3"},
    "level 2": {"AOTI_DBG_LEVEL": "2", "AOTI_DBG_CHECK": "nan,inf,args", **FULL},
    "level 1": {"AOTI_DBG_LEVEL": "1"},
    "levels 1 and 2": {"AOTI_DBG_LEVEL": "stats,files", "AOTI_DBG_REUSE": "off", **FULL},
}
# Gives memory that nothing has written the same bytes in every process.
SAME_MEMORY = {"MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0", "OMP_NUM_THREADS": "1"}


class Runs:
    """The outcomes of one model in a folder."""

    def __init__(self, model: Model, folder: pathlib.Path):
        self.model, self.folder, self.home = model, folder, random_packages.home_of(model)
        self.truth = folder / "truth"
        self.truth.mkdir()
        self.turns = len(model.batches())
        self.bare = self.run("released", preload=False)
        if self.bare.code:  # PyTorch crashed on an empty batch: use only the successful runs
            self.turns = len(results(self.bare))
            self.bare = self.run("released", "bare again", preload=False)
        self.judge = self.run("statistics", preload=False)
        self.seen = {name: self.run("released", name, **options) for name, options in RUNS.items()}

    def run(self, variant: str, name: str = "bare", preload: bool = True, **options: str) -> support.Outcome:
        place = self.folder / f"{name} {variant}".replace(" ", "_")
        place.mkdir()
        truth = [str(self.truth)] if name == "levels 1 and 2" else []
        arguments = [str(self.home / "model.json"), str(self.home / f"{variant}.pt2"), str(self.turns), *truth]
        if preload:
            options |= {"AOTI_DBG_OUT": str(place / "out")}
        outcome = support.run_victim(
            *arguments, folder=place, preload=preload, script="random_victim.py", **SAME_MEMORY, **options
        )
        (place / "stdout").write_text(outcome.stdout)
        (place / "stderr").write_text(outcome.stderr)
        return outcome

    def recording(self, name: str) -> Recording:
        return Recording(self.seen[name].folder / "out")

    def log(self, name: str) -> str:
        (log,) = self.seen[name].log.parent.glob("log.*.txt")
        return log.read_text()


def results(outcome: support.Outcome) -> list[str]:
    return re.findall(r"^result .*", outcome.stdout, re.MULTILINE)


def transparency(runs: Runs) -> list[str]:
    """All runs must have the results of the bare run, bit for bit."""
    wrong = [f"bare: {runs.bare.stderr[-500:]}"] if runs.bare.code or not runs.turns else []
    for name, outcome in runs.seen.items():
        if (outcome.code, outcome.stdout) != (runs.bare.code, runs.bare.stdout):
            wrong.append(f"{name}: expected {runs.bare.code} {results(runs.bare)}, "
                         f"got {outcome.code} {results(outcome)} {outcome.stderr[-500:]}")  # fmt: skip
    return wrong


def printer(runs: Runs) -> list[str]:
    """The records of PyTorch's printer must be among ours, with the same contents."""
    if runs.judge.code:
        return [f"PyTorch's printer ended the program: {runs.judge.stderr[-300:]}"]
    theirs = parity.runs_of(parity.read_records(runs.judge.stdout))
    _, wrong = parity.compare(parity.runs_of(parity.read_records(runs.log("level 2"))), theirs)
    return wrong


def disagreements(runs: Runs) -> dict[str, list[str]]:
    """Return the sentences of each check."""
    found = {"transparency": transparency(runs), "printer": printer(runs)}
    whole = runs.recording("levels 1 and 2")
    good = [run for run in range(runs.turns) if (runs.truth / f"outputs-{run}.pt").exists()]
    source = random_sites.Source(runs.home / "released.pt2")
    return {
        **found,
        "files": random_checks.files(whole),
        "hashes": random_checks.hashes(whole),
        "program": random_checks.program(whole, runs.truth, runs.turns),
        "redo": random_redo.check(whole)[1],
        "sites": random_sites.check(source, whole, good),
        "roles": random_meaning.roles(whole),
        "findings": random_meaning.findings(runs.recording("level 2"), whole, source),
        "reuse": random_checks.alike(runs.recording("level 2"), whole, "with reuse"),
    }


def chosen(model: Model, parts: str) -> Model:
    """Return the selected part of the model."""
    if not parts:
        return model
    requested = dict((part.split(":") + [""])[:2] for part in parts.split(","))
    kept = [graph for graph in model.graphs if graph.name in requested]
    return Model([reduced(graph, requested[graph.name].split("+")) if requested[graph.name] else graph for graph in kept])


def reduced(graph: Graph, outputs: list[str]) -> Graph:
    """Keep only the lines that lead to these outputs, or write what these lines read."""
    needed, lines = set(outputs), []
    for line in reversed(graph.lines):
        targets, _, text = line.partition(" = ") if re.match(r"v\d+,? ", line) else (line, "", line)
        if needed & set(re.findall(r"(?:self\.)?\w+", targets)):
            lines.insert(0, line)
            needed |= set(re.findall(r"(?:self\.\w+|\b[vx]\d+\b)", text))
    made = [name for name in re.findall(r"\bv\d+\b", " ".join(lines)) if name in outputs]
    return pruned(dataclasses.replace(graph, lines=lines, outputs=list(dict.fromkeys(made))))


def check_seed(seed: int, arguments: argparse.Namespace) -> collections.Counter:
    model = chosen(random_packages.of_seed(seed, arguments.size), arguments.parts)
    if arguments.show:
        print(model.text())
    if problem := random_packages.compile_model(model):
        print(f"seed {seed}: PyTorch does not compile it: {problem.strip().splitlines()[-1][:300]}", flush=True)
        return collections.Counter()
    with tempfile.TemporaryDirectory(prefix="aoti-dbg-random-") as name:
        folder = pathlib.Path(arguments.keep or name) / f"seed-{seed}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        found = disagreements(Runs(model, folder))
    for kind, wrong in found.items():
        for text in wrong[: arguments.most]:
            print(f"seed {seed}: {kind}: {text}")
    counts = collections.Counter({kind: len(wrong) for kind, wrong in found.items() if wrong})
    print(f"seed {seed}: {len(model.graphs)} graphs, {dict(counts) or 'all agree'}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="how many seeds")
    parser.add_argument("--size", type=int, default=8, help="graphs in a model")
    parser.add_argument("--parts", default="", help="only these graphs, and of one only what leads to some values")
    parser.add_argument("--show", action="store_true", help="print the model")
    parser.add_argument("--most", type=int, default=10, help="lines for each kind of disagreement")
    parser.add_argument("--keep", help="a folder for what the programs leave")
    arguments = parser.parse_args()
    found = collections.Counter()
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        found += check_seed(seed, arguments)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
