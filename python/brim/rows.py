"""What people hold their rows in: tables of any library, columns, rows; files of tables. All of it becomes columns here."""
from __future__ import annotations

import glob
import importlib
import json
import numbers
import os
from collections.abc import Mapping
from typing import Any, Iterable, NamedTuple

from . import _core, runtime as _runtime
from .errors import CellError, FileError, NotFoundError, UsageError
from .labels import NAME, _missing, _numbered, _one_label, _plain

DATA_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json", ".ndjson", ".txt", ".parquet", ".arrow", ".feather")
TABLE_SUFFIXES = (".parquet", ".arrow", ".feather")
_PACKED = (".gz", ".zst", ".xz", ".bz2")


class Columns(NamedTuple):
    """Rows as lists of equal length; names are those of the classes in the order of their ids, where the source knows them."""

    texts: list
    pairs: list | None = None
    labels: list | None = None
    names: list | None = None


class Found(list):
    """Names of columns that were found, not given: it is no slip if no row has one of them."""


class Table(NamedTuple):
    """Rows as Arrow has them, with the columns that are wanted."""

    table: Any
    text: str
    pair: str | None
    label: str | None
    names: list | None = None


# ---- what it is ------------------------------------------------------------------------------------------------------

def names_a_file(data: Any) -> bool:
    """A pathlib.Path, or a str that names an existing file or ends as data files do. Every other str is a text."""
    if not isinstance(data, str):
        return isinstance(data, os.PathLike)
    return plain_name(data).endswith(DATA_SUFFIXES) or (len(data) < 4096 and "\0" not in data and os.path.isfile(data))


def plain_name(name: str) -> str:
    """In small letters, without the suffix of what it is packed with."""
    plain = name.lower()
    for packed in _PACKED:
        plain = plain.removesuffix(packed)
    return plain


def paths_of(files: Any) -> list[str]:
    return [os.fsdecode(file) for file in ([files] if isinstance(files, (str, bytes, os.PathLike)) else files)]


def from_here(path: str) -> str:
    """The path as it is good wherever the process works later; "-" and what has no beginning stay what they are."""
    try:
        return path if path == "-" else os.path.join(os.getcwd(), path)
    except OSError:
        return path


def encoded(paths: Iterable[Any]) -> list[bytes]:
    """As the system has them, also those that are not UTF-8."""
    return [os.fsencode(path) for path in paths]


def shown(path: Any) -> str:
    """A path in words and pages: what is not UTF-8 in it becomes U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def is_files(data: Any) -> bool:
    """A path, or a list of them; a list in which no str is one is of texts."""
    if isinstance(data, (str, os.PathLike)):
        return True
    if not isinstance(data, (list, tuple)) or not all(isinstance(one, (str, os.PathLike)) for one in data):
        return False
    return any(names_a_file(one) or one == "-" or "*" in one or os.path.isdir(one) for one in data)


def is_text_files(data: Any) -> bool:
    """Files that the library reads; not those of tables."""
    return is_files(data) and not table_files(paths_of(data))


def _of_datasets(data: Any, *kinds: str) -> bool:
    return any(base.__module__.partition(".")[0] == "datasets" and base.__name__ in kinds for base in type(data).__mro__)


def is_splits(data: Any) -> bool:
    """A DatasetDict, or any mapping of names to tables, rows or files; not one of columns."""
    if not isinstance(data, Mapping):
        return False
    if _of_datasets(data, "DatasetDict", "IterableDatasetDict"):
        return True
    return bool(data) and not any(_is_column(v) or "train" not in data and _is_numbered(v) for v in data.values())


def _is_numbered(value: Any) -> bool:
    """A column as pandas' to_dict() writes it, and to_json(): a cell by the number of its row."""
    return isinstance(value, Mapping) and bool(value) and all(str(number).isdecimal() for number in value) and not any(isinstance(cell, Mapping) for cell in value.values())


def _is_column(value: Any) -> bool:
    if isinstance(value, (str, bytes, os.PathLike, Mapping)) or is_table(value) or type(value).__module__.startswith("brim."):
        return False
    if hasattr(value, "__next__"):  # a generator of rows
        return False
    first = next(iter(value), None) if isinstance(value, (list, tuple)) or hasattr(value, "__array__") or hasattr(value, "to_list") else value
    return not isinstance(first, (Mapping, tuple, os.PathLike))


