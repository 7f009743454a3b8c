"""`aoti-dbg run --triage` on real models: a crash inside an op, before and after all ops, failures, findings,
and the output for CI. Nothing is compiled for this: victim.py crashes inside the custom op of `custom_op`.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import unittest
import xml.etree.ElementTree

import torch

import models
import support

tool = os.environ.get("AOTI_DBGTEST_TOOL", str(support.here.parents[1] / "build" / "release" / "aoti-dbg"))


class TriagedTest(support.Test):
    def run_triaged(self, *arguments: str, flags: tuple[str, ...] = ("--triage",), **environment: str):
        """Run victim.py with these arguments in the test's folder. Its output folder is `out`."""
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("AOTI_DBG_", "AOT_IND"))}
        if cache := os.environ.get("AOTI_DBG_CACHE"):
            variables["AOTI_DBG_CACHE"] = cache
        variables |= {"AOTI_DBG_OUT": str(self.out), **environment}
        command = [tool, "run", *flags, "--", sys.executable, str(support.here / "victim.py"), *arguments]
        finished = subprocess.run(
            command, cwd=self.folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=500
        )
        if (unpacked := self.folder / support.UNPACKED).exists():
            support.remove_unpacked(set(unpacked.read_text().splitlines()))
            unpacked.unlink()
        return finished

    @property
    def out(self) -> pathlib.Path:
        return self.folder / "out"

    def report(self, folder: pathlib.Path | None = None) -> dict:
        return json.loads(((folder or self.out) / "report.json").read_text())


