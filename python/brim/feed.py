"""Batches from files that are larger than memory."""
from __future__ import annotations

import json
import math
import os
from typing import Any, Iterator, Mapping, Sequence, Unpack

from . import (_core, blocks as _blocks, files as _files, holders as _holders, kinds as _kinds, options as _options, pairs as _pairs, ranks as _ranks,
               runtime as _runtime, shapes as _shapes)
from .batches import Batch
from .dataset import Dataset, Files, _skips, _windows, refuse_encoded, refuse_of_several
from .errors import MismatchError, UsageError
from .keywords import PlanOptions
from .labels import Labels, _labels, natural
from .tokenizer import Tokenizer, _tokenizer


class Stream:
    """Batches from files that are larger than memory.

    Shards come in an order shuffled by (seed, epoch), rows are shuffled and planned ``window`` at a time, and ``prefetch`` windows are
    prepared ahead by a thread. epochs None is training: it never ends, and ``iter()`` goes on where the last one stopped. A number of
    epochs is validation: each ``iter()`` begins again, with ``set_epoch``'s order. weights: the files are as many sources, mixed in these
    shares; repeat lets a source that ends begin again (endless). rank_slices: each rank reads only a slice of the rows, all take
    equally many steps, and world_size is fixed. ``state_dict()`` is exact at any batch; gz and zst are not tokenized again up to
    there. blocks: as in ``Dataset.from_files``, with their widths: {"teacher": ("row", 384)}. task="tokens": rows of words, whose labels are names of ``labels``. missing_label="skip" leaves out rows without a label. windows, max_windows, numbering: as ``Dataset.of`` has them. The other options are those of ``Batches``.
    """

    tokenizer: Tokenizer
    labels: Labels | None
    epochs: int | None

    def __init__(self, files: Files, tokenizer: Tokenizer, *, labels: Labels | Sequence[str] | None = None, task: str | None = None,
                 need_label: bool | None = None, max_length: int | None = None, epochs: int | None = None, window: int = 100_000, prefetch: int = 1, rank: int = 0,
                 rank_slices: bool = False, text_column: str | None = None, pair_column: str | None = None,
                 label_column: str | None = None, format: str = "auto", header: bool = True, min_chars: int = 0, truncation: str | None = None, weights: Sequence[float] | None = None,
                 repeat: bool = False, skip_damaged: bool = False, where: dict[str, str] | None = None, windows: int | None = None, max_windows: int | None = None, numbering: str | None = None, missing_label: str = "error",
                 text_columns: Sequence[str] | None = None, least_columns: int | None = None, most_texts: int | None = None, paired: bool = False, blocks: Mapping[str, Any] | None = None,
                 runtime: Any = None, **plan: Unpack[PlanOptions]):
        _kinds.check(Stream.__init__, locals(), PlanOptions)
        paths = _paths(files)
        refuse_of_several(text_columns, least_columns=least_columns, paired=paired or None, most_texts=most_texts)
        self._runtime = runtime or _runtime.default()
        tokenizer = _tokenizer(tokenizer, self._runtime)
        task = _shapes.word(task)
        if _shapes.of(task).named and labels is not None and not isinstance(labels, Labels):
            labels = Labels(labels, task=task, runtime=self._runtime)
        self.tokenizer, self.labels, self.epochs = tokenizer, _unnamed(_labels(labels, self._runtime)), epochs
        if task is not None and not (self.labels.task == task if self.labels else _shapes.of(task).words):
            raise UsageError(f"task is {task!r}: a stream's task is that of its labels, or \"tokens\"")
        self._files = [_files.from_here(path) for path in paths]
        self._options = {"need_label": bool(labels) if need_label is None else need_label, "max_length": max_length, "epochs": epochs or 0,
                         "window": window, "prefetch": prefetch, "rank": rank, "rank_slices": rank_slices, "text_column": text_column,
                         "pair_column": pair_column, "label_column": label_column, "format": format, "no_header": not header,
                         "min_chars": min_chars, "skip_unlabelled": _skips(missing_label), "truncation": truncation, "repeat": repeat, "skip_damaged": skip_damaged, "words": _shapes.of(task).words,
                         "text_columns": None if text_columns is None else [str(name) for name in text_columns],
                         "least_columns": least_columns, "most_texts": most_texts, "paired": paired, **_windows(windows, max_windows, numbering, max_length),
                         "numbering": numbering, "seed": 42, **_options.of_batches(plan)}
        self._blocks = blocks
        self._where = [(str(column), str(value)) for column, value in (where or {}).items()]
        self._weights = None if weights is None else [float(w) for w in weights]
        if not any(self._options.get(k) for k in ("batch_size", "max_tokens")):
            self._options["batch_size"] = 16
        self._pid = None
        self._feed = None
        self._closed = False
        self._loaded: str | None = None
        self._open()  # wrong options and missing files are refused here

    def __repr__(self) -> str:
        named = ", ".join(map(_files.shown, self._files[:2])) + (", ..." if len(self._files) > 2 else "")
        return f"Stream({named}, epochs={self.epochs}, window={self._options['window']})"

    def __reduce__(self) -> tuple[Any, ...]:
        options = {**self._options, "epochs": self.epochs, "weights": self._weights, "where": dict(self._where), "blocks": self._blocks}
        return _reopen, (self._files, self.tokenizer, self.labels, options, self._saved())

    def _saved(self) -> str | None:
        if self._feed is None or self._pid != os.getpid():
            return self._loaded
        return self._first if self._over else self._feed.save()

    def _open(self):
        self._feed = _core.feed(self._runtime, self.tokenizer._core, _files.encoded(self._files), self._weights,
                                self.labels._core if self.labels else None, {**self._options, "blocks": _blocks.of_files(self._blocks)}, self._where)
        self._pid = os.getpid()
        self._fresh, self._over = True, False  # fresh: the next pass begins at the present place
        self._first = None if self.epochs is None else self._feed.save()
        if self._loaded is not None:
            self._feed.restore(self._loaded)

    def _ready(self):
        if self._closed:
            raise RuntimeError("the stream is closed")
        if self._feed is None or self._pid != os.getpid():
            self._open()
        return self._feed

    def _begin(self) -> None:
        """Goes to the place where the next pass begins."""
        if self.epochs is not None and not self._fresh:
            self._loaded = None
            self._open()

    def __iter__(self) -> Iterator[Batch]:
        self._begin()
        values = self.labels is not None and not _shapes.of(self.labels.task).class_a_row
        while True:
            feed = self._ready()
            self._fresh = False
            core = feed.next()
            if core is None:
                self._loaded, self._over = None, True
                return
            epoch, batches = feed.place
            yield Batch(core, pad_id=self.tokenizer.pad_id, values=values, labelled=self._options["need_label"],
                        types=self.tokenizer.uses_type_ids, layout=self.tokenizer.layout, epoch=epoch, index=max(batches - 1, 0))

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands, as JSON-able values; after a finished pass, the beginning of the next."""
        self._ready()
        return json.loads(self._saved())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next batch is the one after the saved place. Other data, tokenizer or options are a MismatchError."""
        if not isinstance(state, dict):
            raise MismatchError(f"{state!r:.60} is no state of a stream")
        text = json.dumps(state)
        self._ready().restore(text)
        self._loaded, self._fresh, self._over = text, True, False

    def set_epoch(self, epoch: int) -> None:
        """The next batch is the first of this epoch."""
        self._options["first_epoch"] = _options.whole("epoch", epoch, 0)
        self._loaded = None
        self._open()

    @property
    def epoch(self) -> int:
        """Of the last batch."""
        return self._ready().place[0]

    def ledger(self) -> dict[str, Any]:
        """What happened in the present epoch: rows read, excluded, yielded, dropped, waiting; tokens, slots, batches, steps, hash."""
        return self._ready().ledger()

    @property
    def files(self) -> list[str]:
        return self._ready().files()

    @property
    def memory(self) -> int:
        """About the most bytes that windows take; 0: without max_length there is no bound."""
        return self._ready().memory

    def close(self) -> None:
        """Gives back its memory and threads; it is of no use afterwards."""
        if self._feed is not None:
            self._feed.close()
        self._closed, self._feed = True, None


