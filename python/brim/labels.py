"""What the numbers of a head mean."""
from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Sequence

from . import _core, holders as _holders, kinds as _kinds, runtime as _runtime, shapes as _shapes
from .errors import CellError, UsageError
from .options import whole
from .plain import _missing, _plain


NAME, NUMBER, BOOLEAN, NONE = "snb-"  #: what a label was (brim_label_form): a str is never a number


def _one_label(label) -> tuple[str, str]:
    """The text and the form of a label that is no list."""
    if isinstance(label, str):
        return label, NAME
    if isinstance(label, bool):
        return "true" if label else "false", BOOLEAN
    if _missing(label):
        return "", NONE
    if (plain := _plain(label)) is not label:
        return _one_label(plain)
    if isinstance(label, (bytes, bytearray)):
        raise TypeError(f"a label is {bytes(label)!r:.60}, and would come back as a str: decode it first")
    if isinstance(label, int):  # an IntEnum's too
        return int.__repr__(label), NUMBER
    if isinstance(label, numbers.Real) and not math.isfinite(label):
        raise ValueError(f"a label is {label}: a finite number or a name is needed")
    if isinstance(label, numbers.Number):
        return repr(label) if isinstance(label, float) else str(label) if isinstance(label, complex) else repr(float(label)), NUMBER
    if callable(label) or hasattr(label, "__iter__") or type(label).__repr__ is object.__repr__ and type(label).__str__ is object.__str__:
        raise TypeError(f"a label is a name, a number, or a list of them (a list, tuple, set or array), not {label!r:.60}")
    return str(label), NAME


def _label_text(label) -> str | tuple[str | bytes, str] | None:
    """A label as the library takes it: a str, which is a name, or its text and its form: 1 -> ("1", "n"), True -> ("true", "b"); a list as
    bytes, a NUL after each item, and the forms of all."""
    if label is None or isinstance(label, str):
        return label
    if (plain := _plain(label)) is not label:
        return _label_text(plain)
    if isinstance(label, (list, tuple, set, frozenset)):
        items = [_one_label(one) for one in (sorted(label, key=str) if isinstance(label, (set, frozenset)) else label)]
        if any("\0" in text for text, _ in items):
            raise UsageError(f"the label {label!r:.60} holds a NUL: remove it")
        return b"".join(text.encode() + b"\0" for text, _ in items), "".join(form for _, form in items)
    return _one_label(label)


def _is_list(label) -> bool:
    return isinstance(_plain(label), (list, tuple, set, frozenset))


def _label_texts(labels: Sequence, mapping) -> tuple[list, Any]:
    """Labels as a file would have them, of which the library says what they are, and the mapping: of lists names are of the labels that a row has."""
    labels = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if mapping is not None and not isinstance(mapping, Labels) and any(map(_is_list, labels)) and all(label is None or _is_list(label) for label in labels):
        mapping = Labels(mapping, task="multi_label")
    return [_numbered(_label_text, number, label) for number, label in enumerate(labels)], mapping


def _numbered(make, number: int, *cell: Any) -> Any:
    """What is wrong with a cell says in which row."""
    try:
        return make(*cell)
    except (TypeError, ValueError) as error:
        raise CellError(f"row {number}: {error}") from None


def natural(names: Sequence[str], form: str) -> list[Any]:
    """Names of classes as the values that a table of them would hold; form: "n" where they are integers, "b" where they are booleans."""
    return [int(name) if form == "n" else name == "true" if form == "b" else name for name in names]


def originals(labels: Iterable[Any]) -> dict[str, Any]:
    """Of labels as they were given: the value of each name."""
    found: dict[str, Any] = {}
    for label in labels:
        label = _plain(label)
        for one in map(_plain, label) if isinstance(label, (list, tuple, set, frozenset)) else (label,):
            if not _missing(one) and one != "":
                found.setdefault(_one_label(one)[0], one)
    return found


