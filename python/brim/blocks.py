"""Numbers that come with rows besides the label, such as the vectors of a teacher: blocks, by name."""
from __future__ import annotations

import array
import math
from typing import Any, Iterable, Mapping, NamedTuple

from .errors import UsageError

_PER = ("row", "text", "token")


class Block(NamedTuple):
    """What a block is: ``width`` numbers of a "row", of each of its "text" s, or of each "token"; of integers int32, else float32."""

    per: str = "row"
    width: int = 0  #: 0: the first row says; a stream has to know
    column: str | None = None  #: of files and tables; None: the one of the block's name
    integers: bool = False

    def _number(self) -> int:
        if self.per not in _PER:
            raise UsageError(f"blocks: per is {self.per!r}: row, text or token is expected")
        return _PER.index(self.per)


def shown(shapes: Iterable[tuple[str, int, int, int]]) -> dict[str, Block]:
    """Blocks as the library names them."""
    return {name: Block(_PER[per], width, None, bool(integers)) for name, per, integers, width in shapes}


#: What a batch and a row have besides blocks.
_TAKEN = frozenset("input_ids attention_mask token_type_ids labels position_ids cu_seq_lens_q cu_seq_lens_k max_length_q max_length_k firsts".split())


def _free(name: str) -> str:
    """A name that nothing else of a batch has."""
    if name in _TAKEN:
        raise UsageError(f'blocks: {name} is a name of batches themselves: give another, and of columns {{"mine": Block(column="{name}")}}')
    return name


def _declared(blocks: Any) -> dict[str, Block]:
    if not isinstance(blocks, Mapping):
        raise UsageError(f'blocks={blocks!r:.60}: a dict is expected, such as {{"teacher": "row"}}')
    return {_free(str(name)): _block(name, one) for name, one in blocks.items()}


def _block(name: Any, one: Any) -> Block:
    if isinstance(one, Block):
        return one
    try:
        return Block(*[one] if isinstance(one, str) else one)
    except TypeError:
        raise TypeError(f'blocks: {name} is {one!r:.60}: what its numbers are of is needed, such as "row", or a Block') from None


def of_files(blocks: Mapping[str, Any] | None) -> list[tuple] | None:
    """Columns of files, for the library: {name: per}, {name: (per, width, column)} or {name: Block}."""
    if blocks is None:
        return None
    return [(name, one.column or name, one._number(), one.integers, one.width, None, None) for name, one in _declared(blocks).items()]


def of_columns(blocks: Mapping[str, Any] | None, column_of: Any) -> dict[str, Any] | None:
    """The same columns of what is in memory, as arrays."""
    return None if blocks is None else {name: column_of(one.column or name) for name, one in _declared(blocks).items()}


def of_arrays(blocks: Mapping[str, Any] | None, rows: int) -> list[tuple] | None:
    """Numbers in memory, for the library: of each row a list of them or, of texts, a list of such lists; or an array."""
    if blocks is None:
        return None
    return [(_free(str(name)), None, *_numbers(str(name), values, rows)) for name, values in blocks.items()]


def _numbers(name: str, values: Any, rows: int) -> tuple[int, bool, int, Any, Any]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise UsageError(f"blocks: {name} is {values!r:.60}: numbers of each row are expected")
    if len(values) != rows:
        raise UsageError(f"blocks: {name} has {len(values)} items for {rows} rows")
    found = _of_arrow(values) or _of_array(values)
    return _of_lists(name, values) if found is None else (*found[:3], _fitting(name, *found[1:]), found[4])


def _fitting(name: str, integers: bool, width: int, flat: Any, begins: Any) -> Any:
    """As the library has them: int32 and float32. Another number would become one that nobody gave."""
    import numpy

    with numpy.errstate(over="ignore"):
        made = numpy.ascontiguousarray(flat, "int32" if integers else "float32")
    wrong = numpy.flatnonzero(made != flat if integers else ~numpy.isfinite(made))
    if len(wrong):
        row = int(numpy.searchsorted(begins, wrong[0], "right")) - 1
        what = "whole numbers are of 32 bits" if integers else "a finite number is expected"
        raise UsageError(f"blocks: row {row} of {name} has {flat[wrong[0]]}: {what}")
    return made


def _of_array(values: Any) -> tuple[int, bool, int, Any, Any] | None:
    """[rows, width], or [rows, texts, width]."""
    shape = tuple(getattr(values, "shape", ()))
    if len(shape) not in (2, 3) or not all(shape):
        return None
    import numpy

    found = numpy.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    integers = found.dtype.kind in "iu"
    size = int(numpy.prod(shape[1:]))
    begins = array.array("q", range(0, shape[0] * size + 1, size))
    return len(shape) - 2, integers, shape[-1], found.reshape(-1), begins


def _of_arrow(values: Any) -> tuple[int, bool, int, Any, Any] | None:
    """A column of lists of numbers, where Arrow has them."""
    if not hasattr(values, "combine_chunks") or not str(values.type).startswith(("list<", "large_list<", "fixed_size_list<")):
        return None
    if values.null_count or not str(values.type.value_type).startswith(("float", "double", "half", "int", "uint")):
        return None
    import numpy

    column = values.combine_chunks() if hasattr(values, "num_chunks") else values
    sizes = column.value_lengths().to_numpy(zero_copy_only=False)
    flat = column.flatten().to_numpy(zero_copy_only=False)
    integers = flat.dtype.kind in "iu"
    begins = numpy.concatenate(([0], numpy.cumsum(sizes))).astype("int64")
    return 0, integers, 0, flat, begins


def _of_lists(name: str, values: Any) -> tuple[int, bool, int, Any, Any]:
    flat, begins, per = array.array("f"), array.array("q", [0]), 0
    for number, row in enumerate(values):
        row = row.tolist() if hasattr(row, "tolist") else row
        nested = isinstance(row, (list, tuple)) and len(row) > 0 and isinstance(row[0], (list, tuple))
        per = int(nested) if number == 0 else per
        try:
            lists = row if nested else [row]
            if nested != bool(per) or any(len(one) != len(lists[0]) for one in lists):
                raise UsageError(f"blocks: row {number} of {name}: each text has as many numbers, in all rows or in none")
            for one in lists:
                flat.extend(map(float, one))
            if not math.isfinite(sum(flat[begins[-1]:])):
                raise UsageError(f"blocks: row {number} of {name} has a number that is not finite, or too large for 32 bits")
        except UsageError:
            raise
        except (TypeError, ValueError, OverflowError):
            raise UsageError(f"blocks: row {number} of {name} is {row!r:.60}: a list of numbers is expected") from None
        begins.append(len(flat))
    return per, False, 0, flat, begins
