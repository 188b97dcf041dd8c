"""Comparisons, analyses and folds, and their pages: the pictures are those of the program's reports."""
from __future__ import annotations

import html
import math
import os
import pathlib
import tempfile
from dataclasses import dataclass, field
from typing import Any, Iterator, NamedTuple, Sequence

from . import _core, files as _files, holders as _holders, kinds as _kinds, notes as _notes, outputs as _outputs, rows as _rows, runtime as _runtime
from .errors import UsageError
from .keywords import BatchOptions
from .labels import _named_class, _numbered
from .options import seed as _seed, whole
from .tokenizer import _tokenizer

PADDINGS = ("none", "longest", "max_length")
WAYS = {"fixed": ("random", "max_length"), "dynamic": ("random", "longest"), "uniform": ("uniform", "longest"), "brim": ("random", "none")}


def _number(value: Any, digits: int = 4) -> str:
    if value is None or isinstance(value, float) and math.isnan(value):
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.{digits}g}"


class _Paged:
    """What has a page of HTML: a title and parts."""

    def _page(self) -> tuple[str, list[Any]]:
        raise NotImplementedError

    def page(self, path: str | os.PathLike[str]) -> None:
        """Writes it as a page of HTML that needs nothing else."""
        _outputs.check_ending("page", path, ".html", ".htm")
        title, parts = self._page()
        _core.page(_runtime.default(), title, parts, os.fsencode(path))

    def _repr_html_(self) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.html")
            self.page(path)
            return (f'<iframe style="width:100%;height:32em;border:0" sandbox srcdoc="{html.escape(path.read_text(encoding="utf-8"))}">'
                    "</iframe>")


# ---- compare ---------------------------------------------------------------------------------------------------------

class Round(NamedTuple):
    """A way's turn in a round: a share of its run."""

    steps: int
    tokens: int
    slots: int
    seconds: float
    speed: float  #: by the first way's, of this round alone


@dataclass
class Way:
    """One way of batching and padding, and one precision, as it trained."""

    name: str
    batching: str
    padding: str
    steps: int
    rows: int
    tokens: int              #: real ones
    slots: int               #: computed
    seconds: float           #: of training alone, at the pace of the median round
    tokens_per_second: float
    padding_share: float     #: 1 - tokens / slots
    loss: float              #: mean over the rows of the last epoch
    metrics: dict[str, Any] | None = None
    memory: float = math.nan  #: bytes that training planned for
    curve: tuple[list[float], list[float], list[float]] = field(default=([], [], []), repr=False)  #: samples, seconds and loss of each step
    precision: str = "fp32"
    speed: float = math.nan   #: tokens a second by those of the first way: the median of the rounds, in which ways take turns
    speed_low: float = math.nan   #: and between which numbers it lies; where 1 is between them, nobody knows which is faster
    speed_high: float = math.nan
    speed_said: str = ""      #: the same in words
    rounds: list[Round] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.rounds = [Round(*one) for one in self.rounds]


class Comparison(_Paged):
    """Ways side by side, in the order in which they were given."""

    ways: list[Way]
    metric: str | None  #: that is shown; None: nothing was evaluated

    def __init__(self, ways: list[Way], metric: str | None, *, column: str = "accuracy", title: str = "Comparison"):
        self.ways, self.metric, self._column, self._title = ways, metric, column, title

    def __iter__(self) -> Iterator[Way]:
        return iter(self.ways)

    def __len__(self) -> int:
        return len(self.ways)

    def __getitem__(self, key: int | str) -> Way:
        return self.ways[key] if isinstance(key, int) else next(way for way in self.ways if way.name == key)

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        titles = ["method", "seconds", "tokens/s", "slots", "padding", "memory", "speed", "loss"] + ([self.metric] if self.metric else [])
        rows = [[w.name, f"{w.seconds:.2f}", f"{w.tokens_per_second:,.0f}", f"{w.slots:,}", f"{100 * w.padding_share:.1f} %", f"{w.memory / 2**20:.1f} MiB",
                 w.speed_said, _number(w.loss)] +
                ([_number((w.metrics or {}).get(self.metric))] if self.metric else []) for w in self.ways]
        return titles, rows

    def __repr__(self) -> str:
        titles, rows = self._cells()
        widths = [max(len(line[i]) for line in [titles, *rows]) for i in range(len(titles))]
        return "\n".join("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths)))
                         for line in [titles, *rows])

    def _page(self) -> tuple[str, list[Any]]:
        metric = self.metric or self._column
        return self._title, [("comparison", [
            (w.name, w.rows, w.tokens, w.slots, w.seconds, w.tokens_per_second, w.padding_share, w.loss, w.metrics and w.metrics[metric],
             w.memory, *w.curve, w.speed, w.speed_low, w.speed_high, len(w.rounds)) for w in self.ways], metric)]


