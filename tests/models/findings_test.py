"""Findings on real models: a mask of -Inf is not a finding. The NaN of a fully masked row is one, at the
softmax that computes it. The requested action follows.
"""

import pathlib
import re
import tempfile
import unittest

import support

title = re.compile(r"^\[ finding (\d+): NaN in (\S+), first made by (cpp_fused__softmax_\d+) \]$", re.MULTILINE)


class Findings(support.Test):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        cls.bare = support.run_victim("masked", "causal", "row", "causal", folder=place, preload=False)
        assert cls.bare.code == 0, cls.bare.stderr

    def seen(self, *arguments: str, check: str = "nan,inf", **environment: str) -> support.Outcome:
        """Run without a level unless one is given, so that only findings are printed."""
        variables = {"AOTI_DBG_LEVEL": "", "AOTI_DBG_CHECK": check, **environment}
        return support.run_victim(*arguments, folder=self.folder, preload=True, **variables)

    def log(self, outcome: support.Outcome) -> str:
        return "".join(path.read_text() for path in outcome.log.parent.glob(outcome.log.name))

    def test_a_check_alone_prints_the_one_finding_and_nothing_else(self):
        outcome = self.seen("masked", "causal", "row", "causal")
        self.assert_alike(self.bare, outcome)
        first, *block = self.log(outcome).splitlines()
        self.assertRegex(first, title)
        said = {line.split()[0]: line for line in block if not line.startswith("   ")}
        self.assertEqual([line for line in block if not line.startswith("  ")], [])
        self.assertIn("run 1, call 3", said["where"])
        self.assertIn("of the wrapper source", said["where"])
        self.assertIn("first at [2, 0]", said["elements"])
        self.assertIn("69 -Inf", said["inputs"])

    def test_a_mask_of_minus_infinity_is_no_finding(self):
        outcome = self.seen("masked", "causal", "causal")
        self.assertEqual((outcome.code, self.log(outcome)), (0, ""), outcome.stderr)

    def test_no_other_model_has_a_finding(self):
        outcome = self.seen("sweep", "released", "-")
        self.assertEqual(outcome.code, 0, outcome.stderr)
        self.assertEqual(self.log(outcome).count("[ finding "), 1, self.log(outcome))
        self.assertRegex(self.log(outcome), title)

    def test_raise_fails_each_run_that_has_one_and_no_other(self):
        for level in ("", "2"):
            with self.subTest(level=level):
                words = ("causal", "row", "causal", "row")
                outcome = self.seen("masked", *words, AOTI_DBG_LEVEL=level, AOTI_DBG_ON_FINDING="raise")
                self.assertEqual(outcome.code, 0, outcome.stderr)
                good, bad, again, bad_again = outcome.stdout.splitlines()
                self.assertEqual([good, again], [self.bare.stdout.splitlines()[i] for i in (0, 2)])
                self.assertTrue(bad.startswith("row: RuntimeError: "), bad)
                # The kernel makes NaN in two tensors. Memory that already had the same NaN is not sure to be one.
                alike = [re.sub(r"NaN in buf\d+|run \d+", "", line) for line in (bad_again, bad)]
                self.assertEqual(*alike)
                self.assertEqual(len(title.findall(self.log(outcome))), 1)
                for path in self.folder.glob("log.*"):
                    path.unlink()

    @unittest.skipIf(min(support.release, support.compiled_by) < (2, 13), "PyTorch asks the model for its error since 2.13")
    def test_the_exception_says_which_finding_it_is_for(self):
        outcome = self.seen("explained", "masked_attention", AOTI_DBG_ON_FINDING="raise")
        self.assertEqual(outcome.code, 0, outcome.stderr)
        self.assertRegex(
            outcome.stdout, r"aoti-dbg AD\d+: NaN in \S+, first made by cpp_fused__softmax_\d+ \(model 0, run 0, call 3, "
        )  # fmt: skip

    def test_abort_ends_the_process_once_the_finding_is_written(self):
        outcome = self.seen("masked", "causal", "row", "causal", AOTI_DBG_ON_FINDING="abort")
        self.assertEqual(outcome.code, -6, outcome.stderr)
        self.assertEqual(outcome.stdout, self.bare.stdout.splitlines(keepends=True)[0])
        first, *_, last = self.log(outcome).rstrip("\n").splitlines()
        self.assertRegex(first, title)
        self.assertRegex(last, r"^  suppress +nan in ")

    def test_the_line_that_the_block_prints_silences_it(self):
        block = self.log(self.seen("masked", "row"))
        (entry,) = re.findall(r"^  suppress +(.+)$", block, re.MULTILINE)
        for path in self.folder.glob("log.*"):
            path.unlink()
        outcome = self.seen("masked", "causal", "row", "causal", AOTI_DBG_SUPPRESS=entry, AOTI_DBG_ON_FINDING="raise")
        self.assert_alike(self.bare, outcome)
        self.assertEqual(self.log(outcome), "")
        self.assertRegex(outcome.stderr, r"0 findings \(\d+ suppressed, ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
