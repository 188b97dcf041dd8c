"""What the numbers of a head mean."""
from __future__ import annotations

import numbers
from typing import Any, Sequence

from . import _core, runtime as _runtime
from .errors import UsageError


NAME, NUMBER, BOOLEAN, NONE = "snb-"  #: what a label was (brim_label_form): a str is never a number


def _one_label(label) -> tuple[str, str]:
    """The text and the form of a label that is no list."""
    if label is None:
        return "", NONE
    if isinstance(label, str):
        return label, NAME
    if isinstance(label, bool):
        return "true" if label else "false", BOOLEAN
    if hasattr(label, "tolist"):  # NumPy and torch
        return _one_label(label.tolist())
    if isinstance(label, numbers.Number):
        return repr(label) if isinstance(label, (int, float)) else str(label), NUMBER
    return repr(label), NAME


def _label_text(label) -> str | tuple[str | bytes, str] | None:
    """A label as the library takes it: a str, which is a name, or its text and its form: 1 -> ("1", "n"), True -> ("true", "b"); a list as
    bytes, a NUL after each item, and the forms of all."""
    if label is None or isinstance(label, str):
        return label
    if hasattr(label, "tolist"):
        return _label_text(label.tolist())
    if isinstance(label, (list, tuple, set, frozenset)):
        items = [_one_label(one) for one in (sorted(label, key=str) if isinstance(label, (set, frozenset)) else label)]
        if any("\0" in text for text, _ in items):
            raise UsageError(f"the label {label!r:.60} holds a NUL: remove it")
        return b"".join(text.encode() + b"\0" for text, _ in items), "".join(form for _, form in items)
    return _one_label(label)


def _is_list(label) -> bool:
    return isinstance(label, (list, tuple, set, frozenset)) or getattr(label, "ndim", 0) == 1


def _multi_hot(labels: list, names: list[str] | None) -> tuple[list, list[str]] | None:
    """[1.0, 0.0, 1.0] as the names of its labels, where all rows are so; and the names of all."""
    rows = [label.tolist() if hasattr(label, "tolist") else label for label in labels]
    width = len(rows[0]) if rows and isinstance(rows[0], (list, tuple)) else 0
    alike = width and all(isinstance(row, (list, tuple)) and len(row) == width for row in rows)
    if not alike or not all(isinstance(one, (float, bool)) and one in (0, 1) for row in rows for one in row):
        return None
    if names and len(names) != width:
        raise UsageError(f"labels: {width} values of 0 and 1 a row, and there are {len(names)} names")
    names = names or [str(i) for i in range(width)]
    return [[name for name, one in zip(names, row) if one] for row in rows], names


def _label_texts(labels: Sequence, task: str, mapping) -> tuple[list, Any, str]:
    """Labels as a file would have them, the mapping, and the task; lists of 0.0 and 1.0 for each label there is name those that are 1."""
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    lists = any(_is_list(label) for label in labels)
    names = mapping.names if isinstance(mapping, Labels) else mapping
    hot = _multi_hot(labels, names) if lists and task in ("auto", "multi_label") else None
    if hot:
        labels, names = hot
    if lists and names is not None and not isinstance(mapping, Labels):
        mapping = Labels(names, task="multi_label")
    if lists and not hot and task == "auto" and mapping is None and any(isinstance(one, float) for label in labels if _is_list(label) for one in label):
        task = "regression"  # not all rows are of 0.0 and 1.0, whatever the first one is
    return [_label_text(label) for label in labels], mapping, task


class Labels:
    """What the numbers of a head mean.

    names: the classes in the order of their ids; None: regression. task: "classification" (one class a row), "multi_label" (any number
    of them) or "regression"; None: by the names. outputs: values a row in regression.
    """

    names: list[str] | None
    task: str
    outputs: int

    def __init__(self, names: Sequence[str] | None, *, task: str | None = None, outputs: int = 1, runtime: Any = None):
        self.names = None if names is None else [str(n) for n in names]
        self.task = task or ("regression" if names is None else "classification")
        self.outputs = outputs if names is None else len(self.names)
        self._core = _core.labels(runtime or _runtime.default(), self.task, self.names, self.outputs)

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.names, self.task, self.outputs)

    def __repr__(self) -> str:
        return f"Labels({self.names!r}, task={self.task!r})"


def _remake(names, task, outputs):
    return Labels(names, task=task, outputs=outputs)


def _labels(labels, runtime):
    if labels is None or isinstance(labels, Labels):
        return labels
    return Labels(labels, runtime=runtime)