def way(mode: str | tuple[str, dict[str, Any]]) -> tuple[str, str, str, dict[str, Any]]:
    """A name of ``WAYS`` or "batching+padding", with "+option" or "+option=value" after it, or with a dict of options: name, batching,
    padding, options."""
    if isinstance(mode, tuple):
        name, more = mode
        named, batching, padding, options = way(name)
        said = "".join(f"+{key}" if value is True else f"+{key}={value}" for key, value in more.items())
        return named + said, batching, padding, options | more
    if not isinstance(mode, str):
        raise TypeError(f"modes: {', '.join(WAYS)}, or batching+padding, is needed, not {mode!r:.60}")
    mode = mode.strip()
    first, *words = mode.split("+")
    if words and words[0].replace("-", "_") in PADDINGS:
        kind = (first, words.pop(0).replace("-", "_"))
    elif first in WAYS:
        kind = WAYS[first]
    else:
        raise ValueError(f'modes: "{mode}" is none of {", ".join(WAYS)}, and not batching+padding')
    return mode, *kind, dict(_mode_option(one) for one in words)


def _mode_option(word: str) -> tuple[str, Any]:
    """An option of a mode's name, and its value: a number where it reads as one."""
    name, equals, text = word.partition("=")
    name = name.replace("-", "_")
    if not equals:
        return {"checkpoint": "checkpoint_activations"}.get(name, name), True
    for read in (int, float):
        try:
            return name, read(text)
        except ValueError:
            pass
    return name, text


# ---- analyze ---------------------------------------------------------------------------------------------------------

class AtLength(NamedTuple):
    """What rows lose that are cut at a length, or that become windows of it, and how many tokens an epoch computes without padding.

    ``brim.analyze`` gives those of 128, 256, 512, .. tokens, up to the first that cuts no row. Where pairs, or windows that overlap
    by as much as they hold, have none, numbers of windows are None."""

    length: int                  #: tokens, special ones included
    tokens: int                  #: of all texts, without special ones: what is lost is a share of them
    cut_rows: int                #: rows that are cut there
    lost: int                    #: tokens that they lose
    computed: int                #: tokens of an epoch
    windows: int | None          #: of all rows
    window_cut_rows: int | None  #: rows of more than max_windows windows
    window_lost: int | None
    window_computed: int | None


class Analysis(_Paged):
    """Lengths in tokens, and what each way of batching and padding would compute in an epoch.

    rows, texts (as many, unless rows have several: lengths are of texts), tokens, truncated (rows that were cut), lost (tokens that were), repeated (tokens that are in two windows),
    shortest, longest, mean, median, percentiles ([101]: at least p % of the texts are no longer than percentiles[p]), histogram
    ([longest + 1] texts of each length), strategies: a list of dicts (batching,
    padding, slots, padding_share, batches, steps, cost, length_bias, ...), most slots first; at_length: a list of ``AtLength``, empty
    where rows have several texts or came encoded without a tokenizer.
    """

    rows: int
    texts: int
    tokens: int
    truncated: int
    lost: int
    repeated: int
    shortest: int
    longest: int
    mean: float
    median: float
    percentiles: list[int]
    histogram: list[int]
    strategies: list[dict[str, Any]]
    at_length: list[AtLength]

    def __init__(self, found: dict[str, Any], source: Any = None):
        found = {**found, "at_length": [AtLength(*one) for one in found["at_length"]]}
        self.__dict__.update({k: v.tolist() if isinstance(v, _core.Array) else v for k, v in found.items()})
        self._source = source

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_source": None}

    def __repr__(self) -> str:
        best = self.strategies[-1]
        return (f"Analysis({self.rows:,} rows, {self.tokens:,} tokens, {self.shortest} to {self.longest} a row, "
                f"padding {100 * self.strategies[0]['padding_share']:.1f} % to {100 * best['padding_share']:.1f} %)")

    def _repr_html_(self) -> str | None:
        return None if self._source is None else super()._repr_html_()  # then it is shown by its repr

    def _page(self) -> tuple[str, list[Any]]:
        if self._source is None:
            raise UsageError("an analysis that was pickled has no rows to draw: analyze them again")
        return self._source.page()


class _Source(NamedTuple):
    """What an analysis was made from: its page looks at the rows again."""

    data: Any
    dataset: Any
    plan: dict[str, Any]
    columns: dict[str, str | None]
    samples: int

    def page(self):
        files = _files.paths_of(self.data) if _files.is_files(self.data) else []
        name = (_files.shown(files[0]) + (" and others" if len(files) > 1 else "")) if files else "Analysis"
        limit, size = self.plan["max_length"] or self.dataset.longest, self.plan["batch_size"]
        title = f"{name}: {limit} tokens at most, " + (f"{size} rows a batch" if size else f"{self.plan['max_tokens']} tokens a batch")
        looked = ("files", self.files(files)) if files and not _files.table_files(files) else ("rows", self.rows(files))
        return title, [("analysis", self.dataset._core, dict(self.plan), self.plan["seed"], self.samples, *looked)]

    def files(self, files):
        return self.dataset.tokenizer._core, _files.encoded(files), dict(self.columns), {}

    def rows(self, files):
        """Full lengths, labels, and the texts that are shown; of rows that are encoded, what there is."""
        from .dataset import Dataset

        data, text, pair = _files.read_tables(files) if files else self.data, self.columns["text_column"], self.columns["pair_column"]
        if isinstance(data, Dataset):
            return data.lengths, None, None
        whole = Dataset.of(_rows.without_labels(data), self.dataset.tokenizer, labelled=False, text_column=text, pair_column=pair, runtime=self.dataset._runtime)
        labels = _rows.labels_of(data, text, pair, self.columns["label_column"])
        numbers = [row for row, _ in _core.picked(self.dataset._core, self.plan["seed"], self.samples)]
        return whole.lengths, labels and [_numbered(_word, number, label) for number, label in enumerate(labels)], _rows.texts_at(data, numbers, text, pair)


