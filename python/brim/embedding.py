"""Vectors of texts, a window at a time."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .notes import log

if TYPE_CHECKING:
    import numpy as np

_WINDOW = 8192          # texts that are computed at once, sorted by length
_CHARACTERS = 16 << 20  # or so many characters


def _text(one: Any) -> str | bytes:
    """A string of pyarrow as Python's."""
    return one.as_py() if hasattr(one, "as_py") else one


def _windows(texts: Iterable[Any]) -> Iterator[list[str | bytes]]:
    window: list[str | bytes] = []
    room = _CHARACTERS
    for one in map(_text, texts):
        if not isinstance(one, (str, bytes)):
            raise TypeError(f"a text is a str, not {one!r:.80}")
        window.append(one)
        room -= len(one)
        if len(window) == _WINDOW or room <= 0:
            yield window
            window, room = [], _CHARACTERS
    if window:
        yield window


def _prompt(core: Any, name: str | None) -> str:
    text = "" if name == "none" else core.prompt(name)
    if name is not None and text is None:
        raise UsageError(f"the model's config_sentence_transformers.json has no prompt {name!r}")
    return text or ""


def _note_cut(counts: list[int], texts: int, length: int) -> None:
    cut, lost, unread = counts
    if cut:
        log.warning("%s of %s texts were cut at %d tokens, %s tokens lost%s; max_length changes it", f"{cut:,}", f"{texts:,}", length, f"{lost:,}",
                    f", and {unread:,} bytes of long texts after these not looked at" if unread else "")


def embed(core: Any, texts: Iterable[Any], *, prompt: str | None, dimensions: int | None, max_length: int | None, **options: Any) -> np.ndarray:
    """What Model.embed does."""
    import numpy as np

    facts = core.facts()
    width = dimensions or facts["width"]
    how = {"prompt": _prompt(core, prompt), "dimensions": dimensions, "max_length": max_length, **options}
    out = np.empty((len(texts) if hasattr(texts, "__len__") else 0, width), np.float32)
    counts, rows = [0, 0, 0], 0
    for window in _windows([texts] if isinstance(texts, (str, bytes)) else texts):
        vectors, more = core.run(window, rows, dict(how))
        if rows + len(window) > len(out):  # it was not known how many there are
            out.resize((max(rows + len(window), len(out) * 3 // 2), width), refcheck=False)
        out[rows:rows + len(window)] = np.asarray(vectors)
        rows += len(window)
        counts = [a + b for a, b in zip(counts, more)]
    out.resize((rows, width), refcheck=False)
    _note_cut(counts, rows, max_length or facts["max_length"])
    return out
