"""What fits into torch: tensors, a dataset and a loader of batches, a batch sampler, a collator.

Either let brim make the batches,

    loader = brim.torch.DataLoader(rows.batches(batch_size=16, batching="uniform", padding="longest"))

or keep your own dataset and loader, and take only the choice of what goes together:

    torch.utils.data.DataLoader(mine, batch_sampler=brim.torch.BatchSampler(lengths, batch_size=16), collate_fn=brim.torch.Collator(pad_id=0))
"""
from __future__ import annotations

from typing import Any, Iterator, Sequence

import torch as _torch
import torch.utils.data as _data

from . import _core
from .batches import Batches, Plan, restore_order
from .feed import Stream
from .errors import MismatchError

__all__ = ["BatchSampler", "Collator", "DataLoader", "IterableDataset", "restore_order", "tensors"]


def tensors(arrays: dict[str, Any], *, device=None, pin_memory: bool = False) -> dict[str, Any]:
    """Arrays of brim as tensors that share their memory; other values stay. pin_memory takes effect where CUDA is."""
    pin = pin_memory and _torch.cuda.is_available()
    out = {}
    for name, value in arrays.items():
        if isinstance(value, _core.Array):
            value = _torch.from_dlpack(value) if value.shape[0] and value.shape[-1] else _torch.empty(value.shape, dtype=_DTYPES[value.format])
            value = value.pin_memory() if pin else value
            value = value.to(device, non_blocking=pin) if device is not None else value
        out[name] = value
    return out


_DTYPES = {"i": _torch.int32, "q": _torch.int64, "B": _torch.uint8, "f": _torch.float32}


def _process() -> tuple[int, int]:
    d = _torch.distributed
    return (d.get_rank(), d.get_world_size()) if d.is_available() and d.is_initialized() else (0, 1)


class IterableDataset(_data.IterableDataset):
    """Batches (``brim.Batches``) or a ``brim.Stream`` as a torch dataset that yields ready dicts of tensors: use batch_size=None.

    With n workers, worker w takes batches w, w + n, w + 2n, ..., which the loader hands out in their order, so the batches are those of
    one process. Training (``Batches``, endless streams) continues with every ``iter``; a finite stream begins again. Torch's own loader
    copies the dataset into its workers at every ``iter``: there call ``set_epoch`` or keep the workers (persistent_workers=True), or
    take ``DataLoader``, which goes on by itself. The state is that of the process (or worker) that asks, as torchdata's
    StatefulDataLoader wants it.
    """

    def __init__(self, source: Batches | Stream):
        self.source = source
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
            yield batch.torch()

    def __len__(self) -> int:
        return len(self.source)

    def set_epoch(self, epoch: int) -> None:
        self.source.set_epoch(epoch)
        self._resumed = False

    def state_dict(self) -> dict[str, Any]:
        return {"source": self.source.state_dict(), "index": self._index}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.source.load_state_dict(state["source"])
        self._index, self._resumed = state["index"], True


class DataLoader:
    """A loader with a state that is exact at any batch, with any number of workers: what workers have prepared ahead does not count.

    source: ``Batches`` or a ``Stream``. Other options go to torch's DataLoader (num_workers, prefetch_factor, pin_memory, ...).
    """

    def __init__(self, source: Batches | Stream, **options):
        self.source = source
        self._options = options
        self._at: dict[str, Any] | None = None  # where the running pass began
        self._taken = 0

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
        loader = _data.DataLoader(IterableDataset(source), batch_size=None, **self._options)
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
        self.source.load_state_dict(state.get("stream", state))
        for _, _batch in zip(range(state.get("taken", 0)), self.source):
            pass
        self.source._fresh = True  # the next pass goes on here, also of a finite stream


