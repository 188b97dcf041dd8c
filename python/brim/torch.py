"""What fits into torch: tensors, a dataset and a loader of batches, a batch sampler, a collator.

Either let brim make the batches,

    loader = brim.torch.DataLoader(rows.batches(batch_size=16, batching="uniform", padding="longest"))

or keep your own dataset and loader, and take only the choice of what goes together:

    torch.utils.data.DataLoader(mine, batch_sampler=brim.torch.BatchSampler(lengths, batch_size=16), collate_fn=brim.torch.Collator(pad_id=0))
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch as _torch
import torch.utils.data as _data

from . import _core, layout as _layout
from .batches import Batch, Batches, Plan, counts, digest, identity, refuse_other, restore_order, saved_number, saved_place
from .feed import Stream
from .errors import MismatchError
from .layout import Layout
from .options import whole

__all__ = ["BatchSampler", "Collator", "DataLoader", "IterableDataset", "first_tokens", "restore_order", "split_rows", "tensors"]


def tensors(arrays: Mapping[str, Any], *, device: Any = None, pin_memory: bool = False) -> dict[str, Any]:
    """Arrays of brim as tensors that share their memory, on the device; what is neither array nor tensor stays. pin_memory takes effect
    where CUDA is."""
    if not isinstance(arrays, Mapping):
        raise TypeError(f"arrays: a mapping of names to arrays is needed, not {arrays!r:.60}")
    pin = pin_memory and _torch.cuda.is_available()

    def tensor(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: tensor(one) for name, one in value.items()}
        if isinstance(value, _core.Array):
            value = _torch.from_dlpack(value) if value.shape[0] and value.shape[-1] else _torch.empty(value.shape, dtype=_DTYPES[value.format])
        if not isinstance(value, _torch.Tensor):
            return value
        value = value.pin_memory() if pin else value
        return value.to(device, non_blocking=pin) if device is not None else value

    return {name: tensor(value) for name, value in arrays.items()}


# ---- rows without padding ----------------------------------------------------------------------------------------------

class Attention(NamedTuple):
    """How a model keeps the texts of a ragged batch apart: "flash", "sdpa" or "eager"."""

    kind: str
    layout: Layout

    def kept_apart(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A ragged batch as this attention takes it."""
        if self.kind == "flash":
            return batch
        starts: _torch.Tensor = batch.pop("cu_seq_lens_q")
        longest: int = batch.pop("max_length_q")
        del batch["cu_seq_lens_k"], batch["max_length_k"]
        return {**batch, "attention_mask": self._masks(starts, longest)}

    def _masks(self, starts: _torch.Tensor, longest: int) -> Any:
        row = _torch.repeat_interleave(_torch.arange(len(starts) - 1), starts.diff())
        same = row[:, None] == row[None, :]
        if self.layout.window is None:
            return self._mask(same)
        at = _torch.arange(len(row))
        near = (at[:, None] - at[None, :]).abs() <= self.layout.window
        return {"full_attention": self._mask(same), "sliding_attention": self._mask(same & near if longest > self.layout.window else same)}

    def _mask(self, seen: _torch.Tensor) -> _torch.Tensor:
        if self.kind == "sdpa":
            return seen[None, None]
        return _torch.zeros(seen.shape).masked_fill_(~seen, _torch.finfo(_torch.float32).min)[None, None]


def attention_of(kind: str | None, model: Any, layout: Layout) -> Attention:
    """Of a model of transformers, or as named; floats that are added serve both kinds that look at a mask."""
    if kind is not None and not isinstance(kind, str):
        raise TypeError(f'for_attention is "flash", "sdpa" or "eager", not {kind!r:.60}')
    if model is not None and not hasattr(model, "config"):
        raise TypeError(f"model: one of transformers is needed, which has a config, not {model!r:.60}")
    if kind is None:
        says = str(getattr(model.config, "_attn_implementation", "")) if model is not None else ""
        kind = "flash" if "flash" in says else "sdpa" if says == "sdpa" else "eager"
    if kind.startswith("flash"):  # flash_attention_2, as transformers says
        kind = "flash"
    if kind not in ("flash", "sdpa", "eager"):
        raise ValueError(f'for_attention is "flash", "sdpa" or "eager", not {kind!r}')
    return Attention(kind, layout if model is None else _layout.of_model(model))


