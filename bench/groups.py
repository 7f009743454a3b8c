"""The groups of programs to compare, each with its baseline and its limits.

This module must contain only data. run.py runs the groups, table.py prints them. A group's first variant is
its baseline.
"""

from __future__ import annotations

import dataclasses

# The subject of a limit: the figure itself, its difference from the baseline, its ratio to the baseline, or the
# median of its ratios to the baseline of the same turn.
VALUE, ADDED, RATIO, PAIRED = "value", "added", "ratio", "paired"
# For saved tensors the limit is a minimum: share of the file system's own rate, speedup over PyTorch, or
# GB/s.
SHARE, FASTER, RATE = "share", "faster", "rate"
# The destination, and who saves.
DISK, MEMORY = "disk", "memory"
LEVEL_1, PYTORCH, NO_TENSORS = "level 1", "PyTorch", "nothing"


@dataclasses.dataclass(frozen=True)
class Variant:
    name: str
    # {bench}, {gpu} and {packages} are folders, {save} is an empty one to save to. {seconds} is the measured
    # time. {sizes} is a file with the size of each file that files_of wrote.
    command: tuple[str, ...]
    preload: bool = False
    environment: dict = dataclasses.field(default_factory=dict)  # {scratch} is this run's own folder
    lines: bool = False  # must have written launch lines into its log
    counted: bool = False  # its events contain the measured amount per run
    limit: tuple[str, float] | None = None
    limits: dict = dataclasses.field(default_factory=dict)  # the same, by the destination of saved tensors
    saves: str = ""  # who saves, timed from its first run until its output is on disk
    files_of: str = ""  # writes files of the sizes that this variant wrote
    preload_first: str = ""


@dataclasses.dataclass(frozen=True)
class Group:
    key: str  # a first word before a colon selects all groups whose keys share it
    title: str
    unit: str  # ns, us, ms or s; programs report nanoseconds
    needs_gpu: bool
    needs_torch: bool
    variants: tuple[Variant, ...]
    room: int = 0  # bytes that a process may leave; such a group is measured in each place
    # A variant has one process for all turns, started together with the others. Its command has {answers}.
    together: bool = False


# OpenMP's threads spin while they wait, so on a busy machine only that would be measured. Inductor's kernels
# request the thread count that they were compiled for, whatever OMP_NUM_THREADS is.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}

_OFF = {"AOTI_DBG_LEVEL": "0"}
_LEVEL_3 = {"AOTI_DBG_LEVEL": "3", "AOTI_DBG_LOG": "{scratch}/log", "AOTI_DBG_OUT": "{scratch}/out"}
_ALL = {**_LEVEL_3, "AOTI_DBG_SCOPE": "all"}
_ONE_CAPTURED = {"AOTI_DBG_CAPTURE": "*", "AOTI_DBG_RUNS": "0", "AOTI_DBG_CALLS": "10",
                 "AOTI_DBG_LOG": "{scratch}/log", "AOTI_DBG_OUT": "{scratch}/out"}  # fmt: skip
# Calls are inspected, but none is selected.
_NOTHING_SELECTED = {**_LEVEL_3, "AOTI_DBG_KERNELS": "no such kernel"}
# The same, but the library follows each call to its end, because a nested call might be selected.
_COUNTING = {**_NOTHING_SELECTED, "AOTI_DBG_SCOPE": "all", "AOTI_DBG_RING": "0"}

_FILTER = "filter that matches nothing"

# Rounds of 20000 calls: up to a second, or about 200 MB of lines.
_MANY, _FEW = "2000", "101"
_DIRECT = ("{bench}/passage_bench", "direct", _MANY)
_STUB = ("{bench}/passage_bench", "stub", _MANY)
_PRINTING_STUB = ("{bench}/passage_bench", "stub", _FEW)
_LAUNCH = ("{bench}/launch_bench", _MANY)
_PRINTING_LAUNCH = ("{bench}/launch_bench", _FEW)
_START = ("{bench}/start_bench", "20")
_EMPTY = ("{gpu}/empty_kernels",)
_IMPORT = ("{python}", "-c", "import time; begin = time.perf_counter_ns(); import torch; "
           "print('value', time.perf_counter_ns() - begin)")  # fmt: skip


