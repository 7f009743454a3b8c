"""Typical uses of a compiled model, modeled on PyTorch's own tests of AOTInductor.

CTest runs this file twice, bare and with the library preloaded at level 3. It must pass both times and must
not use the library.
"""

import gc
import os
import tempfile
import threading
import unittest

import quick_imports

# Loading a package compares vector instructions, to warn. To find the machine's, six programs would import torch.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")

with quick_imports.uncollected():
    import torch
with quick_imports.uncollected(freeze=False):
    from torch._inductor.package import load_package
from torch.utils._pytree import tree_leaves

import models
import packages
import victim


def load(name: str, **options):
    return load_package(str(packages.package_path(name, packages.RELEASED)), **options)


class Spirit(unittest.TestCase):
    def check(self, name: str, *inputs, runner=None, case=None):
        case = case or models.build(name)
        inputs = inputs or case.inputs
        got = (runner or load(name))(*inputs)
        with torch.no_grad():
            want = case.module(*inputs)
        for mine, theirs in zip(tree_leaves(got), tree_leaves(want), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)

    def test_results_agree_with_eager(self):
        for name in models.MODELS:
            with self.subTest(name):
                self.check(name)

    def test_dynamic_batch(self):
        runner = load("dynamic_batch")
        for batch in (1, 2, 7, 64, 511):
            self.check("dynamic_batch", torch.randn(batch, 12), runner=runner)

    def test_input_of_size_zero(self):
        result, total = load("dynamic_batch")(torch.empty(0, 12))
        self.assertEqual(list(result.shape), [0, 12])
        self.assertEqual(total.tolist(), [0.0] * 12)

    def test_input_that_is_not_contiguous(self):
        wide = torch.randn(8, 24)
        # A package is compiled for the strides of its export, so a caller makes strided inputs contiguous.
        self.check("linear_softmax", wide[:, ::2][:, :10].contiguous())
        self.check("dynamic_batch", torch.randn(12, 9).t().contiguous())

    def test_input_at_an_odd_address(self):
        shifted = torch.randn(81)[1:].view(8, 10)
        self.assertNotEqual(shifted.data_ptr() % 16, 0)
        self.check("linear_softmax", shifted)

    def test_outputs_that_are_the_same_tensor(self):
        first, second, _ = load("control_flow")(torch.ones(3, 3), torch.tensor(1))
        torch.testing.assert_close(first, second, rtol=0, atol=0)

    def test_buffer_that_the_model_changes(self):
        runner, case = load("control_flow"), models.build("control_flow")
        for _ in range(3):
            self.check("control_flow", runner=runner, case=case)

    def test_cond_takes_both_branches(self):
        for sign in (1.0, -1.0):
            self.check("control_flow", sign * torch.ones(3, 3), torch.tensor(2))

    def test_while_loop_of_no_rounds_and_of_many(self):
        for rounds in (0, 1, 30):
            self.check("control_flow", torch.ones(3, 3), torch.tensor(rounds))

    def test_constants_can_be_loaded_anew(self):
        runner, case = load("linear_softmax"), models.build("linear_softmax")
        parameters = self.constants_of(runner.get_constant_fqns(), case)
        for parameter in parameters.values():
            torch.nn.init.uniform_(parameter)
        runner.load_constants(parameters, check_full_update=True)
        self.check("linear_softmax", runner=runner, case=case)

    def test_constants_that_the_caller_keeps(self):
        runner, case = load("linear_softmax"), models.build("linear_softmax")
        parameters = self.constants_of(runner.get_constant_fqns(), case)
        runner.load_constants(parameters, check_full_update=True, user_managed=True)
        self.check("linear_softmax", runner=runner, case=case)
        for parameter in parameters.values():
            parameter.mul_(2)
        self.check("linear_softmax", runner=runner, case=case)

    def constants_of(self, names: list[str], case) -> dict[str, torch.Tensor]:
        """Return the module's own memory. A small bias is compiled in and is not a constant of the
        package."""
        self.assertGreaterEqual(set(names), {"first.weight", "first.bias", "second.weight"})
        return {name: case.module.get_parameter(name).detach() for name in names}

    def test_an_update_of_constants_that_misses_one_is_refused(self):
        runner = load("linear_softmax")
        with self.assertRaises(RuntimeError):
            runner.load_constants({"first.bias": torch.zeros(16)}, check_full_update=True)
        self.check("linear_softmax", runner=runner)

    def test_inactive_constants_are_swapped_in(self):
        case = models.build("linear_softmax")
        with tempfile.TemporaryDirectory() as folder:
            container = torch._C._aoti.AOTIModelContainerRunnerCpu(victim.unpack("linear_softmax", folder), 1)
            before = container.run(list(case.inputs))[0]
            names = container.get_constant_names_to_original_fqns()
            parameters = self.constants_of(list(names.values()), case)
            for parameter in parameters.values():
                torch.nn.init.uniform_(parameter)
            container.update_constant_buffer(
                {name: parameters[original] for name, original in names.items()}, True, False
            )
            torch.testing.assert_close(container.run(list(case.inputs))[0], before, rtol=0, atol=0)
            container.swap_constant_buffer()
            after = container.run(list(case.inputs))[0]
            container.free_inactive_constant_buffer()
            torch.testing.assert_close(after, case.module(*case.inputs).detach(), rtol=1e-4, atol=1e-5)

    def test_several_runners_in_several_threads(self):
        runner, problems = load("dynamic_batch", num_runners=3), []

        def work(batch: int) -> None:
            try:
                for _ in range(20):
                    self.check("dynamic_batch", torch.randn(batch, 12), runner=runner, case=cases[batch])
            except BaseException as error:  # noqa: BLE001: handed to the main thread
                problems.append(error)

        cases = {batch: models.build("dynamic_batch") for batch in range(1, 7)}
        threads = [threading.Thread(target=work, args=(batch,)) for batch in cases]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])

    def test_single_threaded_container(self):
        self.check("linear_softmax", runner=load("linear_softmax", run_single_threaded=True))

    def test_a_custom_op_that_raises_fails_the_run_and_not_the_process(self):
        runner = load("custom_op")
        with self.assertRaises(Exception):
            runner(torch.full((4, 5), float("nan")))
        self.check("custom_op", runner=runner)

    def test_wrong_number_and_shape_of_inputs_are_refused(self):
        runner = load("linear_softmax")
        with self.assertRaises(Exception):
            runner(torch.ones(8, 11))
        with self.assertRaises(Exception):
            runner(torch.ones(8, 10), torch.ones(1))
        self.check("linear_softmax", runner=runner)

    def test_results_outlive_the_model(self):
        runner, case = load("linear_softmax"), models.build("linear_softmax")
        result = runner(*case.inputs)
        del runner
        gc.collect()
        torch.testing.assert_close(result, case.module(*case.inputs).detach(), rtol=1e-4, atol=1e-5)

    def test_metadata_has_the_device(self):
        self.assertEqual(load("linear_softmax").get_metadata()["AOTI_DEVICE_KEY"], "cpu")


if __name__ == "__main__":
    unittest.main(verbosity=2)