def are_texts_by_names(data: Any, text: str) -> bool:
    """Lists of str, none of which is the column of texts."""
    return isinstance(data, Mapping) and text not in map(str, data) and all(isinstance(one, list) and all(isinstance(row, str) for row in one) for one in data.values())


def lack_texts(data: Any) -> bool:
    """Rows whose columns have names, and none is that of one text."""
    names = _column_names(data) if is_table(data) else data if isinstance(data, Mapping) else _names_of_rows(list(data[:1])) if isinstance(data, (list, tuple)) else None
    return bool(names) and "text" not in map(str, names or ())


def is_table(data: Any) -> bool:
    if isinstance(data, (Mapping, list, tuple, str, bytes)) or _is_lazy(data):
        return False
    columns = hasattr(data, "column_names") or hasattr(data, "columns") or hasattr(data, "schema")
    return _of_datasets(data, "Dataset") or columns and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "iloc"))


def _is_lazy(data: Any) -> bool:
    """A LazyFrame of polars, whose columns are not known before it is collected."""
    return type(data).__name__ == "LazyFrame"


def kept(data: Any) -> Any:
    """What can be looped over once, as a list, or as the table that Arrow reads; anything else as it is. Batches, which may have no end, are no rows."""
    refuse_batches(data)
    if not hasattr(data, "__next__"):
        return data
    return data.read_all() if hasattr(data, "read_all") and hasattr(data, "schema") else list(data)


def refuse_batches(data: Any) -> None:
    """What gives batches has no rows to look at by number."""
    if type(data).__module__ == "brim.feed":
        raise UsageError("a stream gives batches to train with, and rows are needed here: give its files")
    if type(data).__module__ == "brim.batches":
        raise UsageError(f"{type(data).__name__} gives batches, and rows are needed here: give its Dataset")


def is_rows(data: Any) -> bool:
    return is_table(data) or isinstance(data, Mapping) or hasattr(data, "__iter__") or hasattr(data, "__getitem__")


# ---- which columns ---------------------------------------------------------------------------------------------------

def _pick(names: list[str], text: str | None, pair: str | None, label: str | None, labelled: bool | None):
    """The columns that are meant; label None: there is none, or it is not wanted."""
    text, pair, label = (None if name is None else str(name) for name in (text, pair, label))
    if not names:
        raise UsageError("the table has no columns: give rows with text and label")
    shown = ", ".join(f'"{n}"' for n in names[:20]) + (", ..." if len(names) > 20 else "")

    def there(name, option, fallbacks):
        for one in [name] if name else fallbacks:
            if names.count(one) > 1:
                raise UsageError(f'there are {names.count(one)} columns "{one}": rename one')
            if one in names:
                return one
        wanted = name or fallbacks[0]
        raise UsageError(f'there is no column "{wanted}"; the columns are {shown}: ' + _advice(names, option))

    text = there(text, "text_column", ["text"])
    pair = there(pair, "pair_column", ["text_pair"]) if pair or "text_pair" in names and text != "text_pair" else None
    if pair == text:
        raise UsageError(f'the column "{text}" is named for both texts of a row: name each one\'s own')
    if labelled is False:
        return text, pair, None
    if not label and not labelled and not {"label", "labels"} & set(names) - {text, pair}:
        return text, pair, None
    return text, pair, _apart(there(label, "label_column", ["label", "labels"]), text, pair)


def _apart(label: str, *texts: str | None) -> str:
    """A row is not learned from its own label."""
    if label in texts:
        raise UsageError(f'the column "{label}" is named as a text and as the label: name each one\'s own')
    return label


def _advice(names: list[str], option: str) -> str:
    """Which columns are meant, as far as their names tell: both of a pair."""
    lower = {n.lower(): n for n in names}
    if option == "text_column" and {"tokens", "words"} & set(lower) and {"ner_tags", "tags", "labels"} & set(lower):
        return 'words with a label each are of task="tokens"'
    if option == "text_column":
        for one, other in _PAIRS:
            if one in lower and other in lower:
                return f'give text_column="{lower[one]}", pair_column="{lower[other]}"'
    like = next((n for n in names if n.lower() in _LIKELY[option]), None)
    return f'give {option}="{like}"' if like else f"say which by {option}"


