"""Fine-tuning: the options of `brim train`, its weights bit for bit."""
from __future__ import annotations

import array
import json
import math
import numbers
import os
import pathlib
import queue
import tempfile
import threading
import warnings
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, NamedTuple, Sequence, Unpack

from . import _core, hub as _hub, options as _options, ranks as _ranks, rows as _rows, runtime as _runtime
from .dataset import Dataset, refuse_encoded
from .keywords import TrainOptions
from .labels import Labels
from .errors import STOP, Cancelled, UsageError
from .judged import Evaluation, evaluations, keep_texts, add_texts
from .model import Model, of_task
from .study import WAYS, Comparison, FoldsResult, Way, _Paged, way
from .tokenizer import Tokenizer, _tokenizer

class Event(NamedTuple):
    kind: str                #: "start", "step", "eval", "epoch", "checkpoint", "end", "progress"
    fields: dict[str, Any]   #: as in log.jsonl


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
    resumed: bool = False
    interrupted: bool = False
    evaluations: list[dict[str, Any]] = field(default_factory=list)  #: fields of every "eval" event
    losses: list[tuple[int, float]] = field(default_factory=list)    #: (step, loss) of every "step" event
    judged: dict[str, Evaluation] = field(default_factory=dict)      #: the last evaluation of each set, with its confusion and most wrong rows
    output: str | None = None                                        #: the run's folder
    _log: list[str] = field(default_factory=list)                    #: its log, for a page where there is no folder

    def __getattr__(self, name: str) -> Any:
        where = f": result.model.{name}" if not name.startswith("_") and hasattr(Model, name) else ""
        raise AttributeError(f"a Result has no {name}{where}")

    def __repr__(self) -> str:
        best = "" if math.isnan(self.best_metric) else f", best {self.best_metric:.4g} at step {self.best_step}"
        return f"Result({self.steps:,} steps, {self.rows:,} rows, loss {self.loss:.4g}{best}, {self.seconds:.1f} s, {self.model!r})"

    def page(self, path: str | os.PathLike[str]) -> None:
        """Writes the page that the program's runs have as report.html: curves, evaluations, predictions, the most wrong rows."""
        if self.output and os.path.exists(os.path.join(self.output, "log.jsonl")):
            self._write(path, self.output, self.output)
            return
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "log.jsonl").write_text("".join(self._log), encoding="utf-8")
            _core.keep(self.model._runtime, folder, [one._judged for one in self.judged.values()])
            self._write(path, folder, "Training")

    def _write(self, path, folder: str, name: str) -> None:
        _core.page(self.model._runtime, name, [("run", folder, name)], os.fspath(path))


