"""Functions compiled in place by torch.compile: compiled_victim.py cpu|cuda [CASE...]

Prints a digest of each case's results, and the place of an exception. The output depends only on the results, so that
two runs can be compared as text. It must not use the library.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import threading
import traceback

import quick_imports

with quick_imports.uncollected():
    import torch
with quick_imports.uncollected(freeze=False):
    import torch._inductor.compile_fx  # as torch.compile does

device = sys.argv[1]


def say(case: str, *results: torch.Tensor) -> None:
    digest = hashlib.sha256()
    for tensor in results:
        digest.update(f"{tensor.dtype} {list(tensor.shape)} {list(tensor.stride())} ".encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    print(case, digest.hexdigest()[:16], flush=True)


def randn(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes).to(device)


def mlp() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 8)).to(device)
    compiled = torch.compile(net)
    with torch.no_grad():
        say("mlp", compiled(randn(4, 16)), compiled(randn(4, 16)))


def conv() -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten()).to(device)
    with torch.no_grad():
        say("conv", torch.compile(net)(randn(2, 3, 8, 8)))


def attention() -> None:
    @torch.compile
    def attend(q, k, v):
        return torch.softmax(q @ k.transpose(-1, -2), -1) @ v

    say("attention", attend(randn(2, 4, 8), randn(2, 4, 8), randn(2, 4, 8)))


def dynamic() -> None:
    table = torch.nn.Embedding(10, 6).to(device)
    compiled = torch.compile(lambda rows: table(rows).sum(1), dynamic=True)
    with torch.no_grad():
        for count in (3, 5):
            say("dynamic", compiled((torch.arange(2 * count) % 10).reshape(2, count).to(device)))


def symbolic() -> None:
    """An op has a size as an argument that is computed from another one."""
    compiled = torch.compile(lambda x: torch.topk(x, max(x.shape[0] // 2, 2), dim=0), dynamic=True)
    for count in (4, 7):
        say("symbolic", *compiled(randn(count, 3)))


def sorting() -> None:
    @torch.compile
    def ranked(x):
        values, places = torch.sort(x * 2, dim=-1, stable=True)
        return values.cumsum(-1), places.index_fill(0, places[0, :1], 7)

    say("sorting", *ranked(randn(4, 6)))


@torch.library.custom_op("aoti_dbg_victim::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x):
    return torch.empty_like(x)


def custom_op() -> None:
    say("custom_op", torch.compile(lambda x: twice(x.sin()) + 1)(randn(8)))


def training() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)).to(device)
    compiled = torch.compile(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        compiled(randn(4, 6)).square().mean().backward()
        optimizer.step()
    say("training", *net.parameters())


def nan() -> None:
    say("nan", torch.compile(lambda x: torch.log(x) * 2)(torch.tensor([-1.0, 2.0, 3.0]).to(device)))


def failing() -> None:
    """Raises inside a kernel of the wrapper, after another kernel."""
    compiled = torch.compile(lambda x, places: (x.exp() @ x.exp()).index_put((places,), x[0]).cos())
    try:
        compiled(randn(4, 4), torch.tensor([9]))
    except (IndexError, RuntimeError) as error:
        frames = [(frame.name, frame.line) for frame in traceback.extract_tb(error.__traceback__)]
        print("failing", type(error).__name__, frames[-2:], flush=True)


def threads() -> None:
    results = {}

    def work(name, function, x):
        results[name] = [torch.compile(function)(x) for _ in range(3)][-1]

    one = threading.Thread(target=work, args=("one", lambda x: (x @ x).relu(), randn(8, 8)))
    other = threading.Thread(target=work, args=("other", lambda x: x.tanh().sum(0), randn(8, 8)))
    for thread in (one, other):
        thread.start()
    for thread in (one, other):
        thread.join()
    say("threads", results["one"], results["other"])


def crash() -> None:
    """Ends in an op of the author, behind a product."""

    @torch.library.custom_op("aoti_dbg_victim::crash", mutates_args=())
    def crash_in(x: torch.Tensor) -> torch.Tensor:
        os.kill(os.getpid(), signal.SIGSEGV)
        return x.clone()

    crash_in.register_fake(torch.empty_like)
    torch.compile(lambda x: crash_in(x @ x).cos())(randn(4, 4))


CASES = [mlp, conv, attention, dynamic, symbolic, sorting, custom_op, training, nan, threads]
CASES += [failing] * (device == "cpu")

if __name__ == "__main__":
    chosen = sys.argv[2:]
    for case in CASES:
        if not chosen or case.__name__ in chosen:
            torch.manual_seed(0)
            case()
    if "crash" in chosen:
        crash()
