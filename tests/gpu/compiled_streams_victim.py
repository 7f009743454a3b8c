"""Two functions of torch.compile on two streams: compiled_streams_victim.py

The second reads what the first writes. With JOINED=1 its stream waits for the first. Prints the results. It must not use
the library.
"""

from __future__ import annotations

import os

import torch


@torch.compile
def first(x, y):
    return (x @ y).sin()


@torch.compile
def second(x):
    return (x * 2).cos().sum()


def main() -> None:
    x, y = torch.ones(512, 512, device="cuda"), torch.ones(512, 512, device="cuda")
    second(first(x, y))  # compiles
    torch.cuda.synchronize()
    one, other = torch.cuda.Stream(), torch.cuda.Stream()
    for _ in range(3):
        with torch.cuda.stream(one):
            product = first(x, y)
        if "JOINED" in os.environ:
            other.wait_stream(one)
        with torch.cuda.stream(other):
            total = second(product)
        product.record_stream(other)
        torch.cuda.synchronize()
        if "JOINED" in os.environ:
            print(float(total))


if __name__ == "__main__":
    main()
