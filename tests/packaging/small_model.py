"""A small compiled model for scripts/wheel: small_model.py compile|run PACKAGE.pt2. It must not use aoti-dbg."""

import sys

import torch

verb, package = sys.argv[1:]
torch.manual_seed(0)
if verb == "compile":
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.LayerNorm(16)).eval()
    with torch.no_grad():
        exported = torch.export.export(model, (torch.randn(4, 16),))
        torch._inductor.aoti_compile_and_package(exported, package_path=package)
else:
    # torch._inductor.aoti_load_package wraps this. Importing the compiler would take longer than everything else.
    loaded = torch._C._aoti.AOTIModelPackageLoader(package, "model", False, 1, -1)
    (result,) = loaded.run([torch.randn(4, 16)])
    print(f"sum {result.abs().sum().item():.6f}", flush=True)