class Triage(TriagedTest):
    def test_a_segmentation_fault_inside_an_op_is_the_hosts_names_op_run_and_call_and_has_one_fingerprint(self):
        fingerprints = set()
        for level in ("3", "2"):
            with self.subTest(level=level):
                verdict = self.folder / f"verdict{level}"
                flags = ("--triage", "--level", level, "--log", "/dev/null", "--out", str(self.folder / level))
                finished = self.run_triaged("segfault_inside", flags=flags, AOTI_DBG_VERDICT_FILE=str(verdict))
                self.assertEqual(finished.returncode, -11, finished.stderr)
                report = self.report(self.folder / level)
                self.assertEqual(report["class"], "host")
                self.assertEqual(report["verdict"], "segmentation fault (SIGSEGV) inside mylib::my_op (run 1, call 1)")
                call = report["call"]
                self.assertIn("mylib.my_op", call["original_aten"])
                (package,) = (self.folder / level / "evidence").iterdir()
                source = support.wrapper_in(package).read_text().splitlines()
                self.assertIn("aoti_torch_proxy_executor_call_function", source[call["line"] - 1])
                self.assertEqual(report["before"][0]["call"], 0)
                self.assertEqual(report["environment"]["package"], package.name)
                self.assertEqual(report["environment"]["torch"], torch.__version__.split("+")[0])
                arguments = {argument["label"]: argument.get("what", "") for argument in report["arguments"]}
                self.assertTrue(any("2.5" in f"{label} {what}" for label, what in arguments.items()), arguments)
                writers = {argument["written_by"] for argument in report["arguments"] if "written_by" in argument}
                self.assertEqual(writers, {f"{report['before'][0]['kernel']} (call 0)"})
                if level == "2":
                    x = torch.sin(models.build("custom_op").inputs[0])
                    (what,) = [what for what in arguments.values() if what.startswith("float32 [4, 5], ")]
                    numbers = dict(part.split() for part in what.split("], ")[1].split(", "))
                    self.assertAlmostEqual(float(numbers["max"]), x.max().item(), places=5)
                line = json.loads(verdict.read_text())
                self.assertEqual((line["kernel"], line["run"], line["call"]), ("mylib::my_op", 1, 1))
                fingerprints.add(report["fingerprint"])
        self.assertEqual(len(fingerprints), 1, fingerprints)

    def test_abort_and_exit_after_the_last_call_are_outside_of_any(self):
        finished = self.run_triaged("abort")
        self.assertEqual(finished.returncode, -6, finished.stderr)
        self.assertRegex(self.report()["verdict"], r"^aborted \(SIGABRT\) outside any call; the last call was ")
        self.assertEqual(self.report()["class"], "host")

    def test_an_exit_code_alone_is_no_crash(self):
        finished = self.run_triaged("exit_now", "3")
        self.assertEqual(finished.returncode, 3, finished.stderr)
        self.assertFalse((self.out / "report.json").exists())

    def test_os_exit_inside_an_op_is_one(self):
        finished = self.run_triaged("exit_inside", "7")
        self.assertEqual(finished.returncode, 7, finished.stderr)
        self.assertEqual(self.report()["verdict"], "the program exited with status 7 inside mylib::my_op (run 0, call 1)")

    def test_an_op_that_never_comes_back_is_a_hang_and_names_op_run_and_call(self):
        flags = ("--triage", "--hang", "5", "--on-hang", "abort")
        finished = self.run_triaged("hang_inside", flags=flags, PYTHONFAULTHANDLER="1")
        # An abort from a library thread makes Python print the stacks of its own threads.
        self.assertRegex(finished.stderr, r'models\.py", line \d+ in my_op')
        self.assertEqual(finished.returncode, -6, finished.stderr)
        report = self.report()
        self.assertEqual(report["class"], "hang")
        self.assertRegex(report["verdict"], r"^hang: mylib::my_op \(run 1, call 1\) has not returned for \d+\.\d s; the process then ended with SIGABRT")
        self.assertIn("mylib.my_op", report["call"]["original_aten"])
        self.assertEqual(report["hang"]["calls"][0]["thread"], report["ended"]["pid"])
        self.assertEqual(report["before"][0]["call"], 0)

    def test_an_exception_that_ends_the_program_is_reported_with_the_call_that_failed(self):
        finished = self.run_triaged("fail")
        self.assertEqual(finished.returncode, 1, finished.stderr)
        self.assertEqual(self.report()["class"], "host")
        self.assertRegex(self.report()["verdict"], r"^(an exception unwound )?mylib::my_op \(run 1, call 1\)( failed)?; the program")
        self.assertTrue(self.report()["verdict"].endswith("; the program then exited with status 1"))

    def test_a_finding_of_a_program_that_exits_normally_decides_the_exit_code_in_ci(self):
        junit = self.folder / "results.xml"
        flags = ("--triage", "--ci", "--check", "nan", "--annotate", "github", "--junit", str(junit))
        finished = self.run_triaged("masked", "causal", "row", flags=flags)
        self.assertEqual(finished.returncode, 1, finished.stderr)
        report = self.report()
        self.assertEqual((report["class"], report["ended"]["exit_status"]), ("kernel", 0))
        self.assertRegex(report["verdict"], r"^NaN in buf\d+, first made by cpp_fused__softmax_\d+ \(run 1, call 3\)")
        # Like the call of a crash, with its place in the source and its arguments.
        call, package = report["call"], next((self.out / "evidence").iterdir())
        self.assertEqual((call["run"], call["call"], call["package"]), (1, 3, package.name))
        source = support.wrapper_in(package).read_text().splitlines()
        self.assertIn(call["kernel"], source[call["line"] - 1])
        self.assertEqual(report["before"][0]["call"], 2)
        (wrong,) = [argument for argument in report["arguments"] if argument.get("suspect")]
        self.assertIn(wrong["label"], report["verdict"])
        self.assertEqual(wrong["dtype"], "float32")
        (annotation,) = [line for line in finished.stderr.splitlines() if line.startswith("::error ")]
        self.assertIn("title=aoti-dbg%3A finding 1%3A NaN in ", annotation)
        suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("3", "1"))
        quiet = self.run_triaged("masked", "causal", flags=("--ci", "--check", "nan", "--out", str(self.folder / "q")))
        self.assertEqual(quiet.returncode, 0, quiet.stderr)

    @support.as_inputs_are_described
    def test_an_input_of_the_wrong_dtype_is_reported_as_the_cause_of_the_failure_that_follows(self):
        finished = self.run_triaged("wrong_dtype")
        self.assertEqual(finished.returncode, 1, finished.stderr)
        title = "model input arg4_1: expected dtype float32, got float64"
        failed = "aoti_torch_cpu_addmm_out (run 0, call 0) failed; the program then exited with status 1"
        self.assertEqual(self.report()["verdict"], f"{failed}; its run started with a finding: {title}")
        self.assertEqual((self.report()["class"], self.report()["finding"]["check"]), ("host", "dtype"))
        self.assertIn(title, (self.out / "report.txt").read_text())

    @support.as_inputs_are_described
    def test_a_wrong_input_of_a_program_that_exits_normally_is_a_finding_in_ci(self):
        finished = self.run_triaged("wrong_inputs", flags=("--triage", "--ci"))
        self.assertEqual(finished.returncode, 1, finished.stderr)
        report = self.report()
        self.assertEqual((report["finding"]["kind"], report["finding"]["run"]), ("argument", 0))
        self.assertEqual(report["ended"]["exit_status"], 0)

    def test_the_processes_of_a_tree_are_summed_up(self):
        finished = self.run_triaged("children", "spawn", flags=("--ci",))
        self.assertEqual(finished.returncode, 0, finished.stderr)
        self.assertRegex(finished.stderr, r"info: 2 processes recorded 3 runs and \d+ calls; 0 findings; report: none")


if __name__ == "__main__":
    unittest.main()
