"""Tokenizers: exactly the ids of Hugging Face's, at the speed of C."""
from __future__ import annotations

import json
import os
import pathlib
import tempfile
from typing import Any, NamedTuple, Sequence

from . import _core, files as _files, holders as _holders, hub as _hub, kinds as _kinds, layout as _layout, runtime as _runtime
from .errors import FormatError, MismatchError, UnsupportedError, UsageError
from .options import whole


class Encoding(NamedTuple):
    """One text (or pair). Arrays convert without a copy: ``numpy.asarray(e.ids)``, ``torch.from_dlpack(e.ids)``."""

    ids: _core.Array       #: int32 [length]
    type_ids: _core.Array  #: uint8 [length]
    lost: int                #: tokens that truncation cut off
    spans: _core.Array | None = None    #: int32 [length, 2]: bytes of the UTF-8 text that the token comes from; 0, 0 if special
    words: _core.Array | None = None    #: int32 [length]: number of the word; -1 if special
    sources: _core.Array | None = None  #: int32 [length]: 0 the text, 1 the pair, -1 special

    @property
    def length(self) -> int:
        return len(self.ids)


class Ragged(NamedTuple):
    """Many texts, end to end: row ``i`` is ``ids[offsets[i]:offsets[i + 1]]``."""

    ids: _core.Array       #: int32 [tokens]
    offsets: _core.Array   #: int64 [rows + 1]
    type_ids: _core.Array  #: uint8 [tokens]
    lost: int                #: tokens that truncation cut off

    def __len__(self) -> int:
        return len(self.offsets) - 1


def _of_files(files: dict[str, bytes], path: str) -> "Tokenizer":
    """A tokenizer whose files are in memory."""
    with _hub.folder_of(files) as folder:
        made = Tokenizer(folder)
        made._layout = _layout.of_folder(path, made.pad_id) or made.layout
    made.path = path
    return made


_ROWS = tuple(set(_files.DATA_SUFFIXES) - {".json", ".txt"})  #: which tokenizers have too


