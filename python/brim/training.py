"""Fine-tuning: the options of `brim train`, its weights bit for bit."""
from __future__ import annotations

import contextlib
import numbers
import os
import pathlib
import queue
import re
import threading
import warnings
from collections.abc import Collection, Mapping
from typing import Any, Callable, Iterator, Sequence, Unpack

from . import (_core, callbacks as _callbacks, files as _files, holders as _holders, hub as _hub, kinds as _kinds, notes as _notes, options as _options,
               outputs as _outputs, pairs as _pairs, ranks as _ranks, rows as _rows, runs as _runs, runtime as _runtime, shapes as _shapes)
from .dataset import Cut, Dataset, refuse_encoded
from .errors import STOP, Error, MismatchError, UsageError
from .feed import Stream, Streamed, refuse_made
from .folds import Folds, of_splits, one_number
from .judged import keep_texts
from .keywords import TrainOptions
from .labels import Labels, _labels, kept
from .model import Model, length_made_for
from .result import Event, Result
from .study import WAYS, Comparison, FoldsResult, way
from .tokenizer import Tokenizer, _tokenizer


_SHARE = re.compile(r"([0-9.]+) ?%")


def _share(evals, validation_split) -> float | None:
    """The share of the rows that is held out: validation_split, or "10%" as eval."""
    found = _SHARE.fullmatch(evals) if isinstance(evals, str) and not os.path.exists(evals) else None
    if found and (found[1].count(".") > 1 or not found[1].strip(".")):
        raise UsageError(f'eval="{evals}": a share of the rows, such as "10%"')
    if isinstance(evals, numbers.Real) and not isinstance(evals, bool):
        if not 0 < evals < 1:
            raise UsageError(f"eval={evals}: rows, or a share of them, such as 0.1 or \"10%\"")
        if validation_split is None:
            return float(evals)
    if validation_split is None:
        return float(found[1]) / 100 if found else None
    if evals is not None:
        raise UsageError("validation_split holds rows out, and eval names others: give one of them")
    if isinstance(validation_split, bool) or not isinstance(validation_split, numbers.Real) or not 0 < validation_split < 1:
        raise UsageError(f"validation_split={validation_split!r}: a share of the rows, such as 0.1")
    return float(validation_split)


def _named(evals, train, text: str | None = None) -> list[tuple[str, Any]]:
    """The evaluation sets by name. Of a DatasetDict that is trained on: its validation, or else its test. text: the column of texts, where rows are texts alone: lists of them
    by other names are sets."""
    if evals is None and _holders.is_splits(train):
        name = next((n for n in ("validation", "valid", "dev", "test") if n in train), None)
        return [(name, _holders.joined(train[name]))] if name else []
    if evals is None:
        return []
    if isinstance(evals, (str, bytes)) and not evals:
        raise UsageError("eval is empty: give rows, or leave it out")
    if _holders.is_splits(evals) or text is not None and _holders.are_texts_by_names(evals, text):
        return [(str(name), _holders.joined(data)) for name, data in evals.items() if not (name == "train" and evals is train)]
    return [("eval", _holders.joined(evals))]  # files too, as the command calls the only --eval: the same run has the same log


def _rows_to_train(train):
    if not _holders.is_splits(train):
        return _holders.joined(train)
    if "train" not in train:
        if all(isinstance(one, Mapping) and not any(map(_holders._is_column, one.values())) for one in train.values()):
            raise UsageError(f"the rows are a dict of dicts, {_holders._short(train)}: give lists, such as to_dict(\"list\") or to_dict(\"records\") of a DataFrame has")
        raise UsageError(f"the splits are {', '.join(map(repr, train))}: give the one to train on, such as data[{next(iter(train))!r}]")
    return _holders.joined(train["train"])


