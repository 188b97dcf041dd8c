"""Files of rows: their paths, and tables of Parquet and Arrow."""
from __future__ import annotations

import glob
import os
from typing import Any, Iterable

from . import _core, runtime as _runtime
from .errors import FileError, NotFoundError, UsageError

DATA_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".ndjson", ".txt", ".parquet", ".arrow", ".feather")
TABLE_SUFFIXES = (".parquet", ".arrow", ".feather")
_PACKED = (".gz", ".zst", ".xz", ".bz2")


def names_a_file(data: Any) -> bool:
    """A pathlib.Path, or a str that names an existing file or ends as data files do. Every other str is a text."""
    if not isinstance(data, str):
        return isinstance(data, os.PathLike)
    return plain_name(data).endswith(DATA_SUFFIXES) or (len(data) < 4096 and "\0" not in data and os.path.isfile(data))


def plain_name(name: str) -> str:
    """In small letters, without the suffix of what it is packed with."""
    plain = name.lower()
    for packed in _PACKED:
        plain = plain.removesuffix(packed)
    return plain


def paths_of(files: Any) -> list[str]:
    return [os.fsdecode(file) for file in ([files] if isinstance(files, (str, bytes, os.PathLike)) else files)]


def read_once(paths: Iterable[str]) -> str | None:
    """The first that can be read only once: "-", or a pipe with a name."""
    return next((path for path in paths if path == "-" or os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))), None)


def from_here(path: str) -> str:
    """The path as it is good wherever the process works later; "-" and what has no beginning stay what they are."""
    try:
        return path if path == "-" else os.path.join(os.getcwd(), path)
    except OSError:
        return path


def encoded(paths: Iterable[Any]) -> list[bytes]:
    """As the system has them, also those that are not UTF-8."""
    return [path_bytes(path) for path in paths]


def path_bytes(path: Any) -> bytes:
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        raise UsageError(f"{path!r:.60} holds half a character (a lone surrogate), which the name of no file has") from None


def shown(path: Any) -> str:
    """A path in words and pages: what is not UTF-8 in it becomes U+FFFD."""
    return path_bytes(path).decode("utf-8", "replace")


def is_files(data: Any) -> bool:
    """A path, or a list of them; a list in which no str is one is of texts."""
    if isinstance(data, (str, os.PathLike)):
        return True
    if not isinstance(data, (list, tuple)) or not all(isinstance(one, (str, os.PathLike)) for one in data):
        return False
    return any(names_a_file(one) or one == "-" or "*" in one or os.path.isdir(one) for one in data)


def is_text_files(data: Any) -> bool:
    """Files that the library reads; not those of tables."""
    return is_files(data) and not table_files(paths_of(data))


# ---- files of tables -----------------------------------------------------------------------------------------------

def table_files(files: list[str]) -> list[str]:
    """The files if all are Parquet or Arrow; [] if none is."""
    are = [f.lower().endswith(TABLE_SUFFIXES) for f in files]
    if any(are) and not all(are):
        raise UsageError(f"{files[are.index(False)]}: Parquet and Arrow files are read together with their like only")
    return files if any(are) else []


def stamp_of(files: list[str]) -> list:
    """Says whether files are still the same; what is not there, reading refuses."""
    paths = [path for file in files for path in _matches(file) if os.path.exists(path)]
    return [(path, (about := os.stat(path)).st_dev, about.st_ino, about.st_size, about.st_mtime_ns) for path in paths]


def read_tables(files: list[str]):
    """Parquet, and Arrow's file and stream formats (Feather too), one table after the other."""
    try:
        import pyarrow
        import pyarrow.feather
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise UsageError(f"{files[0]}: reading it needs pyarrow: pip install pyarrow") from None
    paths = [path for file in files for path in _matches(file)]
    tables = []
    for path in paths:
        if not os.path.exists(path):
            raise NotFoundError(f"{path}: cannot open: No such file or directory", path)
        try:
            tables.append(pyarrow.parquet.read_table(path) if path.lower().endswith(".parquet") else _read_arrow(pyarrow, path))
        except OSError as error:
            raise FileError(f"{path}: {error}", path) from error
        except pyarrow.ArrowException as error:
            raise UsageError(f"{path}: {error}", path) from error
    return pyarrow.concat_tables(tables, promote_options="default") if len(tables) > 1 else tables[0]


def _matches(file: str) -> list[str]:
    """The files of a glob, of which none may be missing by the others' names; or the file."""
    found = [*{os.path.realpath(path): path for path in sorted(glob.glob(file, recursive=True), reverse=True)}.values()][::-1]  # ** follows links
    pattern = os.path.basename(file)
    if found != [file]:
        for place in {os.path.dirname(path) for path in found}:
            names = [os.path.basename(path) for path in found if os.path.dirname(path) == place]
            _core.check_numbered(_runtime.default(), os.fsencode(place or "."), encoded(names), os.fsencode(pattern))
    return found or [file]


def _read_arrow(pyarrow, path: str):
    with open(path, "rb") as file:
        stream = file.read(6) != b"ARROW1"
    with pyarrow.memory_map(path) as source:
        return (pyarrow.ipc.open_stream if stream else pyarrow.ipc.open_file)(source).read_all()