def _word(label: Any) -> str | None:
    """A label as a file would have it."""
    if isinstance(label, (list, tuple)):
        return "|".join(map(str, label))
    return None if label is None or isinstance(label, str) and not label else _named_class(label)


def analyze(data: Any, tokenizer: Any = None, *, max_length: int | None = 512, batch_size: int | None = None, max_tokens: int | None = None,
            seed: int = 42, text_column: str | None = None, pair_column: str | None = None, label_column: str | None = None, samples: int = 3,
            windows: int | None = None, max_windows: int | None = None, runtime: Any = None, **plan: Any) -> Analysis:
    """Lengths and the cost of padding of rows of any kind (``Dataset.of``; a tuple of two is a text and a label). tokenizer: a Tokenizer, a folder, or a name; a ``Dataset``
    needs none. Other options are those of batches; batching and padding are all tried. The analysis keeps the rows for its page, which
    shows the labels too, if there are any (label_column), and ``samples`` texts that are drawn by seed. windows: rows become windows
    that overlap by so many tokens, at most max_windows (16); ``at_length`` says of other lengths what they lose, cut or in such windows."""
    from .dataset import Dataset, refuse_encoded

    _kinds.check(analyze, locals(), BatchOptions)
    columns = {"text_column": text_column, "pair_column": pair_column, "label_column": label_column}
    data = dataset = _holders.kept(data)
    if not isinstance(data, Dataset):
        if tokenizer is None:
            raise TypeError("brim.analyze needs a tokenizer to count tokens: brim.analyze(rows, \"bert-base-uncased\")")
        _notes.of_pairs(data)
        dataset = Dataset.of(_rows.without_labels(data), tokenizer, labelled=False, max_length=max_length, text_column=text_column, pair_column=pair_column,
                             windows=windows, max_windows=max_windows, **({"runtime": runtime} if runtime else {}))
    else:
        refuse_encoded(data, windows=windows, max_windows=max_windows, **columns)
        if tokenizer is not None and (data.tokenizer is None or _tokenizer(tokenizer, data._runtime).fingerprint != data.tokenizer.fingerprint):
            refuse_encoded(data, tokenizer=tokenizer)
    if batch_size is None and max_tokens is None:
        batch_size = 16
    seed, samples = _seed("seed", seed), whole("samples", samples, 0)
    plan = {"batch_size": batch_size, "max_tokens": max_tokens, "max_length": max_length, "seed": seed, **plan}
    made = dataset._core.windows() or (windows or 0, max_windows or 16)
    return Analysis(_core.analyze(dataset._core, dict(plan), dataset.tokenizer and dataset.tokenizer._core, *made), _Source(data, dataset, plan, columns, samples))


# ---- folds -----------------------------------------------------------------------------------------------------------

@dataclass(repr=False)
class FoldsResult(_Paged):
    """What training in folds came to: every row predicted by the model that has not seen it."""

    metrics: dict[str, Any]                 #: of the out-of-fold predictions, over all rows
    folds: list[dict[str, Any]]             #: train_rows, valid_rows, steps and metrics of each
    fold: Sequence[int]                     #: int32 [rows]: in which fold a row was held out
    logits: Any                             #: float32 [rows, outputs], or [tokens, outputs] of labels of words, out of fold
    averages: list[dict[str, Any]] = field(default_factory=list)  #: name, logits and metrics of each evaluation set, by all folds' models together

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {_number(value) or 'undefined'}" for name, value in self.metrics.items() if isinstance(value, float) and name != "seconds")
        return f"FoldsResult({len(self.folds)} folds, {len(self.fold):,} rows, {shown})"

    def _page(self) -> tuple[str, list[Any]]:
        names = [n for n in self.metrics if n not in ("rows", "tokens", "slots", "seconds")]
        rows = [[f"fold {i}", f"{f['valid_rows']:,}", *(_number(f["metrics"].get(n)) for n in names)] for i, f in enumerate(self.folds)]
        rows.append(["all rows", f"{self.metrics['rows']:,}", *(_number(self.metrics.get(n)) for n in names)])
        return "Folds", [("table", "Held-out rows", ["fold", "rows", *names], [cell for row in rows for cell in row])]
