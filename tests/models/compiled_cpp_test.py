"""Functions of torch.compile with a C++ wrapper (TORCHINDUCTOR_CPP_WRAPPER=1). Each must be a model like a package: the
program must not notice, and each kernel must have its name, its tensors and its line.
"""

import unittest

import support
from compiled_support import CompiledTest


class CompiledCpp(CompiledTest):
    cases = ("mlp", "dynamic", "sorting", "custom_op", "training", "nan", "threads", "failing")
    environment = {"TORCHINDUCTOR_CPP_WRAPPER": "1"}

    def test_the_program_prints_the_same_and_its_exceptions_have_the_same_place(self):
        self.assert_unnoticed()

    def test_each_kernel_has_its_name_as_in_a_package(self):
        mlp = ["aoti_torch_cpu_addmm_out", "cpp_fused_gelu_0", "aoti_torch_cpu_addmm_out"]
        self.assertEqual(self.kernels_of_run(0), mlp)
        self.assertEqual(self.kernels_of_run(1), mlp)
        named = {call.get("kernel") for call in self.calls}
        self.assertIn("at::_ops::sort_stable::call", named)
        self.assertIn("aoti_dbg_victim::twice", named)
        # Releases print this op differently, and a wrapper does not say which one compiled it.
        direct = "aoti_torch_cpu_cumsum" if support.release >= (2, 14) else "at::_ops::cumsum::call"
        self.assertIn(direct, named)

    def test_tensors_have_the_names_sizes_and_values_of_the_wrapper(self):
        before = self.arguments("cpp_fused_log_mul_0", "before")
        after = self.arguments("cpp_fused_log_mul_0", "after")
        self.assertEqual(before["arg0_1"]["values"], [-1, 2, 3])
        self.assertEqual(before["arg0_1"]["sizes"], [3])
        self.assertIn(after["buf0"]["values"][0], ("NaN", "-NaN"))
        self.assertAlmostEqual(after["buf0"]["values"][1], 1.3862943, places=6)

    def test_an_op_has_the_tensors_that_it_returns_after_it(self):
        before = self.arguments("at::_ops::sort_stable::call", "before")
        after = self.arguments("at::_ops::sort_stable::call", "after")
        returned = [label for label in after if label not in before]
        self.assertEqual([after[label]["dtype"] for label in returned], ["float32", "int64"])

    def test_the_inputs_and_outputs_of_each_run_have_the_names_of_the_wrapper(self):
        inputs = [call for call in self.calls if call["side"] == "inputs"]
        outputs = [call for call in self.calls if call["side"] == "outputs"]
        self.assertEqual([argument["label"] for argument in inputs[0]["arguments"]], [f"arg{n}_1" for n in range(5)])
        self.assertEqual(inputs[0]["arguments"][2]["sizes"], [4, 16])
        self.assertEqual([argument["sizes"] for argument in outputs[0]["arguments"]], [[4, 8]])
        # A number is a tensor on its way into the wrapper.
        numbers = [argument["label"] for argument in inputs[2]["arguments"]]
        self.assertEqual(numbers, [f"arg{n}_1" for n in range(4)])

    def test_each_site_has_its_line_and_the_ops_behind_it(self):
        sites = {event["kernel"]: event for event in self.events if event["event"] == "site"}
        self.assertTrue(all(site["line"] > 0 for site in sites.values()), sites)
        self.assertIn("aten.addmm", sites["aoti_torch_cpu_addmm_out"]["original_aten"])

    def test_a_nan_is_found_where_it_is_made(self):
        log = self.log_of_seen()
        self.assertIn("[ finding 1: NaN in buf0, first made by cpp_fused_log_mul_0 ]", log)
        self.assertNotIn("[ finding 2", log)

    def test_a_pattern_selects_kernels_by_either_name(self):
        for pattern in ("aoti_torch_cpu_sort_stable", "at::_ops::sort_stable::call"):
            self.assertEqual(self.kernels_with(pattern, "sorting"), ["at::_ops::sort_stable::call"])

    def test_level_1_saves_the_tensors_of_the_chosen_kernels(self):
        files = self.files_saved_of("cpp_fused_gelu_0", "mlp")
        self.assertEqual(len(files), 4, files)  # before and after, in two runs

    def test_the_sources_of_the_wrapper_are_kept(self):
        kept = [path for path in self.folder.glob("seen/**/evidence/*/*.main.cpp")]
        self.assertTrue(any("cpp_fused_gelu_0" in path.read_text() for path in kept), kept)


if __name__ == "__main__":
    unittest.main(verbosity=2)
