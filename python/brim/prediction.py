"""What a model says of one text."""
from __future__ import annotations

import math
from typing import Any, NamedTuple, Sequence

from . import shapes as _shapes
from .errors import UsageError
from .options import whole


class Prediction:
    """What a model says of a text.

    label: the class, as labels were given in training (str, int, bool); of several labels the list of those that hold; of a regression the
    value, or the values. id: the number of the class (of several labels the list; None for a regression). score: its probability (of
    several labels the least; NaN for a regression, and where no class is taken). scores: {label: probability}, of all classes in the order
    of their ids, or with ``top_k`` of the most probable, largest first; of a regression {0: value, 1: value, ..}.
    """

    __slots__ = ("label", "id", "score", "_labels", "_scores")
    label: Any
    id: Any
    score: float

    def __init__(self, label: Any, id: Any, score: float, labels: Sequence[Any], scores: Sequence[float]):  # noqa: A002
        self.label, self.id, self.score, self._labels, self._scores = label, id, score, labels, scores

    @property
    def scores(self) -> dict[Any, float]:
        return dict(zip(self._labels, self._scores))

    def __repr__(self) -> str:
        return f"Prediction(label={self.label!r}" + ("" if math.isnan(self.score) else f", score={self.score:.4f}") + ")"

    def _parts(self) -> tuple[Any, ...]:
        return self.label, self.id, self.score, list(self._labels), list(self._scores)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prediction) and (self.label, self.id, self.scores) == (other.label, other.id, other.scores)

    def __hash__(self) -> int:
        return hash(str(self.label))

    def __reduce__(self) -> tuple[Any, ...]:
        return Prediction, self._parts()


class Ranked(NamedTuple):
    """A document among those that ``Model.rank`` was given."""

    index: int    #: its place in the list
    score: float  #: as ``Model.predict`` gives it
    text: str | bytes


class How(NamedTuple):
    """What is made of a row of logits."""

    task: str
    labels: Sequence[Any]
    threshold: float | None = None
    top_k: int | None = None
    bare: bool = False  #: of a reranker: scores are what the model gives, not its sigmoid

    def checked(self) -> "How":
        if self.threshold is not None and (not _shapes.of(self.task).has_classes or isinstance(self.threshold, bool) or not 0 <= self.threshold <= 1):
            raise UsageError(f"threshold={self.threshold!r}: a probability, of a model whose labels are classes")
        if self.top_k is not None and not _shapes.of(self.task).has_classes:
            raise UsageError(f"top_k={self.top_k!r}: a number of classes, of a model whose labels are classes")
        if self.top_k is not None:
            whole("top_k", self.top_k, 1)
        return self

    def of(self, row: list[float]) -> Prediction | float:
        shape = _shapes.of(self.task)
        if shape.joins_pairs:
            return row[0] if self.bare else _sigmoid(row[0])
        if not shape.named:
            return Prediction(row[0] if len(row) == 1 else row, None, math.nan, range(len(row)), row)
        scores = [_sigmoid(v) for v in row] if not shape.one_class else _softmax(row)
        shown = range(len(row)) if self.top_k is None else sorted(range(len(row)), key=lambda i: (-scores[i], i))[:self.top_k]
        rest = ([self.labels[i] for i in shown], [scores[i] for i in shown]) if self.top_k is not None else (self.labels, scores)
        if not shape.one_class:
            least = 0.5 if self.threshold is None else self.threshold
            ids = [i for i, score in enumerate(scores) if (row[i] > 0 if self.threshold is None else score >= least)]
            return Prediction([self.labels[i] for i in ids], ids, min((scores[i] for i in ids), default=math.nan), *rest)
        best = row.index(max(row))
        if self.threshold is not None and scores[best] < self.threshold:
            return Prediction(None, None, math.nan, *rest)
        return Prediction(self.labels[best], best, scores[best], *rest)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _softmax(row: list[float]) -> list[float]:
    top = max(row)
    weights = [math.exp(v - top) for v in row]
    total = sum(weights)
    return [w / total for w in weights]
