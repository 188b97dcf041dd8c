"""Which rows are held out together."""
from __future__ import annotations

import array
import numbers
from typing import Any, NamedTuple

from . import files as _files, holders as _holders, options as _options, pairs as _pairs, rows as _rows, shapes as _shapes
from .dataset import Dataset
from .errors import CellError, UsageError


def one_number(folds):
    """A number of NumPy or torch, also as an array without dimensions, is one; the folds of rows stay what they are."""
    one = folds.tolist() if getattr(folds, "shape", None) == () and hasattr(folds, "tolist") else folds
    return _options.whole("folds", one, most=_options.MOST) if isinstance(one, numbers.Integral) else one


def of_splits(folds: Any) -> Any:
    """Pairs of rows to train on and rows to hold out, as scikit-learn's split() gives them, as the fold of each row; what is none stays what it is."""
    if hasattr(folds, "__next__"):
        folds = list(folds)
    if not isinstance(folds, (list, tuple)) or not folds or not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in folds):
        return folds
    parts = [tuple(map(_holders.as_list, pair)) for pair in folds]
    count = len(parts[0][0]) + len(parts[0][1])
    found: list[int | None] = [None] * count
    for fold, (train, held) in enumerate(parts):
        if len(train) + len(held) != count:
            raise UsageError(f"folds: the pair {fold} has {len(train)} rows to train on and {len(held)} to hold out, and {count} rows are split")
        for row in (_options.whole("folds", one) for one in held):
            if not 0 <= row < count or found[row] is not None:
                raise UsageError(f"folds: the pair {fold} holds out row {row}, which " + (f"is none of the {count}" if not 0 <= row < count else "another holds out too: each row is held out once"))
            found[row] = fold
    if None in found:
        raise UsageError(f"folds: no pair holds out row {found.index(None)}: each row is held out once")
    return found


def _folds_given(folds):
    """Folds of rows, as whole numbers."""
    rows = _holders.as_list(folds)
    try:
        given = array.array("i", list(rows))
    except (TypeError, OverflowError):
        wrong = next((row for row, one in enumerate(rows) if not isinstance(one, numbers.Integral) or not 0 <= one < 1 << 31), None) if isinstance(rows, (list, tuple)) else None
        raise CellError(f"folds: a number of folds is needed, or the fold of each row (0, 1, ..), not {_holders._short(folds)}"
                        + ("" if wrong is None else f": row {wrong} has {_holders._short(rows[wrong])}")) from None
    if given and min(given) < 0:
        raise ValueError(f"folds has {min(given)}: folds are numbered from 0")
    return given


class Folds(NamedTuple):
    """Which rows are held out together."""

    folds: Any               # a number, or the fold of each row
    seed: int
    stratify: bool
    column: str | None
    rows: Any                # as they were given
    source: dict[str, Any]   # how files of them are read
    columns: Any             # of rows of several texts, as they were given

    def given(self, dataset: Dataset, model):
        """(count, fold of each row or None, column of files or None)"""
        if self.column is None:
            return (self.folds, None, None) if isinstance(self.folds, int) else (0, self._kept(self.folds, dataset), None)
        if _files.is_text_files(self.rows):
            named, reads = ("text_column", "pair_column"), _shapes.of(model.task)
            source = {**{name: self.source[name] for name in named}, "words": reads.words,
                      **_options.for_files({n: v for n, v in self.source.items() if n not in (*named, "label_column")})}
            if _files.read_once(_files.paths_of(self.rows)) is not None:
                raise UsageError("fold_column cannot be read from a pipe: name a file")
            if reads.several_texts:
                source |= _pairs.read_as(_files.paths_of(self.rows), source, model.task, self.columns, model._runtime)[0]
            where = list((source.pop("where", None) or {}).items())
            return self.folds, None, (_files.encoded(_files.paths_of(self.rows)), [(str(c), str(v)) for c, v in where], source, self.column)
        table = _files.read_tables(_files.paths_of(self.rows)) if _files.is_files(self.rows) else self.rows
        try:
            folds = _rows.column_of(table, self.column)
        except UsageError as error:
            raise UsageError(f"fold_column: {error}") from None
        return self.folds, self._kept([int(one) if isinstance(one, str) and one.isdecimal() else one for one in folds], dataset), None

    def _kept(self, folds, dataset: Dataset):
        """The fold of each row that was not left out."""
        given, rows = _folds_given(folds), len(dataset)
        if len(given) != rows and (self.column is not None or _rows.count(self.rows) == len(given)):
            given = array.array("i", (given[dataset.row(row)["origin"]] for row in range(rows)))
        if len(given) != rows:
            raise ValueError(f"folds has {len(given)} numbers for {rows} rows")
        return given
