"""Reads the saved tensors of a process that has ended, and compares them: bit for bit with tensors, and with
what PyTorch's printer printed or saved of the same model. It must use only the index's format.
"""

from __future__ import annotations

import json
import pathlib
import re
import zlib

import torch

import parity

SIDES = ("inputs", "before", "after", "outputs")
TITLES = {"inputs": "aoti_model_inputs", "outputs": "aoti_model_outputs"}
# The printer's names, which are demangled C++ types.
DTYPES = {"int64": "long int", "float64": "double", "complex64": "c10::complex<float>"}
NUMBER = r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)"


def bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg().flatten().view(torch.uint8)


def is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether both have the same bits and layout."""
    alike = [(each.dtype, each.shape, each.stride(), each.is_conj(), each.is_neg()) for each in (one, other)]
    return alike[0] == alike[1] and torch.equal(bits(one), bits(other))


class Saved:
    """The folder of saved tensors of a process that has ended."""

    def __init__(self, home: pathlib.Path):
        lines = (home / "index.jsonl").read_text().split("\n")
        self.header, *events, self.end = map(json.loads, lines[:-1])
        self.rest = lines[-1]
        self.root = pathlib.Path(self.header.get("folder", home))
        self.files: list[dict] = []
        self.all_paths = [event["path"] for event in events if event["event"] == "file"]
        for event in events:
            if event["event"] == "file":
                self.files.append(event)
            elif event["event"] == "evicted":
                self.files = [file for file in self.files if file["run"] != event["run"]]
        self.files.sort(key=self.order)
        self.loaded: dict[str, torch.Tensor] = {}

    @staticmethod
    def order(file: dict) -> tuple:
        """Sort by execution order, because several threads write the index. A run's outputs have the
        number of its inputs."""
        return file["run"], file["side"] == "outputs", file["seq"], SIDES.index(file["side"]), file["position"]

    def load(self, path: str) -> torch.Tensor:
        if path not in self.loaded:
            # Reading and mapping use different code, so about half of the files get each.
            mmap = zlib.crc32(path.encode()) % 2 == 0
            self.loaded[path] = torch.load(self.root / path, weights_only=True, mmap=mmap)
        return self.loaded[path]

    def of(self, run: int, **members) -> list[dict]:
        return [
            file for file in self.files
            if file["run"] == run and all(file.get(member) == value for member, value in members.items())
        ]  # fmt: skip

    def one(self, run: int, **members) -> torch.Tensor:
        (file,) = self.of(run, **members)
        return self.load(file["path"])

    def paths(self) -> set[str]:
        return {file["path"] for file in self.files}

    def on_disk(self) -> list[pathlib.Path]:
        return [self.root / file["path"] for file in self.files]

    def records(self, run: int) -> list[SavedRecord]:
        return [SavedRecord(file, self.load(file["path"])) for file in self.of(run)]


class SavedRecord(parity.Record):
    """The printer's record of a saved tensor, computed by torch in float64."""

    def __init__(self, file: dict, tensor: torch.Tensor):
        title = TITLES.get(file["side"]) or f"{file['side']}_launch - {file['kernel']}"
        super().__init__(f"{title} - {file['label']}")
        self.tensor = tensor
        self.fields = {
            "Number of elements": str(tensor.numel()), "Dtype": DTYPES.get(file["dtype"], file["dtype"]),
            "Device": str(tensor.device), "Size": str(list(tensor.shape)), "Stride": str(list(tensor.stride())),
            "Layout": str(tensor.layout).removeprefix("torch.").capitalize(),
            "Is contiguous": str(int(tensor.is_contiguous())), "Requires grad": str(int(tensor.requires_grad)),
        }  # fmt: skip
        if tensor.numel() and not tensor.is_complex():
            wide = tensor.double()
            measured = {"Mean": wide.mean(), "Std": wide.std(correction=int(tensor.numel() > 1))}
            measured |= {"Min": wide.min(), "Max": wide.max()}
            self.fields |= {f"{name} value": repr(value.item()) for name, value in measured.items()}


def drawn(lines: list[str]) -> tuple[list[float], float]:
    """Return the elements that the printer printed, in order, and their scale. Return no elements if it
    split the rows."""
    scale, numbers = 1.0, []
    for line in lines:
        if match := re.fullmatch(rf"\s*({NUMBER})\s*\*\s*", line):
            scale = float(match[1])
        elif line.startswith("Columns"):
            return [], scale
        elif re.fullmatch(rf"(?:\s*{NUMBER})+\s*", line):
            numbers += [float(number) * scale for number in line.split()]
    return numbers, scale


def is_drawn_alike(tensor: torch.Tensor, numbers: list[float], scale: float) -> bool:
    expected, found = torch.tensor(numbers, dtype=torch.float64), tensor.double().flatten()
    # Five digits if there are exponents, otherwise four decimals.
    return found.shape == expected.shape and torch.allclose(found, expected, 1e-4, 0.51e-4 * scale, equal_nan=True)


class SavedByPyTorch:
    """The files that PyTorch's printer saved for one run in a working directory, beside the folder that it
    means. A later launch's file replaces an earlier one of the same name."""

    PREFIX = "aoti_torch"

    def __init__(self, home: pathlib.Path):
        self.files = {path.name.removeprefix(self.PREFIX): path for path in (home / "tmp").glob(f"{self.PREFIX}*.pt")}

    def load(self, name: str) -> torch.Tensor:
        return torch.load(self.files[name], weights_only=True)


def is_unwritten(files: list[dict], at: int) -> bool:
    """Like parity.is_unwritten, for the files of a run."""
    file = files[at]
    return (
        file["side"] == "before"
        and file["label"].startswith("buf")
        and all(other["label"] != file["label"] for other in files[:at])
    )


def pytorch_keeps(files: list[dict], name: str, tensor: torch.Tensor) -> int:
    """Return the index of the file that PyTorch saved as `tensor`. It is the last with that name, except
    views of a buffer: PyTorch does not save them, and we save them under the buffer's name."""
    layout = (list(tensor.shape), list(tensor.stride()), tensor.storage_offset())
    return max(
        at for at, file in enumerate(files)
        if name == f"{file['side']}_launch_{file.get('kernel')}_{file['label']}_{file['device']}.pt"
        and layout == (file["sizes"], file["strides"], file["storage_offset"])
    )  # fmt: skip
