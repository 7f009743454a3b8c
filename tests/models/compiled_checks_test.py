"""The checks of functions that torch.compile compiled in place: what their wrappers assert, the tensors that they pass,
and what --on-finding does. compiled_checks_victim.py runs bare, which compiles them, and then under the library.
"""

import pathlib
import re
import signal
import tempfile
import unittest

import support
from compiled_support import keep_kernels, take_kernels


class CompiledChecks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        take_kernels(cls.folder / "inductor")
        cls.bare = cls.run_victim(preload=False)
        keep_kernels(cls.folder / "inductor")
        cls.seen = cls.run_victim(preload=True, AOTI_DBG_CHECK="args", AOTI_DBG_LOG="stderr")
        assert cls.bare.code == 0, cls.bare.stderr

    @classmethod
    def run_victim(cls, *cases: str, preload: bool, **environment: str) -> support.Outcome:
        environment = {"AOTI_DBG_LEVEL": "", "TORCHINDUCTOR_CACHE_DIR": str(cls.folder / "inductor"), **environment}
        return support.run_victim(
            *cases, folder=cls.folder, preload=preload, script="compiled_checks_victim.py", **environment
        )

    def lines_of(self, case: str, outcome: support.Outcome) -> list[str]:
        return [line.removeprefix(case + " ") for line in outcome.stdout.splitlines() if line.startswith(case + " ")]

    def titles(self, outcome: support.Outcome) -> list[str]:
        """Return what the findings say, in order."""
        lines = [line for line in outcome.stderr.splitlines() if line.startswith("[ finding ")]
        return [line.split(": ", 1)[1].removesuffix(" ]") for line in lines]

    def test_the_program_prints_the_same(self):
        self.assertEqual(self.seen.code, 0, self.seen.stderr)
        self.assertEqual(self.seen.stdout, self.bare.stdout)

    def test_all_wrong_inputs_of_a_run_are_found_before_pytorch_stops_at_the_first(self):
        self.assertIn("AssertionError", self.lines_of("inputs", self.bare)[1])
        inputs = [title for title in self.titles(self.seen) if title.startswith("model")]
        self.assertEqual(
            inputs,
            [
                "model input arg0_1: expected size 4 at dim 0, got 5 (shape [5, 6])",
                "model input arg1_1: expected stride 4 at dim 0, got 1 (strides [1, 6])",
            ],
        )

    def test_without_assertions_nothing_is_expected_and_the_closing_line_says_so(self):
        self.assertIn("; 1 model with inputs that cannot be checked;", self.seen.stderr)

    def test_a_result_that_differs_from_its_fake_implementation_is_found_also_with_symbolic_sizes(self):
        found = [title for title in self.titles(self.seen) if " result " in title]
        self.assertEqual(len(found), 2, found)
        self.assertRegex(found[0], r"checks\.transposed\.default result buf\d: expected stride 6 at dim 0, got 1")
        self.assertRegex(found[1], r"checks\.shifted\.default result buf\d: expected 16-byte alignment, got an offset")
        self.assertIn("torch.library.opcheck", self.seen.stderr)
        self.assertRegex(self.seen.stderr, r"transposed(.*\n){2}  where +model \d, run \d, call 0, line \d+ of")

    def test_a_tensor_whose_storage_was_freed_is_found(self):
        found = [title for title in self.titles(self.seen) if "storage of at least 96 bytes" in title]
        self.assertTrue(found, self.seen.stderr)
        self.assertRegex(found[0], r" argument arg\d_1: .*got 0 bytes$")

    def test_an_op_that_raises_is_found_but_not_an_interrupt(self):
        self.assertEqual(len(self.lines_of("exceptions", self.bare)), 2)
        raised = [title for title in self.titles(self.seen) if "aoti_dbg_checks.raising" in title]
        self.assertEqual(raised, ["torch.ops.aoti_dbg_checks.raising.default: expected success, got an exception"])

    def test_with_raise_only_runs_with_a_finding_fail_with_its_sentence(self):
        """The exceptions of PyTorch stay as they are."""
        failed = self.run_victim(
            "inputs", "results", "nans", "backward", preload=True, AOTI_DBG_CHECK="args,nan",
            AOTI_DBG_ON_FINDING="raise", AOTI_DBG_LOG="stderr",
        )  # fmt: skip
        self.assertEqual(failed.code, 0, failed.stderr)
        self.assertEqual(self.lines_of("inputs", failed), self.lines_of("inputs", self.bare))
        self.assertEqual(self.lines_of("results", failed), self.lines_of("results", self.bare))
        nans = self.lines_of("nans", failed)
        self.assertEqual(nans[0::2], self.lines_of("nans", self.bare)[0::2])
        sentence = re.compile(
            r"RuntimeError aoti-dbg AD1102: NaN in buf0, first made by cpp_fused_log_mul_0 "
            r"\((model \d \(torch.compile \d/\d [^)]*\)), run (\d+), call 0, line \d+ of the wrapper source\)"
        )
        (model, run), (model_again, later) = [sentence.fullmatch(line).groups() for line in nans[1::2]]
        self.assertEqual((model_again, int(later)), (model, int(run) + 2))
        backward = self.lines_of("backward", failed)
        self.assertRegex(backward[0], r"^RuntimeError aoti-dbg AD1102: NaN in buf\d, first made by cpp_fused")
        self.assertEqual(backward[1], self.lines_of("backward", self.bare)[1])

    def test_with_abort_the_program_ends_at_the_finding(self):
        ended = self.run_victim(
            "inputs", preload=True, AOTI_DBG_CHECK="args", AOTI_DBG_ON_FINDING="abort", AOTI_DBG_LOG="stderr"
        )
        self.assertEqual(ended.code, -signal.SIGABRT, ended.stderr)
        self.assertEqual(self.titles(ended), ["model input arg0_1: expected size 4 at dim 0, got 5 (shape [5, 6])"])
        self.assertEqual(len(self.lines_of("inputs", ended)), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
