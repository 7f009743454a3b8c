"""Compares saved tensors of released models with PyTorch's own printer for the same recompiled models and
inputs:
    saved_by_torch.py printed TENSORS PRINTED   its output for every input of each model, in order
    saved_by_torch.py bits [TENSORS FOLDER]...  the files that it saved in FOLDER for one run of a model

TENSORS is the folder of saved tensors. torch loads each on its original device.
"""

from __future__ import annotations

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import parity
from saved_tensors import Saved, SavedByPyTorch, is_same, is_unwritten, pytorch_keeps


def printed(saved: Saved, path: str) -> int:
    theirs = {name: parity.runs_of(parity.read_records(text)) for name, text in parity.by_model(read(path)).items()}
    runs = sorted({file["run"] for file in saved.files})
    expected = sum(map(len, theirs.values()))
    if not expected or len(runs) != expected:
        print(f"{len(runs)} runs saved, {expected} printed by PyTorch")
        return 1
    good, total = True, 0
    for name, theirs_of_model in theirs.items():
        ours = [saved.records(runs.pop(0)) for _ in theirs_of_model]
        for record in (record for run in theirs_of_model for record in run):
            record.values = []  # its excerpts of small tensors, which ours do not have
        judged, wrong = parity.compare(ours, theirs_of_model)
        total, good = total + judged, good and judged > 0 and not wrong
        print(f"{name}: {judged} tensors alike" if not wrong else "\n".join([f"{name}:", *wrong[:20]]))
    print(f"note: {len(theirs)} models, {len(saved.files)} files, {total} judged")
    return 0 if good else 1


def bits(saved: Saved, folder: str) -> int:
    """Return the number of files compared, or 0 after a difference."""
    theirs, judged, wrong = SavedByPyTorch(pathlib.Path(folder)), collections.Counter(), []
    for name in theirs.files:
        tensor = theirs.load(name)
        at = pytorch_keeps(saved.files, name, tensor)
        if is_unwritten(saved.files, at):
            continue
        file = saved.files[at]
        judged[file["side"]] += 1
        if not is_same(saved.load(file["path"]), tensor):
            wrong.append(f"{file['path']}: other bits than {name}")
    if set(judged) != {"before", "after"}:
        wrong.append(f"of {len(theirs.files)} files of PyTorch's judged: {dict(judged)}")
    print("\n".join([f"{folder}: {sum(judged.values())} files with the bits of PyTorch's", *wrong[:20]]))
    return 0 if wrong else sum(judged.values())


def read(path: str) -> str:
    return pathlib.Path(path).read_text()


def whole(tensors: str) -> Saved:
    saved = Saved(pathlib.Path(tensors))
    left_out = dict(saved.end["left_out"])
    if saved.files[0]["device"] == "cpu":
        left_out.pop("unknown", None)  # weights packed by mkldnn, whose bytes torch cannot read either
    if saved.end["how"] != "complete" or any(left_out.values()):
        sys.exit(f"{tensors}: the index ends with {saved.end}")
    return saved


def main(way: str, *arguments: str) -> int:
    if way == "printed":
        return printed(whole(arguments[0]), arguments[1])
    judged = [bits(whole(tensors), folder) for tensors, folder in zip(arguments[::2], arguments[1::2])]
    print(f"note: {len(judged)} models, {sum(judged)} files with the bits of PyTorch's")
    return 0 if judged and all(judged) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
