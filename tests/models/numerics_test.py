"""aoti-dbg diff on runs that may differ by rounding: numerics_victim.py runs the same models in several precisions,
with errors on purpose. Rounding must raise no alarm, and each error must be named.

AOTI_DBGTEST_TOOL is the path of the command.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import support
from compiled_support import keep_kernels, take_kernels

tool = os.environ["AOTI_DBGTEST_TOOL"]
root = pathlib.Path(__file__).resolve().parents[2]
MODELS = ("Perceptron", "Attention", "Convolution", "Residual")
# The runs of a model, and the kernel with the error of 1%.
FLOAT32, BFLOAT16, WITH_ERROR, MORE_ROWS = range(4)
RUNS = 4
WRONG = ("gelu", "softmax", "batch_norm", "tanh")
CHANGED = len(MODELS) * RUNS


class Numerics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.addClassCleanup(support.collect_outputs, cls.folder)
        package = cls.folder / "python" / "aoti_dbg"
        shutil.copytree(root / "python" / "aoti_dbg", package)
        package.joinpath("_version.py").write_text('version = "0"\n')
        cls.folder.joinpath("references").mkdir()
        take_kernels(cls.folder / "inductor")
        recorded = support.run_victim(
            "references", folder=cls.folder, preload=True, script="numerics_victim.py", PYTHONPATH=str(package.parent),
            TORCHINDUCTOR_CACHE_DIR=str(cls.folder / "inductor"), AOTI_DBG_LEVEL="", AOTI_DBG_RECORD="bits",
            AOTI_DBG_OUT="recorded",
        )  # fmt: skip
        keep_kernels(cls.folder / "inductor")
        assert recorded.code == 0, recorded.stderr

    def diff(self, *arguments: str, code: int) -> dict:
        done = subprocess.run(
            [tool, "diff", "--format", "json", *arguments], cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        (self.folder / f"diff{len(list(self.folder.glob('diff*')))}.json").write_text(done.stdout)
        return json.loads(done.stdout)

    def against(self, name: str, run: int, code: int) -> dict:
        return self.diff("recorded", "--against", f"references/{name}", "--runs", f"{run}:{run + 1}", code=code)

    def text(self, *arguments: str) -> str:
        return subprocess.run([tool, "diff", *arguments], cwd=self.folder, capture_output=True, text=True).stdout

    def runs(self, first: int, second: int, *arguments: str, code: int) -> dict:
        return self.diff("recorded", "--runs", f"{first},{second}", *arguments, code=code)

    def test_another_precision_raises_no_alarm(self):
        for number, name in enumerate(MODELS):
            with self.subTest(name):
                found = self.runs(number * RUNS + FLOAT32, number * RUNS + BFLOAT16, code=0)
                self.assertEqual(found["tolerance"], {"rule": "automatic", "derived_runs": 1})
                self.assertGreater(found["calls"]["other_bits"], 4)
                self.assertEqual(found["calls"]["diverge"], 0)

    def test_an_error_of_one_percent_in_another_precision_is_named(self):
        for number, name in enumerate(MODELS):
            with self.subTest(name):
                found = self.runs(number * RUNS + FLOAT32, number * RUNS + WITH_ERROR, code=1)
                first = found["divergences"][0]
                # The kernels of attention have other names in bfloat16, so the reader of the result shows it.
                is_alone = first["origin"] == "alone"
                named = found["only_second"]["kernels"][0] if is_alone else first["kernel"]
                self.assertIn(WRONG[number], named)
                self.assertEqual(is_alone, name == "Attention")
                self.assertAlmostEqual(first["spread"]["shift"], 0.01, delta=0.003)
                self.assertLess(first["allowed"]["shift"], first["spread"]["shift"])

    def test_a_result_in_eager_mode_is_a_reference_for_each_precision(self):
        for number, name in enumerate(MODELS):
            for run in (FLOAT32, BFLOAT16):
                with self.subTest(name, run=run):
                    found = self.against(name, number * RUNS + run, code=0)
                    calls = found["calls"]
                    self.assertEqual(calls["diverge"], 0)
                    self.assertGreaterEqual(calls["equal"] + calls["close"] + calls["not_seen"], calls["compared"] - 1)

    def test_an_error_of_one_percent_is_named_by_the_reference(self):
        for number, name in enumerate(MODELS):
            with self.subTest(name):
                found = self.against(name, number * RUNS + WITH_ERROR, code=1)
                self.assertEqual(found["divergences"][0]["origin"], "call")
                self.assertIn(WRONG[number], found["divergences"][0]["kernel"])
                if name == "Perceptron":
                    self.assertEqual(found["divergences"][0]["module"], "activation")

    def test_another_batch_size_is_an_input_that_differs(self):
        for number, name in enumerate(MODELS):
            with self.subTest(name):
                found = self.runs(number * RUNS + FLOAT32, number * RUNS + MORE_ROWS, code=1)
                self.assertEqual([one["evidence"] for one in found["inputs"]], ["shape"])
                self.assertEqual(found["calls"]["diverge"], 0)
                self.assertEqual(found["only_first"]["calls"] + found["only_second"]["calls"], 0)

    def test_another_op_is_named_as_the_writer_that_only_one_recording_has(self):
        found = self.runs(FLOAT32, CHANGED, code=1)
        self.assertEqual(found["divergences"][0]["origin"], "alone")
        self.assertEqual(found["only_second"]["kernels"], ["cpp_fused_silu_1"])
        self.assertIn("gelu", found["only_first"]["kernels"][0])

    def test_a_tolerance_decides_what_counts(self):
        found = self.runs(FLOAT32, BFLOAT16, "--rtol", "0.05", "--atol", "0.05", code=0)
        self.assertEqual(found["calls"]["diverge"], 0)
        for tolerance in (("--rtol", "1e-6"), ("--tolerance", "bits")):
            found = self.runs(FLOAT32, BFLOAT16, *tolerance, code=1)
            self.assertEqual(found["runs_with_other_inputs"], 1)
        self.runs(FLOAT32, BFLOAT16, "--fail-on", "bits", code=1)
        found = self.runs(FLOAT32, WITH_ERROR, "--kernels", "extern_kernels.*", code=1)
        self.assertEqual(found["calls"]["compared"], 3)

    def test_of_several_ranks_the_one_that_computed_something_else_is_named(self):
        events = (self.folder / "recorded" / "events.jsonl").read_text()
        after = next(line for line in events.splitlines() if '"side":"after"' in line)
        for rank in range(3):
            # Rank 0 is the odd one: its first kernel wrote other bits.
            other = re.sub(r'"hash":"....', '"hash":"0000', after)
            own = events.replace(after, other) if rank == 0 else events
            folder = self.folder / "ranks" / f"rank{rank}"
            folder.mkdir(parents=True)
            (folder / "events.jsonl").write_text(own.replace('"rank":""', f'"rank":"{rank}"', 1))
        done = subprocess.run(
            [tool, "diff", "--ranks", "ranks", "--format", "json"], cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 1, done.stderr)
        (self.folder / "ranks0.json").write_text(done.stdout)
        found = json.loads(done.stdout)
        self.assertEqual(found["reference"]["name"], "rank 1")
        others = [(one["name"], one["differs"]) for one in found["ranks"]]
        self.assertEqual(others, [("rank 0", True), ("rank 2", False)])
        self.assertEqual(found["ranks"][0]["diff"]["divergences"][0]["call"], 0)
        first = self.text("--ranks", "ranks").splitlines()[0]
        self.assertEqual(first, "3 ranks, compared with rank 1: ranks/rank1/events.jsonl")

    def test_the_text_says_which_rule_decided(self):
        text = self.text("recorded", "--runs", "0,1")
        self.assertTrue(text.startswith("no difference above the tolerance seen\n"), text)
        self.assertIn("\ntolerance: derived from dtypes, ", text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
