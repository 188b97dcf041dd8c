"""Comparisons, analyses and folds, and their pages: the pictures are those of the program's reports."""
from __future__ import annotations

import html
import math
import os
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

from . import _core, runtime as _runtime

WAYS = {"fixed": ("random", "max_length"), "dynamic": ("random", "longest"), "uniform": ("uniform", "longest"), "brim": ("random", "none")}


def _number(value: Any, digits: int = 4) -> str:
    if value is None or isinstance(value, float) and math.isnan(value):
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"


class _Paged:
    """What has a page of HTML: a title and parts."""

    def _page(self) -> tuple[str, list]:
        raise NotImplementedError

    def page(self, path: str | os.PathLike) -> None:
        """Writes it as a page of HTML that needs nothing else."""
        title, parts = self._page()
        _core.page(_runtime.default(), title, parts, os.fspath(path))

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.html")
            self.page(path)
            return (f'<iframe style="width:100%;height:32em;border:0" sandbox srcdoc="{html.escape(path.read_text(encoding="utf-8"))}">'
                    "</iframe>")


# ---- compare ---------------------------------------------------------------------------------------------------------

@dataclass
class Way:
    """One way of batching and padding, as it trained."""

    name: str
    batching: str
    padding: str
    steps: int
    rows: int
    tokens: int              #: real ones
    slots: int               #: computed
    seconds: float           #: of training alone
    tokens_per_second: float
    padding_share: float     #: 1 - tokens / slots
    loss: float              #: mean over the rows of the last epoch
    metrics: dict[str, Any] | None = None


class Comparison(_Paged):
    """Ways side by side, in the order in which they were given."""

    def __init__(self, ways: list[Way], metric: str | None):
        self.ways, self.metric = ways, metric

    def __iter__(self) -> Iterator[Way]:
        return iter(self.ways)

    def __len__(self) -> int:
        return len(self.ways)

    def __getitem__(self, key: int | str) -> Way:
        return self.ways[key] if isinstance(key, int) else next(way for way in self.ways if way.name == key)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        titles = ["method", "seconds", "tokens/s", "slots", "padding", "speed", "loss"] + ([self.metric] if self.metric else [])
        first = self.ways[0].seconds
        rows = [[w.name, f"{w.seconds:.2f}", f"{w.tokens_per_second:,.0f}", f"{w.slots:,}", f"{100 * w.padding_share:.1f} %",
                 f"{first / w.seconds:.2f}" if w.seconds else "", _number(w.loss)] +
                ([_number((w.metrics or {}).get(self.metric))] if self.metric else []) for w in self.ways]
        return titles, rows

    def __repr__(self) -> str:
        titles, rows = self._cells()
        widths = [max(len(line[i]) for line in [titles, *rows]) for i in range(len(titles))]
        return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths)))
                         for line in [titles, *rows])

    def _page(self):
        titles, rows = self._cells()
        names = [w.name for w in self.ways]
        return "Comparison", [
            ("table", None, titles, [cell for row in rows for cell in row]),
            ("bars", "Seconds", "Time of training alone, the same rows in each.", names, [f"{w.seconds:.2f}" for w in self.ways], [w.seconds for w in self.ways]),
            ("bars", "Slots", "What was computed, padding included.", names, [f"{w.slots:,}" for w in self.ways], [float(w.slots) for w in self.ways])]


def way(name: str) -> tuple[str, str, str]:
    """A name of ``WAYS``, or "batching+padding"."""
    if name in WAYS:
        return name, *WAYS[name]
    batching, plus, padding = name.partition("+")
    if not plus:
        raise ValueError(f'"{name}" is none of {", ".join(WAYS)}, and not batching+padding')
    return name, batching, padding


# ---- analyze ---------------------------------------------------------------------------------------------------------

