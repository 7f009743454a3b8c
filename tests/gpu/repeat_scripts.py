"""Runs the scripts that `aoti-dbg replay --python` wrote: repeat_scripts.py FOLDER...

All run in this process, because importing torch takes seconds. Prints a line for each, and exits with 1 if one fails.
It must not use the library.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import runpy
import sys
import traceback


def repeat(script: pathlib.Path) -> bool:
    said = io.StringIO()
    failure: object = None
    sys.argv = [str(script)]
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            failure = end.code
        except Exception:  # noqa: BLE001: scripts fail in many ways
            failure = traceback.format_exc()
    print(f"{script.name}: {'; '.join(said.getvalue().splitlines())}", failure or "", flush=True)
    return not failure and said.getvalue() != ""


folders = [pathlib.Path(folder) for folder in sys.argv[1:]]
scripts = [path for folder in folders for path in sorted(folder.glob("*.py")) if not path.name.endswith(".kernel.py")]
repeated = [repeat(script) for script in scripts]
print(f"{sum(repeated)} of {len(repeated)} scripts give the recorded results")
sys.exit(0 if repeated and all(repeated) else 1)