def _plain(value: Any) -> Any:
    """As log.jsonl has it: what is no finite number is null, and objects are objects."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return json.loads(value) if isinstance(value, str) and value[:1] == "{" else value


def _named(evals, train) -> list[tuple[str, Any]]:
    """The evaluation sets by name. Of a DatasetDict that is trained on: its validation, or else its test."""
    if evals is None and _rows.is_splits(train):
        name = next((n for n in ("validation", "valid", "dev", "test") if n in train), None)
        return [(name, train[name])] if name else []
    if evals is None:
        return []
    if _rows.is_splits(evals):
        return [(str(name), data) for name, data in evals.items() if not (name == "train" and evals is train)]
    if isinstance(evals, (str, os.PathLike)):
        return [(os.path.basename(os.fspath(evals)).split(".")[0], evals)]
    return [("eval", evals)]


def _rows_to_train(train):
    if not _rows.is_splits(train):
        return train
    if "train" not in train:
        raise UsageError(f"the splits are {', '.join(map(repr, train))}: give the one to train on, such as data[{next(iter(train))!r}]")
    return train["train"]


def train(model: Model | str | os.PathLike[str], train: Any = None, *, eval: Any = None, output: str | os.PathLike[str] | None = None, task: str = "auto",
          labels: Labels | list[str] | None = None, max_length: int | None = None, seed: int = 42, text_column: str | None = None,
          pair_column: str | None = None, label_column: str | None = None, missing_label: str = "error", delimiter: str | None = None, header: bool = True,
          keep_head: bool = False, pooling: str | None = None, reinit_layers: int = 0,
          no_type_ids: bool = False, device: str = "cpu", tf32: bool = False, tokenizer: Tokenizer | None = None, revision: str | None = None,
          folds: int | list[int] | None = None, fold_seed: int = 42, stratify: bool = False,
          on_event: Callable[[str, dict[str, Any]], Any] | None = None, runtime: Any = None,
          **options: Unpack[TrainOptions]) -> Result | FoldsResult:
    """Fine-tunes a model.

    model: a ``Model`` (trained in place), a folder, or a name of the hub ("bert-base-uncased"). train: labelled rows: files; a table of
    datasets, pandas, polars or pyarrow; a dict of columns; a list of dicts, of (text, label) or of (text, pair, label); a ``Dataset``; a
    DatasetDict, whose "train" it is, and whose validation or test is evaluated where eval is not given. eval: the same, or {name: that}.
    labels: the classes in the order of their ids; None: those of the model or of the rows. missing_label="skip" leaves out rows without a
    label; keep_head=True keeps the classes and the classifier of a fine-tuned folder, also where the rows lack some of them; delimiter is the
    character between the columns of csv and tsv files; header=False reads files without a head line, whose columns are "0", "1", ...
    device: "cpu", or "cuda" for an NVIDIA GPU, tf32=True: as for ``Model``; a ``Model`` stays where it is, as it is.
    output: the run's folder (log.jsonl, evaluation.jsonl, report.html, checkpoints, TensorBoard's files, the final model), None: nothing is written. on_event: called
    with a kind and its fields; ``brim.STOP`` as its result stops the run, after a checkpoint; any other result means nothing.

    Options: epochs or max_steps, lr, schedule ("linear", "cosine", "constant"), warmup_steps, warmup_ratio, weight_decay, beta1, beta2,
    eps, clip, layer_lr_decay, freeze ("embeddings", "2", "encoder"), checkpoint_activations, precision ("bf16"), class_weights
    ("balanced", {class: weight}, or one a class), label_smoothing, patience, min_delta, eval_batch_size, log_every, eval_every,
    save_every, keep_checkpoints, best_metric, memory_limit ("2GB"), swa_start, swa_every, resume, resume_anyway, overwrite, and of batches batch_size
    (16), max_tokens, batching ("random"), padding ("none"), accumulate, and so on. The names of transformers' TrainingArguments
    (learning_rate, num_train_epochs, per_device_train_batch_size, output_dir, ...) are understood too, and so is an object of it as args.
    folds: every row is held out once, and what comes back is a ``FoldsResult``: a number of folds, drawn by fold_seed (stratify: each like
    the whole), or the fold of each row. The model then keeps its weights; output has a run for each fold, predictions.jsonl and folds.json.
    Started by an MPI launcher (mpirun -n 4 python train.py) all processes train together: every one calls it with the same arguments; the
    first has the events and evaluations and writes, all get the same model. slices=24 has the same bits for any number of them.
    Ctrl-C writes a checkpoint first; resume=True continues from it, bit for bit. With more epochs or max_steps than before, a run, finished or
    not, becomes longer: the "resume" event says both learning rates. resume_anyway=True continues with other kernels too (another processor).
    """
    ways = options.pop("_compare", None)
    args = options.pop("args", None)
    if type(train).__name__.endswith("TrainingArguments"):  # as Trainer has them: model, args, train_dataset
        args, train = train, None
    if "train_dataset" in options:
        train = options.pop("train_dataset") if train is None else train
    if "processing_class" in options:
        tokenizer = options.pop("processing_class") if tokenizer is None else tokenizer
    if args is not None:
        given = {**_options.of_arguments(args), **({"seed": seed} if seed != 42 else {}), **({"output_dir": os.fspath(output)} if output else {})}
        seed = given.pop("seed")
        options = {**given, **options}
        output = None
    if train is None:
        raise TypeError("brim.train needs rows: brim.train(model, rows)")
    given = {"eval": eval, "output": output, "max_length": max_length}
    options = _options.canonical({**{k: v for k, v in given.items() if v is not None}, **options})
    eval, output, max_length = (options.pop(name, None) for name in given)
    tf32 = options.pop("tf32", tf32)  # of TrainingArguments
    if "seed" in options:  # data_seed
        raise TypeError("brim has one seed, for the order of the rows and the rest: seed=")
    folds = _one_number(folds)
    if stratify and not isinstance(folds, int):
        raise UsageError("stratify: " + ("it is for folds: give folds=5" if folds is None else "folds has each row's fold already: leave it out"))
    if folds is not None and _ranks.launched():
        raise UsageError("folds: several processes train folds by the command only: mpirun -n N brim train --folds")
    if ways is None:
        _ranks.join()
    runtime = runtime or (model._runtime if isinstance(model, Model) else _runtime.default())
    if not isinstance(model, (Model, str, os.PathLike)) or model == "":
        raise TypeError(_not_a_model(model))
    if not isinstance(model, Model):
        model = _hub.folder(model, revision=revision, runtime=runtime)
        tokenizer = Tokenizer(model, runtime=runtime) if tokenizer is None else _tokenizer(tokenizer, runtime)
    else:
        tokenizer = model.tokenizer if tokenizer is None else _tokenizer(tokenizer, runtime)
    said = {"max_length": model.max_length, "made_for": None, "task": model.task if model.task == "tokens" else "auto"} if isinstance(model, Model) else _core.describe(runtime, model)
    fits = said["max_length"]
    limit = max_length or min(fits, tokenizer.max_length or fits)
    if max_length is not None and not 0 < max_length <= fits:
        raise UsageError(f"max_length is {max_length}: the model has positions for 1 to {fits} tokens")
    asked = task
    if task == "auto":
        task = said["task"]
    named = _named(eval, train)
    refuse_encoded(_rows_to_train(train), labels=labels, task=None if asked == "auto" else asked)
    if all(isinstance(data, Dataset) for data in [_rows_to_train(train), *(data for _, data in named)]):
        refuse_encoded(_rows_to_train(train), text_column=text_column, pair_column=pair_column, label_column=label_column, delimiter=delimiter,
                       missing_label=None if missing_label == "error" else missing_label, header=None if header else header)
    columns = {"text_column": text_column, "pair_column": pair_column, "label_column": label_column, "missing_label": missing_label,
               **({"delimiter": delimiter} if delimiter else {}), **({} if header else {"header": False})}

    def rows(data, known) -> Dataset:
        return Dataset.of(data, tokenizer, labelled=True, labels=known, task=task if task == "tokens" or known is None or isinstance(known, list) else "auto",
                          max_length=limit, runtime=runtime, **columns)

    if keep_head and not isinstance(model, Model):
        fine = Model(model, tokenizer=tokenizer, runtime=runtime)
        if fine._untrained:
            raise UsageError(f"keep_head: {model} is not fine-tuned, so there is no head to keep")
        labels = fine.labels
    dataset = rows(_rows_to_train(train), model.labels if isinstance(model, Model) else labels)
    if dataset.labels is None:
        raise UsageError("training needs labels: give a column, or labels=[...]")
    if not isinstance(model, Model):
        model = Model(model, labels=dataset, seed=seed, tokenizer=tokenizer, runtime=runtime, pooling=pooling,
                      reinit_layers=reinit_layers, no_type_ids=no_type_ids, device=device, tf32=tf32)
        if pooling is None and said["made_for"] not in (None, model._facts["pooling"]):
            warnings.warn(f'this model was made for {said["made_for"]} pooling; pooling="{said["made_for"]}" trains with it', stacklevel=2)
        if asked == "auto" and labels is None and dataset._facts["whole_values"] and not isinstance(_rows_to_train(train), Dataset):
            warnings.warn('the labels are decimals, though whole ones such as 1.0: the task is regression; if they are classes, give '
                          'task="classification"', stacklevel=2)
    evals = [(name, rows(data, model.labels)) for name, data in named]
    longest = max(d.longest for d in [dataset, *(d for _, d in evals)])
    if max_length is None and longest > limit:  # rows that came encoded
        limit = fits
    if max_length is None and longest > fits:
        limit = None  # rows that were encoded for another model: refused, not cut
    if ways is not None:
        return _run_compare(model, dataset, evals, seed, limit, on_event, options, ways, train)
    if folds is not None:
        sources = {"valid": (_rows_to_train(train), dataset)} | {name: (data, d) for (name, data), (_, d) in zip(named, evals)}
        texts = lambda folder: keep_texts(runtime, folder, sources, tokenizer, columns)
        return _run_folds(model, dataset, evals, output, seed, limit, on_event, options, folds, fold_seed, stratify, texts)
    sources = {name: (data, d) for (name, data), (_, d) in zip(named, evals)}
    return _run(model, dataset, evals, output, seed, limit, on_event, options, sources, tokenizer, columns)


def _not_a_model(model) -> str:
    if hasattr(model, "save_pretrained"):
        return (f"{type(model).__name__} is torch's: model.save_pretrained(folder) and tokenizer.save_pretrained(folder), then brim.train(folder, ...), "
                "whose weights continue from there")
    return f"brim.train needs a model first: a folder, a name such as \"bert-base-uncased\", or a brim.Model, not {model!r:.60}"


def _prepared(model, output, seed, limit, options) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of batches, and the others, as the library takes them."""
    plan = {"batching": "random", **{k: v for k, v in options.items() if k in _options.PLAN}, "seed": seed, "max_length": limit}
    if plan.get("batch_size") is None:
        plan["batch_size"] = 0 if plan.get("max_tokens") else 16
    rest = {k: v for k, v in options.items() if k not in _options.PLAN}
    rest |= {"seed": seed, "output": None if output is None else os.fspath(output),
             "class_weights": _options.class_weights(rest.get("class_weights"), model.labels.names),
             "memory_limit": _options.memory(rest.get("memory_limit"))}
    return plan, rest


