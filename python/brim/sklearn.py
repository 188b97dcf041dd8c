"""Estimators of scikit-learn: a text classifier and a text regressor that fit, predict and score as any other.

    from brim.sklearn import TextClassifier
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(TextClassifier("MiniLM", epochs=2), {"lr": [2e-5, 5e-5]}, cv=3)
    search.fit(texts, labels)
    search.best_estimator_.predict(["a fine film"])

X is a list of texts, of pairs (text, text), a column of pandas, or an array or table of one or two columns of str. Options are those of
``brim.train``, by any of its names; all are parameters in scikit-learn's sense, so that ``set_params`` and searches change them.
"""
from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as _np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from . import holders as _holders, tables as _tables
from .dataset import Dataset
from .labels import _one_label
from .model import Model
from .plain import _missing
from .training import _share, train

if TYPE_CHECKING:
    from .keywords import TrainOptions

__all__ = ["TextClassifier", "TextRegressor"]


def _texts(X: Any, fitted: bool = False) -> list[Any]:
    """Rows of X as brim takes them: str, or (str, str)."""
    if hasattr(X, "toarray"):
        raise TypeError("X is sparse: texts are wanted, before any vectorizer")
    if _holders.is_table(X):
        names = _tables._column_names(X) or []
        label = next((name for name in names if name.lower() in _tables.LABELS), None)
        if label is not None and len(names) == 2:
            raise ValueError(f'X has the column "{label}", which is y by its name, and would be a second text: leave it out, or rename it')
        X = X.to_numpy() if hasattr(X, "to_numpy") else list(zip(*(_tables._values(X, name) for name in names)))
    rows = list(_holders.items(X, "X"))
    rows = [row[0] if isinstance(row, (list, tuple)) and len(row) == 1 else tuple(row) if isinstance(row, list) else row for row in rows]
    wrong = next((at for at, row in enumerate(rows) if not isinstance(row, (str, bytes)) and
                  not (isinstance(row, tuple) and len(row) == 2 and all(isinstance(text, (str, bytes)) for text in row))), None)
    if wrong is not None:
        raise ValueError(f"row {wrong} of X is {rows[wrong]!r:.60}: a text is wanted, or a pair of texts")
    if not rows:
        raise ValueError(f"X has no rows{'' if fitted else ': there is nothing to learn from'}")
    return rows