def train(model: Model | str | os.PathLike[str], train: Any = None, *apart: Any, eval: Any = None, output: str | os.PathLike[str] | None = None, task: str = "auto",
          labels: Labels | Sequence[Any] | dict[Any, str] | None = None, max_length: int | None = None, seed: int = 42, text_column: str | None = None,
          pair_column: str | None = None, label_column: str | None = None, columns: str | Sequence[str] | None = None, prompts: dict[str, Any] | str | None = None, teacher_column: str | None = None, missing_label: str = "error", delimiter: str | None = None, header: bool = True,
          keep_head: bool = False, whole_words: bool = False, pooling: str | None = None, layers: str | None = None, dense: int | None = None, dense_activation: str | None = None, reinit_layers: int = 0,
          no_type_ids: bool = False, device: str = "cpu", tf32: bool = False, tokenizer: Tokenizer | None = None, revision: str | None = None,
          folds: int | list[int] | None = None, fold_seed: int = 42, stratify: bool = False,
          on_event: Callable[[str, dict[str, Any]], Any] | None = None, runtime: Any = None,
          **options: Unpack[TrainOptions]) -> Result | FoldsResult:
    """Fine-tunes a model.

    model: a ``Model`` (trained in place), a folder, or a name of the hub ("bert-base-uncased"). train: labelled rows: files; a table of
    datasets, pandas, polars or pyarrow; a dict of columns; a list of dicts, of (text, label) or of (text, pair, label); a ``Dataset``; a
    DatasetDict, whose "train" it is, and whose validation or test is evaluated where eval is not given; a ``brim.data.stream``. eval: the
    same, or {name: that}, or "10%" or 0.1: this share of the rows, drawn by fold_seed, which is then not trained on (so does validation_split=0.1).
    labels: the classes in the order of their ids, or what they are called, {0: "neg", 1: "pos"}; None: those of the model or of the rows.
    missing_label="skip" leaves out rows without a
    label; keep_head=True keeps the classes and the classifier of a fine-tuned folder, also where the rows lack some of them; delimiter is the
    character between the columns of csv and tsv files; header=False reads files without a head line, whose columns are "0", "1", ...
    task="mlm": texts without labels, some of whose tokens are masked and are to be found (mask_rate: 0.15, or "0.3:0.15" for the first and the
    last step; whole_words=True masks all tokens of a word); training then continues from the folder with any other task.
    task="embedding": vectors of texts; task="rerank": a score of a query and a document. Their rows are two texts or more: columns named as data
    sets of sentence-transformers name them (anchor, positive, negative; sentence1, sentence2, score; query, document, label), or columns=["question",
    "answer"] in this order; or tuples (text, text, ..), whose last item may be a score. loss, scale, matryoshka and so on say what is learnt from them;
    where loss is not given, the rows do. prompts={"query": "query: ", "document": "passage: "}: what the first text of each row begins with, and its others
    (True: the model's own prompt of this name), which the run's folder keeps; or {"question": ..} of the texts of columns. teacher_column: a column of lists of numbers by another model, the vector that each text of
    the row is to have, or a score of each document. ``Result.model`` then embeds (``Model.embed``), or scores pairs (``Model.predict``).
    device: "cpu", or "cuda" for an NVIDIA GPU, tf32=True: as for ``Model``; a ``Model`` stays where it is, as it is.
    output: the run's folder (log.jsonl, evaluation.jsonl, report.html, checkpoints, TensorBoard's files, the final model), None: nothing is written. on_event: called
    with a kind and its fields; ``brim.STOP`` as its result stops the run, after a checkpoint, ``brim.EVALUATE`` and ``brim.SAVE`` ask for
    what they say, after the step of the event; any other result means nothing. While it runs the model is in use: ``parameters()`` may be read, and written with ``written()``, and all
    else is refused. The rows were read when the training began, and nobody looks whether they change.

    The model at the end: that of the best evaluation where there is one and patience or best_metric is given, or with keep="best"
    (load_best_model_at_end=True), also without output; else, or with keep="last", that of the last step. ``Result.model_step`` says which.

    Options: epochs or max_steps, lr, schedule ("linear", "cosine", "constant"), warmup_steps (below 1: a share), warmup_ratio, weight_decay, beta1, beta2,
    eps, clip, layer_lr_decay, freeze ("embeddings", 2, "encoder", ["embeddings", "*.bias"]), train_only (["*.bias", "classifier.*"]),
    checkpoint_activations, precision ("bf16"), class_weights
    ("balanced", {class: weight}, or one a class), label_smoothing, patience, min_delta, eval_batch_size, log_every, eval_every,
    save_every, eval_strategy ("epoch", "steps", "no"), save_strategy (also "best"), keep_checkpoints, best_metric, memory_limit ("2GB"),
    swa_start, swa_every, resume, resume_anyway, overwrite, and of batches batch_size
    (16), max_tokens, batching ("random"), padding ("none"), accumulate, and so on. The names of transformers' TrainingArguments
    (learning_rate, num_train_epochs, per_device_train_batch_size, output_dir, ...) are understood too, and so is an object of it as args.
    compute_metrics: a function of ``brim.Predictions`` that returns {name: number}; best_metric may name one of them (greater_is_better
    says which way). callbacks: functions as on_event. report_to: "tensorboard", "csv", "none", or functions likewise. progress: True
    shows a line, False none, None: in notebooks and terminals. profile: a file for a trace, or True: trace.json in output.
    Of files: format, quote, where ({column: value}), min_chars, skip_damaged, max_record, cache (a folder), truncation, truncation_side. They say how those sets are
    read that are files; where is refused with rows in memory, of which it chooses none.
    stream=True reads them again in every epoch (data larger than memory): shuffle_window, prefetch, weights (a share for each file),
    repeat. cpu: instructions to use ("avx2").
    folds: every row is held out once, and what comes back is a ``FoldsResult``: a number of folds, drawn by fold_seed (stratify: each like
    the whole), or the fold of each row, also by fold_column, or pairs of rows as scikit-learn's split() gives them; test: rows that all folds predict together; their labels are not looked at. The model then keeps its weights;
    output has a run for each fold, predictions.jsonl and folds.json.
    Started by an MPI launcher (mpirun -n 4 python train.py) all processes train together: every one calls it with the same arguments; the
    first has the events and evaluations and writes, all get the same model. slices=24 has the same bits for any number of them.
    Ctrl-C writes a checkpoint first; resume=True continues from it, bit for bit. With more epochs or max_steps than before, a run, finished or
    not, becomes longer: the "resume" event says both learning rates. resume_anyway=True continues with other kernels too (another processor).
    """
    if apart:
        raise TypeError("brim.train takes rows with their labels: brim.train(model, zip(texts, labels)); the rest is given by name, as in eval=..")
    _kinds.check(_CALL, locals(), TrainOptions)
    task, labels = _shapes.word(task), kept(labels)
    ways = options.pop("_compare", None)
    asked_for = {name for name, value in options.items() if value is not None}  # not by TrainingArguments, which say much
    args = None
    if type(train).__name__.endswith("TrainingArguments"):  # as Trainer has them: model, args, train_dataset
        args, train = train, None
    args, train = _once(options, "args", "the second argument", args), _once(options, "train_dataset", "the rows", train)
    tokenizer = _once(options, "processing_class", "tokenizer", tokenizer)
    if args is not None:
        if not hasattr(args, "output_dir"):
            raise TypeError(f"args: a TrainingArguments of transformers is needed, not {args!r:.60}")
        given = {**_options.of_arguments(args), **({"seed": seed} if seed != 42 else {}), **({"output_dir": os.fspath(output)} if output else {})}
        seed = given.pop("seed")
        by_name = {_options.brims(name) for name, value in options.items() if value is not None}
        options = {**{name: value for name, value in given.items() if _options.brims(name) not in by_name}, **options}
        output = None
    if train is None:
        raise TypeError("brim.train needs rows: brim.train(model, rows)")
    if options.get("fold_column") is not None and not isinstance(train, Stream):  # whose rows are looked at twice
        train = _holders.kept(train)
    for name, value in {"header": header, "keep_head": keep_head, "stratify": stratify, "no_type_ids": no_type_ids}.items():
        _options.flag(name, value)
    given = {"eval": eval, "output": output, "max_length": max_length}
    options = _options.canonical({**{k: v for k, v in given.items() if v is not None}, **options})
    eval, output, max_length = (options.pop(name, None) for name in given)
    tf32, prompts = options.pop("tf32", tf32), options.pop("prompts", None) if prompts is None else prompts  # of TrainingArguments
    data_seed = options.pop("seed", None)
    if data_seed is not None and seed not in (42, data_seed):
        raise TypeError("brim has one seed, for the order of the rows and the rest: leave out data_seed, or seed")
    seed = seed if data_seed is None else data_seed
    more = {name: options.pop(name, None) for name in _options.HERE}
    by_brims = {_options.brims(name): name for name in asked_for}
    _refuse_said_wrongly(options, output, by_brims)
    share = _share(eval, more["validation_split"])
    _refuse_idle(by_brims, options, more, bool(share or _named(eval, train)), folds is not None or more["fold_column"] is not None)
    if fold_seed != 42 and folds is None and more["fold_column"] is None and share is None:
        raise UsageError("fold_seed is for folds, and for a share of the rows as eval: leave it out")
    eval = eval if share is None else None
    _options.seed("fold_seed", fold_seed)
    told = _runs.Listeners(more, on_event, output, options.get("swa_start"))
    folds = _folds_asked(folds, more, share, stratify)
    if ways is None:
        _ranks.join()
    if more["cpu"] is not None and (runtime or isinstance(model, Model)):
        raise UsageError("cpu: " + ("the model has its instructions already: brim.Model(folder, runtime=brim.Runtime(cpu=..))" if not runtime else "the runtime says it"))
    runtime = runtime or (model._runtime if isinstance(model, Model) else _runtime.of_cpu(more["cpu"]))
    if not isinstance(model, (Model, str, os.PathLike)) or model == "":
        raise TypeError(_not_a_model(model))
    if not isinstance(model, Model) and _files.plain_name(os.fsdecode(model)).endswith(_files.DATA_SUFFIXES):
        raise UsageError(f"{_files.shown(model)} is a file of rows: the model is first, brim.train(\"bert-base-uncased\", {os.fsdecode(model)!r})")
    if isinstance(model, Model):
        _refuse_of_loading(model, task, {"labels": labels, "pooling": pooling, "layers": layers, "dense": dense, "dense_activation": dense_activation,
                                         "reinit_layers": reinit_layers, "no_type_ids": no_type_ids,
                                         "revision": revision, "tf32": tf32, "device": None if device == "cpu" else device})
    if not isinstance(model, Model):
        model = _hub.folder(model, revision=revision, runtime=runtime)
        _core.encoder_folder(runtime, os.fsencode(model))  # of what is no encoder a line says so
        tokenizer = Tokenizer(model, runtime=runtime) if tokenizer is None else _tokenizer(tokenizer, runtime)
    else:
        tokenizer = model.tokenizer if tokenizer is None else _tokenizer(tokenizer, runtime)
    said: dict[str, Any] = _said(model) if isinstance(model, Model) else _core.describe(runtime, os.fsencode(model))
    asked = task
    if task == "auto":
        task = said["task"]
    shape = _shapes.of(task)
    masked = shape.made
    train_rows, named = _rows_to_train(train), _named(eval, train, (text_column or "text") if masked else None)
    several = shape.several_texts
    test_sets = _tests(more["test"], None if several else text_column or "text")
    reads = [("model", "model", model._home if isinstance(model, Model) else model), ("model", "tokenizer", tokenizer.path), ("keeps", "cache", options.get("cache"))]
    _outputs.check(runtime, output, told.files(output), reads, bool(options.get("resume")),
                   [("train", train_rows), *named, *test_sets])
    _outputs.check_sets(train_rows, [*named, *test_sets])
    if named and folds is None and isinstance(options.get("best_metric"), str):
        options["best_metric"] = _metric_of_set(options["best_metric"], [name for name, _ in named], shape.metrics | _options.METRICS, told.measure is not None)
    fits = said["max_length"]
    limit = max_length or (model._longest() if isinstance(model, Model) else min(fits, tokenizer.max_length or fits))
    if max_length is not None and not 0 < max_length <= fits:
        raise UsageError(f"max_length is {max_length}: the model has positions for 1 to {fits} tokens")
    if several:
        _refuse_of_pairs(task, model, keep_head, labels, told)
        if max_length is None and not isinstance(model, Model):  # as texts will be cut when the folder is used
            limit = min(length_made_for(said, task) or limit, fits)
    elif columns is not None:
        raise UsageError('columns is for rows of several texts: task="embedding" or task="rerank"')
    cut = _cut_of(train_rows)
    if cut and cut.max_length and max_length is None:
        limit = min(cut.max_length, fits)
    for name, value in {"prompts": prompts, "teacher_column": teacher_column}.items():
        if value is not None and not shape.bare:
            raise UsageError(f'{name} is of embeddings: task="embedding"')
        if value is not None and (options.get("stream") or isinstance(train, Stream)):
            raise UsageError(f"{name} is of rows in memory" + (": the command has it of streams" if name == "prompts" else ""))
    asked_now = {_options.brims(name): name for name in asked_for if ways is None or _options.brims(name) not in _options.PLAN}  # of which each way has its own
    own = {_options.brims(name): value for one in ways or () for name, value in one[-1].items()}  # of a way
    _options.refuse_idle(asked_now, {**options, **own, "task": task if several else None, "dense": dense})
    wanted = _pairs.prompts(prompts)
    folder = model._home if isinstance(model, Model) else model
    begin = _pairs.Prompts(os.fsencode(folder), wanted) if any(wanted) else None
    refuse_made(train_rows, task=asked, labels=None if isinstance(model, Model) else _labels(labels, runtime), max_length=max_length, columns=columns, whole_words=whole_words)
    labels = None if isinstance(train_rows, Dataset) else labels  # which are its own
    if all(isinstance(data, Dataset) for data in [train_rows, *(data for _, data in named)]):
        refuse_encoded(train_rows, text_column=text_column, pair_column=pair_column, label_column=label_column, delimiter=delimiter,
                       missing_label=None if missing_label == "error" else missing_label, header=None if header else header,
                       **{name: value for name, value in options.items() if name in _options.SOURCE and (value or name in ("windows", "max_windows"))},
                       prompts=prompts, teacher_column=teacher_column)
    text_columns, columns = columns, {"text_column": text_column, "pair_column": pair_column, "label_column": label_column, "missing_label": missing_label,
               **({"delimiter": delimiter} if delimiter else {}), **({} if header else {"header": False})}
    source = {name: options.pop(name) for name in _options.SOURCE if name in options}
    streamed = {name: options.pop(name) for name in _options.STREAM if name in options}
    if not isinstance(train, Stream):  # which has its own, and says so
        was = {"truncation_side": cut.side, "truncation": cut.truncation} if cut else {}
        asked_of = {name: source.pop(name, None) for name in ("truncation_side", "truncation")}
        tokenizer = tokenizer._cutting(*(was.get(name) if value is None else value for name, value in asked_of.items()))
    elif cut:
        tokenizer = tokenizer._cutting(cut.side, cut.truncation)

    if (whole_words or options.get("mask_rate") is not None) and not masked:
        raise UsageError('whole_words and mask_rate are for masked words: give task="mlm" too')
    if masked:
        _refuse_of_masks({"brim.compare": ways, "labels": labels, "keep_head": keep_head or None, "fold_column": more["fold_column"], "folds": folds})
    numbered = {"numbering": "words" if whole_words else "tokens"} if masked else {}

    files_too = any(_files.is_text_files(data) for _, data in [("", train_rows), *named, *test_sets])

    def rows(data, known, labelled: bool | None = True, name="") -> Dataset:
        data, labelled = _holders.kept(data), labelled and not masked
        how = {**columns, **(cut.windows if cut and not masked and not several else {}), **source, **({"progress": told.bar} if told.bar else {})}
        if name:  # what was said of the rows to train on
            how = {option: value for option, value in how.items() if option not in _rows.idle(data, labelled)}
        if masked:
            _notes.of_names(data)
        if isinstance(data, Dataset):
            how = {}
            with _in_set(name):
                _refuse_encoded_otherwise(data, masked, max_length)
                refuse_encoded(data, where=source.get("where") or None)
        elif not _files.is_text_files(data):
            with _in_set(name):
                how = _options.of_rows(how, with_files=files_too, error=UsageError if name else TypeError)
        with _in_set(name):
            if several and not isinstance(data, Dataset):
                found = _pairs.dataset(data, tokenizer, task=task, columns=text_columns, labelled=labelled, max_length=limit, runtime=runtime, name=name or "train",
                                       teacher_column=teacher_column, **({"prompts": begin} if begin else {}), **how)
            else:
                found = Dataset.of(data, tokenizer, labelled=labelled, labels=known,
                                   task=task if shape.words or not (masked or isinstance(known, Labels)) else "auto",
                                   max_length=limit, runtime=runtime, **numbered, **how)
                if not name and not masked:
                    _notes.of_pairs(data)
        if not isinstance(data, Dataset):
            _notes.of_words(found, _name_of(data, name)), _notes.of_spaces(found)
            _notes.of_rows(found, _name_of(data, name), limit, bool(source.get("skip_damaged")))
        return found

    if keep_head and not isinstance(model, Model):
        fine = Model(model, tokenizer=tokenizer, runtime=runtime)
        if fine._untrained:
            raise UsageError(f"keep_head: {model} is not fine-tuned, so there is no head to keep")
        given = _labels(labels, runtime)
        others = given is not None and (not given._keys or given.names != fine.labels.names)  # than what rows have in place of the names
        if others or task not in ("auto", None, fine.task):
            raise UsageError(f"keep_head keeps the classes and the task ({fine.task}): leave out {'labels' if others else 'task'}")
        labels = fine.labels if given is None else given
        streams = train.labels if isinstance(train, Stream) else None
        if streams is not None and set(streams.names or ()) != set(labels.names or ()):
            raise UsageError(f"keep_head keeps the classes ({', '.join(labels.names or ['none'])}), and the stream's are {', '.join(streams.names or ['none'])}: give it those of the model")
    known = model.labels if isinstance(model, Model) else labels
    if isinstance(known, Labels):
        _labels(known, runtime, None if masked or several else asked)
    if streamed.pop("stream", False) or isinstance(train, Stream):
        idle = _options.first({"fold_column": more["fold_column"], "folds": folds, _share_said(more): share, "brim.compare": ways})
        if idle:
            raise UsageError(f"a stream does not have its rows in memory, and {idle} needs them: leave out {'it' if idle == 'brim.compare' else idle} or stream")
        dataset, opened = None, Streamed(train, known, task, {**columns, **streamed, **source, **({} if isinstance(train, Stream) else numbered)}, tokenizer, limit, seed, options, runtime, text_columns)
        known_by = opened.labels
    else:
        if streamed:
            raise UsageError(f"{next(iter(streamed))} is for streams: give stream=True too")
        dataset, opened = rows(train_rows, None if masked else known), None
        if dataset.labels is None and not masked and not several:
            needy = "training" if asked == "auto" else f'task="{asked}"'
            if isinstance(model, Model) and _shapes.of(model.task).made:
                raise UsageError(f'the model is of masked words: task="mlm" continues with them; another task takes its folder, brim.train({model.path!r}, ..)')
            if isinstance(train_rows, Dataset):
                raise UsageError(f"{needy} needs labels, whose names the Dataset does not have: give it labelled=True, or of ids labels and mapping, where it is made")
            raise UsageError(f"{needy} needs labels: give a column, or labels=[...]")
        known_by = Labels(None, task=task, runtime=runtime) if several else dataset
    if not masked and not several:
        _notes.of_task(known_by if opened else dataset.labels, asked)
    if not isinstance(model, Model):
        model = Model(model, labels=known_by, seed=seed, tokenizer=tokenizer, runtime=runtime, pooling=pooling, layers=layers, dense=dense,
                      dense_activation=dense_activation, reinit_layers=reinit_layers, no_type_ids=no_type_ids, device=device, tf32=tf32)
        _notes.of_model(model._facts, pathlib.Path(os.fsdecode(output), "checkpoints") if options.get("resume") and output is not None else None)
        if pooling is None and said["made_for"] not in (None, model._facts["pooling"]):
            warnings.warn(f'this model was made for {said["made_for"]} pooling; pooling="{said["made_for"]}" trains with it', stacklevel=2)
        if asked == "auto" and not several and labels is None and dataset is not None and dataset._facts["whole_values"] and not isinstance(train_rows, Dataset):
            warnings.warn('the labels are decimals, though whole ones such as 1.0: the task is regression; if they are classes, give '
                          'task="classification"', stacklevel=2)
    if begin:
        model._core.prompts(tokenizer._core, os.fsencode(folder), wanted, list(getattr(dataset, "_texts", ())), limit)
        model._prompted = _pairs.names_of(wanted)
    evals = [(name, rows(data, None if masked else model.labels, name=name)) for name, data in named]
    if share is not None:
        dataset, held = dataset._hold_out(share, fold_seed)
        _notes.log.info("%s of %s rows are held out for evaluation", f"{len(held):,}", f"{len(dataset) + len(held):,}")
        named, evals = [("eval", train_rows)], [("eval", held)]
    longest = max((d.longest for d in [*([] if dataset is None else [dataset]), *(d for _, d in evals)]), default=0)
    if max_length is None and longest > limit:  # rows that came encoded
        limit = fits
    if max_length is None and longest > fits:
        limit = None  # rows that were encoded for another model: refused, not cut
    sources = {name: (_rows.as_it_is(data), d) for (name, data), (_, d) in zip(named, evals)}
    with told:
        if ways is not None:
            return _runs.run_compare(model, dataset, evals, seed, limit, told, options, ways, train)
        if folds is not None:
            bare = (lambda data: data) if several else lambda data: _without_labels(data, dataset)
            tests = [(name, rows(bare(_holders.kept(data)), None, labelled=None if shape.bare else False, name=name)) for name, data in test_sets]
            paired = next((name for name, test in tests if test.has_pairs and not dataset.has_pairs and not several), None)
            if paired:
                raise MismatchError(f"{paired}: its rows are pairs of texts, as two texts of a row are without labels, and those of the training data are single texts: give the texts alone")
            sources |= {"valid": (train_rows, dataset)}
            texts = lambda folder: keep_texts(runtime, folder, sources, tokenizer, {**columns, **source})
            how = Folds(folds, fold_seed, stratify, more["fold_column"], train_rows, {**columns, **source}, text_columns)
            return _runs.run_folds(model, dataset, evals + tests, len(tests), output, seed, limit, told, options, how, texts, tokenizer)
        return _runs.run(model, opened or dataset, evals, output, seed, limit, told, options, sources, tokenizer, {**columns, **source})


