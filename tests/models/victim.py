"""The program under test: loads packages and runs them, in one of several ways. It must not use the library.

Its output depends only on the results (sums of the bytes, not rounded values), so that two runs can be
compared as text. Its own lines use C's stdio, like PyTorch's printer, so they stay in order with the
printer's lines.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import threading
import zipfile

import quick_imports

with quick_imports.uncollected():
    import torch

import bugs
import forks
import models
import packages
import support

libc = ctypes.CDLL(None)


def say(text: str) -> None:
    libc.puts(text.encode())
    libc.fflush(None)


def loader_of(name: str, variant: str = packages.RELEASED, num_runners: int = 1):
    """Load without torch._inductor, whose import takes longer than most runs here."""
    # A test may have changed a copy of the package.
    path = os.environ.get("AOTI_DBGTEST_PACKAGE") or str(packages.package_path(name, variant))
    # Older loaders have one runner and choose the device themselves.
    count = {"2.6": 0, "2.7": 1}.get(torch.__version__[:3], 3)
    loader = torch._C._aoti.AOTIModelPackageLoader(path, "model", *(False, num_runners, -1)[:count])
    with open(support.UNPACKED, "a") as file:
        file.writelines(f"{folder}\n" for folder in support.unpacked_by("self"))
    return loader


def load(name: str, variant: str = packages.RELEASED, num_runners: int = 1):
    """Return the model as a function of its inputs."""
    loader = loader_of(name, variant, num_runners)
    return lambda *inputs: loader.run(torch.utils._pytree.tree_leaves(inputs))


def unpack(name: str, folder: str) -> str:
    """Return the model's .so, as for a program that unpacks the package itself."""
    with zipfile.ZipFile(packages.package_path(name, packages.RELEASED)) as archive:
        archive.extractall(folder)
    return str(next(pathlib.Path(folder).rglob("*.wrapper.so")))


