"""Imports PyTorch in three quarters of the time. The programs under test start a few hundred times.

    with quick_imports.uncollected():
        import torch
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected(freeze: bool = True) -> Iterator[None]:
    """Collect no garbage during imports, and with `freeze` never inspect the imported objects. Imports create hundreds
    of thousands of objects and hardly any garbage. Frozen objects of Triton print leaks at exit."""
    gc.disable()
    yield
    if freeze:
        gc.freeze()
    gc.enable()
