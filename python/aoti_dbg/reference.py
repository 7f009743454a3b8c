"""Records what a model computes in eager PyTorch, node by node, for `aoti-dbg diff --against`.

It writes what the library writes for a compiled model: events.jsonl with statistics and small tensors, and a `.pt`
file for each tensor. So one reader reads both (docs/reference/events.md).
"""

import copy
import json
import math
import os
import shutil
import socket
import sys
import time

from ._version import version

MOST_VALUES = 64  # that an event has


def record_reference(model, inputs, path) -> None:
    """Runs `model` on `inputs` in eager mode and saves the result of each node of its graph below `path`.

    `model` is what was given to the compiler: the ExportedProgram of a package, or the module or function for
    torch.compile. `inputs` are its positional arguments. It works on copies of the inputs, and of modules and programs.
    The folder must not exist.
    """
    import torch

    if not isinstance(inputs, (tuple, list)):
        raise TypeError(f"inputs: expected a tuple of the model's arguments, got {type(inputs).__name__}")
    own = torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, tuple(inputs))
    recording = Recording(path)
    try:
        with torch.no_grad():
            if isinstance(model, torch.export.ExportedProgram):
                record_program(model, own, recording)
            else:
                record_function(copy.deepcopy(model) if isinstance(model, torch.nn.Module) else model, own, recording)
        if recording.run < 0:
            raise ValueError("torch.compile found no graph in this model, so there are no nodes to record. "
                             "Pass an ExportedProgram, or a function that torch.compile can capture")  # fmt: skip
    except BaseException:
        recording.close()
        shutil.rmtree(recording.path, ignore_errors=True)
        raise
    recording.close()


def record_program(program, inputs, recording) -> None:
    import torch

    signature = program.graph_signature
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers,
             **signature.inputs_to_lifted_tensor_constants}  # fmt: skip
    weights = {name: value.clone() if isinstance(value, torch.Tensor) else value
               for name, value in {**program.state_dict, **program.constants}.items()}  # fmt: skip
    given = torch.utils._pytree.tree_leaves(inputs)
    expected = [name for name in placeholders(program.graph) if name not in names]
    if len(given) != len(expected):
        raise TypeError(f"inputs: expected {len(expected)} ({', '.join(expected)}), got {len(given)}. "
                        "Pass keyword arguments by position, in this order")  # fmt: skip
    left = iter(given)
    arguments = [weights[names[name]] if name in names else next(left) for name in placeholders(program.graph)]
    used = {name: weights[name] for name in names.values() if name in weights}
    record_graph(program.graph_module, arguments, given, used, recording)


def placeholders(graph) -> list:
    return [node.name for node in graph.nodes if node.op == "placeholder"]


def record_function(function, inputs, recording) -> None:
    """Lets Dynamo cut it into graphs, as torch.compile does."""
    import torch

    def compile_graph(module, _):
        def run(*arguments):
            return record_graph(module, arguments, arguments, {}, recording)

        return run

    torch._dynamo.reset()
    try:
        torch.compile(function, backend=compile_graph)(*inputs)
    finally:
        torch._dynamo.reset()


def record_graph(module, arguments, inputs, weights, recording):
    """Interprets the graph and records the result of each node. Returns the graph's result."""
    import torch

    class Recorder(torch.fx.Interpreter):
        def run_node(self, node):
            result = super().run_node(node)
            if node.op not in ("placeholder", "output", "get_attr"):
                recording.node(node, tensors_of(result))
            return result

    recording.begin(module, inputs, weights)
    result = Recorder(module).run(*arguments)
    recording.end(tensors_of(result))
    return result


