"""Compiles models on a GPU and runs each once, so that their kernels can be captured. replay_models.py [names]

    encoder   two layers of torch.nn.TransformerEncoder
    resnet    ResNet-18 of torchvision
    gpt2      a small GPT-2 of transformers
    unet      a U-shaped convolutional net with skips
    training  one step of a perceptron with dropout, with its backward
    sorting   sorting, cumulative sums, embeddings and scatters

With arguments, runs only these. It must not use the library.
"""

from __future__ import annotations

import sys

import torch


def encoder():
    layer = torch.nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
    net = torch.nn.TransformerEncoder(layer, 2).eval().cuda().half()
    return net, (torch.randn(4, 64, 128, device="cuda", dtype=torch.half),)


def resnet():
    import torchvision

    return torchvision.models.resnet18(num_classes=10).eval().cuda(), (torch.randn(2, 3, 64, 64, device="cuda"),)


def gpt2():
    import transformers

    config = transformers.GPT2Config(n_layer=2, n_embd=64, n_head=4, vocab_size=500, n_positions=64)
    net = transformers.GPT2Model(config).eval().cuda()
    return lambda ids: net(ids).last_hidden_state, (torch.randint(500, (2, 32), device="cuda"),)


class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down = torch.nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.deep = torch.nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.up = torch.nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.norm = torch.nn.GroupNorm(4, 32)
        self.last = torch.nn.Conv2d(32, 3, 1)

    def forward(self, x):
        first = torch.nn.functional.silu(self.down(x))
        second = torch.nn.functional.silu(self.deep(first))
        joined = self.norm(torch.cat([self.up(second), first], 1))
        return torch.nn.functional.interpolate(self.last(joined), scale_factor=2, mode="bilinear")


def unet():
    return UNet().eval().cuda(), (torch.randn(2, 3, 64, 64, device="cuda"),)


def training():
    net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Dropout(0.1), torch.nn.Linear(128, 10)).cuda()

    def step(x, target):
        loss = torch.nn.functional.cross_entropy(net(x), target)
        loss.backward()
        return loss.detach()

    return step, (torch.randn(32, 64, device="cuda"), torch.randint(10, (32,), device="cuda"))


def sorting():
    table = torch.randn(100, 16, device="cuda")

    def run(index, x):
        rows = torch.nn.functional.embedding(index, table)
        ordered, order = torch.sort(x, 1)
        # Whole numbers, because the order of atomic additions changes other sums.
        counted = torch.zeros(8, 16, dtype=torch.int32, device="cuda").index_add(0, index % 8, (rows * 100).int())
        return ordered.cumsum(1), order, counted.float().softmax(1), x.bfloat16().exp().to(torch.float16).var(1)

    return run, (torch.randint(100, (40,), device="cuda"), torch.randn(16, 256, device="cuda"))


MODELS = {"encoder": encoder, "resnet": resnet, "gpt2": gpt2, "unet": unet, "training": training, "sorting": sorting}


def main(names: list[str]) -> None:
    torch.manual_seed(0)
    for name in names or MODELS:
        net, arguments = MODELS[name]()
        compiled = torch.compile(net)
        with torch.set_grad_enabled(name == "training"):
            compiled(*arguments)
        torch.cuda.synchronize()
        print(name, "ran", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