#: Of GLUE, SNLI, MNLI, Quora, SQuAD and their like.
_PAIRS = [("sentence1", "sentence2"), ("premise", "hypothesis"), ("question1", "question2"), ("question", "sentence"), ("question", "passage"),
          ("query", "passage"), ("question", "context"), ("text1", "text2"), ("sentence_a", "sentence_b")]
_LIKELY = {"text_column": {"text", "texts", "sentence", "sentences", "sentence1", "review", "question", "premise", "content", "body", "comment", "document", "title", "excerpt"},
           "pair_column": {"sentence2", "hypothesis", "passage", "context", "answer"},
           "label_column": {"label", "labels", "target", "class", "category", "score", "y", "stars", "rating"}}
LABELS = _LIKELY["label_column"]


# ---- tables ----------------------------------------------------------------------------------------------------------

def _class_names(feature: Any) -> list[str] | None:
    """Of a ClassLabel, or of a list of them."""
    feature = getattr(feature, "feature", feature)
    names = getattr(feature, "names", None)
    return [str(n) for n in names] if isinstance(names, (list, tuple)) else None


def _features(data: Any) -> Mapping[str, Any]:
    """Of a data set of datasets, or of a table of Arrow that one was written as: what its columns are."""
    if _of_datasets(data, "Dataset", "IterableDataset"):
        return getattr(data, "features", None) or {}
    said = (getattr(getattr(data, "schema", None), "metadata", None) or {}).get(b"huggingface")
    try:
        return json.loads(said)["info"]["features"] if said else {}
    except (KeyError, TypeError, ValueError):
        return {}


def _classes_of(data: Any, column: str | None) -> list[str] | None:
    """The names of the integers in a column, where its data set, or its schema, says them."""
    feature = _features(data).get(column) if column else None
    while isinstance(feature, Mapping) and isinstance(feature.get("feature"), Mapping):  # a list of them, as a schema writes it
        feature = feature["feature"]
    names = feature.get("names") if isinstance(feature, Mapping) else _class_names(feature)
    return [str(name) for name in names] if isinstance(names, (list, tuple)) else None


def classes_of_scores(data: Any, column: str | None) -> list[str] | None:
    """The two classes whose numbers, 0 and 1, are taken as scores; None: the column is of scores. Of more classes a greater number says nothing."""
    names = None if _transformed(data) else _classes_of(data, column)
    if names and len(names) != 2:
        raise UsageError(f'the column "{column}" is of classes ({", ".join(map(str, names[:5]))}), and a score says how well texts fit: make numbers '
                         "of them, such as 1 and 0, or leave the column out")
    return names


def _categories(table: Any, name: str) -> list | None:
    """The classes of a Categorical of pandas, or of an Enum of polars, in their order; None where the column is neither."""
    if hasattr(table, "iloc"):
        name = _own(table, name)
        return list(table[name].cat.categories.tolist()) if str(table.dtypes[name]) == "category" else None
    kind = table.schema[name] if hasattr(table, "schema") and type(table).__module__.startswith("polars") else None
    return list(kind.categories) if type(kind).__name__ == "Enum" else None


def _own(table: Any, name: str) -> Any:
    """A column's name as the table has it: pandas and dicts may number them."""
    if not (hasattr(table, "iloc") or isinstance(table, Mapping)):
        return name
    return next((one for one in (table.columns if hasattr(table, "iloc") else table) if str(one) == name), name)


def _values(table: Any, name: str) -> list:
    column = table[_own(table, name)]
    if isinstance(column, (str, bytes)):
        raise UsageError(f'column "{name}" is one text, {_short(column)}: give a list of them')
    if isinstance(column, Mapping):  # as pandas' to_dict() writes a column
        other = next((one for one in table if isinstance(table[one], Mapping) and list(table[one]) != list(column)), None)
        if other is not None:
            raise UsageError(f'columns "{name}" and "{other}" do not number the same rows: give lists of equal length, such as to_dict("list") has')
        column = list(column.values())
    try:
        return list(as_list(column))
    except UnicodeDecodeError as error:  # Arrow takes bytes for strings
        raise CellError(f'column "{name}" holds {error.object!r:.60}, which is not UTF-8: decode it first') from None


