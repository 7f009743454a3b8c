"""A bundle is a zip archive for zipfile, and its tensors are files for torch.load.

The launches are those of a fake CUDA model on the software driver. CTest sets AOTI_DBGTEST_TOOL, and
AOTI_DBGTEST_BUILD to the build folder.
"""

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

tool = os.environ["AOTI_DBGTEST_TOOL"]
build = pathlib.Path(os.environ["AOTI_DBGTEST_BUILD"])


def run(*command: object) -> str:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(build / "fakes")}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.out = cls.folder / "out"
        model = build / "fakes/stats/data/aotinductor/model/cstats.wrapper.so"
        program = (build / "victims/cuda_models", "--runs", "2", model)
        run(tool, "run", "--capture", "triton_*,add_*", "--out", cls.out, "--", *program)

    def bundle(self, name: str, *options: str) -> zipfile.ZipFile:
        path = self.folder / name
        run(tool, "bundle", *options, "--output", path, self.out)
        archive = zipfile.ZipFile(path)
        self.addCleanup(archive.close)
        return archive

    def tensors(self, archive: zipfile.ZipFile) -> dict[tuple, torch.Tensor]:
        """Each tensor of the index, by side, run, call and label."""
        found = {}
        lines = map(json.loads, archive.read("tensors/index.jsonl").splitlines())
        for line in (line for line in lines if line["event"] == "file"):
            with archive.open("tensors/" + line.get("same_as", line["path"])) as file:
                tensor = torch.load(file, weights_only=True, map_location="cpu")
            self.assertEqual(str(tensor.dtype), "torch." + line["dtype"])
            self.assertEqual(list(tensor.shape), line["sizes"])
            self.assertEqual(list(tensor.stride()), line["strides"])
            found[line["side"], line["run"], line["call"], line["label"]] = tensor
        return found

    def test_zipfile_finds_the_members_that_the_manifest_lists(self):
        archive = self.bundle("plain.aotidbg")
        self.assertIsNone(archive.testzip())
        self.assertEqual(archive.namelist()[0], "manifest.json")
        self.assertEqual({info.compress_type for info in archive.infolist()}, {zipfile.ZIP_STORED})
        manifest = json.loads(archive.read("manifest.json"))
        members = {member["name"]: member["bytes"] for member in manifest["members"]}
        sizes = {info.filename: info.file_size for info in archive.infolist() if info.filename != "manifest.json"}
        self.assertEqual(members, sizes)
        self.assertEqual(len(manifest["launches"]), 10)

    def test_torch_loads_the_tensors_of_the_recording(self):
        found = self.tensors(self.bundle("loaded.aotidbg"))
        self.assertEqual(len(found), 48)
        lines = map(json.loads, (self.out / "tensors/index.jsonl").read_text().splitlines())
        for line in (line for line in lines if line["event"] == "file"):
            key = line["side"], line["run"], line.get("call"), line["label"]
            if key in found:
                original = torch.load(self.out / "tensors" / line["path"], weights_only=True, map_location="cpu")
                self.assertTrue(torch.equal(original.nan_to_num(7), found[key].nan_to_num(7)), key)

    def test_redacted_tensors_are_alike_and_have_other_contents(self):
        plain = self.tensors(self.bundle("open.aotidbg"))
        redacted = self.tensors(self.bundle("redacted.aotidbg", "--redact"))
        self.assertEqual(set(redacted), {key for key in plain if key[0] == "before"})
        changed = 0
        for key, tensor in redacted.items():
            original = plain[key]
            finite = original[original.isfinite()].double()
            self.assertEqual(tensor.isnan().sum(), original.isnan().sum(), key)
            if finite.numel():
                self.assertGreaterEqual(tensor[tensor.isfinite()].double().min(), finite.min(), key)
                self.assertLessEqual(tensor[tensor.isfinite()].double().max(), finite.max(), key)
            # Only a tensor with one value keeps it.
            is_constant = original.unique().numel() == 1
            self.assertEqual(torch.equal(tensor, original), is_constant and not original.isnan().any(), key)
            changed += not is_constant
        self.assertGreater(changed, 10)
        for key, tensor in plain.items():
            if tensor.unique().numel() > 8:
                whole = bytes(tensor.contiguous().flatten().view(torch.uint8).tolist())
                self.assertNotIn(whole, (self.folder / "redacted.aotidbg").read_bytes(), key)


if __name__ == "__main__":
    unittest.main()
