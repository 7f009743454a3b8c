"""Functions that torch.compile compiles more than once, or in parts. recompiled_victim.py runs bare, under the library with
wrappers from Inductor's cache, and under it with a cache that has only kernels. Dynamo must not notice, and each model
must say which function it is.
"""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import support
from compiled_support import events_in, keep_kernels, take_kernels

tool = os.environ.get("AOTI_DBGTEST_TOOL", str(support.here.parents[1] / "build" / "release" / "aoti-dbg"))
LOGS = "recompiles,graph_breaks"
victim = (pathlib.Path(__file__).parent / "recompiled_victim.py").read_text().splitlines()
# The start of a line of PyTorch's log: level and date, time, thread.
stamp = re.compile(r"^([VIWE])\d{4} [\d:.]+ \d+ ")
# These depend on the cache: a warning of the compiler's start.
no_compiler = "No CUDA runtime is found"


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(victim, 1) if text in line)


def said_by_torch(stderr: str) -> list[str]:
    lines = [stamp.sub(r"\1 ", line) for line in stderr.splitlines()]
    return [line for line in lines if not support.our_line.match(line) and no_compiler not in line]


class Recompiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        take_kernels(cls.folder / "inductor")
        cls.bare = cls.run_victim(preload=False)
        keep_kernels(cls.folder / "inductor")
        assert cls.bare.code == 0, cls.bare.stderr
        cls.wrappers = cls.wrappers_in("inductor")
        cls.seen = cls.run_victim(preload=True, AOTI_DBG_LEVEL="2", AOTI_DBG_CHECK="nan", AOTI_DBG_OUT="seen")
        cls.events = events_in(cls.folder / "seen")
        cls.models = [event for event in cls.events if event["event"] == "model"]
        cls.log = "".join(path.read_text() for path in cls.folder.glob("log.*.txt"))

    @classmethod
    def run_victim(cls, *cases: str, preload: bool, cache: str = "inductor", **environment: str) -> support.Outcome:
        environment = {
            "TORCHINDUCTOR_CACHE_DIR": str(cls.folder / cache),
            "TORCH_LOGS": LOGS,
            "TORCH_TRACE": str(cls.folder / "trace"),
            "INDUCTOR_PROVENANCE": "1",
            **environment,
        }
        return support.run_victim(
            "cpu", *cases, folder=cls.folder, preload=preload, script="recompiled_victim.py", **environment
        )

    @classmethod
    def wrappers_in(cls, cache: str) -> set[str]:
        return {path.name for path in cls.folder.glob(f"{cache}/**/*.py") if "def call(" in path.read_text()}

    def model_of(self, function: str, direction: str = "inference", which: int = 0) -> dict:
        found = [one for one in self.models if one["function"].endswith(function) and one["direction"] == direction]
        return found[which]

    def kernels_of(self, function: str) -> list[str]:
        number = self.model_of(function)["model"]
        calls = [event for event in self.events if event["event"] == "call" and event["model"] == number]
        return [call["kernel"] for call in calls if call["side"] == "before"]

    def assert_unnoticed(self, seen: support.Outcome):
        self.assertEqual(seen.code, 0, seen.stderr)
        self.assertEqual(seen.stdout, self.bare.stdout)
        self.assertEqual(said_by_torch(seen.stderr), said_by_torch(self.bare.stderr))

    def test_dynamo_compiles_and_says_the_same_with_wrappers_from_the_cache(self):
        self.assert_unnoticed(self.seen)
        said = "\n".join(said_by_torch(self.bare.stderr))
        self.assertEqual(said.count("Recompiling function"), 2, said)
        self.assertIn("Graph break", said)
        self.assertIn("('unique_graphs', 12)", self.bare.stdout)

    def test_dynamo_compiles_and_says_the_same_with_a_cache_that_has_only_kernels(self):
        take_kernels(self.folder / "kernels", of=self.folder / "inductor")
        self.assertEqual(self.wrappers_in("kernels"), set())
        seen = self.run_victim(
            preload=True, cache="kernels", AOTI_DBG_LEVEL="3", AOTI_DBG_CHECK="nan", AOTI_DBG_LOG="kernels.txt"
        )
        self.assert_unnoticed(seen)
        self.assertEqual(self.wrappers_in("kernels"), self.wrappers)
        self.assert_names_the_line((self.folder / "kernels.txt").read_text())

    def test_forward_and_backward_of_a_graph_have_one_number_and_their_directions(self):
        forward = self.model_of("learning.<locals>.loss", "forward")
        backward = self.model_of("learning.<locals>.loss", "backward")
        self.assertNotEqual(forward["model"], backward["model"])
        self.assertEqual(forward["compile"], backward["compile"])
        self.assertEqual(
            [one["name"] for one in (forward, backward)],
            [f"torch.compile {forward['compile']} {way} of learning.<locals>.loss" for way in ("forward", "backward")],
        )
        self.assertEqual(pathlib.Path(forward["function_at"].split(":")[0]).name, "recompiled_victim.py")

    def test_a_recompilation_has_the_guard_that_failed(self):
        first, second = (self.model_of("scaled", which=which) for which in (0, 1))
        self.assertEqual([first["compile"], second["compile"]], ["0/0", "0/1"])
        self.assertNotIn("recompiled", first)
        self.assertIn("size mismatch at index 0. expected 3, actual 4", second["recompiled"])
        self.assertIn(second["recompiled"], self.bare.stderr)
        self.assertEqual(self.model_of("summed", which=1)["compile"], "1/1")

    def test_each_model_is_introduced_in_the_log(self):
        for model in self.models:
            self.assertEqual(self.log.count(f"[ model {model['model']}: {model['name']} ("), 1, model)

    def test_the_parts_of_a_broken_graph_have_numbers_of_their_own(self):
        numbers = {one["compile"] for one in self.models if "halves" in one["function"]}
        self.assertEqual(len(numbers), 2, self.models)

    def test_kernels_in_subgraphs_are_seen(self):
        self.assertEqual(self.kernels_of("chosen").count("extern_kernels.mm"), 2)
        self.assertEqual(self.kernels_of("grown").count("extern_kernels.mm"), 3)
        self.assertEqual(self.kernels_of("outer").count("extern_kernels.mm"), 2)
        self.assertEqual(self.kernels_of("outer").count("cpp_fused_relu_0"), 2)

    def test_a_finding_names_the_function_and_the_line_that_called_it(self):
        (finding,) = [event for event in self.events if event["event"] == "finding"]
        backward = self.model_of("poisoned.<locals>.root", "backward")
        self.assertEqual(finding["model"], backward["model"])
        self.assertEqual(finding["model_name"], backward["name"])
        line = line_of("# the backward's caller")
        self.assertEqual(len(finding["python_stack"]), 1)
        self.assertTrue(finding["python_stack"][0].endswith(f'recompiled_victim.py", line {line}, in poisoned'), finding)
        self.assertIn(f"model {finding['model']} ({backward['name']}), run ", self.log)

    def assert_names_the_line(self, log: str):
        line = line_of("# the root's line")
        self.assertRegex(log, rf"\n  python +recompiled_victim\.py:{line} in root: return x\.sqrt\(\)")
        caller = line_of("# the backward's caller")
        self.assertRegex(log, rf'\n  caller +File ".*recompiled_victim\.py", line {caller}, in poisoned\n')

    def test_a_finding_names_the_line_that_its_kernel_comes_from_also_with_a_wrapper_from_the_cache(self):
        self.assert_names_the_line(self.log)

    def said_with_the_trace(self, *command: str) -> str:
        """Return what the command prints with the logs of TORCH_TRACE."""
        arguments = [tool, *command, "--torch-trace", str(self.folder / "trace")]
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout

    def test_the_logs_of_torch_have_the_line_that_a_kernel_comes_from(self):
        (finding,) = [event for event in self.events if event["event"] == "finding"]
        shown = self.said_with_the_trace("show", str(self.folder / "seen"), "--format", "compact")
        line = line_of("# the root's line")
        self.assertRegex(shown, rf"python +recompiled_victim\.py:{line} in root: ")
        self.assertRegex(shown, rf"caller +{re.escape(finding['python_stack'][0])}")

    def test_a_crash_report_names_the_function_and_the_line_that_called_it(self):
        seen = self.run_victim("crashing", preload=True, AOTI_DBG_TRIAGE="1", AOTI_DBG_LEVEL="", AOTI_DBG_OUT="crash")
        self.assertLess(seen.code, 0)
        report = subprocess.run([tool, "report", str(self.folder / "crash")], capture_output=True, text=True).stdout
        self.assertRegex(report, r"\(torch\.compile 0/0\s+inference\s+of\s+Crashing\.forward\)")
        line = line_of("# the crash's caller")
        self.assertRegex(report, rf'python +File ".*recompiled_victim\.py", line\s+{line}, in\s+crashing')
        report = self.said_with_the_trace("report", str(self.folder / "crash"))
        self.assertRegex(report, r"python +recompiled_victim\.py:\d+ in forward: ")
        self.assertRegex(report, rf'caller +File ".*recompiled_victim\.py", line\s+{line}, in\s+crashing')


if __name__ == "__main__":
    unittest.main(verbosity=2)
