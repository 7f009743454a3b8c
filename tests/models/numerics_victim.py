"""Runs the same models in several precisions and builds, compiled in place. It must not use the library.

Each model of MODELS: float32, bfloat16, bfloat16 with an error of 1%, float32 with two more rows of input.
Then `changed`: a model with another op. With a folder as argument, it also writes references of eager results there.
"""

from __future__ import annotations

import copy
import gc
import pathlib
import sys

import quick_imports

with quick_imports.uncollected():
    import torch
with quick_imports.uncollected(freeze=False):
    import torch._inductor.compile_fx  # as torch.compile does
    import torch.nn.functional as F
    from torch import nn


class Activation(nn.Module):
    def __init__(self, error: float):
        super().__init__()
        self.error = error

    def forward(self, x):
        return F.gelu(x) * self.error


class Perceptron(nn.Module):
    """`error` scales the result of an op in the middle."""

    def __init__(self, error: float = 1.0):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(64, 256), nn.Linear(256, 256), nn.Linear(256, 16)
        self.activation = Activation(error)

    def forward(self, x):
        return self.third(self.activation(self.second(F.relu(self.first(x)))))


class Attention(nn.Module):
    def __init__(self, error: float = 1.0):
        super().__init__()
        self.norm, self.heads = nn.LayerNorm(64), 4
        self.queries, self.out = nn.Linear(64, 192), nn.Linear(64, 64)
        self.error = error

    def forward(self, x):
        rows, length, width = x.shape
        mixed = self.queries(self.norm(x)).view(rows, length, 3, self.heads, width // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(query @ key.transpose(-1, -2) / 4.0, -1) * self.error
        return x + self.out((weights @ value).transpose(1, 2).reshape(rows, length, width))


class Convolution(nn.Module):
    def __init__(self, error: float = 1.0):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, stride=2)
        self.norm, self.out = nn.BatchNorm2d(16), nn.Linear(32, 16)
        self.error = error

    def forward(self, x):
        x = F.relu(self.norm(self.first(x))) * self.error
        return torch.log_softmax(self.out(F.relu(self.second(x)).mean((2, 3))), -1)


class Residual(nn.Module):
    def __init__(self, error: float = 1.0):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(96, 96) for _ in range(5)])
        self.norms = nn.ModuleList([nn.LayerNorm(96) for _ in range(5)])
        self.error = error

    def forward(self, x):
        for number, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            x = x + torch.tanh(layer(norm(x)))
            x = x * self.error if number == 2 else x
        return x.softmax(-1)


MODELS = (
    (Perceptron, (32, 64)),
    (Attention, (2, 24, 64)),
    (Convolution, (4, 3, 20, 20)),
    (Residual, (64, 96)),
)


def main() -> None:
    gc.disable()  # Compiling creates hardly any garbage.
    references = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for kind, shape in MODELS:
        torch.manual_seed(3)
        model = kind().eval()
        with_error = kind(error=1.01).eval()
        with_error.load_state_dict(model.state_dict())
        x, more = torch.randn(shape), torch.randn(shape[0] + 2, *shape[1:])
        with torch.no_grad():
            torch.compile(model, dynamic=False)(x)
            torch.compile(copy.deepcopy(model).bfloat16(), dynamic=False)(x.bfloat16())
            torch.compile(with_error.bfloat16(), dynamic=False)(x.bfloat16())
            torch.compile(model, dynamic=False)(more)
        if references is not None:
            import aoti_dbg

            aoti_dbg.record_reference(model, (x,), references / kind.__name__)
    with torch.no_grad():
        torch.manual_seed(3)
        model = Perceptron().eval()
        model.forward = lambda x: model.third(F.silu(model.second(F.relu(model.first(x)))))
        torch.compile(model, dynamic=False)(torch.randn(32, 64))


if __name__ == "__main__":
    main()