def _with_names(table: Any, column: str, names: list[str]):
    """The integers of a ClassLabel as their names; None: one of them is no class, such as -1, which the hub's test sets have."""
    import pyarrow

    index = table.column_names.index(column)
    ids = table.column(index).to_pylist()
    if any(i is not None and not 0 <= i < len(names) for i in ids):
        return None
    indices = pyarrow.array(ids, pyarrow.int32())
    return table.set_column(index, column, pyarrow.DictionaryArray.from_arrays(indices, names))


def _is_list(table: Any, column: str) -> bool:
    """Several labels a row."""
    schema = getattr(table, "schema", None)
    if schema is None:  # pandas
        column = _own(table, column)
        first = next((v for v in table[column] if v is not None), None) if str(table.dtypes[column]) == "object" else None
        return hasattr(first, "__len__") and not isinstance(first, (str, bytes))
    kind = schema.field(column).type if hasattr(schema, "field") else schema[column]
    return str(kind).lower().startswith(("list", "large_list", "fixed_size_list", "array"))


def _column_names(data: Any) -> list[str] | None:
    """None: a stream of Arrow that does not say before it is read."""
    for name in ("column_names", "columns"):
        if hasattr(data, name):
            return [str(n) for n in getattr(data, name)]
    return [str(n) for n in data.schema.names] if hasattr(data, "schema") else None


def of_table(data: Any, text=None, pair=None, label=None, labelled: bool | None = None) -> Table | Columns:
    if _transformed(data):
        return _of_transform(data, text, pair, label, labelled)
    names = _column_names(data)
    if names is None:
        return Table(data, text or "text", pair, (label or "label") if labelled else None)
    text, pair, label = _pick(names, text, pair, label, labelled)
    if hasattr(data, "__len__") and not len(data):
        raise UsageError("there are no rows")
    wanted = [n for n in (text, pair, label) if n]
    classes = _classes_of(data, label)
    if _of_datasets(data, "Dataset"):
        data = data.select_columns(wanted).with_format("arrow")[:]  # the rows that select, filter and shuffle left, in their order
    if classes and "int" not in str(data.schema.field(label).type):  # a schema may still say what a column was
        classes = None
    if classes and not _is_list(data, label):
        named = _with_names(data, label, classes)
        if named is None:
            return of_lists(*(data[n].to_pylist() if n else None for n in (text, pair, label)), names=classes)
        data = named
    numbered = classes is not None  # labels are the integers of a ClassLabel
    if label and classes is None:
        classes = [one for one in _categories(data, label) or () if one != ""] or None  # a cell of "" has no label
    if pair and _holds_nothing(data, pair):  # as of_lists has it
        pair, wanted = None, [n for n in (text, label) if n]
    if hasattr(data, "__arrow_c_stream__") and not (label and _is_list(data, label)):
        try:
            if hasattr(data, "iloc"):
                if not all(_in_arrow(data[_own(data, name)]) for name in wanted):
                    raise TypeError
                arrow = data[[_own(data, name) for name in wanted]]
                arrow.columns = wanted
                arrow.__arrow_c_stream__()
                data = arrow
            elif hasattr(data, "select"):
                data = data.select(wanted)
            return Table(data, text, pair, label, classes)
        except ImportError:  # a DataFrame of pandas without pyarrow
            pass
        except (TypeError, ValueError, OverflowError, NotImplementedError):  # or with a column that Arrow has no type for: values of several kinds, sparse ones
            if not hasattr(data, "iloc"):
                raise
    lists = [_values(data, n) if n else None for n in (text, pair, label)]
    return of_lists(*lists, names=classes) if numbered else of_lists(*lists)._replace(names=classes)


def _holds_nothing(table: Any, name: str) -> bool:
    """A column of pandas, Arrow or polars that is missing in all rows."""
    if type(table).__module__.partition(".")[0] not in ("pandas", "pyarrow", "polars"):
        return False
    column = table[_own(table, name)]
    if hasattr(column, "isna"):
        return bool(column.isna().all())
    missing = column.null_count
    return (missing() if callable(missing) else missing) == len(column)


def _in_arrow(column: Any) -> bool:
    """Whether Arrow has the values of a pandas' Series as they are: of periods it has numbers, and of much else nothing."""
    kinds = importlib.import_module("pandas.api.types")
    return kinds.infer_dtype(column.cat.categories if str(column.dtype) == "category" else column) in ("string", "integer", "floating", "boolean", "empty")


