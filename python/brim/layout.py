"""How a model numbers the positions of its tokens, and how far its local layers look: what a batch without padding has to say to it."""
from __future__ import annotations

import json
import os
from typing import Any, Callable, NamedTuple

#: Kinds that number positions from the padding id + 1 on, and pass over that id (RoBERTa's create_position_ids_from_input_ids).
_AFTER_PAD = {"roberta", "camembert", "xlm-roberta", "xlm-roberta-xl", "roberta-prelayernorm", "mpnet", "longformer", "data2vec-text", "xmod", "ibert",
              "luke"}
#: The same by the class of the tokenizer, where a folder has no config.json.
_TOKENIZERS = ("Roberta", "Camembert", "XLMRoberta", "MPNet", "Longformer", "Luke")


class Layout(NamedTuple):
    """What a ragged batch has to know of the model."""

    pad: int = -1              #: positions begin at pad + 1 and pass over this id; -1: they begin at 0
    window: int | None = None  #: tokens to each side that the local layers see; None: all layers see the whole row


def read_json(folder: str, name: str) -> dict[str, Any]:
    """An object of a file; {} where there is none."""
    path = os.path.join(folder, name)
    if not os.path.isfile(path):  # a pipe there would be waited for
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def modules_of(folder: str) -> list[dict[str, Any]]:
    """What modules.json of a folder of sentence-transformers lists; nothing where it cannot be read, which is said where it is."""
    path = os.path.join(folder, "modules.json")
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file) if os.path.isfile(path) else None
    except (OSError, ValueError):
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def module_paths(folder: str) -> list[str]:
    """Of the modules, the encoder's first; "" is the folder itself."""
    said = [one.get("path") for one in modules_of(folder)]
    return ["" if os.path.normpath(path) == "." else os.path.normpath(path) for path in said if isinstance(path, str)]


def home_of(folder: str) -> str:
    """Where the modules of an encoder's folder are listed: there, or above it."""
    above, below = os.path.abspath(folder), ""
    for _ in range(8):
        if os.path.exists(os.path.join(above, "modules.json")):
            return above if module_paths(above)[:1] == [below] else folder
        above, name = os.path.split(above)
        below = os.path.join(name, below) if below else name
    return folder


def _of(get: Callable[[str], Any]) -> Layout:
    pad, local = get("pad_token_id"), get("local_attention")
    return Layout(1 if pad is None else int(pad), None) if get("model_type") in _AFTER_PAD else Layout(-1, int(local) // 2 if local else None)


def of_model(model: Any) -> Layout:
    """Of a model of transformers, by its config."""
    return _of(lambda name: getattr(model.config, name, None))


def of_folder(folder: str, pad: int) -> Layout | None:
    """By config.json, or by the class that tokenizer_config.json names; None: the folder does not say."""
    config = read_json(folder, "config.json")
    if config.get("model_type"):
        return _of(config.get)
    return of_class(read_json(folder, "tokenizer_config.json").get("tokenizer_class"), pad)


def of_class(name: Any, pad: int) -> Layout | None:
    """By the class of a tokenizer of transformers; None: it does not say."""
    return Layout(pad) if isinstance(name, str) and name.startswith(_TOKENIZERS) else None
