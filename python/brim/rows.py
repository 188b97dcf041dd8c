"""Rows of any kind: tables, columns, lists of rows, files of tables. All of it becomes columns here."""
from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, Iterable

from .errors import CellError, UsageError
from .files import is_files
from .holders import as_list, Columns, is_rows, is_table, items, _of_datasets, _short, Table, _transformed
from .plain import _missing
from .tables import _classes_of, _column_names, of_columns, of_lists, of_table, _pick, _values


def lack_texts(data: Any) -> bool:
    """Rows whose columns have names, and none is that of one text."""
    names = _column_names(data) if is_table(data) else data if isinstance(data, Mapping) else _names_of_rows(list(data[:1])) if isinstance(data, (list, tuple)) else None
    return bool(names) and "text" not in map(str, names or ())


def of_rows(rows: Iterable, text=None, pair=None, label=None, labelled: bool | None = None) -> Columns:
    """Rows as str, as dicts, or as tuples: (text, label) and (text, pair, label) where labels are wanted, else (text, pair)."""
    texts, pairs, labels = [], [], []
    columns, given = None, {"text_column": text, "pair_column": pair, "label_column": label}
    named = any(column is not None for column in given.values())
    labelled_rows = False  # there is a column of them, whatever its cells are
    source, rows = rows, list_of(rows)
    names = _names_of_rows(rows)
    for number, row in enumerate(rows):
        if isinstance(row, (str, bytes)):
            if named:
                refuse_columns(number, row, **given)
            row = (row,)
        if _has_names(row, *given.values()):
            row = row._asdict()
        if isinstance(row, Mapping):
            columns = columns or _pick([str(n) for n in names], text, pair, label, labelled)
            try:
                values = [row[names[n]] if n else None for n in columns[:2]] + [row.get(names[columns[2]]) if columns[2] else None]
            except KeyError as missing:
                raise UsageError(f"row {number} has no {missing}") from None
            labelled_rows = labelled_rows or columns[2] is not None
        elif isinstance(row, (tuple, list)) and 1 <= len(row) <= 3:
            if named:
                refuse_columns(number, row, **given)
            values = [row[0], None, None]
            if len(row) == 3:
                values[1:] = row[1:]
            elif len(row) == 2:
                values[1 if labelled is False else 2] = row[1]
            if labelled is False and len(row) == 2 and not isinstance(row[1], (str, bytes, list)) and not _missing(row[1]):
                raise CellError(f"row {number} is {_short(row)}: without labels a row of two is a pair of texts: give the text alone")
            labelled_rows = labelled_rows or len(row) > 1
        else:
            raise UsageError(f"row {number} is {_short(row)}: a row is a text, (text, label), (text, pair, label), or a dict")
        texts.append(values[0]), pairs.append(values[1]), labels.append(values[2])
    return of_lists(texts, pairs, None if labelled is False or not labelled_rows else labels, columns and _classes_of(source, columns[2]), asked=pair is not None)


def list_of(rows: Any) -> list:
    """Rows one after the other; of a torch Dataset, which has a length and an index, too, and of one of datasets, which gives dicts."""
    return list(rows if _of_datasets(rows, "Dataset", "IterableDataset") else items(rows, "rows", "a list of them"))


def refuse_columns(number: int, row: Any, **given: Any) -> None:
    """Columns are named, and rows have no names for what is in them."""
    named = next((name for name, column in given.items() if column is not None), None)
    if named:
        raise UsageError(f"{named}={given[named]!r:.60}: row {number}, {_short(row)}, has no names of columns: leave it out, or give dicts or a table")


def is_bare(data: Any) -> bool:
    """Rows without names for what is in them: texts, tuples."""
    if is_files(data) or is_table(data) or isinstance(data, (Mapping, str, bytes)) or type(data).__module__.startswith("brim."):
        return False
    if not hasattr(data, "__len__") or not len(data):  # a row that is looked at is there again
        return False
    first = next(iter(data)) if hasattr(data, "__iter__") else data[0]
    return isinstance(as_list(first), (str, bytes, list, tuple)) and not _names_of_rows([first])


def without_labels(data: Any) -> Any:
    """Rows of a text and a label as their texts; others as they are."""
    return [row[0] if isinstance(row, (tuple, list)) and len(row) == 2 else row for row in list_of(data)] if is_bare(data) else data


def idle(data: Any, labelled: bool | None) -> set[str]:
    """The names of columns that say nothing of these rows, and may have been meant for others."""
    bare = is_bare(data)
    return {"text_column", "pair_column", "label_column"} if bare else {"label_column"} if labelled is False else set()


def _has_names(row: Any, *columns: Any) -> bool:
    """A named tuple with a field for the text, or where a column is named: pandas' itertuples() makes such rows."""
    fields = getattr(row, "_fields", ())
    return "text" in fields or bool(fields) and any(column is not None for column in columns)


def _names_of_rows(rows: list) -> dict[str, Any]:
    """Of dicts, and of named tuples: the names that any of them has, in their order."""
    found: dict[str, Any] = {}
    for row in rows:
        for name in row if isinstance(row, Mapping) else getattr(row, "_fields", ()):
            found.setdefault(str(name), name)
    return found


def of_any(data: Any, text=None, pair=None, label=None, labelled: bool | None = None) -> Table | Columns:
    """Any of the above; not files, and not text."""
    how = (text, pair, label, labelled)
    if is_table(data):
        return of_table(data, *how)
    if isinstance(data, Mapping):
        return of_columns(data, *how)
    if not is_rows(data):
        raise UsageError(f"{_short(data)} has no rows: give files, a table, a dict of columns, or a list of rows")
    return of_rows(data, *how)


#: What to do about a row that lacks a text.
FILL = "fill it in, or leave such rows out (min_chars 1)"