class Tokenizer:
    """Reads ``tokenizer.json``, ``vocab.txt``, or ``vocab.json`` with ``merges.txt``; a file, the folder that has them, or a name of the
    Hugging Face hub (``brim.hub.folder`` says where it is looked for). A folder is read as transformers 5 reads it, with what stands
    beside the tokenizer; a ``tokenizer.json`` that is named itself is taken as it stands.

    Immutable; may be shared between threads. Anything in the file that brim does not know is an error that names it.
    """

    path: str

    def __init__(self, path: str | os.PathLike[str], *, revision: str | None = None, runtime: Any = None):
        _kinds.check(Tokenizer.__init__, locals())
        self._runtime = runtime or _runtime.default()
        plain = _files.plain_name(os.fsdecode(path))
        if plain.endswith(_ROWS):
            raise UsageError(f"{_files.shown(path)} is a file of rows, and a tokenizer is needed here, a folder or a name: the rows are given before it")
        self.path = _hub.folder(path, revision=revision, tokenizer=True, runtime=self._runtime)
        self._core = _core.tokenizer(self._runtime, os.fsencode(self.path))
        folder = self.path if os.path.isdir(self.path) else os.path.dirname(self.path)
        asks = _layout.read_json(folder, "tokenizer_config.json").get("model_input_names") is not None
        self._types: bool = self._core.gives_types and (asks or _has_types(_layout.read_json(folder, "config.json")))
        self._layout: _layout.Layout = _layout.of_folder(folder, self.pad_id) or _layout.Layout()

    def __getstate__(self) -> dict[str, Any]:
        """With its files, which may be gone where it is made again."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            files = {file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir()}
        return {**self.__dict__, "_runtime": None, "_core": files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._runtime = _runtime.default()
        with _hub.folder_of(state["_core"]) as folder:
            self._core = _core.tokenizer(self._runtime, os.fsencode(folder))

    def __repr__(self) -> str:
        return f"Tokenizer({self.path!r}, family={self.family!r}, vocab_size={self.vocab_size})"

    def __len__(self) -> int:
        return self.vocab_size

    @property
    def vocab_size(self) -> int:
        """One more than the highest id."""
        return self._core.vocab_size

    @property
    def family(self) -> str:
        """"wordpiece", "bpe" or "unigram"."""
        return self._core.family

    @property
    def pad_id(self) -> int:
        """Id of the padding token; 0 if the vocabulary has none."""
        return max(self._core.pad_id, 0)

    @property
    def max_length(self) -> int | None:
        """Tokens that its models take at most, as tokenizer_config.json says (model_max_length); None: it does not say."""
        return self._core.max_length or None

    @property
    def windows(self) -> tuple[int, int] | None:
        """Windows of long texts, as the run whose folder this is made them: (tokens that they overlap by, windows of a row at most)."""
        return self._core.windows

    @property
    def truncation_side(self) -> str:
        """The end that is cut, "right" or "left", where a call does not say it: truncation_side of tokenizer_config.json."""
        return "left" if self._core.truncates_left else "right"

    @property
    def truncation(self) -> str:
        """The text of a pair that is cut where a call does not say it: as the rows of the run whose folder this is, else "longest_first"."""
        return self._core.truncation

    @property
    def uses_type_ids(self) -> bool:
        """Second texts of pairs have type 1: the tokenizer's files ask for token_type_ids, as its class does where they do not say it
        (model_input_names). With False all tokens have type 0, as where a model is given none, or the folder's model has but one type."""
        return self._types

    @property
    def layout(self) -> _layout.Layout:
        """How models of this tokenizer number positions, and how far their local layers look: as config.json beside it says, or
        tokenizer_config.json; where neither says, positions begin at 0."""
        return self._layout

    @property
    def fingerprint(self) -> int:
        """Hash of everything that decides ids."""
        return self._core.fingerprint

    def _cutting(self, side: str | None, truncation: str | None) -> "Tokenizer":
        """The same tokenizer with another end, or another text of a pair, that is cut, which the folders say that it is saved in; None: it stays."""
        _check_side(side)
        _check_truncation(truncation)
        if side in (None, self.truncation_side) and truncation in (None, self.truncation):
            return self
        files = self.__getstate__()["_core"]
        config = {**json.loads(files["tokenizer_config.json"]), "truncation_side": side or self.truncation_side, "brim_truncation": truncation or self.truncation}
        made = object.__new__(Tokenizer)
        with _hub.folder_of({**files, "tokenizer_config.json": json.dumps(config).encode()}) as folder:
            made.__dict__.update(self.__dict__, _core=_core.tokenizer(self._runtime, os.fsencode(folder)))
        return made

    def token_to_id(self, token: str) -> int | None:
        return self._core.token_id(token)

    def id_to_token(self, id: int) -> str | None:
        return self._core.token(whole("id", id))

    def special_tokens_to_add(self, pair: bool = False) -> int:
        """How many special tokens a text (or a pair) gets."""
        return self._core.added(pair)

    @staticmethod
    def _options(max_length, special_tokens, truncation, truncation_side) -> dict[str, Any]:
        _check_side(truncation_side)
        _check_truncation(truncation)
        if max_length is not None:
            whole("max_length", max_length, 1)
        return {"max_length": max_length or 0, "no_special_tokens": not special_tokens, "truncation": truncation or "tokenizer",
                "truncation_side": truncation_side or "tokenizer"}

    def encode(self, text: str | bytes, pair: str | bytes | None = None, *, max_length: int | None = None, special_tokens: bool = True,
               truncation: str | None = None, truncation_side: str | None = None, offsets: bool = False) -> Encoding:
        """One text, or a pair.

        max_length: tokens at most, special tokens included; None: no limit. truncation: "longest_first", "only_first" or
        "only_second". truncation_side: the end that is cut; None, of either: the tokenizer's. offsets: also say where each token comes from
        (slower).
        """
        _kinds.check(Tokenizer.encode, locals())
        return Encoding(*self._core.encode(text, pair, self._options(max_length, special_tokens, truncation, truncation_side), offsets))

    def encode_batch(self, texts: Sequence[str | bytes], pairs: Sequence[str | bytes] | None = None, *, max_length: int | None = None,
                     special_tokens: bool = True, truncation: str | None = None, truncation_side: str | None = None) -> Ragged:
        """Many texts on all threads, without the GIL; the same result for any number of threads."""
        _kinds.check(Tokenizer.encode_batch, locals())
        options = self._options(max_length, special_tokens, truncation, truncation_side)
        return Ragged(*_core.encode_batch(self._core, list(_holders.items(texts, "texts")), None if pairs is None else list(_holders.items(pairs, "pairs")), options))

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = True) -> str:
        """The text of ids, as the file's decoder says, and clean_up_tokenization_spaces of tokenizer_config.json."""
        _kinds.check(Tokenizer.decode, locals())
        if not hasattr(ids, "__iter__") and not hasattr(ids, "__len__") or isinstance(ids, str):
            raise TypeError(f"ids: a list of whole numbers is needed, not {ids!r:.60}")
        return self._core.decode(ids, skip_special_tokens)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the tokenizer's files: a tokenizer.json and a tokenizer_config.json with which transformers gives the same ids."""
        self._core.save(os.fsencode(folder), False, 0, *(self.windows or (0, 0)))


