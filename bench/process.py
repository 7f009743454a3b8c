"""One process of a benchmark, with its output in files.

A process that takes turns loads its model and warms up, then waits. Processes of one turn can so start
together, which takes about as long as to start one, and each measures while the others are idle.
"""

from __future__ import annotations

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
    def __init__(self, command: list[str], environment: dict, scratch: pathlib.Path, folder: str | None, ready: int | None):
        """`ready` is the descriptor to which a process that takes turns writes. The process owns it."""
        self.command, self.scratch, self.takes_turns = command, scratch, ready is not None
        # Standard output is a file for all variants, because the compared printer writes there.
        with (scratch / "stdout").open("wb") as stdout, (scratch / "stderr").open("wb") as stderr:
            self.process = subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE if self.takes_turns else subprocess.DEVNULL,
                stdout=stdout, stderr=stderr, cwd=folder, pass_fds=[ready] if self.takes_turns else [],
            )  # fmt: skip

    def said(self) -> str:
        return end_of(self.scratch / "stderr")

    def fail(self, how: str) -> None:
        raise BenchError(f"{' '.join(self.command)} {how}: {self.said()}")

    def wait_until_ready(self, own: int) -> None:
        """`own` is the other end of the pipe."""
        readable, _, _ = select.select([own], [], [], TIMEOUT_SECONDS)
        if not readable:
            self.fail(f"was not ready after {TIMEOUT_SECONDS} s")
        if not os.read(own, 1):
            self.fail(f"ended with {self.process.wait()} before it was ready")

    def finish(self) -> None:
        """Give the process its turn, and wait for its end."""
        # A wait with a timeout would poll every 50 ms, too coarse to time the end of the process.
        timer = threading.Timer(TIMEOUT_SECONDS, self.process.kill)
        timer.start()
        try:
            if self.takes_turns:
                self.process.stdin.write(b"\n")
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
        if self.takes_turns and not self.process.stdin.closed:
            self.process.stdin.close()
