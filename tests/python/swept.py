"""What the sweeps over Python's options share: the keywords of all that is public, what each may be, and all that comes out of a call."""
import ast
import contextlib
import dataclasses
import hashlib
import inspect
import io
import logging
import os
import pathlib
import re
import shutil
import tempfile
import warnings

import brim
import case
import options as command  # tests/cli/options.py
from brim import keywords


def parts(annotation):
    """What the | of an annotation separate, without what is in brackets."""
    text = getattr(annotation, "__forward_arg__", annotation)
    text = text if isinstance(text, str) else getattr(text, "__name__", str(text))
    while (shorter := re.sub(r"\[[^\[\]]*\]", "", text)) != text:
        text = shorter
    return {part.strip() for part in text.split("|")}


def choices(annotation):
    """The words of a Literal."""
    text = getattr(annotation, "__forward_arg__", annotation)
    found = re.search(r"Literal\[(.*?)\]", text) if isinstance(text, str) else None
    return list(ast.literal_eval(f"[{found[1]}]")) if found else []


#: Of each part of an annotation the values that it means.
_MEANS = {
    "bool": lambda one: isinstance(one, bool) or isinstance(one, int) and one in (0, 1),
    "int": lambda one: isinstance(one, int) and not isinstance(one, bool),
    "float": lambda one: isinstance(one, (int, float)) and not isinstance(one, bool),
    "str": lambda one: isinstance(one, str), "Literal": lambda one: isinstance(one, str), "bytes": lambda one: isinstance(one, bytes),
    "os.PathLike": lambda one: isinstance(one, (bytes, os.PathLike)), "Callable": callable,
    "Mapping": lambda one: isinstance(one, dict), "dict": lambda one: isinstance(one, dict),
    "None": lambda one: one is None}
_LISTS = {"Sequence", "Iterable", "list"}


def means(annotation, value):
    """Whether a value is of a kind that the annotation says; None is as if left out."""
    kinds = parts(annotation)
    if value is None or "Any" in kinds:
        return True
    listed = bool(kinds & _LISTS) and hasattr(value, "__iter__") and not isinstance(value, (str, bytes, dict))
    return listed or any(_MEANS[kind](value) for kind in kinds if kind in _MEANS)


@dataclasses.dataclass(frozen=True)
class Keyword:
    name: str
    annotation: object
    default: object


def keywords_of(function, *typed):
    """By name those of its signature, and of the typed dicts that it passes on."""
    found = {name: Keyword(name, one.annotation if one.annotation is not one.empty else "Any", None if one.default is one.empty else one.default)
             for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}
    for options in typed:
        found |= {name: Keyword(name, annotation, found[name].default if name in found else None) for name, annotation in options.__annotations__.items()}
    return found


# ---- what comes out ----------------------------------------------------------------------------------------------

_PASSING = re.compile(r"seconds|^time|tokens_per_second|^memory|^speed|^rounds$|^curve$|^options$|^given$")


