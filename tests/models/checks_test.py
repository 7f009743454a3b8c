"""AOTI_DBG_CHECK=args on real models: each input that differs from the export is reported once and
correctly. Inputs that fit produce no finding."""

import json
import pathlib
import re
import tempfile
import unittest

import packages
import support

title = re.compile(r"^\[ finding \d+: (.+) \]$", re.MULTILINE)

# The findings for wrong_inputs() in victim.py, in order.
WRONG = [
    "model input arg2_1: expected size ≤ 512 at dim 0, got 513 (shape [513, 12])",
    "model input arg2_1: expected stride 12 at dim 0, got 1 (strides [1, 6])",
    "model input arg2_1: expected rank 2, got 3 (shape [2, 6, 12])",
    "model input arg4_1: expected size 8 at dim 0, got 7 (shape [7, 10])",
    "model input arg4_1: expected dtype float32, got float64",
    "model: expected 1 input, got 2",
]
# Without a description of the inputs, only their number is known.
REPORTED = WRONG if support.describes_inputs else WRONG[-1:]


class Checks(support.Test):
    @classmethod
    def setUpClass(cls):
        """Run with the wrong inputs, bare and with the check, for all tests."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.place = pathlib.Path(folder.name)
        cls.addClassCleanup(support.collect_outputs, cls.place)
        cls.wrong_bare = support.run_victim("wrong_inputs", folder=cls.place, preload=False)
        cls.wrong = support.run_victim(
            "wrong_inputs", folder=cls.place, preload=True, AOTI_DBG_LEVEL="", AOTI_DBG_CHECK="args"
        )

    def seen(self, *arguments: str, **environment: str) -> support.Outcome:
        """Run without a level, so that only findings are printed."""
        variables = {"AOTI_DBG_LEVEL": "", "AOTI_DBG_CHECK": "args", **environment}
        return support.run_victim(*arguments, folder=self.folder, preload=True, **variables)

    def log(self, outcome: support.Outcome) -> str:
        return "".join(path.read_text() for path in outcome.log.parent.glob(outcome.log.name))

    def bare(self, *arguments: str) -> support.Outcome:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return support.run_victim(*arguments, folder=pathlib.Path(folder.name), preload=False)

    def test_each_wrong_input_is_reported_with_expected_and_actual_and_the_program_does_not_notice(self):
        self.assert_alike(self.wrong_bare, self.wrong)
        reported = title.findall(self.log(self.wrong))
        self.assertEqual([line for line in reported if "expected success" not in line], REPORTED)

    @support.as_inputs_are_described
    def test_a_wrong_dtype_is_an_event_with_the_input_and_advice(self):
        path = self.place / "aoti_dbg" / "latest" / "events.jsonl"
        events = [json.loads(line) for line in path.read_text().splitlines()]
        (dtype,) = [event for event in events if event["event"] == "finding" and event.get("check") == "dtype"]
        self.assertEqual(dtype["kind"], "argument")
        self.assertEqual((dtype["expected"], dtype["found"]), ("float32", "float64"))
        self.assertEqual((dtype["tensor"]["label"], dtype["tensor"]["sizes"]), ("arg4_1", [8, 10]))
        self.assertIn("arg4_1.to(torch.float32)", dtype["advice"])

    @unittest.skipIf(support.release < (2, 7), "PyTorch 2.6 frees an invalid pointer after this update")
    def test_a_view_of_a_weight_that_became_too_small_is_reported_after_runs_in_which_it_was_not(self):
        outcome = self.seen("small_weight")
        self.assert_alike(self.bare("small_weight"), outcome)
        self.assertNotIn("Error", outcome.stdout)
        (reported,) = title.findall(self.log(outcome))
        self.assertRegex(reported, r"^aoti_torch__reinterpret_tensor: expected a storage of at least 256 bytes .*, got 16 bytes$")

    def test_no_sound_model_has_a_finding_and_all_of_them_are_checked(self):
        outcome = self.seen("sweep", "released", "-")
        self.assertEqual((outcome.code, self.log(outcome)), (0, ""), outcome.stderr)
        self.assertRegex(outcome.stderr, rf"info: {len(packages.chosen_models())} models, ")
        self.assertEqual("cannot be checked" not in outcome.stderr, support.describes_inputs, outcome.stderr)
        self.assertNotIn("finding", outcome.stderr)

    def test_an_op_that_fails_is_reported_by_name(self):
        outcome = self.seen("errors")
        self.assert_alike(self.bare("errors"), outcome)
        reported = title.findall(self.log(outcome))
        self.assertIn("mylib::my_op: expected success, got error 1", reported)
        self.assertIn("aoti_torch_cpu_addmm_out: expected success, got error 1", reported)

    @support.as_inputs_are_described
    def test_raise_fails_a_run_that_would_have_given_an_answer(self):
        outcome = self.seen("wrong_inputs", AOTI_DBG_ON_FINDING="raise")
        self.assertEqual(outcome.code, 0, outcome.stderr)
        ended = dict(line.split(": ", 1) for line in outcome.stdout.splitlines())
        bare = dict(line.split(": ", 1) for line in self.wrong_bare.stdout.splitlines())
        self.assertNotIn("RuntimeError", bare["beyond the bounds"])
        for wrong in ("beyond the bounds", "other strides"):
            self.assertIn("RuntimeError", ended[wrong])
        for right in ("one of a dynamic size", "odd strides of one element", "other strides of an op's input"):
            self.assertEqual(ended[right], bare[right])

    @support.as_inputs_are_described
    def test_the_line_that_the_block_prints_silences_it(self):
        entry = re.findall(r"^  suppress +(args in .+ - arg2_1)$", self.log(self.wrong), re.MULTILINE)[0]
        reported = title.findall(self.log(self.seen("wrong_inputs", AOTI_DBG_SUPPRESS=entry)))
        self.assertEqual([line for line in reported if "arg2_1" in line], [])
        self.assertIn(WRONG[4], reported)

    def test_triage_looks_for_them_unless_the_option_says_otherwise(self):
        triaged = self.seen("wrong_inputs", AOTI_DBG_TRIAGE="on", AOTI_DBG_CHECK="")
        self.assertIn(REPORTED[0], title.findall(self.log(triaged)))
        for path in self.folder.glob("log.*"):
            path.unlink()
        self.assertEqual(self.log(self.seen("wrong_inputs", AOTI_DBG_TRIAGE="on", AOTI_DBG_CHECK="none")), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
