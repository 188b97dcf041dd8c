"""What a training reports to others, and asks them: metrics of one's own, callbacks, reports."""
from __future__ import annotations

import array
import contextlib
import csv
import importlib
import itertools
import json
import os
from typing import Any, Callable, Iterator, Sequence

from . import _core, holders as _holders, shapes as _shapes
from .errors import Request, UsageError

#: Called with a kind and its fields, as log.jsonl has them; a Request (STOP, EVALUATE, SAVE) asks for something.
Callback = Callable[[str, dict[str, Any]], Any]


class Predictions:
    """What ``compute_metrics`` sees of an evaluation.

    logits: float32 [rows, outputs] in the order of the set, of labels of words [labelled words, outputs]. labels: class ids as int32
    [rows], values or 0.0 and 1.0 as float32 [rows] or [rows, outputs]. Arrays of NumPy where it is installed. name: of the set; step.
    ``logits, labels = predictions`` works, and so do the names of transformers, predictions and label_ids.
    """

    name: str
    step: int
    logits: Any
    labels: Any

    def __init__(self, name: str, step: int, logits: Any, labels: Any):
        try:
            asarray = importlib.import_module("numpy").asarray
        except ImportError:
            asarray = lambda array: array
        self.name, self.step, self.logits, self.labels = name, step, asarray(logits), asarray(labels)

    @property
    def predictions(self) -> Any:
        """``logits``, by the name that transformers has for them."""
        return self.logits

    @property
    def label_ids(self) -> Any:
        """``labels``, by the name that transformers has for them."""
        return self.labels

    def __iter__(self) -> Iterator[Any]:
        return iter((self.logits, self.labels))

    def __getitem__(self, index: int) -> Any:
        return (self.logits, self.labels)[index]

    def __repr__(self) -> str:
        return f"Predictions({self.name!r}, step {self.step}, logits {tuple(self.logits.shape)})"


#: What the event of an evaluation says besides metrics, and the loss that was trained.
_FIELDS = {"event", "step", "epoch", "name", "averaged", "rows", "tokens", "slots", "seconds", "loss"}


def _metric_name(key: Any) -> str:
    name = str(key).removeprefix("eval_")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UsageError(f"compute_metrics: the name {key!r:.60} holds half a character (a lone surrogate), which no file can have: give another name") from None
    if "\0" in name:
        raise UsageError(f"compute_metrics: the name {key!r:.60} holds a NUL: give another name")
    return name


