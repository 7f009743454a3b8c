"""Pairs of runs on a GPU that differ for one reason each: diff_victim.py PACKAGE

run 0 and 1  a perceptron in float16 whose products are cuBLAS's, then the same with Triton's
run 2 and 3  three layers compiled to PACKAGE, which is written: as exported, then with one weight of the third updated
run 4 and 5  a product that reads what an op writes on another stream without waiting: in time, then too early

It must not use the library.
"""

from __future__ import annotations

import sys
import time

import torch
import torch._inductor.config as inductor


def layers(width: int) -> torch.nn.Module:
    torch.manual_seed(2)
    linear = [torch.nn.Linear(width, width) for _ in range(3)]
    return torch.nn.Sequential(linear[0], torch.nn.GELU(), linear[1], torch.nn.ReLU(), linear[2]).cuda().eval()


def twins() -> None:
    net, x = layers(256).half(), torch.randn(128, 256, dtype=torch.float16).cuda()
    for backend in ("ATEN", "TRITON"):
        torch._dynamo.reset()
        with inductor.patch(max_autotune_gemm=True, max_autotune_gemm_backends=backend, autotune_fallback_to_aten=False):
            torch.compile(net)(x)


def constants(package: str) -> None:
    net, x = layers(64), torch.randn(8, 64).cuda()
    torch._inductor.aoti_compile_and_package(torch.export.export(net, (x,)), package_path=package)
    model = torch._inductor.aoti_load_package(package)
    model(x)
    changed = net[4].weight.detach().clone()
    changed[7, 9] += 0.25
    model.load_constants({"4.weight": changed}, check_full_update=False)
    model(x)


class Writer:
    """Writes on a stream of its own, `late` or while the host waits."""

    def __init__(self):
        self.stream, self.late = torch.cuda.Stream(), False

    def write(self, out: torch.Tensor, x: torch.Tensor) -> None:
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            if self.late:
                torch.cuda._sleep(1 << 30)
            torch.mul(x, 2, out=out)
        if not self.late:
            time.sleep(0.2)


writer: Writer


@torch.library.custom_op("aoti_dbg_victim::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    writer.write(out, x)
    return out


@twice.register_fake
def _(x):
    return torch.empty_like(x)


def race() -> None:
    global writer
    writer = Writer()
    compiled = torch.compile(lambda x: (twice(x.sin()) @ x).cos())
    x = torch.randn(64, 64).cuda()
    for late in (False, True):
        writer.late = late
        compiled(x)
        torch.cuda.synchronize()


if __name__ == "__main__":
    torch.manual_seed(0)
    with torch.no_grad():
        twins()
        constants(sys.argv[1])
        race()