class _Estimator(BaseEstimator):
    """What both have: parameters that are the options of training, and a model after ``fit``."""

    model_: Model
    n_iter_: int

    def __init__(self, model: Any = "MiniLM", **options: Unpack[TrainOptions]):
        self.model = model
        self.__dict__.update(options)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """model, and the options that were given."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_") and not name.endswith("_")}

    def set_params(self, **params: Any) -> Any:
        """Any option of ``brim.train``; None is its default."""
        self.__dict__.update(params)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        given = {name: value for name, value in self.get_params().items() if name != "model"}
        return f"{type(self).__name__}({', '.join([repr(self.model), *(f'{name}={value!r}' for name, value in given.items())])})"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
        tags.target_tags.required = True
        return tags

    def _fit(self, X: Any, y: Any, sample_weight: Any, task: str, labels: list[Any] | None) -> None:
        rows, targets = _texts(X), list(y)
        if len(rows) != len(targets):
            raise ValueError(f"X has {len(rows)} rows and y has {len(targets)}")
        options = {name: value for name, value in self.get_params().items() if value is not None and name != "model"}
        rows, targets, held_out = _weighted(rows, targets, sample_weight, options)
        data = _table(rows, targets)
        if held_out:
            options["eval"] = {"eval": _table(*held_out)}
        folded = next((name for name in ("folds", "fold_column", "test") if name in options), None)
        if folded:
            raise ValueError(f"{folded}: folds leave no model: cross_val_score and the like make them of this estimator")
        own = next((name for name in ("train", "task", "labels", "text_column", "pair_column", "label_column") if name in options), None)
        if own:
            raise ValueError(f"{own} is no parameter of {type(self).__name__}: fit(X, y) has the rows, and y the classes or values")
        model = copy.deepcopy(self.model) if isinstance(self.model, Model) else self.model  # which stays as it was
        result = train(model, data, task=task, labels=labels, **options)
        self.model_, self.n_iter_ = result.model, result.steps  # type: ignore[union-attr]

    def _model(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")
        return self.model_

    def _logits(self, X: Any) -> Any:
        model = self._model()
        return _np.asarray(model.logits(_texts(X, fitted=True)))


_MOST_TIMES = 50  # that the lightest row is taken, so that all are taken as their weights say


def _times(weights: Any, seed: int) -> Any:
    """How often each row is taken. Exactly by its weight where the weights are whole multiples of a share of the least, such as 0.3, 0.7
    and 1.2; else drawn: the weight over the mean, rounded down or up so that its expectation is right and all together are the rows."""
    shares = weights / weights[weights > 0].min()
    for parts in range(1, _MOST_TIMES + 1):
        counts = (shares * parts).round()
        if _np.allclose(counts, shares * parts, rtol=1e-6, atol=0) and counts.sum() <= _MOST_TIMES * len(weights):
            return counts.astype(int)
    ends = _np.concatenate([[0.0], weights.cumsum()]) * len(weights) / weights.sum() + _np.random.default_rng(seed).random()
    return _np.diff(_np.floor(ends)).astype(int)


def _table(rows: list[Any], targets: list[Any]) -> dict[str, Any]:
    if isinstance(rows[0], tuple):
        return {"text": [row[0] for row in rows], "text_pair": [row[1] for row in rows], "label": targets}
    return {"text": rows, "label": targets}


def _weighted(rows: list[Any], targets: list[Any], weights: Any, options: dict[str, Any]) -> tuple[list[Any], list[Any], Any]:
    """Rows as often as their weights say: 0 leaves a row out. brim has no other weights of rows. Where a share of them is to be held out
    it is drawn first, of rows that are there once, and taken from the options: no row is trained on and held out."""
    if weights is None:
        return rows, targets, None
    given = _np.asarray(weights, dtype=float)
    if given.shape != (len(rows),):
        raise ValueError(f"sample_weight has the shape {given.shape} for {len(rows)} rows")
    if (given < 0).any() or not _np.isfinite(given).all():
        raise ValueError("sample_weight has values below 0, or that are no numbers")
    if not given.any():
        raise ValueError("sample_weight is 0 for all rows")
    trained, held_out = _np.flatnonzero(given).tolist(), []
    share = _share(options.get("eval"), options.get("validation_split"))
    if share is not None and len(trained) > 1:
        options.pop("eval", None), options.pop("validation_split", None)
        parts = Dataset.from_ids([[at] for at in trained]).split(share, seed=options.pop("fold_seed", 42))
        trained, held_out = ([row["input_ids"][0] for row in part] for part in parts)
    times = _times(given[trained], int(options.get("seed") or 42))
    taken = [at for at, n in zip(trained, times) for _ in range(n)]
    return ([rows[at] for at in taken], [targets[at] for at in taken],
            ([rows[at] for at in held_out], [targets[at] for at in held_out]) if held_out else None)


def _refuse_missing(given: Sequence[Any]) -> None:
    missing = next((at for at, one in enumerate(given) if _missing(one)), None)
    if missing is not None:
        raise ValueError(f"row {missing} of y has no class: it is {given[missing]!r}")


def _array(y: Any, of: Any = None) -> Any:
    """y as an array of NumPy; of: what makes a number of each value. What is none is named with its row."""
    if isinstance(y, (list, tuple)):
        kinds = [isinstance(_holders.as_list(one), (list, tuple, dict, set)) for one in y]
        for at, one in enumerate(y):
            if kinds[at] != kinds[0]:
                raise ValueError(f"row {at} of y is {one!r:.60}, and row 0 is {y[0]!r:.60}: one class or value a row is wanted")
            try:
                of and not kinds[at] and of(one)
            except (TypeError, ValueError, OverflowError):
                raise ValueError(f"row {at} of y is {one!r:.60}: a number is wanted") from None
    return _np.asarray(y, dtype=float if of else None)


class TextClassifier(ClassifierMixin, _Estimator):
    """A classifier of texts.

    model: a folder, or a name of the hub, as for ``brim.train``; the other parameters are its options. After ``fit``: classes_ (as
    they came in y, sorted), model_ (a ``brim.Model``), n_iter_ (optimizer steps).
    """

    classes_: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TextClassifier:
        """Trains from the model's weights, whatever was fitted before. sample_weight: a row of twice the weight is seen twice as often, and
        of weight 0 never; weights without a common measure decide how often by a draw with seed."""
        targets = _array(y)
        given = y if isinstance(y, (list, tuple)) else targets.ravel().tolist()  # of a list that mixes them NumPy makes strings
        _refuse_missing(given)
        other = next((at for at, one in enumerate(given) if isinstance(one, str) != isinstance(given[0], str)), None)
        if other is not None:
            raise TypeError(f"y mixes strings and other values: row 0 is {given[0]!r:.60}, row {other} is {given[other]!r:.60}: give classes of one kind")
        if targets.ndim != 1:
            raise ValueError(f"y has the shape {targets.shape}: one class a row is wanted")
        check_classification_targets(targets)
        classes = _np.unique(targets)
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes.tolist()[0]!r}: two are needed" if len(classes) else "y has no rows")
        values = classes.tolist()
        plain = all(isinstance(value, int) for value in values)
        label = (lambda value: value) if plain else str
        kept = isinstance(self.model, Model) or self.get_params().get("keep_head")  # a head has its classes, in its order
        self._fit(X, [label(value) for value in targets.tolist()], sample_weight, "classification", None if kept else [label(value) for value in values])
        names, known = self.model_.labels.names or [], {_one_label(label(value))[0] for value in values}
        lacking = [type(values[0])(name) for name in names if name not in known]
        self.classes_ = _np.unique(_np.asarray([*values, *lacking], dtype=object if classes.dtype == object else None)) if lacking else classes
        self._order = [names.index(_one_label(label(value))[0]) for value in self.classes_.tolist()]
        return self

    def _logits(self, X: Any) -> Any:
        return super()._logits(X)[:, self._order]

    def decision_function(self, X: Any) -> Any:
        """Logits [rows, classes]; of two classes [rows], the second's over the first's."""
        logits = self._logits(X)
        return logits[:, 1] - logits[:, 0] if len(self.classes_) == 2 else logits

    def predict_proba(self, X: Any) -> Any:
        """[rows, classes], in the order of classes_."""
        logits = self._logits(X).astype(float)
        powers = _np.exp(logits - logits.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Any:
        """Of each row a class, as y had it."""
        best = self._logits(X).argmax(axis=1)
        return self.classes_[best]


class TextRegressor(RegressorMixin, _Estimator):
    """A regressor of texts: one value a row. Parameters as for ``TextClassifier``."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TextRegressor:
        """Trains from the model's weights, whatever was fitted before."""
        targets = _array(y, float)
        if targets.ndim != 1:
            raise ValueError(f"y has the shape {targets.shape}: one value a row is wanted")
        self._fit(X, targets.tolist(), sample_weight, "regression", None)
        return self

    def predict(self, X: Any) -> Any:
        """Of each row a value."""
        return self._logits(X)[:, 0].astype(float)


def __dir__() -> Sequence[str]:
    return __all__
