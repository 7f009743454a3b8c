"""Options on real models: the same values by variable, configuration file and command line, and their
precedence. Most programs are quick ones (quick_programs.py). Python runs what differs there: its process name, and two
models in one process.

AOTI_DBGTEST_TOOL is the path of the command.
"""

import dataclasses
import fnmatch
import json
import os
import pathlib
import tempfile
import unittest

import quick_programs
import support

tool = os.environ["AOTI_DBGTEST_TOOL"]


def kept(pattern):
    """Keep the lines of kernels that match according to Python's own globs."""
    return lambda lines: [line for line in lines if fnmatch.fnmatch(support.launch_line.match(line)[2], pattern)]


def side(word):
    return lambda lines: [line for line in lines if line.startswith(f"[ {word}_launch")]


# Option, its value as text and as JSON, and what it keeps of the lines printed without it.
options = (
    ("level", "0", 0, lambda lines: []),
    ("level", "names", ["names"], lambda lines: lines),
    ("kernels", "cpp_fused_*", ["cpp_fused_*"], kept("cpp_fused_*")),
    ("kernels", "!cpp_fused_relu*,!*addmm*", ["!cpp_fused_relu*", "!*addmm*"], kept("cpp_fused__softmax_*")),
    ("filter", "aoti_torch_cpu_addmm_out", "aoti_torch_cpu_addmm_out", kept("aoti_torch_cpu_addmm_out")),
    ("side", "before", "before", side("before")),
    ("runs", "0:1", "0:1", lambda lines: lines[: len(lines) // 2]),
    ("calls", "1:", "1:", None),
    ("scope", "all", "all", None),
    ("ring", "0", 0, lambda lines: lines),
    ("processes", "main", "main", lambda lines: lines),
    ("processes", f"!{quick_programs.process_name}", [f"!{quick_programs.process_name}"], lambda lines: []),
)  # fmt: skip


class TwoRuns(support.Test):
    """Two runs of one model in a program that starts quickly."""

    @classmethod
    def setUpClass(cls):
        victims = quick_programs.Victims()
        cls.addClassCleanup(victims.close)
        cls.program = victims.runs_of("linear_softmax", 2)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.bare = support.run(cls.program, folder=pathlib.Path(folder.name), preload=False)
        cls.everything = cls.seen(pathlib.Path(folder.name)).names()

    @classmethod
    def seen(cls, folder: pathlib.Path, **environment: str) -> support.Outcome:
        return support.run(cls.program, folder=folder, preload=True, **environment)

    @classmethod
    def seen_by_command(cls, folder: pathlib.Path, *flags: str, **environment: str) -> support.Outcome:
        command = [tool, "run", "--log", "log.%p.txt", "--out", "out", *flags, "--", *cls.program.command]
        program = dataclasses.replace(cls.program, command=command)
        return support.run(program, folder=folder, preload=False, **environment)

    def lines(self, seen: support.Outcome) -> list[str]:
        """Return the lines of all logs of a program that gave the right answers."""
        self.assertEqual((seen.code, seen.stdout), (0, self.bare.stdout), seen.stderr)
        return [line for log in seen.logs().values() for line in log]

    def new_folder(self) -> pathlib.Path:
        return pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def test_each_option_is_the_same_by_variable_by_file_and_by_command_line(self):
        variables = {"filter": "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT"}
        for name, text, value, judge in options:
            with self.subTest(option=name, value=text):
                by_variable, by_file, by_command = (self.new_folder() for _ in range(3))
                variable = variables.get(name, f"AOTI_DBG_{name.upper()}")
                lines = self.lines(self.seen(by_variable, **{variable: text}))
                if judge is not None:
                    self.assertEqual(lines, judge(self.everything))
                (by_file / "options.json").write_text(json.dumps({name: value}))
                level = {"AOTI_DBG_LEVEL": ""} if name == "level" else {}
                self.assertEqual(self.lines(self.seen(by_file, AOTI_DBG_CONFIG="options.json", **level)), lines)
                self.assertEqual(self.lines(self.seen_by_command(by_command, f"--{name}", text)), lines)

    def test_windows_and_rules_take_what_a_python_slice_takes(self):
        first_run = self.everything[: len(self.everything) // 2]
        kernels = support.kernels(first_run)
        for text, part in (("1:3", kernels[1:3]), ("::2", kernels[::2]), ("0", kernels[:1])):
            names = self.lines(self.seen(self.new_folder(), AOTI_DBG_RUNS="0", AOTI_DBG_CALLS=text))
            self.assertEqual(support.kernels(names), part)
        document = {"level": 0, "rules": [{"kernels": "cpp_fused_*", "level": 3, "side": "after"}]}
        (self.folder / "options.json").write_text(json.dumps(document))
        names = self.lines(self.seen(self.folder, AOTI_DBG_CONFIG="options.json", AOTI_DBG_LEVEL=""))
        self.assertEqual(names, side("after")(kept("cpp_fused_*")(self.everything)))

    def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(self):
        config = self.folder / "options.json"
        config.write_text(json.dumps({"level": 3, "kernels": "nothing", "side": "before"}))
        seen = self.seen(self.folder, AOTI_DBG_CONFIG="options.json", AOTI_DBG_KERNELS="cpp_fused_*")
        expected = side("before")(kept("cpp_fused_*")(self.everything))
        self.assertEqual(self.lines(seen), expected)
        flags = ("--config", str(config), "--side", "before", "--kernels", "cpp_fused_*")
        seen = self.seen_by_command(self.new_folder(), *flags, AOTI_DBG_SIDE="after")
        self.assertEqual(self.lines(seen), expected)


class TwoModels(support.Test):
    """A run of each of two models in Python."""

    arguments = ("sweep", "released", "-", "linear_softmax", "fallback_ops")

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.everything = support.run_victim(*cls.arguments, folder=pathlib.Path(folder.name), preload=True)

    def lines(self, **environment: str) -> list[str]:
        seen = support.run_victim(*self.arguments, folder=self.folder, preload=True, **environment)
        self.assertEqual((seen.code, seen.stdout), (0, self.everything.stdout), seen.stderr)
        return [line for log in seen.logs().values() for line in log]

    def test_patterns_leave_out_kernels_of_both_models(self):
        lines = self.everything.names()
        expected = [line for line in lines if "cpp_fused_" not in line and "addmm" not in line]
        self.assertTrue(expected)
        self.assertEqual(self.lines(AOTI_DBG_KERNELS="!cpp_fused_*,!*addmm*"), expected)

    def test_the_first_run_of_the_process_is_that_of_the_first_model(self):
        lines = self.everything.names()
        first_run = self.lines(AOTI_DBG_RUNS="0")
        self.assertEqual(first_run, lines[: len(first_run)])
        self.assertIn(len(first_run), range(1, len(lines)))

    def test_a_pattern_of_processes_leaves_python_out(self):
        self.assertEqual(self.lines(AOTI_DBG_PROCESSES="!python*"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
