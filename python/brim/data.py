"""Batches: which rows go together and what is computed, for any model.

    rows = brim.data.Dataset.from_csv("train.csv", tokenizer)
    for batch in rows.batches(batch_size=16, batching="uniform", padding="longest"):
        logits = model(**batch.torch())

Length always means tokens after truncation, special tokens included.
"""
from __future__ import annotations

import json
import os
from typing import Any, Callable, Iterable, Iterator, Sequence

from . import _core, runtime as _runtime
from .errors import MismatchError
from .tokenizer import Tokenizer

_STATE_VERSION = 1


def _paths(files) -> list[str]:
    if isinstance(files, (str, os.PathLike)):
        files = [files]
    return [os.fspath(f) for f in files]


def _where(where) -> list[tuple[str, str]]:
    return [(str(column), str(value)) for column, value in (where or {}).items()]


def _label_text(label) -> str | None:
    """A label as a file would have it: 1 -> "1", 0.5 -> "0.5", True -> "true", "yes" -> "yes"."""
    if label is None or isinstance(label, str):
        return label
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, (list, tuple, set, frozenset)):  # several labels, as a csv file has them
        return "|".join(_label_text(one) for one in (sorted(label, key=str) if isinstance(label, (set, frozenset)) else label))
    if hasattr(label, "tolist"):  # NumPy and torch
        return _label_text(label.tolist())
    return repr(label)


class Labels:
    """What the numbers of a head mean.

    names: the classes in the order of their ids; None: regression. task: "classification" (one class a row), "multi_label" (any number
    of them) or "regression"; None: by the names. outputs: values a row in regression.
    """

    def __init__(self, names: Sequence[str] | None, *, task: str | None = None, outputs: int = 1, runtime=None):
        self.names = None if names is None else [str(n) for n in names]
        self.task = task or ("regression" if names is None else "classification")
        self.outputs = outputs if names is None else len(self.names)
        self._core = _core.labels(runtime or _runtime.default(), self.task, self.names, self.outputs)

    def __reduce__(self):
        return _remake, (self.names, self.task, self.outputs)

    def __repr__(self) -> str:
        return f"Labels({self.names!r}, task={self.task!r})"


def _remake(names, task, outputs):
    return Labels(names, task=task, outputs=outputs)


def _labels(labels, runtime):
    if labels is None or isinstance(labels, Labels):
        return labels
    return Labels(labels, runtime=runtime)


