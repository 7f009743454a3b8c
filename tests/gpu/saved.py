"""Compares saved tensors with what level 2 measured of the same tensors in the same process:
    saved.py EVENTS TENSORS   events.jsonl with hashes (AOTI_DBG_STATS=full), the folder of saved tensors

Every measured tensor must have a file and every file a measured tensor. The index must be complete. Each file
must have correct checksums, and its bytes must yield the hash that the device computed. Tensors must be equal
on disk exactly if level 2 reports them as equal: two independent kernels check each other. Needs numpy.
"""

from __future__ import annotations

import json
import pathlib
import sys
import zipfile

import numpy as np

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0x6A09E667F3BCC908), np.uint64(0xBB67AE8584CAA73B)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def high_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the upper 64 bits of the products of 64-bit numbers."""
    middle = (a >> HALF) * (b & LOW) + ((a & LOW) * (b & LOW) >> HALF)
    other = (a & LOW) * (b >> HALF) + (middle & LOW)
    return (a >> HALF) * (b >> HALF) + (middle >> HALF) + (other >> HALF)


def sums(place: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
    a = first ^ place ^ FIRST
    b = second ^ (place << HALF | place >> HALF) ^ SECOND
    low = (a * b + second).sum(dtype=np.uint64)
    high = (high_product(a, b) + first).sum(dtype=np.uint64)
    return int(low), int(high)


def hash_of(content: bytes) -> str:
    """Return the hash as stats_kernels/bytes_hash.hpp defines it."""
    words = np.frombuffer(content + bytes(-len(content) % 16), dtype="<u8").reshape(-1, 2)
    place = np.arange(1, len(words) + 1, dtype=np.uint64) * STEP
    low, high = sums(place, words[:, 0], words[:, 1])
    length = np.array([len(content)], dtype=np.uint64)
    last_low, last_high = sums(~np.zeros(1, dtype=np.uint64), length, ~length)
    return f"{(high + last_high) % 2**64:016x}{(low + last_low) % 2**64:016x}"


def storage_of(path: pathlib.Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/data/0")]
        return archive.read(name)


def place_of(event: dict, label: str, position: int) -> tuple:
    return event["run"], event.get("call"), event["side"], label, position


def measured_in(events: pathlib.Path) -> dict[tuple, dict]:
    found, positions = {}, {}
    for line in events.read_text().splitlines():
        event = json.loads(line) if line.strip() else {"event": "blank"}
        if event["event"] == "argument":
            positions[event["id"]] = event["position"]
        if event["event"] == "call" and "run" in event:
            for argument in event.get("arguments", []):
                if "hash" in argument:
                    place = place_of(event, argument["label"], positions[argument["argument"]])
                    found[place] = argument
    return found


def bytes_before(file: dict) -> int:
    """Return the bytes of the storage before the tensor."""
    covered = sum((size - 1) * stride for size, stride in zip(file["sizes"], file["strides"])) + 1
    elements = file["storage_offset"] + (0 if 0 in file["sizes"] else covered)
    in_file = file.get("saved_storage_bytes", file["storage_bytes"])
    return file["storage_offset"] * (in_file // elements) if elements else 0


def is_dense(file: dict) -> bool:
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(file["strides"], file["sizes"]) if size != 1):
        if stride != expected:
            return False
        expected *= size
    return True


def main(events: str, tensors: str) -> int:
    home, faults = pathlib.Path(tensors), []
    lines = [json.loads(line) for line in (home / "index.jsonl").read_text().splitlines()]
    end, files = lines[-1], [line for line in lines if line["event"] == "file"]
    if end.get("how") != "complete" or any(end["left_out"].values()):
        faults.append(f"the index ends with {end}")
    measured, contents = measured_in(pathlib.Path(events)), {}
    by_theirs: dict[tuple, str] = {}
    by_ours: dict[tuple, str] = {}
    saved = {place_of(file, file["label"], file["position"]) for file in files}
    if saved != set(measured):
        faults.append(f"{len(set(measured) - saved)} measured and not saved: {sorted(set(measured) - saved, key=str)[:3]}")
        faults.append(f"{len(saved - set(measured))} saved and not measured: {sorted(saved - set(measured), key=str)[:3]}")
    for file in files:
        path = home / file["path"]
        inode = path.stat().st_ino
        if inode not in contents:
            contents[inode] = hash_of(storage_of(path)[bytes_before(file) :])
        if contents[inode] != file["hash"]:
            faults.append(f"{file['path']}: its bytes give {contents[inode]}, the device said {file['hash']}")
        argument = measured.get(place_of(file, file["label"], file["position"]))
        # Gaps between elements are saved but not measured.
        if argument is None or not is_dense(file):
            continue
        theirs = (argument["hash"], file["dtype"], *file["sizes"])
        ours = (file["hash"], file["dtype"], *file["sizes"], *file["strides"])
        if by_theirs.setdefault((*theirs, *file["strides"]), file["hash"]) != file["hash"]:
            faults.append(f"{file['path']}: other bytes than those of a tensor that level 2 says is equal")
        if by_ours.setdefault(ours, argument["hash"]) != argument["hash"]:
            faults.append(f"{file['path']}: the bytes of a tensor that level 2 distinguishes")
    for fault in faults[:20]:
        print(fault)
    print(f"note: {len(files)} files, {len(contents)} contents, {len(by_ours)} distinguished by both")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
