"""Exchanges `.pt` files with torch in both directions, over dtypes and layouts, without a model.

pt_exchange (tests/support) writes our files and reads torch's. torch, zipfile and pickletools judge, all in
one process, because torch takes seconds to start. CTest sets AOTI_DBGTEST_PT_EXCHANGE to the program.
"""

import ctypes
import io
import json
import os
import pathlib
import pickletools
import struct
import subprocess
import tempfile
import unittest
import zipfile

import quick_imports

with quick_imports.uncollected():
    import torch
from torch.utils.serialization import config

program = os.environ["AOTI_DBGTEST_PT_EXCHANGE"]
DTYPES = (
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu "
    "complex32 complex64 complex128 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool float4_e2m1fn_x2"
).split()
# Ways to load a file, by a name that appears in a failure.
LOADERS = {
    "read": {"mmap": False},
    "mapped": {"mmap": True},
    "mapped, offsets computed": {"mmap": True, "computed": True},
}


def exchange(*arguments: str, names: list[pathlib.Path] | None = None) -> list[dict]:
    said = "".join(f"{name}\n" for name in names or [])
    done = subprocess.run([program, *arguments], input=said, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def bits(storage: torch.UntypedStorage) -> bytes:
    return ctypes.string_at(storage.data_ptr(), storage.nbytes())


def load(path: pathlib.Path, mmap: bool, computed: bool = False, **options) -> torch.Tensor:
    with config.patch("load.calculate_storage_offsets", computed):
        return torch.load(path, weights_only=True, mmap=mmap, **options)


def facts(tensor: torch.Tensor) -> dict:
    """Return the facts that pt_exchange prints, except the device."""
    storage = tensor.untyped_storage()
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "sizes": list(tensor.size()),
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset(),
        "storage_bytes": storage.nbytes(),
        "storage": bits(storage).hex(),
        "conjugate": tensor.is_conj(),
        "negative": tensor.is_neg(),
    }


def tensor_of(case: dict) -> torch.Tensor:
    storage = torch.UntypedStorage(case["storage_bytes"])
    ctypes.memmove(storage.data_ptr(), bytes.fromhex(case["storage"]), storage.nbytes())
    empty = torch.empty(0, dtype=getattr(torch, case["dtype"]))
    tensor = empty.set_(storage, case["offset"], case["sizes"], case["strides"])
    torch._C._set_conj(tensor, case["conjugate"])
    torch._C._set_neg(tensor, case["negative"])
    return tensor


class InAFolder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)


