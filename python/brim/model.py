"""Models: fine-tune, evaluate, predict, load and save Hugging Face folders.

    result = brim.train("MiniLM", "train.csv", eval="test.csv", output="run", epochs=2, lr=5e-5)
    print(result.best_metric, result.model.predict(["a fine film"]))
"""
from __future__ import annotations

import math
import os
import queue
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from . import _core, runtime as _runtime
from .data import Dataset, Labels, _labels
from .errors import Cancelled, UsageError
from .tokenizer import Tokenizer

_PLAN = {"batching", "padding", "batch_size", "max_tokens", "max_rows", "accumulate", "pad_to_multiple_of", "read_ahead", "drop_last",
         "required_batch_size_multiple", "oversize", "tail"}


class Prediction(NamedTuple):
    label: Any            #: name of the best class; the names of all labels that hold; the value, or the values
    scores: list[float]   #: probabilities of the classes or labels, or the values


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


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


class Model:
    """An encoder with a head, computed on the CPU by brim.

    pooling: what the head looks at, "cls" (the family's own), "mean" or "max" over real tokens. reinit_layers: so many layers from the top
    are initialised instead of read. no_type_ids: every token has type 0.

    path: a Hugging Face folder or a run of brim. labels: what the head is to say (a ``Labels``, a list of class names, or a labelled
    ``Dataset``); None: what the folder's config.json says. A head that is missing, or of another size, is initialised from the seed.
    """

    def __init__(self, path: str | os.PathLike, *, labels: Labels | Dataset | Sequence[str] | None = None, seed: int = 42,
                 tokenizer: Tokenizer | None = None, pooling: str | None = None, reinit_layers: int = 0, no_type_ids: bool = False,
                 kernels: str | None = None, runtime=None):
        self._runtime = runtime or _runtime.default()
        self.path = os.fspath(path)
        of = labels._core if isinstance(labels, Dataset) else getattr(_labels(labels, self._runtime), "_core", None)
        self._core = _core.model(self._runtime, self.path, of, {"seed": seed, "pooling": pooling, "reinit_layers": reinit_layers,
                                                                "no_type_ids": no_type_ids, "kernels": kernels})
        self.tokenizer = tokenizer or Tokenizer(self.path, runtime=self._runtime)
        self._facts = self._core.facts()

    def __repr__(self) -> str:
        return f"Model({self.path!r}, {self.type}, {self.task}, {self.outputs} outputs)"

    type = property(lambda self: self._facts["type"], doc='"bert", "roberta", ...')
    task = property(lambda self: self._facts["task"], doc='"classification", "multi_label" or "regression"')
    outputs = property(lambda self: self._facts["outputs"], doc="logits per row")
    max_length = property(lambda self: self._facts["max_length"], doc="tokens that fit")
    kernels = property(lambda self: self._facts["kernels"], doc="what computes: results are bit-identical with the same kernels")

    @property
    def labels(self) -> Labels:
        return Labels(None if self.task == "regression" else self._facts["labels"], task=self.task, outputs=self.outputs,
                      runtime=self._runtime)

    def parameters(self) -> dict[str, Any]:
        """Weights by Hugging Face's names, float32; they share the model's memory. After writing to them call ``written()``.

        While the model is trained, a function that listens to events asks anew: steps leave rows of embeddings without a gradient as
        they are, and this call (or an evaluation, a checkpoint, the end) brings them up to date."""
        return dict(self._core.parameters())

    def written(self) -> None:
        """Says that ``parameters()`` were written to."""
        self._core.written()

    def save(self, folder: str | os.PathLike) -> None:
        """Writes config.json, model.safetensors and the tokenizer's files: transformers opens the folder."""
        self._core.save(os.fspath(folder))
        self.tokenizer.save(folder)

    def encode(self, texts, *, pairs=None, max_length: int | None = None) -> Dataset:
        """Texts as a dataset for this model."""
        return Dataset.from_texts(texts, self.tokenizer, pairs=pairs, max_length=max_length or self.max_length, runtime=self._runtime)

    def _dataset(self, data, *, labelled: bool, max_length: int | None) -> Dataset:
        if isinstance(data, Dataset):
            return data
        if labelled or isinstance(data, (str, os.PathLike)):
            return Dataset.from_files(data, self.tokenizer, max_length=max_length or self.max_length, need_label=labelled,
                                      labels=self.labels if labelled else None, runtime=self._runtime)
        return self.encode(list(data), max_length=max_length)

    def logits(self, data, *, max_length: int | None = None, progress: Callable[[str, dict], Any] | None = None, **options):
        """float32 [rows, outputs] in the order of the rows. data: a Dataset, a file, or texts. options: batching, padding, batch_size,
        max_tokens (none changes a result by more than rounding), and precision: "int8" multiplies bytes in the layers, which is faster
        where the processor has VNNI and gives nearly the same."""
        dataset = self._dataset(data, labelled=False, max_length=max_length)
        return self._core.predict(dataset._core, options, progress)

    def predict(self, data, **options) -> list[Prediction]:
        """The class and probabilities, or the value, of every row, in order; arguments as for ``logits``."""
        names = self._facts["labels"]
        out = []
        for row in self.logits(data, **options).tolist():
            if self.task == "regression":
                out.append(Prediction(row[0] if len(row) == 1 else row, row))
                continue
            if self.task == "multi_label":
                out.append(Prediction([name for name, v in zip(names, row) if v > 0], [_sigmoid(v) for v in row]))
                continue
            top = max(row)
            weights = [math.exp(v - top) for v in row]
            total = sum(weights)
            out.append(Prediction(names[row.index(top)], [w / total for w in weights]))
        return out

    def evaluate(self, data, *, max_length: int | None = None, progress: Callable[[str, dict], Any] | None = None, **options) -> dict[str, Any]:
        """Metrics: rows, loss, and what fits the task: accuracy, f1, matthews; f1_micro, f1_macro; rmse, pearson, spearman."""
        dataset = self._dataset(data, labelled=True, max_length=max_length)
        found = self._core.evaluate(dataset._core, options, progress)
        of_task = {"classification": {"accuracy", "f1", "matthews"}, "multi_label": {"accuracy", "f1_micro", "f1_macro"},
                   "regression": {"rmse", "pearson", "spearman"}}
        others = set().union(*of_task.values()) - of_task[self.task]
        return {k: v for k, v in found.items() if k not in others}


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
    fields; a true result stops the run. Options: epochs or max_steps, lr, schedule ("linear", "cosine", "constant"), warmup_steps,
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
    return _run(model, dataset, evals, output, seed, on_event, options)


def _run(model, dataset, evals, output, seed, on_event, options) -> Result:
    result = Result(model)

    def listen(kind, fields):
        if kind == "eval":
            result.evaluations.append(fields)
        return on_event(kind, fields) if on_event else None

    plan = {"batching": "random", **{k: v for k, v in options.items() if k in _PLAN}, "seed": seed}
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
        return stop.is_set()

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