def _one_number(folds):
    """A number of NumPy or torch, also as an array without dimensions, is one; the folds of rows stay what they are."""
    one = folds.tolist() if getattr(folds, "shape", None) == () and hasattr(folds, "tolist") else folds
    return int(one) if isinstance(one, numbers.Integral) else one


def _folds_given(folds, rows: int):
    """The fold of each row, as whole numbers."""
    try:
        given = array.array("i", folds.tolist() if hasattr(folds, "tolist") else folds.to_pylist() if hasattr(folds, "to_pylist") else list(folds))
    except (TypeError, OverflowError):
        raise TypeError(f"folds: a number of folds is needed, or the fold of each row (0, 1, ..), not {folds!r:.60}") from None
    if len(given) != rows:
        raise ValueError(f"folds has {len(given)} numbers for {rows} rows")
    if rows and min(given) < 0:
        raise ValueError(f"folds has {min(given)}: folds are numbered from 0")
    return given


def _run_folds(model, dataset, evals, output, seed, limit, on_event, options, folds, fold_seed, stratify, texts) -> FoldsResult:
    plan, rest = _prepared(model, output, seed, limit, options)
    folder = rest["output"]
    given = None if isinstance(folds, int) else _folds_given(folds, len(dataset))
    found = _core.train_folds(model._core, model.tokenizer._core, dataset._core, [(n, d._core) for n, d in evals], plan, rest, on_event,
                              folds if given is None else 0, fold_seed, stratify, given)
    runs = [] if folder is None else [os.path.join(folder, f"fold-{i}") for i in range(len(found["folds"]))]
    for run in runs:
        texts(run)
    if runs:
        _core.report(model._runtime, runs[:16], folder)
    for part in (found, *found["folds"], *found["averages"]):
        part["metrics"] = part["metrics"] and of_task(model.task, part["metrics"])
    return FoldsResult(**found)


