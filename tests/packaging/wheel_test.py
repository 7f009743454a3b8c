"""The Python wheel: its contents, its reproducibility, and an installation unpacked by hand. Needs no network.

AOTI_DBGTEST_BUILD is the folder with both binaries.
"""

from __future__ import annotations

import base64
import csv
import email
import hashlib
import io
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["AOTI_DBGTEST_BUILD"])
TAG = "py3-none-manylinux_2_34_x86_64"


def write(out: pathlib.Path, epoch: int = 1_700_000_000) -> pathlib.Path:
    command = [sys.executable, "-B", ROOT / "scripts" / "lib" / "wheel.py", "--build", BUILD, "--out", out]
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "TZ": f"UTC{epoch % 7}"}
    return pathlib.Path(subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout.strip())


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = write(pathlib.Path(cls.folder.name))
        cls.archive = zipfile.ZipFile(cls.path)
        cls.version = cls.path.name.split("-")[1]
        cls.info = f"aoti_dbg-{cls.version}.dist-info"

    @classmethod
    def tearDownClass(cls):
        cls.archive.close()
        cls.folder.cleanup()

    def install(self, modules: str) -> pathlib.Path:
        """Unpacks the wheel as a package manager does, with the modules in that folder of a prefix."""
        prefix = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        with zipfile.ZipFile(self.path) as archive:
            archive.extractall(prefix / modules)
        shutil.move(prefix / modules / f"aoti_dbg-{self.version}.data" / "scripts", prefix / "bin")
        (prefix / "bin" / "aoti-dbg").chmod(0o755)
        return prefix

    def enterContext(self, manager):
        # unittest has this from Python 3.11.
        self.addCleanup(manager.__exit__, None, None, None)
        return manager.__enter__()

    def test_it_has_the_library_the_program_and_the_package_and_nothing_else(self):
        expected = {
            "aoti_dbg/__init__.py": 0o644,
            "aoti_dbg/__main__.py": 0o644,
            "aoti_dbg/_version.py": 0o644,
            "aoti_dbg/libaoti_dbg.so": 0o755,
            "aoti_dbg/reference.py": 0o644,
            f"aoti_dbg-{self.version}.data/scripts/aoti-dbg": 0o755,
            **{f"{self.info}/{name}": 0o644 for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE", "licenses/NOTICE")},
        }
        found = {entry.filename: entry.external_attr >> 16 & 0o7777 for entry in self.archive.infolist()}
        self.assertEqual(found, expected)

    def test_its_name_and_tag_promise_any_python_3_and_glibc_2_34(self):
        self.assertEqual(self.path.name, f"aoti_dbg-{self.version}-{TAG}.whl")
        wheel = email.message_from_bytes(self.archive.read(f"{self.info}/WHEEL"))
        self.assertEqual(wheel.get_all("Tag"), [TAG])
        self.assertEqual(wheel["Root-Is-Purelib"], "false")

    def test_its_metadata_names_the_version_of_the_command_and_requires_nothing(self):
        metadata = email.message_from_bytes(self.archive.read(f"{self.info}/METADATA"))
        said = subprocess.run([BUILD / "aoti-dbg", "--version"], check=True, capture_output=True, text=True).stdout
        self.assertEqual((metadata["Name"], metadata["Version"]), ("aoti-dbg", self.version))
        self.assertEqual(said.split()[1], self.version)
        self.assertEqual([line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line], [])

    def test_its_description_has_no_links_to_files_that_it_lacks(self):
        metadata = email.message_from_bytes(self.archive.read(f"{self.info}/METADATA"))
        links = re.findall(r"\]\(([^)]*)\)", metadata.get_payload())
        self.assertEqual([link for link in links if not link.startswith(("http", "#"))], [])
        self.assertIn("More about installing", metadata.get_payload())

    def test_its_record_has_the_hash_and_size_of_each_entry(self):
        rows = list(csv.reader(io.StringIO(self.archive.read(f"{self.info}/RECORD").decode())))
        self.assertEqual(sorted(row[0] for row in rows), sorted(self.archive.namelist()))
        for path, digest, size in rows[:-1]:
            content = self.archive.read(path)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            self.assertEqual((digest, int(size)), (f"sha256={expected}", len(content)))
        self.assertEqual(rows[-1], [f"{self.info}/RECORD", "", ""])

    def test_the_same_binaries_give_the_same_bytes_and_another_time_gives_others(self):
        first = self.path.read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(write(pathlib.Path(folder)).read_bytes(), first)
            self.assertNotEqual(write(pathlib.Path(folder), epoch=1_600_000_000).read_bytes(), first)

    def test_an_installation_from_sources_has_the_same_binaries(self):
        # As `pip install .` does it, without compiling.
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            settings = {
                "SKBUILD": "2", "SKBUILD_PLATLIB_DIR": folder / "platlib", "SKBUILD_SCRIPTS_DIR": folder / "scripts",
                "CMAKE_BUILD_TYPE": "RelWithDebInfo", "AOTI_DBG_TESTS": "OFF", "AOTI_DBG_BENCH": "OFF",
            }  # fmt: skip
            options = [f"-D{key}={value}" for key, value in settings.items()]
            build = folder / "build"
            for command in (
                ["cmake", "-G", "Ninja", "-S", ROOT, "-B", build, *options],
                ["cp", BUILD / "libaoti_dbg.so", BUILD / "aoti-dbg", build],
                ["cmake", "--install", build, "--component", "program"],
            ):
                subprocess.run(command, check=True, capture_output=True)
            installed = [path for path in folder.rglob("*") if path.is_file() and build not in path.parents]
            found = sorted(str(path.relative_to(folder)) for path in installed)
            self.assertEqual(found, ["platlib/aoti_dbg/libaoti_dbg.so", "scripts/aoti-dbg"])

    def test_its_binaries_have_no_debug_information_but_keep_their_unwind_tables(self):
        for path in ("aoti_dbg/libaoti_dbg.so", f"aoti_dbg-{self.version}.data/scripts/aoti-dbg"):
            with tempfile.NamedTemporaryFile() as file:
                file.write(self.archive.read(path))
                file.flush()
                sections = subprocess.run(["readelf", "-SW", file.name], check=True, capture_output=True, text=True).stdout
            self.assertNotIn(".debug_", sections)
            for kept in (".eh_frame", ".dynsym"):
                self.assertIn(f" {kept} ", sections)
        self.assertIn(b"aoti-dbg\0\0\0\0" + self.version.encode(), self.archive.read("aoti_dbg/libaoti_dbg.so"))

    def test_an_installed_command_preloads_the_library_of_the_package(self):
        for modules in ("lib/python3.11/site-packages", "lib64/python3.9/site-packages", "."):
            prefix = self.install(modules)
            command = [prefix / "bin" / "aoti-dbg", "run", "--", "printenv", "LD_PRELOAD"]
            ended = subprocess.run(command, capture_output=True, text=True)
            library = str((prefix / modules / "aoti_dbg" / "libaoti_dbg.so").resolve())
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, f"{library}\n", ""))
            python = [sys.executable, "-B", "-c", "import aoti_dbg as a; print(a.library_path(), a.version)"]
            said = subprocess.run(python, cwd=prefix / modules, check=True, capture_output=True, text=True).stdout
            self.assertEqual(said, f"{library} {self.version}\n")

    def module(self, modules: str, arguments: list[str], **options) -> subprocess.CompletedProcess:
        prefix = self.install(modules)
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(prefix / modules), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "aoti_dbg", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env={**env, **options})

    def test_python_m_becomes_the_command_with_its_arguments_and_exit_code(self):
        for modules in ("lib/python3.11/site-packages", "."):
            ended = self.module(modules, ["run", "--", "/bin/sh", "-c", "echo \"<$1>\"; exit 42", "sh", "a b"])
            self.assertEqual((ended.returncode, ended.stdout), (42, "<a b>\n"))
        refused = self.module(".", ["--levle"])
        self.assertEqual(refused.returncode, 2)
        self.assertIn("aoti-dbg: error AD3001", refused.stderr)

    def test_python_m_passes_on_no_signal_that_python_ignores(self):
        ended = self.module(".", ["run", "--", "/bin/sh", "-c", "kill -PIPE $$; echo alive"])
        self.assertEqual((ended.returncode, ended.stdout), (-signal.SIGPIPE, ""))

    def test_python_m_passes_on_the_environment_that_python_got(self):
        # In this locale, Python sets LC_CTYPE.
        shown = self.module(".", ["run", "--", "printenv"], LC_CTYPE="C", LANG="").stdout
        self.assertIn("LC_CTYPE=C\n", shown)
        self.assertIn("LANG=\n", shown)


if __name__ == "__main__":
    unittest.main()
