"""Random graphs for random_models.py: Python text that a seed determines, with the inputs and buffers that it
needs.

A graph depends only on its own seed, so any subset of a model's graphs, and any part of their lines, is also
a model. A line is kept only if it works in eager torch for all batch sizes. random_ops.py and
random_effects.py define the ops.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable

import torch

import random_custom_ops  # noqa: F401: the text of a graph names its ops

# Increase it when the same seed creates another model.
GENERATOR = 1
BATCH = "batch"  # the dynamic size
TRACED_BATCH = 5
BATCHES = (TRACED_BATCH, 7, 1, 0)  # what a dynamic graph must accept
LARGEST = 1500  # elements of a tensor
REALS = ("float32", "float32", "float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")
COMPLEX = ("complex64", "complex128")
LAYOUTS = ("contiguous", "contiguous", "transposed", "offset", "steps", "expanded")


@dataclasses.dataclass
class Given:
    """An input of a graph, or a buffer if its name begins with `self.`"""

    name: str
    dtype: str
    sizes: list  # BATCH is the dynamic size
    layout: str
    salt: int
    special: bool = False  # with NaN, infinities and a negative zero

    def make(self, batch: int) -> torch.Tensor:
        sizes = [batch if size == BATCH else size for size in self.sizes]
        if self.layout == "transposed" and len(sizes) > 1:
            return self.contents([*sizes[:-2], sizes[-1], sizes[-2]]).transpose(-1, -2)
        if self.layout == "offset" and sizes:
            return self.contents([sizes[0] + 1, *sizes[1:]])[1:]
        if self.layout == "steps" and sizes:
            return self.contents([*sizes[:-1], 2 * sizes[-1]])[..., ::2]
        if self.layout == "expanded" and len(sizes) > 1:
            return self.contents(sizes[1:]).expand(sizes)
        if self.layout == "conjugated":
            return self.contents(sizes).conj()
        if self.layout == "negated":
            return torch._neg_view(self.contents(sizes))
        return self.contents(sizes)

    def contents(self, sizes: list[int]) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.salt)
        dtype = getattr(torch, self.dtype)
        low, high = (0, 9) if dtype in (torch.uint8, torch.bool) else (-5, 6)
        values = torch.randint(low, high, sizes, generator=generator)
        if dtype == torch.bool:
            return values > 4
        if dtype.is_complex:
            return torch.complex(values / 2.0, values.flip(0) + 1.0 if sizes else values + 1.0).to(dtype)
        made = (values / 4 if dtype.is_floating_point else values).to(dtype)
        if self.special and made.numel() > 3 and dtype.is_floating_point:
            made.view(-1)[:4] = torch.tensor([float("nan"), -0.0, float("inf"), -float("inf")], dtype=dtype)
        return made


@dataclasses.dataclass
class Graph:
    name: str
    inputs: list[Given]
    buffers: list[Given]
    lines: list[str]
    outputs: list[str]

    @property
    def is_dynamic(self) -> bool:
        return any(BATCH in given.sizes for given in self.inputs)

    def text(self) -> str:
        parameters = ", ".join(["self", *(given.name for given in self.inputs)])
        body = [*self.lines, f"return ({''.join(f'{name}, ' for name in self.outputs)})"]
        return f"def {self.name}({parameters}):\n" + "".join(f"    {line}\n" for line in body)


class Unfit(Exception):
    """No value fits the op."""


class Builder:
    def __init__(self, dice: random.Random, name: str, dynamic: bool):
        self.dice, self.name, self.dynamic = dice, name, dynamic
        self.batches = BATCHES if dynamic else BATCHES[:1]
        self.owner = [torch.nn.Module() for _ in self.batches]
        self.environments: list[dict] = [{"torch": torch, "self": owner} for owner in self.owner]
        self.inputs: list[Given] = []
        self.buffers: list[Given] = []
        self.lines: list[str] = []
        self.values: list[str] = []  # names of tensors, in creation order
        self.count = 0

    # Queries for ops.

    def tensor(self, name: str) -> torch.Tensor:
        return self.look(name, self.environments[0])

    @staticmethod
    def look(name: str, environment: dict) -> torch.Tensor:
        owner, _, attribute = name.rpartition(".")
        return getattr(environment[owner], attribute) if owner else environment[name]

    def pick(self, fits: Callable[[torch.Tensor], bool]) -> str:
        """Return a value. Later values are more likely."""
        fitting = [name for name in self.values if fits(self.tensor(name))]
        if not fitting:
            raise Unfit
        return self.dice.choices(fitting, range(1, len(fitting) + 1))[0]

    def real(self, rank: int = 0) -> str:
        return self.pick(lambda t: not t.is_complex() and t.dtype != torch.bool and t.dim() >= rank)

    def floating(self, rank: int = 0) -> str:
        return self.pick(lambda t: t.is_floating_point() and t.dim() >= rank)

    def complex(self, rank: int = 0) -> str:
        return self.pick(lambda t: t.is_complex() and t.dim() >= rank)

    def any(self, rank: int = 0) -> str:
        return self.pick(lambda t: t.dim() >= rank)

    def like(self, name: str) -> str:
        """Return another value of the same dtype and sizes."""
        model = self.tensor(name)
        return self.pick(lambda t: t.dtype == model.dtype and t.shape == model.shape)

    def sizes(self, name: str) -> list[int | str]:
        """Return the sizes, with BATCH for those that depend on it."""
        shapes = [self.look(name, environment).shape for environment in self.environments]
        return [many[0] if len(set(many)) == 1 else BATCH for many in zip(*shapes)]

    def dim(self, name: str, least: int = 0) -> int:
        """Return a dimension with a known size of at least `least`."""
        fitting = [at for at, size in enumerate(self.sizes(name)) if size != BATCH and size >= least]
        if not fitting:
            raise Unfit
        return self.dice.choice(fitting)

    def number(self) -> int:
        return self.dice.choice((0, 1, 1, 2, 3, -1))

    def new(self, dtype: str, sizes: list, layout: str = "", kept: bool = False) -> str:
        """Create an input, or a buffer if `kept`."""
        name = f"self.{self.name}_b{len(self.buffers)}" if kept else f"x{len(self.inputs)}"
        layout = layout or ("contiguous" if kept else self.dice.choice(LAYOUTS))
        given = Given(name, dtype, sizes, layout, self.dice.randrange(1000), self.dice.random() < 0.15)
        (self.buffers if kept else self.inputs).append(given)
        for environment, owner, batch in zip(self.environments, self.owner, self.batches):
            if kept:
                setattr(owner, name.removeprefix("self."), given.make(batch))
            else:
                environment[name] = given.make(batch)
        self.values.append(name)
        return name

    def index(self, length: int, count: int | None = None) -> str:
        """Return valid indices for that length."""
        count = self.dice.choice((1, 2, 4)) if count is None else count
        return f"({self.new('int64', [count], 'contiguous')} % {length})"

    # How lines are added.

    def run(self, line: str) -> bool:
        try:
            for environment in self.environments:
                exec(line, environment)  # noqa: S102: the text is ours
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError, AttributeError):
            return False
        return True

    def add_value(self, text: str) -> bool:
        if not self.run(f"made = {text}"):
            return False
        made = [environment["made"] for environment in self.environments]
        several = not isinstance(made[0], torch.Tensor)
        results = [list(one) if several else [one] for one in made]
        tensors = [tensor for result in results for tensor in result]
        if not tensors or len(results[0]) > 6 or len({len(result) for result in results}) > 1:
            return False
        if any(tensor.numel() > LARGEST or tensor.dim() > 4 for tensor in tensors):
            return False
        names = [f"v{self.count + at}" for at in range(len(results[0]))]
        self.count += len(names)
        for environment, result in zip(self.environments, results):
            environment.update(zip(names, result))
        self.lines.append(f"{', '.join(names)}{',' * (several and len(names) == 1)} = {text}")
        self.values += names
        return True

    def add_statement(self, text: str) -> bool:
        if not self.run(text):
            return False
        self.lines.append(text)
        return True

    def add(self, op: Callable[[Builder], str]) -> bool:
        """Add an op's text. A text that begins with `!` is a statement."""
        kept = (len(self.inputs), len(self.buffers), len(self.values))
        try:
            text = op(self)
            added = self.add_statement(text[1:]) if text.startswith("!") else self.add_value(text)
        except Unfit:
            added = False
        if not added:
            del self.inputs[kept[0] :], self.buffers[kept[1] :], self.values[kept[2] :]
        return added


