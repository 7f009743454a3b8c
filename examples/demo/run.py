"""Runs a compiled model: run.py PACKAGE.pt2 [empty|bad-token]. It must not use aoti-dbg."""

import sys

import torch

# torch._inductor.aoti_load_package wraps this. Importing the compiler would take longer than everything else.
model = torch._C._aoti.AOTIModelPackageLoader(sys.argv[1], "model", False, 1, -1)
device = model.get_metadata()["AOTI_DEVICE_KEY"]
torch.manual_seed(1)
tokens, lengths = torch.randint(1000, (2, 16)), torch.tensor([16, 9])
if "empty" in sys.argv:
    lengths[1] = 0  # a request without text: the second sequence has no token
if "bad-token" in sys.argv:
    tokens[0, 3] = 1 << 27  # the vocabulary has 1000 words
(result,) = model.run([tokens.to(device), lengths.to(device)])
print(f"the program says: the sum of the result is {result.sum().item():.6f}", flush=True)
