"""Rows of several texts, which embeddings and rerankers are trained with: their columns, and rows in memory."""
from __future__ import annotations

import logging
import math
import numbers
from collections.abc import Mapping
from typing import Any, NamedTuple, Sequence

from . import _core, blocks as _blocks, files as _files, holders as _holders, options as _options, rows as _rows, shapes as _shapes, tables as _tables
from .blocks import Block
from .dataset import Dataset
from .errors import UsageError
from .labels import Labels
from .notes import are_few, log, of_scores as _of_scores
from .plain import _missing


def prompts(given: Any) -> tuple[str | None, str | None, list[str]]:
    """What the first text of each row begins with, its others, and those of some columns, as the command's --query-prompt, --document-prompt and --column-prompt
    have it."""
    if given is None:
        return None, None, []
    if isinstance(given, str):
        given = {"query": given, "document": given}
    if not isinstance(given, Mapping) or not all(_is_prompt(text) for text in given.values()):
        raise UsageError(f'prompts={given!r:.80}: {{"query": "query: ", "document": "passage: "}} is expected, of the first text of each row and of the others, or '
                         "of columns by their names; True in place of a text means the model's own prompt of this name, and (name, text) a prompt of another name")
    said = {str(key): _as_said(str(key), text) for key, text in given.items() if text is not None}
    return said.pop("query", None), said.pop("document", None), [f"{column}={prompt}" for column, prompt in said.items()]


def names_of(wanted: tuple[str | None, str | None, list[str]]) -> list[str]:
    """The names among what ``prompts`` made."""
    first, others, by_column = wanted
    return [said.partition("=")[0] for said in (first, others, *(one.partition("=")[2] for one in by_column)) if said]


def _is_prompt(text: Any) -> bool:
    named = isinstance(text, tuple) and len(text) == 2 and isinstance(text[0], str)
    return text is None or text is True or isinstance(text, str) or (named and (text[1] is True or isinstance(text[1], str)))


def _as_said(key: str, text: Any) -> str:
    """"NAME", or "NAME=TEXT"."""
    name, text = text if isinstance(text, tuple) else (key, text)
    return name if text is True else f"{name}={text}"


class Prompts:
    """What the texts of rows begin with, which is the same in all sets of a run. wanted: what ``prompts`` made of those that are given for a folder."""

    def __init__(self, folder: bytes, wanted: tuple[str | None, str | None, list[str]]):
        self._folder, self._wanted = folder, wanted
        self._columns: list[str] | None = None  # of the first set

    def of(self, runtime, columns: list[str]) -> list[str | None]:
        """Of rows with these columns of texts, which begin as those of the first set."""
        found = _core.prompts(runtime, self._folder, self._wanted, self._columns, columns)
        self._columns = self._columns or columns
        return found


class Columns(NamedTuple):
    """Which columns are the texts of a row; label None: there is none."""

    texts: list[str]
    least: int  #: of them, which each row has
    label: str | None
    one_pair: bool  #: a row is one pair, not a text and several others
    beginning: bool  #: found by the first megabyte of JSON
    unread: str | None  #: the first column that is none of these
    unread_count: int
    looked: Any  #: holds pipes that were looked into: they are closed with it, unless they are read before


def _columns_of_tuples(rows: list[Any]) -> dict[str, list]:
    """Rows as tuples of texts, the last of which may be a number: the label. A list in a row is several texts."""
    texts, labels = [], []
    for number, row in enumerate(rows):
        row = _holders.as_list(row)
        if not isinstance(row, (tuple, list)) or len(row) < 2:
            raise UsageError(f"row {number} is {_holders._short(row)}: a row is two texts or more, such as (anchor, positive), (text, text, score), or a dict")
        labelled = isinstance(row[-1], numbers.Number) or hasattr(row[-1], "dtype") and not isinstance(row[-1], (str, bytes))
        texts.append(row[:-1] if labelled else row)
        labels.append(row[-1] if labelled else None)
    bare = next((number for number, label in enumerate(labels) if label is None), None)
    if bare is not None and any(label is not None for label in labels):
        scored = next(number for number, label in enumerate(labels) if label is not None)
        raise UsageError(f"row {bare} has no score, and row {scored} has one, {_holders._short(labels[scored])}")
    width = max((len(row) for row in texts), default=2)
    columns: dict[str, list] = {f"text{place + 1}": [row[place] if place < len(row) else None for row in texts] for place in range(width)}
    return columns if bare is not None or not rows else {**columns, "score": labels}


