"""What is measured: groups of programs to compare, each with its baseline and what the project wants to reach.

Data and nothing else; run.py runs it, table.py prints it. A group's first variant is its baseline.
"""

from __future__ import annotations

import dataclasses

# What a limit is about: the figure itself, what it has more than the baseline, or its ratio to the baseline.
VALUE, ADDED, RATIO = "value", "added", "ratio"


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    command: tuple[str, ...]  # {bench}, {gpu}, {packages} are folders; {seconds} how long to measure
    preload: bool = False
    environment: dict = dataclasses.field(default_factory=dict)  # {scratch} is a folder of this run's own
    lines: bool = False  # must have written launch lines into its log: else it measured something else
    limit: tuple[str, float] | None = None


@dataclasses.dataclass(frozen=True)
class Group:
    key: str
    title: str
    unit: str  # ns, us or ms; programs report nanoseconds
    needs_gpu: bool
    needs_torch: bool
    variants: tuple[Variant, ...]


_OFF = {"AOTI_DBG_LEVEL": "0"}
_LEVEL_3 = {"AOTI_DBG_LEVEL": "3", "AOTI_DBG_LOG": "{scratch}/log", "AOTI_DBG_OUT": "{scratch}/out"}
_ALL = {**_LEVEL_3, "AOTI_DBG_SCOPE": "all"}
# Calls are looked at and none is selected.
_NOTHING_SELECTED = {**_LEVEL_3, "AOTI_DBG_KERNELS": "no such kernel"}
# The same, but each call is followed to its end, because one that lies in it might be selected.
_COUNTING = {**_NOTHING_SELECTED, "AOTI_DBG_SCOPE": "all", "AOTI_DBG_RING": "0"}

_FILTER = "filter that matches nothing"

# Rounds of 20000 calls: up to a second, and where lines are written as many as make some 200 MB of them.
_MANY, _FEW = "2000", "101"
_DIRECT = ("{bench}/passage_bench", "direct", _MANY)
_STUB = ("{bench}/passage_bench", "stub", _MANY)
_PRINTING_STUB = ("{bench}/passage_bench", "stub", _FEW)
_LAUNCH = ("{bench}/launch_bench", _MANY)
_PRINTING_LAUNCH = ("{bench}/launch_bench", _FEW)
_EMPTY = ("{gpu}/empty_kernels",)


def _model(package: str, device: str) -> tuple[str, ...]:
    shape = ("half", "{seconds}", "4", "128", "512") if device == "cuda" else ("float", "{seconds}", "2", "16", "64")
    return ("{gpu}/model_bench", "{packages}/" + f"{device}/transformer-{package}.pt2", device, *shape)


def _transformer(device: str, limits: bool) -> tuple[Variant, ...]:
    released = _model("released", device)
    # OpenMP's threads spin while they wait: on a machine that does anything else, that is all one would measure.
    threads = {"OMP_NUM_THREADS": "1"}
    return (
        Variant("as released", released, False, threads),
        Variant("level 0", released, True, {**threads, **_OFF}, limit=(RATIO, 1.01) if limits else None),
        Variant(_FILTER, released, True, {**threads, **_NOTHING_SELECTED}, limit=(RATIO, 1.01) if limits else None),
        Variant("level 3 into a file", released, True, {**threads, **_LEVEL_3}, True,
                (RATIO, 1.05) if limits else None),
        Variant("PyTorch's printer, level 3 into a file", _model("printer", device), False, threads),
    )


GROUPS = (
    Group("passage", "One passage through a stub", "ns", False, False, (
        Variant("direct call", _DIRECT),
        Variant("library off", _STUB, False, _OFF),
        Variant(_FILTER, _STUB, False, _NOTHING_SELECTED),
        Variant("counting", _STUB, False, _COUNTING, limit=(VALUE, 30)),
        Variant("flight ring, level 3 into a file", _PRINTING_STUB, False, _LEVEL_3, True),
    )),
    Group("launch", "An exported launch hook, before a driver that does nothing", "ns", False, False, (
        Variant("bare", _LAUNCH),
        Variant("level 0", _LAUNCH, True, _OFF, limit=(ADDED, 10)),
        Variant(_FILTER, _LAUNCH, True, _NOTHING_SELECTED),
        Variant("level 3, recorded and not printed", _LAUNCH, True, _LEVEL_3, limit=(ADDED, 150)),
        Variant("level 3 into a file (scope all)", _PRINTING_LAUNCH, True, _ALL, True, (ADDED, 150)),
    )),
    Group("transformer-cpu", "Transformer of 2 layers, fp32, width 64, on one CPU thread, a run", "us", False, True,
          _transformer("cpu", False)),
    Group("empty-kernels", "Loop of empty kernels on the GPU, CUDA runtime, a launch", "us", True, False, (
        Variant("bare", _EMPTY),
        Variant("level 0", _EMPTY, True, _OFF),
        Variant(_FILTER, _EMPTY, True, _NOTHING_SELECTED),
        Variant("level 3 into a file (scope all)", _EMPTY, True, _ALL, True),
    )),
    Group("transformer", "Transformer of 8 layers, fp16, width 512, batch 4 of 128 tokens, on the GPU, a run", "ms",
          True, True, _transformer("cuda", True)),
)  # fmt: skip