class Batch:
    """Some rows: always ragged; padded arrays are made from it on request.

    ids (int32 [tokens]), type_ids (uint8 [tokens]), offsets (int32 [rows + 1]: row i is ids[offsets[i]:offsets[i + 1]]), labels
    (float32 [rows], class id or value, NaN if there is none) and rows (int64 [rows], which rows of the dataset) share memory with
    whatever is made of them by numpy.asarray or torch.from_dlpack.
    """

    __slots__ = ("_core", "pad_id", "values", "labelled", "types", "epoch", "index")

    def __init__(self, core, *, pad_id: int, values: bool, labelled: bool, types: bool, epoch: int, index: int):
        self._core = core
        self.pad_id, self.values, self.labelled, self.types = pad_id, values, labelled, types
        self.epoch = epoch  #: counted from 0
        self.index = index  #: of the batch in its epoch, from 0; in a stream, among this rank's batches that have rows

    def __len__(self) -> int:
        return self._core.count

    def __repr__(self) -> str:
        return f"Batch({len(self)} rows, {self.tokens} tokens, {self.slots} slots, epoch {self.epoch}, batch {self.index})"

    ids = property(lambda self: self._core.ids, doc="int32 [tokens]")
    type_ids = property(lambda self: self._core.type_ids, doc="uint8 [tokens]")
    offsets = property(lambda self: self._core.offsets, doc="int32 [rows + 1]")
    labels = property(lambda self: self._core.labels, doc="float32 [rows]")
    rows = property(lambda self: self._core.rows, doc="int64 [rows]")
    places = property(lambda self: self._core.places, doc="int32 [rows]: place of each row in its optimizer step")
    tokens = property(lambda self: self._core.tokens, doc="real tokens")
    slots = property(lambda self: self._core.slots, doc="what is computed: tokens when ragged, rows x width when padded")
    width = property(lambda self: self._core.width, doc="slots of every row; 0 when ragged")
    step = property(lambda self: self._core.step, doc="optimizer step of the epoch that the batch belongs to")
    step_rows = property(lambda self: self._core.step_rows, doc="rows of that step over all its batches and ranks: divides the loss")

    def targets(self):
        """Labels as a loss takes them: int64 classes (-100 where there is none); float32 values; float32 [rows, labels] of 0 and 1."""
        return self._core.labels if self.values else self._core.classes()

    def padded(self, width: int | None = None) -> dict[str, Any]:
        """int64 [rows, width] input_ids, attention_mask (1 on tokens), token_type_ids (where the model takes them: ``types``), and
        labels [rows]. width None: the batch's own."""
        ids, mask, types = self._core.padded(width or 0, self.pad_id)
        out = {"input_ids": ids, "attention_mask": mask}
        if self.types:
            out["token_type_ids"] = types
        if self.labelled:
            out["labels"] = self.targets()
        return out

    def ragged(self) -> dict[str, Any]:
        """As the padding-free paths of transformers and flash attention take it: int64 input_ids, position_ids (and token_type_ids)
        [1, tokens], int32 cu_seq_lens_q and cu_seq_lens_k [rows + 1], int max_length_q and max_length_k, and labels [rows]."""
        ids, types, positions = self._core.flat()
        offsets = self._core.offsets
        starts = memoryview(offsets)
        longest = max((starts[i + 1] - starts[i] for i in range(len(self))), default=0)
        out = {"input_ids": ids, "position_ids": positions, "cu_seq_lens_q": offsets, "cu_seq_lens_k": offsets,
               "max_length_q": longest, "max_length_k": longest}
        if self.types:
            out["token_type_ids"] = types
        if self.labelled:
            out["labels"] = self.targets()
        return out

    def arrays(self) -> dict[str, Any]:
        """``padded()`` where the plan pads, else ``ragged()``."""
        return self.padded() if self.width else self.ragged()

    def numpy(self) -> dict[str, Any]:
        """``arrays()`` as NumPy arrays; nothing is copied."""
        import numpy

        return {k: numpy.asarray(v) if isinstance(v, _core.Array) else v for k, v in self.arrays().items()}

    def torch(self, *, device=None, pin_memory: bool = False) -> dict[str, Any]:
        """``arrays()`` as torch tensors; nothing is copied unless a device or pinned memory is asked for."""
        from .torch import tensors

        return tensors(self.arrays(), device=device, pin_memory=pin_memory)


