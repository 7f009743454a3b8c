"""What a program that saves tensors leaves, and when it is on disk: places to save to, and the saved files.

The program prints when its first run began, by the clock that all processes share. The time ends when the
process has exited and syncfs() of the file system has returned. Earlier data is on disk before the start. The
time thus includes a queue that is drained at exit and data that is only in memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import tempfile
import time

import groups

_libc = ctypes.CDLL(None, use_errno=True)
_SAVED_BY_PYTORCH = re.compile(r"^aoti_torch_save_tensor_handle: Saved tensor to (.*)$", re.MULTILINE)
_IN_MEMORY = ("tmpfs", "ramfs")
# A model needs this memory besides its output, if the file system is in memory.
_OF_A_MODEL = 4 << 30


class Place:
    """A folder to save to, and the file system under it. It must remove its contents only when it is
    closed: ext4 skips the inodes of files removed within the last minute, which makes new files four times
    as slow."""

    def __init__(self, parent: pathlib.Path):
        parent.mkdir(parents=True, exist_ok=True)
        self.parent = parent.resolve()
        self.root = tempfile.TemporaryDirectory(prefix="aoti-dbg-bench-", dir=self.parent)
        self.kind = self._kind()
        self.lies_in = groups.MEMORY if self.kind in _IN_MEMORY else groups.DISK

    def close(self) -> None:
        self.root.cleanup()

    def _kind(self) -> str:
        """Return the type of the file system that is mounted last over the folder."""
        kind, longest = "unknown", -1
        for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
            fields = line.split()
            at = pathlib.PurePath(fields[4].encode().decode("unicode_escape"))
            if self.parent.is_relative_to(at) and len(at.parts) >= longest:
                kind, longest = fields[fields.index("-") + 1], len(at.parts)
        return kind

    def room(self) -> int:
        """Return the usable bytes. The library leaves the last tenth of a file system free."""
        found = os.statvfs(self.parent)
        free = found.f_bavail * found.f_frsize - found.f_blocks * found.f_frsize // 10
        if self.lies_in == groups.MEMORY:
            (available,) = re.findall(r"^MemAvailable: *(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.M)
            free = min(free, int(available) * 1024 - _OF_A_MODEL)
        return max(0, free)

    def sync(self) -> int:
        """Wait until everything written there is on disk, and return the time."""
        folder = os.open(self.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if _libc.syncfs(folder) != 0:
                raise OSError(ctypes.get_errno(), "syncfs", str(self.parent))
            return time.monotonic_ns()
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def folder(self):
        """Yield an empty folder on an idle file system. Its contents use no space afterwards."""
        made = tempfile.mkdtemp(dir=self.root.name)
        self.sync()
        try:
            yield made
        finally:
            for path in pathlib.Path(made).rglob("*"):
                if path.is_file() and not path.is_symlink():
                    os.truncate(path, 0)
            self.sync()


def started(stdout: pathlib.Path) -> int | None:
    """Return the start in nanoseconds."""
    match = re.search(r"^start (\d+)$", stdout.read_text(errors="replace"), re.MULTILINE)
    return int(match[1]) if match else None


@dataclasses.dataclass
class Saved:
    files: int
    sizes: list[int]  # of the written files; the others are links to an existing one
    replaced: int = 0  # by later files of the same name

    def counts(self) -> dict:
        linked = self.files - len(self.sizes)
        return {"files": self.files, "linked": linked, "replaced": self.replaced, "bytes": sum(self.sizes)}


def by_level_1(folder: pathlib.Path) -> Saved | None:
    """Read the result from the index. Return None if not everything was saved."""
    index = folder / "out" / "tensors" / "index.jsonl"
    if not index.exists():
        return None
    events = [json.loads(line) for line in index.read_text().splitlines()]
    end = events[-1]
    if end["event"] != "end" or end["how"] != "complete" or end["left_out"]:
        return None
    files = [event for event in events if event["event"] == "file"]
    return Saved(len(files), [file["bytes"] for file in files if "linked_to" not in file])


def by_pytorch(stdout: pathlib.Path) -> Saved | None:
    """Read the result from the output. Later files of a name replace earlier ones of the same size."""
    paths = _SAVED_BY_PYTORCH.findall(stdout.read_text())
    sizes = {path: os.path.getsize(path) for path in set(paths)}
    return Saved(len(paths), [sizes[path] for path in paths], len(paths) - len(sizes)) if paths else None