def label_kind(table: Any, column: str | None) -> str | None:
    """Of a column of labels: "str" or "float", which their names alone do not say; None: whole numbers, booleans, or there is none."""
    if column is None or not (hasattr(table, "schema") or hasattr(table, "dtypes")):
        return None
    if hasattr(table, "iloc"):
        column = _own(table, column)
        kind = str(table.dtypes[column]).lower()
        if kind == "object":
            first = next((v for v in table[column] if not _missing(v)), None)
            kind = "int" if isinstance(first, numbers.Integral) else type(first).__name__
        elif kind == "category":
            kind = str(table[column].cat.categories.dtype).lower()
    else:
        kind = str(table.schema.field(column).type if hasattr(table.schema, "field") else table.schema[column]).lower()
    return "float" if kind.startswith(("float", "double", "half")) else None if kind.startswith(("int", "uint", "bool", "dictionary<values=int")) else "str"


def _transformed(data: Any) -> bool:
    """A Dataset of datasets with set_transform or with_transform: its rows are what the function makes of the table."""
    return _of_datasets(data, "Dataset") and data.format.get("type") == "custom"


def _of_transform(data: Any, text: str | None, pair: str | None, label: str | None, labelled: bool | None) -> Columns:
    """Rows as data[i] reads. The names of a ClassLabel are those of labels that the function left as they were."""
    made = data[:]
    label = _pick([str(name) for name in made], text, pair, label, labelled)[2]
    found = of_columns(made, text, pair, label, labelled)
    names = _classes_of(data, label)
    same = names and list(found.labels or []) == data.with_format(None)[label][:]
    return of_lists(found.texts, found.pairs, found.labels, names) if same else found


def of_lists(texts: Iterable, pairs=None, labels=None, names: list[str] | None = None) -> Columns:
    """Missing values (None, NaN, pandas.NA) become None; the integers of a ClassLabel its names."""
    def clean(column):
        return None if column is None else [None if _missing(value) else value for value in column]

    labels = clean(labels)
    if names and labels is not None:
        labels = [_named(value, names) for value in labels]
    pairs = clean(pairs)
    return Columns(clean(texts), pairs if pairs and any(value is not None for value in pairs) else None, labels, names)  # no second text in any row: texts alone, as in JSON lines


def _named(value: Any, names: list[str]):
    if isinstance(value, (list, tuple)):
        return [_named(v, names) for v in value]
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


# ---- columns and rows ------------------------------------------------------------------------------------------------

def of_columns(data: Mapping, text=None, pair=None, label=None, labelled: bool | None = None) -> Columns:
    text, pair, label = _pick([str(n) for n in data], text, pair, label, labelled)
    lists = [list(_values(data, n)) if n else None for n in (text, pair, label)]
    for name, column in ((pair, lists[1]), (label, lists[2])):
        if column is not None and len(column) != len(lists[0]):
            raise UsageError(f'column "{text}" has {len(lists[0])} rows and column "{name}" has {len(column)}')
    return of_lists(*lists)


def as_list(rows: Any) -> Any:
    """A column of Arrow, NumPy, pandas or polars as a list; anything else as it is."""
    for way in ("to_pylist", "tolist", "to_list"):
        if hasattr(rows, way):
            return _plain(rows) if way == "tolist" else getattr(rows, way)()
    return rows


