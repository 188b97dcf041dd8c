"""What a value of each option may be, by the annotations of the calls: what is none of them is refused with the option's name."""
from __future__ import annotations

import functools
import inspect
import numbers
import os
from collections.abc import Mapping
from typing import Any, Callable, NamedTuple

from . import _core, holders as _holders
from .errors import UsageError
from .options import is_bool, is_true_or_false


def _is_number(value: Any) -> bool:
    """Also a scalar of torch, or of what is registered nowhere."""
    return isinstance(value, numbers.Real) or hasattr(value, "__float__")


def _is_iterable(value: Any) -> bool:
    return hasattr(value, "__iter__") and not _holders.is_one(value) and not _holders.has_columns(value)


def _is_list(value: Any) -> bool:
    return _is_iterable(value) and not _holders.is_unordered(value)


#: Of each part of an annotation: its words in a message, and whether a value is one.
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "bool": ("True or False", is_true_or_false),
    "int": ("a whole number", lambda value: not is_bool(value) and hasattr(value, "__index__")),
    "float": ("a number", lambda value: not is_bool(value) and _is_number(value)),
    "str": ("a str", lambda value: isinstance(value, str)),
    "Literal": ("a str", lambda value: isinstance(value, str)),
    "bytes": ("bytes", lambda value: isinstance(value, bytes)),
    "os.PathLike": ("a path", lambda value: isinstance(value, (bytes, os.PathLike))),
    "Mapping": ("a dict", lambda value: isinstance(value, Mapping)),
    "dict": ("a dict", lambda value: isinstance(value, Mapping)),
    "Callable": ("a function", callable),
    "Sequence": ("a list", _is_list),
    "Iterable": ("a list", _is_iterable),
    "list": ("a list", _is_list),
    "Runtime": ("a Runtime", lambda value: isinstance(value, _core.Runtime)),
}


#: Of such a part, types whose values all are one: nearly all values that are given are of them, and nothing else is asked of those.
_USUAL: dict[str, set[type]] = {"bool": {bool}, "int": {int}, "float": {int, float}, "str": {str}, "Literal": {str}, "Mapping": {dict}, "dict": {dict}, "Sequence": {list, tuple},
                                "Iterable": {list, tuple}, "list": {list, tuple}, "Runtime": {_core.Runtime}}


def _parts(annotation: str) -> list[str]:
    """What the | of an annotation separate, without what is in brackets."""
    parts, depth = [""], 0
    for letter in annotation:
        depth += (letter == "[") - (letter == "]")
        if letter == "|" and depth == 0:
            parts.append("")
        elif depth == 0 and letter not in " ]":
            parts[-1] += letter
    return [part for part in parts if part != "None"]


#: Options of which more is said where they are used.
_COLUMNS = ("text_column", "pair_column", "label_column")  # which may be numbered
_SAID = {"folds", "compute_metrics", "columns", *_COLUMNS}


#: Of which an empty one says what none says: no conditions, no columns, nothing that texts begin with, no functions, no rows.
_MAY_BE_EMPTY = {"where", "blocks", "prompts", "prompt", "query_prompt", "document_prompt", "callbacks", "pairs", "labels", "key", "offsets", "type_ids"}


def _is_empty(value: Any) -> bool:
    return isinstance(value, (str, bytes, list, tuple, Mapping)) and not value


_NO_LENGTH = "max_length is 0, and a text has one token at least: give a number from 1 on, or None for no limit"


class _Kinds(NamedTuple):
    """What a call takes."""

    columns: list[str]  #: its names of columns
    options: dict[str, tuple[list[str], set[type]]]  #: the kinds that an option may have, and types of which it needs no second look


def _usual(kinds: list[str]) -> set[type]:
    usual = {type(None)}.union(*(_USUAL.get(kind, set()) for kind in kinds))
    return usual


@functools.cache
def _of(function: Callable[..., Any], typed: tuple[type, ...]) -> _Kinds:
    """Without options of which any value is looked at where it is used."""
    parameters = inspect.signature(function).parameters
    found = {name: parameter.annotation for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}
    for options in typed:
        found |= {name: getattr(annotation, "__forward_arg__", annotation) for name, annotation in options.__annotations__.items()}
    parts = {name: ["Runtime"] if name == "runtime" else _parts(annotation) for name, annotation in found.items()}
    return _Kinds([name for name in _COLUMNS if name in parameters],
                  {name: (kinds, _usual(kinds)) for name, kinds in parts.items() if name not in _SAID and all(kind in _KINDS for kind in kinds)})


def check(function: Callable[..., Any], given: Mapping[str, Any], *typed: type) -> None:
    """Refuses values of other kinds than the annotations of the function, and of its ``Unpack[typed]``, say. None is as if left out.
    given: its locals()."""
    columns, options = _of(function, typed)
    for name in columns:
        if _is_empty(given[name]):
            raise UsageError(f"{name} is empty: give the name of a column, or leave it out")
    if "options" in given or "plan" in given:
        given = {**given, **given.get("options", {}), **given.get("plan", {})}
    if given.get("max_length") == 0:
        raise UsageError(_NO_LENGTH)
    for name, (kinds, usual) in options.items():
        value = given.get(name)
        if type(value) in usual and (value or not _is_empty(value)):
            continue
        if not any(_KINDS[kind][1](value) for kind in kinds):
            words = dict.fromkeys(_KINDS[kind][0] for kind in kinds)
            raise TypeError(f"{name}: {' or '.join(words)} is needed, not {_holders._short(value)}")
        if name not in _MAY_BE_EMPTY and _is_empty(value) and "Literal" not in kinds:  # a word that there is not, of which a line says which there are
            raise UsageError(f"{name} is empty: give {'a path' if 'os.PathLike' in kinds else 'a value'}, or leave it out")