def _tensors(batch: Mapping[str, Any] | Batch) -> Mapping[str, Any]:
    tensors = batch.torch() if isinstance(batch, Batch) else batch
    if not isinstance(tensors, Mapping):
        raise TypeError(f"batch: a Batch or its tensors by name are needed, not {batch!r:.60}")
    if not {"cu_seq_lens_q", "position_ids"} & tensors.keys():
        raise ValueError('the batch is padded: its rows are those of its tensors; padding="none" makes ragged ones')
    return tensors


def first_tokens(batch: Mapping[str, Any] | Batch) -> _torch.Tensor:
    """Where the rows of a ragged batch begin, int64 [rows]: ``hidden[0, first_tokens(batch)]`` is what a head for texts looks at."""
    batch = _tensors(batch)
    if "cu_seq_lens_q" in batch:
        return batch["cu_seq_lens_q"][:-1].long()
    positions: _torch.Tensor = batch["position_ids"][0]
    return (positions == positions[0]).nonzero()[:, 0] if len(positions) else positions


def split_rows(values: _torch.Tensor, batch: Mapping[str, Any] | Batch) -> list[_torch.Tensor]:
    """Of values of the tokens of a ragged batch ([1, tokens, ...] or [tokens, ...]) those of each row."""
    if not isinstance(values, _torch.Tensor):
        raise TypeError(f"values: a tensor is needed, not {values!r:.60}")
    batch = _tensors(batch)
    tokens = batch["input_ids"].shape[1]
    flat = values[0] if values.shape[0] == 1 and values.ndim > 1 and values.shape[1] == tokens else values
    starts = [*first_tokens(batch).tolist(), tokens]
    return [flat[a:b] for a, b in zip(starts, starts[1:])]


_DTYPES = {"i": _torch.int32, "q": _torch.int64, "B": _torch.uint8, "f": _torch.float32}


def _process() -> tuple[int, int]:
    d = _torch.distributed
    return (d.get_rank(), d.get_world_size()) if d.is_available() and d.is_initialized() else (0, 1)


def _source_layout(source: Batches | Stream) -> Layout:
    return source.dataset.layout if isinstance(source, Batches) else source.tokenizer.layout


class IterableDataset(_data.IterableDataset[dict[str, Any]]):
    """Batches (``brim.Batches``) or a ``brim.Stream`` as a torch dataset that yields ready dicts of tensors: use batch_size=None.

    With n workers, worker w takes batches w, w + n, w + 2n, ..., which the loader hands out in their order, so the batches are those of
    one process. Training (``Batches``, endless streams) continues with every ``iter``; a finite stream begins again. Torch's own loader
    copies the dataset into its workers at every ``iter``: there call ``set_epoch`` or keep the workers (persistent_workers=True), or
    take ``DataLoader``, which goes on by itself. The state is that of the process (or worker) that asks, as torchdata's
    StatefulDataLoader wants it. for_attention and model are those of ``Batch.torch``.
    """

    def __init__(self, source: Batches | Stream, *, for_attention: str | None = None, model: Any = None):
        if not isinstance(source, (Batches, Stream)):
            raise TypeError(f"batches or a stream are needed, not {source!r:.60}: " +
                            ("dataset.batches(batch_size=16, padding=\"longest\")" if hasattr(source, "batches") else
                             "torch.utils.data.DataLoader(rows, batch_sampler=BatchSampler(lengths), collate_fn=Collator(tokenizer)) takes any dataset"))
        self.source = source
        self._attention = None if for_attention is None and model is None else attention_of(for_attention, model, _source_layout(source))
        self._index = 0  # batches of the running pass so far, which decide whose turn it is
        self._resumed = False

    def _batches(self) -> Iterator[Any]:
        worker = _data.get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        batches = iter(self.source)
        skip = getattr(batches, "skip", None)
        while True:
            mine = self._index % step == first
            batch = next(batches, None) if mine or not skip else None
            if batch is None and (mine or not skip or not skip()):
                return
            self._index = 0 if getattr(batches, "done", False) else self._index + 1
            if mine:
                yield batch

    def __iter__(self) -> Iterator[dict[str, Any]]:
        if not self._resumed:
            self._index = 0
        self._resumed = False
        for batch in self._batches():
            if self._attention is None or batch.width:
                yield batch.torch()
            else:
                yield self._attention.kept_apart(tensors(batch.ragged(self._attention.layout)))

    def __len__(self) -> int:
        return len(self.source)

    def set_epoch(self, epoch: int) -> None:
        self.source.set_epoch(epoch)
        self._resumed = False

    def state_dict(self) -> dict[str, Any]:
        return {"source": self.source.state_dict(), "index": self._index}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict) or not {"source", "index"} <= state.keys():
            raise MismatchError(f"{state!r:.60} is no state of an IterableDataset of brim")
        index = saved_number("index", state["index"])
        self.source.load_state_dict(state["source"])
        self._index, self._resumed = index, True