class Dataset:
    """Rows in memory, encoded once. Immutable; may be shared between threads, and by processes that are forked."""

    def __init__(self, core, tokenizer: Tokenizer | None, runtime, *, pad_id: int = 0, types: bool | None = None):
        self._core, self.tokenizer, self._runtime = core, tokenizer, runtime
        self._facts = core.facts()
        self.pad_id = tokenizer.pad_id if tokenizer else pad_id
        self._types = types if types is not None else tokenizer.uses_type_ids if tokenizer else True
        labels = core.labels()
        self._values = labels is not None and labels[0] != "classification"  # labels are numbers, not classes

    # ---- where rows come from ------------------------------------------------------------------------------------

    @classmethod
    def from_files(cls, files, tokenizer: Tokenizer, *, max_length: int | None = None, labels: Labels | Sequence[str] | None = None,
                   task: str = "auto", need_label: bool | None = None, text_column: str | None = None, pair_column: str | None = None,
                   label_column: str | None = None, format: str = "auto", header: bool = True, min_chars: int = 0,
                   where: dict[str, str] | None = None, skip_damaged: bool = False, cache: str | os.PathLike | None = None,
                   truncation: str = "longest_first", special_tokens: bool = True,
                   progress: Callable[[str, dict], Any] | None = None, runtime=None) -> "Dataset":
        """csv, tsv, jsonl or txt, plain or .gz or .zst; files, globs, folders, or "-".

        Text columns default to "text" and "text_pair", the label column to "label". labels: the mapping of a model (evaluation);
        without it, one is made. task: "auto", "classification", "regression" or "multi_label" (csv: labels joined by "|"; JSON:
        lists). cache: a folder; rows that it holds are not encoded again. skip_damaged: leave out what cannot be read (``excluded``
        names it) instead of failing. need_label: None reads labels unless the format is txt. progress: called with a kind and fields.
        """
        runtime = runtime or _runtime.default()
        labels = _labels(labels, runtime)
        paths = _paths(files)
        if need_label is None:
            need_label = format != "txt" and not all(p.removesuffix(".gz").removesuffix(".zst").endswith(".txt") or p == "-" for p in paths)
        options = {"max_length": max_length, "task": task, "need_label": need_label, "text_column": text_column,
                   "pair_column": pair_column, "label_column": label_column, "format": format, "no_header": not header,
                   "min_chars": min_chars, "skip_damaged": skip_damaged, "cache": None if cache is None else os.fspath(cache),
                   "truncation": truncation, "no_special_tokens": not special_tokens}
        core = _core.dataset_load(runtime, tokenizer._core, paths, _where(where), labels._core if labels else None, options, progress)
        return cls(core, tokenizer, runtime)

    @classmethod
    def from_csv(cls, files, tokenizer: Tokenizer, **options) -> "Dataset":
        """``from_files`` with format="csv"."""
        return cls.from_files(files, tokenizer, format="csv", **options)

    @classmethod
    def from_jsonl(cls, files, tokenizer: Tokenizer, **options) -> "Dataset":
        """``from_files`` with format="jsonl"."""
        return cls.from_files(files, tokenizer, format="jsonl", **options)

    @classmethod
    def from_texts(cls, texts: Sequence[str | bytes], tokenizer: Tokenizer, *, pairs: Sequence[str | bytes] | None = None,
                   labels: Sequence[Any] | None = None, mapping: Labels | Sequence[str] | None = None, task: str = "auto",
                   max_length: int | None = None, min_chars: int = 0, truncation: str = "longest_first", special_tokens: bool = True,
                   runtime=None) -> "Dataset":
        """Texts that are in memory: read where they are, encoded on all threads. labels: classes (any str or int) or values (float)."""
        runtime = runtime or _runtime.default()
        known = _labels(mapping, runtime)
        options = {"max_length": max_length, "task": task, "need_label": labels is not None, "min_chars": min_chars,
                   "truncation": truncation, "no_special_tokens": not special_tokens}
        core = _core.dataset_texts(runtime, tokenizer._core, list(texts), None if pairs is None else list(pairs),
                                   None if labels is None else [_label_text(label) for label in labels],
                                   known._core if known else None, options)
        return cls(core, tokenizer, runtime)

    @classmethod
    def from_iterable(cls, rows: Iterable[Any], tokenizer: Tokenizer, **options) -> "Dataset":
        """Rows as str, as (text, label), as (text, pair, label), or as dicts with text, text_pair and label."""
        texts, pairs, labels = [], [], []
        for row in rows:
            if isinstance(row, (str, bytes)):
                row = {"text": row}
            elif not isinstance(row, dict):
                row = dict(zip(("text", "label") if len(row) == 2 else ("text", "text_pair", "label"), row))
            texts.append(row["text"])
            pairs.append(row.get("text_pair"))
            labels.append(row.get("label"))
        some = lambda column: column if any(v is not None for v in column) else None
        return cls.from_texts(texts, tokenizer, pairs=some(pairs), labels=some(labels), **options)

    @classmethod
    def from_arrow(cls, table, tokenizer: Tokenizer, *, text_column: str = "text", pair_column: str | None = None,
                   label_column: str | None = None, labels: bool | None = None, mapping: Labels | Sequence[str] | None = None,
                   task: str = "auto", max_length: int | None = None, min_chars: int = 0, truncation: str = "longest_first",
                   special_tokens: bool = True, runtime=None) -> "Dataset":
        """Anything with ``__arrow_c_stream__``: tables of pyarrow, polars, pandas, datasets. The texts are read where Arrow has them.

        labels: None reads them if there is a label column.
        """
        runtime = runtime or _runtime.default()
        known = _labels(mapping, runtime)
        if labels is None:
            names = getattr(table, "column_names", None) or list(getattr(table, "columns", ()))
            labels = bool(label_column) or "label" in [str(n) for n in names]
        options = {"max_length": max_length, "task": task, "need_label": labels, "min_chars": min_chars, "truncation": truncation,
                   "no_special_tokens": not special_tokens}
        core = _core.dataset_arrow(runtime, tokenizer._core, table.__arrow_c_stream__(), text_column, pair_column, label_column,
                                   known._core if known else None, options)
        return cls(core, tokenizer, runtime)

    @classmethod
    def from_ids(cls, ids: Sequence[int], offsets: Sequence[int], *, type_ids=None, labels=None, mapping: Labels | Sequence[str] | None = None,
                 pad_id: int = 0, runtime=None) -> "Dataset":
        """Rows that are encoded already, end to end: row i is ids[offsets[i]:offsets[i + 1]]. labels: class ids or values."""
        runtime = runtime or _runtime.default()
        known = _labels(mapping, runtime)
        core = _core.dataset_encoded(runtime, ids, offsets, type_ids, labels, known._core if known else None)
        return cls(core, None, runtime, pad_id=pad_id)

    # ---- what it holds -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._facts["rows"]

    def __repr__(self) -> str:
        return f"Dataset({len(self)} rows, {self.tokens} tokens)"

    def __getitem__(self, row: int) -> dict[str, Any]:
        """ids (int32 [length]), type_ids (uint8, or None when all are 0), label (None if there is none), origin (row of its source)."""
        if row < 0:
            row += len(self)
        ids, types, label, origin = self._core.sample(row)
        return {"ids": ids, "type_ids": types, "label": None if label != label else label, "origin": origin}

    tokens = property(lambda self: self._facts["tokens"], doc="after truncation")
    truncated = property(lambda self: self._facts["truncated"], doc="rows that were cut")
    lost = property(lambda self: self._facts["lost"], doc="tokens that were cut")
    longest = property(lambda self: self._facts["longest"], doc="tokens of the longest row")
    has_labels = property(lambda self: self._facts["has_labels"], doc="every row has one")
    has_pairs = property(lambda self: self._facts["has_pairs"])
    fingerprint = property(lambda self: self._facts["fingerprint"], doc="of ids, type_ids and labels in order")

    @property
    def lengths(self):
        """int32 [rows]; shares the dataset's memory."""
        return self._core.lengths()

    @property
    def labels(self) -> Labels | None:
        """The mapping of labels; None if there is none."""
        found = self._core.labels()
        if found is None:
            return None
        task, names, outputs = found
        return Labels(None if task == "regression" else names, task=task, outputs=outputs, runtime=self._runtime)

    @property
    def excluded(self) -> list[tuple[str, int, int, str]]:
        """Rows that min_chars and where left out: (file, line, row, reason)."""
        return self._core.excluded()

    def _parts(self):
        ids, types, offsets, values = bytearray(), bytearray(), [0], []
        for row in range(len(self)):
            i, t, label, _ = self._core.sample(row)
            ids += memoryview(i).cast("B")
            types += memoryview(t) if t is not None else bytes(len(i))
            offsets.append(offsets[-1] + len(i))
            values += label if isinstance(label, list) else [label]
        return bytes(ids), bytes(types), offsets, values

    def __reduce__(self):
        return _rebuild, (*self._parts(), self.labels, self.tokenizer, self.pad_id, self._types)

    # ---- batches -------------------------------------------------------------------------------------------------

    def batches(self, **options) -> "Batches":
        """Batches of these rows; see ``Batches``."""
        return Batches(self, **options)


