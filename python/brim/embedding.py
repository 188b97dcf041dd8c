"""Vectors of texts, a window at a time, and how good they are."""
from __future__ import annotations

import contextlib
import json
import numbers
import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import holders as _holders, rows as _rows, tables as _tables
from .errors import CellError, Error, UsageError
from .notes import log, of_scores as _of_scores
from .options import whole

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
    for row, one in enumerate(map(_text, texts)):
        if not isinstance(one, (str, bytes)):
            raise CellError(f"row {row}: a text is a str, not {one!r:.80}")
        window.append(one)
        room -= len(one)
        if len(window) == _WINDOW or room <= 0:
            yield window
            window, room = [], _CHARACTERS
    if window:
        yield window


def _prompt(core: Any, name: str | None, option: str = "prompt") -> str:
    text = "" if name == "none" else core.prompt(name)
    if name is not None and text is None:
        raise UsageError(f"{option}: the model's config_sentence_transformers.json has no prompt {name!r}")
    return text or ""


def _note_cut(counts: Iterable[int], texts: int, length: int) -> None:
    cut, lost, unread = counts
    if cut:
        log.warning("%s of %s texts were cut at %d tokens, %s tokens lost%s; max_length changes it", f"{cut:,}", f"{texts:,}", length, f"{lost:,}",
                    f", and {unread:,} bytes of long texts after these not looked at" if unread else "")


def _checked(**options: Any) -> None:
    """Numbers where 0 is none."""
    for name in ("dimensions", "max_length", "batch_size", "max_tokens"):
        if options.get(name) is not None:
            whole(name, options[name], 1)


