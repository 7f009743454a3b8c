"""A model that works on two streams, as models of PyTorch 2.14 and later can.

    streams_victim.py compile PACKAGE        compiles it, with a wrapper changed to what those releases write
    streams_victim.py run PACKAGE            runs it, prints its result and the means of its products
    streams_victim.py judge OUTPUT EVENTS    compares these means with the events of a run under the library

The second product is computed on a stream of the model's own, which starts late, so that a reader on another
stream is too early. With UNJOINED=1 the caller's stream does not wait for it, which is a race. The first two
commands must not use the library.
"""

from __future__ import annotations

import hashlib
import json
import pathlib
import re
import sys

HELPERS = """
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
namespace {
struct SideStream {
    SideStream() {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        cudaEventCreateWithFlags(&begins, cudaEventDisableTiming);
        cudaEventCreateWithFlags(&ends, cudaEventDisableTiming);
    }
    static void nap(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
    void begin(cudaStream_t caller) {
        cudaEventRecord(begins, caller);
        cudaStreamWaitEvent(stream, begins, 0);
        cudaLaunchHostFunc(stream, nap, nullptr);
    }
    void end(cudaStream_t caller) {
        cudaEventRecord(ends, stream);
        if (std::getenv("UNJOINED") == nullptr) cudaStreamWaitEvent(caller, ends, 0);
    }
    cudaStream_t stream;
    cudaEvent_t begins, ends;
};
thread_local SideStream side;
}  // namespace
"""


def on_two_streams(source: str) -> str:
    product = re.compile(r"^ *AOTI_TORCH_ERROR_CODE_CHECK\(aoti_torch_cuda_\w*mm_out\(.*\);$", re.M)
    products = list(product.finditer(source))
    assert len(products) == 2, [found[0] for found in products]
    begin, end = products[1].span()
    moved = (
        "    side.begin(stream);\n"
        "    auto _aoti_current_stream_guard = std::make_unique<AOTICudaStreamGuard>(side.stream, this->device_idx_);\n"
        f"{source[begin:end]}\n    _aoti_current_stream_guard.reset();\n    side.end(stream);"
    )
    source = source[:begin] + moved + source[end:]
    includes = source.rindex("#include", 0, source.index("run_impl("))
    after = source.index("\n", includes) + 1
    return source[:after] + HELPERS + source[after:]


def weights():
    import torch

    torch.manual_seed(1)
    return [torch.randn(256, 256, device="cuda") for _ in range(3)]


def compile_to(path: str) -> None:
    import torch
    from torch._inductor import codecache

    class Model(torch.nn.Module):
        def forward(self, x, first, second):
            return torch.relu(x @ first) + torch.tanh(x @ second)

    ordinary = codecache.AotCodeCompiler.compile.__func__

    def compile_changed(cls, graph, wrapper_code, *rest, **options):
        return ordinary(cls, graph, on_two_streams(wrapper_code), *rest, **options)

    codecache.AotCodeCompiler.compile = classmethod(compile_changed)
    exported = torch.export.export(Model(), tuple(weights()))
    torch._inductor.aoti_compile_and_package(exported, package_path=path)


def run(path: str) -> None:
    import torch

    x, first, second = weights()
    loader = torch._C._aoti.AOTIModelPackageLoader(path, "model", False, 1, -1)
    means = [float((x @ weight).double().mean()) for weight in (first, second)]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    for number in range(5):
        with torch.cuda.stream(stream):
            (result,) = loader.run([x, first, second])
            stream.synchronize()
        torch.cuda.synchronize()
        digest = hashlib.sha256(result.cpu().numpy().tobytes()).hexdigest()[:16]
        print(json.dumps({"run": number, "result": digest, "means": means}), flush=True)


def judge(output: str, events: str) -> None:
    expected = [json.loads(line)["means"] for line in pathlib.Path(output).read_text().splitlines()]
    calls = [json.loads(line) for line in pathlib.Path(events).read_text().splitlines()]
    calls = [call for call in calls if call["event"] == "call" and call["side"] == "after"]
    calls = [call for call in calls if call["kernel"].endswith("mm_out")]
    found: list[list[float]] = [[] for _ in expected]
    streams = [set(), set()]
    for call in calls:
        (mean,) = [argument["mean"] for argument in call["arguments"] if argument["label"].startswith("buf")]
        streams[len(found[call["run"]])].add(call["stream"])
        found[call["run"]].append(mean)
    for run_means, run_found in zip(expected, found):
        assert len(run_found) == 2, run_found
        for mean, measured in zip(run_means, run_found):
            assert abs(mean - measured) <= 1e-3 + 1e-3 * abs(mean), (mean, measured)
    assert len(streams[0]) == len(streams[1]) == 1 and streams[0] != streams[1], streams
    print(f"{len(expected)} runs, products on two streams, means as computed by torch")


if __name__ == "__main__":
    {"compile": compile_to, "run": run, "judge": judge}[sys.argv[1]](*sys.argv[2:])