def digest(result) -> str:
    text = hashlib.sha256()
    for tensor in torch.utils._pytree.tree_leaves(result):
        text.update(f"{tensor.dtype} {list(tensor.shape)} {list(tensor.stride())} ".encode())
        text.update(f"{tensor.is_conj()} {tensor.is_neg()} ".encode())
        plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
        text.update(plain.view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
    return text.hexdigest()[:16]


def run_all(name: str, runner) -> None:
    case = models.build(name)
    for inputs in [case.inputs, *case.more_inputs]:
        result = digest(runner(*inputs))
        libc.fflush(None)
        say(f"result {name} {result}")


def attempt(what: str, action) -> None:
    """Run an action that may raise, and print how it ended."""
    try:
        say(f"{what}: {digest(action())}")
    except Exception as error:  # noqa: BLE001: any error must be the same with the library
        say(f"{what}: {type(error).__name__}: {str(error).splitlines()[0]}")


def sweep(variant: str, marks: str, *names: str) -> None:
    """Run every model in turn. `marks` is a file for the number of log lines before each model, or '-'."""
    log = os.environ.get("AOTI_DBG_LOG", "").replace("%p", str(os.getpid()))
    before = {}
    for name in names or packages.chosen_models():
        if marks != "-":
            before[name] = log_lines(log)
        say(f"model {name}")
        run_all(name, load(name, variant))
    if marks != "-":
        pathlib.Path(marks).write_text(json.dumps(before))


def sweep_apart(variant: str, *names: str) -> None:
    """Like sweep, but each run has its own working directory, to which PyTorch's printer saves."""
    home = pathlib.Path.cwd()
    for name in names:
        case, runner = models.build(name), load(name, variant)
        for count, inputs in enumerate((case.inputs, *case.more_inputs)):
            place = home / f"{name}-{count}"
            # The printer requires a folder, prints a line if it must create it, and then writes beside it.
            (place / "tmp" / "aoti_torch").mkdir(parents=True)
            os.chdir(place)
            say(f"result {name} {digest(runner(*inputs))}")
            os.chdir(home)


def log_lines(log: str) -> int:
    if not os.path.exists(log):
        return 0
    return sum(1 for line in pathlib.Path(log).read_bytes().splitlines() if line.strip(b"\0"))


def threads(rounds: str) -> None:
    """Run two models at once, each in its own thread, and one model in two more."""
    runners = {name: load(name) for name in ("linear_softmax", "fallback_ops")}
    shared = load("dynamic_batch", num_runners=2)
    answers: dict[str, set] = {}

    def work(label: str, runner, inputs: tuple) -> None:
        found = answers.setdefault(label, set())
        for _ in range(int(rounds)):
            found.add(digest(runner(*inputs)))

    jobs = [(name, runner, models.build(name).inputs) for name, runner in runners.items()]
    jobs += [(f"shared {i}", shared, models.build("dynamic_batch").inputs) for i in range(2)]
    workers = [threading.Thread(target=work, args=job) for job in jobs]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for label in sorted(answers):
        say(f"{label} {sorted(answers[label])}")


def errors() -> None:
    """Run with errors in an ATen op and in a custom op, each followed by a successful run."""
    linear, custom = load("linear_softmax"), load("custom_op")
    good_linear, good_custom = models.build("linear_softmax").inputs, models.build("custom_op").inputs
    attempt("wrong shape", lambda: linear(torch.ones(8, 11)))
    attempt("good", lambda: linear(*good_linear))
    attempt("wrong dtype", lambda: linear(torch.ones(8, 10, dtype=torch.float64)))
    attempt("good", lambda: linear(*good_linear))
    attempt("raises", lambda: custom(torch.full((4, 5), float("nan"))))
    attempt("good", lambda: custom(*good_custom))


def wrong_inputs() -> None:
    """Run with inputs that differ from the export. Most of them still yield an answer."""
    dynamic, linear = load("dynamic_batch"), load("linear_softmax")
    attempt("beyond the bounds", lambda: dynamic(torch.ones(513, 12)))
    attempt("one of a dynamic size", lambda: dynamic(torch.ones(1, 12)))
    attempt("other strides", lambda: dynamic(torch.ones(12, 6).t()))
    attempt("odd strides of one element", lambda: dynamic(torch.ones(12, 1).t()))
    attempt("other rank", lambda: dynamic(torch.ones(2, 6, 12)))
    # The result depends on the memory after the input.
    attempt("too few rows", lambda: [linear(torch.ones(7, 10)), []][1])
    attempt("other strides of an op's input", lambda: linear(torch.ones(10, 8).t()))
    attempt("wrong dtype", lambda: linear(torch.ones(8, 10, dtype=torch.float64)))
    attempt("too many", lambda: linear(torch.ones(8, 10), torch.ones(8, 10)))


def small_weight() -> None:
    """After successful runs, load a weight that is too small, which the update accepts."""
    linear = loader_of("linear_softmax")
    for _ in range(3):
        linear.run([torch.ones(8, 10)])
    attempt("update", lambda: linear.load_constants({"second.weight": torch.zeros(3)}, False, False) or [])
    # The result depends on the memory after the weight.
    attempt("run", lambda: [linear.run([torch.ones(8, 10)]), []][1])


def changed_layouts() -> None:
    """Run with too few rows, for which an op resizes its output, and then with the right number. Share a weight
    with the model, and give it memory at another offset, which the model does not notice."""
    linear, case = loader_of("linear_softmax"), models.build("linear_softmax")
    for rows in (8, 7, 8):
        linear.run([torch.ones(rows, 10)])
    weight = case.module.get_parameter("second.weight").detach().clone()
    linear.load_constants({"second.weight": weight}, False, False, True)
    say(digest(linear.run(list(case.inputs))))
    weight.data = torch.cat([torch.zeros(7), weight.flatten()])[7:].view(weight.shape)
    say(digest(linear.run(list(case.inputs))))


def wrong_dtype() -> None:
    """The first op of the run raises an exception that is not caught."""
    load("linear_softmax")(torch.ones(8, 10, dtype=torch.float64))


def masked(*words: str) -> None:
    """Run attention with a causal mask for `causal`, and for any other word with a mask whose third row is
    empty."""
    case, runner = models.build("masked_attention"), load("masked_attention")
    for word in words:
        attempt(word, lambda: runner(*(case.inputs if word == "causal" else case.more_inputs[0])))


def infinite(name: str) -> None:
    """Run with good inputs, then with infinities in each row of the first one, which a product turns into NaN."""
    runner, case = load(name), models.build(name)
    attempt("good", lambda: runner(*case.inputs))
    first = case.inputs[0].clone()
    first[:, 0] = float("inf")
    first[:, 1:] = -float("inf")
    attempt("infinite", lambda: runner(first, *case.inputs[1:]))


def explained(name: str) -> None:
    """Print all that the exception of a run with an empty row says."""
    runner = load(name)
    try:
        runner(*models.build(name).more_inputs[0])
    except RuntimeError as error:
        say(str(error))


def one(name: str) -> None:
    run_all(name, load(name))


def in_place(name: str) -> None:
    """Run a package that was unpacked before, which PyTorch loads as it is."""
    unpack(name, "package")
    (folder,) = pathlib.Path("package").iterdir()
    loader = torch._C._aoti.AOTIModelPackageLoader(str(folder), "model", False, 1, -1)
    run_all(name, lambda *inputs: loader.run(torch.utils._pytree.tree_leaves(inputs)))


def reload(rounds: str) -> None:
    """Load the same package twice at once, then unload and reload it."""
    for _ in range(int(rounds)):
        first, second = load("linear_softmax"), load("linear_softmax")
        run_all("linear_softmax", first)
        run_all("linear_softmax", second)
        del first
        run_all("linear_softmax", second)
        del second
        run_all("custom_op", load("custom_op"))


def shared_object() -> None:
    """Use two runners of one .so, which the dynamic loader maps once."""
    with tempfile.TemporaryDirectory() as folder:
        path = unpack("linear_softmax", folder)
        first, second = (torch._C._aoti.AOTIModelContainerRunnerCpu(path, 1) for _ in range(2))
        case = models.build("linear_softmax")
        for label, runner in (("first", first), ("second", second), ("first", first)):
            say(f"{label} {digest(runner.run(list(case.inputs)))}")


def child(queue) -> None:
    case = models.build("linear_softmax")
    queue.put((os.getpid(), digest(load("linear_softmax")(*case.inputs))))


def children(method: str) -> None:
    """Fork or spawn a child that runs its own model, between two runs of the parent."""
    runner = load("linear_softmax")
    run_all("linear_softmax", runner)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    pid, answer = queue.get(timeout=120)
    process.join()
    say(f"child {answer} {process.exitcode}")
    run_all("linear_softmax", runner)
    print("child and parent", pid, os.getpid(), file=sys.stderr, flush=True)


def inherited_model() -> None:
    """Fork a child that continues with the model that its parent loaded."""
    runner = load("linear_softmax")
    run_all("linear_softmax", runner)
    pid = os.fork()
    if pid == 0:
        run_all("linear_softmax", runner)
        os._exit(7)
    _, status = os.waitpid(pid, 0)
    say(f"child ended with {os.waitstatus_to_exitcode(status)}")
    run_all("linear_softmax", runner)
    print("child and parent", pid, os.getpid(), file=sys.stderr, flush=True)


def exit_now(code: str) -> None:
    one("linear_softmax")
    os._exit(int(code))


def abort() -> None:
    one("linear_softmax")
    os.abort()


def exit_inside(code: str) -> None:
    """Exit during a call: a custom op never returns."""
    models.on_my_op = lambda: os._exit(int(code))
    one("custom_op")


def segfault_inside() -> None:
    """Crash in the second run: C code reads address 0 inside a custom op."""
    runner, case = load("custom_op"), models.build("custom_op")
    runner(*case.inputs)
    models.on_my_op = lambda: ctypes.string_at(0)
    runner(*case.inputs)


def hang_inside() -> None:
    """Hang in the second run: a custom op never returns."""
    runner, case = load("custom_op"), models.build("custom_op")
    runner(*case.inputs)
    models.on_my_op = signal.pause
    runner(*case.inputs)


def fail() -> None:
    """Raise an exception in the second run and do not catch it."""
    runner, case = load("custom_op"), models.build("custom_op")
    runner(*case.inputs)
    runner(torch.full((4, 5), float("nan")))


def bug(name: str) -> None:
    """Make a good run, the run with the bad input of bugs.py, and a good one if the program survives."""
    runner, good = load("seeded_bugs"), models.build("seeded_bugs").inputs
    for inputs in (good, bugs.inputs_with(name, good), good):
        say(f"result {digest(runner(*inputs))}")


def describe(name: str) -> None:
    """Print the package of a model of one matrix, and the matrix's size."""
    (matrix,) = models.build(name).inputs
    say(json.dumps([str(packages.package_path(name, packages.RELEASED)), *matrix.shape]))


def main(way: str, *arguments: str) -> None:
    torch.manual_seed(0)
    globals()[way](*arguments)
    libc.fflush(None)


if __name__ == "__main__":
    main(*(forks.next_arguments() if sys.argv[1:] == [forks.OPTION] else sys.argv[1:]))
    forks.leave_if_forked()
