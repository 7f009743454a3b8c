"""Creates models of random graphs (random_graphs.py) and compiles each twice: as released, and with PyTorch's
printer of values, the judge. The cache folder keeps both by their ingredients. It must never run under the
library.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile
import unittest.mock

# PyTorch reads this at import. Its compiler processes take longer to start than a model takes to compile.
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

import torch
import torch._inductor.codecache as codecache

import packages
import random_custom_ops
import random_effects
import random_graphs
import random_ops
from random_graphs import BATCH, TRACED_BATCH, Given, Graph

FIRST_TRIALS = 4  # tries this many times the requested graphs, because export rejects some


@dataclasses.dataclass
class Model:
    graphs: list[Graph]

    def text(self) -> str:
        return "\n".join(graph.text() for graph in self.graphs)

    def inputs(self, batch: int, turn: int) -> list[torch.Tensor]:
        """Create the inputs, with other values in each turn."""
        given = (given for graph in self.graphs for given in graph.inputs)
        return [dataclasses.replace(one, salt=one.salt + 1000 * turn).make(batch) for one in given]

    def batches(self) -> list[int]:
        """Return the batch sizes of a test's runs."""
        dynamic = any(graph.is_dynamic for graph in self.graphs)
        return [*random_graphs.BATCHES, TRACED_BATCH] if dynamic else [TRACED_BATCH] * 2

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=1)

    @staticmethod
    def from_json(text: str) -> Model:
        def graph(read: dict) -> Graph:
            givens = {kind: [Given(**given) for given in read.pop(kind)] for kind in ("inputs", "buffers")}
            return Graph(**read, **givens)

        return Model([graph(read) for read in json.loads(text)["graphs"]])


class Module(torch.nn.Module):
    def __init__(self, model: Model):
        super().__init__()
        self.graphs = model.graphs
        for graph in model.graphs:
            for buffer in graph.buffers:
                self.register_buffer(buffer.name.removeprefix("self."), buffer.make(0))
        names: dict = {"torch": torch}
        exec(model.text(), names)  # noqa: S102: the text is ours
        self.functions = [names[graph.name] for graph in model.graphs]

    def forward(self, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        rest, results = list(inputs), []
        for graph, function in zip(self.graphs, self.functions):
            given, rest = rest[: len(graph.inputs)], rest[len(graph.inputs) :]
            results += function(self, *given)
        return results


def export(model: Model) -> torch.export.ExportedProgram:
    batch = torch.export.Dim("batch", min=0, max=64)
    shapes = [
        {at: batch for at, size in enumerate(given.sizes) if size == BATCH} or None
        for graph in model.graphs
        for given in graph.inputs
    ]  # fmt: skip
    with torch.no_grad():
        return torch.export.export(Module(model), (model.inputs(TRACED_BATCH, 0),), dynamic_shapes=(shapes,))


def is_lowered(graph: Graph) -> bool:
    """Whether PyTorch generates C++ for the graph, which is not compiled here."""
    if not graph.inputs or not graph.outputs:
        return False
    with unittest.mock.patch.object(codecache.AotCodeCompiler, "compile") as compiler:
        try:
            torch._inductor.aoti_compile_and_package(export(Model([graph])), package_path="/nowhere/unused.pt2")
        except Exception:  # noqa: BLE001: PyTorch rejects graphs in many ways, and fails on the mock's result
            return compiler.called
    return compiler.called


def sources() -> str:
    """Return everything that determines the graphs of a seed."""
    modules = (random_graphs, random_ops, random_effects, random_custom_ops, sys.modules[__name__])
    return torch.__version__ + "".join(pathlib.Path(module.__file__).read_text() for module in modules)


def digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def folder() -> pathlib.Path:
    return packages.cache_folder() / "random"


def of_seed(seed: int, count: int) -> Model:
    """Return the first `count` graphs of a seed that PyTorch lowers."""
    kept = folder() / f"graphs-{seed}-{count}-{digest(sources())}.json"
    if kept.exists():
        return Model.from_json(kept.read_text())
    graphs: list[Graph] = []
    for number in range(FIRST_TRIALS * count):
        graph = random_graphs.graph(seed, number)
        if len(graphs) < count and is_lowered(graph):
            graphs.append(graph)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(Model(graphs).to_json())
    return Model(graphs)


def home_of(model: Model) -> pathlib.Path:
    """Return the folder with model.json and both packages."""
    made_of = (str(packages.RECIPE), torch.__version__, torch.backends.cpu.get_cpu_capability())
    ops = pathlib.Path(random_custom_ops.__file__).read_text()
    return folder() / digest(model.to_json(), ops, *made_of)


def compile_model(model: Model) -> str:
    """Return what went wrong, or an empty string."""
    target = home_of(model)
    if (target / "model.json").exists():
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as scratch:
        (pathlib.Path(scratch) / "definition.json").write_text(model.to_json())
        worker = multiprocessing.get_context("spawn").Process(target=_compile, args=(scratch,))
        worker.start()
        worker.join()
        made = pathlib.Path(scratch) / "made"
        if worker.exitcode != 0:
            return (pathlib.Path(scratch) / "log").read_text()[-3000:]
        shutil.rmtree(target, ignore_errors=True)
        os.replace(made, target)
    return ""


def _compile(scratch: str) -> None:
    """Compile in a separate process, because compilers print and read the environment."""
    home = pathlib.Path(scratch)
    log = os.open(home / "log", os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(TORCHINDUCTOR_CACHE_DIR=str(home / "inductor"))
    os.environ.pop("AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER", None)
    if os.path.exists("/usr/bin/g++"):
        os.environ.setdefault("CXX", "/usr/bin/g++")
    model = Model.from_json((home / "definition.json").read_text())
    made = home / "made"
    made.mkdir()
    exported = export(model)
    for variant in (packages.RELEASED, packages.STATISTICS):
        level = packages.PRINTER_LEVELS.get(variant, "0")
        config = {"aot_inductor.debug_intermediate_value_printer": level}
        with torch.no_grad():
            torch._inductor.aoti_compile_and_package(
                exported, package_path=str(made / f"{variant}.pt2"), inductor_configs=config
            )
    (made / "model.json").write_text(model.to_json())
