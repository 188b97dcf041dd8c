"""Fine-tuning: the options of `brim train`, its weights bit for bit."""
from __future__ import annotations

import math
import os
import queue
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, NamedTuple

from . import _core, runtime as _runtime
from .dataset import Dataset
from .errors import STOP, UsageError
from .model import Model
from .tokenizer import Tokenizer

_PLAN = {"batching", "padding", "batch_size", "max_tokens", "max_rows", "accumulate", "pad_to_multiple_of", "read_ahead", "drop_last",
         "required_batch_size_multiple", "oversize", "tail"}


class Event(NamedTuple):
    kind: str                #: "start", "step", "eval", "epoch", "checkpoint", "end", "progress"
    fields: dict[str, Any]   #: as in log.jsonl


@dataclass
class Result:
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
    resumed: bool = False
    interrupted: bool = False
    evaluations: list[dict[str, Any]] = field(default_factory=list)  #: fields of every "eval" event


def _named(evals) -> list[tuple[str, Any]]:
    if evals is None:
        return []
    if isinstance(evals, dict):
        return list(evals.items())
    if isinstance(evals, (str, os.PathLike)):
        return [(os.path.basename(os.fspath(evals)).split(".")[0], evals)]
    return [("eval", evals)]


def train(model: Model | str | os.PathLike, train, *, eval=None, output: str | os.PathLike | None = None, task: str = "auto",
          max_length: int | None = None, seed: int = 42, text_column: str | None = None, pair_column: str | None = None,
          label_column: str | None = None, pooling: str | None = None, reinit_layers: int = 0, no_type_ids: bool = False,
          on_event: Callable[[str, dict[str, Any]], Any] | None = None, runtime=None, **options) -> Result:
    """Fine-tunes a model.

    model: a ``Model`` (trained in place) or a folder. train: a labelled ``Dataset`` or files. eval: the same, or {name: that}.
    output: the run's folder (log.jsonl, checkpoints, the final model), None: nothing is written. on_event: called with a kind and its
    fields; ``brim.STOP`` as its result stops the run, after a checkpoint; any other result means nothing. Options: epochs or max_steps, lr, schedule ("linear", "cosine", "constant"), warmup_steps,
    warmup_ratio, weight_decay, beta1, beta2, eps, clip, layer_lr_decay, freeze ("embeddings", "2", "encoder"), checkpoint_activations,
    class_weights, label_smoothing, patience, min_delta, eval_batch_size, log_every, eval_every, save_every, keep_checkpoints, best_metric, resume,
    overwrite, and of batches batch_size (16), max_tokens, batching ("random"), padding ("none"), accumulate, and so on.
    Ctrl-C writes a checkpoint first; resume=True goes on from it, bit for bit.
    """
    columns = {"text_column": text_column, "pair_column": pair_column, "label_column": label_column}
    runtime = runtime or (model._runtime if isinstance(model, Model) else _runtime.default())
    tokenizer = model.tokenizer if isinstance(model, Model) else Tokenizer(model, runtime=runtime)
    fits = model.max_length if isinstance(model, Model) else _core.describe(runtime, os.fspath(model))["max_length"]
    limit = max_length or fits

    def rows(data, labels) -> Dataset:
        if isinstance(data, Dataset):
            return data
        return Dataset.from_files(data, tokenizer, max_length=limit, need_label=True, labels=labels, runtime=runtime,
                                  task=task if labels is None else "auto", **columns)

    dataset = rows(train, model.labels if isinstance(model, Model) else None)
    if dataset.labels is None:
        raise UsageError("training needs labels: give a column, or labels=[...]")
    if not isinstance(model, Model):
        model = Model(model, labels=dataset, seed=seed, tokenizer=tokenizer, runtime=runtime, pooling=pooling,
                      reinit_layers=reinit_layers, no_type_ids=no_type_ids)
    evals = [(name, rows(data, model.labels)) for name, data in _named(eval)]
    if max_length is None and any(d.longest > fits for d in [dataset, *(d for _, d in evals)]):
        limit = None  # rows that were encoded for another model: refused, not cut
    return _run(model, dataset, evals, output, seed, limit, on_event, options)


def _run(model, dataset, evals, output, seed, limit, on_event, options) -> Result:
    result = Result(model)

    def listen(kind, fields):
        if kind == "step":
            model._untrained = None
        if kind == "eval":
            result.evaluations.append(fields)
        return on_event(kind, fields) if on_event else None

    plan = {"batching": "random", **{k: v for k, v in options.items() if k in _PLAN}, "seed": seed, "max_length": limit}
    if plan.get("batch_size") is None:
        plan["batch_size"] = 0 if plan.get("max_tokens") else 16
    rest = {k: v for k, v in options.items() if k not in _PLAN}
    rest |= {"seed": seed, "output": None if output is None else os.fspath(output)}
    found = _core.train(model._core, model.tokenizer._core, dataset._core, [(n, d._core) for n, d in evals], plan, rest, listen)
    for name, value in found.items():
        setattr(result, name, value)
    return result


def train_events(model, train_data, **options) -> Iterator[Event]:
    """``train`` as an iterator of events; leaving the loop stops the run (after a checkpoint). The last event is "result", with the
    ``Result`` in its fields."""
    events: queue.Queue = queue.Queue(maxsize=1000)
    stop = threading.Event()
    done = object()

    def listen(kind, fields):
        events.put(Event(kind, fields))
        return STOP if stop.is_set() else None

    def work():
        try:
            events.put(Event("result", {"result": train(model, train_data, on_event=listen, **options)}))
        except BaseException as error:  # noqa: BLE001 - handed to the consumer
            events.put(error)
        events.put(done)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := events.get()) is not done:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        while thread.is_alive():
            try:
                events.get(timeout=0.05)
            except queue.Empty:
                pass
        thread.join()