def shown(value):
    """Everything of a value that does not depend on the clock, as plain data."""
    if isinstance(value, brim.Result):
        fields = {name: one for name, one in vars(value).items() if name not in ("model", "_log", "_folder", "profile")}
        return {**shown(fields), "profile": len(value.profile), "model": shown(value.model)}
    if isinstance(value, brim.Model):
        weights = {name: hashlib.sha256(one).hexdigest() for name, one in case.weights(value).items()}
        vectors = shown(value.embed(["a good film"])) if value.task == "embedding" else None
        return {"facts": repr(value), "labels": shown(value.labels), "longest": value._longest(), "windows": shown(value._windowing), "kernels": value.kernels, "head": shown(value._head_looks), "untrained": value._untrained,
                "weights": weights, "vectors": vectors, "tokenizer": value.tokenizer.fingerprint}
    if isinstance(value, brim.Labels):
        return [value.task, shown(value.names), shown(value.values), value.outputs]
    if isinstance(value, brim.Tokenizer):
        return [value.path, value.fingerprint]
    if isinstance(value, brim.Dataset):
        return [shown(value._facts), shown(value.labels), [shown(value.row(at)) for at in range(len(value))], [shown(one) for one in value], shown(value.excluded),
                shown(value._core.windows()), value.pad_id]
    if isinstance(value, brim.Batch):
        return [shown(value.arrays()), shown(value.blocks), value.step, value.step_rows, shown(value.rows), value.slots, value.width, value.epoch, value.index]
    if isinstance(value, (brim.Batches, brim.Plan)):
        return [len(value), shown(value.ledger()), value.rank, [shown(one) for one in (value if isinstance(value, brim.Batches) else map(value.__getitem__, range(len(value))))]]
    if isinstance(value, brim.Evaluation):
        return [shown(dict(value)), shown(value.rows), shown(value.wrong), shown(value.confused), shown(value.near)]
    if isinstance(value, brim.Prediction):
        return [repr(value.label), value.id, value.score, shown(value.scores)]
    if isinstance(value, brim.Comparison):
        return [shown(vars(way)) for way in value] + [value.metric, value._title]
    if isinstance(value, brim.Analysis):
        return shown({name: one for name, one in vars(value).items() if name != "_source"})
    if isinstance(value, brim.FoldsResult):
        return shown(vars(value))
    if isinstance(value, dict):
        return {str(name): shown(one) for name, one in value.items() if not _PASSING.search(str(name))}
    if hasattr(value, "_asdict"):
        return shown(value._asdict())
    if isinstance(value, (list, tuple, set)):
        return [shown(one) for one in value]
    if hasattr(value, "tolist"):
        return [type(value).__name__, str(getattr(value, "dtype", getattr(value, "format", ""))), value.tolist()]
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, (str, int, bool)) else repr(value)


def files_in(folder):
    """What is compared of each file, by its path."""
    return {re.sub(r"tfevents\.\d+", "tfevents", str(path.relative_to(folder))): "" if command.UNREAD.search(path.name) or "tensorboard" in str(path) else command.compared(path.read_bytes())
            for path in sorted(folder.rglob("*")) if path.is_file()}


class _Notes(logging.Handler):
    def __init__(self, notes):
        super().__init__()
        self._notes = notes

    def emit(self, record):
        self._notes.append(command.SPOKEN.sub("", record.getMessage()))


@dataclasses.dataclass
class Outcome:
    """What came out of a call: a value, files, notes; or an error."""
    value: object = None
    files: object = None
    notes: object = None
    error: object = None

    def same(self, other):
        return (self.value, self.files, self.notes) == (other.value, other.files, other.notes)


def outcome(call):
    """Of a call in an empty folder."""
    before, folder, notes = os.getcwd(), tempfile.mkdtemp(prefix="case-", dir=case.folder()), []
    heard, log, spoken = _Notes(notes), logging.getLogger("brim"), io.StringIO()
    level = log.level
    log.addHandler(heard), log.setLevel(logging.DEBUG), os.chdir(folder)
    try:
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stderr(spoken):
            warnings.simplefilter("always")
            value = shown(call())
        notes += [str(one.message) for one in warned] + (["a line of progress"] if spoken.getvalue() else [])
        return Outcome(value, files_in(pathlib.Path(folder)), notes)
    except Exception as error:  # noqa: BLE001 - looked at by whoever asked
        return Outcome(error=error)
    finally:
        log.removeHandler(heard), log.setLevel(level), os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def thinned(cases, most):
    """So many of them, or fewer under sanitizers (case.takes)."""
    cases = list(cases)
    return [cases[at] for at in case.takes(len(cases), most)]


#: What Python itself says of a call or a value that it cannot use: no line that brim wrote.
_PYTHONS = re.compile(r"unexpected keyword argument|positional argument|multiple values for|'\w+' object |object of type '|object has no|unhashable|NoneType|unsupported operand|not supported between|"
                      r"list index out of range|could not convert|must be (str|real number|int)\b.*not|expected (str|bytes)|invalid literal|is not (iterable|callable|subscriptable)")


def is_line(error):
    """Whether it is a refusal of brim's own: of its kinds, one line, in its words."""
    return isinstance(error, (brim.Error, TypeError, ValueError)) and not isinstance(error, UnicodeError) and "\n" not in str(error) and not _PYTHONS.search(str(error))


#: What the message of an option says in place of its name.
SAID = {"freeze": "frozen", "stratify": "stratified", "processing_class": "tokenizer", "mapping": "labels", "names": "labels"}
