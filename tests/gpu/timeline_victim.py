"""A transformer of torch.compile for tests/gpu/timeline.sh, and what else uses the GPU beside it.

  reference FILE  torch.profiler's times of 20 runs, as JSON: kernel -> microseconds
  spans FILE      the same runs without a profiler, then a CUDA graph that takes seconds to capture, and copies
  later FILE      5 runs, then 20 under torch.profiler, then 5
  first FILE      torch.profiler starts before anything uses the GPU
  markers FILE    as spans, with larger inputs and without CUPTI for the library; then torch.profiler's times
  fork FILE       5 runs, a forked child that ends, 5 runs
  fault FILE      3 runs, a second of rest, then an index out of bounds
"""

import ctypes
import json
import os
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile

mode, path = sys.argv[1:]


def profiled(work):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        work()
    times: dict[str, list[float]] = {}
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times.setdefault(event.name, []).append(event.time_range.elapsed_us())
    with open(path, "w", encoding="utf-8") as file:
        json.dump(times, file)


def capture_and_copy(x):
    graph = torch.cuda.CUDAGraph()
    y = x.clone()
    with torch.cuda.graph(graph):
        y.add_(1)
        time.sleep(1.5)
        y.mul_(2)
        z = y + x
    for _ in range(5):
        graph.replay()
    y.copy_(x.cpu())
    torch.zeros(1 << 20, device="cuda", dtype=torch.uint8).clone()
    torch.cuda.synchronize()
    print("the graph's result is finite:", bool(z.isfinite().all()))


def main():
    if mode == "first":
        profiled(lambda: torch.ones(10, device="cuda").add_(1))
    if mode == "markers":
        # Any injected library keeps ours from using CUPTI. The driver has read the variable at cuInit, and ours
        # decides at the first call with a context.
        ctypes.CDLL("libcuda.so.1").cuInit(0)
        os.environ["CUDA_INJECTION64_PATH"] = "/nonexistent"
        torch.ones(10, device="cuda").add_(1)
        del os.environ["CUDA_INJECTION64_PATH"]
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0.0)
    encoder = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).cuda().eval().half()
    # Inductor generates a kernel for what follows the encoder, which is one op.
    model = torch.compile(lambda x: torch.relu(encoder(x)).softmax(-1) * 2)
    # Markers can measure a kernel only if the GPU is busy when the host launches it.
    x = torch.randn(64 if mode == "markers" else 8, 128, 512, device="cuda", dtype=torch.half)

    def run(times=20):
        for _ in range(times):
            model(x)
        torch.cuda.synchronize()

    run(3)
    if mode == "reference":
        profiled(run)
    elif mode == "spans":
        run()
        capture_and_copy(x)
    elif mode == "markers":
        run()
        capture_and_copy(x)
        profiled(run)
    elif mode == "later":
        run(5)
        profiled(run)
        run(5)
    elif mode == "fork":
        run(5)
        child = os.fork()
        if child == 0:
            sys.exit(0)
        print("the child's status:", os.waitpid(child, 0)[1])
        run(5)
    elif mode == "fault":
        run(3)
        time.sleep(1)
        torch.zeros(8, device="cuda")[torch.full((1,), 1 << 40, device="cuda")] = 1
        try:
            torch.cuda.synchronize()
        except RuntimeError as error:
            print("fault:", str(error).splitlines()[0])
    else:
        run()


with torch.no_grad():
    main()