_SHAPES = {
    ("transformer", "cuda"): ("half", "4", "128", "512"),
    ("transformer", "cpu"): ("float", "2", "16", "64"),
    ("bert", "cuda"): ("tokens", "4", "128"),
    ("bert", "cpu"): ("tokens", "2", "16"),
    ("transformer_512", "cpu"): ("float", "4", "128", "512"),
    ("pointwise", "cuda"): ("float", str(1 << 28)),
    ("pointwise", "cpu"): ("float", str(1 << 24)),
    ("pointwise_256", "cpu"): ("float", str(1 << 26)),
}


def _model(package: str, device: str, length: str = "{seconds}") -> tuple[str, ...]:
    dtype, *shape = _SHAPES[package.split("-")[0], device]
    return ("{gpu}/model_bench", "{packages}/" + f"{device}/{package}.pt2", device, dtype, length, *shape)


def _transformer(device: str) -> tuple[Variant, ...]:
    """Options that the family cost does not have."""
    released = _model("transformer-released", device)
    on_gpu = device == "cuda"
    return (
        Variant("as released", released, False, _ONE_THREAD),
        Variant(_FILTER, released, True, {**_ONE_THREAD, **_NOTHING_SELECTED}, limit=(RATIO, 1.01) if on_gpu else None),
        Variant("one call of the first run captured", released, True, {**_ONE_THREAD, **_ONE_CAPTURED},
                limit=(RATIO, 1.1) if on_gpu else None),
        Variant("PyTorch's printer, level 3 into a file", _model("transformer-printer", device), False, _ONE_THREAD),
    )


def _armed(device: str) -> tuple[Variant, ...]:
    """Measures the cost of being armed, without a fault."""
    released = _model("transformer-released", device)
    sanitizer = ("compute-sanitizer", "--tool", "memcheck", "--log-file", "/dev/null",
                 *_model("transformer-released", device, "3x20"))
    blocking = {**_ONE_THREAD, "CUDA_LAUNCH_BLOCKING": "1"}
    armed = {**_ONE_THREAD, **_OFF, "AOTI_DBG_TRIAGE": "1", "AOTI_DBG_OUT": "{scratch}/out"}
    return (
        Variant("as released", released, False, _ONE_THREAD),
        Variant("armed (AOTI_DBG_TRIAGE=1)", released, True, armed, limit=(RATIO, 1.05)),
        Variant("armed, with completion markers", released, True, {**armed, "AOTI_DBG_COMPLETION": "markers"},
                limit=(RATIO, 1.5)),
        Variant("armed, races looked for (AOTI_DBG_CHECK=args,races)", released, True,
                {**armed, "AOTI_DBG_CHECK": "args,races"}),
        Variant("CUDA_LAUNCH_BLOCKING=1", released, False, blocking),
        Variant("the same without the caching allocator", released, False,
                {**blocking, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}),
        Variant("compute-sanitizer", sanitizer, False, _ONE_THREAD),
    )  # fmt: skip


# The targets of what each option costs, in the order of the rows of _cost. A 1 GiB tensor has only bandwidth to pay.
_TARGETS = {"level 0": 1.0, "names": 1.03, "armed": 1.05, "nan": 1.15, "statistics": 1.3, "bits": 2.0, "timeline": 1.15}
_TARGETS_1_GIB = {"level 0": 1.0, "statistics": 2.2, "everything": 2.2}