def compare(model: Model | str | os.PathLike[str], rows: Any, *, eval: Any = None, modes: str | Sequence[str] = tuple(WAYS), **options: Any) -> Comparison:
    """Trains once for each way of batching and padding, from the same weights and seed, and says what each took; nothing is written.

    modes: "fixed", "dynamic", "uniform", "brim", or "batching+padding". precision: one, or several, such as ["fp32", "bf16"]: each mode
    in each of them, named "brim fp32", "brim bf16". rows, eval (one set) and other options as for ``brim.train``.
    """
    for name in ("output", "resume", "overwrite", "folds", "batching", "padding"):
        if options.get(name) is not None:
            raise TypeError(f"brim.compare has no {name}: " + ("the ways have theirs" if name in ("batching", "padding") else "it writes nothing"))
    ways = [(*way(mode), "") for mode in ([modes] if isinstance(modes, str) else modes)]
    if isinstance(options.get("precision"), (list, tuple)):
        several = options.pop("precision")
        if not several or len(set(several)) < len(several):
            raise UsageError(f"precision: {several!r}: name each once")
        names = [""] if len(several) == 1 else [f" {one}" for one in several]
        ways = [(name + after, batching, padding, one) for name, batching, padding, _ in ways for one, after in zip(several, names)]
    return train(model, rows, eval=eval, _compare=ways, **options)