def _metric(name: Any, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last is torch's, of several numbers
        raise TypeError(f"compute_metrics: {name!r:.60} is {_holders._short(value)}, and a number is needed") from None


def measured(compute_metrics: Callable[[Predictions], dict[str, Any]] | None):
    """The function as the library calls it: its metrics as pairs."""
    if compute_metrics is None:
        return None
    if not callable(compute_metrics):
        raise TypeError(f"compute_metrics is a function of predictions that returns a dict, not {compute_metrics!r:.60}")

    def measure(name, step, logits, labels):
        found = compute_metrics(Predictions(name, step, logits, labels))
        if not isinstance(found, dict):
            raise TypeError(f"compute_metrics returns a dict of metrics, {{name: number}}, not {found!r:.60}")
        taken = next((key for key in found if str(key).removeprefix("eval_") in _FIELDS), None)
        if taken is not None:
            raise UsageError(f'compute_metrics: "{taken}" is what the event of an evaluation has besides metrics: give another name')
        return [(_metric_name(key), _metric(key, value)) for key, value in found.items()]

    return measure


def _labelled(dataset: Any, logits: Any, rows: Sequence[int]) -> tuple[Any, Any]:
    """Logits and labels of some rows as an evaluation has them: of labels of words those of the tokens that have one."""
    columns = logits.shape[1]
    flat, taken, labels = memoryview(logits).cast("B"), bytearray(), array.array("i")
    begins = list(itertools.accumulate(dataset.lengths, initial=0)) if _shapes.of(dataset.labels.task).words else None
    for row in rows:
        label = dataset[row]["labels"]
        found = [(begins[row] + at, one) for at, one in enumerate(label) if one != -100] if begins else [(row, label)]
        for at, one in found:
            taken += flat[4 * columns * at:4 * columns * (at + 1)]
            if labels.typecode == "i" and not isinstance(one, int):
                labels = array.array("f")
            labels.extend(one if isinstance(one, list) else [one])
    count = len(taken) // (4 * columns)
    width = len(labels) // count if count else 1
    return _core.array("f", bytes(taken), count, columns), _core.array(labels.typecode, labels.tobytes(), count, width if width > 1 else -1)


def measure_folds(measure: Callable[..., list[tuple[str, float]]], dataset: Any, found: dict[str, Any], sets: dict[str, Any]) -> None:
    """Adds own metrics to those of the folds, of all held-out rows, and of the sets that all folds predicted together."""
    fold = list(found["fold"])
    for number, part in enumerate(found["folds"]):
        rows = [row for row, of in enumerate(fold) if of == number]
        part["metrics"] |= dict(measure("valid", part["steps"], *_labelled(dataset, found["logits"], rows)))
    found["metrics"] |= dict(measure("valid", 0, *_labelled(dataset, found["logits"], range(len(dataset)))))
    for part in found["averages"]:
        if part["metrics"]:
            held = sets[part["name"]]
            part["metrics"] |= dict(measure(part["name"], 0, *_labelled(held, part["logits"], range(len(held)))))


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it is gone
        return None


class Here:
    """A run works in the folder that it began in, also where a function that it calls changes the folder of the process: the function finds
    what it changed, and so does who called the run."""

    def __init__(self) -> None:
        self._here = _working_folder()
        self._theirs: str | None = None

    def calls(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            self.leave()
            try:
                return function(*given)
            finally:
                now = _working_folder()
                if self._here is not None and now != self._here and (now is not None or os.path.isdir(self._here)):
                    self._theirs = now
                    os.chdir(self._here)

        return call

    def leave(self) -> None:
        """To the folder that a function changed to."""
        theirs, self._theirs = self._theirs, None
        if theirs is not None:
            os.chdir(theirs)


def several(functions: Sequence[Callback]) -> Callback:
    """One function of all: what they ask for is added up."""
    def listen(kind, fields):
        asked = None
        for function in functions:
            for one in _requests(function(kind, fields)):
                asked = one if asked is None else asked | one
        return asked

    return listen


def _requests(result: Any) -> list[Request]:
    many = result if isinstance(result, (list, tuple, set)) else (result,)
    return [one for one in many if isinstance(one, Request)]


def made(name: str, given: Any) -> Any:
    """An object of a class, as transformers' Trainer makes one; anything else as it is."""
    if not isinstance(given, type) or hasattr(given, "on_step_end"):
        return given
    try:
        return given()
    except TypeError as error:
        raise TypeError(f"{name}: {given.__name__} is a class, and no object of it can be made without arguments: give one") from error


def checked(callbacks: Any, on_event: Callback | None) -> list[Callback]:
    given = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    given = [made("callbacks", one) for one in given]
    for one in given:
        if not callable(one) or hasattr(one, "on_step_end"):
            hint = ""
            if hasattr(one, "on_step_end"):
                stops = "EarlyStopping" in getattr(one, "__name__", type(one).__name__)
                hint = "; patience=3 stops as it does" if stops else "; one of transformers has other methods: write what it does as such a function"
            raise TypeError(f"callbacks: a callback is a function of a kind and fields, not {_holders._short(one)}{hint}")
    return [*given, *([made("on_event", on_event)] if on_event else [])]


# ---- reports ---------------------------------------------------------------------------------------------------------

_KNOWN = ("tensorboard", "csv", "none", "all")
_FUNCTIONS = {"wandb": "wandb_run.py", "mlflow": "mlflow_run.py"}


def reports(report_to: Any, output: Any) -> tuple[set[str], list[Callback]]:
    """Which reports are written, and functions that are called with events. None: what a run's folder always has."""
    given = list(report_to) if isinstance(report_to, (list, tuple, set)) else [report_to]
    names, functions = set(), []
    for one in given:
        if callable(one):
            functions.append(made("report_to", one))
        elif one is None or isinstance(one, str) and one in _KNOWN:
            names.add(one or "tensorboard")
        else:
            example = f": examples/python/{_FUNCTIONS[one]} is one of 15 lines" if isinstance(one, str) and one in _FUNCTIONS else ""
            raise TypeError(f'report_to={one!r}: brim reports to "tensorboard", "csv" and "none", and to functions of a kind and fields{example}')
    if "csv" in names and output is None:
        raise TypeError('report_to="csv" writes log.csv into the run\'s folder: give output')
    return {"tensorboard"} if "all" in names or not names and functions else names, functions


def write_csv(folder: str) -> None:
    """log.csv of a run: a line an event of the kinds step, eval and epoch, as `brim report --csv` has it."""
    with open(os.path.join(folder, "log.jsonl"), encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    rows = [event for event in events if event["event"] in ("step", "eval", "epoch")]
    names = list(dict.fromkeys(name for row in rows for name in row))
    path = os.path.join(folder, "log.csv")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # a link or a pipe of this name is not written through
    with open(path, "x", encoding="utf-8", errors="surrogateescape", newline="") as file:
        out = csv.DictWriter(file, ["run", *names])
        out.writeheader()
        out.writerows({"run": folder, **row} for row in rows)
