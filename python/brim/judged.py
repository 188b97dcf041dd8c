"""What a model made of labelled rows: metrics, classes, confusion, and the rows that it is most wrong about."""
from __future__ import annotations

import math
import os
import pathlib
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, Sequence

from . import _core, files as _files, holders as _holders, options as _options, rows as _rows, runtime as _runtime, shapes as _shapes
from .errors import MismatchError
from .study import _Paged


class WrongRow(NamedTuple):
    """A row with a large loss, as ``Evaluation.wrong`` lists them."""

    row: int              #: its number in the source
    label: str
    predicted: str
    loss: float           #: as training counts it
    score: float          #: probability of the predicted class; NaN for other tasks
    label_score: float    #: probability of the right class
    text: str | None
    word: int | None = None       #: where words have labels: which of the row, from 0
    word_text: str | None = None  #: the word, or its first 99 bytes; None: `word` counts tokens, as this one is of no word


class NearRow(NamedTuple):
    """One of the rows whose second text is most like the first text of a sample row, as ``Evaluation.near`` lists them."""

    row: int              #: the sample, in its source
    other: int            #: the row that is like it, maybe the row itself
    similarity: float     #: the cosine; the dot product, of a model that compares by it
    text: str | None
    other_text: str | None


class ClassScore(NamedTuple):
    """What became of the rows of a class, or of a label."""

    name: str
    rows: int             #: with this label in the data
    predicted: int        #: in the predictions
    right: int            #: in both
    precision: float      #: NaN where undefined, as the others
    recall: float
    f1: float


def _ratio(above: int, below: int) -> float:
    return above / below if below else math.nan


class Evaluation(dict[str, Any], _Paged):
    """Metrics of labelled rows as a dict, with what they come from. In a notebook it shows the pictures of a run's report; ``page(path)``
    writes them.

    rows: the outcome of every row, in order. Classification: {"label", "predicted", "loss", "score", "label_score"}, an array each (class
    ids; probabilities of the predicted class and of the right one). Other tasks: {"logits"}, [rows, outputs]. None in what a training keeps.
    """

    rows: dict[str, Any] | Any  # None in what a training keeps: Any, so that a type checker lets rows["score"] be

    def __init__(self, metrics: dict[str, Any], judged: Any, rows: dict[str, Any] | None = None):
        super().__init__(metrics)
        self._judged, self.rows, self._found = judged, rows, None

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            _core.keep(_runtime.default(), os.fsencode(folder), [self._judged])
            kept = pathlib.Path(folder, "evaluation.jsonl").read_bytes()
        return _remake, (dict(self), kept, self.rows)

    def _facts(self) -> dict[str, Any]:
        if self._found is None:
            self._found = self._judged.facts()
        return self._found

    @property
    def classes(self) -> list[ClassScore]:
        """Of each class or label, in the order of their ids; empty for a regression."""
        return [ClassScore(name, rows, predicted, both, _ratio(both, predicted), _ratio(both, rows), _ratio(2 * both, rows + predicted))
                for name, rows, predicted, both in self._facts()["classes"]]

    @property
    def confusion(self) -> list[list[int]] | None:
        """confusion[label][predicted] of up to 64 classes; None for more, whose most frequent mistakes are ``confused``, and other tasks."""
        facts = self._facts()
        count = facts["outputs"]
        if not _shapes.of(facts["task"]).one_class or count > 64:
            return None
        matrix = [[0] * count for _ in range(count)]
        for label, predicted, rows in facts["confused"]:
            matrix[label][predicted] = rows
        return matrix

    @property
    def confused(self) -> list[tuple[str, str, int]]:
        """What is most often taken for what: (label, predicted, rows), the most frequent first; 40 at most."""
        names = [one[0] for one in self._facts()["classes"]]
        pairs = sorted((p for p in self._facts()["confused"] if p[0] != p[1]), key=lambda p: (-p[2], p[:2]))
        return [(names[label], names[predicted], rows) for label, predicted, rows in pairs[:40]]

    @property
    def wrong(self) -> list[WrongRow]:
        """The 20 wrong rows with the largest loss, largest first, with their texts; of values, each row counts. A label that is itself wrong shows here too."""
        return [WrongRow(*one) for one in self._facts()["wrong"]]

    @property
    def near(self) -> list[NearRow]:
        """Of embeddings: six rows, and for each the three whose second texts are most like its first."""
        return [NearRow(*one) for one in self._facts()["near"]]

    def _page(self):
        return "Evaluation", [("judged", self._judged, "", True)]


def _remake(metrics: dict[str, Any], kept: bytes, rows: dict[str, Any] | None) -> Evaluation:
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "evaluation.jsonl").write_bytes(kept)
        [judged] = _core.kept(_runtime.default(), os.fsencode(folder))
    return Evaluation(metrics, judged, rows)


