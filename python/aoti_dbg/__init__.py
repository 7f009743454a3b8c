"""aoti-dbg debugs PyTorch AOTInductor models: `aoti-dbg run -- python infer.py`. It must not load the library."""

import os

from ._version import version

__version__ = version
__all__ = ["library_path", "record_reference", "version"]


def library_path() -> str:
    """Returns the path of libaoti_dbg.so, for LD_PRELOAD."""
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "libaoti_dbg.so")
    if not os.path.isfile(path):
        raise FileNotFoundError(f"{path} is missing. Install aoti-dbg again: pip install --force-reinstall aoti-dbg")
    return path


def record_reference(model, inputs, path) -> None:
    """Saves what each node of the model computes in eager mode, for `aoti-dbg diff --against PATH`."""
    from .reference import record_reference as record

    record(model, inputs, path)