_CALL = train  #: whose argument has its name


def _once(options: dict[str, Any], name: str, other: str, given: Any) -> Any:
    """What has two names is given by one of them."""
    value = options.pop(name, None)
    if value is not None and given is not None:
        raise TypeError(f"{other} and {name} say the same: give one of them")
    return given if value is None else value


def _cut_of(rows) -> Cut | None:
    """How rows that were encoded before were cut, as the model will cut texts; None: they are encoded here."""
    made = rows._cut_as if isinstance(rows, Dataset) else Cut.of(rows._options) if isinstance(rows, Stream) else None
    if made is None or rows.tokenizer is None:
        return made
    return made._replace(side=made.side or rows.tokenizer.truncation_side, truncation=made.truncation or rows.tokenizer.truncation)


def _refuse_of_loading(model: Model, task: str, given: dict[str, Any]) -> None:
    """A Model has its head, and is where it is."""
    names = _labels(given["labels"], model._runtime)
    if names is not None and (names.names, names._keys) == (model.labels.names, model.labels._keys):
        given = {**given, "labels": None}
    usual = {"reinit_layers": 0, "no_type_ids": False, "tf32": False}
    named = next((name for name, value in given.items() if value is not None and value != usual.get(name)), None)
    if named:
        raise UsageError(f"{named} is said when a model is loaded, and this one is: give its folder, brim.train({model.path!r}, ..), or "
                         "brim.Model(..) has it")
    if task not in ("auto", None, model.task) and not _shapes.of(task).several_texts:  # of which _refuse_of_pairs speaks
        raise UsageError(f'task="{task}": the model is loaded for {model.task}; give its folder: brim.train({model.path!r}, ..)')