class DataLoader:
    """A loader with a state that is exact at any batch, with any number of workers: what workers have prepared ahead does not count.

    source: ``Batches`` or a ``Stream``. for_attention and model: of ragged batches, as for ``Batch.torch``. Other options go to torch's
    DataLoader (num_workers, prefetch_factor, pin_memory, ...).
    """

    def __init__(self, source: Batches | Stream, *, for_attention: str | None = None, model: Any = None, **options: Any):
        chosen = next((name for name in ("batch_size", "shuffle", "sampler", "batch_sampler", "drop_last", "dataset") if name in options), None)
        if chosen:
            raise TypeError(f"{chosen}: the source has chosen its batches, as in rows.batches(batch_size=16, batching=\"random\")")
        self.source = source
        self._made = IterableDataset(source, for_attention=for_attention, model=model)
        self._options = options
        self._at: dict[str, Any] | None = None  # where the running pass began
        self._taken = 0

    def __repr__(self) -> str:
        return f"brim.torch.DataLoader({self.source!r})"

    def __len__(self) -> int:
        return len(self.source)

    def set_epoch(self, epoch: int) -> None:
        self.source.set_epoch(epoch)
        self._at = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        source = self.source
        if self._at is not None:  # a pass that was left: the next begins after what was taken
            source.load_state_dict(self.state_dict())
        if isinstance(source, Stream):
            source._begin()
            if self._options.get("num_workers"):  # whose copies begin at what was loaded
                source.load_state_dict(source.state_dict())
        at = self._at = source.state_dict()
        self._taken = 0
        loader: _data.DataLoader[dict[str, Any]] = _data.DataLoader(self._made, batch_size=None, **self._options)
        for batch in loader:
            self._taken += 1
            yield batch
        if self._at is at and isinstance(source, Batches):  # workers iterate copies of the source, which stands where it stood
            source.set_epoch(at["epoch"] + 1)
        self._at = None

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands."""
        if self._at is None:
            return self.source.state_dict()
        if isinstance(self.source, Batches):
            return {**self._at, "batch": self._at["batch"] + self._taken}
        return {"stream": self._at, "taken": self._taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._at, self._taken = None, 0
        if isinstance(self.source, Batches):
            self.source.load_state_dict(state)
            return
        if not isinstance(state, dict):
            raise MismatchError(f"{state!r:.60} is no state of a stream")
        taken = saved_number("taken", state.get("taken", 0))
        self.source.load_state_dict(state.get("stream", state))
        for _, _batch in zip(range(taken), self.source):
            pass
        self.source._fresh = True  # the next pass goes on here, also of a finite stream


class BatchSampler(_data.Sampler[list[int]]):
    """Lists of row indices for torch's DataLoader(batch_sampler=...): brim's choice of what goes together, for any dataset.

    lengths: tokens of every row. rank and world_size default to torch.distributed's; every rank gets the same number of batches. Each
    ``iter`` is the next epoch; ``set_epoch`` overrides, as for DistributedSampler. Options are those of ``brim.Batches``. Exact state
    with num_workers=0; with workers, count the batches you took and pass them to ``state_dict(taken)``.
    """

    lengths: Sequence[int] | _core.Array
    rank: int

    def __init__(self, lengths: Sequence[int] | _core.Array, *, rank: int | None = None, world_size: int | None = None, seed: int = 42,
                 padding: str = "longest", batching: str = "random", **options: Any):
        rank_now, size_now = _process()
        self.lengths = counts("lengths", lengths)
        self.rank = rank_now if rank is None else rank
        if not options.get("batch_size") and not options.get("max_tokens"):
            options["batch_size"] = 16
        self._options = {**options, "seed": seed, "padding": padding, "batching": batching,
                         "world_size": size_now if world_size is None else world_size}
        self._epoch = self._start = 0
        self._at = (0, 0)
        self._taken = 0
        self._planned: tuple[int, Plan] | None = None
        self._measured: str | None = None  # digest of the lengths, once a state asked for it
        self._plan(0)

    def _plan(self, epoch: int) -> Plan:
        planned = self._planned  # once: another thread may plan another epoch
        if planned is None or planned[0] != epoch:
            self._planned = planned = (epoch, Plan(self.lengths, epoch=epoch, rank=self.rank, **self._options))
        return planned[1]

    def set_epoch(self, epoch: int) -> None:
        self._epoch, self._start = whole("epoch", epoch, 0), 0
        self._at, self._taken = (self._epoch, 0), 0

    def __len__(self) -> int:
        return len(self._plan(self._epoch)) - self._start

    def __iter__(self) -> Iterator[list[int]]:
        epoch, start = self._epoch, self._start
        plan = self._plan(epoch)
        self._at, self._taken = (epoch, start), 0
        self._epoch, self._start = epoch + 1, 0
        for index in range(start, len(plan)):
            self._taken += 1
            yield plan[index]["rows"].tolist()
        self._at, self._taken = (epoch + 1, 0), 0

    def state_dict(self, taken: int | None = None) -> dict[str, Any]:
        """taken: batches of the running pass that were used; None: all that were asked for."""
        epoch, start = self._at
        return {"version": 2, "epoch": epoch, "batch": start + (self._taken if taken is None else taken), "of": self._identity(epoch)}

    def _identity(self, epoch: int) -> dict[str, Any]:
        if self._measured is None:
            self._measured = digest(self.lengths)
        options = {**Batches.__init__.__kwdefaults__, **{name: value for name, value in self._options.items() if value is not None}}
        rows_for = options.pop("rows_for")
        return {**identity(options, self.rank, self._plan, epoch, rows_for), "rows": len(self.lengths), "lengths": self._measured}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``iter`` continues there. A state of other lengths or options is a MismatchError that names what differs."""
        if not isinstance(state, dict) or state.get("version") != 2 or not {"epoch", "batch", "of"} <= state.keys() or not isinstance(state["of"], dict):
            raise MismatchError(f"{state!r:.60} is no state of a BatchSampler of this version")
        refuse_other(state["of"], self._identity(saved_number("epoch", state["epoch"])))
        self._at, self._taken = saved_place(state, self._plan), 0
        self._epoch, self._start = self._at


