"""PyTorch's own printer as the judge of functions that torch.compile compiled. Inductor compiles it into their wrappers,
for extern kernels only. Both print here, so each line of the printer has a line of the library with the same numbers,
and each of its files has the same tensor. Where the printer prints nothing, eager PyTorch is the judge.
"""

import math
import pathlib
import re
import struct
import tempfile
import unittest

import torch

import support
from compiled_support import events_in, keep_kernels, take_kernels

# Those with extern kernels that the printer prints, and the others.
PRINTED = ["mlp", "attention", "training"]
CASES = [*PRINTED, "conv", "nan", "sorting"]
title = re.compile(r"^inductor: (before|after)_launch - (\S+) - (\w+)$")
statistic = re.compile(r"^(Number of elements|Size|Mean|Min|Max): +(.+)$")


def printed_by_pytorch(text: str) -> list[dict]:
    """Return what PyTorch's printer printed, tensor by tensor."""
    found = []
    for line in text.splitlines():
        if match := title.match(line):
            found.append({"side": match[1], "kernel": match[2], "label": match[3]})
        elif (match := statistic.match(line)) and found:
            found[-1][match[1]] = match[2]
    return found


def as_float32(number: float) -> bytes:
    return struct.pack("f", float(number))


def eager_values() -> dict[tuple[str, str, str], torch.Tensor]:
    """Return tensors as eager PyTorch computes them, by side, kernel and label."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 8))
    x = torch.randn(4, 16)
    torch.manual_seed(0)
    q, k = torch.randn(2, 4, 8), torch.randn(2, 4, 8)
    torch.manual_seed(0)
    rows = torch.randn(4, 6)
    values, places = torch.sort(rows * 2, dim=-1, stable=True)
    with torch.no_grad():
        hidden = net[0](x)
    return {
        ("after", "extern_kernels.addmm", "buf0"): hidden,
        ("after", "cpp_fused_gelu_0", "buf1"): torch.nn.functional.gelu(hidden),
        ("after", "cpp_fused_log_mul_0", "buf0"): torch.log(torch.tensor([-1.0, 2.0, 3.0])) * 2,
        ("after", "torch.ops.aten.sort.stable", "buf2"): values,
        ("after", "torch.ops.aten.sort.stable", "buf3"): places,
        ("before", "extern_kernels.bmm", "buf2"): torch.softmax(q @ k.transpose(-1, -2), -1),
    }


class CompiledPrinter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        take_kernels(cls.folder / "inductor2")
        cls.bare = cls.run_victim(2, preload=False)
        keep_kernels(cls.folder / "inductor2")
        assert cls.bare.code == 0, cls.bare.stderr
        cls.seen = cls.run_victim(2, preload=True, AOTI_DBG_LEVEL="2", AOTI_DBG_OUT="seen")
        events = events_in(cls.folder / "seen")
        cls.sites = {event["kernel"]: event for event in events if event["event"] == "site"}
        cls.calls = [event for event in events if event["event"] == "call"]
        # One entry for each tensor on each side of each call, in order.
        cls.tensors = [
            {**argument, "side": call["side"], "kernel": call.get("kernel", "")}
            for call in cls.calls
            for argument in call.get("arguments", [])
        ]

    @classmethod
    def run_victim(cls, level: int, preload: bool, cases: list[str] = CASES, **environment: str) -> support.Outcome:
        environment["TORCHINDUCTOR_CACHE_DIR"] = str(cls.folder / f"inductor{level}")
        environment["AOT_INDUCTOR_DEBUG_INTERMEDIATE_VALUE_PRINTER"] = str(level)
        return support.run_victim(
            "cpu", *cases, folder=cls.folder, preload=preload, script="compiled_victim.py", **environment
        )

    def test_the_printer_prints_the_same_under_the_library(self):
        self.assertEqual(self.seen.code, 0, self.seen.stderr)
        self.assertEqual(self.seen.stdout, self.bare.stdout)

    def test_each_line_of_the_printer_has_its_counterpart_with_the_same_numbers(self):
        printed = printed_by_pytorch(self.bare.stdout)
        self.assertGreater(len(printed), 20)
        self.assertEqual({one["kernel"] for one in printed}, {"extern_kernels.addmm", "extern_kernels.bmm"})
        ours = iter(self.tensors)
        for one in printed:
            # In order: the search goes on behind the last counterpart.
            key = [one["side"], one["kernel"], one["label"]]
            same = next((our for our in ours if [our["side"], our["kernel"], our["label"]] == key), None)
            self.assertIsNotNone(same, one)
            self.assertEqual(f"torch.Size({same['sizes']})", one["Size"])
            self.assertEqual(math.prod(same["sizes"]), int(one["Number of elements"]))
            self.assertEqual(as_float32(same["min"]), as_float32(one["Min"]), one)
            self.assertEqual(as_float32(same["max"]), as_float32(one["Max"]), one)
            self.assertAlmostEqual(same["mean"], float(one["Mean"]), places=6, msg=str(one))

    def test_each_file_of_the_printer_has_the_same_tensor(self):
        take_kernels(self.folder / "inductor1", of=self.folder / "inductor2")
        self.assertEqual(self.run_victim(1, preload=False, cases=PRINTED).code, 0)
        theirs = {path.stem: torch.load(path) for path in self.folder.glob("tmp/jit_inductor/*.pt")}
        self.assertGreater(len(theirs), 10)
        seen = self.run_victim(1, preload=True, cases=PRINTED, AOTI_DBG_LEVEL="1", AOTI_DBG_OUT="saved")
        self.assertEqual(seen.code, 0, seen.stderr)
        again = {path.stem: torch.load(path) for path in self.folder.glob("tmp/jit_inductor/*.pt")}
        for name, tensor in theirs.items():
            self.assertTrue(torch.equal(tensor, again[name]), name)
            # The printer overwrites the files of earlier calls.
            ours = sorted(self.folder.glob(f"saved/**/{name}_cpu.pt"))
            self.assertTrue(ours, name)
            self.assertTrue(torch.equal(tensor.detach(), torch.load(ours[-1])), name)

    def test_kernels_have_their_ops_although_the_printer_is_between(self):
        for kernel in ("extern_kernels.addmm", "extern_kernels.bmm"):
            self.assertIn("aten." + kernel.split(".")[1], self.sites[kernel]["original_aten"])

    def test_what_the_printer_leaves_out_is_as_in_eager_pytorch(self):
        for (side, kernel, label), eager in eager_values().items():
            key = [side, kernel, label]
            ours = next(one for one in self.tensors if [one["side"], one["kernel"], one["label"]] == key)
            with self.subTest(kernel=kernel, label=label):
                self.assertEqual(ours["sizes"], list(eager.shape))
                eager = eager.double()
                if "nan" in ours:
                    self.assertEqual(ours["nan"], eager.isnan().sum())
                    ours, eager = ours["finite"], eager[eager.isfinite()]
                self.assertAlmostEqual(ours["mean"], eager.mean().item(), places=6)
                self.assertAlmostEqual(ours["min"], eager.min().item(), places=5)
                self.assertAlmostEqual(ours["max"], eager.max().item(), places=5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
