"""Runs a program many times after one start, which costs more than most runs: the started process imports what they
need and forks for each run.

    arguments = forks.next_arguments() if sys.argv[1:] == [forks.OPTION] else sys.argv[1:]
"""

from __future__ import annotations

import json
import os
import sys

OPTION = "--in-forks"
forked = False


def next_arguments() -> list[str]:
    """Return in each fork, with its arguments. A line of standard input asks for a fork and says where it runs and
    writes. Standard output says how it ended."""
    global forked
    for line in sys.stdin:
        folder, stdout, stderr, *arguments = json.loads(line)
        process = os.fork()
        if process == 0:
            forked = True
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for descriptor, path in ((1, stdout), (2, stderr)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), descriptor)
            return arguments
        _, status = os.waitpid(process, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    sys.exit()


def leave_if_forked() -> None:
    """Leave out the end of Python in a fork. It touches all objects, and copying their memory takes longer than most
    runs."""
    if forked:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
