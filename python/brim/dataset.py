"""Rows in memory, from files, lists, tables and ids."""
from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Sequence

from . import _core, runtime as _runtime
from .batches import Batches
from .labels import Labels, _label_text, _labels
from .tokenizer import Tokenizer


def _paths(files) -> list[str]:
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    return [os.fspath(f) for f in files]


def _where(where) -> list[tuple[str, str]]:
    return [(str(column), str(value)) for column, value in (where or {}).items()]


class Dataset:
    """Rows in memory, encoded once. Immutable; may be shared between threads, and by processes that are forked."""

    def __init__(self, core, tokenizer: Tokenizer | None, runtime, *, pad_id: int = 0, types: bool | None = None):
        self._core, self.tokenizer, self._runtime = core, tokenizer, runtime
        self._facts = core.facts()
        self.pad_id = tokenizer.pad_id if tokenizer else pad_id
        self._types = types if types is not None else tokenizer.uses_type_ids if tokenizer else True
        labels = core.labels()
        self._values = labels is not None and labels[0] != "classification"  # labels are numbers, not classes

    # ---- where rows come from ------------------------------------------------------------------------------------

    @classmethod
    def from_files(cls, files, tokenizer: Tokenizer, *, max_length: int | None = None, labels: Labels | Sequence[str] | None = None,
                   task: str = "auto", need_label: bool | None = None, text_column: str | None = None, pair_column: str | None = None,
                   label_column: str | None = None, format: str = "auto", header: bool = True, min_chars: int = 0,
                   where: dict[str, str] | None = None, skip_damaged: bool = False, cache: str | os.PathLike | None = None,
                   truncation: str = "longest_first", special_tokens: bool = True,
                   progress: Callable[[str, dict], Any] | None = None, runtime=None) -> "Dataset":
        """csv, tsv, jsonl or txt, plain or .gz or .zst; files, globs, folders, or "-".

        Text columns default to "text" and "text_pair", the label column to "label". labels: the mapping of a model (evaluation);
        without it, one is made. task: "auto", "classification", "regression" or "multi_label" (csv: labels joined by "|"; JSON:
        lists). cache: a folder; rows that it holds are not encoded again. skip_damaged: leave out what cannot be read (``excluded``
        names it) instead of failing. need_label: None reads labels unless the format is txt. progress: called with a kind and fields.
        """
        runtime = runtime or _runtime.default()
        labels = _labels(labels, runtime)
        paths = _paths(files)
        if need_label is None:
            need_label = format != "txt" and not all(p.removesuffix(".gz").removesuffix(".zst").endswith(".txt") or p == "-" for p in paths)
        options = {"max_length": max_length, "task": task, "need_label": need_label, "text_column": text_column,
                   "pair_column": pair_column, "label_column": label_column, "format": format, "no_header": not header,
                   "min_chars": min_chars, "skip_damaged": skip_damaged, "cache": None if cache is None else os.fspath(cache),
                   "truncation": truncation, "no_special_tokens": not special_tokens}
        core = _core.dataset_load(runtime, tokenizer._core, paths, _where(where), labels._core if labels else None, options, progress)
        return cls(core, tokenizer, runtime)

    @classmethod
    def from_csv(cls, files, tokenizer: Tokenizer, **options) -> "Dataset":
        """``from_files`` with format="csv"."""
        return cls.from_files(files, tokenizer, format="csv", **options)

    @classmethod
    def from_jsonl(cls, files, tokenizer: Tokenizer, **options) -> "Dataset":
        """``from_files`` with format="jsonl"."""
        return cls.from_files(files, tokenizer, format="jsonl", **options)

    @classmethod
    def from_texts(cls, texts: Sequence[str | bytes], tokenizer: Tokenizer, *, pairs: Sequence[str | bytes] | None = None,
                   labels: Sequence[Any] | None = None, mapping: Labels | Sequence[str] | None = None, task: str = "auto",
                   max_length: int | None = None, min_chars: int = 0, truncation: str = "longest_first", special_tokens: bool = True,
                   runtime=None) -> "Dataset":
        """Texts that are in memory: read where they are, encoded on all threads. labels: classes (any str or int) or values (float)."""
        runtime = runtime or _runtime.default()
        known = _labels(mapping, runtime)
        options = {"max_length": max_length, "task": task, "need_label": labels is not None, "min_chars": min_chars,
                   "truncation": truncation, "no_special_tokens": not special_tokens}
        core = _core.dataset_texts(runtime, tokenizer._core, list(texts), None if pairs is None else list(pairs),
                                   None if labels is None else [_label_text(label) for label in labels],
                                   known._core if known else None, options)
        return cls(core, tokenizer, runtime)

    @classmethod
    def from_iterable(cls, rows: Iterable[Any], tokenizer: Tokenizer, **options) -> "Dataset":
        """Rows as str, as (text, label), as (text, pair, label), or as dicts with text, text_pair and label."""
        texts, pairs, labels = [], [], []
        for row in rows:
            if isinstance(row, (str, bytes)):
                row = {"text": row}
            elif not isinstance(row, dict):
                row = dict(zip(("text", "label") if len(row) == 2 else ("text", "text_pair", "label"), row))
            texts.append(row["text"])
            pairs.append(row.get("text_pair"))
            labels.append(row.get("label"))
        some = lambda column: column if any(v is not None for v in column) else None
        return cls.from_texts(texts, tokenizer, pairs=some(pairs), labels=some(labels), **options)

    @classmethod
    def from_arrow(cls, table, tokenizer: Tokenizer, *, text_column: str = "text", pair_column: str | None = None,
                   label_column: str | None = None, labels: bool | None = None, mapping: Labels | Sequence[str] | None = None,
                   task: str = "auto", max_length: int | None = None, min_chars: int = 0, truncation: str = "longest_first",
                   special_tokens: bool = True, runtime=None) -> "Dataset":
        """Anything with ``__arrow_c_stream__``: tables of pyarrow, polars, pandas, datasets. The texts are read where Arrow has them.

        labels: None reads them if there is a label column.
        """
        runtime = runtime or _runtime.default()
        known = _labels(mapping, runtime)
        if labels is None:
            names = getattr(table, "column_names", None) or list(getattr(table, "columns", ()))
            labels = bool(label_column) or "label" in [str(n) for n in names]
        options = {"max_length": max_length, "task": task, "need_label": labels, "min_chars": min_chars, "truncation": truncation,
                   "no_special_tokens": not special_tokens}
        core = _core.dataset_arrow(runtime, tokenizer._core, table.__arrow_c_stream__(), text_column, pair_column, label_column,
                                   known._core if known else None, options)
        return cls(core, tokenizer, runtime)

    @classmethod
    def from_ids(cls, ids: Sequence[int], offsets: Sequence[int], *, type_ids=None, labels=None, mapping: Labels | Sequence[str] | None = None,
                 pad_id: int = 0, runtime=None) -> "Dataset":
        """Rows that are encoded already, end to end: row i is ids[offsets[i]:offsets[i + 1]]. labels: class ids or values."""
        runtime = runtime or _runtime.default()
        known = _labels(mapping, runtime)
        core = _core.dataset_encoded(runtime, ids, offsets, type_ids, labels, known._core if known else None)
        return cls(core, None, runtime, pad_id=pad_id)

    # ---- what it holds -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._facts["rows"]

    def __repr__(self) -> str:
        return f"Dataset({len(self)} rows, {self.tokens} tokens)"

    def __getitem__(self, row: int) -> dict[str, Any]:
        """ids (int32 [length]), type_ids (uint8, or None when all are 0), label (None if there is none), origin (row of its source)."""
        if row < 0:
            row += len(self)
        ids, types, label, origin = self._core.sample(row)
        return {"ids": ids, "type_ids": types, "label": None if label != label else label, "origin": origin}

    tokens = property(lambda self: self._facts["tokens"], doc="after truncation")
    truncated = property(lambda self: self._facts["truncated"], doc="rows that were cut")
    lost = property(lambda self: self._facts["lost"], doc="tokens that were cut")
    longest = property(lambda self: self._facts["longest"], doc="tokens of the longest row")
    has_labels = property(lambda self: self._facts["has_labels"], doc="every row has one")
    has_pairs = property(lambda self: self._facts["has_pairs"])
    fingerprint = property(lambda self: self._facts["fingerprint"], doc="of ids, type_ids and labels in order")

    @property
    def lengths(self):
        """int32 [rows]; shares the dataset's memory."""
        return self._core.lengths()

    @property
    def labels(self) -> Labels | None:
        """The mapping of labels; None if there is none."""
        found = self._core.labels()
        if found is None:
            return None
        task, names, outputs = found
        return Labels(None if task == "regression" else names, task=task, outputs=outputs, runtime=self._runtime)

    @property
    def excluded(self) -> list[tuple[str, int, int, str]]:
        """Rows that min_chars and where left out: (file, line, row, reason)."""
        return self._core.excluded()

    def _parts(self):
        ids, types, offsets, values = bytearray(), bytearray(), [0], []
        for row in range(len(self)):
            i, t, label, _ = self._core.sample(row)
            ids += memoryview(i).cast("B")
            types += memoryview(t) if t is not None else bytes(len(i))
            offsets.append(offsets[-1] + len(i))
            values += label if isinstance(label, list) else [label]
        return bytes(ids), bytes(types), offsets, values

    def __reduce__(self):
        return _rebuild, (*self._parts(), self.labels, self.tokenizer, self.pad_id, self._types)

    # ---- batches -------------------------------------------------------------------------------------------------

    def batches(self, **options) -> "Batches":
        """Batches of these rows; see ``Batches``."""
        return Batches(self, **options)


def _rebuild(ids, types, offsets, values, labels, tokenizer, pad_id, has_types):
    runtime = _runtime.default()
    core = _core.dataset_encoded(runtime, memoryview(ids).cast("i"), offsets, types, values, labels._core if labels else None)
    return Dataset(core, tokenizer, runtime, pad_id=pad_id, types=has_types)
