"""The man page and the completions have every command and option, and their programs accept them.

Usage: described_test.py FOLDER COMMAND: the generated files, and aoti-dbg itself.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
folder = pathlib.Path()
tool = ""
COMMANDS = ("run", "show", "report", "trace", "top", "diff", "replay", "bundle", "inspect", "explain", "doctor")


def table_flags() -> list[str]:
    text = (ROOT / "config" / "options.def").read_text()
    return re.findall(r'^AOTI_DBG_OPTION\(\w+, "\w+", "(--[\w-]+)"', text, re.MULTILINE)


def help_flags(command: str) -> set[str]:
    flag = "--help-all" if command == "run" else "--help"
    text = subprocess.run([tool, command, flag], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^  (?:-\w, ?)?(--[\w-]+)", text, re.MULTILINE))


def bash(*words: str) -> list[str]:
    """Return the completions of the last word."""
    script = f"source {folder}/aoti-dbg.bash\n" + (
        'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _aoti_dbg; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", script, "bash", "aoti-dbg", *words], capture_output=True, text=True, check=True)
    if done.stderr:
        raise AssertionError(done.stderr)
    return done.stdout.split()


class Completions(unittest.TestCase):
    def test_each_shell_has_every_option_of_the_table_and_of_the_help(self):
        flags = set(table_flags())
        self.assertGreater(len(flags), 30)
        texts = {name: (folder / name).read_text() for name in ("aoti-dbg.bash", "_aoti-dbg", "aoti-dbg.fish")}
        for command in COMMANDS:
            for flag in sorted(help_flags(command) | (flags if command == "run" else set())):
                with self.subTest(flag):
                    self.assertIn(flag, bash(command, flag))
                    self.assertRegex(texts["_aoti-dbg"], rf"'{flag}[=\[]")
                    self.assertRegex(texts["aoti-dbg.fish"], rf"program |command {command}'.* -l {flag[2:]} ")

    def test_bash_completes_commands_options_and_their_values(self):
        self.assertEqual(set(bash("")) & set(COMMANDS), set(COMMANDS))
        self.assertEqual(bash("run", "--junit", "x", "--sync", ""), ["on", "off"])
        self.assertEqual(bash("run", "--completion", "m"), ["markers"])
        self.assertEqual(bash("run", "--completion", "=", "m"), ["markers"])
        self.assertEqual(bash("run", "--completion", "="), ["auto", "off", "markers", "blocking"])
        self.assertEqual(bash("show", "--format", ""), ["text", "compact", "jsonl"])
        self.assertEqual(bash("explain", "AD1203"), ["AD1203"])
        self.assertEqual(bash("doctor", "--fa"), ["--fault"])

    def test_bash_completes_the_program_of_run_and_not_the_options_after_it(self):
        self.assertIn("bash", bash("run", "--triage", "--", "bas"))
        self.assertIn("bash", bash("run", "--level", "2", "bas"))
        self.assertNotIn("--level", bash("run", "--", "bash", "--lev"))
        self.assertNotIn("--level", bash("run", "bash", "--lev"))

    def test_bash_loads_its_file_for_the_command(self):
        script = f"source {folder}/aoti-dbg.bash && complete -p aoti-dbg"
        text = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
        self.assertEqual(text.strip(), "complete -F _aoti_dbg aoti-dbg")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_parses_its_file(self):
        subprocess.run(["zsh", "-n", folder / "_aoti-dbg"], check=True)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_completes_options_values_and_programs(self):
        def fish(line: str) -> str:
            script = f"source {folder}/aoti-dbg.fish; complete -C '{line}'"
            completed = subprocess.run(["fish", "-c", script], capture_output=True, text=True, check=True)
            self.assertEqual(completed.stderr, "", line)
            return completed.stdout

        self.assertIn("explain\t", fish("aoti-dbg "))
        self.assertIn("--completion\t", fish("aoti-dbg run --compl"))
        self.assertIn("markers", fish("aoti-dbg run --completion m"))
        self.assertIn("AD1203", fish("aoti-dbg explain AD12"))
        self.assertIn("bash", fish("aoti-dbg run --triage -- bas"))
        self.assertNotIn("--completion", fish("aoti-dbg run -- bash --compl"))


class ManPage(unittest.TestCase):
    def setUp(self):
        self.source = (folder / "aoti-dbg.1").read_text()

    def test_it_has_every_command_and_option(self):
        for command in COMMANDS:
            self.assertIn(f".SS aoti\\-dbg {command}\n", self.source)
            for flag in help_flags(command) | (set(table_flags()) if command == "run" else set()):
                escaped = flag.replace("-", "\\-")
                self.assertRegex(self.source, rf"(?m)^\.TP\n(\\fB\\-\w\\fR, )?\\fB{re.escape(escaped)}\\fR( |$)")

    def test_it_has_every_variable_and_no_markdown(self):
        variables = re.findall(r'^AOTI_DBG_OPTION\(\w+, "(\w+)"', (ROOT / "config" / "options.def").read_text(), re.M)
        for variable in variables:
            self.assertIn(f"\\fB{variable}\\fR", self.source)
        self.assertNotRegex(self.source, r"`|\]\(|^\||^- ")

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_renders_it_without_a_warning(self):
        command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", str(folder / "aoti-dbg.1")]
        environment = {**os.environ, "MANROFFSEQ": "", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        # Bold letters are overstruck.
        text = re.sub(".\x08", "", done.stdout)
        self.assertEqual(re.findall(r"(?m)^OPTIONS OF .*$", text), ["OPTIONS OF aoti-dbg run"])


if __name__ == "__main__":
    folder, tool = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
    unittest.main()