# ---- their texts -----------------------------------------------------------------------------------------------------

#: How a file's records become rows: those that are left out keep their numbers.
_READ = ("format", "header", "delimiter", "quote", "max_record", "skip_damaged")


def _decoded(dataset, tokenizer, row: int) -> tuple[str, None]:
    """What the model saw: of rows that cannot be asked for their texts again."""
    here = row if row < len(dataset) and dataset.row(row)["origin"] == row else next(i for i in range(len(dataset)) if dataset.row(i)["origin"] == row)
    return tokenizer.decode(dataset.row(here)["ids"].tolist()), None


def _row_texts(data: Any, rows: list[int], columns: list[str]) -> list[tuple[str, str]] | None:
    """All texts of rows by number, those after the first as one; None where rows cannot be asked for by number."""
    if hasattr(data, "__next__") or type(data).__module__.startswith("brim."):
        return None
    if _holders.is_table(data) or isinstance(data, Mapping):
        values = list(zip(*(_rows._column_at(data, name, rows) for name in columns)))
    else:
        taken = [_holders.as_list(row._asdict() if hasattr(row, "_asdict") else row) for row in (data[n] for n in rows)]
        values = [[row.get(name) for name in columns] if isinstance(row, Mapping) else list(row) for row in taken]
    texts = [[text for value in map(_holders.as_list, row) for text in (value if isinstance(value, (list, tuple)) else [value])] for row in values]
    texts = [[text.decode(errors="replace") if isinstance(text, bytes) else text for text in row if isinstance(text, (str, bytes)) and text] for row in texts]
    return [(row[0], "\n\n".join(row[1:])) for row in texts]


def add_texts(judged, data: Any, dataset, tokenizer, columns: dict[str, str | None]) -> None:
    """The texts of the most wrong rows: read again from their files, or taken from the rows in memory; else what the model saw."""
    facts = judged.facts()
    wrong = len(facts["wrong"])
    rows = [one[0] for one in facts["wrong"]] + [row for one in facts["near"] for row in one[:2]]
    if not rows:
        return
    several = dataset._texts
    text, pair = dataset._pair or (columns.get("text_column"), columns.get("pair_column"))
    try:
        if dataset._words(0) is not None:
            places = {dataset.row(i)["origin"]: i for i in range(len(dataset))}
            for index, row in enumerate(rows):
                judged.text(index, " ".join(dataset._words(places[row])[0]), None)
            return
        if _files.is_files(data):
            files = _files.paths_of(data)
            if not _files.table_files(files):
                named = {"text_columns": several, "least_columns": 1} if several else {"text_column": text, "pair_column": pair}
                judged.read(_files.encoded(files), {**named, **_options.for_files({name: columns[name] for name in _READ if name in columns})},
                            dataset._core)
                return
            data = _files.read_tables(files)
            if dataset._stamp not in (None, _files.stamp_of(files)):
                raise MismatchError(f"{files[0]}{' or another file' if len(files) > 1 else ''} changed after the rows were read")
        texts = (_row_texts(data, rows, several) if several else _rows.texts_at(data, rows, text, pair)) or [_decoded(dataset, tokenizer, row) for row in rows]
        for index, (one, other) in enumerate(texts):
            if index < wrong:
                judged.text(index, one, other)
            else:
                judged.near_text((index - wrong) // 2, bool((index - wrong) % 2), one, other)
    except Exception as error:  # whatever the rows' own library raises: an evaluation is worth having without them
        warnings.warn(f"no texts of the most wrong rows: {error}", RuntimeWarning, stacklevel=3)


def keep_texts(runtime, folder: str, sources: dict[str, tuple[Any, Any]], tokenizer, columns: dict[str, str | None]) -> list:
    """What the run in the folder kept of its evaluations, with texts: evaluation.jsonl and report.html are written again with them.
    sources: of each set, its rows as they were given, and as a Dataset."""
    sets = _core.kept(runtime, os.fsencode(folder))
    for one in sets:
        data, dataset = sources.get(one.facts()["name"], (None, None))
        if dataset is not None:
            add_texts(one, data, dataset, tokenizer, columns)
    if any(one.facts()["wrong"] or one.facts()["near"] for one in sets):
        _core.keep(runtime, os.fsencode(folder), sets)
        _core.report(runtime, [os.fsencode(folder)], os.fsencode(folder))
    return sets


def evaluations(sets: Sequence) -> dict[str, Evaluation]:
    """The last evaluation of each set of a training, by name."""
    found = {}
    for one in sets:
        facts = one.facts()
        found[facts["name"]] = Evaluation({"step": facts["step"], "rows": facts["rows"], **facts["metrics"]}, one)
    return found
