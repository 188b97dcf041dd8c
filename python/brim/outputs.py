"""What a training writes never replaces what it reads (brim_check_outputs of the library)."""
from __future__ import annotations

import os
from typing import Any, Iterable

from . import _core
from . import files as _files
from .errors import UsageError
from .notes import log


#: What names of files say that is neither a page nor a trace; or that they are packed.
_FORMATS = (".gz", ".zst", ".xz", ".bz2", ".zip", ".tar", ".npy", ".npz", ".parquet", ".arrow", ".feather", ".csv", ".tsv", ".xlsx", ".docx", ".pptx", ".md", ".txt", ".html", ".htm", ".pdf", ".png",
            ".jpg", ".svg", ".safetensors", ".pt", ".pth", ".bin", ".h5", ".hdf5", ".pkl", ".pickle", ".json", ".jsonl", ".ndjson")


def check_ending(name: str, path: Any, *endings: str) -> None:
    """A name that says another format is found wrong by whoever reads the file; a pipe has any name."""
    plain = os.fsdecode(path).lower()
    if plain.endswith(_FORMATS) and not plain.endswith(endings) and (os.path.isfile(path) or not os.path.exists(path)):
        raise UsageError(f"{name}: what is written is not {os.path.splitext(plain)[1]}: let the name {_files.shown(path)!r} end in {endings[0]}")


def check_sets(train: Any, sets: list[tuple[str, Any]]) -> None:
    """One set under two names is taken for two when their numbers are compared, and that which is trained on for another."""
    for at, (name, data) in enumerate(sets):
        before = next((other for other, earlier in sets[:at] if _is_same(earlier, data)), None)
        if before is not None:
            log.warning("%s: its rows are those of %s, under another name: leave one out", name, before)
        elif _is_same(train, data) and "train" not in name:
            log.warning("%s: its rows are those that are trained on, so that its metrics say nothing about others; eval=\"10%%\" holds some of them out", name)


def _is_same(one: Any, other: Any) -> bool:
    """The same object, or the same file."""
    if not (_files.is_files(one) and _files.is_files(other)):
        return one is other
    first, second = ([path for path in _files.paths_of(data) if os.path.exists(path)] for data in (one, other))
    return len(first) == len(second) > 0 and all(map(os.path.samefile, first, second))


def check(runtime, output: str | None, files: Iterable[str], inputs: Iterable[tuple[str, str, Any]], resume: bool, sets: Iterable[tuple[str, Any]]) -> None:
    """output: the run's folder; files: what is written besides, by their names; inputs: (use, name, path), None where there is none; sets: rows
    by their names."""
    paths = [(use, name, os.fspath(path)) for use, name, path in inputs if path is not None]
    paths += [("data", name, path) for name, data in sets if _files.is_files(data) for path in _files.paths_of(data) if path != "-"]
    paths += [("run", "output", output)] if output is not None else []
    paths += [("writes", name, path) for name, path in files]
    for _, name, path in paths:
        if b"\0" in _files.path_bytes(path):
            raise UsageError(f"{name}: the path {path!r:.80} holds a NUL")
    _core.check_outputs(runtime, paths, resume)
    for name, path in files:
        if name == "profile":
            check_ending(name, path, ".json")
