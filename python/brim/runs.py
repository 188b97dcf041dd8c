"""The runs of a training: one, one for each fold, or one for each way to compare."""
from __future__ import annotations

import json
import math
import os
import warnings
from typing import Any

from . import _core, callbacks as _callbacks, files as _files, notes as _notes, options as _options, progress as _progress, ranks as _ranks
from .dataset import Dataset
from .errors import EVALUATE, SAVE, Cancelled, Request, UsageError
from .feed import Streamed
from .folds import Folds
from .judged import add_texts, evaluations, keep_texts
from .model import Model, of_task
from .result import Result, Work
from .study import Comparison, FoldsResult, Way
from .tokenizer import Tokenizer


class Listeners:
    """Who hears of a run: a line on the terminal, the log, callbacks, reports."""

    def __init__(self, more: dict[str, Any], on_event, output, swa_start):
        self.reports, functions = _callbacks.reports(more["report_to"], output)
        self.functions = [*_callbacks.checked(more["callbacks"], on_event), *functions]
        self.measure = _callbacks.measured(more["compute_metrics"])
        self.swa_start = swa_start or 0
        self.profile = more["profile"]
        if self.profile is True and output is None:
            raise UsageError("profile=True writes trace.json into the run's folder: give output, or a file: profile=\"trace.json\"")
        self.trace = None if not self.profile else os.path.join(os.fsdecode(output), "trace.json") if self.profile is True else os.fsdecode(self.profile)
        progress = more["progress"]
        self.bar = _progress.Bar() if not callable(progress) and _progress.wanted(progress) else None
        if callable(progress):
            self.functions.append(progress)
        self._here = _callbacks.Here()
        self._ask = self._here.calls(_callbacks.several(self.functions))
        self.measure = self.measure and self._here.calls(self.measure)
        self.idle: list[tuple[Request, str]] = []  #: what a function may ask for that has no effect, and why

    def files(self, output) -> list[tuple[str, str]]:
        """What is written that is not of every run, by what asked for it."""
        table = [("report_to", os.path.join(os.fsdecode(output), "log.csv"))] if "csv" in self.reports else []
        return table + ([("profile", self.trace)] if self.trace is not None else [])

    def listen(self, kind: str, fields: dict[str, Any]):
        if self.bar:
            self.bar(kind, fields)
        _notes.of_event(kind, fields, self.swa_start)
        asked = self._ask(kind, fields) if self.functions else None
        for request, why in self.idle if asked else ():
            if asked.flags & request.flags:
                _notes.log.warning("%r, which a function returned, has no effect: %s", request, why)
                self.idle = [one for one in self.idle if one[0] != request]
        return asked

    def __enter__(self):
        return self

    def __exit__(self, *error) -> None:
        self._here.leave()
        if self.bar:
            self.bar.close()


def _finite(value: Any) -> Any:
    """As log.jsonl has it: what is no finite number is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _prepared(model, output, seed, limit, options) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of batches, and the others, as the library takes them."""
    plan = {"batching": "random", **{k: v for k, v in options.items() if k in _options.PLAN}, "seed": seed, "max_length": limit}
    if plan.get("batch_size") is None:
        plan["batch_size"] = 0 if plan.get("max_tokens") else 16
    rest = {k: v for k, v in options.items() if k not in _options.PLAN}
    rest |= {"seed": seed, "output": None if output is None else _files.path_bytes(output),
             "class_weights": _options.class_weights(rest.get("class_weights"), model.labels),
             "memory_limit": _options.memory(rest.get("memory_limit"))}
    return plan, rest


def _cutting_as(model: Model, tokenizer: Tokenizer) -> Tokenizer:
    """The model's tokenizer, which cuts texts as the rows were."""
    return model.tokenizer._cutting(tokenizer.truncation_side, tokenizer.truncation)


