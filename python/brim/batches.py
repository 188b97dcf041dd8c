"""Plans and batches: which rows go together, epoch after epoch."""
from __future__ import annotations

import array
import copy
import hashlib
import operator
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping, Sequence, SupportsIndex

from . import _core, kinds as _kinds, runtime as _runtime
from .errors import MismatchError, UsageError
from .layout import Layout
from .options import MOST, of_batches, seed as _seed, whole
from .plain import _plain

if TYPE_CHECKING:
    from .dataset import Dataset

_STATE_VERSION = 1


class Batch:
    """Some rows: always ragged; padded arrays are made from it on request.

    ids (int32 [tokens]), type_ids (uint8 [tokens]), offsets (int32 [texts + 1]: text i is ids[offsets[i]:offsets[i + 1]]), labels
    (float32 [rows], class id or value, NaN if there is none; where words have labels token_labels, int32 [tokens], -100 if there is
    none) and rows (int64 [rows], which rows of the dataset) share memory with whatever is made of them by numpy.asarray or
    torch.from_dlpack. Each row is one text, unless there are firsts (int32 [rows + 1]): row i has the texts firsts[i] to
    firsts[i + 1] - 1.
    """

    pad_id: int
    values: bool
    labelled: bool
    types: bool
    layout: Layout
    epoch: int
    index: int

    __slots__ = ("_core", "pad_id", "values", "labelled", "types", "layout", "epoch", "index")

    def __init__(self, core: Any, *, pad_id: int, values: bool, labelled: bool, types: bool, layout: Layout, epoch: int, index: int):
        self._core = core
        self.layout = layout  #: how the model numbers positions, as far as the tokenizer's folder says
        self.pad_id, self.values, self.labelled, self.types = pad_id, values, labelled, types
        self.epoch = epoch  #: counted from 0
        self.index = index  #: of the batch in its epoch, from 0; in a stream, among this rank's batches that have rows

    def __len__(self) -> int:
        return self._core.row_count

    def __reduce__(self) -> tuple[Any, ...]:
        core = self._core
        arrays = (core.ids, core.type_ids, core.offsets, _flat(core.labels), core.rows, core.places, core.token_labels, core.firsts)
        blocks = [(name, None, per, integers, width, _flat(numbers), [0]) for name, per, integers, width, numbers in core.blocks]
        numbers = (core.label_width, core.width, core.slots, core.step, core.step_rows, blocks)
        return _remake_batch, (arrays, numbers, self.pad_id, self.values, self.labelled, self.types, self.layout, self.epoch, self.index)

    def __getattr__(self, name: str) -> Any:
        hint = ": batch.torch() has them, of a ragged batch in one row; batch.ids has the ids" if name in ("input_ids", "attention_mask", "token_type_ids", "position_ids") else ""
        raise AttributeError(f"a Batch has no {name}{hint}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"Batch({len(self)} rows, {self.tokens} tokens, {self.slots} slots, epoch {self.epoch}, batch {self.index})"

    @property
    def ids(self) -> _core.Array:
        """int32 [tokens]"""
        return self._core.ids

    @property
    def type_ids(self) -> _core.Array:
        """uint8 [tokens]"""
        return self._core.type_ids

    @property
    def offsets(self) -> _core.Array:
        """int32 [texts + 1]"""
        return self._core.offsets

    @property
    def firsts(self) -> _core.Array | None:
        """int32 [rows + 1]: where each row's texts begin; None where each row is one text."""
        return self._core.firsts

    @property
    def texts(self) -> int:
        """What is computed, each by itself: as many as rows, unless rows have several texts."""
        return self._core.count

    @property
    def labels(self) -> _core.Array:
        """float32 [rows]"""
        return self._core.labels

    @property
    def token_labels(self) -> _core.Array | None:
        """int32 [tokens]; None where labels are of rows"""
        return self._core.token_labels

    @property
    def blocks(self) -> dict[str, _core.Array]:
        """Numbers besides the labels, by name (``Dataset.blocks``): float32 or int32 [rows, width], [texts, width] or [tokens, width]."""
        return {name: numbers for name, _, _, _, numbers in self._core.blocks}

    @property
    def rows(self) -> _core.Array:
        """int64 [rows]"""
        return self._core.rows

    @property
    def places(self) -> _core.Array:
        """int32 [texts]: place of each row in its optimizer step; text t of the row at place p has p * K + t, K the most texts of a row"""
        return self._core.places

    @property
    def tokens(self) -> int:
        """Real tokens."""
        return self._core.tokens

    @property
    def slots(self) -> int:
        """What is computed: tokens when ragged, texts x width when padded."""
        return self._core.slots

    @property
    def width(self) -> int:
        """Slots of every text; 0 when ragged."""
        return self._core.width

    @property
    def step(self) -> int:
        """Optimizer step of the epoch that the batch belongs to."""
        return self._core.step

    @property
    def step_rows(self) -> int:
        """Rows of that step over all its batches and ranks: divides the loss."""
        return self._core.step_rows

    def targets(self) -> _core.Array:
        """Labels as a loss takes them: int64 classes (-100 where there is none); float32 values; float32 [rows, labels] of 0 and 1. Where
        words have labels: int64 [1, tokens] (``padded()`` has them as [rows, width])."""
        if self._core.token_labels is not None:
            return self._core.token_classes(-1)
        return self._core.labels if self.values else self._core.classes()

    def padded(self, width: int | None = None) -> dict[str, Any]:
        """int64 [texts, width] input_ids, attention_mask (1 on tokens), token_type_ids (where the model takes them: ``types``), and
        labels [rows], or [rows, width] where words have labels; where rows have several texts firsts, int32 [rows + 1]; ``blocks``
        by their names. width None: the batch's own."""
        ids, mask, types = self._core.padded(whole("width", width or 0, most=MOST), self.pad_id)
        out = {"input_ids": ids, "attention_mask": mask}
        if self.types:
            out["token_type_ids"] = types
        if self.labelled:
            words = self._core.token_labels is not None
            out["labels"] = self._core.token_classes(ids.shape[1]) if words else self.targets()
        return self._with_more(out)

    def _with_more(self, arrays: dict[str, Any]) -> dict[str, Any]:
        """The blocks, and where rows have several texts, which are whose."""
        arrays = {**self.blocks, **arrays}
        return arrays if self.firsts is None else {**arrays, "firsts": self.firsts}

    def ragged(self, layout: Layout | None = None) -> dict[str, Any]:
        """All texts in one, as flash attention and transformers' padding-free path over it take them: int64 input_ids, position_ids (and
        token_type_ids) [1, tokens], int32 cu_seq_lens_q and cu_seq_lens_k [texts + 1], int max_length_q and max_length_k, and labels [rows],
        or [1, tokens] where words have labels; where rows have several texts firsts, int32 [rows + 1]; ``blocks`` by their names. Other attention (sdpa, eager) does not look at cu_seq_lens: ``torch()`` gives it a mask.
        layout: where positions begin; None: as the tokenizer's folder says."""
        if layout is not None and not isinstance(layout, Layout):
            raise TypeError(f"layout: a Layout is needed, not {layout!r:.60}")
        ids, types, positions = self._core.flat((layout or self.layout).pad)
        offsets = self._core.offsets
        starts = memoryview(offsets)
        longest = max((starts[i + 1] - starts[i] for i in range(self.texts)), default=0)
        out = {"input_ids": ids, "position_ids": positions, "cu_seq_lens_q": offsets, "cu_seq_lens_k": offsets,
               "max_length_q": longest, "max_length_k": longest}
        if self.types:
            out["token_type_ids"] = types
        if self.labelled:
            out["labels"] = self.targets()
        return self._with_more(out)

    def arrays(self) -> dict[str, Any]:
        """``padded()`` where the plan pads, else ``ragged()``."""
        return self.padded() if self.width else self.ragged()

    def numpy(self) -> dict[str, Any]:
        """``arrays()`` as NumPy arrays; nothing is copied."""
        import numpy

        return {k: numpy.asarray(v) if isinstance(v, _core.Array) else v for k, v in self.arrays().items()}

    def to(self, device: str) -> dict[str, Any]:
        """``arrays()`` on a device, such as "cuda": arrays for ``torch.from_dlpack`` and others (``brim.to``)."""
        from . import device as devices

        return devices.to(self.arrays(), device)

    def torch(self, *, device: Any = None, pin_memory: bool = False, for_attention: str | None = None, model: Any = None) -> dict[str, Any]:
        """``arrays()`` as torch tensors; nothing is copied unless a device or pinned memory is asked for.

        A ragged batch is one row of all tokens. for_attention says how its texts are kept apart: "flash" by cu_seq_lens, which flash
        attention alone looks at; "sdpa" by an attention_mask of bool [1, 1, tokens, tokens], "eager" by one of floats that are added, which
        sdpa takes too and which is the default. A model with local layers (ModernBERT) gets a mask for each kind of layer. model: one of
        transformers, whose config says which attention it has and how it numbers positions; without it, the tokenizer's folder does.
        ``brim.torch.first_tokens`` finds the rows in what comes out."""
        from . import torch as torches

        if self.width:
            return torches.tensors(self.arrays(), device=device, pin_memory=pin_memory)
        to = torches.attention_of(for_attention, model, self.layout)
        return torches.tensors(to.kept_apart(torches.tensors(self.ragged(to.layout))), device=device, pin_memory=pin_memory)


def _flat(values: Any) -> Any:
    """The numbers of an array of one or two dimensions, in one."""
    return values if len(values.shape) == 1 else [one for row in values for one in row]


def _remake_batch(arrays, numbers, pad_id, values, labelled, types, layout, epoch, index):
    core = _core.batch(_runtime.default(), *arrays, *numbers)
    return Batch(core, pad_id=pad_id, values=values, labelled=labelled, types=types, layout=layout, epoch=epoch, index=index)


def saved_place(state: Mapping[str, Any], plan: Callable[[int], Any]) -> tuple[int, int]:
    """The epoch of a saved state and the batches of it that were taken; plan: the batches of an epoch."""
    epoch, batch = (saved_number(name, state[name]) for name in ("epoch", "batch"))
    if batch > len(plan(epoch)):
        raise MismatchError(f"the state is after {batch} batches, and there are {len(plan(epoch))} here")
    return epoch, batch


def saved_number(name: str, value: Any) -> int:
    """Of a saved state, which may hold any value."""
    if type(value) is not int or not 0 <= value <= MOST:
        raise MismatchError(f"the state has {name} {value!r:.60}: a whole number is needed")
    return value


def _rank(rank: Any, world_size: Any) -> int:
    number = whole("rank", rank)
    if not 0 <= number < (1 if world_size is None else whole("world_size", world_size, 1)):
        raise ValueError(f"rank {rank} of {world_size}: ranks count from 0")
    return number


def counts(name: str, given: Any) -> Any:
    """Whole numbers of rows, as they were given; what is none is refused with its row. A dataset has its own."""
    if hasattr(given, "_core"):
        return given
    if not hasattr(given, "__iter__") and not hasattr(given, "__len__"):
        raise UsageError(f"{name}: a list of whole numbers is needed, not {given!r:.60}")
    given = given if hasattr(given, "__len__") else list(given)
    whole_numbers = getattr(getattr(given, "dtype", None), "kind", "i") in "iu"
    listed = given.tolist() if hasattr(given, "tolist") and not whole_numbers else given
    if isinstance(listed, (list, tuple)) and not (set(map(type, listed)) == {int} and -MOST <= min(listed) and max(listed) <= MOST):
        wrong = next((row for row, one in enumerate(listed) if isinstance(one, bool) or not hasattr(one, "__index__") or not -MOST <= operator.index(one) <= MOST), None)
        if wrong is not None:
            raise UsageError(f"{name}: row {wrong} has {listed[wrong]!r:.60}: a whole number of 32 bits is needed")
    return given


def digest(given: Any) -> str:
    """Of whole numbers of rows, by which a state knows them again; of a dataset those of its texts."""
    texts = getattr(given, "text_lengths", None)
    hashed = hashlib.blake2b(digest_size=8)
    for numbers in (given,) if texts is None else (texts, given.firsts or ()):
        listed = numbers.tolist() if hasattr(numbers, "tolist") else numbers
        hashed.update(array.array("q", map(operator.index, listed)).tobytes() + b"|")
    return hashed.hexdigest()


def identity(options: Mapping[str, Any], rank: int, plan: Callable[[int], Plan], epoch: int, rows_for: Any) -> dict[str, Any]:
    """What a state is of, besides the rows: all that decides which of them come when. What a function answers is known by the plan."""
    said = {name: _plain(value) for name, value in options.items() if value is not None}
    return {**said, "rank": _plain(rank), **({} if rows_for is None else {"rows_for": f"{plan(epoch).ledger()['hash']:016x}"})}


def refuse_other(its: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """A state of other data or options, by what differs."""
    for name in sorted({*mine, *its}, key=str):
        if mine.get(name) != its.get(name):
            raise MismatchError(f"the state was saved with {name!s:.60} {its.get(name)!r:.60}, and it is {mine.get(name)!r:.60} here")


class Plan:
    """The batches of one epoch, from lengths alone: a pure function of (lengths, options, epoch), equal on every rank. lengths: tokens of
    each row, int32, or a dataset, of which some rows may have several texts.

    ``plan[i]`` is a dict: step, rank, rows (int64), width (0 when ragged), tokens, slots, step_rows.
    """

    def __init__(self, lengths: Any, *, epoch: int = 0, rank: int = 0, rows_for: Callable[[int], int] | None = None, runtime: Any = None, **options: Any):
        self.rank: int = _rank(rank, options.get("world_size", 1))
        epoch, lengths = _seed("epoch", epoch), counts("lengths", lengths)
        self._made = (lengths, epoch, rows_for, options)
        self._core = _core.plan(runtime or _runtime.default(), getattr(lengths, "_core", lengths), of_batches(options), epoch, rows_for)

    def __reduce__(self) -> tuple[Any, ...]:
        lengths, epoch, rows_for, options = self._made
        return _remake_plan, (lengths, epoch, self.rank, rows_for, options)

    def __repr__(self) -> str:
        return f"Plan({len(self)} batches, {self.steps} steps, epoch {self._made[1]})"

    def __len__(self) -> int:
        return self._core.parts

    def __getitem__(self, index: SupportsIndex) -> dict[str, Any]:
        if isinstance(index, bool) or not hasattr(index, "__index__"):
            raise TypeError(f"the number of a batch is needed, not {index!r:.60}")
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"batch {at} of {len(self)} batches")
        return self._core.part(self.rank, at % len(self))

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return self._core.steps

    def ledger(self) -> dict[str, Any]:
        """rows_read = rows_planned + len(dropped), tokens, slots, batches, steps, hash (of the whole plan, equal on every rank)."""
        return self._core.ledger()


def _remake_plan(lengths, epoch, rank, rows_for, options):
    return Plan(lengths, epoch=epoch, rank=rank, rows_for=rows_for, **options)


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

    dataset: Dataset
    rank: int

    def __init__(self, dataset: Dataset, *, batching: str = "random", padding: str = "none", batch_size: int | None = None,
                 max_tokens: int | None = None, max_rows: int | None = None, max_length: int | None = None, seed: int = 42,
                 rank: int = 0, world_size: int = 1, drop_last: bool = False, pad_to_multiple_of: int | None = None,
                 read_ahead: int | None = None, accumulate: int | None = None, required_batch_size_multiple: int | None = None,
                 oversize: str = "error", tail: str = "resplit", rows_for: Callable[[int], int] | None = None,
                 key: Sequence[int] | None = None):
        _kinds.check(Batches.__init__, locals())
        if not hasattr(dataset, "firsts"):
            raise TypeError(f"dataset: a Dataset is needed, not {dataset!r:.60}")
        if batch_size is None and max_tokens is None and rows_for is None:
            batch_size = 16
        key = None if key is None else counts("key", key)
        if key is not None and len(key) != len(dataset):
            raise ValueError(f"the key has {len(key)} values for {len(dataset)} rows")
        _rank(rank, world_size)
        self.dataset, self.rank, self._rows_for = dataset, rank, rows_for
        self._key = key
        self._keyed: str | None = None  # its digest, once a state asked for it
        self._options = {"batching": batching, "padding": padding, "batch_size": batch_size, "max_tokens": max_tokens,
                         "max_rows": max_rows, "max_length": max_length, "seed": seed, "world_size": world_size,
                         "drop_last": drop_last, "pad_to_multiple_of": pad_to_multiple_of, "read_ahead": read_ahead,
                         "accumulate": accumulate, "required_batch_size_multiple": required_batch_size_multiple,
                         "oversize": oversize, "tail": tail}
        self._epoch = 0        # of the next iter()
        self._start = 0        # its first batch
        self._running: _BatchIterator | None = None  # the iterator that state_dict speaks of
        self._planned: tuple[int, Plan] | None = None  # (epoch, plan)
        self.plan(0)           # wrong options are refused here

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value not in (None, False) and name not in ("oversize", "tail"))
        return f"Batches({self.dataset!r}, {said})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_planned": None}  # planned again where it is needed

    def __copy__(self) -> Batches:
        """With its own place, as ``copy.deepcopy`` has it."""
        made, running = object.__new__(type(self)), self._running
        made.__dict__.update(self.__getstate__())
        if running is not None:
            made._running = copy.copy(running)
            made._running.batches = made
        return made

    def plan(self, epoch: int) -> Plan:
        """The plan of an epoch."""
        planned = self._planned  # once: another thread may plan another epoch
        if planned is None or planned[0] != epoch:
            rows = self.dataset if self.dataset.firsts is not None else self.dataset.lengths
            plan = Plan(rows if self._key is None else self._key, epoch=epoch, rank=self.rank, rows_for=self._rows_for,
                        runtime=self.dataset._runtime, **self._options)
            self._planned = planned = (epoch, plan)
        return planned[1]

    @property
    def epoch(self) -> int:
        """The epoch under way, or else the next one."""
        running = self._running
        return running.epoch if running is not None and not running.done else self._epoch

    def set_epoch(self, epoch: int) -> None:
        """The next ``iter()`` is this epoch, from its first batch."""
        self._epoch, self._start, self._running = whole("epoch", epoch, 0), 0, None

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

    def _identity(self, epoch: int) -> dict[str, Any]:
        if self._key is not None and self._keyed is None:
            self._keyed = digest(self._key)
        keyed = {} if self._keyed is None else {"key": self._keyed}
        return {**identity(self._options, self.rank, self.plan, epoch, self._rows_for), **keyed, "rows": len(self.dataset),
                "fingerprint": f"{self.dataset.fingerprint:016x}"}

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer stands: the next batch is the one after the last that was taken."""
        running = self._running
        if running is not None and not running.done:
            epoch, batch = running.epoch, running.index
        else:
            epoch, batch = self._epoch, self._start
        return {"version": _STATE_VERSION, "epoch": epoch, "batch": batch, "of": self._identity(epoch)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next ``iter()`` goes on there. A state of other data or options is a MismatchError that names what differs."""
        if not isinstance(state, dict) or "version" in state and not ({"epoch", "batch", "of"} <= state.keys() and isinstance(state["of"], dict)):
            raise MismatchError(f"{state!r:.60} is no state of batches")
        if state.get("version") != _STATE_VERSION:
            raise MismatchError(f"the state has version {state.get('version')!r}; this brim reads {_STATE_VERSION}")
        refuse_other(state["of"], self._identity(saved_number("epoch", state["epoch"])))
        (self._epoch, self._start), self._running = saved_place(state, self.plan), None


