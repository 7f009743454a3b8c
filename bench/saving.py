"""What a program that saves tensors leaves, and when it is on disk: places to save to, and what stands there.

The program says when its first run began, by the clock that all processes share. It is over when the process is gone,
with whatever it does at its end, and syncfs() of that file system has come back; what was there before is on disk when
it starts. So nothing is left out: neither a queue that is drained at exit nor what only stands in memory.
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
# What a model needs besides what it leaves on a file system that lies in memory.
_OF_A_MODEL = 4 << 30


class Place:
    """A folder to save to, and the file system under it. Removes what was made there when it is closed, and only then:
    ext4 passes over the inodes of files that were removed within a minute, which makes new files four times as slow."""

    def __init__(self, parent: pathlib.Path):
        parent.mkdir(parents=True, exist_ok=True)
        self.parent = parent.resolve()
        self.root = tempfile.TemporaryDirectory(prefix="aoti-dbg-bench-", dir=self.parent)
        self.kind = self._kind()
        self.lies_in = groups.MEMORY if self.kind in _IN_MEMORY else groups.DISK

    def close(self) -> None:
        self.root.cleanup()

    def _kind(self) -> str:
        """Of the last mount over it."""
        kind, longest = "unknown", -1
        for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
            fields = line.split()
            at = pathlib.PurePath(fields[4].encode().decode("unicode_escape"))
            if self.parent.is_relative_to(at) and len(at.parts) >= longest:
                kind, longest = fields[fields.index("-") + 1], len(at.parts)
        return kind

    def room(self) -> int:
        """Bytes. The library leaves the last tenth of a file system alone."""
        found = os.statvfs(self.parent)
        free = found.f_bavail * found.f_frsize - found.f_blocks * found.f_frsize // 10
        if self.lies_in == groups.MEMORY:
            (available,) = re.findall(r"^MemAvailable: *(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.M)
            free = min(free, int(available) * 1024 - _OF_A_MODEL)
        return max(0, free)

    def sync(self) -> int:
        """Comes back when everything written there is on disk; the time."""
        folder = os.open(self.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if _libc.syncfs(folder) != 0:
                raise OSError(ctypes.get_errno(), "syncfs", str(self.parent))
            return time.monotonic_ns()
        finally:
            os.close(folder)

    @contextlib.contextmanager
    def folder(self):
        """An empty one, on a file system that is at rest. What is in it takes no room afterwards."""
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
    """Nanoseconds."""
    match = re.search(r"^start (\d+)$", stdout.read_text(errors="replace"), re.MULTILINE)
    return int(match[1]) if match else None


@dataclasses.dataclass
class Saved:
    files: int
    sizes: list[int]  # of those that were written; the others are names of one that is there
    replaced: int = 0  # by later ones of the same name

    def counts(self) -> dict:
        linked = self.files - len(self.sizes)
        return {"files": self.files, "linked": linked, "replaced": self.replaced, "bytes": sum(self.sizes)}


def by_level_1(folder: pathlib.Path) -> Saved | None:
    """By the index; none where not everything was saved."""
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
    """By what it says: later files of a name replace earlier ones, which are of the same size."""
    paths = _SAVED_BY_PYTORCH.findall(stdout.read_text())
    sizes = {path: os.path.getsize(path) for path in set(paths)}
    return Saved(len(paths), [sizes[path] for path in paths], len(paths) - len(sizes)) if paths else None
