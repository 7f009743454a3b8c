"""Functions that torch.compile compiled in place. compiled_victim.py runs bare, which compiles them, and then under the
library, which gets their wrappers from Inductor's cache. The program must not notice, and each kernel must have its
name, its tensors and its line.
"""

import json
import unittest

from compiled_support import CompiledTests


class Compiled(CompiledTests, unittest.TestCase):
    cases = (
        "mlp", "conv", "attention", "dynamic", "symbolic", "sorting", "custom_op", "training", "nan", "threads",
        "failing",
    )  # fmt: skip
    addmm, sort = "extern_kernels.addmm", "torch.ops.aten.sort.stable"
    checks = "nan,args,races"
    # A kernel by its function's name, one by its whole name, and one by its only name.
    selection = (
        ["mlp", "attention"], "addmm,extern_kernels.bmm,cpp_fused_gelu_0",
        2 * ["extern_kernels.addmm", "cpp_fused_gelu_0", "extern_kernels.addmm"] + 2 * ["extern_kernels.bmm"],
    )  # fmt: skip

    def test_each_kernel_has_its_name_as_pytorch_writes_it(self):
        mlp = ["extern_kernels.addmm", "cpp_fused_gelu_0", "extern_kernels.addmm"]
        self.assertEqual(self.kernels_of_run(0), mlp)
        self.assertEqual(self.kernels_of_run(1), mlp)
        named = {call.get("kernel") for call in self.calls}
        self.assertIn("torch.ops.aten.sort.stable", named)
        self.assertIn("torch.ops.aoti_dbg_victim.twice.default", named)

    def test_the_inputs_and_outputs_of_each_run_are_measured(self):
        inputs = [call for call in self.calls if call["side"] == "inputs"]
        outputs = [call for call in self.calls if call["side"] == "outputs"]
        self.assertEqual([argument["sizes"] for argument in inputs[0]["arguments"]][2], [4, 16])
        self.assertEqual([argument["sizes"] for argument in outputs[0]["arguments"]], [[4, 8]])

    def test_the_checks_of_arguments_and_races_find_only_the_op_that_raises(self):
        found = [finding for finding in self.findings() if "NaN" not in finding]
        self.assertEqual(len(found), 1, found)
        self.assertIn("index_put", found[0])
        self.assertIn("expected success, got an exception", found[0])
        self.assertNotIn("cannot be checked", self.seen.stderr)

    def test_a_crash_report_has_the_line_the_tensors_and_who_wrote_them(self):
        crashed = self.run_victim("crash", preload=True, AOTI_DBG_TRIAGE="1", AOTI_DBG_OUT="crashed")
        self.assertEqual(crashed.code, -11, crashed.stderr)
        (path,) = self.folder.glob("crashed/**/report.json")
        report = json.loads(path.read_text())
        self.assertEqual(report["call"]["kernel"], "torch.ops.aoti_dbg_victim.crash.default")
        self.assertGreater(report["call"]["line"], 0)
        self.assertEqual(report["call"]["original_aten"], ["aoti_dbg_victim.crash"])
        (read, *_) = report["arguments"]
        self.assertEqual((read["label"], read["written_by"]), ("buf0", "extern_kernels.mm (call 0)"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
