"""Scripts of captured calls (`aoti-dbg replay --python`) on real models: each op that can be repeated must give the
recorded results again, bit by bit. All scripts run in this process, because importing torch takes seconds.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support
from compiled_support import keep_kernels, take_kernels

# The custom ops must be registered here, too.
with mock.patch.object(sys, "argv", ["", "cpu"]):
    import compiled_victim  # noqa: F401
import models  # noqa: F401

# Code, without blank lines. Lists of more than a few tensors take more.
MOST_LINES = 60
# Their weights are packed by mkldnn, which no file can hold.
PACKED = {"aoti_torch_cpu_mkldnn__convolution_pointwise", "aoti_torch_cpu__linear_pointwise"}
PACKAGES = (
    "fallback_ops", "linear_softmax", "frozen_conv", "embedding_index_put", "custom_op", "transformer",
    "masked_attention", "views_and_bits", "dynamic_batch",
)  # fmt: skip


def replay(*arguments: object) -> subprocess.CompletedProcess:
    command = [os.environ["AOTI_DBGTEST_TOOL"], "replay", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def run(script: pathlib.Path, *arguments: str) -> tuple[object, list[str]]:
    """Run a script here. Return its exit code and its lines."""
    said = io.StringIO()
    with mock.patch.object(sys, "argv", [str(script), *arguments]), contextlib.redirect_stdout(said):
        try:
            runpy.run_path(str(script), run_name="__main__")
            code: object = "no exit"
        except SystemExit as end:
            code = end.code
    return code, said.getvalue().splitlines()


class Recording:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.records = {path: json.loads(path.read_text()) for path in sorted(folder.glob("launches/run*.json"))}

    def place(self, op: str) -> pathlib.Path:
        return next(path for path, record in self.records.items() if record["op"] == op)

    def script(self, record: pathlib.Path) -> pathlib.Path:
        return self.folder / f"{record.stem}.py"


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def capture(self, script: str, *arguments: str) -> Recording:
        take_kernels(self.folder / "inductor")
        outcome = support.run_victim(
            *arguments, folder=self.folder, preload=True, script=script, AOTI_DBG_CAPTURE="*", AOTI_DBG_LEVEL="",
            AOTI_DBG_OUT=str(self.folder / "out"), TORCHINDUCTOR_CACHE_DIR=str(self.folder / "inductor"),
        )  # fmt: skip
        keep_kernels(self.folder / "inductor")
        self.assertEqual(outcome.code, 0, outcome.stderr)
        self.assertIn(" launches captured; ", outcome.stderr)
        support.collect_outputs(self.folder)
        return Recording(self.folder / "out")

    def assert_repeats(self, recording: Recording) -> set[str]:
        """Run the scripts of all calls. Return the ops that have none."""
        refused = set()
        for path, record in recording.records.items():
            with self.subTest(op=record["op"], call=path.stem):
                script = recording.script(path)
                written = replay("--python", script, path)
                if written.returncode != 0:
                    refused.add(record["op"])
                    continue
                self.assertLessEqual(sum(map(bool, script.read_text().splitlines())), MOST_LINES)
                code, lines = run(script)
                self.assertEqual(code, 0, lines)
                self.assertTrue(lines)
                self.assertEqual({line.rpartition(": ")[2] for line in lines}, {"equal"})
        return refused

    def test_each_op_of_a_package_gives_the_recorded_results_again(self):
        recording = self.capture("victim.py", "sweep", "released", "-", *PACKAGES)
        self.assertEqual(self.assert_repeats(recording), PACKED)
        ops = {record["op"] for record in recording.records.values()}
        self.assertLessEqual({"aoti_torch_cpu_addmm_out", "aoti_torch_cpu_sort_stable"}, ops)
        self.assertTrue(any("my_op" in op for op in ops))
        self.assert_refusals(recording)
        self.assert_differences(recording)
        self.assert_bundled(recording)

    def assert_bundled(self, recording: Recording) -> None:
        """A script of a bundle loads the tensors from the bundle, and from a folder that it is unpacked into."""
        bundle, script = self.folder / "one.aotidbg", self.folder / "bundled.py"
        record = json.loads(recording.place("aoti_torch_cpu_sort_stable").read_text())
        place = ["--runs", record["run"], "--calls", record["call"]]
        command = [os.environ["AOTI_DBGTEST_TOOL"], "bundle", *place, "--output", bundle, recording.folder]
        subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=60)
        written = replay("--python", script, bundle)
        self.assertEqual(written.returncode, 0, written.stderr)
        text = script.read_text()
        self.assertLessEqual(sum(map(bool, text.splitlines())), MOST_LINES)
        self.assertRegex(text, r"\nModel: .+, torch 2\.\d+")
        moved, unpacked = self.folder / "moved.aotidbg", self.folder / "unpacked"
        shutil.copy(bundle, moved)
        shutil.unpack_archive(bundle, unpacked, "zip")
        code, lines = run(script)
        self.assertEqual(code, 0, lines)
        self.assertEqual({line.rpartition(": ")[2] for line in lines}, {"equal"})
        bundle.unlink()
        for copy in (moved, unpacked):
            self.assertEqual(run(script, str(copy)), (0, lines))
        of_folder = replay("--python", self.folder / "unpacked.py", unpacked)
        self.assertEqual(of_folder.returncode, 0, of_folder.stderr)
        self.assertEqual(run(self.folder / "unpacked.py"), (0, lines))

    def assert_refusals(self, recording: Recording) -> None:
        packed = replay("--python", self.folder / "packed.py", recording.place(next(iter(PACKED))))
        self.assertEqual(packed.returncode, 2)
        self.assertIn("is not a strided tensor (for example a weight packed by mkldnn), so it is not saved", packed.stderr)
        many = replay("--python", self.folder / "many.py", recording.folder)
        self.assertEqual(many.returncode, 2)
        self.assertIn("are selected. Select one with --runs and --calls: run 0, call ", many.stderr)
        self.assertEqual(list(self.folder.glob("*.py")), [])
        ops = replay(recording.folder)
        self.assertEqual(ops.returncode, 2)
        self.assertEqual(len(ops.stdout.splitlines()), len(recording.records))
        self.assertIn(": an op; write its script with --python", ops.stdout)

    def assert_differences(self, recording: Recording) -> None:
        """A changed input gives other results. The recording can be elsewhere."""
        import torch

        moved = self.folder / "moved"
        shutil.copytree(recording.folder, moved)
        record = recording.place("aoti_torch_cpu_addmm_out")
        script = recording.script(record)
        self.assertEqual(run(script, str(moved))[0], 0)
        call = moved / "tensors" / record.stem.replace("-", "/")
        (bias,) = call.glob("before_launch_*bias*.pt")
        contents = torch.load(bias)
        contents[1] += 1
        torch.save(contents, bias)
        code, lines = run(script, str(moved))
        self.assertEqual(code, 1)
        self.assertRegex(lines[0], r"^buf\d+: \d+ of \d+ elements differ, first at 1$")

    def test_each_op_of_a_compiled_function_gives_the_recorded_results_again(self):
        cases = ("mlp", "conv", "attention", "dynamic", "symbolic", "sorting", "custom_op", "training")
        recording = self.capture("compiled_victim.py", "cpu", *cases)
        self.assertEqual(self.assert_repeats(recording), set())
        ops = {record["op"] for record in recording.records.values()}
        self.assertLessEqual({"extern_kernels.addmm", "torch.ops.aten.sort.stable"}, ops)
        self.assertIn("torch.ops.aoti_dbg_victim.twice.default", ops)
        text = recording.script(recording.place("torch.ops.aten.sort.stable")).read_text()
        self.assertRegex(text, r"\nbuf\d+ = torch\.ops\.aten\.sort\.stable\(")


if __name__ == "__main__":
    unittest.main(verbosity=2)