def _said(model: Model) -> dict[str, Any]:
    """What a model says of itself, as the description of a folder does."""
    shape = _shapes.of(model.task)
    own = shape.words or shape.several_texts
    return {"max_length": model.max_length, "made_for": None, "task": model.task if own else "auto"}


def _refuse_of_pairs(task: str, model, keep_head, labels, told) -> None:
    """What embeddings and rerankers have not."""
    if isinstance(model, Model) and model.task != task:
        raise UsageError(f'task="{task}": the model is loaded for {model.task}; give its folder: brim.train({model.path!r}, ..)')
    given = {"labels": labels is not None, "keep_head": keep_head, "compute_metrics": told.measure is not None}
    idle = next((name for name, there in given.items() if there), None)
    if idle:
        raise UsageError(f'task="{task}" has no {idle}' + (": its labels are scores" if idle in ("labels", "keep_head") else ""))


def _refuse_of_masks(given: dict[str, Any]) -> None:
    """What rows without labels have not."""
    idle = _options.first(given)
    if idle:
        raise UsageError('task="mlm" takes texts without labels: ' + (f"{idle} has none of it" if "." in idle else f"leave out {idle}"))


def _refuse_encoded_otherwise(rows: Dataset, masked: bool, max_length: int | None) -> None:
    """Rows that were encoded for masked words, or were not, where the training is of the other kind; and longer ones than it takes: a row that is cut now is none that
    a text becomes, for its end is missing, of a pair the second text."""
    if masked and not rows._is_numbered():
        raise MismatchError('task="mlm" masks words of rows that are encoded for it: Dataset.of(.., numbering="tokens"), or give the texts')
    if rows._is_numbered() and not masked:
        raise MismatchError('the rows are encoded for masked words (numbering), which task="mlm" trains with: encode them without, or give the texts')
    if max_length is not None and max_length < rows.longest:
        raise UsageError(f"max_length is {max_length}, and the rows, which are encoded already (a Dataset), have up to {rows.longest} tokens: give it where the Dataset is made")


