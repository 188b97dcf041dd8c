"""What people hold their rows in, and what is no rows at all."""
from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, MappingView, Set
from typing import Any, NamedTuple

from .errors import CellError, UsageError
from .plain import _plain


class Columns(NamedTuple):
    """Rows as lists of equal length; names are those of the classes in the order of their ids, where the source knows them."""

    texts: list
    pairs: list | None = None
    labels: list | None = None
    names: list | None = None


class Found(list):
    """Names of columns that were found, not given: it is no slip if no row has one of them. And second texts of such a column: a row may have none."""


class Table(NamedTuple):
    """Rows as Arrow has them, with the columns that are wanted."""

    table: Any
    text: str
    pair: str | None
    label: str | None
    names: list | None = None


def _of_datasets(data: Any, *kinds: str) -> bool:
    return any(base.__module__.partition(".")[0] == "datasets" and base.__name__ in kinds for base in type(data).__mro__)


def is_splits(data: Any) -> bool:
    """A DatasetDict, or any mapping of names to tables, rows or files; not one of columns."""
    if not isinstance(data, Mapping):
        return False
    if _of_datasets(data, "DatasetDict", "IterableDatasetDict"):
        return True
    return bool(data) and not any(_is_column(v) or "train" not in data and _is_numbered(v) for v in data.values())


def _is_numbered(value: Any) -> bool:
    """A column as pandas' to_dict() writes it, and to_json(): a cell by the number of its row."""
    return isinstance(value, Mapping) and bool(value) and all(str(number).isdecimal() for number in value) and not any(isinstance(cell, Mapping) for cell in value.values())


def _is_column(value: Any) -> bool:
    if isinstance(value, (str, bytes, os.PathLike, Mapping)) or is_table(value) or type(value).__module__.startswith("brim."):
        return False
    if hasattr(value, "__next__"):  # a generator of rows
        return False
    first = next(iter(value), None) if isinstance(value, (list, tuple)) or hasattr(value, "__array__") or hasattr(value, "to_list") else value
    return not isinstance(first, (Mapping, tuple, os.PathLike)) and not is_table(first)


def are_texts_by_names(data: Any, text: str) -> bool:
    """Lists of str, none of which is the column of texts."""
    return isinstance(data, Mapping) and text not in map(str, data) and all(isinstance(one, list) and all(isinstance(row, str) for row in one) for one in data.values())


def is_table(data: Any) -> bool:
    if isinstance(data, (Mapping, list, tuple, str, bytes)) or _is_lazy(data):
        return False
    columns = hasattr(data, "column_names") or hasattr(data, "columns") or hasattr(data, "schema")
    return _of_datasets(data, "Dataset") or columns and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "iloc"))


def _is_lazy(data: Any) -> bool:
    """A LazyFrame of polars, whose columns are not known before it is collected."""
    return type(data).__name__ == "LazyFrame"


def is_one(data: Any) -> bool:
    """A text by itself, or what holds one value: its letters, or bytes, are no rows."""
    return isinstance(data, (str, bytes, bytearray)) or isinstance(data, memoryview) and data.format in ("B", "b", "c") or getattr(data, "shape", None) == ()


def one_as_list(data: Any) -> Any:
    """One text, which may be in an array of no dimension, as a list of it; anything else as it is."""
    data = data.tolist() if getattr(data, "shape", None) == () and hasattr(data, "tolist") else data
    return [data] if isinstance(data, (str, bytes)) else data


def is_unordered(data: Any) -> bool:
    """A set; the keys of a dict have an order."""
    return isinstance(data, Set) and not isinstance(data, MappingView)


def has_columns(data: Any) -> bool:
    """Looping over it gives names, or columns."""
    return isinstance(data, Mapping) or is_table(data) or _of_datasets(data, "IterableDataset")


def items(data: Any, what: str, give: str = "a list or a column of texts") -> Any:
    """Something that gives items in their order: a list, a column of any library, an array, a generator. All else is refused: what would give letters,
    bytes, names of columns or numbers of tokens in their place, or items in no order."""
    if is_one(data):
        raise CellError(f"{what} is one {'text' if getattr(getattr(data, 'dtype', None), 'kind', 'U') in 'SU' else 'value'}, {_short(data)}: give {give}")
    if is_unordered(data) or has_columns(data) or _is_lazy(data) or type(data).__module__ in _ENCODED or not is_rows(data):
        why = ", which has no order" if is_unordered(data) else ""
        raise CellError(f"{what} is {'None' if data is None else f'a {type(data).__name__}'}{why}: give {give}")
    if not hasattr(data, "__iter__") and not hasattr(data, "__len__"):
        raise CellError(f"{what} is a {type(data).__name__}, which has no length: give {give}")
    return as_list(data) if hasattr(data, "__iter__") else [data[i] for i in range(len(data))]