def embed(core: Any, texts: Iterable[Any], *, prompt: str | None, dimensions: int | None, max_length: int | None, **options: Any) -> np.ndarray:
    """What Model.embed does."""
    import numpy as np

    facts = core.facts()
    texts = _holders.items(_holders.one_as_list(texts), "texts")
    _checked(dimensions=dimensions, max_length=max_length, **options)
    width = dimensions or facts["dimensions"]
    if width > facts["width"]:
        raise UsageError(f"dimensions is {dimensions}: the model's vectors have {facts['width']} numbers")
    how = {"prompt": _prompt(core, prompt), "dimensions": dimensions, "max_length": max_length, **options}
    out = np.empty((len(texts) if hasattr(texts, "__len__") else 0, width), np.float32)
    counts, rows = [0, 0, 0], 0
    for window in _windows(texts):
        vectors, more = core.run(window, rows, dict(how))
        if rows + len(window) > len(out):  # it was not known how many there are
            out.resize((max(rows + len(window), len(out) * 3 // 2), width), refcheck=False)
        out[rows:rows + len(window)] = np.asarray(vectors)
        rows += len(window)
        counts = [a + b for a, b in zip(counts, more)]
    out.resize((rows, width), refcheck=False)
    _note_cut(counts, rows, max_length or facts["max_length"])
    return out


# ---- how good they are -----------------------------------------------------------------------------------------------

def _id(one: Any) -> Any:
    """A number as the text that files have."""
    return str(int(one)) if isinstance(one, numbers.Integral) and not isinstance(one, bool) else one


def _plain(one: Any) -> Any:
    """As JSON has it: numbers of NumPy, torch and pyarrow too."""
    for method in ("as_py", "item"):
        one = getattr(one, method)() if hasattr(one, method) else one
    return one.decode() if isinstance(one, bytes) else one


def _document(name: Any, value: str | Mapping[str, str]) -> dict[str, Any]:
    return {**value, "_id": _id(name)} if isinstance(value, Mapping) else {"_id": _id(name), "text": value}


def _pairs(relevant: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for query, documents in relevant.items():
        if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
            raise TypeError(f"relevant: of {query!r} the ids of documents are needed, a list or {{id: score}}, not {documents!r:.80}")
        for document, score in documents.items() if isinstance(documents, Mapping) else ((one, 1) for one in documents):
            yield {"query-id": _id(query), "corpus-id": _id(document), "score": score}


def _scored(pairs: Any) -> Iterator[dict[str, Any]]:
    if isinstance(pairs, Mapping) or _holders.is_table(pairs):
        names = ("sentence1", "sentence2", "score")
        _of_scores("score", _tables.classes_of_scores(pairs, "score"))
        pairs = zip(*(_rows.column_of(pairs, name) for name in names), strict=True)
    for i, row in enumerate(pairs):
        if isinstance(row, Mapping):
            yield {name: row[name] for name in ("sentence1", "sentence2", "score") if name in row}
        elif isinstance(_holders.as_list(row), (list, tuple)) and len(row) == 3:
            yield dict(zip(("sentence1", "sentence2", "score"), _holders.as_list(row)))
        else:
            raise TypeError(f"pairs: row {i} is {row!r:.80}: (text, text, score) is expected")


def _line(of: str, number: int, row: Mapping[str, Any]) -> str:
    """A row as JSON; what JSON does not have is refused."""
    cells = []
    for name, value in row.items():
        try:
            cells.append(f"{json.dumps(str(name))}: {json.dumps(_plain(value), allow_nan=False)}")
        except (TypeError, ValueError):
            raise CellError(f'{of}: row {number}: "{name}" is {value!r:.60}: a text or a finite number is expected') from None
    return "{" + ", ".join(cells) + "}\n"


@contextlib.contextmanager
def _as_file(data: Any, rows: Iterable[Any], name: str) -> Iterator[str]:
    """The path that was given, or one of a file with these rows, which messages call by its name."""
    if isinstance(data, (str, os.PathLike)):
        yield os.fspath(data)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.jsonl")
        with path.open("w", encoding="utf-8") as file:
            file.writelines(_line(name, number, row) for number, row in enumerate(rows))
        try:
            yield str(path)
        except Error as error:
            if error.file != str(path):
                raise
            raise type(error)(str(error).replace(str(path), name), None, error.line, error.byte) from None


def retrieval(core: Any, corpus: Any, queries: Any, relevant: Any, *, at: Iterable[int], query_prompt: str | None, document_prompt: str | None,
              **options: Any) -> dict[str, Any]:
    """What Model.evaluate_retrieval does."""
    _checked(**options)
    for name, one in (("corpus", corpus), ("queries", queries), ("relevant", relevant)):
        if not isinstance(one, (str, os.PathLike, Mapping)):
            raise TypeError(f"{name}: a file or a dict by ids is needed, and not a {type(one).__name__}")
    prompts = {name: _prompt(core, value, name) for name, value in (("query_prompt", query_prompt), ("document_prompt", document_prompt)) if value is not None}
    documents = (_document(name, value) for name, value in corpus.items()) if isinstance(corpus, Mapping) else ()
    asked = (_document(name, value) for name, value in queries.items()) if isinstance(queries, Mapping) else ()
    wanted = _pairs(relevant) if isinstance(relevant, Mapping) else ()
    with _as_file(corpus, documents, "corpus") as a, _as_file(queries, asked, "queries") as b, _as_file(relevant, wanted, "relevant") as c:
        report, metrics, (texts, *counts) = core.retrieval(*map(os.fsencode, (a, b, c)), [whole("at", one, 1) for one in at], {**prompts, **options})
    _note_cut(counts, texts, options["max_length"] or core.facts()["max_length"])
    for column, name in enumerate(("accuracy", "precision", "recall", "mrr", "ndcg", "map"), 1):
        report |= {f"{name}@{row[0]}": row[column] for row in metrics}
    return report


def similarity(core: Any, pairs: Any, *, prompt: str | None, **options: Any) -> dict[str, Any]:
    """What Model.evaluate_similarity does."""
    _checked(**options)
    rows = () if isinstance(pairs, (str, os.PathLike)) else _scored(pairs)
    with _as_file(pairs, rows, "pairs") as path:
        report, found, (texts, *counts) = core.similarity(os.fsencode(path), {"prompt": _prompt(core, prompt), **options})
    _note_cut(counts, texts, options["max_length"] or core.facts()["max_length"])
    for name, pearson, spearman in found:
        report |= {f"pearson_{name}": pearson, f"spearman_{name}": spearman}
    return report