def _refuse_idle(asked: dict[str, str], options: dict[str, Any], more: dict[str, Any], evaluated: bool, folded: bool) -> None:
    """Options that were asked for, and would have no effect."""
    if {"epochs", "max_steps"} <= asked.keys() & options.keys():
        raise UsageError(f"{asked['epochs']} and {asked['max_steps']} contradict each other: give one of them")
    given = options.keys() | {name for name, value in more.items() if value is not None}
    idle = next((asked[name] for name in _OF_EVALUATIONS if name in asked and name in given and options.get(name) != "no"), None)
    if idle and not (evaluated or folded):
        raise UsageError(f"{idle} has no effect without an evaluation set: give eval, or leave it out")


def _refuse_said_wrongly(options: dict[str, Any], output, asked: dict[str, str]) -> None:
    """Words where a truth value is meant, nothing where something is, and what has no effect without a folder."""
    idle = next((asked[name] for name in ("save_every", "keep_checkpoints", "save_when") if name in asked and options.get(name) not in (None, "no")), None)
    if idle and output is None:
        raise UsageError(f"{idle} has no effect without output: add it or leave out {idle}")
    for name in ("stream", "resume", "overwrite"):
        if options.get(name) is not None and _options.flag(name, options[name]) and name != "stream" and output is None:
            raise UsageError(f"{name} has no effect without output: add it or leave out {name}")
    empty = next((name for name in ("cache", "freeze", "train_only") if isinstance(options.get(name), str) and not options[name]), None)
    if empty:
        raise UsageError(f"{empty} is empty: give a value, or leave it out")
    where = options.get("where")
    if where is not None and not isinstance(where, Mapping):
        raise TypeError(f"where: {{column: value}} is needed, not {where!r:.60}")