class BatchSampler(_data.Sampler):
    """Lists of row indices for torch's DataLoader(batch_sampler=...): brim's choice of what goes together, for any dataset.

    lengths: tokens of every row. rank and world_size default to torch.distributed's; every rank gets the same number of batches. Each
    ``iter`` is the next epoch; ``set_epoch`` overrides, as for DistributedSampler. Options are those of ``brim.Batches``. Exact state
    with num_workers=0; with workers, count the batches you took and pass them to ``state_dict(taken)``.
    """

    def __init__(self, lengths: Sequence[int], *, rank: int | None = None, world_size: int | None = None, seed: int = 42,
                 padding: str = "longest", batching: str = "random", **options):
        rank_now, size_now = _process()
        self.lengths = lengths
        self.rank = rank_now if rank is None else rank
        if not options.get("batch_size") and not options.get("max_tokens"):
            options["batch_size"] = 16
        self._options = {**options, "seed": seed, "padding": padding, "batching": batching,
                         "world_size": size_now if world_size is None else world_size}
        self._epoch = self._start = 0
        self._at = (0, 0)
        self._taken = 0
        self._planned: tuple[int, Plan] | None = None
        self._plan(0)

    def _plan(self, epoch: int) -> Plan:
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, Plan(self.lengths, epoch=epoch, rank=self.rank, **self._options))
        return self._planned[1]

    def set_epoch(self, epoch: int) -> None:
        self._epoch, self._start = int(epoch), 0
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
        return {"version": 1, "epoch": epoch, "batch": start + (self._taken if taken is None else taken), "rows": len(self.lengths)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state.get("version") != 1 or state["rows"] != len(self.lengths):
            raise MismatchError(f"the state is for {state.get('rows')} rows, and there are {len(self.lengths)} here")
        self._epoch, self._start = state["epoch"], state["batch"]
        self._at, self._taken = (self._epoch, self._start), 0


class Collator:
    """Rows as Hugging Face tokenizers give them (dicts with input_ids, maybe token_type_ids, and label or labels) into a batch.

    padding: "longest" or "max_length" (right padding, int64 input_ids, attention_mask, token_type_ids [rows, width]), or "none":
    ragged, as ``brim.Batch.ragged`` describes. Labels: int64 classes, or float32 values if any is a float; of each token, as many as
    input_ids: int64 [rows, width] with -100 on padding, or [1, tokens].
    """

    def __init__(self, tokenizer=None, *, pad_id: int | None = None, padding: str = "longest", max_length: int | None = None,
                 pad_to_multiple_of: int | None = None):
        if padding not in ("none", "longest", "max_length") or (padding == "max_length" and not max_length):
            raise ValueError('padding is "none", "longest", or "max_length" with a max_length')
        if pad_id is None:
            pad_id = getattr(tokenizer, "pad_id", getattr(tokenizer, "pad_token_id", None))
        if pad_id is None and padding != "none":
            raise ValueError("give a tokenizer or a pad_id")
        self.pad_id, self.padding, self.max_length, self.multiple = pad_id or 0, padding, max_length, pad_to_multiple_of or 1

    def _width(self, longest: int) -> int:
        width = self.max_length if self.padding == "max_length" else longest
        if longest > width:
            raise ValueError(f"a row has {longest} tokens, more than max_length {width}: truncate when tokenizing")
        return -(-width // self.multiple) * self.multiple

    def _padded(self, rows: list, lengths: list[int], types: bool) -> dict[str, Any]:
        shape = (len(rows), self._width(max(lengths)))
        ids = _torch.full(shape, self.pad_id, dtype=_torch.int64)
        mask = _torch.zeros(shape, dtype=_torch.int64)
        kinds = _torch.zeros(shape, dtype=_torch.int64) if types else None
        for i, row in enumerate(rows):
            ids[i, : lengths[i]] = _torch.as_tensor(row["input_ids"])
            mask[i, : lengths[i]] = 1
            if types:
                kinds[i, : lengths[i]] = _torch.as_tensor(row["token_type_ids"])
        return {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": kinds} if types else {})

    def _ragged(self, rows: list, lengths: list[int], types: bool) -> dict[str, Any]:
        flat = lambda name: _torch.cat([_torch.as_tensor(r[name], dtype=_torch.int64) for r in rows])[None]
        starts = _torch.zeros(len(rows) + 1, dtype=_torch.int32)
        starts[1:] = _torch.cumsum(_torch.tensor(lengths), 0)
        out = {"input_ids": flat("input_ids"), "position_ids": _torch.cat([_torch.arange(n) for n in lengths])[None],
               "cu_seq_lens_q": starts, "cu_seq_lens_k": starts, "max_length_q": max(lengths), "max_length_k": max(lengths)}
        return out | ({"token_type_ids": flat("token_type_ids")} if types else {})

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
        rows = list(rows)
        lengths = [len(r["input_ids"]) for r in rows]
        types = "token_type_ids" in rows[0]
        out = (self._ragged if self.padding == "none" else self._padded)(rows, lengths, types)
        name = next((n for n in ("labels", "label") if n in rows[0]), None)
        if name:
            values = [r[name].tolist() if hasattr(r[name], "tolist") else r[name] for r in rows]
            out["labels"] = self._labels(values, lengths, out["input_ids"].shape[1])
        return out

    def _labels(self, values: list, lengths: list[int], width: int):
        flat = [one for v in values for one in (v if isinstance(v, (list, tuple)) else [v])]
        if any(isinstance(one, float) for one in flat):
            return _torch.tensor(values, dtype=_torch.float32)
        if not all(isinstance(v, (list, tuple)) for v in values):
            return _torch.tensor(values, dtype=_torch.int64)
        if [len(v) for v in values] != lengths:
            raise ValueError("lists of labels are whole numbers of each token, as many as input_ids, or floats of each label")
        if self.padding == "none":
            return _torch.tensor([flat], dtype=_torch.int64)
        return _torch.tensor([[*v, *[-100] * (width - len(v))] for v in values], dtype=_torch.int64)