def _cost(model: str, device: str, length: str, printer_length: str, targets: dict) -> tuple[Variant, ...]:
    """Lengths are rounds times runs, which limits the output."""
    released = _model(f"{model}-released", device, "turns:{{answers}}:" + length)
    printer = _model(f"{model}-statistics", device, "turns:{{answers}}:" + printer_length)
    files = {**_ONE_THREAD, "AOTI_DBG_LOG": "{scratch}/log", "AOTI_DBG_OUT": "{scratch}/out"}
    level_2 = {**files, "AOTI_DBG_LEVEL": "2"}
    limit = {option: (PAIRED, target) for option, target in targets.items()}.get
    timeline = Variant("timeline (AOTI_DBG_TIMELINE=1)", released, True, {**files, "AOTI_DBG_TIMELINE": "1"},
                       limit=limit("timeline"))
    blocking = Variant("CUDA_LAUNCH_BLOCKING=1", released, False, {**_ONE_THREAD, "CUDA_LAUNCH_BLOCKING": "1"})
    return (
        Variant("as released", released, False, _ONE_THREAD),
        Variant("level 0", released, True, {**_ONE_THREAD, **_OFF}, limit=limit("level 0")),
        Variant("names (level 3 into a file)", released, True, {**files, "AOTI_DBG_LEVEL": "3"}, True, limit=limit("names")),
        Variant("armed (AOTI_DBG_TRIAGE=1)", released, True, {**files, **_OFF, "AOTI_DBG_TRIAGE": "1"},
                limit=limit("armed")),
        Variant("NaN check (AOTI_DBG_CHECK=nan)", released, True, {**files, "AOTI_DBG_CHECK": "nan"}, limit=limit("nan")),
        Variant("statistics (level 2)", released, True, level_2, True, True, limit("statistics")),
        Variant("statistics without reuse (AOTI_DBG_REUSE=off)", released, True, {**level_2, "AOTI_DBG_REUSE": "off"},
                True, True, limit("everything")),
        Variant("hashes for diff (AOTI_DBG_RECORD=bits)", released, True, {**files, "AOTI_DBG_RECORD": "bits"},
                limit=limit("bits")),
        Variant("statistics of the first run only (AOTI_DBG_RUNS=:1)", released, True, {**level_2, "AOTI_DBG_RUNS": ":1"},
                True),
        *([timeline, blocking] if device == "cuda" else []),
        Variant("PyTorch's printer, level 2 into a file", printer, False, _ONE_THREAD),
    )  # fmt: skip


def _level_1(model: str, device: str, runs: int, linked: dict, written: dict) -> tuple[Variant, ...]:
    """The limits apply to tensors that are linked because they are equal, and to tensors that are all
    written."""
    released = _model(f"{model}-released", device, f"each:{runs}")
    printer = _model(f"{model}-saving", device, f"each:{runs}")
    kept = _model(f"{model}-saving", device, f"apart:{runs}")
    level_1 = {**_ONE_THREAD, "AOTI_DBG_LEVEL": "1", "AOTI_DBG_OUT": "{save}/out"}
    links, none = "level 1", "level 1, nothing linked"
    files = ("{gpu}/file_bench", "{save}", "{sizes}")
    return (
        Variant("as released", released, False, _ONE_THREAD, saves=NO_TENSORS),
        Variant(links, released, True, level_1, limits=linked, saves=LEVEL_1),
        Variant(none, released, True, level_1, limits=written, saves=LEVEL_1, preload_first="{gpu}/no_links"),
        Variant("PyTorch's level 1", printer, False, _ONE_THREAD, saves=PYTORCH),
        Variant("PyTorch's level 1, a folder a run", kept, False, _ONE_THREAD, saves=PYTORCH),
        Variant(f"the file system alone, files of {links}", files, saves=NO_TENSORS, files_of=links),
        Variant(f"the file system alone, files of {none}", files, saves=NO_TENSORS, files_of=none),
    )


