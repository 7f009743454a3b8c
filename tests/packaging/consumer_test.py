"""Other builds find an installation in any folder, through CMake and through pkg-config.

Usage: consumer_test.py PREFIX, the folder of an installation.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
prefix = pathlib.Path()


def output(*command: str | pathlib.Path, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


class Consumer(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        # A blank and a plus sign, which an unquoted path would not survive.
        self.prefix = pathlib.Path(scratch.name) / "moved here+1"
        shutil.copytree(prefix, self.prefix, symlinks=True)
        self.build = pathlib.Path(scratch.name) / "build"
        (self.library,) = self.prefix.glob("lib*/**/libaoti_dbg.so")

    def configure(self, version: str = "0.1") -> str:
        source = self.build.parent / "source"
        shutil.copytree(HERE / "consumer", source)
        lists = source / "CMakeLists.txt"
        lists.write_text(lists.read_text().replace("aoti_dbg 0.1", f"aoti_dbg {version}"))
        return output("cmake", "-S", source, "-B", self.build, f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_find_package_names_the_library_and_runs_the_command_after_a_move(self):
        self.configure()
        found = [pathlib.Path(line) for line in (self.build / "found").read_text().split("\n")[:3]]
        self.assertEqual(found, [self.library, self.library, self.prefix / "bin" / "aoti-dbg"])
        self.assertRegex(output("cmake", "--build", self.build), r"aoti-dbg \d+\.\d+")

    def test_find_package_refuses_a_later_version(self):
        with self.assertRaisesRegex(AssertionError, "compatible with\\s+requested version"):
            self.configure("99.0")

    @unittest.skipUnless(shutil.which("pkg-config"), "pkg-config is not installed")
    def test_pkg_config_names_the_library_and_the_command_after_a_move(self):
        (folder,) = {file.parent for file in self.prefix.glob("share/**/aoti_dbg.pc")}
        for variable, expected in {"library": self.library, "command": self.prefix / "bin" / "aoti-dbg"}.items():
            # pkg-config escapes blanks for a shell.
            text = output("pkg-config", f"--variable={variable}", "aoti_dbg", PKG_CONFIG_PATH=str(folder))
            self.assertEqual(pathlib.Path(text.strip().replace("\\", "")).resolve(), expected.resolve())


if __name__ == "__main__":
    prefix = pathlib.Path(sys.argv.pop(1))
    unittest.main()
