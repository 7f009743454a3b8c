"""Uses the GPU in typical ways in one process, because importing torch takes long:
python_victim.py cpu|cuda PACKAGES_FOLDER [CASE...]

Each case prints `name: digest`, or `name: error ...`. The output depends only on the results, so that two
runs can be compared as text. The packages run first, so their launches begin the log. It must not use the
library.
"""

from __future__ import annotations

import hashlib
import pathlib
import sys
import threading

import torch

device, packages = sys.argv[1], pathlib.Path(sys.argv[2])
on_gpu = device == "cuda"


def load(name: str, run_single_threaded: bool = False):
    path = str(packages / f"{name}.pt2")
    loader = torch._C._aoti.AOTIModelPackageLoader(path, "model", run_single_threaded, 1, -1)
    return lambda *inputs: loader.run(list(inputs))


def random(*shape: int, dtype=torch.float) -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(*shape).to(dtype).to(device)


def transformer_input() -> torch.Tensor:
    return random(4, 128, 512, dtype=torch.half) if on_gpu else random(2, 16, 64)


def digest(*tensors: torch.Tensor) -> str:
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(f"{tensor.dtype} {list(tensor.shape)} {list(tensor.stride())}".encode())
        found.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()[:16]


def package_transformer() -> str:
    return digest(*load("transformer-released")(transformer_input()))


def package_mixed() -> str:
    return digest(*load("mixed-released")(random(128, 64)))


def compiled() -> str:
    """Runs torch.compile with a fused kernel and a matrix product."""

    @torch.compile
    def function(x, weight):
        return torch.softmax(x @ weight, -1) * 2 + x.sum()

    return digest(function(random(64, 64), random(64, 64)), function(random(64, 64), random(64, 64)))


def user_kernel() -> str:
    """Launches a Triton kernel with Triton's own launcher."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
    import user_kernel

    return digest(user_kernel.add(random(1000), random(1000)))


def capture_beside_a_model() -> str:
    """Captures CUDA graphs in one thread while another runs a model. The capture mode watches only the
    capturing thread: a model's run may allocate, which breaks a stricter capture even without the library."""
    model, model_input = load("transformer-released", run_single_threaded=True), transformer_input()
    static, weight = random(64, 64), random(64, 64)
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        torch.relu(static @ weight)
    torch.cuda.synchronize()
    beside, warm, stop = set(), threading.Event(), threading.Event()

    def run_the_model():
        with torch.cuda.stream(torch.cuda.Stream()):
            # Waits for each run, because a capture begins by waiting for the whole device, which would never
            # be idle otherwise.
            while not stop.is_set():
                outputs = model(model_input)
                torch.cuda.current_stream().synchronize()
                beside.add(digest(*outputs))
                warm.set()

    thread = threading.Thread(target=run_the_model)
    thread.start()
    warm.wait()
    captured = []
    try:
        for _ in range(10):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
                out = torch.relu(static @ weight) * 3
            captured.append((graph, out))
    finally:
        stop.set()
        thread.join()
    for graph, _ in captured:
        graph.replay()
    torch.cuda.synchronize()
    return f"{sorted({digest(out) for _, out in captured})} {sorted(beside)}"


def captured_model() -> str:
    """Captures a model's run in a CUDA graph and replays it, between normal runs."""
    model, static = load("transformer-released", run_single_threaded=True), transformer_input()
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):
        before = digest(*model(static))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
        out = model(static)
    replayed = []
    for factor in (1, 0.5):
        static.mul_(factor)
        graph.replay()
        torch.cuda.synchronize()
        replayed.append(digest(*out))
    return f"{before} {replayed} {digest(*model(static))}"


def profiled() -> str:
    """Checks how often torch.profiler sees each kernel of a model."""
    from torch.profiler import ProfilerActivity, profile

    model, model_input = load("transformer-released"), transformer_input()
    model(model_input)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
    with profile(activities=activities) as seen:
        for _ in range(3):
            model(model_input)
        if on_gpu:
            torch.cuda.synchronize()
    device = torch.autograd.DeviceType.CUDA if on_gpu else torch.autograd.DeviceType.CPU
    names = sorted(event.name for event in seen.events() if event.device_type == device and "aoti" not in event.name)
    found = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    return f"{len(names)} events, {found}"


CASES = [package_transformer, package_mixed, compiled]
if on_gpu:
    CASES += [user_kernel, capture_beside_a_model, captured_model]
CASES += [profiled]
if requested := sys.argv[3:]:
    CASES = [case for case in CASES if case.__name__ in requested]

failed = 0
for case in CASES:
    try:
        print(f"{case.__name__}: {case()}", flush=True)
    except Exception as error:  # noqa: BLE001: any error must be the same with the library
        failed += 1
        print(f"{case.__name__}: error {type(error).__name__}: {str(error).splitlines()[0][:300]}", flush=True)
sys.exit(1 if failed else 0)