class Analysis(_Paged):
    """Lengths in tokens, and what each way of batching and padding would compute in an epoch.

    rows, tokens, truncated (rows that were cut), lost (tokens that were), shortest, longest, mean, median, percentiles ([101]: at least p %
    of the rows are no longer than percentiles[p]), histogram ([longest + 1] rows of each length), strategies: a list of dicts (batching,
    padding, slots, padding_share, batches, steps, cost, length_bias, ...), most slots first.
    """

    def __init__(self, found: dict[str, Any]):
        self.__dict__.update({k: v.tolist() if isinstance(v, _core.Array) else v for k, v in found.items()})

    def __repr__(self) -> str:
        best = self.strategies[-1]
        return (f"Analysis({self.rows:,} rows, {self.tokens:,} tokens, {self.shortest} to {self.longest} a row, "
                f"padding {100 * self.strategies[0]['padding_share']:.1f} % to {100 * best['padding_share']:.1f} %)")

    def _page(self):
        cells = [[f"{s['batching']} + {s['padding']}", f"{s['slots']:,}", f"{100 * s['padding_share']:.1f} %", f"{s['batches']:,}",
                  f"{s['length_bias']:.3f}"] for s in self.strategies]
        return "Analysis", [
            ("figures", ["rows", "tokens", "mean length", "median", "90 % up to", "longest", "cut"],
             [f"{self.rows:,}", f"{self.tokens:,}", f"{self.mean:.1f}", f"{self.median:.0f}", str(self.percentiles[90]), str(self.longest),
              f"{100 * self.truncated / max(self.rows, 1):.1f} %"]),
            ("histogram", "Lengths", "Rows by their number of tokens, after truncation.", "tokens", "rows", self.histogram),
            ("section", "Batching and padding"),
            ("table", None, ["way", "slots", "padding", "batches", "length bias"], [cell for row in cells for cell in row]),
            ("bars", "Slots of an epoch", "What each way computes.", [row[0] for row in cells], [row[1] for row in cells],
             [float(s["slots"]) for s in self.strategies])]


def analyze(data, tokenizer=None, *, max_length: int | None = 512, batch_size: int | None = None, max_tokens: int | None = None,
            seed: int = 42, text_column: str | None = None, pair_column: str | None = None, runtime=None, **plan) -> Analysis:
    """Lengths and the cost of padding of rows of any kind (``Dataset.of``). tokenizer: a Tokenizer, a folder, or a name; a ``Dataset``
    needs none. Other options are those of batches; batching and padding are all tried."""
    from .dataset import Dataset

    if not isinstance(data, Dataset):
        if tokenizer is None:
            raise TypeError("brim.analyze needs a tokenizer to count tokens: brim.analyze(rows, \"bert-base-uncased\")")
        data = Dataset.of(data, tokenizer, labelled=False, max_length=max_length, text_column=text_column, pair_column=pair_column,
                          **({"runtime": runtime} if runtime else {}))
    if batch_size is None and max_tokens is None:
        batch_size = 16
    return Analysis(_core.analyze(data._core, {"batch_size": batch_size, "max_tokens": max_tokens, "max_length": max_length, "seed": seed,
                                              **plan}))


# ---- folds -----------------------------------------------------------------------------------------------------------

@dataclass
class FoldsResult(_Paged):
    """What training in folds came to: every row predicted by the model that has not seen it."""

    metrics: dict[str, Any]                 #: of the out-of-fold predictions, over all rows
    folds: list[dict[str, Any]]             #: train_rows, valid_rows, steps and metrics of each
    fold: Sequence[int]                     #: int32 [rows]: in which fold a row was held out
    logits: Any                             #: float32 [rows, outputs], out of fold
    averages: list[dict[str, Any]] = field(default_factory=list)  #: name, logits and metrics of each evaluation set, by all folds' models together

    def _page(self):
        names = [n for n in self.metrics if n not in ("rows", "tokens", "slots", "seconds")]
        rows = [[f"fold {i}", f"{f['valid_rows']:,}", *(_number(f["metrics"].get(n)) for n in names)] for i, f in enumerate(self.folds)]
        rows.append(["all rows", f"{self.metrics['rows']:,}", *(_number(self.metrics.get(n)) for n in names)])
        return "Folds", [("table", "Held-out rows", ["fold", "rows", *names], [cell for row in rows for cell in row])]
