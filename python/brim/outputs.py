"""What a training writes never replaces what it reads."""
from __future__ import annotations

import glob
import os
from typing import Any, Iterable, Iterator

from . import rows as _rows
from .errors import UsageError

#: What a run writes into its folder, or renames there (cli/files.c).
_BEGINNINGS = ("checkpoints/", "replaced-run/", "tensorboard/", "fold-", "predictions")
_NAMES = {"config.json", "log.jsonl", "evaluation.jsonl", "report.html", "README.md", "folds.csv", "folds.json", "log.csv", "trace.json", "model.safetensors",
          "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt"}


def _files(data: Any) -> Iterator[str]:
    """The files that rows are read from, those of folders and patterns too."""
    for path in _rows.paths_of(data) if _rows.is_files(data) else []:
        found = glob.glob(path) if "*" in path else [os.path.join(path, name) for name in os.listdir(path)] if os.path.isdir(path) else [path]
        yield from (one for one in found if one != "-" and os.path.isfile(one))


def _inside(path: str, folder: str) -> str | None:
    """The path from the folder on; None where it lies elsewhere."""
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(folder))
    return None if inside.startswith("..") else inside


def _is_of_run(name: str) -> bool:
    return name in _NAMES or name.startswith(_BEGINNINGS)


def check(output: str | None, trace: str | None, model: str, resume: bool, sets: Iterable[tuple[str, Any]]) -> None:
    """output: the run's folder; trace: the file of a profile; model: the folder that is trained; sets: rows by their names."""
    inputs = [(name, file) for name, data in sets for file in _files(data)]
    if output is not None and os.path.isdir(output) and os.path.isdir(model):
        inside = _inside(model, output)
        if inside is not None and (inside == "." or _is_of_run(inside + "/")):
            raise UsageError(f"the model {model} is in output {output}, which " +
                             ("is the run's own: a run is resumed with the model that it was begun with" if resume else
                              "would be replaced: name another output; what it began with stays, and the run can be resumed"))
    for name, file in inputs if output is not None and os.path.isdir(output) else []:
        inside = _inside(file, output)
        if inside is not None and _is_of_run(inside):
            raise UsageError(f"output {output}: {inside} in it is also an input ({name}), and would be replaced: name another folder")
    if trace is None or not os.path.exists(trace):
        return
    inputs += [("the model", os.path.join(model, name)) for name in os.listdir(model)] if os.path.isdir(model) else []
    for name, file in inputs:
        if os.path.exists(file) and os.path.samefile(file, trace):
            raise UsageError(f"profile: {trace} is also an input ({name}), and would be replaced: name another file")
