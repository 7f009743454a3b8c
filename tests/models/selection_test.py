"""Options on real models: the same values by variable, configuration file and command line, and their
precedence.

AOTI_DBGTEST_TOOL is the path of the command.
"""

import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import support

models = ("linear_softmax", "fallback_ops")
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
    ("kernels", "!cpp_fused_*,!*addmm*", ["!cpp_fused_*", "!*addmm*"],
     lambda lines: [line for line in lines if "cpp_fused_" not in line and "addmm" not in line]),
    ("filter", "aoti_torch_cpu_addmm_out", "aoti_torch_cpu_addmm_out", kept("aoti_torch_cpu_addmm_out")),
    ("side", "before", "before", side("before")),
    ("runs", "0:1", "0:1", None),
    ("calls", "1:", "1:", None),
    ("scope", "all", "all", None),
    ("ring", "0", 0, lambda lines: lines),
    ("processes", "main", "main", lambda lines: lines),
    ("processes", "!python*", ["!python*"], lambda lines: []),
)  # fmt: skip


class Options(support.Test):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.everything = cls.sweep(pathlib.Path(folder.name))

    @staticmethod
    def sweep(folder: pathlib.Path, **environment: str) -> support.Outcome:
        return support.run_victim("sweep", "released", "-", *models, folder=folder, preload=True, **environment)

    def by_command(self, folder: pathlib.Path, *flags: str) -> list[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("AOT_INDUCTOR_")}
        subprocess.run(
            [tool, "run", "--log", "log.%p.txt", "--out", "out", *flags, "--", sys.executable,
             str(support.here / "victim.py"), "sweep", "released", "-", *models],
            cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=500,
        )  # fmt: skip
        return [line for path in folder.glob("log.*.txt") for line in support.read_log(path)]

    def folders(self):
        for name in ("variable", "file", "command"):
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / name
            folder.mkdir()
            yield folder

    def test_each_option_is_the_same_by_variable_by_file_and_by_command_line(self):
        everything = self.everything.names()
        variables = {"filter": "AOT_INDUCTOR_FILTERED_KERNELS_TO_PRINT"}
        for name, text, value, judge in options:
            with self.subTest(option=name, value=text):
                by_variable, by_file, by_command = self.folders()
                variable = variables.get(name, f"AOTI_DBG_{name.upper()}")
                seen = self.sweep(by_variable, **{variable: text})
                self.assertEqual((seen.code, seen.stdout), (0, self.everything.stdout), seen.stderr)
                lines = [line for log in seen.logs().values() for line in log]
                if judge is not None:
                    self.assertEqual(lines, judge(everything))
                (by_file / "options.json").write_text(json.dumps({name: value}))
                level = {"AOTI_DBG_LEVEL": ""} if name == "level" else {}
                config = self.sweep(by_file, AOTI_DBG_CONFIG="options.json", **level)
                self.assertEqual(config.stdout, self.everything.stdout)
                self.assertEqual([line for log in config.logs().values() for line in log], lines)
                self.assertEqual(self.by_command(by_command, f"--{name}", text), lines)

    def test_windows_and_rules_take_what_a_python_slice_takes(self):
        everything = self.everything.names()
        (rules, window, _) = self.folders()
        seen = self.sweep(window, AOTI_DBG_RUNS="0")
        first_run = seen.names()
        self.assertEqual(first_run, everything[: len(first_run)])
        self.assertLess(len(first_run), len(everything))
        kernels = support.kernels(first_run)
        for text, part in (("1:3", kernels[1:3]), ("::2", kernels[::2]), ("0", kernels[:1])):
            folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            names = self.sweep(folder, AOTI_DBG_RUNS="0", AOTI_DBG_CALLS=text).names()
            self.assertEqual(support.kernels(names), part)
        document = {"level": 0, "rules": [{"kernels": "cpp_fused_*", "level": 3, "side": "after"}]}
        (rules / "options.json").write_text(json.dumps(document))
        names = self.sweep(rules, AOTI_DBG_CONFIG="options.json", AOTI_DBG_LEVEL="").names()
        self.assertEqual(names, side("after")(kept("cpp_fused_*")(everything)))

    def test_a_flag_wins_over_a_variable_and_a_variable_over_the_file(self):
        (self.folder / "options.json").write_text(json.dumps({"level": 3, "kernels": "nothing", "side": "before"}))
        seen = self.sweep(self.folder, AOTI_DBG_CONFIG="options.json", AOTI_DBG_KERNELS="cpp_fused_*")
        expected = side("before")(kept("cpp_fused_*")(self.everything.names()))
        self.assertEqual(seen.names(), expected)
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        os.environ["AOTI_DBG_SIDE"] = "after"
        self.addCleanup(os.environ.pop, "AOTI_DBG_SIDE")
        config = str(self.folder / "options.json")
        names = self.by_command(folder, "--config", config, "--side", "before", "--kernels", "cpp_fused_*")
        self.assertEqual(names, expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
