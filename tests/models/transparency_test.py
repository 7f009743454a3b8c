"""Runs every model bare and under the library. Standard output, with digests of all results, and the exit
code must be equal. Standard error may differ only by lines of the library.
"""

import pathlib
import tempfile
import unittest

import support


class Transparency(support.Test):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.bare = support.run_victim("sweep", "released", "-", folder=pathlib.Path(folder.name), preload=False)

    def seen(self, *arguments: str, **environment: str) -> support.Outcome:
        return support.run_victim(*arguments, folder=self.folder, preload=True, **environment)

    def test_every_model_gives_the_same_bits_with_names_to_a_file(self):
        self.assert_alike(self.bare, self.seen("sweep", "released", "-"))

    def test_every_model_gives_the_same_bits_with_names_to_standard_error_and_all_calls(self):
        self.assert_alike(self.bare, self.seen("sweep", "released", "-", AOTI_DBG_LOG="", AOTI_DBG_SCOPE="all"))

    def test_every_model_gives_the_same_bits_at_level_0(self):
        self.assert_alike(self.bare, self.seen("sweep", "released", "-", AOTI_DBG_LEVEL="0"))

    def test_a_package_with_the_printer_for_names_baked_in_prints_what_it_prints(self):
        arguments = ("sweep", "printer", "-", "linear_softmax", "fallback_ops")
        bare = support.run_victim(*arguments, folder=self.folder, preload=False)
        self.assertEqual(len(support.launches(bare.stdout)), 20 if support.release < (2, 14) else 22)
        seen = self.seen(*arguments)
        self.assert_alike(bare, seen)
        said = [line for line in seen.stderr.splitlines() if support.our_line.match(line) and "printer" in line]
        self.assertEqual(len(said), 2, "once for each of the two models: " + seen.stderr)

    def test_a_package_with_the_printer_for_values_baked_in_is_pointed_out_once(self):
        seen = self.seen("sweep", "statistics", "-", "linear_softmax")
        # The printer shows unwritten memory, which differs between any two runs.
        results = [line for line in seen.stdout.splitlines() if line.startswith("result ")]
        self.assertIn(results[0], self.bare.stdout.splitlines())
        said = [line for line in seen.stderr.splitlines() if support.our_line.match(line) and "printer" in line]
        self.assertEqual(len(said), 1, seen.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
