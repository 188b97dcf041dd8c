"""Models by name: a folder, or a name of the Hugging Face hub, from its local cache or fetched into it."""
from __future__ import annotations

import contextlib
import os
import pathlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from . import _core, files as _files, layout as _layout, runtime as _runtime
from .errors import FileError, NotFoundError

_BESIDE = {"config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json",
           "merges.txt", "spiece.model", "sentencepiece.bpe.model", "modules.json", "config_sentence_transformers.json", "joined_layers.py"}
_LENGTHS = r"sentence_[\w-]+_config\.json"  # of the module Transformer, by the names that it had
_MODULE = {"config.json", "model.safetensors", "pytorch_model.bin"}  # what sentence-transformers has of one after the encoder
_WEIGHTS = (r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?", r"pytorch_model(-\d+-of-\d+)?\.bin(\.index\.json)?")  # the first that are there


def _offline() -> bool:
    return any(os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE") for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"))


def _needed(files: list[str], tokenizer: bool, paths: list[str]) -> list[str]:
    """What brim reads of a repository: one kind of weights, and not those of other frameworks. paths: of its modules, the encoder's first."""
    within, *others = [f"{path}/" if path else "" for path in paths] or ["0_Transformer/"]
    plain = {f: f.removeprefix(within) for f in files}
    kinds = [[f for f in files if re.fullmatch(kind, plain[f])] for kind in _WEIGHTS]
    modules = [] if tokenizer else [f for f in files if any(at and f.startswith(at) and f.removeprefix(at) in _MODULE for at in others)]
    return [f for f in files if plain[f] in _BESIDE or re.fullmatch(_LENGTHS, plain[f])] + modules + ([] if tokenizer else next(filter(None, kinds), []))


def _fetch(name: str, revision: str | None, tokenizer: bool) -> None:
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download

    name, _, at = name.partition("@")
    revision = revision or at or None
    files = [file.rfilename for file in HfApi().model_info(name, revision=revision).siblings]
    paths = _layout.module_paths(os.path.dirname(hf_hub_download(name, "modules.json", revision=revision))) if "modules.json" in files else []
    snapshot_download(name, revision=revision, allow_patterns=_needed(files, tokenizer, paths))


def _refuse_unfinished(run: str) -> None:
    """A run that has no model at its top says where one is."""
    if not os.path.isdir(run) or os.path.exists(os.path.join(run, "config.json")):
        return
    steps = [int(step[5:]) for step in _listed(os.path.join(run, "checkpoints")) if re.fullmatch(r"step-\d+", step)]
    where = (f"this is a run in folds: name the model of one of them, such as {os.path.join(run, 'fold-0')}"
             if os.path.exists(os.path.join(run, "folds.csv")) else
             f"this run is not finished: its newest checkpoint is a model too, {os.path.join(run, 'checkpoints', f'step-{max(steps)}')}" if steps else
             f"this run is being replaced: until the new one has a checkpoint, the old model is in {os.path.join(run, 'replaced-run')}"
             if os.path.exists(os.path.join(run, "replaced-run", "config.json")) else None)
    if where:
        raise NotFoundError(f"{os.path.join(run, 'config.json')}: cannot open: No such file or directory; {where}", run)


def _listed(folder: str) -> list[str]:
    return os.listdir(folder) if os.path.isdir(folder) else []


def folder(name: str | os.PathLike[str], *, revision: str | None = None, tokenizer: bool = False, runtime: Any = None) -> str:
    """The folder (or file) of a model or, with ``tokenizer``, of a tokenizer.

    name: a path, or a name of the Hugging Face hub ("bert-base-uncased", "owner/model", "owner/model@revision"): what exists under that
    name here comes first, then the hub's local cache (HF_HUB_CACHE, HF_HOME). What is not there, or not all of it, is fetched through
    huggingface_hub where that is installed and HF_HUB_OFFLINE is not set: the files that brim reads, and no others.
    """
    if not isinstance(name, (str, os.PathLike)) or not os.fspath(name):
        raise TypeError(f"{'tokenizer' if tokenizer else 'model'}: a folder, or a name such as \"bert-base-uncased\", is needed, not {name!r:.60}")
    page = re.match(r"(?:https?://(?:huggingface\.co|hf\.co)|hf:/)/([^/]+(?:/[^/]+)?)", name) if isinstance(name, str) else None
    if page:
        raise FileError(f'{name} is an address: give the name alone, "{page[1]}"', name)
    if not isinstance(name, str) and not os.path.isdir(name):
        return os.fspath(name)
    name = os.fspath(name)
    runtime = runtime or _runtime.default()
    if not tokenizer:
        _refuse_unfinished(name)
    try:
        return _core.hub_find(runtime, _files.path_bytes(name), revision, tokenizer)
    except FileError as missing:
        if _offline():
            raise NotFoundError(f"{missing} (HF_HUB_OFFLINE is set)") from None
        try:
            _fetch(name, revision, tokenizer)
        except ModuleNotFoundError:
            raise NotFoundError(f"{missing}, or install huggingface_hub (pip install huggingface_hub), by which brim fetches it") from None
        except Exception as error:  # whatever the network and its library raise
            why = str(error).strip().partition("\n")[0] or type(error).__name__
            raise NotFoundError(f"{missing}; fetching it failed: {why}") from error
    return _core.hub_find(runtime, _files.path_bytes(name), revision, tokenizer)


@contextlib.contextmanager
def folder_of(files: Mapping[str, bytes]) -> Iterator[str]:
    """A folder with these files, as long as it is used."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield folder
