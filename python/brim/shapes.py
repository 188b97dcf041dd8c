"""What the rows, labels and outputs of a task are (brim_shape of the library): code asks for what it needs of them, and not for the task."""
from __future__ import annotations

import functools
from typing import NamedTuple

from . import _core


class Shape(NamedTuple):
    words: bool  #: texts are lists of words with a label each
    several_texts: bool  #: a row may be several texts
    joins_pairs: bool  #: a row of two texts is one, as classifiers of pairs read it
    named: bool  #: outputs are classes, which have names; else values
    one_class: bool  #: a label is one class; else a number for each output
    made: bool  #: labels are made of the texts: none are read
    optional: bool  #: rows may lack a label
    bare: bool  #: outputs are the encoder's vectors: there is no head
    judged: bool  #: outputs answer a row
    outputs: str  #: of "texts", "tokens" or "labelled" tokens
    metrics: frozenset[str]  #: that evaluations have
    best: str | None  #: of them, by which checkpoints are compared

    @property
    def class_a_row(self) -> bool:
        """A row's label is one class."""
        return self.named and self.one_class and not self.words

    @property
    def has_classes(self) -> bool:
        """Rows have labels with names: one each, or a list."""
        return self.named and not self.words


@functools.cache
def of(task: str | None) -> Shape:
    """None, "auto", a word that is no task: nothing is known."""
    try:
        found = _core.task_shape(task or "auto")
    except ValueError:
        found = _core.task_shape("auto")
    return Shape(**{**found, "metrics": frozenset(found["metrics"])})


def word(task: str | None) -> str | None:
    """A task as Python has it, where it is written as the command and messages have it: multi-label."""
    try:
        return task and _core.task_shape(task) and task.replace("-", "_")
    except ValueError:  # as it was given
        return task
