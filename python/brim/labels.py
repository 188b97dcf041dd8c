"""What the numbers of a head mean."""
from __future__ import annotations

from typing import Sequence

from . import _core, runtime as _runtime


def _label_text(label) -> str | None:
    """A label as a file would have it: 1 -> "1", 0.5 -> "0.5", True -> "true", "yes" -> "yes"."""
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, (list, tuple, set, frozenset)):  # several labels, as a csv file has them
        return "|".join(_label_text(one) for one in (sorted(label, key=str) if isinstance(label, (set, frozenset)) else label))
    if hasattr(label, "tolist"):  # NumPy and torch
        return _label_text(label.tolist())
    return repr(label)


class Labels:
    """What the numbers of a head mean.

    names: the classes in the order of their ids; None: regression. task: "classification" (one class a row), "multi_label" (any number
    of them) or "regression"; None: by the names. outputs: values a row in regression.
    """

    def __init__(self, names: Sequence[str] | None, *, task: str | None = None, outputs: int = 1, runtime=None):
        self.names = None if names is None else [str(n) for n in names]
        self.task = task or ("regression" if names is None else "classification")
        self.outputs = outputs if names is None else len(self.names)
        self._core = _core.labels(runtime or _runtime.default(), self.task, self.names, self.outputs)

    def __reduce__(self):
        return _remake, (self.names, self.task, self.outputs)

    def __repr__(self) -> str:
        return f"Labels({self.names!r}, task={self.task!r})"


def _remake(names, task, outputs):
    return Labels(names, task=task, outputs=outputs)


def _labels(labels, runtime):
    if labels is None or isinstance(labels, Labels):
        return labels
    return Labels(labels, runtime=runtime)
