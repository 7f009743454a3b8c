"""Files of released torch wheels, without installing or running torch. A wheel can be 900 MB, so this
module reads only the requested parts from the package index. The cache keeps them.
"""

import io
import json
import os
import pathlib
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile

# One of each minor release. The newest last.
RELEASES = ("2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")

INDEX = "https://pypi.org/simple"
TIMEOUT = 120  # seconds
CHUNK = 1 << 20  # bytes


class Failure(Exception):
    """What went wrong, for the user."""


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(os.environ.get("AOTI_DBG_CACHE") or os.path.join(base, "aoti-dbg"))


class _RemoteFile(io.RawIOBase):
    """A file behind a URL whose server can send parts of it."""

    def __init__(self, url):
        super().__init__()
        self._url = url
        self._at = 0
        with self._open(0, 0) as answer:
            if answer.status != 206:
                raise OSError("the package index does not send parts of files")
            self._size = int(answer.headers["Content-Range"].rpartition("/")[2])

    def _open(self, first, last):
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={first}-{last}"})
        return urllib.request.urlopen(request, timeout=TIMEOUT)

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, offset, whence=os.SEEK_SET):
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, buffer):
        count = min(len(buffer), self._size - self._at)
        if count <= 0:
            return 0
        with self._open(self._at, self._at + count - 1) as answer:
            data = answer.read()
        buffer[:len(data)] = data
        self._at += len(data)
        return len(data)


def _index():
    asked = subprocess.run([sys.executable, "-m", "pip", "config", "get", "global.index-url"],
                           capture_output=True, text=True, check=False).stdout.strip()
    return (os.environ.get("PIP_INDEX_URL") or asked or INDEX).rstrip("/")


def _wheel_url(version):
    """Return the URL of a wheel for Linux. The files of interest are the same for every Python."""
    request = urllib.request.Request(_index() + "/torch/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        files = json.load(answer)["files"]
    for file in files:
        name = file["filename"]
        if name.startswith(f"torch-{version}-cp311-cp311-manylinux") and name.endswith("_x86_64.whl"):
            return file["url"]
    raise Failure(f"the package index has no wheel of torch {version} for Linux")


def _downloaded_wheel(version):
    """Return a whole wheel, which pip downloads into the cache if there is none."""
    wheels = cache_folder() / "wheels"
    found = sorted(wheels.glob(f"torch-{version}[-+]*.whl"))
    if not found:
        wheels.mkdir(parents=True, exist_ok=True)
        print(f"downloading the wheel of torch {version} (once)", file=sys.stderr)
        done = subprocess.run([
            sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", str(wheels),
            "--python-version", "3.11", "--platform", "manylinux_2_28_x86_64", f"torch=={version}"],
            stdout=sys.stderr, check=False)
        found = sorted(wheels.glob(f"torch-{version}[-+]*.whl"))
        if done.returncode != 0 or not found:
            raise Failure(f"pip could not download torch {version} into {wheels}")
    return found[0]


def _read_from(wheel, paths):
    with zipfile.ZipFile(wheel) as archive:
        present = set(archive.namelist())
        return {path: archive.read(path) if path in present else b"" for path in paths}


def _read_wheel(version, paths):
    try:
        return _read_from(io.BufferedReader(_RemoteFile(_wheel_url(version)), CHUNK), paths)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        return _read_from(_downloaded_wheel(version), paths)


def read_texts(version, paths):
    """Return path -> text of files in the wheel of one release. A file that it lacks is empty."""
    kept = cache_folder() / "torch-files" / version
    if not all((kept / path).is_file() for path in paths):
        for path, text in _read_wheel(version, paths).items():
            (kept / path).parent.mkdir(parents=True, exist_ok=True)
            partial = kept / (path + f".{os.getpid()}")
            partial.write_bytes(text)
            partial.replace(kept / path)
    return {path: (kept / path).read_text() for path in paths}
