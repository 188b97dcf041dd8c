"""What a training came to, and what is said while it runs."""
from __future__ import annotations

import math
import os
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core, files as _files, outputs as _outputs
from .judged import Evaluation
from .model import Model
from .study import _Paged


class Event(NamedTuple):
    kind: str                #: "start", "step", "eval", "epoch", "checkpoint", "end", "progress"
    fields: dict[str, Any]   #: as in log.jsonl


class Work(NamedTuple):
    """Where the time of a run went: a line of ``Result.profile``."""

    name: str
    kind: str
    calls: int
    seconds: float
    operations: float  #: floating-point operations, where they are known


@dataclass(repr=False)
class Result(_Paged):
    """What a training came to."""

    model: "Model"
    steps: int = 0
    rows: int = 0
    tokens: int = 0
    slots: int = 0
    loss: float = math.nan         #: mean over the rows of the last epoch
    seconds: float = 0.0
    best_metric: float = math.nan
    best_step: int = 0
    model_step: int = 0            #: whose weights the model has: those of the last step, or of the best
    averaged: int = 0              #: steps whose weights were averaged (swa_start)
    stopped_early: bool = False    #: patience came to its end
    metric: str | None = None      #: what best_metric is: "accuracy", ...
    truncated: int = 0             #: rows that were cut at max_length, and
    lost: int = 0                  #: tokens that they lost
    resumed: bool = False
    interrupted: bool = False
    evaluations: list[dict[str, Any]] = field(default_factory=list)  #: fields of every "eval" event
    losses: list[tuple[int, float]] = field(default_factory=list)    #: (step, loss) of every "step" event
    judged: dict[str, Evaluation] = field(default_factory=dict)      #: the last evaluation of each set, with its confusion and most wrong rows
    output: str | None = None                                        #: the run's folder
    profile: list[Work] = field(default_factory=list)                #: with profile=: where the time went
    _folder: str | None = None
    _log: list[str] = field(default_factory=list)                    #: its log, for a page where there is no folder

    if not TYPE_CHECKING:  # a type checker would take any name
        def __getattr__(self, name: str) -> Any:
            where = f": result.model.{name}" if not name.startswith("_") and hasattr(Model, name) else ""
            raise AttributeError(f"a Result has no {name}{where}")

    def __repr__(self) -> str:
        best = "" if math.isnan(self.best_metric) else f", best {self.metric} {self.best_metric:.4g} at step {self.best_step}"
        best += "" if self.model_step in (0, self.steps) else " (the model's)"
        return f"Result({self.steps:,} steps, {self.rows:,} rows, loss {self.loss:.4g}{best}, {self.seconds:.1f} s, {self.model!r})"

    def page(self, path: str | os.PathLike[str]) -> None:
        """Writes the page that the program's runs have as report.html: curves, evaluations, predictions, the most wrong rows."""
        _outputs.check_ending("page", path, ".html", ".htm")
        if self.output and self._folder and os.path.exists(os.path.join(self._folder, "log.jsonl")):
            self._write(path, self._folder, _files.shown(self.output))
            return
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "log.jsonl").write_text("".join(self._log), encoding="utf-8")
            _core.keep(self.model._runtime, os.fsencode(folder), [one._judged for one in self.judged.values()])
            self._write(path, folder, "Training")

    def _write(self, path, folder: str, name: str) -> None:
        _core.page(self.model._runtime, name, [("run", os.fsencode(folder), name)], os.fsencode(path))