def first_values(builder: Builder) -> None:
    dice = builder.dice
    first = dice.choice((0, 1, 2, 3, 4, 4, 5, 6, 8, 16, 40))
    second = dice.choice((1, 2, 4, 4, 6, 8, 17))
    leading = BATCH if builder.dynamic else first
    builder.new(dice.choice(REALS), [leading, second])
    builder.new(dice.choice(REALS), [leading, second])
    builder.new("float32", [leading, second])
    if dice.random() < 0.4:
        builder.new(dice.choice(COMPLEX), [leading, second], "conjugated" if dice.random() < 0.2 else "")
    if dice.random() < 0.2:
        builder.new("bool", [leading, second])
    if dice.random() < 0.5:
        builder.new(dice.choice(REALS), [dice.choice((1, 2, 3, 6)), second], kept=True)


def graph(seed: int, number: int, name: str = "") -> Graph:
    """Return the same graph for every name. Graphs of different seeds need different names in one model."""
    import random_effects  # noqa: F401: it registers its ops after those of random_ops
    import random_ops

    dice = random.Random(f"{GENERATOR} {seed} {number}")
    builder = Builder(dice, name or f"g{number}", dynamic=dice.random() < 0.35)
    first_values(builder)
    requested = dice.randint(5, 12)
    for _ in range(20 * requested):
        if len(builder.lines) >= requested:
            break
        builder.add(dice.choices(random_ops.OPS, random_ops.WEIGHTS)[0])
    made = [name for name in builder.values if name.startswith("v")]
    text = "\n".join(builder.lines)
    ends = [name for name in made if len(re.findall(rf"\b{name}\b", text)) == 1]
    outputs = [name for name in made if name in ends or dice.random() < 0.2]
    return pruned(Graph(builder.name, builder.inputs, builder.buffers, builder.lines, outputs))


def pruned(graph: Graph) -> Graph:
    """Drop the inputs and buffers that no line uses."""
    text = "\n".join([*graph.lines, *graph.outputs])

    def is_named(given: Given) -> bool:
        return re.search(rf"{re.escape(given.name)}\b", text) is not None

    return dataclasses.replace(
        graph, inputs=list(filter(is_named, graph.inputs)), buffers=list(filter(is_named, graph.buffers))
    )