def _run_compare(model, dataset, evals, seed, limit, on_event, options, ways, data) -> Comparison:
    if len(evals) > 1:
        raise UsageError("brim.compare evaluates on one set")
    plan, rest = _prepared(model, None, seed, limit, options)
    plan.pop("batching", None)
    found = _core.compare(model._core, dataset._core, evals[0][1]._core if evals else None, plan, rest, ways, on_event)
    for one in found:
        one["metrics"] = one["metrics"] and of_task(model.task, one["metrics"])
    metric = None if not evals else {"regression": "rmse", "tokens": "f1_micro"}.get(model.task, "accuracy")
    name = f": {os.fspath(data)}" if isinstance(data, (str, os.PathLike)) else ""
    return Comparison([Way(**one) for one in found], metric, regression=model.task == "regression",
                      title=f"The same job in {len(found)} ways{name}")


def _run(model, dataset, evals, output, seed, limit, on_event, options, sources, tokenizer, columns) -> Result:
    plan, rest = _prepared(model, output, seed, limit, options)
    result = Result(model, output=rest["output"])

    def listen(kind, fields):
        if kind == "step":
            model._untrained = None
            result.losses.append((fields["step"], fields["loss"]))
        if kind == "eval":
            result.evaluations.append(fields)
        if kind != "progress":
            result._log.append(json.dumps({"event": kind, **{name: _plain(value) for name, value in fields.items()}}) + "\n")
        return on_event(kind, fields) if on_event else None

    writes = _ranks.join()[0] == 0
    texts = lambda: keep_texts(model._runtime, result.output, sources, tokenizer, columns) if result.output and evals and writes else []
    try:
        found = _core.train(model._core, model.tokenizer._core, dataset._core, [(n, d._core) for n, d in evals], plan, rest, listen)
    except (Cancelled, KeyboardInterrupt):
        if result.losses:  # what was stopped keeps them too
            texts()
        raise
    model._untrained = None  # ranks but the first have no events
    kept = texts()
    for note in found.pop("notes").splitlines():
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    held = found.pop("judged")
    for one in held:
        add_texts(one, *sources[one.facts()["name"]], tokenizer, columns)
    result.judged = evaluations(kept or held)
    for name, value in found.items():
        setattr(result, name, value)
    return result


def train_events(model: Model | str | os.PathLike[str], train_data: Any, **options: Any) -> Iterator[Event]:
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