def several(data: Any, names: list[str], least: int | None, paired: bool, min_chars: int = 0) -> tuple[list, list | None]:
    """Texts, and second texts, of rows of several: a list of each row's, from columns of texts or of lists of them, each item of which
    is one. min_chars: a row that lacks a text is None, which the library leaves out."""
    least = len(names) if least is None else least
    fewest = 2 if paired else 1
    if not fewest <= least <= len(names):
        raise UsageError(f"least_columns is {least}: of these {len(names)} text columns it is from {fewest} to {len(names)}")
    if isinstance(data, Mapping) or is_table(data):
        there = [str(n) for n in data] if isinstance(data, Mapping) else _column_names(data) or []
        names = [n for i, n in enumerate(names) if i < least or n in there]
    columns = [column_of(data, name) for name in names]
    rows = []
    for number, cells in enumerate(zip(*columns)):
        row = []
        for i, cell in enumerate(cells):
            given = [None if _missing(text) else text for text in ([cell] if isinstance(cell, (str, bytes)) or not hasattr(cell, "__iter__") else cell)]
            other = next((text for text in given if not isinstance(text, (str, bytes, type(None)))), None)
            if other is not None:
                raise UsageError(f'row {number}: the value of column "{names[i]}" is {_short(other)}: a text is expected, or a list of them')
            listed = not isinstance(cell, (str, bytes)) and hasattr(cell, "__iter__")
            texts = [text for text in given if text is not None and (text or listed or i < least)]  # an empty cell of a column that some rows lack is none
            null = listed and len(texts) < len(given)
            lacks = null or i < least and not texts
            if lacks and min_chars:
                row = None
                break
            if null:
                raise UsageError(f'row {number}: item {given.index(None) + 1} of the list in "{names[i]}" is null, and each is a text: {FILL}')
            if lacks:
                raise UsageError(f'row {number}: the value of column "{names[i]}" is missing: {FILL}')
            row += texts
        rows.append(row)
    return ([row and row[0] for row in rows], [row and row[1:] for row in rows]) if paired else (rows, None)


def column_of(data: Any, name: str) -> list:
    """A column of a table, of a dict of columns, or of a list of dicts."""
    if is_table(data) or isinstance(data, Mapping):
        names = [str(n) for n in data] if isinstance(data, Mapping) else _column_names(data) or []
        if name not in names:
            raise UsageError(f'there is no column "{name}"; the columns are {", ".join(map(repr, names[:20]))}')
        return list(_values(data, name))
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
        own = _names_of_rows(data).get(name, name)
        return [row.get(own) for row in data]
    raise UsageError(f'rows without columns have no column "{name}"')


def numbers_of(data: Any, name: str) -> Any:
    """A column of lists of numbers: where Arrow has it, else as ``column_of`` gives it."""
    if _of_datasets(data, "Dataset") and not _transformed(data) and name in (_column_names(data) or []):
        return data.select_columns([name]).with_format("arrow")[:][name]
    if is_table(data) and hasattr(data, "combine_chunks") and name in (_column_names(data) or []):
        return data[name]
    return column_of(data, name)


def labels_of(data: Any, text=None, pair=None, label=None) -> list | None:
    """The labels of a table, a dict of columns or a list of rows, where they have some."""
    if is_bare(data):
        return of_rows(data).labels
    if not (is_table(data) or isinstance(data, Mapping)):
        first = data[0] if isinstance(data, (list, tuple)) and data else None
        return of_rows(data, text, pair, label, None).labels if isinstance(first, Mapping) else None
    found = of_any(data, text, pair, label, None)
    if isinstance(found, Columns):
        return found.labels
    return _values(found.table, found.label) if found.label else None


def _column_at(data: Any, name: str, numbers: list[int]) -> list:
    if _of_datasets(data, "Dataset"):
        return [data[n][name] for n in numbers]
    column = data[name].iloc if hasattr(data, "iloc") else _values(data, name) if isinstance(data, Mapping) else data[name]
    values = [column[n] for n in numbers]
    return [value.as_py() if hasattr(value, "as_py") else value for value in values]


def count(data: Any) -> int | None:
    """Rows of a list, a table or a dict of columns as they were given; None: that is not known, as of files."""
    if is_files(data):
        return None
    one = next(iter(data.values()), ()) if isinstance(data, Mapping) else data
    return len(one) if hasattr(one, "__len__") else None


def are_none(data: Any) -> bool:
    """Rows that are in memory, and none."""
    return not isinstance(data, bytes) and count(data) == 0


def as_it_is(data: Any) -> Any:
    """A list, or a dict of lists, as it is now, whatever is put into it or taken out later."""
    if isinstance(data, dict):
        return {name: list(column) if isinstance(column, list) else column for name, column in data.items()}
    return list(data) if isinstance(data, list) else data


def texts_at(data: Any, numbers: list[int], text=None, pair=None) -> list[tuple[Any, Any]] | None:
    """(text, pair or None) of rows by number; None where rows cannot be asked for by number (a stream, or rows that are encoded)."""
    if hasattr(data, "__next__"):
        return None
    if is_table(data) or isinstance(data, Mapping):
        names = _column_names(data) if not isinstance(data, Mapping) else [str(n) for n in data]
        text, pair, _ = _pick(names, text, pair, None, False)
        return list(zip(_column_at(data, text, numbers), _column_at(data, pair, numbers) if pair else [None] * len(numbers)))
    if type(data).__module__.startswith("brim.") or not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        return None
    taken = [as_list(data[n]) for n in numbers]
    rows = of_rows(taken, *((text, pair) if _names_of_rows(taken) else ()))
    return list(zip(rows.texts, rows.pairs or [None] * len(numbers)))
