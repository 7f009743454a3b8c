"""Findings on real models: a mask of -Inf is not a finding. The NaN of a fully masked row is one, at the
softmax that computes it. The requested action follows.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import zipfile

import packages
import support

tool = os.environ.get("AOTI_DBGTEST_TOOL", str(support.here.parents[1] / "build" / "release" / "aoti-dbg"))
kernel_call = re.compile(r" {4}(?:AOTI_TORCH_ERROR_CODE_CHECK\()?(cpp_fused\w+|aoti_torch_cpu_\w+_out)\(")
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

    def with_provenance(self, name: str, *, lacks: str = "none") -> pathlib.Path:
        """Copy a package as if it were compiled with INDUCTOR_PROVENANCE=1. The first kernel comes
        from line 1 of the model, the second from line 2, and so on."""
        package = self.folder / f"{lacks}.pt2"
        stacks = {}
        with zipfile.ZipFile(packages.package_path(name, packages.RELEASED)) as old, zipfile.ZipFile(package, "w") as new:
            for info in old.infolist():
                text = old.read(info)
                if support.is_wrapper(info.filename):
                    lines = text.decode().splitlines(keepends=True)
                    for at, line in enumerate(lines):
                        if called := kernel_call.match(line):
                            key = f"{called[1]}:{len(stacks) + 1}"
                            lines[at] = f"    // [Provenance debug handles] {key}\n{line}"
                            stacks[key] = f'File "/home/user/net.py", line {len(stacks) + 1}, in forward\n    return f(x)'
                    text = "".join(lines).encode()
                    folder = info.filename.rpartition("/")[0]
                new.writestr(info, text)
            known = {key: {"stack_traces": [stack]} for key, stack in stacks.items() if lacks not in key}
            new.writestr(f"{folder}/kernel_information.json", json.dumps(known))
        return package

    def test_the_block_and_the_report_name_the_python_line_that_the_package_has(self):
        for lacks, said in (("none", ["net.py:4 in forward: return f(x)"]), ("aoti_torch_cpu_mm_out", [])):
            with self.subTest(lacks=lacks):
                package = self.with_provenance("masked_attention", lacks=lacks)
                outcome = self.seen("masked", "row", AOTI_DBGTEST_PACKAGE=str(package), AOTI_DBG_OUT=lacks)
                self.assertEqual(re.findall(r"^  python +(.+)$", self.log(outcome), re.MULTILINE), said)
                report = subprocess.run([tool, "report", self.folder / lacks], capture_output=True, text=True)
                self.assertEqual(re.findall(r"^  python +(.+)$", report.stdout, re.MULTILINE), said, report)
                for path in self.folder.glob("log.*"):
                    path.unlink()

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