_OF_EVALUATIONS = ("best_metric", "compute_metrics", "eval_when", "eval_every", "eval_batch_size", "eval_batching", "eval_padding", "eval_max_tokens", "min_delta")


def _metric_of_set(metric: str, names: list[str], known: Collection[str], own: bool) -> str:
    """SET/NAME, also where Trainer's eval_SET_NAME (without eval_) says it. own: there are metrics that no list has."""
    if metric in known:
        return metric
    name, slash, one = metric.rpartition("/")
    found = None if slash else max((name for name in names if metric.startswith(f"{name}_")), key=len, default=None)
    if found:
        return f"{found}/{metric[len(found) + 1:]}"
    one = one if slash else next((one for one in sorted(known, key=len, reverse=True) if metric.endswith(f"_{one}")), "")
    name = name if slash else metric[:-len(one) - 1]
    if one and name not in names and (slash or not own):
        raise UsageError(f'best_metric is of the set "{name}", and there is none of this name: the sets are {", ".join(names)}, so that it may be "{names[0]}/{one}"')
    return metric


def _name_of(data, name: str) -> str:
    """What a note calls rows: their file, or their set."""
    files = _files.paths_of(data) if _files.is_files(data) else []
    return _files.shown(files[0]) if files else name or "train"


@contextlib.contextmanager
def _in_set(name: str):
    """What is wrong with rows says in which set."""
    try:
        yield
    except Error as error:
        if name and not error.file:
            raise type(error)(f"{name}: {error}", None, error.line, error.byte) from None
        raise


