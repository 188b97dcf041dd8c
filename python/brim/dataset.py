"""Rows in memory, from files, lists, tables and ids."""
from __future__ import annotations

import operator
import os
import re
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Sequence, SupportsIndex, Unpack, overload

from . import (_core, blocks as _blocks, files as _files, holders as _holders, kinds as _kinds, options as _options, rows as _rows, runtime as _runtime,
               shapes as _shapes, tables as _tables, words as _words)
from .batches import Batches
from .blocks import Block
from .errors import CellError, Error, MismatchError, UsageError
from .keywords import BatchOptions, FileOptions, TextOptions
from .labels import Labels, _label_texts, _labels, kept, natural, originals
from .layout import Layout
from .options import MOST, whole
from .plain import _missing
from .tokenizer import Tokenizer, _tokenizer

#: A file, or several; globs and folders too.
Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def _where(where) -> list[tuple[str, str]]:
    return [(str(column), str(value)) for column, value in (where or {}).items()]


def _classes(names: list | None, task: str | None) -> list | None:
    """Those that a column says; None: its values are asked for."""
    return names if task in (None, "auto") or _shapes.of(task).named else None


def _refuse_of_text_files(path: str, **given) -> None:
    """What is for text files alone, of a file of tables."""
    named = [name for name, value in given.items() if value not in (None, False)]
    if named:
        raise UsageError(f"{path}: {named[0]} is for text files (csv, tsv, jsonl, txt); filter the table, and give that")


MOST_PROMPTS = 8  #: of a row's texts


def _skips(missing_label: str) -> bool:
    if missing_label not in ("error", "skip"):
        raise UsageError(f"missing_label={missing_label!r}: error or skip")
    return missing_label == "skip"


def _prompts(prompts: Sequence[str | None] | None) -> dict[str, str | None]:
    """Of the texts of a row in their order, the last of them of all that follow."""
    given = [*(prompts or [None])]
    if len(given) > MOST_PROMPTS:
        raise UsageError(f"prompts: there are {len(given)}, and the first {MOST_PROMPTS} texts of a row may have their own")
    return {f"prompt{i}": given[min(i, len(given) - 1)] for i in range(MOST_PROMPTS)}


MASKED_WINDOWS = 1024  #: of a text at most, as the program has it


def _windows(overlap: int | None, most: int | None, numbering: str | None = None, max_length: int | None = None) -> dict[str, int]:
    """Windows of long texts, as the library takes them. Texts whose words are masked have them where nothing is said, and pairs are cut then."""
    if numbering and overlap is None and most is None:
        return {"window_overlap": 0, "max_windows": MASKED_WINDOWS, "cut_pairs": True} if max_length else {}
    if overlap is None and numbering:
        overlap = 0
    if overlap is None and most is not None:
        raise UsageError("max_windows has no effect without windows: add it or leave out max_windows")
    for name, value, least in (("windows", overlap, 0), ("max_windows", most, 1)):
        if value is not None:
            whole(name, value, least, MOST)
    return {} if overlap is None else {"window_overlap": overlap, "max_windows": (MASKED_WINDOWS if numbering else 16) if most is None else most}


def refuse_of_several(text_columns: Any, **given) -> None:
    """What is of rows of several texts, whose columns are not said."""
    named = _options.first(given)
    if named and text_columns is None:
        raise UsageError(f"{named}: it is of rows of several texts: give text_columns too")
    for name in ("least_columns", "most_texts"):
        if given.get(name) is not None:
            whole(name, given[name], 1)


class Cut(NamedTuple):
    """How long texts were cut where rows were encoded; None: nothing was said."""

    max_length: int | None
    truncation: str | None
    side: str | None
    windows: dict[str, int]  #: as options of rows; {}: there are none
    numbering: str | None  #: of masked words

    @classmethod
    def of(cls, encode: Mapping[str, Any]) -> "Cut":
        windows = {"windows": encode["window_overlap"], "max_windows": encode["max_windows"]} if "window_overlap" in encode else {}
        return cls(encode.get("max_length"), encode.get("truncation"), encode.get("truncation_side"), windows, encode.get("numbering"))


def refuse_encoded(data, **options) -> None:
    """Options that say how rows become ids, or what their labels are, have no effect on a Dataset: refused by name."""
    given = _options.first(options)
    if isinstance(data, Dataset) and given:
        raise UsageError(f"{given}: the rows are encoded already (a Dataset), so that it has no effect: give it where the Dataset is made")


def _reached(error: Error) -> int:
    """The line or row that is wrong."""
    row = re.search(r"row (\d+)", str(error))
    return error.line or (int(row[1]) if row else 0)


def _refuse_without_labels(**given) -> None:
    named = _options.first(given)
    if named:
        raise UsageError(f"{named}: the rows have no labels, so that it has no effect: give them, or leave it out")


