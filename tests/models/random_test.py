"""Runs the checks of random_models.py on the model of random_cases.py."""

from __future__ import annotations

import collections
import pathlib
import tempfile
import unittest

import random_cases
import random_models
import random_redo
from random_recording import Argument, Recording

EXPLAINED = 12  # disagreements that a failure prints


class RandomModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="aoti-dbg-random-")
        cls.addClassCleanup(folder.cleanup)
        cls.runs = random_models.Runs(random_cases.model(), pathlib.Path(folder.name))
        cls.whole: Recording = cls.runs.recording("levels 1 and 2")
        cls.found = random_models.disagreements(cls.runs)

    def expect_none(self, kind: str) -> None:
        wrong = self.found[kind]
        self.assertFalse(wrong, "\n".join([f"{len(wrong)} disagreements:", *wrong[:EXPLAINED]]))

    def tensors(self) -> list[Argument]:
        return [argument for call in self.whole.calls for argument in call.tensors()]

    def test_the_results_are_bit_equal_at_every_level(self):
        self.expect_none("transparency")

    def test_statistics_equal_those_of_the_debug_printer(self):
        self.expect_none("printer")

    def test_each_tensor_has_a_file_that_agrees_with_its_event(self):
        self.expect_none("files")

    def test_equal_hashes_mean_equal_contents(self):
        self.expect_none("hashes")

    def test_files_hold_what_the_program_gave_and_got(self):
        self.expect_none("program")

    def test_ops_run_again_on_saved_inputs_give_the_saved_outputs(self):
        self.expect_none("redo")
        self.assertGreater(random_redo.check(self.whole)[0], 10)

    def test_each_tensor_of_a_call_site_is_recorded(self):
        self.expect_none("sites")

    def test_a_tensor_that_a_call_changes_is_not_called_read_only(self):
        self.expect_none("roles")

    def test_a_finding_names_the_first_call_with_nan_or_inf(self):
        self.expect_none("findings")
        self.assertTrue(self.runs.recording("level 2").findings)

    def test_reused_statistics_equal_measured_ones(self):
        self.expect_none("reuse")

    def test_the_model_covers_views_at_one_address(self):
        for call in self.whole.calls:
            kinds = collections.defaultdict(set)
            for argument in call.tensors():
                kinds[argument.said.get("address")].add((argument.label, str(argument.facts["strides"])))
            if any(address and len(views) > 1 for address, views in kinds.items()):
                return
        self.fail("no call has two different views at one address")

    def test_the_model_covers_empty_tensors_inside_of_storages(self):
        empty = [argument for argument in self.tensors() if 0 in argument.facts["sizes"]]
        self.assertTrue([argument for argument in empty if argument.facts["storage_offset"]])
        self.assertTrue([argument for argument in empty if not argument.facts["storage_offset"]])

    def test_the_model_covers_both_bits(self):
        loaded = [self.whole.load(argument) for argument in self.tensors() if argument.file]
        self.assertTrue(any(tensor.is_conj() for tensor in loaded), "no tensor has a conjugate bit")
        self.assertTrue(any(tensor.is_neg() for tensor in loaded), "no tensor has a negative bit")

    def test_the_model_covers_custom_ops_and_both_branches(self):
        kernels = {call.kernel for call in self.whole.calls}
        self.assertLessEqual({"rnd::move_", "rnd::fill_all_", "rnd::accumulate_", "rnd::first_of"}, kernels)


if __name__ == "__main__":
    unittest.main()