_ENCODED = ("brim.dataset", "brim.feed", "brim.batches")


def by_columns(data: Any) -> Any:
    """A dict of any mapping (a row of datasets' map, a tokenizer's output) and of a record array, whose fields have names; anything else as it is."""
    if isinstance(data, Mapping):
        return dict(data)
    names = getattr(getattr(data, "dtype", None), "names", None)
    return {name: data[name] for name in names} if names and len(data.shape) == 1 else data


def kept(data: Any) -> Any:
    """What can be looped over once, as a list, or as the table that Arrow reads; anything else as it is. Batches, which may have no end, are no rows,
    nor is what has no order."""
    refuse_batches(data)
    refuse_sets(data)
    if is_unordered(data):
        raise CellError(f"the rows are a {type(data).__name__}, which has no order: give a list")
    if _is_lazy(data):
        raise CellError("a LazyFrame has no rows yet: give lazy.collect()")
    if not hasattr(data, "__next__"):
        return data if isinstance(data, Mapping) else by_columns(joined(data))
    return data.read_all() if hasattr(data, "read_all") and hasattr(data, "schema") else joined(list(data))


def joined(data: Any) -> Any:
    """A list of the parts of a table (batches of Arrow, slices of polars, chunks of pandas) as the table; anything else as it is."""
    if not isinstance(data, (list, tuple)) or not data or not is_table(data[0]):
        return data
    name = type(data[0]).__module__.partition(".")[0]
    if any(not is_table(part) or type(part).__module__.partition(".")[0] != name for part in data):
        raise CellError(f"the rows are a list that begins with a {type(data[0]).__name__}, and not all of it are parts of such a table: give one table")
    library = importlib.import_module(name)
    try:
        if name == "datasets":
            return library.concatenate_datasets(list(data))
        return library.concat_tables(_as_table(library, part) for part in data) if name == "pyarrow" else library.concat(data)
    except Exception as error:  # what each library raises where columns differ
        raise CellError(f"the rows are a list of {len(data)} tables that do not go together: {' '.join(str(error).split())}") from None


def _as_table(pyarrow: Any, part: Any) -> Any:
    return pyarrow.Table.from_batches([part]) if isinstance(part, pyarrow.RecordBatch) else part


def refuse_sets(data: Any) -> None:
    """Several sets of rows by their names, where one is needed."""
    if _of_datasets(data, "DatasetDict", "IterableDatasetDict") or is_splits(data) and all(str(name) in _SPLITS for name in data):
        raise UsageError(f"the rows are the sets {', '.join(map(repr, data))}: give one of them, such as data[{[*data][-1]!r}]")


_SPLITS = {"train", "validation", "valid", "val", "dev", "test", "eval"}


def refuse_batches(data: Any) -> None:
    """What gives batches has no rows to look at by number."""
    if type(data).__module__ == "brim.feed":
        raise UsageError("a stream gives batches to train with, and rows are needed here: give its files")
    if type(data).__module__ == "brim.batches" or type(data).__name__ == "DataLoader":
        raise UsageError(f"{type(data).__name__} gives batches, and rows are needed here: give its {'dataset' if hasattr(data, 'dataset') else 'Dataset'}")


def is_rows(data: Any) -> bool:
    return is_table(data) or isinstance(data, Mapping) or hasattr(data, "__iter__") or hasattr(data, "__getitem__")


def _transformed(data: Any) -> bool:
    """A Dataset of datasets with set_transform or with_transform: its rows are what the function makes of the table."""
    return _of_datasets(data, "Dataset") and data.format.get("type") == "custom"


def as_list(rows: Any) -> Any:
    """A column of Arrow, NumPy, pandas or polars as a list; anything else as it is."""
    for way in ("to_pylist", "tolist", "to_list"):
        if hasattr(rows, way):
            return _plain(rows) if way == "tolist" else getattr(rows, way)()
    return rows


def _short(value: Any) -> str:
    try:
        shown = " ".join(repr(value).splitlines())
    except ValueError:  # a whole number of more digits than Python writes
        shown = f"a number of {value.bit_length()} bits" if isinstance(value, int) else f"a {type(value).__name__}"
    return shown if len(shown) <= 60 else shown[:57] + "..."