def _check_truncation(truncation: str | None) -> None:
    if truncation not in (None, "longest_first", "only_first", "only_second"):
        raise ValueError(f'truncation is "longest_first", "only_first" or "only_second", not {truncation!r}')


def _check_side(truncation_side: str | None) -> None:
    if truncation_side not in (None, "left", "right"):
        raise ValueError(f'truncation_side is "left" or "right", not {truncation_side!r}')


def _has_types(config: dict[str, Any]) -> bool:
    """Whether a folder's model has more than one type, so that those of second texts are something to it. Without a config.json it may."""
    kind, types = config.get("model_type"), config.get("type_vocab_size")
    return kind == "bert" or kind not in ("distilbert", "mpnet") and (not isinstance(types, int) or types > 1)


def _tokenizer(given, runtime) -> Tokenizer:
    """A brim tokenizer; one of transformers or tokenizers becomes one by its files and by what it is now, so that no id is another."""
    if isinstance(given, Tokenizer):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Tokenizer(given, runtime=runtime)
    path, backend = str(getattr(given, "name_or_path", "") or type(given).__name__), getattr(given, "backend_tokenizer", None)
    with tempfile.TemporaryDirectory() as folder:
        if hasattr(given, "save_pretrained"):
            given.save_pretrained(folder)
        elif hasattr(given, "save") and hasattr(given, "get_vocab"):
            given.save(os.path.join(folder, "tokenizer.json"))
        else:
            raise UsageError(f"a tokenizer is a brim.Tokenizer, a folder, a name, or one of transformers, not a {type(given).__name__}")
        files = {file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir() if file.is_file()}
    if not hasattr(given, "save_pretrained"):
        # its own types, and what no tokenizer.json says
        said = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"], "split_special_tokens": bool(getattr(given, "encode_special_tokens", False))}
        return _of_files({**files, _CONFIG: json.dumps(said).encode()}, path)
    config = {**json.loads(files.get(_CONFIG, b"{}")), **_attributes(given)}
    files[_CONFIG] = json.dumps(config).encode()
    if not hasattr(backend, "to_str"):
        return _of_files(files, path)
    now = json.loads(backend.to_str())
    text = json.dumps({**now, "truncation": None, "padding": None}, ensure_ascii=False)  # those of the last call
    # where a part of it was assigned after it was made, its class would make another one of the files, or none: tokenizer.json as it stands does not;
    # naming a token as a role may make it special
    added = now.get("added_tokens") or ()
    roles = {name: str(token) for name, token in given.special_tokens_map.items() if isinstance(token, str) or hasattr(token, "content")}
    bare = {**{name: config[name] for name in _OF_ANY_CLASS if name in config}, "tokenizer_class": "PreTrainedTokenizerFast"}
    named = [{name: token for name, token in roles.items() if token in {one["content"] for one in among}} for among in (added, [one for one in added if one["special"]])]
    why = "its files cannot say so"
    for such in ({**files, _CONFIG: json.dumps(config).encode()}, *({_CONFIG: json.dumps({**bare, **of}).encode()} for of in named)):
        try:
            made = _of_files({**such, _JSON: text.encode()}, path)
        except (FormatError, MismatchError, UnsupportedError) as failure:
            why = str(failure).partition(": ")[2]
            continue
        if _is_backend(made, text, type(backend)):
            return made
    raise UsageError(f"the tokenizer {path} was changed after it was made, and {why}: give brim a folder whose files make it")


_JSON, _CONFIG = "tokenizer.json", "tokenizer_config.json"
#: Members of tokenizer_config.json that say the same whatever the class is.
_OF_ANY_CLASS = ("model_max_length", "model_input_names", "truncation_side", "split_special_tokens", "padding_side", "add_prefix_space", "clean_up_tokenization_spaces")


def _attributes(given) -> dict[str, Any]:
    """What a tokenizer of transformers is set to now, and save_pretrained leaves out unless the tokenizer was made with it."""
    found = {name: getattr(given, name) for name in ("truncation_side", "split_special_tokens", "clean_up_tokenization_spaces") if getattr(given, name, None) is not None}
    if "model_input_names" in vars(given):
        found["model_input_names"] = list(given.model_input_names)
    return found


def _is_backend(made: Tokenizer, text: str, backend: type) -> bool:
    """Whether a tokenizer is that of a tokenizer.json, as tokenizers reads both."""
    own = made.__getstate__()["_core"][_JSON].decode()
    return own == text or backend.from_str(own).to_str() == backend.from_str(text).to_str()  # type: ignore[attr-defined]
