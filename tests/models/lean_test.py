"""A real model in a runtime without libtorch (tests/victims/lean_runtime.cpp), bare and under the library.

PyTorch compiles the model as for ExecuTorch's CUDA backend, but for the CPU: it links no libtorch, and the
runtime gives it the weights. The cache folder keeps it.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import quick_imports

with quick_imports.uncollected():
    import torch

import packages

RUNTIME = os.environ["AOTI_DBGTEST_LEAN_RUNTIME"]
LIBRARY = os.environ["AOTI_DBGTEST_LIBRARY"]
OPTIONS = {
    "aot_inductor.link_libtorch": False,
    "aot_inductor.package": True,
    "aot_inductor.package_constants_in_so": False,
    "aot_inductor.package_constants_on_disk_format": "binary_blob",
}


class Pointwise(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(2 * torch.eye(4))  # as the runtime passes it

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.weight[0]) * 2 + self.weight.sum()


def compiled() -> pathlib.Path:
    """Return the folder with the model and its sources."""
    made_from = [torch.__version__, torch.backends.cpu.get_cpu_capability(), inspect.getsource(Pointwise), str(OPTIONS)]
    key = hashlib.sha256("\0".join(made_from).encode()).hexdigest()[:16]
    folder = packages.cache_folder() / "models" / f"lean-{key}"
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".partial-") as partial, torch.no_grad():
        module = torch.export.export(Pointwise(), (torch.ones(8, 4),)).module()
        options = OPTIONS | {"aot_inductor.output_path": f"{partial}/model/model.so"}
        torch._inductor.aot_compile(module, (torch.ones(8, 4),), options=options)
        os.rename(f"{partial}/model", folder)
    return folder


def run(folder: str, model: pathlib.Path, **variables: str) -> subprocess.CompletedProcess:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AOTI_DBG", "LD_PRELOAD"))}
    command = [RUNTIME, "--runs", "2", str(model)]
    return subprocess.run(command, cwd=folder, env=kept | variables, capture_output=True, text=True, timeout=120)


class LeanRuntime(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.model = compiled() / "model.so"

    def log(self, **variables: str) -> str:
        """Return the log of a run under the library, which must not change the program."""
        bare = run(self.folder, self.model)
        self.assertEqual(bare.returncode, 3, bare.stdout + bare.stderr)
        log = pathlib.Path(self.folder) / "log"
        log.unlink(missing_ok=True)
        own = {"LD_PRELOAD": LIBRARY, "AOTI_DBG_LOG": str(log), "AOTI_DBG_OUT": f"{self.folder}/out"}
        watched = run(self.folder, self.model, **own, **variables)
        self.assertEqual(watched.stdout, bare.stdout)
        self.assertEqual(watched.returncode, bare.returncode, watched.stderr)
        return log.read_text() if log.exists() else ""

    def test_the_program_is_the_same_at_every_level(self) -> None:
        for level in "0123":
            with self.subTest(level=level):
                self.log(AOTI_DBG_LEVEL=level)
        self.log(AOTI_DBG_LEVEL="3", AOTI_DBG_CHECK="nan,inf,args,races", AOTI_DBG_TRIAGE="1")

    def test_kernels_have_the_names_of_the_source(self) -> None:
        (source,) = compiled().glob("*.wrapper.cpp")
        called = re.findall(r"^    (cpp_fused_\w+)\(", source.read_text(), re.MULTILINE)
        self.assertTrue(called)
        expected = [f"[ {when}_launch: {name} ]" for name in called for when in ("before", "after")]
        self.assertEqual(self.log(AOTI_DBG_LEVEL="3").split("\n")[:-1], expected * 2)

    def test_saved_tensors_are_those_of_the_run(self) -> None:
        self.log(AOTI_DBG_LEVEL="1")
        tensors = pathlib.Path(self.folder) / "out" / "tensors"
        with torch.no_grad():
            for number in range(2):
                given = torch.arange(32.0).reshape(8, 4) - 8 + number
                for side, expected in (("inputs", given), ("outputs", Pointwise()(given))):
                    (path,) = (tensors / f"run{number:04}" / side).glob("*.pt")
                    self.assertTrue(torch.equal(torch.load(path), expected), path)

    def test_statistics_are_those_of_the_tensors(self) -> None:
        log = self.log(AOTI_DBG_LEVEL="2")
        with torch.no_grad():
            for number in range(2):
                tensor = torch.arange(32.0).reshape(8, 4) - 8 + number
                for title, expected in (("inputs - input0", tensor), ("outputs - output0", Pointwise()(tensor))):
                    record = log.split(f"[  aoti_model_{title}  ]:")[1 + number]
                    mean = re.search(r"^Mean value: (.*)$", record, re.MULTILINE)
                    self.assertEqual(float(mean[1]), float(f"{expected.double().mean():.6g}"))


if __name__ == "__main__":
    unittest.main()
