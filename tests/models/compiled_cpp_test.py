"""Functions of torch.compile with a C++ wrapper (TORCHINDUCTOR_CPP_WRAPPER=1). Each must be a model like a package: the
program must not notice, and each kernel must have its name, its tensors and its line.
"""

import unittest

import support
from compiled_support import CompiledTests


class CompiledCpp(CompiledTests, unittest.TestCase):
    cases = ("mlp", "dynamic", "sorting", "custom_op", "training", "nan", "threads", "failing")
    environment = {"TORCHINDUCTOR_CPP_WRAPPER": "1"}
    addmm, sort = "aoti_torch_cpu_addmm_out", "at::_ops::sort_stable::call"
    selection = (
        ["mlp", "sorting"], "aoti_torch_cpu_sort_stable,cpp_fused_gelu_0",
        [*2 * ["cpp_fused_gelu_0"], "at::_ops::sort_stable::call"],
    )  # fmt: skip

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

    def test_the_inputs_and_outputs_of_each_run_have_the_names_of_the_wrapper(self):
        inputs = [call for call in self.calls if call["side"] == "inputs"]
        outputs = [call for call in self.calls if call["side"] == "outputs"]
        self.assertEqual([argument["label"] for argument in inputs[0]["arguments"]], [f"arg{n}_1" for n in range(5)])
        self.assertEqual(inputs[0]["arguments"][2]["sizes"], [4, 16])
        self.assertEqual([argument["sizes"] for argument in outputs[0]["arguments"]], [[4, 8]])
        # A number is a tensor on its way into the wrapper.
        numbers = [argument["label"] for argument in inputs[2]["arguments"]]
        self.assertEqual(numbers, [f"arg{n}_1" for n in range(4)])

    def test_with_raise_a_run_with_a_finding_fails_with_its_sentence(self):
        """Here, a pattern has the other name of the kernel that `selection` selects."""
        selected = ["at::_ops::sort_stable::call", "cpp_fused_log_mul_0"]
        failed = self.run_victim(
            "mlp", "sorting", "nan", preload=True, AOTI_DBG_CHECK="nan", AOTI_DBG_ON_FINDING="raise",
            AOTI_DBG_LOG="stderr", AOTI_DBG_KERNELS=",".join(selected),
        )  # fmt: skip
        self.assertEqual(failed.code, 1, failed.stderr)
        before = [line for line in self.bare.stdout.splitlines() if line.split()[0] in ("mlp", "sorting")]
        self.assertEqual(failed.stdout.splitlines(), before)
        self.assertIn("RuntimeError: aoti-dbg AD1102: NaN in buf0, first made by cpp_fused_log_mul_0", failed.stderr)
        self.assertEqual(support.kernels(support.launches(failed.stderr)), selected)

    def test_the_sources_of_the_wrapper_are_kept(self):
        kept = [path for path in self.folder.glob("seen/**/evidence/*/*.main.cpp")]
        self.assertTrue(any("cpp_fused_gelu_0" in path.read_text() for path in kept), kept)


if __name__ == "__main__":
    unittest.main(verbosity=2)