def _named_class(name: Any) -> str:
    """What is wrong with a name says that it is one of labels."""
    try:
        text = _one_label(name)[0]
        text.encode()
    except UnicodeEncodeError:
        raise CellError(f"labels: {name!r:.60} holds half a character (a lone surrogate), which no file can have") from None
    except (TypeError, ValueError) as error:
        raise CellError(f"labels: {error}") from None
    if "\0" in text:
        raise CellError(f"labels: {name!r:.60} holds a NUL: remove it")
    return text


class Labels:
    """What the numbers of a head mean.

    names: the classes in the order of their ids, as str, int or bool; or what they are to be called, {0: "neg", 1: "pos"}: rows then have
    the keys, and predictions the names; None: regression. task: "classification" (one class a row), "multi_label" (any number
    of them), "tokens" (one a word) or "regression"; None: by the names. outputs: values a row in regression.

    names: list of str, as a model's config.json has them. values: the same as predictions give them, such as 0 and 1, and what a loop over
    them gives. ``id(label)`` is the number of a class.
    """

    names: list[str] | None
    values: list[Any] | None
    task: str
    outputs: int

    def __init__(self, names: Sequence[Any] | Mapping[Any, str] | None, *, task: str | None = None, outputs: int = 1,
                 values: Sequence[Any] | None = None, runtime: Any = None):
        _kinds.check(Labels.__init__, locals())
        self._keys: list[Any] | None = None  #: what rows have in place of the names
        if isinstance(names, Mapping):
            items = sorted(names.items()) if sorted(names) == list(range(len(names))) else list(names.items())
            self._keys, names = [_one_label(key)[0] for key, _ in items], [name for _, name in items]
        given = None if names is None else [*map(_plain, _holders.items(names, "labels", "a list of names"))]
        values = None if values is None else [*map(_plain, _holders.items(values, "values", "a list of them"))]
        if given is not None and any(map(_missing, given)):
            raise CellError("labels: one of the names is missing")
        if given is not None and not given:
            raise UsageError("labels has no class: leave it out, and the classes are those of the rows")
        if given is not None and (outputs not in (1, len(given)) or values is not None and len(values) != len(given)):
            raise UsageError(f"{'outputs' if outputs not in (1, len(given)) else 'values'}: there are {len(given)} names, and each has one")
        self.names = None if given is None else [_named_class(one) for one in given]
        self.values = None if given is None else given if values is None else values
        self.task = _shapes.word(task) or ("regression" if names is None else "classification")
        self.outputs = whole("outputs", outputs, 1) if given is None else len(given)
        self._hold(runtime or _runtime.default())

    def _hold(self, runtime: Any) -> None:
        self._core = _core.labels(runtime, self.task, self.names, self.outputs, self.values is not None and all(isinstance(one, str) for one in self.values))

    def id(self, label: Any) -> int:
        """The number of a class by its name or value; KeyError where there is none."""
        text = _one_label(label)[0]
        for names in (self.names, self._keys):
            if names and text in names:
                return names.index(text)
        raise KeyError(label)

    def _coded(self) -> "Labels":
        """As rows have them."""
        return Labels(self._keys, task=self.task)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values or ())

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_core": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hold(_runtime.default())

    def __repr__(self) -> str:
        return f"Labels({self.names if self.values is None else self.values!r}, task={self.task!r})"


def kept(labels: Any) -> Any:
    """Names that can be looped over once, as a list: they are looked at several times."""
    return list(labels) if hasattr(labels, "__next__") else labels


def _labels(labels, runtime, task: str | None = None):
    """As Labels, of the task that was asked for."""
    task, asked = _shapes.word(task), task not in (None, "auto")
    if labels is None:
        return None
    if asked:
        _core.task_shape(task)  # of what is no task a line says which there are
    if isinstance(labels, Labels):
        if asked and labels.task != task:
            raise UsageError(f'task is "{task}", and labels are of {labels.task}: give labels of the task')
        return labels
    if asked and not _shapes.of(task).named:
        raise UsageError(f'task="{task}" has no classes: leave out labels')
    return Labels(labels, task=task if asked else None, runtime=runtime)