def _in_memory(data: Any) -> tuple[Any, list[str], list[str] | None]:
    """The rows as something with columns, their names, and of rows without names those of the texts."""
    if _holders.is_table(data):
        names = _tables._column_names(data)
        if names is None:
            raise UsageError("the table does not say which columns it has: give a list of rows")
        return data, names, None
    if isinstance(data, Mapping):
        return data, [str(name) for name in data], None
    if isinstance(data, (str, bytes)) or not _holders.is_rows(data):
        raise UsageError(f"{_holders._short(data)} has no rows: give files, a table, a dict of columns, or a list of rows")
    rows = [row._asdict() if hasattr(row, "_asdict") else row for row in _rows.list_of(data)]
    if not rows:
        raise UsageError("there are no rows")
    if isinstance(rows[0], Mapping):
        wrong = next((number for number, row in enumerate(rows) if not isinstance(row, Mapping)), None)
        if wrong is not None:
            raise UsageError(f"row {wrong} is {_holders._short(rows[wrong])}, and those before it are dicts")
        return rows, [*_rows._names_of_rows(rows)], None
    columns = _columns_of_tuples(rows)
    return columns, [*columns], [name for name in columns if name != "score"]


def _find(runtime, task: str, paths: list[str], names: list[str] | None, columns: Sequence[str] | None, blocks: dict[str, Block] | None, how: dict[str, Any]) -> Columns:
    if isinstance(columns, str):
        columns = [one.strip() for one in columns.split(",")]
    if columns is not None and not isinstance(columns, (list, tuple)):
        raise UsageError(f"columns={columns!r:.60}: names of columns are expected, such as [\"anchor\", \"positive\"]")
    given = {"text_columns": None if columns is None else [str(one) for one in columns], "blocks": _blocks.of_files(blocks), **how}
    return Columns(*_core.text_columns(runtime, _files.encoded(paths), names, task, given))


def columns_of(runtime, task: str, paths: list[str], columns: Sequence[str] | None, how: dict[str, Any]) -> Columns:
    """Those of files, which are said."""
    of_files = {name: how[name] for name in ("header", "no_header", "delimiter", "format", "text_column", "pair_column", "label_column") if name in how}
    found = _find(runtime, task, paths, None, columns, None, of_files)
    _note(_files.shown(paths[0]), found, columns, True)
    return found


def read_as(files: list[str], source: dict[str, Any], task: str, columns: Sequence[str] | None, runtime) -> tuple[dict[str, Any], Any]:
    """How files of rows of several texts are read: their columns, whose labels are scores; and what holds pipes among them until then."""
    found, joined = columns_of(runtime, task, files, columns, source), _shapes.of(task).joins_pairs
    if found.one_pair:
        return {"text_column": found.texts[0], "pair_column": found.texts[1], "label_column": found.label, "need_label": True}, found.looked
    return {"text_columns": found.texts, "least_columns": found.least, "paired": joined, "label_column": found.label, "need_label": found.label is not None}, found.looked


def _note(name: str, found: Columns, columns, labelled: bool) -> None:
    """labelled: a column that is not read may be the one that has the labels."""
    if columns is None:
        others = " and others are" if found.unread_count > 1 else " is"
        log.log(logging.WARNING if labelled and found.unread and not found.label else logging.INFO, "%s: texts are in the columns %s%s%s%s; columns changes it", name, ", ".join(found.texts),
                f", labels in {found.label}" if found.label else "", f'; "{found.unread:.40}"{others} not read' if found.unread else "",
                " (of rows after the first megabyte, negatives alone were looked for)" if found.beginning else "")