#: What stands on padding, by the name of the feature; else 0.
_FILL = {"special_tokens_mask": 1, "labels": -100}


class Collator:
    """Rows as Hugging Face tokenizers give them (dicts with input_ids, and maybe attention_mask, token_type_ids, label or labels) into a
    batch.

    padding: "longest" or "max_length" (right padding, int64 input_ids, attention_mask, token_type_ids [rows, width]), or "none":
    ragged, as ``brim.Batch.torch`` describes, with for_attention and model. Padding at the end of a row, where its attention_mask is 0, is
    cut off first. Labels (label, labels or label_ids): int64 classes, or float32 values if any is a float; of each token, as many as
    input_ids: int64 [rows, width] with -100 on padding, or [1, tokens]. Other features go along: numbers as [rows], lists as long as
    input_ids as those, other lists as [rows, their length]; ``leave_out`` names those that shall not.
    """

    pad_id: int
    padding: str
    max_length: int | None
    multiple: int
    leave_out: frozenset[str]

    def __init__(self, tokenizer: Any = None, *, pad_id: int | None = None, padding: str = "longest", max_length: int | None = None,
                 pad_to_multiple_of: int | None = None, for_attention: str | None = None, model: Any = None, leave_out: Sequence[str] = ()):
        if padding not in ("none", "longest", "max_length") or (padding == "max_length" and not max_length):
            raise ValueError('padding is "none", "longest", or "max_length" with a max_length')
        if max_length is not None and padding != "max_length":
            raise ValueError('max_length is the width with padding="max_length", and cuts no row: truncate when tokenizing')
        if padding == "none" and (pad_to_multiple_of or 1) != 1:
            raise ValueError('pad_to_multiple_of has no effect with padding="none"')
        named = "for_attention" if for_attention is not None else "model" if model is not None else None
        if named and padding != "none":
            raise ValueError(f'{named} is of batches without padding: it has no effect without padding="none"')
        if pad_id is None:
            pad_id = getattr(tokenizer, "pad_id", getattr(tokenizer, "pad_token_id", None))
        if pad_id is None and padding != "none":
            raise ValueError("give a tokenizer or a pad_id")
        self.pad_id, self.padding, self.max_length, self.multiple = pad_id or 0, padding, max_length, pad_to_multiple_of or 1
        self.leave_out = frozenset([leave_out] if isinstance(leave_out, str) else leave_out)
        self._attention = attention_of(for_attention, model, _tokenizer_layout(tokenizer))

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        cut = [self._row(number, row) for number, row in enumerate(rows)]
        if not cut:
            raise ValueError("a batch has one row at least")
        names = _all_have(cut)
        out = self._ragged(cut) if self.padding == "none" else self._padded(cut)
        for name in (name for name in names if name not in _MODEL):
            out[name] = self._feature(name, [row[name] for row in cut], cut)
        return out

    def _row(self, number: int, row: Mapping[str, Any]) -> dict[str, Any]:
        """As lists, without what a mask hides at the end."""
        if not isinstance(row, Mapping):
            raise ValueError(f"row {number} is {row!r:.60}: a dict with input_ids is needed")
        labels = [name for name in row if name in ("labels", *_LABELS) and name not in self.leave_out]
        if len(labels) > 1:
            raise ValueError(f'row {number} has "{labels[0]}" and "{labels[1]}", which are the same: Collator(..., leave_out=["{labels[0]}"]) takes the other')
        found = {_LABELS.get(name, name): value.tolist() if hasattr(value, "tolist") else value for name, value in row.items()
                 if name not in self.leave_out}
        for name, value in found.items():
            wrong = _wrong(name, value if isinstance(value, (list, tuple)) else [value])
            if wrong:
                raise ValueError(f'row {number}: "{name}" {"has" if isinstance(value, (list, tuple)) else "is"} {wrong[0]!r:.40}, no {"whole " if name in _MODEL else ""}number '
                                 f'of 64 bits: take the column away, or Collator(..., leave_out=["{name}"])')
        if "input_ids" not in found:
            raise ValueError(f"row {number} has no input_ids: tokenize first")
        length = len(found["input_ids"])
        mask = found.get("attention_mask", [1] * length)
        for name, values in {"attention_mask": mask, "token_type_ids": found.get("token_type_ids")}.items():
            if values is not None and len(values) != length:
                raise ValueError(f"row {number}: its {name} has {len(values)} values for {length} tokens")
        kept = length
        while kept and not mask[kept - 1]:
            kept -= 1
        if self.padding == "none" and not all(mask[:kept]):
            raise ValueError(f"row {number}: its attention_mask hides tokens before its end, and a batch without padding has no place for them")
        return {name: value[:kept] if isinstance(value, (list, tuple)) and len(value) == length and not (name == "labels" and _decimals(value)) else value
                for name, value in {**found, "attention_mask": mask}.items()}

    def _width(self, longest: int) -> int:
        width = self.max_length if self.padding == "max_length" and self.max_length else longest
        if longest > width:
            raise ValueError(f"a row has {longest} tokens, more than max_length {width}: truncate when tokenizing")
        return -(-width // self.multiple) * self.multiple

    def _padded(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        width = self._width(max(len(row["input_ids"]) for row in rows))
        fill = {"input_ids": self.pad_id, "attention_mask": 0, "token_type_ids": 0}
        return {name: _torch.tensor([[*row[name], *[value] * (width - len(row[name]))] for row in rows], dtype=_torch.int64).reshape(len(rows), width)
                for name, value in fill.items() if name in rows[0]}

    def _ragged(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        ids = [row["input_ids"] for row in rows]
        longest = max(map(len, ids))
        starts = _torch.zeros(len(rows) + 1, dtype=_torch.int32)
        starts[1:] = _torch.cumsum(_torch.tensor([len(row) for row in ids]), 0)
        out = {"input_ids": _joined(ids), "position_ids": _joined([_positions(row, self._attention.layout.pad) for row in ids]),
               "cu_seq_lens_q": starts, "cu_seq_lens_k": starts, "max_length_q": longest, "max_length_k": longest}
        if "token_type_ids" in rows[0]:
            out["token_type_ids"] = _joined([row["token_type_ids"] for row in rows])
        return self._attention.kept_apart(out)

    def _feature(self, name: str, values: list[Any], rows: list[dict[str, Any]]) -> _torch.Tensor:
        """A number a row, a number a token, or a list of one length a row."""
        lists = all(isinstance(v, (list, tuple)) for v in values)
        flat = [one for v in values for one in (v if isinstance(v, (list, tuple)) else [v])]
        kind = _torch.float32 if _decimals(flat) else _torch.int64
        of_tokens = lists and all(len(v) == len(row["input_ids"]) for v, row in zip(values, rows)) and not (name == "labels" and _decimals(flat))
        classes = name == "labels" and kind == _torch.int64
        if lists and not of_tokens and (classes or len({len(v) for v in values}) > 1) or not lists and len(flat) != len(values):
            what = "lists of labels are whole numbers of each token, as many as input_ids, or floats of each label"
            raise ValueError(what if name == "labels" else f'"{name}" is of as many numbers as input_ids, or of equally many in each row')
        if not of_tokens:
            return _torch.tensor(values, dtype=kind)
        if self.padding == "none":
            return _torch.tensor([flat], dtype=kind)
        width = self._width(max(len(v) for v in values))
        return _torch.tensor([[*v, *[_FILL.get(name, 0)] * (width - len(v))] for v in values], dtype=kind)


def _wrong(name: str, values: Sequence[Any]) -> list[Any]:
    """What is no number, or none that a tensor holds."""
    kinds = set(map(type, values))
    if not kinds <= {int, float, bool}:
        return [one for one in values if isinstance(one, (str, bytes, list, tuple)) or not (hasattr(one, "__index__") or hasattr(one, "__float__"))]
    if name in _MODEL and float in kinds:
        return [one for one in values if isinstance(one, float)]
    return [one for one in values if isinstance(one, int) and not -(1 << 63) <= one < 1 << 63] if int in kinds else []


def _all_have(rows: list[dict[str, Any]]) -> list[str]:
    """The features of the rows, each of which all have."""
    names = {name: None for row in rows for name in row}
    for name in names:
        lacking = next((number for number, row in enumerate(rows) if name not in row), None)
        if lacking is not None:
            raise ValueError(f'row {lacking} has no "{name}", and others have it')
    return [*names]


def _decimals(values: Sequence[Any]) -> bool:
    """Numbers with a point; a list of labels is then of the row, however many tokens that has, and else of its tokens."""
    return any(isinstance(one, float) for one in values)


_MODEL = ("input_ids", "attention_mask", "token_type_ids")
_LABELS = {"label": "labels", "label_ids": "labels"}


def _joined(rows: Sequence[Sequence[int]]) -> _torch.Tensor:
    return _torch.tensor([[one for row in rows for one in row]], dtype=_torch.int64)


def _positions(ids: Sequence[int], pad: int) -> list[int]:
    """As ``Batch.ragged`` numbers them."""
    found, at = [], pad + 1
    for one in ids:
        found.append(pad if one == pad else at)
        at += one != pad
    return found


def _tokenizer_layout(tokenizer: Any) -> Layout:
    """Of a tokenizer of brim, or of one of transformers by its folder, or else its class."""
    if tokenizer is None or isinstance(getattr(tokenizer, "layout", None), Layout):
        return Layout() if tokenizer is None else tokenizer.layout
    pad = getattr(tokenizer, "pad_token_id", None)
    return (_layout.of_folder(str(getattr(tokenizer, "name_or_path", "")), -1 if pad is None else pad)
            or _layout.of_class(type(tokenizer).__name__, -1 if pad is None else pad) or Layout())
