"""One of the ranks that torchrun starts, each with the model on its own GPU: rank_victim.py PACKAGE INPUTS
The last rank's third run gets bad inputs, and the others wait for it in an all_reduce. It must not use the
library.
"""

from __future__ import annotations

import os
import sys

import torch


def main(package: str, inputs: str) -> None:
    rank, ranks = int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", rank))
    good, bad = ([tensor.cuda() for tensor in one] for one in torch.load(inputs))
    model = torch._inductor.aoti_load_package(package, device_index=rank)
    for run in range(4):
        is_bad = run == 2 and rank == ranks - 1
        total = model(*(bad if is_bad else good)).sum()
        if is_bad:
            total.item()  # the exception ends the rank here
        torch.distributed.all_reduce(total)
        os.write(1, f"rank {rank}, run {run}: {total.item() != 0}\n".encode())  # in one write


if __name__ == "__main__":
    main(*sys.argv[1:])