class Dataset:
    """Rows in memory, encoded once. Immutable; may be shared between threads, and by processes that are forked."""

    tokenizer: Tokenizer | None
    pad_id: int

    def __init__(self, core: Any, tokenizer: Tokenizer | None, runtime: Any, *, pad_id: int = 0, types: bool | None = None, encode: Mapping[str, Any] | None = None):
        self._hold(core, tokenizer, runtime)
        self._cut_as = None if encode is None else Cut.of(encode)
        self.pad_id = tokenizer.pad_id if tokenizer else pad_id
        self._types = types if types is not None else tokenizer.uses_type_ids if tokenizer else True
        self._kind: str | dict[str, Any] | None = None  # of labels: "str", "float", or the value of each name; None: as their names look
        labels = core.labels()
        self._values = labels is not None and labels[0] != "classification"  # labels are numbers, not classes
        if self._facts["none_labels"]:
            warnings.warn(f'{self._facts["none_labels"]:,} of {self._facts["none_labels"] + len(self):,} rows are left out: their label, -1 or -100, '
                          "says that there is none", RuntimeWarning, stacklevel=4)
        if self._facts["unlabelled_words"]:
            warnings.warn(f'{self._facts["unlabelled_words"]:,} words have no label: it is null', RuntimeWarning, stacklevel=4)

    def _hold(self, core: Any, tokenizer: Tokenizer | None, runtime: Any) -> None:
        self._core, self.tokenizer, self._runtime = core, tokenizer, runtime
        self._facts = core.facts()
        self._layout = tokenizer.layout if tokenizer else Layout()

    # ---- where rows come from ------------------------------------------------------------------------------------

    @classmethod
    def from_files(cls, files: Files, tokenizer: Tokenizer, *, max_length: int | None = None, labels: Labels | Sequence[str] | None = None,
                   task: str = "auto", need_label: bool | None = None, text_column: str | None = None, pair_column: str | None = None,
                   label_column: str | None = None, format: str = "auto", header: bool = True, min_chars: int = 0,
                   where: dict[str, str] | None = None, skip_damaged: bool = False, quote: str | None = None, max_record: int | None = None,
                   truncation_side: str | None = None, windows: int | None = None, max_windows: int | None = None,
                   missing_label: str = "error", delimiter: str | None = None,
                   cache: str | os.PathLike[str] | None = None,
                   truncation: str | None = None, special_tokens: bool = True, text_columns: Sequence[str] | None = None,
                   least_columns: int | None = None, most_texts: int | None = None, paired: bool = False, numbering: str | None = None,
                   blocks: Mapping[str, str | Block | tuple[Any, ...]] | None = None, prompts: Sequence[str | None] | None = None,
                   progress: Callable[[str, dict[str, Any]], Any] | None = None, runtime: Any = None) -> "Dataset":
        """csv, tsv, jsonl, json or txt, plain or .gz, .zst, .xz or .bz2; files, globs, folders, or "-". Parquet and Arrow files, through pyarrow.

        Text columns default to "text" and "text_pair", the label column to "label". labels: the mapping of a model (evaluation);
        without it, one is made. task: "auto", "classification", "regression" or "multi_label" (csv: labels joined by "|"; JSON:
        lists). quote: "csv", "none" or "backslash" (a quote inside quotes may be \\"); max_record: bytes. cache: a folder; rows that it holds are not encoded again. skip_damaged: leave out what cannot be read (``excluded``
        names it) instead of failing; windows: a text longer than max_length becomes windows that overlap by so many tokens, at most max_windows (16), and the row's answer is the mean of theirs, a word's that of the window where it has most context; numbering: "tokens" or "words", of texts that brim.train masks (task="mlm"): each window is a row then; missing_label="skip": rows without a label too. delimiter: the character between columns. need_label: None reads labels unless the format is txt. progress: called with a kind and fields.

        text_columns: rows of several texts, one of each of these columns, or in JSON, but for the first, a list of them. Every row has the
        first least_columns of them (None: all), and of the others those that are not empty; most_texts: a row of more is an error. paired:
        the first column's text is the first of a pair with each of the others'. prompts: what the texts of a row begin with, in their order, and
        any further ones with the last: ("query: ", "passage: "); None: nothing.

        blocks: columns of numbers besides the label, at most two: {"teacher": "row"} reads the column "teacher", a list of as many numbers in
        each row (in csv as JSON writes it), {"teacher": "text"} a list of them for each text; a ``Block`` says more. ``Batch.blocks`` has them.
        """
        _kinds.check(Dataset.from_files, locals())
        refuse_of_several(text_columns, prompts=prompts, least_columns=least_columns, paired=paired or None, most_texts=most_texts)
        if numbering is not None and need_label:
            raise UsageError("numbering is of texts without labels: leave out need_label")
        runtime = runtime or _runtime.default()
        tokenizer = _tokenizer(tokenizer, runtime)
        labels = _labels(labels, runtime, task)
        paths = _files.paths_of(files)
        if _files.table_files(paths):
            _refuse_of_text_files(paths[0], skip_damaged=skip_damaged, where=where, delimiter=delimiter, cache=cache, quote=quote, max_record=max_record)
            stamp = _files.stamp_of(paths)
            made = cls.of(_files.read_tables(paths), tokenizer, labelled=need_label, labels=labels, task=task, max_length=max_length,
                          text_column=text_column, pair_column=pair_column, label_column=label_column, min_chars=min_chars,
                          truncation=truncation, special_tokens=special_tokens, missing_label=missing_label, runtime=runtime,
                          truncation_side=truncation_side, windows=windows, max_windows=max_windows, text_columns=text_columns, least_columns=least_columns, paired=paired, numbering=numbering, blocks=blocks,
                          **({} if most_texts is None else {"most_texts": most_texts}), **({} if prompts is None else {"prompts": prompts}))
            made._stamp = stamp
            return made
        if need_label is None:
            need_label = numbering is None and format != "txt" and not all(_files.plain_name(p).endswith(".txt") or p == "-" for p in paths)
        options = {"max_length": max_length, "task": task, "need_label": need_label, "text_column": text_column,
                   "pair_column": pair_column, "label_column": label_column, "format": format, "no_header": not header,
                   "min_chars": min_chars, "skip_damaged": skip_damaged, "skip_unlabelled": _skips(missing_label), "delimiter": delimiter, "cache": None if cache is None else _files.path_bytes(cache),
                   "truncation": truncation, "no_special_tokens": not special_tokens, "quote": quote, "max_record": max_record,
                   "truncation_side": truncation_side, **_windows(windows, max_windows, numbering, max_length), "text_columns": None if text_columns is None else [str(name) for name in text_columns],
                   "seen_columns": text_columns is not None and not isinstance(text_columns, _holders.Found), "least_columns": least_columns, "most_texts": most_texts, "paired": paired, "numbering": numbering, "blocks": _blocks.of_files(blocks),
                   **_prompts(prompts)}
        core = _core.dataset_load(runtime, tokenizer._core, _files.encoded(paths), _where(where), labels._core if labels else None, dict(options), progress)
        return cls(core, tokenizer, runtime, encode=options)._with_values_of(labels)

    @classmethod
    def from_csv(cls, files: Files, tokenizer: Tokenizer, **options: Unpack[FileOptions]) -> "Dataset":
        """``from_files`` with format="csv"."""
        return cls.from_files(files, tokenizer, format="csv", **options)

    @classmethod
    def from_jsonl(cls, files: Files, tokenizer: Tokenizer, **options: Unpack[FileOptions]) -> "Dataset":
        """``from_files`` with format="jsonl"."""
        return cls.from_files(files, tokenizer, format="jsonl", **options)

    @classmethod
    def from_texts(cls, texts: Sequence[str | bytes | list[str]], tokenizer: Tokenizer, *, pairs: Sequence[str | bytes | list[str]] | None = None,
                   labels: Sequence[Any] | None = None, mapping: Labels | Sequence[str] | None = None, task: str = "auto",
                   max_length: int | None = None, min_chars: int = 0, truncation: str | None = None, special_tokens: bool = True,
                   truncation_side: str | None = None, windows: int | None = None, max_windows: int | None = None, missing_label: str = "error",
                   most_texts: int | None = None, numbering: str | None = None, blocks: Mapping[str, Any] | None = None,
                   prompts: Sequence[str | None] | None = None, runtime: Any = None) -> "Dataset":
        """Texts that are in memory: read where they are, encoded on all threads. labels: classes (any str or int), values (float), or
        lists: of the names of a row's labels, or of 0.0 and 1.0, one for each label. missing_label="skip" leaves out rows whose label is
        None. A list in place of a text is a row of several texts; one in place of a pair's second text gives a pair with each of them.
        most_texts: a row of more is an error. numbering, prompts: as in ``from_files``. blocks: numbers besides the labels, at most two:
        {"teacher": ..}, an array [rows, width] or of each row a list of numbers; of texts [rows, texts, width], or a list of one for each text."""
        _kinds.check(Dataset.from_texts, locals())
        texts = list(_holders.items(texts, "texts"))
        if labels is None:
            _refuse_without_labels(mapping=mapping)
        if labels is not None and numbering is not None:
            raise UsageError("numbering is of texts without labels: leave out labels")
        runtime = runtime or _runtime.default()
        tokenizer = _tokenizer(tokenizer, runtime)
        values = None
        if labels is not None:
            given = [None if _missing(label) else label for label in _holders.as_list(labels)]
            labels, mapping = _label_texts(given, kept(mapping))
            values = originals(given)
        if most_texts is not None:
            whole("most_texts", most_texts, 1)
        known = _labels(mapping, runtime, task)
        options = {"max_length": max_length, "task": task, "need_label": labels is not None, "min_chars": min_chars,
                   "skip_unlabelled": _skips(missing_label), "truncation": truncation, "no_special_tokens": not special_tokens,
                   "truncation_side": truncation_side, **_windows(windows, max_windows, numbering, max_length), "most_texts": most_texts, "numbering": numbering,
                   "blocks": _blocks.of_arrays(blocks, len(texts)), **_prompts(prompts)}
        core = _core.dataset_texts(runtime, tokenizer._core, texts, None if pairs is None else list(_holders.items(pairs, "pairs")),
                                   labels, known._core if known else None, dict(options), isinstance(pairs, _holders.Found))
        return cls(core, tokenizer, runtime, encode=options)._with_values_of(known, values)

    @classmethod
    def from_iterable(cls, rows: Iterable[Any], tokenizer: Tokenizer, **options: Unpack[TextOptions]) -> "Dataset":
        """Rows as str, as (text, label), as (text, pair, label), or as dicts with text, text_pair and label."""
        return cls._of_columns(_rows.of_rows(rows), tokenizer, **options)

    @classmethod
    def _of_columns(cls, columns: "_holders.Columns", tokenizer: Tokenizer, *, mapping=None, **options) -> "Dataset":
        names = _classes(columns.names, options.get("task")) if mapping is None and columns.labels is not None else mapping
        return cls.from_texts(columns.texts, tokenizer, pairs=columns.pairs, labels=columns.labels, mapping=names, **options)

    @classmethod
    def from_arrow(cls, table: Any, tokenizer: Tokenizer, *, text_column: str | None = None, pair_column: str | None = None,
                   label_column: str | None = None, labels: bool | None = None, mapping: Labels | Sequence[str] | None = None,
                   task: str = "auto", max_length: int | None = None, min_chars: int = 0, truncation: str | None = None,
                   special_tokens: bool = True, truncation_side: str | None = None, windows: int | None = None, max_windows: int | None = None,
                   missing_label: str = "error", numbering: str | None = None, blocks: Mapping[str, Any] | None = None,
                   prompts: Sequence[str | None] | None = None, runtime: Any = None) -> "Dataset":
        """Tables of datasets, pyarrow, polars and pandas, and anything else with ``__arrow_c_stream__`` and columns. The texts are read where
        Arrow has them. The classes of a ClassLabel keep their names and order. What gives its rows once (a RecordBatchReader, an IterableDataset of
        datasets) is read to its end first, so that all its texts are in memory until they are encoded: of files, ``from_files`` and
        ``brim.data.stream`` read one part after the other.

        labels: None reads them if there is a label column. blocks, prompts: as in ``from_files``.
        """
        _kinds.check(Dataset.from_arrow, locals())
        runtime = runtime or _runtime.default()
        tokenizer = _tokenizer(tokenizer, runtime)
        _holders.refuse_sets(table)
        if not any(hasattr(table, name) for name in ("__arrow_c_stream__", "column_names", "columns")):
            raise TypeError(f"table: one of pyarrow, pandas, polars or datasets is needed, not {table!r:.60}")
        found = _tables.of_table(table, text_column, pair_column, label_column, labels)
        rest = {"task": task, "max_length": max_length, "min_chars": min_chars, "truncation": truncation, "special_tokens": special_tokens,
                "truncation_side": truncation_side, "windows": windows, "max_windows": max_windows, "missing_label": missing_label, "numbering": numbering,
                "prompts": prompts}
        numbers = _blocks.of_columns(blocks, lambda name: _rows.numbers_of(table, name))
        if isinstance(found, _holders.Columns):
            return cls._of_columns(found, tokenizer, mapping=mapping, runtime=runtime, blocks=numbers, **rest)
        known = _labels(_classes(found.names, task) if mapping is None else mapping, runtime, task)
        options = {"max_length": max_length, "task": task, "need_label": found.label is not None, "min_chars": min_chars,
                   "skip_unlabelled": _skips(missing_label), "truncation": truncation, "no_special_tokens": not special_tokens,
                   "truncation_side": truncation_side, **_windows(windows, max_windows, numbering, max_length), "numbering": numbering,
                   "blocks": _blocks.of_arrays(numbers, len(table) if numbers else 0), **_prompts(prompts)}
        kind = _tables.label_kind(found.table, found.label)
        core = _core.dataset_arrow(runtime, tokenizer._core, found.table.__arrow_c_stream__(), found.text, found.pair, found.label,
                                   known._core if known else None, dict(options), pair_column is None)
        return cls(core, tokenizer, runtime, encode=options)._with_values_of(known, kind)

    @classmethod
    def of(cls, data: Any, tokenizer: Tokenizer, *, labelled: bool | None = None, labels: Labels | Sequence[str] | None = None, task: str = "auto",
           text_column: str | None = None, pair_column: str | None = None, label_column: str | None = None,
           text_columns: Sequence[str] | None = None, least_columns: int | None = None, paired: bool = False,
           blocks: Mapping[str, str | Block | tuple[Any, ...]] | None = None, **options: Any) -> "Dataset":
        """Whatever holds rows: a Dataset, files, a table (datasets, pandas, polars, pyarrow), a dict of columns, a list of dicts, of
        (text, label) or (text, pair, label), of texts.

        labelled: True needs labels, False does not look at them (and reads pairs as (text, pair)), None takes them if they are there.
        labels: the mapping of a model, or class names. Columns default to "text", "text_pair" and "label".
        task="tokens", or such labels: words with a label each, from columns "tokens" and "ner_tags", "tags" or "labels", from (words, labels),
        or files (conll too). A word's label is that of its first token; -100 is none.
        text_columns, least_columns, paired: rows of several texts; blocks: columns of numbers besides the label, as ``from_files`` has them.
        """
        _kinds.check(Dataset.of, locals())
        columns = {"text_column": text_column, "pair_column": pair_column, "label_column": label_column}
        if isinstance(data, Dataset):
            refuse_encoded(data, **columns, text_columns=text_columns, blocks=blocks, **_options.that_read(options))
            return data
        if labelled is None and options.get("numbering"):
            labelled = False
        if _shapes.of(task).several_texts and text_columns is None and text_column is None and _rows.lack_texts(data):
            raise UsageError(f'task="{task}" reads rows of several texts: name their columns in order, as in text_columns=["anchor", "positive"]')
        how = {"labelled": labelled, "labels": labels, "task": task, **columns, "text_columns": text_columns, "least_columns": least_columns, "paired": paired, "blocks": blocks}
        cls._refuse_idle(how)
        runtime = options.pop("runtime", None) or _runtime.default()
        found = cls._of(_holders.kept(data), _tokenizer(tokenizer, runtime), **how, runtime=runtime, **options)
        if _shapes.of(task).bare and found.firsts is None and not found.has_pairs and blocks is None:
            raise UsageError(f'task="{task}" is of rows of several texts, and these have one each: name their columns by text_columns, or give brim.train the rows')
        if labelled is None and found.labels is None and not (_shapes.of(task).made or _shapes.of(task).optional):
            _refuse_without_labels(labels=labels, task=None if task == "auto" else task, missing_label=None if options.get("missing_label", "error") == "error" else "skip")
        return found

    @staticmethod
    def _refuse_idle(how: dict[str, Any]) -> None:
        """Options that contradict each other, or lack another."""
        named = next((name for name in ("labels", "label_column") if how["labelled"] is False and how[name] is not None), None)
        if named:
            raise UsageError(f"{named}: no labels are read, so that it has no effect: leave it out")
        several = how["text_columns"] is not None
        named = next((name for name in ("text_column", "pair_column") if several and how[name] is not None), None)
        if named:
            raise UsageError(f"{named} and text_columns say which columns are texts: give one of them")
        if not several and (how["paired"] or how["least_columns"] is not None):
            raise UsageError(f"{'paired' if how['paired'] else 'least_columns'} is of rows of several texts: give text_columns too")

    @classmethod
    def _of(cls, data, tokenizer, *, labels, runtime, text_columns, least_columns, paired, blocks, **how: Any) -> "Dataset":
        """The rows by what holds them."""
        task = how["task"]
        if isinstance(labels, Mapping):
            labels = Labels(labels, task=task if _shapes.of(task).named else None, runtime=runtime)
        several = {"text_columns": text_columns, "least_columns": least_columns, "paired": paired}
        if isinstance(labels, Labels) and labels._keys:  # rows have the keys, or already the names
            how |= {**several, "blocks": blocks, "runtime": runtime}
            failed = []
            for names in (labels._coded(), Labels(labels.names, task=labels.task)):
                try:
                    return cls._of(data, tokenizer, labels=names, **how)._named(labels)
                except MismatchError as error:
                    failed.append(error)
            raise max(failed, key=_reached)
        in_files = _files.is_files(data)
        if in_files and text_columns is not None:
            how |= {**several, "text_columns": text_columns if isinstance(text_columns, _holders.Found) else [str(name) for name in text_columns]}
            labelled = how.pop("labelled")
            return cls.from_files(data, tokenizer, labels=labels, need_label=bool(labelled or how["label_column"]), blocks=blocks, runtime=runtime, **how)
        if not in_files:
            how = _options.of_rows(how)
        if _shapes.of(task).words or isinstance(labels, Labels) and _shapes.of(labels.task).words:
            return cls._of_words(data, tokenizer, labels, runtime=runtime, **how, **({} if blocks is None else {"blocks": blocks}))
        labelled = how.pop("labelled")
        if in_files:
            return cls.from_files(data, tokenizer, labels=labels, need_label=labelled, blocks=blocks, runtime=runtime, **how)
        if _holders.is_table(data) and text_columns is None:
            return cls.from_arrow(data, tokenizer, labels=labelled, mapping=labels, blocks=blocks, runtime=runtime, **how)
        how["blocks"] = _blocks.of_columns(blocks, lambda name: _rows.numbers_of(data, name))
        text, pair, label = (how.pop(name) for name in ("text_column", "pair_column", "label_column"))
        if text_columns is not None:
            return cls._of_several(data, tokenizer, several, label or ("label" if labelled else None), mapping=labels, runtime=runtime, **how)
        found = _rows.of_any(data, text, pair, label, labelled)
        if labelled and found.labels is None:
            raise UsageError("the rows have no labels: they are (text, label), (text, pair, label), or dicts with a label" if found.texts else "there are no rows")
        if found.labels is None:
            _refuse_without_labels(labels=labels)
        return cls._of_columns(found, tokenizer, mapping=labels, runtime=runtime, **how)

    @classmethod
    def _of_several(cls, data, tokenizer, several, label, **how) -> "Dataset":
        labels = _rows.column_of(data, label) if label else None
        texts, pairs = _rows.several(data, [*map(str, several["text_columns"])], several["least_columns"], several["paired"], how.get("min_chars") or 0)
        return cls.from_texts(texts, tokenizer, pairs=pairs, labels=labels, **how)

    @classmethod
    def _of_words(cls, data, tokenizer, labels, *, labelled, task, text_column, pair_column, label_column, runtime, max_length=None, truncation=None,
                  special_tokens=True, truncation_side=None, windows=None, max_windows=None, missing_label="error", min_chars=0, **rest) -> "Dataset":
        """Rows of words with a label each."""
        known = labels if labels is None or isinstance(labels, Labels) else Labels(labels, task="tokens", runtime=runtime)
        encode = {"max_length": max_length, "truncation": truncation, "special_tokens": special_tokens, "truncation_side": truncation_side,
                  "windows": windows, "max_windows": max_windows, "missing_label": missing_label, "min_chars": min_chars}
        if _files.is_text_files(data):
            return cls.from_files(data, tokenizer, labels=known, need_label=labelled, task="tokens", runtime=runtime, text_column=text_column, pair_column=pair_column,
                                  label_column=label_column, **encode, **rest)
        if pair_column or rest:
            raise UsageError(f"labels of words are for single texts: leave out {'pair_column' if pair_column else next(iter(rest))}")
        if _files.is_files(data):
            data = _files.read_tables(_files.paths_of(data))
        found = _words.of_words(data, text_column, label_column, labelled)
        if labelled and found.labels is None:
            raise UsageError("the rows have no labels of words: they are dicts with tokens and tags, or (words, labels); of texts with a label each, task=\"classification\"")
        if known is None and found.names and found.labels is not None:
            known = Labels(found.names, task="tokens", runtime=runtime)
        options = {"max_length": max_length, "task": "tokens", "need_label": found.labels is not None, "min_chars": min_chars,
                   "skip_unlabelled": _skips(missing_label), "truncation": truncation, "no_special_tokens": not special_tokens,
                   "truncation_side": truncation_side, **_windows(windows, max_windows)}
        core = _core.dataset_texts(runtime, tokenizer._core, found.texts, None, found.labels, known._core if known else None, dict(options), False)
        return cls(core, tokenizer, runtime, encode=options)._with_values_of(known)

    def _with_values_of(self, labels: Labels | None, kind: str | dict[str, Any] | None = None) -> "Dataset":
        """What predictions say for the names of classes: the values of a mapping, or what the rows had."""
        self._kind = dict(zip(labels.names, labels.values)) if labels is not None and labels.names else kind
        return self

    def _named(self, labels: Labels) -> "Dataset":
        """The same rows, whose classes have other names."""
        self._core.name_classes(labels.names)
        self._mapping = labels
        return self

    def _hold_out(self, share: float, seed: int) -> "tuple[Dataset, Dataset]":
        """The rows in two parts: all others, and a share of them that seed draws."""
        rest, held = _core.hold_out(self._core, share, seed)
        return self._part(rest), self._part(held)

    def _part(self, core: Any) -> "Dataset":
        """Some of these rows."""
        part = type(self)(core, self.tokenizer, self._runtime, pad_id=self.pad_id, types=self._types)
        part._kind, part._mapping, part._pair, part._texts, part._cut_as, part._stamp = self._kind, self._mapping, self._pair, self._texts, self._cut_as, self._stamp
        part._listed = self._is_listed()
        return part

    def _words(self, row: int):
        """The row's words, the number of each token's word (-1: special), and the tokens' labels or None; None: it is no row of words."""
        return self._core.words(row)

    @classmethod
    def from_ids(cls, ids: Sequence[int] | Sequence[Sequence[int]], offsets: Sequence[int] | None = None, *, type_ids: Any = None, labels: Any = None,
                 mapping: Labels | Sequence[str] | None = None, pad_id: int = 0, runtime: Any = None) -> "Dataset":
        """Rows that are encoded already: lists of ids; or end to end, where row i is ids[offsets[i]:offsets[i + 1]]. labels: class ids or
        values."""
        _kinds.check(Dataset.from_ids, locals())
        labels = kept(labels)
        wrong = next((at for at, one in enumerate(labels) if isinstance(one, (str, bytes)) or one is None), None) if isinstance(labels, (list, tuple)) else None
        if wrong is not None:
            raise TypeError(f"labels: row {wrong} has {labels[wrong]!r:.60}: the number of a class, or a value, is needed")
        runtime = runtime or _runtime.default()
        known = _labels(mapping, runtime)
        if known is None and labels is not None:
            wrong = next(((at, one) for at, one in enumerate(_holders.as_list(labels)) if hasattr(one, "__float__") and one == one and not float(one).is_integer()), None)
            if wrong:
                raise CellError(f"labels: row {wrong[0]} has {wrong[1]!r:.60}, no number of a class: give mapping=Labels(None), of which labels are values")
        if offsets is None:
            rows = [row.tolist() if hasattr(row, "tolist") else row for row in ids]
            if not all(isinstance(row, (list, tuple)) for row in rows):
                raise UsageError("ids of one row after the other need their offsets; without offsets, give a list of ids for each row")
            offsets, ids = [0], []
            for row in rows:
                ids.extend(row)
                offsets.append(len(ids))
            if type_ids is not None:
                type_ids = [one for row in type_ids for one in row]
        core = _core.dataset_encoded(runtime, ids, offsets, type_ids, labels, known._core if known else None)
        return cls(core, None, runtime, pad_id=pad_id)

    # ---- what it holds -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._facts["rows"]

    def __repr__(self) -> str:
        return f"Dataset({len(self)} rows, {self.tokens} tokens)"

    @overload
    def __getitem__(self, row: SupportsIndex) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, row: slice) -> Dataset: ...

    def __getitem__(self, row: SupportsIndex | slice) -> dict[str, Any] | Dataset:
        """A row as torch's loaders and transformers' Trainer take it, in Python's own lists: input_ids, attention_mask, token_type_ids (where
        the model takes them) and labels (if there are any: a class, a value, a list of either; of words one for each id, -100 for none). A
        slice is a Dataset. Of a row of several texts, or of windows, the first three are lists, one of each text."""
        if isinstance(row, slice):
            return self.select(range(*row.indices(len(self))))
        place = self._place(row)
        ids, types, label, _ = self._core.sample(place)
        found: dict[str, Any] = {"input_ids": ids.tolist(), "attention_mask": [1] * len(ids)}
        if self._types:
            found["token_type_ids"] = [0] * len(ids) if types is None else types.tolist()
        words = self._core.words(place)
        if words is not None and words[2] is not None:
            found["labels"] = words[2]
        elif isinstance(label, list) or label == label:
            found["labels"] = label if self._values else int(label)
        return {**self._cut(found, place), **self._numbers(place)}

    def _numbers(self, row: int) -> dict[str, Any]:
        """Of a row's further blocks: lists of numbers or, of texts and tokens, of such lists."""
        blocks = self.blocks
        return {name: array.tolist()[0] if block.per == "row" else array.tolist()
                for (name, block), array in zip(blocks.items(), self._core.numbers(row))} if blocks else {}

    def _cut(self, found: dict[str, Any], row: int) -> dict[str, Any]:
        """Where rows have several texts: what is of tokens, text by text."""
        firsts = self.firsts
        if firsts is None:
            return {k: v if k == "labels" else [v] for k, v in found.items()} if self._is_listed() else found
        at, begin, ends = memoryview(firsts), 0, []
        for length in memoryview(self.text_lengths)[at[row]:at[row + 1]]:
            ends.append((begin, begin := begin + length))
        return {k: v if k == "labels" else [v[a:b] for a, b in ends] for k, v in found.items()}

    def _is_listed(self) -> bool:
        """A row is a list of texts, or of windows, also where each has but one: a part of the rows, and other rows read alike, are as all are."""
        return self._listed or self.firsts is not None or self._core.windows() is not None and not self._is_numbered()

    def _place(self, row: SupportsIndex) -> int:
        if isinstance(row, bool) or type(row).__name__ == "bool":  # NumPy's
            raise TypeError(f"the number of a row is needed, not {row!r}: filter(keep) takes rows by a truth value")
        at = operator.index(row)
        if not -len(self) <= at < len(self):
            raise IndexError(f"row {at} of {len(self)} rows")
        return at % len(self)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[row] for row in range(len(self)))

    def row(self, row: SupportsIndex) -> dict[str, Any]:
        """All that is known of a row: ids (int32 [length]), type_ids (uint8, or None when all are 0), label (None if there is none), origin (row
        of its source). Of rows of words also tokens (the words), word_ids (of each id, None for special tokens) and labels (of each id, -100
        for none)."""
        ids, types, label, origin = self._core.sample(self._place(row))
        found = {"ids": ids, "type_ids": types, "label": None if label != label else label, "origin": origin}
        words = self._core.words(self._place(row))
        return found if words is None else {**found, "tokens": words[0], "word_ids": [None if w < 0 else w for w in words[1]], "labels": words[2]}

    def select(self, rows: Iterable[SupportsIndex]) -> Dataset:
        """The rows of these numbers, in this order; ``row(i)["origin"]`` still says which row of the source each is."""
        numbers = [self._place(row) for row in rows]
        if not numbers:
            raise UsageError("no row is left: a Dataset has one at least")
        return self._part(self._core.subset(numbers))

    def filter(self, keep: Callable[[dict[str, Any]], Any]) -> Dataset:
        """The rows of which ``keep(row)`` is true; a row is what ``rows[i]`` gives."""
        return self.select(i for i, row in enumerate(self) if keep(row))

    def split(self, share: float = 0.1, *, seed: int = 42, stratify: bool = False) -> tuple[Dataset, Dataset]:
        """(the rest, a share of the rows), drawn by seed as for ``brim.train(eval=share, fold_seed=seed)``, both in the order of the rows; at
        least one row each. A reranker's rows of one query stay together: it is a share of the queries. stratify: of each class the same
        share, as far as whole rows allow; not of a reranker's rows."""
        count = len(self)
        if isinstance(share, bool) or not hasattr(share, "__float__"):
            raise TypeError(f"share: a number between 0 and 1 is needed, not {share!r:.60}")
        if count < 2 or not 0 < share < 1:
            raise UsageError(f"split({share}) of {count} rows: the share is between 0 and 1, and each part needs a row")
        if not stratify:
            return self._hold_out(float(share), _options.seed("seed", seed))
        if self._facts["has_queries"]:
            raise UsageError("stratify: a reranker's rows of one query stay together, whatever their labels are: leave it out")
        if self._values or self._core.labels() is None:
            raise UsageError("stratify is for rows of one class each")
        order = Batches(self, batch_size=count, seed=seed).plan(0)[0]["rows"].tolist()
        groups: dict[Any, list[int]] = {}
        for row in order:
            groups.setdefault(self._core.sample(row)[2], []).append(row)
        taken = self._shares(groups, share, min(max(round(share * count), 1), count - 1))
        return self.select(row for row in range(count) if row not in taken), self.select(sorted(taken))

    @staticmethod
    def _shares(groups: dict[Any, list[int]], share: float, want: int) -> set[int]:
        """The whole part of each group's share, and one more of those with the largest rests until there are enough."""
        take = {name: int(share * len(rows)) for name, rows in groups.items()}
        for name in sorted(groups, key=lambda name: (take[name] - share * len(groups[name]), name)):
            take[name] += sum(take.values()) < want
        return {row for name, rows in groups.items() for row in rows[: take[name]]}

    @property
    def tokens(self) -> int:
        """After truncation."""
        return self._facts["tokens"]

    @property
    def truncated(self) -> int:
        """Rows that were cut."""
        return self._facts["truncated"]

    @property
    def lost(self) -> int:
        """Tokens that were cut."""
        return self._facts["lost"]

    @property
    def longest(self) -> int:
        """Tokens of the longest row."""
        return self._facts["longest"]

    @property
    def has_labels(self) -> bool:
        """Every row has one."""
        return self._facts["has_labels"]

    @property
    def blocks(self) -> dict[str, Block]:
        """Numbers that the rows have besides their labels, by name."""
        return _blocks.shown(self._core.blocks())

    @property
    def has_pairs(self) -> bool:
        """Rows are pairs of texts."""
        return self._facts["has_pairs"]

    @property
    def fingerprint(self) -> int:
        """Of ids, type_ids and labels in order."""
        return self._facts["fingerprint"]

    @property
    def lengths(self) -> _core.Array:
        """int32 [rows]: tokens of each row, of all its texts; shares the dataset's memory."""
        return self._core.lengths()

    @property
    def firsts(self) -> _core.Array | None:
        """int64 [rows + 1]: where each row's texts begin among those of all rows; None where each row is one text."""
        return self._core.firsts()

    @property
    def text_lengths(self) -> _core.Array:
        """int32 [texts]: tokens of each text; where each row is one, ``lengths``."""
        return self._core.text_lengths()

    _texts: Sequence[str] = ()  # columns of a row's texts, where they were found by their names
    _stamp: list | None = None  # of the tables that the rows are from (files.stamp_of)
    _pair: tuple[str, str | None] | None = None  # columns of the texts of a reranker's pairs, where they were found by their names
    _listed = False  # it is a part of rows of several texts
    _mapping: Labels | None = None  # whose names are not what rows have

    @property
    def layout(self) -> Layout:
        """How models of the tokenizer number positions."""
        return self._layout

    @property
    def labels(self) -> Labels | None:
        """The mapping of labels; None if there is none."""
        found = self._core.labels()
        if found is None or self._mapping is not None:
            return self._mapping
        task, names, outputs, form = found
        if _shapes.of(task).made:
            return None
        if not _shapes.of(task).named:
            return Labels(None, task=task, outputs=outputs, runtime=self._runtime)
        return Labels(names, task=task, values=self._values_of(names, form), runtime=self._runtime)

    def _values_of(self, names: list[str], form: str) -> list[Any]:
        if isinstance(self._kind, dict):
            return [self._kind.get(name, value) for name, value in zip(names, natural(names, form))]
        if self._kind == "float":
            return [float(name) for name in names]
        return names if self._kind == "str" else natural(names, form)

    def _is_numbered(self) -> bool:
        """Its tokens have numbers, by which words are masked."""
        found = self._core.labels()
        return found is not None and _shapes.of(found[0]).made

    @property
    def excluded(self) -> list[tuple[str, int, int, str]]:
        """Rows that min_chars and where left out: (file, line, row, reason)."""
        return self._core.excluded()

    def __getstate__(self) -> dict[str, Any]:
        """All of it, as a cache has it; the facts and the layout follow from that."""
        own = {name: value for name, value in self.__dict__.items() if name not in ("_runtime", "_facts", "_layout")}
        return {**own, "_core": self._core.pack()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        runtime = _runtime.default()
        self._hold(_core.dataset_unpack(runtime, state["_core"]), state["tokenizer"], runtime)
        self.__dict__.update({name: value for name, value in state.items() if name != "_core"})

    # ---- batches -------------------------------------------------------------------------------------------------

    def batches(self, **options: Unpack[BatchOptions]) -> Batches:
        """Batches of these rows; see ``Batches``."""
        return Batches(self, **options)