def tensors_of(value) -> list:
    import torch

    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def number_of(value: float):
    """Returns what JSON can hold: a number, or the name of one that it cannot."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def moments_of(numbers, is_integer: bool) -> dict:
    """Returns mean, minimum, maximum and standard deviation of a flat tensor."""
    if numbers.numel() == 0:
        return {}
    exact = numbers if is_integer else numbers.double()
    least, most = exact.min().item(), exact.max().item()
    doubles = numbers.double()
    deviation = doubles.std().item() if numbers.numel() > 1 else math.nan
    return {"mean": number_of(doubles.mean().item()), "min": least if is_integer else number_of(least),
            "max": most if is_integer else number_of(most), "std": number_of(deviation)}  # fmt: skip


def statistics_of(tensor) -> dict:
    """Returns the statistics members of an argument in events.jsonl. Empty if torch cannot compute them."""
    import torch

    if tensor.is_complex() or tensor.numel() == 0:
        return {}
    flat = tensor.detach().reshape(-1)
    if flat.dtype == torch.uint64:
        return {}
    if flat.dtype in (torch.bool, torch.uint16, torch.uint32):
        flat = flat.to(torch.int64)  # torch cannot find their minimum
    is_integer = not flat.is_floating_point()
    if not is_integer and flat.element_size() < 4:
        flat = flat.float()
    found = moments_of(flat, is_integer)
    if is_integer:
        if zeros := int((flat == 0).sum().item()):
            found["zeros"] = zeros
        found["sum"] = int(flat.sum(dtype=torch.int64).item())
        return found
    finite = flat[flat.isfinite()]
    counts = {"zeros": (flat == 0), "nan": flat.isnan(), "pos_inf": flat.isposinf(), "neg_inf": flat.isneginf()}
    found.update({name: count for name, mask in counts.items() if (count := int(mask.sum().item())) != 0})
    if finite.numel() != flat.numel():
        found["finite"] = {"count": finite.numel(), **moments_of(finite, is_integer)}
    return found


def values_of(tensor) -> list:
    """Returns the elements of a small tensor, else an empty list."""
    if tensor.numel() > MOST_VALUES or tensor.is_complex():
        return []
    if tensor.is_floating_point():
        return [number_of(value) for value in tensor.detach().double().reshape(-1).tolist()]
    return tensor.detach().reshape(-1).tolist()


def command_line() -> str:
    """Returns the command with U+FFFD for bytes that are not UTF-8."""
    words = sys.orig_argv if hasattr(sys, "orig_argv") else sys.argv
    return os.fsencode(" ".join(words)).decode(errors="replace")


class Recording:
    """A folder with events.jsonl and the tensors of a reference."""

    def __init__(self, path):
        self.path = os.fspath(path)
        os.makedirs(self.path, mode=0o700)  # fails if it exists: nothing is overwritten
        self.tensors = os.path.join(self.path, "tensors")
        os.mkdir(self.tensors, 0o700)
        self.events = self.open(os.path.join(self.path, "events.jsonl"))
        self.index = self.open(os.path.join(self.tensors, "index.jsonl"))
        self.run = -1
        self.call = 0
        self.definitions = 0
        header = {"pid": os.getpid(), "command": command_line(),
                  "host": socket.gethostname(), "rank": os.environ.get("RANK", ""), "start_ns": time.time_ns(),
                  "library": version}  # fmt: skip
        self.write(self.events, {"event": "header", "format": "aoti-dbg-events", "version": 1, **header})
        self.write(self.index, {"event": "header", "format": "aoti-dbg-tensors", "version": 2, **header})

    @staticmethod
    def open(path):
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w")

    @staticmethod
    def write(file, line: dict) -> None:
        file.write(json.dumps(line, separators=(",", ":"), ensure_ascii=False) + "\n")

    def close(self) -> None:
        self.events.close()
        self.index.close()

    def begin(self, module, inputs, weights: dict) -> None:
        """Begins a run: each graph is one, of a model of its own."""
        self.run += 1
        self.call = 0
        name = f"reference of {type(module).__name__}"
        self.write(self.events, {"event": "model", "model": self.run, "name": name, "path": ""})
        named = [(f"input{i}", "", value) for i, value in enumerate(inputs)]
        self.event("inputs", None, named, "reads")
        site = self.define("site", kernel="weights", symbol="", kind="reference", line=0, source_nodes=[],
                           original_aten=[])
        weights_named = [(f"weight{i}", name, value) for i, (name, value) in enumerate(weights.items())]
        self.event("before", ("weights", site), weights_named, "reads")
        self.call += 1

    def node(self, node, results: list) -> None:
        if not results:
            return
        # Dynamo writes L['self'].layers.3 for layers.3.
        modules = [path.removeprefix("L['self']").removeprefix(".")
                   for path, _ in (node.meta.get("nn_module_stack") or {}).values()]  # fmt: skip
        op = str(node.target) if not callable(node.target) or hasattr(node.target, "overloadpacket") else (
            getattr(node.target, "__name__", str(node.target)))  # fmt: skip
        site = self.define("site", kernel=op, symbol=modules[-1] if modules else "", kind="reference", line=0,
                           source_nodes=[node.name], original_aten=[])  # fmt: skip
        labels = [node.name] if len(results) == 1 else [f"{node.name}[{i}]" for i in range(len(results))]
        named = [(label, "", value) for label, value in zip(labels, results)]
        self.event("after", (op, site), named, "makes")
        self.call += 1

    def end(self, results: list) -> None:
        self.event("outputs", None, [(f"output{i}", "", value) for i, value in enumerate(results)], "reads")

    def define(self, event: str, **members) -> int:
        self.definitions += 1
        self.write(self.events, {"event": event, "id": self.definitions, **members})
        return self.definitions

    def event(self, side: str, site, named: list, role: str) -> None:
        arguments = [self.argument(side, position, *one, role) for position, one in enumerate(named)]
        line = {"event": "call", "side": side}
        if site is not None:
            line.update(kernel=site[0], site=site[1])
        line["run"] = self.run
        if site is not None:
            line["call"] = self.call
        line.update(model=self.run, seq=self.definitions, time_ns=time.time_ns(), thread=1, stream="0x0")
        self.write(self.events, {**line, "arguments": arguments})

    def argument(self, side: str, position: int, label: str, fqn: str, value, role: str) -> dict:
        import torch

        argument = self.define("argument", label=label, fqn=fqn, parameter="", position=position, role=role)
        if not isinstance(value, torch.Tensor):
            return {"label": label, "argument": argument, "value": str(value)}
        facts = {"dtype": str(value.dtype).removeprefix("torch."), "sizes": list(value.shape)}
        if value.layout != torch.strided:
            tensor = self.define("tensor", dtype=facts["dtype"], device=str(value.device), layout="not strided",
                                 sizes=facts["sizes"], strides=[], contiguous=False, storage_offset=0,
                                 storage_bytes=0, unmeasured="the layout is not strided")  # fmt: skip
            return {"label": label, "argument": argument, "tensor": tensor, **facts, "address": "0x0", "measured": "no"}
        # Sizes in another order would compare other elements, so views are copied.
        whole = value.detach().resolve_conj().resolve_neg().contiguous()
        tensor = self.define("tensor", dtype=facts["dtype"], device=str(value.device), layout="strided",
                             sizes=facts["sizes"], strides=list(whole.stride()), contiguous=True, storage_offset=0,
                             storage_bytes=whole.numel() * whole.element_size())  # fmt: skip
        self.save(side, label, position, whole)
        found = statistics_of(whole)
        if not found:
            found = {"measured": "no", "why": "only its elements are saved"}
        elif values := values_of(whole):
            found["values"] = values
        return {"label": label, "argument": argument, "tensor": tensor, **facts, "address": "0x0", **found}

    def save(self, side: str, label: str, position: int, tensor) -> None:
        import torch

        name = f"run{self.run}_{side}{self.call}_{position}.pt"
        path = os.path.join(self.tensors, name)
        torch.save(tensor.clone(), path)
        line = {"event": "file", "path": name, "side": side, "run": self.run}
        if side in ("before", "after"):
            line["call"] = self.call
        line.update(model=self.run, seq=self.definitions, label=label, position=position,
                    dtype=str(tensor.dtype).removeprefix("torch."), sizes=list(tensor.shape),
                    strides=list(tensor.stride()), storage_offset=0,
                    storage_bytes=tensor.numel() * tensor.element_size(), device=str(tensor.device),
                    bytes=os.path.getsize(path))  # fmt: skip
        self.write(self.index, line)