_FEW_LARGE = ({DISK: (SHARE, 0.9), MEMORY: (RATE, 5.0)},) * 2
_MANY_SMALL = ({DISK: (FASTER, 10)}, {DISK: (FASTER, 5)})

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
        Variant("level 3 into a file (scope all)", _PRINTING_LAUNCH, True, _ALL, True, limit=(ADDED, 150)),
    )),
    Group("start", "A program that does nothing, from start to end", "ms", False, False, (
        Variant("bare", _START),
        Variant("level 0", _START, True, _OFF),
        Variant("level 3", _START, True, _LEVEL_3),
        Variant("triage", _START, True, {**_OFF, "AOTI_DBG_TRIAGE": "1", "AOTI_DBG_OUT": "{scratch}/out"}),
    )),
    Group("import", "import torch, in a program that compiles nothing", "ms", False, True, (
        Variant("bare", _IMPORT),
        Variant("level 0", _IMPORT, True, _OFF, limit=(ADDED, 20)),
        Variant("level 2", _IMPORT, True, {**_LEVEL_3, "AOTI_DBG_LEVEL": "2"}, limit=(ADDED, 20)),
    )),
    Group("cost-cpu:transformer", "Cost: transformer of 2 layers, fp32, width 64, on one CPU thread, a run", "us", False,
          True, _cost("transformer", "cpu", "300x1", "100x1", {}), together=True),
    Group("cost-cpu:bert", "Cost: BERT of 2 layers, fp32, width 64, on one CPU thread, a run", "us", False, True,
          _cost("bert", "cpu", "300x1", "100x1", {}), together=True),
    Group("cost-cpu:pointwise", "Cost: relu(x) * 2 + 1 on 64 MiB of fp32, on one CPU thread, a run", "ms", False, True,
          _cost("pointwise", "cpu", "30x1", "10x1", {}), together=True),
    Group("cost:transformer", "Cost: transformer of 8 layers, fp16, width 512, batch 4 of 128 tokens, on the GPU, a run",
          "ms", True, True, _cost("transformer", "cuda", "16x20", "3x4", _TARGETS), together=True),
    Group("cost:bert", "Cost: BERT of 6 layers, fp16, width 512, batch 4 of 128 tokens, on the GPU, a run", "ms", True,
          True, _cost("bert", "cuda", "16x20", "3x4", _TARGETS), together=True),
    Group("cost:pointwise", "Cost: relu(x) * 2 + 1 on 1 GiB of fp32, on the GPU, a run", "ms", True, True,
          _cost("pointwise", "cuda", "16x20", "3x4", _TARGETS_1_GIB), together=True),
    Group("transformer-cpu", "Transformer of 2 layers, fp32, width 64, on one CPU thread, a run", "us", False, True,
          _transformer("cpu")),
    Group("empty-kernels", "Loop of empty kernels on the GPU, CUDA runtime, a launch", "us", True, False, (
        Variant("bare", _EMPTY),
        Variant("level 0", _EMPTY, True, _OFF),
        Variant(_FILTER, _EMPTY, True, _NOTHING_SELECTED),
        Variant("level 3 into a file (scope all)", _EMPTY, True, _ALL, True),
    )),
    Group("transformer", "Transformer of 8 layers, fp16, width 512, batch 4 of 128 tokens, on the GPU, a run", "ms",
          True, True, _transformer("cuda")),
    Group("triage", "Armed for a crash: transformer of 8 layers, fp16, width 512, batch 4 of 128 tokens, on the GPU, a run",
          "ms", True, True, _armed("cuda")),
    Group("save:small-cpu", "Level 1: transformer of 2 layers, fp32, width 64, on one CPU thread, 20 runs", "s", False,
          True, _level_1("transformer", "cpu", 20, *_MANY_SMALL), room=1 << 30),
    Group("save:transformer-cpu",
          "Level 1: transformer of 8 layers, fp32, width 512, 4 of 128 tokens, on one CPU thread, 3 runs", "s", False, True, _level_1("transformer_512", "cpu", 3, *_MANY_SMALL), room=4 << 30),
    Group("save:pointwise-cpu", "Level 1: relu(x) * 2 + 1 on 256 MiB of fp32, on one CPU thread, 2 runs", "s", False,
          True, _level_1("pointwise_256", "cpu", 2, *_FEW_LARGE), room=4 << 30),
    Group("save:transformer", "Level 1: transformer of 8 layers, fp16, width 512, 4 of 128 tokens, on the GPU, 8 runs",
          "s", True, True, _level_1("transformer", "cuda", 8, *_MANY_SMALL), room=6 << 30),
    Group("save:pointwise", "Level 1: relu(x) * 2 + 1 on 1 GiB of fp32, on the GPU, 2 runs", "s", True, True,
          _level_1("pointwise", "cuda", 2, *_FEW_LARGE), room=13 << 30),
)  # fmt: skip
