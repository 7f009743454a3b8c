"""One process of a benchmark, with its output in files.

A process that takes turns loads its model and then waits for its turns. While one measures, the others are
idle. Each turn so compares the same processes within seconds.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import select
import subprocess
import threading

# The limit for each step of a process. None should take more than about ten seconds.
TIMEOUT_SECONDS = 90


class BenchError(Exception):
    pass


def end_of(path: pathlib.Path, size: int = 1500) -> str:
    """A program's last output explains its end."""
    with path.open("rb") as stream:
        stream.seek(max(0, path.stat().st_size - size))
        return stream.read().decode(errors="replace")


class Process:
    def __init__(self, command: list[str], environment: dict, scratch: pathlib.Path, folder: str | None):
        """A process that takes turns writes to the descriptor that replaces {answers} in its command."""
        self.scratch, self.folder = scratch, folder
        self.takes_turns = any("{answers}" in part for part in command)
        own, given = os.pipe() if self.takes_turns else (None, None)
        self.answers = own and os.fdopen(own)
        self.command = [part.replace("{answers}", str(given)) for part in command]
        try:
            # Standard output is a file for all variants, because the compared printer writes there.
            with (scratch / "stdout").open("wb") as stdout, (scratch / "stderr").open("wb") as stderr:
                self.process = subprocess.Popen(
                    self.command, env=environment, stdin=subprocess.PIPE if self.takes_turns else subprocess.DEVNULL,
                    stdout=stdout, stderr=stderr, cwd=folder, pass_fds=[given] if self.takes_turns else [],
                )  # fmt: skip
        finally:
            if given is not None:
                os.close(given)

    def said(self) -> str:
        return end_of(self.scratch / "stderr")

    def fail(self, how: str) -> None:
        raise BenchError(f"{' '.join(self.command)} {how}: {self.said()}")

    def answer(self) -> float:
        """Return the next answer, in nanoseconds. The first one only means that the process is ready."""
        readable, _, _ = select.select([self.answers], [], [], TIMEOUT_SECONDS)
        if not readable:
            self.fail(f"did not answer within {TIMEOUT_SECONDS} s")
        if not (line := self.answers.readline()):
            self.fail(f"ended with {self.process.wait()}")
        return float(line)

    def take_turn(self) -> float:
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        return self.answer()

    def finish(self) -> None:
        """Wait for the end of the process, after its last turn if it takes turns."""
        # A wait with a timeout would poll every 50 ms, too coarse to time the end of the process.
        timer = threading.Timer(TIMEOUT_SECONDS, self.process.kill)
        timer.start()
        try:
            if self.takes_turns:
                self.process.stdin.close()
            status = self.process.wait()
            in_time = timer.is_alive()
        finally:
            timer.cancel()
        if status != 0:
            self.fail(f"ended with {status}" if in_time else f"was not done after {TIMEOUT_SECONDS} s")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        if self.takes_turns:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.answers.close()
