"""`aoti-dbg inspect` on real packages. torch.export's own program of each model is the judge of its inputs, outputs and
constants, and a run under the library judges the kernels.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import zipfile

import quick_imports

with quick_imports.uncollected():
    import torch

import models
import packages
import support

TOOL = os.environ["AOTI_DBGTEST_TOOL"]
NAMES = ["linear_softmax", "dynamic_batch", "fallback_ops", "cat_100", "custom_op", "embedding_index_put", "control_flow", "transformer"]


def inspect(path: pathlib.Path | str, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run([TOOL, "inspect", str(path), *options], capture_output=True, text=True, timeout=60)


def package_of(name: str) -> pathlib.Path:
    return packages.package_path(name, packages.RELEASED)


def described(path: pathlib.Path) -> dict:
    finished = inspect(path, "--format", "json")
    assert finished.returncode == 0, finished.stderr
    (model,) = json.loads(finished.stdout)["models"]
    return model


def exported(name: str) -> torch.export.ExportedProgram:
    case = models.build(name)
    with torch.no_grad():
        return torch.export.export(case.module, case.inputs, dynamic_shapes=case.dynamic_shapes)


def values_of(program: torch.export.ExportedProgram, names: tuple) -> list:
    nodes = {node.name: node for node in program.graph.nodes}
    return [nodes[name].meta["val"] for name in names]


def dtype_of(value: torch.Tensor) -> str:
    return str(value.dtype).removeprefix("torch.")


class InspectTest(unittest.TestCase):
    def assert_sizes(self, value: torch.Tensor, sizes: list[dict], program: torch.export.ExportedProgram) -> None:
        self.assertEqual(len(value.shape), len(sizes))
        for expected, size in zip(value.shape, sizes, strict=True):
            if not isinstance(expected, torch.SymInt):
                self.assertEqual(size["size"], str(expected))
                continue
            bounds = program.range_constraints[expected.node.expr]
            self.assertEqual(size["most"], int(bounds.upper))
            # Inductor compiles for sizes of 2 and more.
            self.assertEqual(size["least"], max(2, int(bounds.lower)))

    @support.as_inputs_are_described
    def test_inputs_outputs_and_constants_are_those_that_were_exported(self):
        outputs = 0
        for name in NAMES:
            with self.subTest(name=name):
                program, model = exported(name), described(package_of(name))
                inputs = values_of(program, program.graph_signature.user_inputs)
                self.assertEqual(len(inputs), len(model["inputs"]))
                for value, found in zip(inputs, model["inputs"], strict=True):
                    self.assertEqual(found["dtype"], dtype_of(value))
                    self.assert_sizes(value, found["sizes"], program)
                    self.assertEqual(found["device"], "cpu")
                returned = values_of(program, program.graph_signature.user_outputs)
                self.assertEqual(len(returned), len(model["outputs"]))
                for value, found in zip(returned, model["outputs"], strict=True):
                    if "dtype" in found and "sizes" in found:  # not of what an op allocates itself
                        outputs += 1
                        self.assertEqual(found["dtype"], dtype_of(value))
                        self.assert_sizes(value, found["sizes"], program)
                known = program.state_dict | program.constants
                for constant in model["constants"]:
                    weight = known[constant["fqn"]]
                    self.assertEqual(constant["dtype"], dtype_of(weight))
                    self.assertEqual([int(size["size"]) for size in constant["sizes"]], list(weight.shape))
                    self.assertEqual(constant["bytes"], weight.numel() * weight.element_size())
                for fqn in known.keys() - {constant["fqn"] for constant in model["constants"]}:
                    self.assertLessEqual(known[fqn].numel(), 8, "Inductor writes only such small ones into the code")
        self.assertGreater(outputs, 5)

    def test_kernels_and_their_calls_are_those_of_a_run(self):
        for name in ("linear_softmax", "dynamic_batch", "embedding_index_put"):
            with self.subTest(name=name), tempfile.TemporaryDirectory() as folder:
                outcome = support.run_victim("one", name, folder=pathlib.Path(folder), preload=True)
                ran = collections.Counter(support.kernels(outcome.names()))
                found = {kernel["name"]: kernel["calls"] for kernel in described(package_of(name))["kernels"]}
                runs = 1 + len(models.build(name).more_inputs)
                for kernel in found:
                    if "::" not in kernel:  # the printed name of an op of the proxy executor has no overload
                        self.assertEqual(found[kernel] * runs, ran[kernel], ran)
                self.assertEqual(sum(found.values()) * runs, sum(ran.values()))

    def test_the_release_that_compiled_it_is_in_the_range(self):
        library = described(package_of("linear_softmax"))["library"]

        def number(text: str) -> tuple[int, ...]:
            return tuple(map(int, text.split(".")))

        self.assertLessEqual(number(library["oldest_torch"]), support.compiled_by)
        if "newest_torch" in library:
            self.assertGreaterEqual(number(library["newest_torch"]), support.compiled_by)

    def test_pytorchs_printer_is_found(self):
        for variant, printer in ((packages.PRINTER, "names"), (packages.STATISTICS, "values")):
            model = described(packages.package_path("linear_softmax", variant))
            self.assertEqual(model["printer"], printer)

    def test_the_source_of_a_kernel_is_a_part_of_the_package(self):
        package = package_of("linear_softmax")
        with zipfile.ZipFile(package) as archive:
            sources = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".cpp")]
        printed = inspect(package, "--kernel", "cpp_fused_relu_0")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        self.assertTrue(any(printed.stdout.rstrip() in source for source in sources), printed.stdout)
        self.assertIn("cpp_fused_relu_0(", printed.stdout)
        unknown = inspect(package, "--kernel", "cpp_fused_relu_7")
        self.assertEqual((unknown.returncode, unknown.stdout), (1, ""))
        self.assertIn('Did you mean "cpp_fused_relu_0"?', unknown.stderr)

    def test_a_package_without_sources_a_library_and_a_cut_package(self):
        package = package_of("linear_softmax")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            bare = folder / "bare.pt2"
            with zipfile.ZipFile(package) as old, zipfile.ZipFile(bare, "w") as new:
                for member in old.namelist():
                    if not member.endswith(".cpp"):
                        new.writestr(member, old.read(member))
                (library,) = [member for member in old.namelist() if member.endswith(".so")]
                old.extract(library, folder)
            for path in (bare, folder / library):
                model = described(path)
                self.assertFalse(model["has_wrapper_source"])
                kernels = {kernel["name"] for kernel in model["kernels"]}
                self.assertLessEqual({"cpp_fused_relu_0", "aoti_torch_cpu_addmm_out"}, kernels)
            whole = package.read_bytes()
            for part in (3, 2):
                (folder / "cut.pt2").write_bytes(whole[: len(whole) // part])
                cut = inspect(folder / "cut.pt2")
                self.assertEqual((cut.returncode, cut.stdout), (1, ""))
                self.assertIn("damaged zip archive", cut.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