class OursReadByTorch(InAFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cases = exchange("write", str(cls.folder))

    def for_each(self, check):
        """Call check(path, device, facts) for each file. A failure shows the file's name."""
        for case in self.cases:
            expected = dict(case)
            path, device = pathlib.Path(expected.pop("path")), expected.pop("device")
            with self.subTest(path.name):
                check(path, device, expected)

    def test_every_dtype_is_among_them(self):
        self.assertEqual({case["dtype"] for case in self.cases}, set(DTYPES))

    def test_torch_gives_back_the_very_tensor(self):
        def check(path, device, expected):
            for name, loader in LOADERS.items():
                # A tensor from a GPU is loaded on a machine without one.
                options = {} if device == "cpu" else {"map_location": "cpu"}
                tensor = load(path, **loader, **options)
                self.assertEqual(facts(tensor), expected, name)
                self.assertEqual((type(tensor), tensor.device.type, tensor.requires_grad), (torch.Tensor, "cpu", False))

        self.for_each(check)

    def test_the_device_is_known_and_can_be_mapped(self):
        def check(path, device, expected):
            locations = []

            def place(storage, location):
                locations.append(location)
                return storage

            self.assertEqual(facts(load(path, mmap=False, map_location=place)), expected)
            self.assertEqual(locations, [device])
            self.assertEqual(facts(load(path, mmap=False, map_location={device: "cpu"})), expected)

        self.for_each(check)

    @unittest.skipUnless(torch.__version__.startswith("2.11."), "the release whose habits the writer keeps")
    def test_the_bytes_are_those_of_torch_save(self):
        compared = []

        def check(path, device, expected):
            tensor = tensor_of(expected)
            # torch drops an incomplete last element, and has no GPU here.
            if device != "cpu" or expected["storage_bytes"] % tensor.element_size() != 0:
                return
            buffer = io.BytesIO()
            torch.save(tensor, buffer)
            self.assertEqual(path.read_bytes(), buffer.getvalue())
            compared.append(path)

        self.for_each(check)
        self.assertGreater(len(compared), 15 * len(DTYPES))

    def test_other_readers_of_zip_and_pickle_find_nothing_wrong(self):
        def check(path, _, expected):
            with zipfile.ZipFile(path) as archive:
                self.assertIsNone(archive.testzip())
                self.assertEqual({record.compress_type for record in archive.infolist()}, {zipfile.ZIP_STORED})
                self.assertEqual(archive.read("archive/data/0").hex(), expected["storage"])
                local = path.read_bytes()[archive.getinfo("archive/data/0").header_offset :]
                name_bytes, extra_bytes = struct.unpack_from("<HH", local, 26)
                content = archive.getinfo("archive/data/0").header_offset + 30 + name_bytes + extra_bytes
                self.assertEqual(content % 64, 0)
                pickletools.dis(archive.read("archive/data.pkl"), out=io.StringIO())

        self.for_each(check)


class BeyondFourGibibytes(InAFolder):
    def check(self, size: int) -> pathlib.Path:
        path = self.folder / f"{size}.pt"
        self.addCleanup(path.unlink)
        exchange("huge", str(path), str(size))
        for name, loader in LOADERS.items():
            if loader["mmap"]:
                with self.subTest(name):
                    tensor = load(path, **loader)
                    self.assertEqual((tensor.dtype, list(tensor.size())), (torch.uint8, [size]))
                    self.assertEqual(bytes(tensor[-7:].tolist()), b"the end")
                    self.assertEqual(tensor[:4096].count_nonzero(), 0)
        return path

    def test_a_file_whose_end_alone_lies_beyond(self):
        self.check(2**32 - 600)

    def test_a_tensor_that_does(self):
        path = self.check(2**32 + 64)
        with zipfile.ZipFile(path) as archive:
            self.assertIsNone(archive.testzip())
        (read,) = exchange("read", names=[path])
        self.assertEqual((read.get("error"), read["storage_bytes"]), (None, 2**32 + 64))
        self.assertTrue(bytes.fromhex(read["storage"]).endswith(b"the end"))


class TorchsReadByUs(InAFolder):
    def read(self, saved: dict[str, object], **options) -> dict[str, dict]:
        """Return what our reader prints for each file, by name."""
        names = [self.folder / f"{name}.pt" for name in saved]
        for name, what in zip(names, saved.values()):
            torch.save(what, name, **options)
        return dict(zip(saved, exchange("read", names=names)))

    def check(self, saved: dict[str, torch.Tensor], **options):
        for name, read in self.read(saved, **options).items():
            with self.subTest(name):
                self.assertNotIn("error", read)
                self.assertEqual(read.pop("device"), "cpu")
                self.assertEqual(read, facts(saved[name]))

    def test_every_dtype_in_many_layouts(self):
        random = torch.Generator().manual_seed(6)
        saved = {}
        for dtype in DTYPES:
            of_dtype = getattr(torch, dtype)
            most = 2 if dtype == "bool" else 256
            raw = torch.randint(most, (24 * of_dtype.itemsize,), dtype=torch.uint8, generator=random)
            tensor = raw.view(of_dtype)
            saved |= {
                f"{dtype}_{layout}": view
                for layout, view in {
                    "vector": tensor,
                    "matrix": tensor.view(4, 6),
                    "transposed": tensor.view(4, 6).t(),
                    "slice": tensor.view(4, 6)[1:3, 2:],
                    "steps": tensor[1::5],
                    "expanded": tensor[:3].view(3, 1).expand(2, 3, 4),
                    "overlapping": tensor.unfold(0, 4, 1),
                    "scalar": tensor[17],
                    "empty": tensor[3:3],
                    "nothing": torch.empty(0, dtype=of_dtype),
                    "permuted": tensor.view(2, 1, 3, 4).permute(3, 0, 2, 1),
                }.items()
            }
            if of_dtype.is_complex:
                saved[f"{dtype}_conjugate"] = tensor.conj()
                saved[f"{dtype}_conjugate_and_negative"] = torch._neg_view(tensor.view(4, 6).mH)
            saved[f"{dtype}_negative"] = torch._neg_view(tensor)
        self.check(saved)

    def test_parameters_and_tensors_with_attributes(self):
        marked = torch.arange(3.0)
        marked.note = ["anything", {"at": all}]
        parameter = torch.nn.Parameter(torch.arange(6.0).view(2, 3).t())
        noted = torch.nn.Parameter(torch.arange(3.0))
        noted.note = 1
        grown = torch.arange(3.0, requires_grad=True)
        self.check({"marked": marked, "parameter": parameter, "noted": noted, "grown": grown,
                    "buffer": torch.nn.Buffer(torch.arange(3))})

    def test_other_alignments_and_older_files(self):
        with config.patch("save.storage_alignment", 4096):
            self.check({"pages": torch.arange(5)})
        self.check({"no_order": torch.arange(5)}, _disable_byteorder_record=True)

    def test_what_is_no_plain_tensor_is_named(self):
        values = torch.arange(4.0)
        saved = {
            "a dict of 2 entries": {"a": values, "b": 1},
            "a dict (OrderedDict)": torch.nn.Linear(2, 2).state_dict(),
            "a list of 3 entries": [values, 1, 2.5],
            "a tuple": (values,),
            "an integer": 2**100,
            "a string": "x" * 1000,
            "torch.nn.modules.linear.Linear()": torch.nn.Linear(2, 2),
            "_rebuild_sparse_tensor()": values.to_sparse(),
            "_rebuild_meta_tensor_no_storage()": values.to("meta"),
            "expected a pickle of at most": list(range(100000)),
        }
        numbered = {str(number): what for number, what in enumerate(saved.values())}
        for words, read in zip(saved, self.read(numbered).values()):
            with self.subTest(words):
                self.assertIn("a plain tensor", read["error"])
                if words != "an integer":
                    self.assertIn(words, read["error"])

    def test_dtypes_that_we_do_not_know_are_named(self):
        bits = torch.zeros(4, dtype=torch.uint8).view(torch.bits1x8)
        self.assertIn("torch.bits1x8", self.read({"bits": bits})["bits"]["error"])

    def test_a_file_of_the_form_before_1_6_is_refused(self):
        read = self.read({"old": torch.arange(3)}, _use_new_zipfile_serialization=False)
        self.assertIn("before 1.6", read["old"]["error"])

    def test_files_without_checksums_are_distinguished_from_sound_ones(self):
        with config.patch("save.compute_crc32", False):
            read = self.read({"unchecked": torch.arange(3)})
        self.assertIn("set_crc32_options", read["unchecked"]["error"])


if __name__ == "__main__":
    # torch warns that complex32 is experimental.
    unittest.main(warnings="ignore")
