"""Compares names and order of launches: the released package under the library with PyTorch's printer.

PyTorch's list comes from the same model, compiled a second time with its printer. It must be a subsequence of
ours, in order. forgotten_by_pytorch.txt must document exactly the rest.
"""

import json
import os
import pathlib
import tempfile
import unittest

import packages
import support


def read_forgotten() -> set[str]:
    lines = (support.here / "forgotten_by_pytorch.txt").read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def leftover(ours: list[str], theirs: list[str]) -> list[str] | None:
    """Return what `ours` has besides `theirs`, or None if `theirs` is not a subsequence."""
    extra, matched = [], 0
    for line in ours:
        if matched < len(theirs) and line == theirs[matched]:
            matched += 1
        else:
            extra.append(line)
    return extra if matched == len(theirs) else None


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        place = pathlib.Path(folder.name)
        names = packages.with_variant(packages.PRINTER)
        judge = support.run_victim("sweep", "printer", "-", *names, folder=place, preload=False)
        assert judge.code == 0, judge.stderr
        cls.theirs, name = {}, ""
        for line in judge.stdout.splitlines():
            if line.startswith("model "):
                name = line.removeprefix("model ")
            cls.theirs.setdefault(name, []).extend(support.launches(line))
        cls.outcome = support.run_victim("sweep", "released", "marks.json", *names, folder=place, preload=True)
        assert cls.outcome.code == 0, cls.outcome.stderr
        (log,) = cls.outcome.log.parent.glob(cls.outcome.log.name)
        lines = [line for line in log.read_text().splitlines() if line]
        marks = json.loads((place / "marks.json").read_text())
        ends = [*list(marks.values())[1:], len(lines)]
        cls.ours = {
            name: support.launches("\n".join(lines[begin:end]))
            for (name, begin), end in zip(marks.items(), ends)
        }

    def test_the_judge_named_something_in_every_model(self):
        self.assertEqual(set(self.theirs), set(packages.with_variant(packages.PRINTER)))
        for name, lines in self.theirs.items():
            self.assertTrue(lines, name)

    def test_the_list_of_pytorch_is_a_subsequence_of_ours_for_every_model(self):
        for name in self.theirs:
            with self.subTest(name):
                self.assertIsNotNone(leftover(self.ours[name], self.theirs[name]), self.shown(name))

    def test_what_is_left_over_is_exactly_the_documented_set(self):
        found = set()
        for name in self.theirs:
            extra = leftover(self.ours[name], self.theirs[name]) or []
            found.update(support.launch_line.match(line)[2] for line in extra)
        if "AOTI_DBGTEST_MODELS" in os.environ:
            self.assertLessEqual(found, read_forgotten())
        else:
            self.assertEqual(found, read_forgotten())

    def test_every_launch_has_its_end_and_calls_of_one_model_do_not_cross(self):
        for name, lines in self.ours.items():
            with self.subTest(name):
                kernels = support.kernels(lines)
                self.assertEqual(lines, [line for kernel in kernels for line in support.both(kernel)])

    @unittest.skipUnless(support.release >= (2, 15), "this release does not load unpacked packages")
    def test_a_package_that_was_unpacked_before_is_named_like_a_packed_one(self):
        with tempfile.TemporaryDirectory() as folder:
            name = "linear_softmax"
            seen = support.run_victim("in_place", name, folder=pathlib.Path(folder), preload=True, AOTI_DBG_LEVEL="2")
            self.assertEqual(seen.code, 0, seen.stderr)
            (path,) = pathlib.Path(folder).glob("aoti_dbg/*-*/events.jsonl")
            events = [json.loads(line) for line in path.read_text().splitlines()]
        named = [event["kernel"] for event in events if event["event"] == "call" and event["side"] == "before"]
        self.assertEqual(named, support.kernels(self.ours[name]))
        lines = [event.get("line", 0) for event in events if event["event"] == "site"]
        self.assertTrue(lines and all(lines), lines)

    def test_nothing_is_printed_to_standard_output_when_the_log_is_a_file(self):
        self.assertEqual(support.launches(self.outcome.stdout), [])

    def shown(self, name: str) -> str:
        return "\n".join([f"{name}, ours:", *self.ours[name][:60], "PyTorch's:", *self.theirs[name][:60]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
