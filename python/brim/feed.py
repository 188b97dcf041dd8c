"""Batches from files that are larger than memory."""
from __future__ import annotations

import json
import os
from typing import Any, Iterator, Sequence, Unpack

from . import _core, rows as _rows, runtime as _runtime
from .batches import Batch
from .dataset import Files
from .errors import UsageError
from .keywords import PlanOptions
from .labels import Labels, _labels
from .tokenizer import Tokenizer


class Stream:
    """Batches from files that are larger than memory.

    Shards come in an order shuffled by (seed, epoch), rows are shuffled and planned ``window`` at a time, and ``prefetch`` windows are
    prepared ahead by a thread. epochs None is training: it never ends, and ``iter()`` goes on where the last one stopped. A number of
    epochs is validation: each ``iter()`` begins again, with ``set_epoch``'s order. weights: the files are as many sources, mixed in these
    shares; repeat lets a source that ends begin again (endless). rank_slices: each rank reads only a slice of the rows, all take
    equally many steps, and world_size is fixed. ``state_dict()`` is exact at any batch; gz and zst are not tokenized again up to
    there. task="tokens": rows of words, whose labels are names of ``labels``. The other options are those of ``Batches``.
    """

    tokenizer: Tokenizer
    labels: Labels | None
    epochs: int | None

    def __init__(self, files: Files, tokenizer: Tokenizer, *, labels: Labels | Sequence[str] | None = None, task: str | None = None,
                 need_label: bool | None = None, max_length: int | None = None, epochs: int | None = None, window: int = 100_000, prefetch: int = 1, rank: int = 0,
                 rank_slices: bool = False, text_column: str | None = None, pair_column: str | None = None,
                 label_column: str | None = None, format: str = "auto", header: bool = True, min_chars: int = 0, truncation: str = "longest_first", weights: Sequence[float] | None = None,
                 repeat: bool = False, skip_damaged: bool = False, runtime: Any = None, **plan: Unpack[PlanOptions]):
        self._runtime = runtime or _runtime.default()
        if task == "tokens" and labels is not None and not isinstance(labels, Labels):
            labels = Labels(labels, task=task, runtime=self._runtime)
        self.tokenizer, self.labels, self.epochs = tokenizer, _labels(labels, self._runtime), epochs
        if task not in (None, "tokens") or (task and self.labels and self.labels.task != task):
            raise UsageError(f"task is {task!r}: a stream's task is that of its labels, or \"tokens\"")
        self._files = _rows.paths_of(files)
        self._options = {"need_label": bool(labels) if need_label is None else need_label, "max_length": max_length, "epochs": epochs or 0,
                         "window": window, "prefetch": prefetch, "rank": rank, "rank_slices": rank_slices, "text_column": text_column,
                         "pair_column": pair_column, "label_column": label_column, "format": format, "no_header": not header,
                         "min_chars": min_chars, "truncation": truncation, "repeat": repeat, "skip_damaged": skip_damaged, "words": task == "tokens",
                         "seed": 42, **plan}
        self._weights = None if weights is None else [float(w) for w in weights]
        if not any(self._options.get(k) for k in ("batch_size", "max_tokens")):
            self._options["batch_size"] = 16
        self._pid = None
        self._feed = None
        self._loaded: str | None = None
        self._open()  # wrong options and missing files are refused here

    def __repr__(self) -> str:
        named = ", ".join(self._files[:2]) + (", ..." if len(self._files) > 2 else "")
        return f"Stream({named}, epochs={self.epochs}, window={self._options['window']})"

    def __reduce__(self) -> tuple[Any, ...]:
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
                        types=self.tokenizer.uses_type_ids, layout=self.tokenizer.layout, epoch=epoch, index=max(batches - 1, 0))

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands, as JSON-able values; after a finished pass, the beginning of the next."""
        self._ready()
        return json.loads(self._saved())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next batch is the one after the saved place. Other data, tokenizer or options are a MismatchError."""
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
    options = {**options, "header": not options["no_header"], "task": "tokens" if options["words"] else None}
    del options["no_header"], options["words"]
    stream = Stream(files, tokenizer, labels=labels, **options)
    if state is not None:
        stream.load_state_dict(json.loads(state))
    return stream


def stream(files: Files, tokenizer: Tokenizer, **options: Any) -> Stream:
    """See ``Stream``."""
    return Stream(files, tokenizer, **options)
