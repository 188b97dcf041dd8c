"""What a training writes never replaces what it reads (brim_check_outputs of the library)."""
from __future__ import annotations

import os
from typing import Any, Iterable

from . import _core
from . import rows as _rows


def check(runtime, output: str | None, files: Iterable[str], inputs: Iterable[tuple[str, str, Any]], resume: bool, sets: Iterable[tuple[str, Any]]) -> None:
    """output: the run's folder; files: what is written besides, by their names; inputs: (use, name, path), None where there is none; sets: rows
    by their names."""
    paths = [(use, name, os.fspath(path)) for use, name, path in inputs if path is not None]
    paths += [("data", name, path) for name, data in sets if _rows.is_files(data) for path in _rows.paths_of(data) if path != "-"]
    paths += [("run", "output", output)] if output is not None else []
    paths += [("writes", name, path) for name, path in files]
    _core.check_outputs(runtime, paths, resume)