class Streamed:
    """A stream as brim.train reads it: files, or a Stream that was made before."""

    def __init__(self, train, labels, task: str, how: dict[str, Any], tokenizer: Tokenizer, limit: int, seed: int, options: dict[str, Any], runtime,
                 columns: Sequence[str] | None = None):
        if isinstance(train, Stream):
            self._take(train, task, how, options)
            return
        if not _files.is_text_files(train):
            raise UsageError("stream=True is for files that are read again in each epoch (csv, tsv, jsonl, txt)")
        how = {name: value for name, value in how.items() if value is not None}
        files, window = _files.paths_of(train), _options.whole("shuffle_window", how.pop("shuffle_window", 100_000), 1, _options.MOST)
        if how.pop("cache", None) is not None:
            raise UsageError("cache is for rows in memory: leave it out with stream=True")
        windows = {name: how.pop(name) for name in ("windows", "max_windows") if name in how}
        mix = {n: how.pop(n) for n in ("weights", "repeat", "prefetch") if n in how}
        where, numbering, several = how.pop("where", None), how.pop("numbering", None), _shapes.of(task).several_texts
        source = _options.for_files(how)
        if (numbering or several) and not options.get("max_steps"):
            raise UsageError(f'task="{task}": a stream is not counted: give max_steps in place of epochs')
        of_texts = {"need_label": False, "numbering": numbering} if numbering else None
        if several:
            of_texts, self._looked = _pairs.read_as(files, source, task, columns, runtime)
        if of_texts:
            self.labels, rows = Labels(None, task=task, runtime=runtime), 0
            if numbering and how.get("label_column") is not None:
                raise UsageError("label_column: no labels are read, so that it has no effect: leave it out")
            for name in ("label_column", *(("text_column", "pair_column") if several else ())):
                how.pop(name, None)
        else:
            self.labels, rows = self._scan(files, where, source, task, _unnamed(_labels(labels, runtime, task)), runtime, counted=not options.get("max_steps"))
        batches = {name: options.pop(name) for name in [*options] if name in _options.PLAN}
        if not batches.get("batch_size") and not batches.get("max_tokens"):
            batches["batch_size"] = 16
        if not options.get("max_steps"):
            options["max_steps"] = self._steps(rows, batches, float(options.pop("epochs", 1)), mix.get("repeat"))
        options.pop("epochs", None)
        source = {n: v for n, v in source.items() if n not in ("text_column", "pair_column", "label_column", "no_header", "format", "min_chars", "skip_damaged", "skip_unlabelled")}
        rank, size = _ranks.join()
        self._stream = Stream(files, tokenizer, rank=rank, world_size=size, labels=None if numbering else self.labels, task=self.labels.task if _shapes.of(self.labels.task).words else None, max_length=limit,
                              **(of_texts or {"need_label": True}), window=window, where=where, runtime=runtime, seed=seed, batching=batches.pop("batching", "random"),
                              **{n: how[n] for n in ("text_column", "pair_column", "label_column", "header", "format", "min_chars", "skip_damaged", "missing_label") if n in how},
                              **mix, **windows, **batches, **source)

    def _take(self, stream: Stream, task: str, how: dict[str, Any], options: dict[str, Any]) -> None:
        given = [name for name, value in {**how, **{n: v for n, v in options.items() if n in _options.PLAN}}.items() if value not in (None, "error")]
        if "cache" in given:
            raise UsageError("cache is for rows in memory: leave it out with a stream")
        if given:
            raise _its_own({"shuffle_window": "shuffle_window (window)"}.get(given[0], given[0]))
        if stream._options["numbering"]:
            self.labels = Labels(None, task=task, runtime=stream._runtime)
        elif stream.labels is None or not (stream._options["need_label"] or _shapes.of(stream.labels.task).several_texts):
            raise UsageError("training needs labels: brim.data.stream(.., labels=" + (f'brim.Labels(None, task="{task}"))' if _shapes.of(task).several_texts else
                             "[..]), or numbering=\"tokens\" for masked words"))
        if stream.epochs is not None or not options.get("max_steps"):
            raise UsageError("a stream has no end: give max_steps, and make it without epochs")
        self._stream = stream
        if stream.labels is not None:
            self.labels = stream.labels

    @staticmethod
    def _scan(files, where, source, task, labels, runtime, counted: bool) -> tuple[Labels, int]:
        """The classes and the number of rows, by a pass in which nothing is encoded."""
        if labels is not None and not counted:
            return labels, 0
        pipe = _files.read_once(files)
        if pipe is not None:
            raise UsageError(f"{pipe}: a pipe can be read only once: " + ("give max_steps in place of epochs" if labels is not None else "name its classes with labels"))
        conditions = [(str(column), str(value)) for column, value in (where or {}).items()]
        found, names, outputs, form, rows, core = _core.labels_scan(runtime, _files.encoded(files), conditions, {**source, "need_label": True, "words": _shapes.of(task).words}, task)
        if labels is not None:
            return labels, rows
        made = Labels(None if found == "regression" else names, task=found, outputs=outputs,
                      values=None if found == "regression" else natural(names, form), runtime=runtime)
        made._core = core  # which has the rows of each class, for balanced weights
        return made, rows

    @staticmethod
    def _steps(rows: int, batches, epochs: float, repeat) -> int:
        size = batches.get("batch_size")
        if repeat or not size:
            raise UsageError("stream: give max_steps in place of epochs: " +
                             ("an epoch of repeat has no end" if repeat else "how many rows max_tokens holds is known only when they are encoded"))
        dropped = batches.get("drop_last") or batches.get("tail") == "drop"
        steps = math.ceil(epochs * (rows // size if dropped else -(-rows // size)) - 1e-9)
        if steps <= 0:
            raise UsageError(f"{epochs:g} epochs of {rows} rows are no step of {size} rows: raise epochs")
        return steps

    @property
    def _core(self):
        return self._stream._ready()

    def windows(self) -> tuple[int, int] | None:
        made = self._stream._options
        return (made["window_overlap"], made["max_windows"]) if "window_overlap" in made else None


def _its_own(name: str, value: Any = None) -> UsageError:
    return UsageError(f"{name}: the stream has its own{'' if value is None else f', {value}'}: give it to brim.data.stream")


def refuse_made(rows: Any, *, task: str, labels: Labels | None, max_length: int | None, columns: Any, whole_words: bool) -> None:
    """What says how rows become ids, or what their labels are, has no effect on a ``Dataset`` or a ``Stream``: refused by name where it says something else than they do."""
    if not isinstance(rows, (Dataset, Stream)):
        return
    own, shape = rows.labels, _shapes.of(task)
    other_task = own and not shape.made and task not in ("auto", None, own.task)
    other_labels = labels and (not own or labels._keys or (labels.names, labels.outputs) != (own.names, own.outputs))
    if isinstance(rows, Dataset):
        numbering = rows._cut_as.numbering if rows._cut_as else None
        refuse_encoded(rows, labels=labels if other_labels else None, columns=columns, task=task if other_task and not shape.several_texts else None,
                       whole_words=True if whole_words and numbering != "words" else None)
        return
    made = rows._options
    if made["numbering"] and not shape.made:
        raise MismatchError('the stream is of masked words (numbering): give task="mlm"')
    if shape.made and not made["numbering"]:
        raise MismatchError('task="mlm" masks words of a stream that is made for it: brim.data.stream(.., numbering="tokens")')
    if other_task:
        raise MismatchError(f'task="{task}": the labels of the stream are of {own.task}: leave out task, or give brim.data.stream labels of it')
    if own and other_labels:
        raise _its_own("labels", ", ".join((own.names or [f"{own.outputs} values"])[:5]))
    if max_length not in (None, made["max_length"]):
        raise _its_own("max_length", made["max_length"])
    if columns is not None:
        raise _its_own("columns")
    if whole_words and made["numbering"] != "words":
        raise UsageError('whole_words: the stream numbers tokens: give numbering="words" to brim.data.stream')


def _paths(files: Any) -> list[str]:
    try:
        if not isinstance(files, Mapping) and not _holders.is_table(files):
            return _files.paths_of(files)
    except TypeError:  # some of it is no path
        pass
    raise UsageError(f"a stream reads files, and {_holders._short(files)} is none, nor a list of them: Dataset.of takes rows in memory")


def _unnamed(labels: Labels | None) -> Labels | None:
    if labels is not None and labels._keys:
        raise UsageError("labels: {what rows have: what it is called} is for rows in memory; a stream's labels are as its rows have them, "
                         f"such as {labels._keys[:3]}")
    return labels


def _reopen(files, tokenizer, labels, options, state):
    options = {**options, "header": not options["no_header"], "task": "tokens" if options["words"] else None,
               "missing_label": "skip" if options["skip_unlabelled"] else "error"}
    del options["no_header"], options["words"], options["skip_unlabelled"]
    if "window_overlap" in options:
        options["windows"] = options.pop("window_overlap")
    stream = Stream(files, tokenizer, labels=labels, **options)
    if state is not None:
        stream.load_state_dict(json.loads(state))
    return stream


def stream(files: Files, tokenizer: Tokenizer, **options: Any) -> Stream:
    """See ``Stream``."""
    return Stream(files, tokenizer, **options)
