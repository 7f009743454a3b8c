"""The library and its code stay small, because they are mapped into every process: library_size_test.py LIBRARY."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

LIBRARY = pathlib.Path(sys.argv.pop())


class LibrarySize(unittest.TestCase):
    def test_the_library_as_built_and_stripped(self):
        self.assertLessEqual(LIBRARY.stat().st_size, 20_000_000)
        with tempfile.NamedTemporaryFile() as stripped:
            subprocess.run(["strip", "-o", stripped.name, LIBRARY], check=True)
            self.assertLessEqual(pathlib.Path(stripped.name).stat().st_size, 6_000_000)

    def test_its_code(self):
        listed = subprocess.run(["size", "-A", LIBRARY], capture_output=True, check=True, text=True).stdout
        (text,) = [int(line.split()[1]) for line in listed.splitlines() if line.startswith(".text ")]
        self.assertLessEqual(text, 2_000_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