def of_rows(rows: Iterable, text=None, pair=None, label=None, labelled: bool | None = None) -> Columns:
    """Rows as str, as dicts, or as tuples: (text, label) and (text, pair, label) where labels are wanted, else (text, pair)."""
    texts, pairs, labels = [], [], []
    columns, given = None, {"text_column": text, "pair_column": pair, "label_column": label}
    named = any(column is not None for column in given.values())
    labelled_rows = False  # there is a column of them, whatever its cells are
    source, rows = rows, list_of(rows)
    names = _names_of_rows(rows)
    for number, row in enumerate(rows):
        if isinstance(row, (str, bytes)):
            if named:
                refuse_columns(number, row, **given)
            row = (row,)
        if _has_names(row, *given.values()):
            row = row._asdict()
        if isinstance(row, Mapping):
            columns = columns or _pick([str(n) for n in names], text, pair, label, labelled)
            try:
                values = [row[names[n]] if n else None for n in columns[:2]] + [row.get(names[columns[2]]) if columns[2] else None]
            except KeyError as missing:
                raise UsageError(f"row {number} has no {missing}") from None
            labelled_rows = labelled_rows or columns[2] is not None
        elif isinstance(row, (tuple, list)) and 1 <= len(row) <= 3:
            if named:
                refuse_columns(number, row, **given)
            values = [row[0], None, None]
            if len(row) == 3:
                values[1:] = row[1:]
            elif len(row) == 2:
                values[1 if labelled is False else 2] = row[1]
            if labelled is False and len(row) == 2 and not isinstance(row[1], (str, bytes, list)) and not _missing(row[1]):
                raise CellError(f"row {number} is {_short(row)}: without labels a row of two is a pair of texts: give the text alone")
            labelled_rows = labelled_rows or len(row) > 1
        else:
            raise UsageError(f"row {number} is {_short(row)}: a row is a text, (text, label), (text, pair, label), or a dict")
        texts.append(values[0]), pairs.append(values[1]), labels.append(values[2])
    return of_lists(texts, pairs, None if labelled is False or not labelled_rows else labels, columns and _classes_of(source, columns[2]))


def list_of(rows: Any) -> list:
    """Rows one after the other; of a torch Dataset, which has a length and an index, too."""
    if not hasattr(rows, "__iter__"):
        rows = [rows[i] for i in range(len(rows))]
    rows = as_list(rows)
    return [rows] if isinstance(rows, (str, bytes)) else list(rows)


def refuse_columns(number: int, row: Any, **given: Any) -> None:
    """Columns are named, and rows have no names for what is in them."""
    named = next((name for name, column in given.items() if column is not None), None)
    if named:
        raise UsageError(f"{named}={given[named]!r:.60}: row {number}, {_short(row)}, has no names of columns: leave it out, or give dicts or a table")


def is_bare(data: Any) -> bool:
    """Rows without names for what is in them: texts, tuples."""
    if is_files(data) or is_table(data) or isinstance(data, (Mapping, str, bytes)) or type(data).__module__.startswith("brim."):
        return False
    if not hasattr(data, "__len__") or not len(data):  # a row that is looked at is there again
        return False
    first = next(iter(data)) if hasattr(data, "__iter__") else data[0]
    return isinstance(as_list(first), (str, bytes, list, tuple)) and not _names_of_rows([first])


def without_labels(data: Any) -> Any:
    """Rows of a text and a label as their texts; others as they are."""
    return [row[0] if isinstance(row, (tuple, list)) and len(row) == 2 else row for row in list_of(data)] if is_bare(data) else data


def idle(data: Any, labelled: bool | None) -> set[str]:
    """The names of columns that say nothing of these rows, and may have been meant for others."""
    bare = is_bare(data)
    return {"text_column", "pair_column", "label_column"} if bare else {"label_column"} if labelled is False else set()


def _has_names(row: Any, *columns: Any) -> bool:
    """A named tuple with a field for the text, or where a column is named: pandas' itertuples() makes such rows."""
    fields = getattr(row, "_fields", ())
    return "text" in fields or bool(fields) and any(column is not None for column in columns)


def _names_of_rows(rows: list) -> dict[str, Any]:
    """Of dicts, and of named tuples: the names that any of them has, in their order."""
    found: dict[str, Any] = {}
    for row in rows:
        for name in row if isinstance(row, Mapping) else getattr(row, "_fields", ()):
            found.setdefault(str(name), name)
    return found


def _short(value: Any) -> str:
    shown = " ".join(repr(value).splitlines())
    return shown if len(shown) <= 60 else shown[:57] + "..."


def of_any(data: Any, text=None, pair=None, label=None, labelled: bool | None = None) -> Table | Columns:
    """Any of the above; not files, and not text."""
    how = (text, pair, label, labelled)
    if _is_lazy(data):
        raise UsageError("a LazyFrame has no rows yet: give lazy.collect()")
    if is_table(data):
        return of_table(data, *how)
    if isinstance(data, Mapping):
        return of_columns(data, *how)
    if not is_rows(data):
        raise UsageError(f"{_short(data)} has no rows: give files, a table, a dict of columns, or a list of rows")
    return of_rows(data, *how)


