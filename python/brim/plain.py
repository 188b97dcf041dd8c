"""Values of NumPy, torch, pandas and pyarrow as Python's own, and which of them are missing."""
from __future__ import annotations

import numbers
from typing import Any

from .prediction import Prediction


def _plain(label: Any) -> Any:
    """The value of NumPy, torch or pyarrow as Python's, an array as a list of them, and of what a model predicted its label."""
    if isinstance(label, Prediction):
        return label.label
    way = getattr(label, "tolist", None) or getattr(label, "as_py", None)
    if way is None or isinstance(label, type):
        return label
    if getattr(getattr(label, "dtype", None), "kind", "") in _TIMES:
        return _time(label)
    plain = way()
    return float(plain) if type(plain) is type(label) and isinstance(plain, numbers.Real) else plain  # a number of more bits than Python's


def _missing(value: Any) -> bool:
    if isinstance(value, (str, bytes, list, tuple, set)) or hasattr(value, "__len__"):
        return False
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):  # pandas.NA is neither
        return True


_TIMES = ("m", "M")


def _time(value: Any) -> Any:
    """Times of NumPy, of which tolist() makes numbers where they count nanoseconds."""
    if getattr(value, "shape", ()):
        return [_time(one) for one in value]
    plain = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(plain, int):
        return plain
    short = value.astype(value.dtype.kind + "8[us]")
    return short.tolist() if short == value else str(value)
