"""`python -m aoti_dbg` becomes the command. It must pass on what the caller gave to Python, and nothing of Python's."""

import os
import signal
import sys
import sysconfig


def command_path() -> str:
    """Returns the path of the command, which the package manager put into the folder of scripts."""
    modules = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    folders = [
        os.path.join(modules, os.pardir, os.pardir, os.pardir, "bin"),  # PREFIX/lib/python3.11/site-packages
        os.path.join(modules, "bin"),  # pip install --target
        sysconfig.get_path("scripts"),
    ]
    for folder in folders:
        path = os.path.realpath(os.path.join(folder, "aoti-dbg"))
        if os.access(path, os.X_OK):
            return path
    sys.exit("error: cannot find the program aoti-dbg of this package. Install it again: "
             "pip install --force-reinstall aoti-dbg")


def original_environment() -> "dict[bytes, bytes]":
    """Returns the environment before Python changed it: in the locale C, Python sets LC_CTYPE."""
    try:
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return dict(os.environb)
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def main() -> None:
    command = command_path()
    # Python ignores these signals, and a program inherits that. Python does not keep the caller's choice.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execve(command, ["aoti-dbg", *sys.argv[1:]], original_environment())


if __name__ == "__main__":
    main()