class _BatchIterator:
    """One pass. ``index`` is the next batch, so a state is exact as soon as a batch has been handed out."""

    def __init__(self, batches: Batches, epoch: int, start: int):
        self.batches, self.epoch, self.index, self.done = batches, epoch, start, False
        self._plan: Plan | None = None

    @property
    def plan(self) -> Plan:
        plan = self._plan
        if plan is None:
            self._plan = plan = self.batches.plan(self.epoch)
        return plan

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plan": None}

    def __iter__(self) -> _BatchIterator:
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
        batch = Batch(core, pad_id=d.pad_id, values=d._values, labelled=d.has_labels, types=d._types, layout=d._layout,
                      epoch=self.epoch, index=self.index)
        self.skip()
        return batch


def restore_order(values: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    """Values that came batch by batch, in the order of the dataset: values[i] belongs to row rows[i]. rows are 0 to the number of
    values - 1, each once: those of one epoch without ``drop_last``, from all ranks."""
    for name, given in (("values", values), ("rows", rows)):
        if not hasattr(given, "__len__") or isinstance(given, (str, bytes, dict)):
            raise TypeError(f"{name}: a list is needed, not {given!r:.60}")
    if len(values) != len(rows):
        raise ValueError(f"{len(values)} values for {len(rows)} rows")
    places: list[int | None] = [None] * len(rows)
    for i, row in enumerate(rows):
        row = whole(f"rows[{i}]", row)
        if not 0 <= row < len(places):
            raise ValueError(f"rows[{i}] is {row}, and {len(places)} values belong to the rows 0 to {len(places) - 1}")
        if places[row] is not None:
            raise ValueError(f"row {row} comes twice: rows[{places[row]}] and rows[{i}]")
        places[row] = i
    return [values[i] for i in places]