def dataset(data: Any, tokenizer, *, task: str, columns: Sequence[str] | None, labelled: bool | None, runtime, name: str = "rows", text_column: str | None = None,
            pair_column: str | None = None, label_column: str | None = None, teacher_column: str | None = None, max_length: int | None = None, prompts: Prompts | None = None,
            **how: Any) -> Dataset:
    """Whatever holds rows of several texts, encoded. labelled: labels are read where there is a column of them, and pairs for one score need it; None: they do not.
    teacher_column: one of lists of numbers."""
    files = _files.paths_of(data) if _files.is_files(data) else []
    in_text = bool(files) and not _files.table_files(files)
    names = order = stamp = None
    if files and not in_text:
        stamp = _files.stamp_of(files)
        data = _files.read_tables(files)
    given = data
    if not in_text:
        how = _options.of_rows(how)
        data, names, order = _in_memory(data)
        columns = columns or (order if text_column is None and pair_column is None else None)
    columns_of_pair = {"text_column": text_column, "pair_column": pair_column, "label_column": label_column}
    _note_of_tuples(name, data, order)
    of_files = {name: how[name] for name in ("header", "delimiter", "format") if name in how}
    blocks = None if teacher_column is None else {"teacher": Block("row", 0, str(teacher_column))}
    found = _find(runtime, task, files, names, columns, blocks, {**columns_of_pair, **_options.for_files(of_files), "need_label": labelled is not False})
    _note(_files.shown(files[0]) if files else name, found, columns or text_column or pair_column, bool(labelled))
    known = Labels(None, task=task, runtime=runtime)
    if prompts:
        how["prompts"] = prompts.of(runtime, found.texts)
    rest = {"task": task, "max_length": max_length, "runtime": runtime, **({"blocks": blocks} if blocks else {}), **how}
    label = None if labelled is False else found.label
    if not in_text:
        _of_scores(label, _tables.classes_of_scores(given, label))
    joins = _shapes.of(task).joins_pairs
    if found.one_pair and (in_text or not _has_lists(data, found.texts[1])):  # one text for the model, as a classifier of pairs has it
        if labelled and label is None:
            raise UsageError(f"{task}: pairs need a score or a label each; the columns are {', '.join(found.texts)}")
        pairs = _of_pairs(data, tokenizer, found, label, known, in_text, rest)
        pairs._stamp = stamp
        pairs._pair = found.texts[0], found.texts[1]
        return pairs
    made = Dataset.of(data, tokenizer, labelled=label is not None, labels=known if label else None, text_columns=found.texts if columns else _holders.Found(found.texts), least_columns=found.least,
                      paired=joins, label_column=label, **rest)
    made._stamp = stamp
    made._texts = found.texts
    return made


def _note_of_tuples(name: str, data: Any, order: list[str] | None) -> None:
    """Texts that look like the names of classes, or like scores."""
    lasts = data[order[-1]] if order is not None and list(data) == order else []
    different = set(lasts) if all(isinstance(one, str) for one in lasts) else set()
    if different and all(map(_is_number, different)):
        log.warning('%s: the last of %d texts is a number in all %s rows, and is read as a text: a score is a float or an int, not a str', name, len(order), f"{len(lasts):,}")
    elif are_few(different, len(lasts)):
        log.warning("%s: the last of %d texts is one of %d in all %s rows, and each is read as what its first belongs with, or does not: labels are learned with "
                    'task="classification"', name, len(order), len(different), f"{len(lasts):,}")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _has_lists(data: Any, column: str) -> bool:
    return any(not isinstance(cell, (str, bytes)) and isinstance(_holders.as_list(cell), (list, tuple)) for cell in _rows.column_of(data, column))


def _of_pairs(data, tokenizer, found: Columns, label: str | None, known: Labels, in_text: bool, rest: dict[str, Any]) -> Dataset:
    if in_text:
        return Dataset.from_files(data, tokenizer, labels=known if label else None, need_label=label is not None, text_column=found.texts[0],
                                  pair_column=found.texts[1], label_column=label, **rest)
    texts, pairs = (_rows.column_of(data, one) for one in found.texts)
    for column, values in zip(found.texts, (texts, pairs)):
        values[:] = [None if _missing(value) else value for value in values]
        wrong = next(((number, value) for number, value in enumerate(values) if not isinstance(value, (str, bytes)) and not (value is None and rest.get("min_chars"))), None)
        if wrong is not None:
            what = f"missing: {_rows.FILL}" if _missing(wrong[1]) else f"{_holders._short(wrong[1])}: a text is expected"
            raise UsageError(f'row {wrong[0]}: the value of column "{column}" is {what}')
    labels = _rows.column_of(data, label) if label else None
    rest.pop("progress", None)
    return Dataset.from_texts(texts, tokenizer, pairs=pairs, labels=labels, mapping=known if label else None, **rest)