#: What to do about a row that lacks a text.
FILL = "fill it in, or leave such rows out (min_chars 1)"


def several(data: Any, names: list[str], least: int | None, paired: bool, counted: bool = False, min_chars: int = 0) -> tuple[list, list | None]:
    """Texts, and second texts, of rows of several: a list of each row's, from columns of texts or of lists of them. counted: labels are lists
    that count the texts. min_chars: a row that lacks a text is None, which the library leaves out."""
    least = len(names) if least is None else least
    fewest = 2 if paired else 1
    if not fewest <= least <= len(names):
        raise UsageError(f"least_columns is {least}: of these {len(names)} text columns it is from {fewest} to {len(names)}")
    if isinstance(data, Mapping) or is_table(data):
        there = [str(n) for n in data] if isinstance(data, Mapping) else _column_names(data) or []
        names = [n for i, n in enumerate(names) if i < least or n in there]
    columns = [column_of(data, name) for name in names]
    rows = []
    for number, cells in enumerate(zip(*columns)):
        row = []
        for i, cell in enumerate(cells):
            given = [None if _missing(text) else text for text in ([cell] if isinstance(cell, (str, bytes)) or not hasattr(cell, "__iter__") else cell)]
            other = next((text for text in given if not isinstance(text, (str, bytes, type(None)))), None)
            if other is not None:
                raise UsageError(f'row {number}: the value of column "{names[i]}" is {_short(other)}: a text is expected, or a list of them')
            texts = [text for text in given if text is not None and (text or (i < least and len(given) == 1 and cell == text))]
            lacks = i < least and not texts or counted and len(texts) < len(given) > 1
            if lacks and min_chars:
                row = None
                break
            if lacks and texts:
                raise UsageError(f'row {number}: the list in "{names[i]}" has an empty text, which the row\'s list of labels counts: leave out both, or such rows (min_chars 1)')
            if lacks:
                raise UsageError(f'row {number}: the value of column "{names[i]}" is missing: {FILL}')
            row += texts
        rows.append(row)
    return ([row and row[0] for row in rows], [row and row[1:] for row in rows]) if paired else (rows, None)


def column_of(data: Any, name: str) -> list:
    """A column of a table, of a dict of columns, or of a list of dicts."""
    if is_table(data) or isinstance(data, Mapping):
        names = [str(n) for n in data] if isinstance(data, Mapping) else _column_names(data) or []
        if name not in names:
            raise UsageError(f'there is no column "{name}"; the columns are {", ".join(map(repr, names[:20]))}')
        return list(_values(data, name))
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], Mapping):
        own = _names_of_rows(data).get(name, name)
        return [row.get(own) for row in data]
    raise UsageError(f'rows without columns have no column "{name}"')


def numbers_of(data: Any, name: str) -> Any:
    """A column of lists of numbers: where Arrow has it, else as ``column_of`` gives it."""
    if _of_datasets(data, "Dataset") and not _transformed(data) and name in (_column_names(data) or []):
        return data.select_columns([name]).with_format("arrow")[:][name]
    if is_table(data) and hasattr(data, "combine_chunks") and name in (_column_names(data) or []):
        return data[name]
    return column_of(data, name)


def labels_of(data: Any, text=None, pair=None, label=None) -> list | None:
    """The labels of a table, a dict of columns or a list of rows, where they have some."""
    if is_bare(data):
        return of_rows(data).labels
    if not (is_table(data) or isinstance(data, Mapping)):
        first = data[0] if isinstance(data, (list, tuple)) and data else None
        return of_rows(data, text, pair, label, None).labels if isinstance(first, Mapping) else None
    found = of_any(data, text, pair, label, None)
    if isinstance(found, Columns):
        return found.labels
    return _values(found.table, found.label) if found.label else None


def _column_at(data: Any, name: str, numbers: list[int]) -> list:
    if _of_datasets(data, "Dataset"):
        return [data[n][name] for n in numbers]
    column = data[name].iloc if hasattr(data, "iloc") else _values(data, name) if isinstance(data, Mapping) else data[name]
    values = [column[n] for n in numbers]
    return [value.as_py() if hasattr(value, "as_py") else value for value in values]


