"""Rows of words with a label each."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import CellError, UsageError
from .holders import as_list, Columns, is_rows, is_table, _short, _transformed
from .labels import NAME, _numbered, _one_label
from .plain import _missing, _plain
from .rows import list_of, _names_of_rows, refuse_columns
from .tables import _apart, _classes_of, _column_names, _values

_WORDS, _TAGS = ["tokens", "words", "text"], ["ner_tags", "tags", "labels", "label"]


def _word_columns(names: list[str], text, label, labelled):
    shown = ", ".join(f'"{n}"' for n in names[:20])

    def there(name, option, fallbacks):
        found = next((one for one in ([name] if name else fallbacks) if one in names), None)
        if found is None:
            raise UsageError(f'there is no column "{name or fallbacks[0]}"; the columns are {shown}: say which by {option}')
        return found

    text = there(text, "text_column", _WORDS)
    wanted = labelled or label or (labelled is None and any(n in names for n in _TAGS))
    return text, _apart(there(label, "label_column", _TAGS), text) if wanted and labelled is not False else None


def of_words(data: Any, text=None, label=None, labelled: bool | None = None) -> Columns:
    """Rows of words with a label each, from whatever holds them: lists of words (a str is split at white space), and of labels."""
    classes = None
    if is_table(data):
        text, label = _word_columns(_column_names(data) or [], text, label, labelled)
        classes = _classes_of(data, label)
        data = data[:] if _transformed(data) else data
        words, tags = _values(data, text), _values(data, label) if label else None
    elif isinstance(data, Mapping):
        text, label = _word_columns([str(n) for n in data], text, label, labelled)
        words, tags = _values(data, text), _values(data, label) if label else None
    elif is_rows(data):
        words, tags, names = [], [], None
        source, data = data, list_of(data)
        own = _names_of_rows(data)
        for number, row in enumerate(data):
            if set(_WORDS) & set(getattr(row, "_fields", ())):
                row = row._asdict()
            if isinstance(row, Mapping):
                names = names or _word_columns([*own], text, label, labelled)
                try:
                    row = (row[own[names[0]]], row[own[names[1]]] if names[1] else None)
                except KeyError as missing:
                    raise UsageError(f"row {number} has no {missing}") from None
            else:
                refuse_columns(number, row, text_column=text, label_column=label)
                row = _words_and_labels(row, number, labelled)
            words.append(row[0]), tags.append(row[1])
        classes = names and _classes_of(source, names[1])
        tags = tags if labelled is not False and any(t is not None for t in tags) else None
    else:
        raise UsageError(f"{_short(data)} has no rows: give files, a table, a dict of columns, or a list of rows")
    words, tags = [_items(w, number, "words")[0] for number, w in enumerate(words)], \
        None if tags is None else [None if _missing(t) else _items(t, number, "labels", classes) for number, t in enumerate(tags)]
    if tags is not None and len(tags) != len(words):
        raise UsageError(f"{len(words)} rows of words and {len(tags)} of labels")
    return Columns(words, None, tags, classes)


def _words_and_labels(row: Any, number: int, labelled: bool | None) -> tuple[Any, Any]:
    """Two lists, of words and of labels; or a tuple of two str, where rows have labels; else words alone."""
    row = as_list(row)
    if not isinstance(row, (list, tuple)) or len(row) != 2:
        return row, None
    words, tags = map(as_list, row)
    lists = [isinstance(one, (list, tuple)) for one in (words, tags)]
    if all(lists) or isinstance(row, tuple) and (any(lists) or tags is None):
        return words, tags
    if isinstance(row, list) or labelled is False or not isinstance(tags, str):
        return row, None
    if labelled is None:
        raise UsageError(f"row {number}, {_short(row)}, may be two words, or words and their labels: give lists of words, and (words, labels)")
    return words, tags


def _item(text: str, number: int, what: str) -> bytes:
    try:
        item = text.encode()
    except UnicodeEncodeError:
        raise CellError(f"row {number}: one of the {what}, {text!r:.60}, holds half a character (a lone surrogate), which no file can have") from None
    if b"\0" in item:
        raise UsageError(f"row {number}: one of the {what} holds a NUL")
    return item + b"\0"


def _items(row: Any, number: int, what: str, classes: list[str] | None = None) -> tuple[bytes, str]:
    """A list as the library has it: a NUL after each item, and what each was. The integers of a ClassLabel become its names; of labels None is
    none."""
    if isinstance(row, str):
        words = row.split()
        return b"".join(_item(one, number, what) for one in words), "t" * len(words)
    row = as_list(row)
    if not isinstance(row, (list, tuple)):
        raise UsageError(f"row {number}: {what} are a list, not {_short(row)}")
    if classes is not None:
        row = [classes[one] if isinstance(one, int) and 0 <= one < len(classes) else one for one in row]
    if set(map(type, row)) <= {str}:  # as nearly all rows are
        return b"".join(_item(one, number, what) for one in row), NAME * len(row)
    row = [_plain(one) for one in row]
    wrong = [one for one in row if (what == "words" if _missing(one) else not isinstance(one, (str, int, float)))]
    if wrong:
        raise UsageError(f"row {number}: one of the {what} is {_short(wrong[0])}: a str or a number is expected")
    items = [_numbered(_one_label, number, one) for one in row]
    return b"".join(_item(text, number, what) for text, _ in items), "".join(form for _, form in items)