def _tests(test, text: str | None) -> list[tuple[str, Any]]:
    """The sets that folds predict, as _named has those that are evaluated: with or without labels. text: the column of texts, where rows may be texts alone."""
    if test is None:
        return []
    if isinstance(test, Mapping) and not test:
        raise UsageError("test is empty: leave it out, or give rows")
    if _holders.is_splits(test) or text is not None and _holders.are_texts_by_names(test, text) and "label" not in test:
        return [(str(name), _holders.joined(data)) for name, data in test.items()]
    return [("test", _holders.joined(test))]


def _without_labels(data, dataset: Dataset):
    """Rows in memory as tuples, as those of the training data are, without their last item, which is a label: no text, or a class that is known."""
    width = 3 if dataset.has_pairs else 2

    def is_label(last: Any) -> bool:
        if width == 3 or not isinstance(last, str):
            return True
        try:
            return dataset.labels is not None and dataset.labels.id(last) >= 0
        except KeyError:
            return False

    if not isinstance(data, list) or not data or not all(isinstance(row, tuple) and len(row) == width and is_label(row[-1]) for row in data):
        return data
    return [row[:-1] if width == 3 else row[0] for row in data]


def _share_said(more) -> str:
    """The option that holds out a share of the rows."""
    return "eval, a share of them" if more["validation_split"] is None else "validation_split"