def count(data: Any) -> int | None:
    """Rows of a list, a table or a dict of columns as they were given; None: that is not known, as of files."""
    if is_files(data):
        return None
    one = next(iter(data.values()), ()) if isinstance(data, Mapping) else data
    return len(one) if hasattr(one, "__len__") else None


def are_none(data: Any) -> bool:
    """Rows that are in memory, and none."""
    return not isinstance(data, bytes) and count(data) == 0


def as_it_is(data: Any) -> Any:
    """A list, or a dict of lists, as it is now, whatever is put into it or taken out later."""
    if isinstance(data, dict):
        return {name: list(column) if isinstance(column, list) else column for name, column in data.items()}
    return list(data) if isinstance(data, list) else data


def texts_at(data: Any, numbers: list[int], text=None, pair=None) -> list[tuple[Any, Any]] | None:
    """(text, pair or None) of rows by number; None where rows cannot be asked for by number (a stream, or rows that are encoded)."""
    if hasattr(data, "__next__"):
        return None
    if is_table(data) or isinstance(data, Mapping):
        names = _column_names(data) if not isinstance(data, Mapping) else [str(n) for n in data]
        text, pair, _ = _pick(names, text, pair, None, False)
        return list(zip(_column_at(data, text, numbers), _column_at(data, pair, numbers) if pair else [None] * len(numbers)))
    if type(data).__module__.startswith("brim.") or not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        return None
    taken = [as_list(data[n]) for n in numbers]
    rows = of_rows(taken, *((text, pair) if _names_of_rows(taken) else ()))
    return list(zip(rows.texts, rows.pairs or [None] * len(numbers)))


# ---- words with a label each ------------------------------------------------------------------------------------------

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


# ---- files of tables -------------------------------------------------------------------------------------------------

def table_files(files: list[str]) -> list[str]:
    """The files if all are Parquet or Arrow; [] if none is."""
    are = [f.lower().endswith(TABLE_SUFFIXES) for f in files]
    if any(are) and not all(are):
        raise UsageError(f"{files[are.index(False)]}: Parquet and Arrow files are read together with their like only")
    return files if any(are) else []


def stamp_of(files: list[str]) -> list:
    """Says whether files are still the same; what is not there, reading refuses."""
    paths = [path for file in files for path in _matches(file) if os.path.exists(path)]
    return [(path, (about := os.stat(path)).st_dev, about.st_ino, about.st_size, about.st_mtime_ns) for path in paths]


def read_tables(files: list[str]):
    """Parquet, and Arrow's file and stream formats (Feather too), one table after the other."""
    try:
        import pyarrow
        import pyarrow.feather
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise UsageError(f"{files[0]}: reading it needs pyarrow: pip install pyarrow") from None
    paths = [path for file in files for path in _matches(file)]
    tables = []
    for path in paths:
        if not os.path.exists(path):
            raise NotFoundError(f"{path}: cannot open: No such file or directory", path)
        try:
            tables.append(pyarrow.parquet.read_table(path) if path.lower().endswith(".parquet") else _read_arrow(pyarrow, path))
        except OSError as error:
            raise FileError(f"{path}: {error}", path) from error
        except pyarrow.ArrowException as error:
            raise UsageError(f"{path}: {error}", path) from error
    return pyarrow.concat_tables(tables, promote_options="default") if len(tables) > 1 else tables[0]


def _matches(file: str) -> list[str]:
    """The files of a glob, of which none may be missing by the others' names; or the file."""
    found = [*{os.path.realpath(path): path for path in sorted(glob.glob(file, recursive=True), reverse=True)}.values()][::-1]  # ** follows links
    pattern = os.path.basename(file)
    if found != [file]:
        for place in {os.path.dirname(path) for path in found}:
            names = [os.path.basename(path) for path in found if os.path.dirname(path) == place]
            _core.check_numbered(_runtime.default(), os.fsencode(place or "."), encoded(names), os.fsencode(pattern))
    return found or [file]


def _read_arrow(pyarrow, path: str):
    with open(path, "rb") as file:
        stream = file.read(6) != b"ARROW1"
    with pyarrow.memory_map(path) as source:
        return (pyarrow.ipc.open_stream if stream else pyarrow.ipc.open_file)(source).read_all()
