"""Tables of any library, and dicts of columns: which columns are meant, and what they hold."""
from __future__ import annotations

import decimal
import importlib
import json
import numbers
from collections.abc import Mapping
from typing import Any, Iterable

from .errors import CellError, UsageError
from .holders import as_list, Columns, Found, _of_datasets, _short, Table, _transformed
from .plain import _missing


# ---- which columns -------------------------------------------------------------------------------------------------

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
    """Which columns are meant, as far as their names show it: both of a pair."""
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


# ---- what tables hold ----------------------------------------------------------------------------------------------

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


def _by_value(table: Any, column: str) -> bool:
    """Bytes, of which each is looked at whether it is UTF-8, and decimals of fixed point: taken as lists of them are."""
    schema = getattr(table, "schema", None)
    if schema is None:  # pandas, of which _in_arrow says it
        return False
    kind = str(schema.field(column).type if hasattr(schema, "field") else schema[column]).lower()
    return kind.removeprefix("dictionary<values=").startswith(("binary", "large_binary", "fixed_size_binary", "decimal"))


def _whole(values: list) -> list:
    """Decimals of which none has digits after the point are whole numbers."""
    if all(one is None or isinstance(one, decimal.Decimal) and one.is_finite() and one.as_tuple().exponent >= 0 for one in values):
        return [None if one is None else int(one) for one in values]
    return values


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
    asked = pair is not None
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
            return of_lists(*(data[n].to_pylist() if n else None for n in (text, pair, label)), names=classes, asked=asked)
        data = named
    numbered = classes is not None  # labels are the integers of a ClassLabel
    if label and classes is None:
        classes = [one for one in _categories(data, label) or () if one != ""] or None  # a cell of "" has no label
    nothing = bool(pair and _holds_nothing(data, pair))
    if nothing and not asked:  # as of_lists has it
        pair, wanted = None, [n for n in (text, label) if n]
    if any(_by_value(data, name) for name in wanted):
        data = data.read_all() if hasattr(data, "read_all") else data
    elif hasattr(data, "__arrow_c_stream__") and not (nothing and asked) and not (label and _is_list(data, label)):
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
    if label and _by_value(data, label):
        lists[2] = _whole(lists[2])
    return of_lists(*lists, names=classes, asked=asked) if numbered else of_lists(*lists, asked=asked)._replace(names=classes)


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
    kind = kind.removeprefix("dictionary<values=") # what is looked up decides, as in a column of them
    return "float" if kind.startswith(("float", "double", "half")) else None if kind.startswith(("int", "uint", "bool")) else "str"


def _of_transform(data: Any, text: str | None, pair: str | None, label: str | None, labelled: bool | None) -> Columns:
    """Rows as data[i] reads. The names of a ClassLabel are those of labels that the function left as they were."""
    made = data[:]
    label = _pick([str(name) for name in made], text, pair, label, labelled)[2]
    found = of_columns(made, text, pair, label, labelled)
    names = _classes_of(data, label)
    same = names and list(found.labels or []) == data.with_format(None)[label][:]
    return of_lists(found.texts, found.pairs, found.labels, names, asked=pair is not None) if same else found


# ---- columns -------------------------------------------------------------------------------------------------------

def of_lists(texts: Iterable, pairs=None, labels=None, names: list[str] | None = None, *, asked: bool = False) -> Columns:
    """Missing values (None, NaN, pandas.NA) become None; the integers of a ClassLabel its names. asked: the column of second texts was named, and each row needs one."""
    def clean(column):
        return None if column is None else [None if _missing(value) else value for value in column]

    labels = clean(labels)
    if names and labels is not None:
        labels = [_named(value, names) for value in labels]
    pairs = clean(pairs)
    if pairs and not asked:  # rows without a second text are texts alone, as in JSON lines
        pairs = Found(pairs) if any(value is not None for value in pairs) else None
    return Columns(clean(texts), pairs or None, labels, names)


def _named(value: Any, names: list[str]):
    if isinstance(value, (list, tuple)):
        return [_named(v, names) for v in value]
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


def of_columns(data: Mapping, text=None, pair=None, label=None, labelled: bool | None = None) -> Columns:
    asked = pair is not None
    text, pair, label = _pick([str(n) for n in data], text, pair, label, labelled)
    lists = [list(_values(data, n)) if n else None for n in (text, pair, label)]
    for name, column in ((pair, lists[1]), (label, lists[2])):
        if column is not None and len(column) != len(lists[0]):
            raise UsageError(f'column "{text}" has {len(lists[0])} rows and column "{name}" has {len(column)}')
    return of_lists(*lists, asked=asked)
