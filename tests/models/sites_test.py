"""Models whose sources were removed from the package: the line of a call comes from the debug information of
the model's library. The original sources are the judge.
"""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
import unittest
import zipfile

import packages
import support
import triage_test

place = re.compile(r", (\S+\.wrapper\.cpp):(\d+)$")


def has_lines() -> bool:
    """Return whether this torch compiles its models with line tables, as torch 2.15 does."""
    with zipfile.ZipFile(packages.package_path("linear_softmax", packages.RELEASED)) as archive:
        (library,) = [name for name in archive.namelist() if name.endswith(".wrapper.so")]
        return b"\0.debug_line\0" in archive.read(library)


with_lines = unittest.skipUnless(has_lines(), "this torch compiles its models without line tables")


class SitesTest(triage_test.TriagedTest):
    def without_sources(self, name: str, strip: bool = False) -> str:
        """Copy the package without its sources, and keep them in self.source. Return the path."""
        to = self.folder / "unsourced.pt2"
        with zipfile.ZipFile(packages.package_path(name, packages.RELEASED)) as old, zipfile.ZipFile(to, "w") as new:
            for member in old.namelist():
                content = old.read(member)
                if member.endswith(".wrapper.cpp"):
                    self.source_name = pathlib.Path(member).name
                    self.source = content.decode().splitlines()
                if member.endswith(".cpp"):
                    continue
                if strip and member.endswith(".so"):
                    content = self.stripped(content)
                new.writestr(member, content)
        return str(to)

    def stripped(self, library: bytes) -> bytes:
        path = self.folder / "stripped.so"
        path.write_bytes(library)
        subprocess.run(["strip", "--strip-debug", str(path)], check=True)
        content = path.read_bytes()
        path.unlink()
        return content

    def seen(self, *arguments: str, package: str, **environment: str) -> support.Outcome:
        # Fresh memory has finite values, because a NaN there would make the origin of a later one uncertain.
        variables = {"AOTI_DBG_LEVEL": "", "AOTI_DBG_CHECK": "nan", "MALLOC_PERTURB_": "170"}
        variables |= {"AOTI_DBGTEST_PACKAGE": package, **environment}
        return support.run_victim(*arguments, folder=self.folder, preload=True, **variables)

    def bare(self, *arguments: str, package: str) -> support.Outcome:
        return support.run_victim(*arguments, folder=self.folder, preload=False, AOTI_DBGTEST_PACKAGE=package)

    def where(self, outcome: support.Outcome) -> tuple[str, str]:
        """Return the kernel and the place of the only finding."""
        (log,) = [path.read_text() for path in outcome.log.parent.glob(outcome.log.name)]
        kernels = re.findall(r"first made by (\S+) \]$", log, re.MULTILINE)
        lines = re.findall(r"^  where +(.+)$", log, re.MULTILINE)
        self.assertEqual((len(kernels), len(lines)), (1, 1), log + outcome.stderr)
        return kernels[0], lines[0]

    @with_lines
    def test_a_finding_names_the_file_and_the_line_of_its_call(self):
        package = self.without_sources("linear_softmax")
        outcome = self.seen("infinite", "linear_softmax", package=package)
        self.assert_alike(self.bare("infinite", "linear_softmax", package=package), outcome)
        kernel, where = self.where(outcome)
        file, line = place.search(where).groups()
        self.assertEqual(pathlib.Path(file).name, self.source_name)
        self.assertIn(f"{kernel}(", self.source[int(line) - 1])

    @with_lines
    def test_the_events_of_all_calls_have_their_lines(self):
        for name in ("fallback_ops", "control_flow", "custom_op"):
            with self.subTest(name=name):
                package, out = self.without_sources(name), self.folder / f"out-{name}"
                variables = {"AOTI_DBG_LEVEL": "2", "AOTI_DBG_CHECK": "", "AOTI_DBG_OUT": str(out)}
                outcome = self.seen("one", name, package=package, **variables)
                self.assert_alike(self.bare("one", name, package=package), outcome)
                (events,) = out.rglob("events.jsonl")
                lines = [json.loads(line) for line in events.read_text().splitlines()]
                sites = [line for line in lines if line["event"] == "site"]
                self.assertTrue(sites)
                for site in sites:
                    called = self.source[site["line"] - 1]
                    self.assertEqual(pathlib.Path(site["source"]).name, self.source_name)
                    is_kernel = site["kind"] == "cpp_kernel"
                    self.assertRegex(called, rf"\b{site['kernel']}\(" if is_kernel else r"\baoti_torch_\w+\(", site)

    @with_lines
    def test_the_report_of_a_crash_names_the_file_and_the_line_of_its_call(self):
        package = self.without_sources("custom_op")
        finished = self.run_triaged("segfault_inside", AOTI_DBGTEST_PACKAGE=package)
        self.assertEqual(finished.returncode, -11, finished.stderr)
        call = self.report()["call"]
        self.assertEqual(pathlib.Path(call["source"]).name, self.source_name)
        self.assertIn("aoti_torch_proxy_executor_call_function", self.source[call["line"] - 1])
        text = re.sub(r"\s", "", (self.out / "report.txt").read_text())
        self.assertIn(f"{call['source']}:{call['line']}", text)

    def test_a_package_with_sources_names_its_source(self):
        outcome = self.seen("infinite", "linear_softmax", package="")
        self.assertRegex(self.where(outcome)[1], r", line \d+ of the wrapper source$")

    @unittest.skipIf(support.release < (2, 15), "older releases do not load a package without sources")
    @unittest.skipUnless(shutil.which("strip"), "needs strip")
    def test_without_debug_information_there_is_no_line_and_no_further_complaint(self):
        words = ("infinite", "linear_softmax")
        package = self.without_sources("linear_softmax", strip=True)
        outcome = self.seen(*words, package=package)
        self.assert_alike(self.bare(*words, package=package), outcome)
        self.assertEqual(self.where(outcome)[1], "model 0, run 1, call 0")
        ours = [line for line in outcome.stderr.splitlines() if support.our_line.match(line)]
        self.assertEqual(len(ours), 2, ours)  # unknown signatures, as before, and the closing line
        self.assertIn("has no wrapper source next to it", ours[0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
