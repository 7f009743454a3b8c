"""Seeded bugs in a real model: the program behaves as it does bare, and one run names the kernel."""

from __future__ import annotations

import re
import unittest

import bugs
import quick_programs
import support
import triage_test


class Bugs(triage_test.TriagedTest):
    def test_each_is_named_in_one_run_of_the_unchanged_program(self):
        victims = quick_programs.Victims()
        self.addCleanup(victims.close)
        for name, bug in bugs.BUGS.items():
            with self.subTest(name):
                bare = victims.run("bug", name, folder=self.folder)
                out = self.folder / name
                flags = ("--triage", "--check", "args,nan,inf", "--out", str(out))
                run = self.run_triaged("bug", name, flags=flags)
                self.assertEqual((run.returncode, bare.code), (bug.exit_code, bug.exit_code), run.stderr)
                self.assertEqual(run.stdout, bare.stdout)
                self.assertIn(bug.bare, bare.stderr)
                report = self.report(out)
                self.assertRegex(report["verdict"], f"^{bug.verdict}")
                self.assertEqual(report["class"], bug.kind)
                self.assertEqual("finding" in report, bug.finding)
                self.assertIn(report["verdict"], " ".join(run.stderr.split()))

    def test_the_table_of_the_docs_has_them_all(self):
        page = (support.here.parents[1] / "docs" / "explanation" / "verdicts.md").read_text()
        rows = {cells[0]: cells[1:] for line in page.splitlines() if len(cells := line.strip("| ").split(" | ")) == 5}
        for name, bug in bugs.BUGS.items():
            with self.subTest(name):
                bare, _, _, verdict = rows[bug.what]
                ending = f"signal {-bug.exit_code}" if bug.exit_code < 0 else f"exit code {bug.exit_code}"
                self.assertIn(ending, bare)
                self.assertIn(bug.bare, bare)
                self.assertTrue(re.fullmatch(bug.verdict, verdict.strip("`")), verdict)


if __name__ == "__main__":
    unittest.main()
