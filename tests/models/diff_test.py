"""aoti-dbg diff on real models: diff_victim.py is recorded twice. What differs between two runs must be named.

AOTI_DBGTEST_TOOL is the path of the command.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import support

tool = os.environ["AOTI_DBGTEST_TOOL"]


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.addClassCleanup(support.collect_outputs, cls.folder)
        for name, what, level in (("first", "bits", ""), ("second", "bits", ""), ("saved", "full", ""), ("files", "", "1")):
            recorded = support.run_victim(
                folder=cls.folder, preload=True, script="diff_victim.py",
                AOTI_DBG_LEVEL=level, AOTI_DBG_RECORD=what, AOTI_DBG_OUT=name,
            )  # fmt: skip
            assert recorded.code == 0, recorded.stderr
            assert all(path.read_text().strip("\0") == "" for path in cls.folder.glob("log.*")), "calls were printed"

    def diff(self, *arguments: str, code: int) -> subprocess.CompletedProcess:
        done = subprocess.run([tool, "diff", *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def difference(self, *arguments: str, code: int = 1) -> dict:
        printed = self.diff("--format", "json", *arguments, code=code).stdout
        (self.folder / f"diff{len(list(self.folder.glob('diff*')))}.json").write_text(printed)
        return json.loads(printed)

    def test_two_runs_with_the_same_input_are_equal(self):
        found = self.difference("first", "--runs", "0,1", code=0)
        self.assertEqual(found["verdict"], "equal")
        self.assertEqual(found["calls"]["equal"], 4)
        self.assertEqual(self.diff("first", "--runs", "0,1", code=0).stdout.splitlines()[0], "equal")

    def test_a_weight_that_was_changed_is_named(self):
        found = self.difference("first", "--runs", "1,2")
        (beginning,) = found["divergences"]
        self.assertEqual((beginning["origin"], beginning["tensor"]["fqn"]), ("constant", "second.weight"))
        self.assertEqual(beginning["call"], 2)
        self.assertEqual(beginning["equal_before"], 2)
        self.assertEqual(beginning["tensor"]["elements"]["different"], 1)
        self.assertAlmostEqual(beginning["tensor"]["elements"]["largest_absolute"], 0.5, places=5)
        self.assertEqual(found["calls"]["follow"], 1)
        text = self.diff("first", "--runs", "1,2", code=1).stdout
        self.assertIn("aoti_torch_cpu_addmm_out — weight second.weight differs\n", text)
        self.assertIn("1 of 64 elements differs, max |Δ| 0.5, first at [", text)

    def test_the_elements_of_a_large_tensor_are_compared_if_both_recordings_saved_them(self):
        (beginning,) = self.difference("first", "--runs", "2,4")["divergences"]
        self.assertEqual((beginning["call"], beginning["tensor"]["fqn"]), (0, "first.weight"))
        self.assertNotIn("elements", beginning["tensor"])
        (beginning,) = self.difference("saved", "--runs", "2,4")["divergences"]
        elements = beginning["tensor"]["elements"]
        self.assertEqual((elements["count"], elements["different"]), (160, 1))
        # The kernel gets the transposed weight.
        self.assertEqual((beginning["tensor"]["first"]["sizes"], elements["first"]), ([10, 16], 2 * 16 + 1))
        self.assertAlmostEqual(elements["largest_absolute"], 0.5, places=5)
        text = self.diff("saved", "--runs", "2,4", code=1).stdout
        self.assertIn("1 of 160 elements differs, max |Δ| 0.5, first at [2, 1]", text)

    def test_saved_tensors_alone_are_compared(self):
        self.assertFalse((self.folder / "files" / "events.jsonl").exists())
        self.assertEqual(self.difference("files", "--runs", "0,1", code=0)["calls"]["equal"], 4)
        (beginning,) = self.difference("files", "--runs", "1,2")["divergences"]
        self.assertEqual((beginning["origin"], beginning["tensor"]["fqn"]), ("constant", "second_weight"))
        self.assertEqual(beginning["tensor"]["elements"]["different"], 1)
        found = self.difference("files", "--runs", "5,6")
        self.assertEqual([one["kernel"] for one in found["divergences"]], ["mylib::my_op"])
        self.assertEqual(self.difference("files", "--runs", "2,3")["divergences"], [])

    def test_another_input_comes_first(self):
        text = self.diff("first", "--runs", "2,3", code=1).stdout
        self.assertTrue(text.startswith("inputs differ in 1 run, first in run 2:\n  arg4_1 f32[8,10]: "), text)
        self.assertIn("\nno divergence: every difference follows from the inputs\n", text)

    def test_an_op_with_random_results_is_named(self):
        found = self.difference("first", "--runs", "5,6")
        first = found["divergences"][0]
        self.assertEqual((first["kernel"], first["origin"], first["call"]), ("mylib::my_op", "call", 1))

    def test_two_recordings_differ_only_by_the_random_op(self):
        found = self.difference("first", "second")
        self.assertEqual(found["runs"], 7)
        self.assertEqual({one["kernel"] for one in found["divergences"]}, {"mylib::my_op"})
        self.assertEqual({one["run"] for one in found["divergences"]}, {5, 6})
        self.assertEqual(found["only_first"]["calls"] + found["only_second"]["calls"], 0)

    def test_what_cannot_be_compared_is_an_error(self):
        self.assertIn("no such file", self.diff("first", "missing", code=2).stderr)
        self.assertIn("--runs A,B", self.diff("first", code=2).stderr)
        self.assertIn("has no run 99", self.diff("first", "--runs", "0,99", code=2).stderr)
        (self.folder / "empty").mkdir()
        self.assertIn("no events.jsonl", self.diff("first", "empty", code=2).stderr)
        (self.folder / "foreign.jsonl").write_text('{"event":"other"}\nnot JSON\n')
        self.assertIn("has no runs", self.diff("foreign.jsonl", "foreign.jsonl", code=2).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