def run(model, rows, evals, output, seed, limit, told, options, sources, tokenizer, columns) -> Result:
    """One run."""
    plan, rest = _prepared(model, output, seed, limit, options)
    plan = {"seed": seed} if isinstance(rows, Streamed) else plan
    result = Result(model, output=None if output is None else os.fsdecode(output), _folder=None if output is None else _files.from_here(os.fsdecode(output)))
    if isinstance(rows, Dataset):
        result.truncated, result.lost = rows.truncated, rows.lost

    def listen(kind, fields):
        if kind == "step":
            model._untrained = None
            result.losses.append((fields["step"], fields["loss"]))
        if kind == "eval":
            result.evaluations.append(dict(fields))
        if kind != "progress":
            result._log.append(json.dumps({"event": kind, **{name: _finite(value) for name, value in fields.items()}}) + "\n")
        return told.listen(kind, fields)

    cuts = _cutting_as(model, tokenizer)
    told.idle = [*([] if evals else [(EVALUATE, "there is no evaluation set: give eval")]), *([] if output else [(SAVE, "nothing is written: give output")])]
    writes = _ranks.join()[0] == 0
    texts = lambda: keep_texts(model._runtime, result.output, sources, tokenizer, columns) if result.output and evals and writes else []
    try:
        found = _core.train(model._core, cuts._core, rows._core, [(n, d._core) for n, d in evals], plan, rest, listen,
                            told.measure, told.trace and _files.path_bytes(told.trace), told.profile is True, "none" in told.reports)
    except (Cancelled, KeyboardInterrupt):
        if result.losses:  # what was stopped keeps them too
            model._trained_on(rows, limit, cuts)
            texts()
        raise
    model._trained_on(rows, limit, cuts)  # ranks but the first have no events
    kept = texts()
    for note in found.pop("notes").splitlines():
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    held = found.pop("judged")
    for one in held:
        add_texts(one, *sources[one.facts()["name"]], tokenizer, columns)
    result.judged = evaluations(kept or held)
    result.profile = [Work(*one) for one in found.pop("profile")]
    for name, value in found.items():
        setattr(result, name, value)
    if "csv" in told.reports and writes:
        _callbacks.write_csv(result.output)
    _notes.of_result(result, told.swa_start)
    return result


def run_folds(model, dataset, evals, tests, output, seed, limit, told, options, how: Folds, texts, tokenizer) -> FoldsResult:
    """A run for each fold; tests: so many of evals, the last."""
    plan, rest = _prepared(model, output, seed, limit, options)
    folder = None if output is None else os.fsdecode(output)
    count, given, column = how.given(dataset, model)
    found = _core.train_folds(model._core, _cutting_as(model, tokenizer)._core, dataset._core, [(n, d._core) for n, d in evals], plan, rest, told.listen,
                              count, how.seed, how.stratify, given, column, told.measure, tests)
    folders = [] if folder is None else [os.path.join(folder, f"fold-{i}") for i in range(len(found["folds"]))]
    for one in folders:
        texts(one)
    if folders:
        _core.report(model._runtime, _files.encoded(folders[:16]), os.fsencode(folder))
        _notes.of_readme(folders[0])
    for part in (found, *found["folds"], *found["averages"]):
        part["metrics"] = part["metrics"] and of_task(model.task, part["metrics"])
    if told.measure:
        _callbacks.measure_folds(told.measure, dataset, found, dict(evals))
    return FoldsResult(**found)


def run_compare(model, dataset, evals, seed, limit, told, options, ways, data) -> Comparison:
    """A run for each way."""
    if len(evals) > 1:
        raise UsageError("brim.compare evaluates on one set")
    if told.measure or told.trace:
        raise UsageError("brim.compare has no compute_metrics and no profile: brim.train has")
    modes = []
    for name, batching, padding, own in ways:
        own = _options.canonical(own)
        if not own.keys() <= _options.PLAN | _options.TRAIN:
            raise UsageError(f"mode {name}: {min(own.keys() - _options.PLAN - _options.TRAIN)} is no option of batches or training")
        plan, rest = _prepared(model, None, seed, limit, {**options, **own})
        plan.pop("batching", None), plan.pop("padding", None)
        modes.append((name, batching, padding, plan, rest))
    plan, rest = _prepared(model, None, seed, limit, options)
    plan.pop("batching", None)
    found, metric = _core.compare(model._core, dataset._core, evals[0][1]._core if evals else None, plan, rest, modes, told.listen)
    for one in found:
        one["metrics"] = one["metrics"] and of_task(model.task, one["metrics"])
    name = f": {_files.shown(data)}" if isinstance(data, (str, os.PathLike)) else ""
    return Comparison([Way(**one) for one in found], metric if evals else None, column=metric,
                      title=f"The same job in {len(found)} ways{name}")
