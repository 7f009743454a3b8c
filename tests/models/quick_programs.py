"""Ways to run models that cost less than a start of Python with torch: forks of one bare victim.py, and the C++ server
of examples/, which starts in a fifth of the time.

AOTI_DBGTEST_SERVER_FOR_CPU is the path of the server. Where it is not built, victim.py runs the models.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile

import forks
import support

server = os.environ.get("AOTI_DBGTEST_SERVER_FOR_CPU", "")
# What the option `processes` calls the programs of Victims.runs_of().
process_name = "aoti_server" if server else "python*"


class Victims:
    """victim.py, started once without the library."""

    def __init__(self) -> None:
        variables = {key: value for key, value in support.bare_variables().items() if key != "LD_PRELOAD"}
        command = support.victim(forks.OPTION).command
        self.process = subprocess.Popen(
            command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def close(self) -> None:
        self.process.communicate()

    def run(self, *arguments: str, folder: pathlib.Path) -> support.Outcome:
        """Return the outcome of `victim.py ARGUMENTS` in `folder`, without the library."""
        with tempfile.NamedTemporaryFile("r") as stdout, tempfile.NamedTemporaryFile("r") as stderr:
            print(json.dumps([str(folder), stdout.name, stderr.name, *arguments]), file=self.process.stdin, flush=True)
            code = int(self.process.stdout.readline())
            support.remove_listed(folder)
            return support.Outcome(code, stdout.read(), stderr.read(), folder, folder / "log.*.txt")

    def runs_of(self, name: str, count: int = 1) -> support.Program:
        """Return a program that runs a model of one matrix `count` times and prints each result."""
        if not server:
            return support.victim("sweep", "released", "-", *count * [name])
        with tempfile.TemporaryDirectory() as folder:
            package, rows, columns = json.loads(self.run("describe", name, folder=pathlib.Path(folder)).stdout)
        # No two runs have the same numbers.
        requests = [" ".join(str(i * 7 % 11 / 8 + run) for i in range(rows * columns)) for run in range(count)]
        return support.Program([server, package, str(columns)], "".join(f"{line}\n" for line in requests))
