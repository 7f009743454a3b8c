"""The steps of the scripts show their progress: lines in a log, and one line on a terminal. Needs nothing that is
built. A step here waits for a file, so that no test depends on a duration.
"""

from __future__ import annotations

import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from fcntl import ioctl

common = pathlib.Path(__file__).resolve().parents[1] / "scripts" / "lib" / "common.sh"
NINJA = "[1/648] Building a.o\n[212/648] Building b.o\nb.cpp: warning: [-Wall]\n"
PIP = "Collecting torch\n  Downloading torch-2.11.0-cp311.whl (664.0 MB)\n"
CONTROL = re.compile(r"\x1b\[K|\r")
DEADLINE = 60  # of a test that has failed


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.done = self.folder / "done"
        self.environment = {**os.environ, "TERM": "xterm", "AOTI_DBG_VERBOSE": "0"}
        self.environment.pop("NO_COLOR", None)

    def script(self, log: str, end: str = "", title: str = "build x") -> str:
        """A script with one step, which writes `log`, waits for the file `done`, and then does `end`."""
        (self.folder / "work.sh").write_text(
            f'printf %s "$1"; echo $$ >pid; while [[ ! -e done ]]; do sleep 0.05; done; {end or "true"}'
        )
        return (
            f"set -euo pipefail; source {common}; cd {self.folder}; logs=$PWD/logs; progress_interval=0.05\n"
            f"step '{title}' bash work.sh '{log}'; say after"
        )

    def piped(self, log: str, awaited: str, end: str = "") -> tuple[int, str, str]:
        """Run the step until it prints `awaited`, then let it end."""
        with subprocess.Popen(
            ["bash", "-c", self.script(log, end)], env=self.environment, stdin=subprocess.DEVNULL, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            printed = ""
            while awaited not in printed:
                line = process.stdout.readline()
                self.assertTrue(line, f"the script ended, and printed: {printed}")
                printed += line
            self.done.touch()
            rest, errors = process.communicate(timeout=DEADLINE)
        return process.returncode, printed + rest, errors

    def on_terminal(self, log: str, awaited: str, columns: int, then: bytes = b"", **others: str) -> tuple[int, str]:
        """The same on a terminal. `then` is typed instead of letting the step end. Return its wait status and
        everything printed."""
        process, terminal = pty.fork()
        if process == 0:
            ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.execvpe("bash", ["bash", "-c", self.script(log, **others)], self.environment)
        printed = b""
        sent = False
        while True:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:  # the last process closed the terminal
                break
            if not chunk:
                break
            printed += chunk
            if not sent and awaited.encode() in printed and (self.folder / "pid").exists():
                sent = True
                os.write(terminal, then) if then else self.done.touch()
        os.close(terminal)
        return os.waitpid(process, 0)[1], printed.decode()

    def test_elsewhere_than_on_a_terminal_each_line_has_the_files_done_of_all(self):
        code, printed, errors = self.piped(NINJA, "of 648")
        self.assertEqual((code, errors), (0, ""))
        lines = printed.splitlines()
        self.assertEqual(lines[0], "-- build x ...")
        for line in lines[1:-2]:
            self.assertRegex(line, r"^   (build x: 212 of 648|still running: build x), \d+ s$")
        self.assertRegex(lines[-2], r"^-- build x: \d+ s$")
        self.assertEqual(lines[-1], "after")

    def test_a_step_without_numbers_is_still_running(self):
        _, printed, _ = self.piped("no numbers\n", "still running: build x, ")
        self.assertRegex(printed, r"(?m)^   still running: build x, \d+ s$")

    def test_an_installation_says_what_it_downloads(self):
        _, printed, _ = self.piped(PIP, "torch-2.11.0")
        self.assertRegex(printed, r"(?m)^   still running: build x, \d+ s \(torch-2\.11\.0-cp311\.whl, 664\.0 MB\)$")

    def test_a_short_step_is_one_line(self):
        self.done.touch()
        script = self.script("").replace("progress_interval=0.05", "progress_interval=600")
        finished = subprocess.run(["bash", "-c", script], env=self.environment, capture_output=True, text=True)
        self.assertRegex(finished.stdout, r"^-- build x \.\.\. \d+ s\nafter\n$")

    def test_a_step_that_fails_shows_the_end_of_its_log(self):
        code, printed, errors = self.piped(NINJA, "of 648", end="echo b.cpp: error: no such thing; exit 3")
        self.assertEqual(code, 3)
        self.assertRegex(printed, r"-- build x: failed after \d+ s\n$")
        self.assertIn("[212/648] Building b.o\n", errors)
        self.assertIn("b.cpp: error: no such thing\n", errors)
        self.assertRegex(errors, r'error: "build x" failed with status 3. Full output: \S+/logs/build-x\.log\n$')

    def test_a_step_that_ends_its_shell_fails_and_shows_why(self):
        script = f"source {common}; logs={self.folder}; broken() {{ die 'no compiler'; }}; step 'build x' broken || say caught"
        finished = subprocess.run(["bash", "-c", script], env=self.environment, capture_output=True, text=True)
        self.assertIn("error: no compiler\n", finished.stderr)
        self.assertTrue(finished.stdout.endswith("caught\n"), finished.stdout)

    def test_on_a_terminal_one_line_is_redrawn_and_never_wraps(self):
        for columns in (120, 80, 40, 30, 12):
            with self.subTest(columns):
                self.done.unlink(missing_ok=True)
                status, printed = self.on_terminal(NINJA, "212" if columns > 20 else "32%", columns)
                self.assertEqual(status, 0)
                redrawn, end = printed.rsplit("\x1b[K", 1)
                self.assertRegex(end, r"^-- build x \.\.\. \d+ s\r\nafter\r\n$")
                self.assertNotIn("\n", redrawn)
                lines = CONTROL.split(redrawn)
                self.assertLess(max(map(len, lines)), columns)
                if columns >= 80:
                    self.assertTrue(any(re.fullmatch(r"-- build x  \[#{9}\.{21}\]  32%  212/648  \d+ s", line) for line in lines), lines)

    def test_a_title_longer_than_the_terminal_is_cut_before_the_numbers(self):
        _, printed = self.on_terminal(NINJA, "212/648", 40, title="install " + "long " * 20)
        lines = CONTROL.split(printed.rsplit("\x1b[K", 1)[0])
        self.assertLess(max(map(len, lines)), 40)
        self.assertTrue(any(re.fullmatch(r"-- install .*  32%  212/648  \d+ s", line) for line in lines), lines)

    def test_a_plain_terminal_gets_lines_without_control_sequences(self):
        for variables in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
            with self.subTest(variables):
                self.done.unlink(missing_ok=True)
                self.environment |= {"TERM": "xterm", **variables}
                _, printed = self.on_terminal(NINJA, "of 648", 80)
                self.assertNotIn("\x1b", printed)
                self.assertNotIn("\r", printed.replace("\r\n", ""))

    def test_an_interrupt_ends_the_step_and_its_children_and_leaves_a_clean_line(self):
        status, printed = self.on_terminal(NINJA, "212/648", 80, then=b"\x03")
        self.assertEqual(status, signal.SIGINT)
        self.assertTrue(printed.endswith("-- build x ... interrupted\r\n"), printed)
        self.assertNotIn("after", printed)
        pid = int((self.folder / "pid").read_text())
        end = time.monotonic() + DEADLINE
        while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        self.assertFalse(pathlib.Path(f"/proc/{pid}").exists())


if __name__ == "__main__":
    unittest.main()