def _folds_asked(folds, more, share, stratify):
    """The number of folds, the fold of each row, or None; what contradicts itself is refused."""
    folds = of_splits(one_number(folds))
    column = more["fold_column"]
    if stratify and not isinstance(folds, int):
        raise UsageError("stratify: " + ("it is for folds: give folds=5" if folds is None and column is None else "folds has each row's fold already: leave it out"))
    if column is not None and folds is not None and not isinstance(folds, int):
        raise UsageError("fold_column and folds say the same: give one of them")
    folds = 0 if folds is None and column is not None else folds
    if folds is None and more["test"] is not None:
        raise UsageError("test is for folds; model.predict labels rows with one model")
    if folds is not None and share is not None:
        raise UsageError(f"folds hold out every row once: leave out {_share_said(more)}")
    if folds is not None and more["profile"]:
        raise UsageError("profile is for one run: leave it out with folds")
    if folds is not None and _ranks.launched():
        raise UsageError("folds: several processes train folds by the command only: mpirun -n N brim train --folds")
    return folds


def _not_a_model(model) -> str:
    if hasattr(model, "save_pretrained"):
        return (f"{type(model).__name__} is torch's: model.save_pretrained(folder) and tokenizer.save_pretrained(folder), then brim.train(folder, ...), "
                "whose weights continue from there")
    return f"brim.train needs a model first: a folder, a name such as \"bert-base-uncased\", or a brim.Model, not {model!r:.60}"


def compare(model: Model | str | os.PathLike[str], rows: Any, *, eval: Any = None, modes: str | Sequence[str | tuple[str, dict[str, Any]]] | None = None, **options: Any) -> Comparison:
    """Trains once for each way of batching and padding, from the same weights and seed, and says what each took; nothing is written.

    modes: None, which is all of "fixed", "dynamic", "uniform", "brim", or "batching+padding"; each may have its own options of batches and training, as
    "brim+checkpoint_activations", "uniform+max_tokens=2048" or ("brim", {"batch_size": 64}). precision: one, or several, such as ["fp32", "bf16"]: each mode
    in each of them, named "brim fp32", "brim bf16". A str is one, or several with commas between. rows, eval (one set) and other options as for ``brim.train``.
    """
    _kinds.check(compare, locals())
    for name in ("output", "resume", "overwrite", "folds", "fold_column", "test", "batching", "padding"):
        if options.get(name) is not None:
            raise TypeError(f"brim.compare has no {name}: " + ("the ways have theirs" if name in ("batching", "padding") else "it writes nothing"))
    one = isinstance(modes, tuple) and len(modes) == 2 and isinstance(modes[1], dict)
    ways = [way(mode) for mode in (modes.split(",") if isinstance(modes, str) else [modes] if one else WAYS if modes is None else modes)]
    if isinstance(options.get("precision"), (list, tuple)):
        several = options.pop("precision")
        if not several or len(set(several)) < len(several):
            raise UsageError(f"precision: {several!r}: name each once")
        names = [""] if len(several) == 1 else [f" {one}" for one in several]
        ways = [(name + after, batching, padding, own | {"precision": one}) for name, batching, padding, own in ways for one, after in zip(several, names)]
    return train(model, rows, eval=eval, _compare=ways, **options)


def train_events(model: Model | str | os.PathLike[str], train_data: Any, **options: Any) -> Iterator[Event]:
    """``train`` as an iterator of events; leaving the loop, or the program, stops the run (after a checkpoint). The last event is "result",
    with the ``Result`` in its fields."""
    events: queue.Queue = queue.Queue(maxsize=1000)
    stop = threading.Event()
    done = object()

    def put(item) -> None:
        """Nobody takes what comes after the end."""
        while not (stop.is_set() or _runtime.ending.is_set()):
            try:
                return events.put(item, timeout=0.1)
            except queue.Full:
                pass

    def listen(kind, fields):
        put(Event(kind, fields))
        return STOP if stop.is_set() or _runtime.ending.is_set() else None

    def work():
        try:
            put(Event("result", {"result": train(model, train_data, **{**options, "callbacks": [*_callbacks.checked(options.get("callbacks"), None), listen]})}))
        except BaseException as error:  # noqa: BLE001 - handed to the consumer
            put(error)
        put(done)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := events.get()) is not done:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()
        thread.join()
