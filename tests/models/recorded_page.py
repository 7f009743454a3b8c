"""Reads the data of a page that `aoti-dbg report --html` wrote, in its short forms (docs/reference/page.md)."""

from __future__ import annotations

import json
import re
import typing

NUMBERS = {"mean": 2, "std": 3, "min": 4, "max": 5, "zeros": 6, "nan": 7, "inf": 8, "measured_at": 9}


def data_in(html: str) -> dict:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(text)


def column(short: typing.Any) -> list:
    """Return the whole list of a column."""
    if isinstance(short, list):
        return short
    if "rle" in short:
        pairs = zip(short["rle"][::2], short["rle"][1::2], strict=True)
        return [value for value, count in pairs for _ in range(count)]
    if "delta" in short:
        total, sums = 0, []
        for step in column(short["delta"]):
            total += step
            sums.append(total)
        return sums
    values = column(short["dict"])
    return [values[index] for index in column(short["index"])]


class Tensor:
    """A tensor on one side of a call."""

    def __init__(self, numbers: list, data: dict):
        self.argument = numbers[0]
        dtype, self.sizes, self.device = data["layouts"][numbers[1]]
        self.dtype = data["dtypes"][dtype]
        self.is_measured = len(numbers) > 2
        self.numbers = numbers + [None] * (6 - len(numbers)) + [0, 0, 0, -1][max(0, len(numbers) - 6) :]
        self.hash = numbers[10] if len(numbers) > 10 else None

    def __getitem__(self, name: str) -> typing.Any:
        return self.numbers[NUMBERS[name]]


class Page:
    def __init__(self, data: dict):
        self.data = data
        self.rows = {name: column(values) for name, values in data["rows"].items()}
        self.sites = {name: column(values) for name, values in data["sites"].items() if name != "more"}

    def site_of(self, row: int) -> dict:
        site = self.rows["site"][row]
        return {
            **{name: values[site] for name, values in self.sites.items()},
            **self.data["sites"]["more"].get(str(site), {}),
        }

    def kernel_of(self, row: int) -> str:
        return self.data["kernels"][self.site_of(row)["kernel"]]["name"]

    def model_of(self, row: int) -> dict:
        return self.data["models"][self.site_of(row)["model"]]

    def arguments_of(self, row: int) -> list[dict]:
        return self.site_of(row)["arguments"]

    def detail_of(self, row: int) -> dict:
        number = self.rows["detail"][row]
        detail = {"before": [], "after": [], **(self.data["details"][number] if number >= 0 else {})}
        for side in ("before", "after"):
            detail[side] = [Tensor(numbers, self.data) for numbers in detail[side]]
        if "series" in detail:
            series = detail["series"]
            lists = ("mean", "std", "min", "max", "nan")
            tensors = [
                {name: column(value) if name in lists else value for name, value in one.items()} for one in series["tensors"]
            ]
            detail["series"] = {"runs": column(series["runs"]), "tensors": tensors}
        return detail