def _rebuild(ids, types, offsets, values, labels, tokenizer, pad_id, has_types):
    runtime = _runtime.default()
    core = _core.dataset_encoded(runtime, memoryview(ids).cast("i"), offsets, types, values, labels._core if labels else None)
    return Dataset(core, tokenizer, runtime, pad_id=pad_id, types=has_types)


class Plan:
    """The batches of one epoch, from lengths alone: a pure function of (lengths, options, epoch), equal on every rank.

    ``plan[i]`` is a dict: step, rank, rows (int64), width (0 when ragged), tokens, slots, step_rows.
    """

    def __init__(self, lengths, *, epoch: int = 0, rank: int = 0, rows_for: Callable[[int], int] | None = None, runtime=None, **options):
        self.rank = rank
        self._core = _core.plan(runtime or _runtime.default(), lengths, dict(options), epoch, rows_for)

    def __len__(self) -> int:
        return self._core.parts

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index < 0:
            index += len(self)
        return self._core.part(self.rank, index)

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return self._core.steps

    def ledger(self) -> dict[str, Any]:
        """rows_read = rows_planned + len(dropped), tokens, slots, batches, steps, hash (of the whole plan, equal on every rank)."""
        return self._core.ledger()


class Batches:
    """Batches of a dataset, epoch after epoch.

    Each ``iter()`` is the next epoch (``set_epoch`` overrides), with fresh composition; the order is a pure function of the seed, the
    epoch and the data, never of threads. ``state_dict()`` is small, JSON-able and exact at any batch.

    batching: "random", "sequential", "uniform" (sorted by length, random runs), "sorted" (sort, cut, shuffle the batches), "bucketed"
    (windows of read_ahead rows, each sorted and cut), "packed" (best fit to max_tokens). padding: "none" (ragged), "longest",
    "max_length" (needs max_length). batch_size: rows of a step over all ranks. max_tokens: slots of a batch; with batch_size it cuts
    a step into batches without changing it. rows_for: rows that fit when the longest has so many tokens. key: another measure of the
    rows than their tokens, int32 [rows]; batches are then composed by it, and ``tokens`` and ``slots`` of the plan count it. rank,
    world_size: this process's part; every rank gets the same number of batches, of nearly equal cost.
    """

    def __init__(self, dataset: Dataset, *, batching: str = "random", padding: str = "none", batch_size: int | None = None,
                 max_tokens: int | None = None, max_rows: int | None = None, max_length: int | None = None, seed: int = 42,
                 rank: int = 0, world_size: int = 1, drop_last: bool = False, pad_to_multiple_of: int | None = None,
                 read_ahead: int | None = None, accumulate: int | None = None, required_batch_size_multiple: int | None = None,
                 oversize: str = "error", tail: str = "resplit", rows_for: Callable[[int], int] | None = None,
                 key: Sequence[int] | None = None):
        if batch_size is None and max_tokens is None and rows_for is None:
            batch_size = 16
        if key is not None and len(key) != len(dataset):
            raise ValueError(f"the key has {len(key)} values for {len(dataset)} rows")
        if not 0 <= rank < max(world_size, 1):
            raise ValueError(f"rank {rank} of {world_size}: ranks count from 0")
        self.dataset, self.rank, self._rows_for = dataset, rank, rows_for
        self._key = key
        self._options = {"batching": batching, "padding": padding, "batch_size": batch_size, "max_tokens": max_tokens,
                         "max_rows": max_rows, "max_length": max_length, "seed": seed, "world_size": world_size,
                         "drop_last": drop_last, "pad_to_multiple_of": pad_to_multiple_of, "read_ahead": read_ahead,
                         "accumulate": accumulate, "required_batch_size_multiple": required_batch_size_multiple,
                         "oversize": oversize, "tail": tail}
        self._epoch = 0        # of the next iter()
        self._start = 0        # its first batch
        self._running = None   # the iterator that state_dict speaks of
        self._planned = None   # (epoch, plan)
        self.plan(0)           # wrong options are refused here

    def plan(self, epoch: int) -> Plan:
        """The plan of an epoch."""
        if self._planned is None or self._planned[0] != epoch:
            plan = Plan(self.dataset.lengths if self._key is None else self._key, epoch=epoch, rank=self.rank, rows_for=self._rows_for,
                        runtime=self.dataset._runtime, **self._options)
            self._planned = (epoch, plan)
        return self._planned[1]

    @property
    def epoch(self) -> int:
        """The epoch under way, or else the next one."""
        running = self._running
        return running.epoch if running is not None and not running.done else self._epoch

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` is this epoch, from its first batch."""
        self._epoch, self._start, self._running = int(epoch), 0, None

    def __len__(self) -> int:
        """Batches of the epoch under way, or else of the next one, on this rank."""
        return len(self.plan(self.epoch))

    def ledger(self) -> dict[str, Any]:
        """See ``Plan.ledger``; of the epoch under way, or else of the next one."""
        return self.plan(self.epoch).ledger()

    def __iter__(self) -> Iterator[Batch]:
        self._running = _BatchIterator(self, self._epoch, self._start)
        self._epoch, self._start = self._epoch + 1, 0
        return self._running

    @property
    def _multiple(self) -> int:
        return 0 if self._key is None else max(self._options["pad_to_multiple_of"] or 1, 1)

    def _identity(self) -> dict[str, Any]:
        return {**{k: v for k, v in self._options.items() if v is not None}, "rank": self.rank, "rows": len(self.dataset),
                "fingerprint": f"{self.dataset.fingerprint:016x}"}

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands: the next batch is the one behind the last that was taken."""
        running = self._running
        if running is not None and not running.done:
            epoch, batch = running.epoch, running.index
        else:
            epoch, batch = self._epoch, self._start
        return {"version": _STATE_VERSION, "epoch": epoch, "batch": batch, "of": self._identity()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``iter()`` goes on there. A state of other data or options is a MismatchError that names what differs."""
        if state.get("version") != _STATE_VERSION:
            raise MismatchError(f"the state has version {state.get('version')!r}; this brim reads {_STATE_VERSION}")
        mine, its = self._identity(), state["of"]
        for name in sorted(set(mine) | set(its)):
            if mine.get(name) != its.get(name):
                raise MismatchError(f"the state was saved with {name} {its.get(name)!r}, and it is {mine.get(name)!r} here")
        self._epoch, self._start, self._running = state["epoch"], state["batch"], None


class _BatchIterator:
    """One pass. ``index`` is the next batch, so a state is exact as soon as a batch has been handed out."""

    def __init__(self, batches: Batches, epoch: int, start: int):
        self.batches, self.epoch, self.index, self.done = batches, epoch, start, False
        self.plan = batches.plan(epoch)

    def __iter__(self):
        return self

    def __len__(self) -> int:
        return len(self.plan) - self.index

    def skip(self) -> bool:
        """Passes over a batch; False if there is none."""
        if self.index >= len(self.plan):
            self.done = True
            return False
        self.index += 1
        self.done = self.index == len(self.plan)
        return True

    def __next__(self) -> Batch:
        if self.index >= len(self.plan):
            self.done = True
            raise StopIteration
        b = self.batches
        d = b.dataset
        core = self.plan._core.batch(d._core, b.rank, self.index, b._multiple)
        batch = Batch(core, pad_id=d.pad_id, values=d._values, labelled=d.has_labels, types=d._types, epoch=self.epoch,
                      index=self.index)
        self.skip()
        return batch


class Stream:
    """Batches from files that are larger than memory.

    Shards come in an order shuffled by (seed, epoch), rows are shuffled and planned ``window`` at a time, and ``prefetch`` windows are
    prepared ahead by a thread. epochs None is training: it never ends, and ``iter()`` goes on where the last one stopped. A number of
    epochs is validation: each ``iter()`` begins anew, with ``set_epoch``'s order. weights: the files are as many sources, mixed in these
    shares; repeat lets a source that ends begin anew (endless). rank_slices: each rank reads only a slice of the rows, all take
    equally many steps, and world_size is fixed. ``state_dict()`` is exact at any batch; gz and zst are not tokenized again up to
    there. The other options are those of ``Batches``.
    """

    def __init__(self, files, tokenizer: Tokenizer, *, labels: Labels | Sequence[str] | None = None, need_label: bool | None = None,
                 max_length: int | None = None, epochs: int | None = None, window: int = 100_000, prefetch: int = 1, rank: int = 0,
                 rank_slices: bool = False, text_column: str | None = None, pair_column: str | None = None,
                 label_column: str | None = None, format: str = "auto", header: bool = True, min_chars: int = 0, truncation: str = "longest_first", weights: Sequence[float] | None = None,
                 repeat: bool = False, skip_damaged: bool = False, runtime=None, **plan):
        self._runtime = runtime or _runtime.default()
        self.tokenizer, self.labels, self.epochs = tokenizer, _labels(labels, self._runtime), epochs
        self._files = _paths(files)
        self._options = {"need_label": bool(labels) if need_label is None else need_label, "max_length": max_length, "epochs": epochs or 0,
                         "window": window, "prefetch": prefetch, "rank": rank, "rank_slices": rank_slices, "text_column": text_column,
                         "pair_column": pair_column, "label_column": label_column, "format": format, "no_header": not header,
                         "min_chars": min_chars, "truncation": truncation, "repeat": repeat, "skip_damaged": skip_damaged, "seed": 42, **plan}
        self._weights = None if weights is None else [float(w) for w in weights]
        if not any(self._options.get(k) for k in ("batch_size", "max_tokens")):
            self._options["batch_size"] = 16
        self._pid = None
        self._feed = None
        self._loaded: str | None = None
        self._open()  # wrong options and missing files are refused here

    def __reduce__(self):
        options = {**self._options, "epochs": self.epochs, "weights": self._weights}
        return _reopen, (self._files, self.tokenizer, self.labels, options, self._saved())

    def _saved(self) -> str | None:
        if self._feed is None or self._pid != os.getpid():
            return self._loaded
        return self._first if self._over else self._feed.save()

    def _open(self):
        self._feed = _core.feed(self._runtime, self.tokenizer._core, self._files, self._weights,
                                self.labels._core if self.labels else None, dict(self._options))
        self._pid = os.getpid()
        self._fresh, self._over = True, False  # fresh: the next pass begins at the present place
        self._first = None if self.epochs is None else self._feed.save()
        if self._loaded is not None:
            self._feed.restore(self._loaded)

    def _ready(self):
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
        values = self.labels is not None and self.labels.task != "classification"
        while True:
            feed = self._ready()
            self._fresh = False
            core = feed.next()
            if core is None:
                self._loaded, self._over = None, True
                return
            epoch, batches = feed.place
            yield Batch(core, pad_id=self.tokenizer.pad_id, values=values, labelled=self._options["need_label"],
                        types=self.tokenizer.uses_type_ids, epoch=epoch, index=max(batches - 1, 0))

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands, as JSON-able values; behind a finished pass, the beginning of the next."""
        self._ready()
        return json.loads(self._saved())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next batch is the one behind the saved place. Other data, tokenizer or options are a MismatchError."""
        text = json.dumps(state)
        self._ready().restore(text)
        self._loaded, self._fresh, self._over = text, True, False

    def set_epoch(self, epoch: int) -> None:
        """The next batch is the first of this epoch."""
        self._options["first_epoch"] = int(epoch)
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
        if self._feed is not None:
            self._feed.close()
            self._feed = None


def _reopen(files, tokenizer, labels, options, state):
    options = {**options, "header": not options["no_header"]}
    del options["no_header"]
    stream = Stream(files, tokenizer, labels=labels, **options)
    if state is not None:
        stream.load_state_dict(json.loads(state))
    return stream


def stream(files, tokenizer: Tokenizer, **options) -> Stream:
    """See ``Stream``."""
    return Stream(files, tokenizer, **options)


def restore_order(values: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    """Values that came batch by batch, in the order of the dataset: values[i] belongs to row rows[i]."""
    if len(values) != len(rows):
        raise ValueError(f"{len(values)} values for {len(rows)} rows")
    order = sorted(range(len(rows)), key=lambda i: int(rows[i]))
    return [values[i] for i in order]
