"""Models: load, predict, evaluate, save Hugging Face folders."""
from __future__ import annotations

import contextlib
import math
import os
import pathlib
import re
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Sequence, Unpack

from . import (_core, device as _device, embedding as _embedding, files as _files, holders as _holders, hub as _hub, kinds as _kinds, layout as _layout, options as _options,
               pairs as _pairs, progress as _progress, rows as _rows, runtime as _runtime, shapes as _shapes)
from .dataset import Dataset, Files, refuse_encoded
from .errors import CellError, FormatError, MismatchError, UnsupportedError, UsageError
from .judged import Evaluation, add_texts
from .keywords import AnswerOptions, ComputeOptions, PredictOptions
from .labels import Labels, _labels, kept, natural
from .notes import log, of_entities, of_left_out as _of_left_out, of_names as _of_names, of_prompts as _of_prompts, of_readme as _of_readme, of_spaces as _of_spaces, of_saved as _of_saved
from .options import whole
from .prediction import How, Prediction, Ranked
from .tokenizer import Tokenizer, _tokenizer

if TYPE_CHECKING:
    import numpy as np

_WINDOW = 1 << 26  # bytes of logits at once


class TokenPrediction(NamedTuple):
    """What a model that labels tokens says of a row: lists of equal length."""

    tokens: list[str]            #: the row's words
    labels: list[Any]            #: of each word, as labels were given in training; None: its tokens were cut off, or it gives none
    scores: list[float | None]   #: probability of each label

    @property
    def entities(self) -> list[tuple[str, int, int, str]]:
        """(kind, first word, word after the last, their text) of each stretch of B-, I-, E- and S- labels (L- and U- of BILOU are the same),
        as seqeval finds them. Of names without such a mark, words of one name that follow each other are one."""
        found, begin, before, kind = [], 0, "O", ""
        for at, (mark, name) in enumerate([*map(_entity_part, self.labels), ("O", "")]):
            other = kind != name
            if before != "O" and (before in "ES" or mark in "BSO" or other):
                found.append((kind, begin, at, " ".join(self.tokens[begin:at])))
            if mark != "O" and (mark in "BS" or before in "ESO" or other):
                begin = at
            before, kind = mark, name
        return found


def _entity_part(label: Any) -> tuple[str, str]:
    """How a word stands in its entity (B, I, E, S; O: in none), and the entity's kind."""
    label = None if label is None else str(label)
    if label is None or label == "O":
        return "O", ""
    if label[1:2] == "-" and label[0] in _MARKS:
        return _MARKS[label[0]], label[2:]
    return "I", label


#: As seqeval has them; BILOU's last and unit are E and S.
_MARKS = {"B": "B", "I": "I", "E": "E", "L": "E", "S": "S", "U": "S"}


def of_task(task: str, metrics: dict[str, Any]) -> dict[str, Any]:
    """Those that fit the task, and what was counted."""
    own = _shapes.of(task).metrics | {"rows", "tokens", "slots", "seconds"}
    return {name: value for name, value in metrics.items() if name in own}


class _Rows:
    """Rows of anything that can be looped over; a list of str is texts here, not files."""

    def __init__(self, rows):
        self._rows = rows

    def __iter__(self):
        return iter(self._rows)


class Model:
    """An encoder with a head, computed by brim.

    device: "cpu", or "cuda" for an NVIDIA GPU: driver and card, and the compiler NVRTC (``pip install nvidia-cuda-nvrtc``), are looked for then. tf32:
    its products of fp32 round what they multiply to 10 bits after the point, with other results.

    pooling: what the head looks at, "cls" (the family's own), "mean" or "max" over real tokens. layers: which it sees, of texts and of
    embeddings, "weighted" (the mean of all, with a trained weight each), "weighted:N" (of the last N), "joined:N" (side by side) or "last". dense: of embeddings, one more dense layer
    of so many numbers follows pooling, with dense_activation "identity" or "tanh". reinit_layers: so many layers from the top
    are initialised instead of read. no_type_ids: every token has type 0.

    path: a Hugging Face folder, a run of brim, or a name of the hub (``brim.hub.folder``). labels: what the head is to say (a ``Labels``, a list of class names, or a labelled
    ``Dataset``); None: what the folder's config.json says. A head that is missing, or of another size, is initialised from the seed;
    it has to be trained before the model predicts, unless untrained=True says that its random answers are wanted.

    Models can be pickled: the copy has the weights of that moment.
    """

    path: str
    tokenizer: Tokenizer

    def __init__(self, path: str | os.PathLike[str], *, labels: Labels | Dataset | Sequence[str] | None = None, seed: int = 42,
                 tokenizer: Tokenizer | None = None, revision: str | None = None, pooling: str | None = None, layers: str | None = None, dense: int | None = None,
                 dense_activation: str | None = None, reinit_layers: int = 0, no_type_ids: bool = False, kernels: str | None = None, untrained: bool = False, device: str = "cpu", tf32: bool = False, runtime: Any = None):
        _kinds.check(Model.__init__, locals())
        labels = kept(labels)
        _options.whole("reinit_layers", reinit_layers, 0)
        device, card = _device.checked(device)
        if dense is not None:
            dense = _options.whole("dense", dense, 1)
        self._runtime = runtime or _runtime.default()
        self.path = _hub.folder(path, revision=revision, runtime=self._runtime)
        of = labels._core if isinstance(labels, Dataset) else getattr(_labels(labels, self._runtime), "_core", None)
        self._home = _files.from_here(self.path)
        encoder = _core.encoder_folder(self._runtime, os.fsencode(self.path))  # of a folder of sentence-transformers it may be another
        how = {"seed": seed, "pooling": pooling, "layers": layers, "dense": dense, "dense_activation": dense_activation, "reinit_layers": reinit_layers,
               "no_type_ids": no_type_ids, "kernels": kernels, "device": device, "card": card, "tf32": tf32}
        bare = _shapes.of(getattr(labels, "task", None)).bare  # with what the folder puts after the encoder
        may_embed = labels is None and not untrained and gives_vectors(self.path)
        headless = may_embed and _core.describe(self._runtime, os.fsencode(encoder))["task"] == "auto"  # by config.json
        made = self._of_vectors(how) if headless else None
        self._core = made or _core.model(self._runtime, os.fsencode(self.path if bare else encoder), of, dict(how))
        if may_embed and not headless and self._core.facts()["untrained"]:
            self._core = self._of_vectors(how) or self._core
        self._head_looks = {name: how[name] for name in ("pooling", "layers") if how[name] is not None}
        self.tokenizer = Tokenizer(encoder, runtime=self._runtime) if tokenizer is None else _tokenizer(tokenizer, self._runtime)
        self._core.encodes_with(self.tokenizer._core)
        self._state = object()  # another one when the weights are others
        self._embedder: tuple[object, Any] | None = None  # with the state of the weights that it was made of
        self._windowing: tuple[int, int] | None = self.tokenizer.windows
        self._changed = False  # the folder is not what the model is
        self._prompted: list[str] = []  # the names of prompts that a training had
        self._head_asked, self._unkept = labels is not None, False  # unkept: a copy without the modules of the folder
        self._facts = self._core.facts()
        made = _shapes.of(self.task).several_texts and length_made_for(_core.describe(self._runtime, os.fsencode(encoder)), self.task)
        self._cut_at: int | None = min(made, self.max_length) if made else None  # tokens that rows were cut to in a training, or where the folder's modules cut them
        self._mapping = self._labels_given(labels)
        self._untrained = None if untrained else self._facts["untrained"]  # a tensor that the seed made and nobody trained

    def _of_vectors(self, how: dict[str, Any]) -> Any:
        """The model with what its folder puts after the encoder; None: training has not all of it."""
        try:
            return _core.model(self._runtime, os.fsencode(self.path), Labels(None, task="embedding", runtime=self._runtime)._core, dict(how))
        except (FormatError, MismatchError, UnsupportedError):  # modules that `embed` has, and training has not
            return None

    def _labels_given(self, labels) -> Labels | None:
        """What predictions say for the names of classes, where it was said."""
        given = labels.labels if isinstance(labels, Dataset) else _labels(labels, self._runtime)
        return given if given is not None and given.names == self._facts["labels"] and given.names else None

    def __repr__(self) -> str:
        return f"Model({self.path!r}, {self.type}, {self.task}, {self.outputs} outputs)"

    @property
    def type(self) -> str:
        """As config.json names it: bert, roberta, ..."""
        return self._facts["type"]

    @property
    def task(self) -> str:
        """What it answers: classification, multi_label, regression, tokens, mlm, embedding or rerank."""
        return self._facts["task"]

    @property
    def outputs(self) -> int:
        """Logits a row."""
        return self._facts["outputs"]

    @property
    def max_length(self) -> int:
        """Tokens that fit."""
        return self._facts["max_length"]

    @property
    def kernels(self) -> str:
        """What computes: results are bit-identical with the same kernels."""
        return self._facts["kernels"]

    @property
    def labels(self) -> Labels:
        """The classes: ``names`` as config.json has them, ``values`` as predictions give them, which are those of the rows that it was
        trained on; of a folder integers and booleans where all names are written so."""
        if self._mapping is not None:
            return self._mapping
        if _shapes.of(self.task).named:
            return Labels(self._facts["labels"], task=self.task, values=natural(self._facts["labels"], self._facts["form"]), runtime=self._runtime)
        return Labels(None, task=self.task, outputs=self.outputs,
                      runtime=self._runtime)

    def parameters(self) -> dict[str, Any]:
        """Weights by Hugging Face's names, float32; they share the model's memory. After writing to them call ``written()``.
        Those of a model on a GPU share a copy of its weights, which each call renews and ``written()`` sends back.

        While the model is trained, a function that listens to events asks again: steps leave rows of embeddings without a gradient as
        they are, and this call (or an evaluation, a checkpoint, the end) brings them up to date."""
        return dict(self._core.parameters())

    def written(self) -> None:
        """Says that ``parameters()`` were written to."""
        self._core.written()
        self._trained()

    def _trained(self) -> None:
        """The weights are others now."""
        self._untrained, self._state, self._embedder = None, object(), None

    def _trained_on(self, rows: Any, length: int | None, tokenizer: Tokenizer) -> None:
        """Texts are cut, and become windows, as those of the training: so says its folder too."""
        self._trained()
        self._cut_at, self._changed, self.tokenizer = length or self._cut_at, True, tokenizer
        self._head_looks, self._unkept = {}, False  # vectors are those of what is trained
        self._windowing = None if _shapes.of(self.task).made else rows.windows() if hasattr(rows, "windows") else rows._core.windows()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the folder that a run ends with, by the same code: config.json, model.safetensors, the tokenizer's files and what
        sentence-transformers reads. transformers opens it. Files of another model or tokenizer that would be read with this one, and links
        that it would be written through, are refused before anything is written; a link in a file's place is replaced, with a warning. Of a model
        that was trained the folder that it began with is refused."""
        self._refuse_unkept()
        if self._changed and os.path.isdir(folder) and os.path.isdir(self._home) and os.path.samefile(folder, self._home):
            raise UsageError(f"{_files.shown(folder)} has the weights that the training began with, which would be replaced: name another folder")
        _of_saved(*self._core.save(_files.path_bytes(folder), self.tokenizer._core, self._cut_at or 0, *(self._windowing or (0, 0))))
        _of_readme(os.fsdecode(folder))

    def _has_unkept(self) -> bool:
        """What follows the encoder is in the folder alone."""
        return not self._changed and not _shapes.of(self.task).bare and gives_vectors(self._home)

    def _refuse_unkept(self) -> None:
        """A copy would be another model, where no head was asked for."""
        if self._untrained and not self._head_asked and self._has_unkept():
            raise MismatchError(f"{self.path} has modules after its encoder that brim computes and does not keep: copy the folder itself", self.path)

    def __getstate__(self) -> dict[str, Any]:
        self._refuse_unkept()
        with tempfile.TemporaryDirectory() as folder:
            self._core.save(os.fsencode(folder))
            files = {str(file.relative_to(folder)): file.read_bytes() for file in pathlib.Path(folder).rglob("*") if file.is_file()}
        own = {name: value for name, value in self.__dict__.items() if name not in ("_runtime", "_embedder", "_state", "_facts")}
        return {**own, "_core": files, "_changed": True, "_unkept": self._unkept or self._has_unkept(), "_task": self.task}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = dict(state)
        task = own.pop("_task")
        with _hub.folder_of(own.pop("_core")) as folder:
            made = Model(folder, tokenizer=own["tokenizer"], labels=Labels(None, task=task) if _shapes.of(task).bare else None)
        self.__dict__.update({**made.__dict__, **own})

    def _check_trained(self) -> None:
        lacks = self._untrained  # which the end of a training clears
        if lacks and gives_vectors(self._home):
            raise MismatchError(f"{self.path} gives vectors of texts, and no predictions: model.embed(texts)", self.path)
        if lacks:
            raise MismatchError(f"{self.path} has no {lacks}: it is not fine-tuned yet; train it with brim.train, or load it with "
                                "Model(..., untrained=True) for the answers of random weights", self.path)

    def encode(self, texts: Sequence[str | bytes], *, pairs: Sequence[str | bytes] | None = None, max_length: int | None = None) -> Dataset:
        """Texts as a dataset for this model."""
        return Dataset.from_texts(texts, self.tokenizer, pairs=pairs, max_length=max_length or self._longest(), runtime=self._runtime)

    def _refuse_masks(self) -> None:
        if _shapes.of(self.task).made:
            raise UsageError("the model is of masked words, which have no labels: brim.train continues from its folder with a task; "
                             "`brim predict` fills its mask tokens, `brim evaluate` measures it")

    def _longest(self) -> int:
        """Tokens that a row is cut to: those that fit, or fewer where the training or the tokenizer says so, as a run's does."""
        return min(self.max_length, self._cut_at or self.tokenizer.max_length or self.max_length)

    def _encoded(self, data, options, **how) -> tuple[Dataset, dict[str, Any], dict[str, Any]]:
        """The rows, the options that said how they are read, and those that say how they are computed."""
        reading, computing = _options.split_reading(options)
        if reading.get("min_chars") and not how["labelled"] and not is_read(data, False):
            raise UsageError("min_chars: each row in memory has its answer; it leaves out rows of files")
        dataset = self._dataset(data, reading=reading, **how)
        if reading:
            _of_left_out(dataset, "rows", bool(reading.get("skip_damaged")))
        return dataset, reading, computing

    def _dataset(self, data, *, labelled: bool, max_length: int | None, reading: dict[str, Any], **columns) -> Dataset:
        _holders.refuse_batches(data)
        _holders.refuse_sets(data)
        data = _holders.by_columns(data)
        if isinstance(data, (bytearray, memoryview)):
            raise CellError(f"a text is a str or bytes, not {_holders._short(data)}: give bytes(data), or a list of texts")
        refuse_encoded(data, max_length=max_length, **columns, **reading)
        if max_length is not None:
            whole("max_length", max_length, 1)
        how = {"max_length": max_length or self._longest(), "runtime": self._runtime, **(reading if is_read(data, labelled) else _options.of_rows(reading))}
        if _shapes.of(self.task).several_texts and not isinstance(data, Dataset):
            return self._of_pairs(data, labelled, columns, how)
        if self._windowing and not isinstance(data, Dataset):  # as the run made them
            how["windows"], how["max_windows"] = self._windowing
        if _shapes.of(self.task).words and not isinstance(data, Dataset):
            if not _files.names_a_file(data) and not (_holders.is_table(data) or isinstance(data, dict)):
                data = _Rows(_holders.as_list(data))
            found = Dataset.of(data, self.tokenizer, labelled=labelled, labels=self.labels if labelled else None, task="tokens", **columns, **how)
            _of_spaces(found)
            return found
        if labelled:
            try:
                return Dataset.of(data, self.tokenizer, labelled=True, labels=self.labels, **columns, **how)
            except MismatchError as error:
                raise self._told_of_ids(error) from None
        if isinstance(data, os.PathLike) or isinstance(data, (list, tuple)) and data and all(isinstance(d, os.PathLike) for d in data):
            return Dataset.from_files(data, self.tokenizer, need_label=False, **columns, **how)
        elif isinstance(data, (list, tuple)) and all(isinstance(d, (str, bytes)) for d in data) and not any(columns.values()):
            return Dataset.from_texts(data, self.tokenizer, **how)
        elif not _holders.is_rows(data) and not isinstance(data, Dataset):
            raise TypeError(f"a text, a list of texts, a table or a file is needed, not {data!r}")
        if not (_holders.is_table(data) or isinstance(data, (dict, Dataset))):
            data = _holders.as_list(_holders.kept(data))
            if names := self.labels.names:
                _of_names(data, names)
            data = _Rows(data)
        return Dataset.of(data, self.tokenizer, labelled=False, **columns, **how)

    def _told_of_ids(self, error: MismatchError) -> MismatchError:
        """A number in the place of a class: of labels={0: "neg", 1: "pos"} a folder keeps the names."""
        names, number = self.labels.names or [], re.search(r'label "(\d+)" is not among', str(error))
        if not number or int(number[1]) >= len(names) or any(name.isdecimal() for name in names):
            return error
        shown = ", ".join(f"{at}: {name!r}" for at, name in enumerate(names[:2])) + (", .." if len(names) > 2 else "")
        return MismatchError(f"{error}; if the numbers are theirs, brim.Model({self.path!r}, labels={{{shown}}}) says so", error.file, error.line, error.byte)

    def _of_pairs(self, data, labelled: bool, columns, how) -> Dataset:
        if _shapes.of(self.task).bare and not labelled:
            raise UsageError("the model gives vectors: model.embed(texts)")
        if _shapes.of(self.task).bare:
            _of_prompts(self._home, self._prompted)
        if not labelled and (isinstance(data, (str, bytes)) or isinstance(data, (list, tuple)) and all(isinstance(one, (str, bytes)) for one in data)):
            raise UsageError(f"the model scores pairs: [(query, document), ..] is expected, not {_holders._short(data)}")
        found = _pairs.dataset(data, self.tokenizer, task=self.task, columns=None, labelled=labelled, **columns, **how)
        if not labelled and found.firsts is not None:
            raise UsageError("the rows have several documents: give pairs of a query and a document, each a row")
        return found

    def logits(self, data: Any = None, *, file: Files | None = None, max_length: int | None = None, text_column: str | None = None, pair_column: str | None = None,
               progress: bool | Callable[[str, dict[str, Any]], Any] | None = None, on_device: bool = False, **options: Unpack[PredictOptions]) -> _core.Array:
        """float32 [rows, outputs] in the order of the rows; of a model that labels tokens [tokens, outputs], of all tokens of all rows.

        data: a text (every str is one); a list of texts, of pairs (text, text) or of dicts; a table or a dict of columns; a Dataset; a file as
        a pathlib.Path. file: files by their names, instead of data. progress: True shows a line, False none; a function is called with a
        kind and fields. options: batching, padding, batch_size, max_tokens (none changes a
        result by more than rounding), and precision: "int8" multiplies bytes in the layers, which is faster where the processor has VNNI
        and gives nearly the same. on_device: of a model on a GPU, they stay there: ``torch.from_dlpack(model.logits(texts, on_device=True))``
        copies nothing; nobody looks whether they are finite."""
        _kinds.check(Model.logits, locals(), PredictOptions)
        _options.of_answers(options)
        self._check_trained()
        self._refuse_masks()
        data = _data_or_file(data, file)
        if _rows.are_none(data) and not on_device:
            return _core.array("f", b"", 0, self.outputs)
        dataset, _, computing = self._encoded(data, options, labelled=False, max_length=max_length, text_column=text_column, pair_column=pair_column)
        with _progress.shown(progress) as listen:
            return self._core.predict(dataset._core, computing, listen, 0, len(dataset), on_device)

    def predict(self, data: Any = None, **options: Unpack[AnswerOptions]) -> list[Any]:
        """The class and probabilities, or the value, of every row, in order; arguments as for ``logits``. threshold: a label holds from this
        probability on (0.5); of one class a row, a row whose best class has less has the label None. top_k: so many classes in
        ``Prediction.scores``, the most probable first. ``predict_each`` holds a window of predictions at a time. Of a model that labels
        tokens a ``TokenPrediction`` a row: of lists of words, or of texts, which are split at white space. Of a reranker a score (a float) a pair:
        ``model.predict([(query, document) for document in documents])``; the larger, the more relevant."""
        return list(self.predict_each(data, **options))

    def rank(self, query: str | bytes, documents: Iterable[str | bytes], *, top_k: int | None = None, max_length: int | None = None,
             progress: bool | Callable[[str, dict[str, Any]], Any] | None = None, **options: Unpack[ComputeOptions]) -> list[Ranked]:
        """A reranker's order of the documents for a query: (index, score, text) of each, the best first; of one score, in the order that they were
        given in. top_k: the first so many. The rest as for ``logits``.

            best = model.rank("where can I live", documents, top_k=3)[0].text"""
        _kinds.check(Model.rank, locals(), ComputeOptions)
        if not _shapes.of(self.task).joins_pairs:
            raise UsageError(f"the model is of {self.task}: a reranker ranks documents" + ("; if the folder is a cross-encoder of one score, say so in its config.json: "
                             '"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}' if not _shapes.of(self.task).named and self.outputs == 1 and not _shapes.of(self.task).bare else ""))
        if not isinstance(query, (str, bytes)):
            raise UsageError(f"query={query!r:.60}: one text is expected")
        if top_k is not None:
            whole("top_k", top_k, 1)
        texts = list(_holders.items(documents, "documents"))
        wrong = next((row for row, text in enumerate(texts) if not isinstance(text, (str, bytes))), None)
        if wrong is not None:
            raise UsageError(f"documents: row {wrong} is {texts[wrong]!r:.60}: a text is expected")
        scores = self.predict([(query, text) for text in texts], max_length=max_length, progress=progress, **options)
        order = sorted(range(len(texts)), key=lambda i: (-scores[i], i))
        return [Ranked(i, scores[i], texts[i]) for i in order[:top_k]]

    def predict_each(self, data: Any = None, *, file: Files | None = None, max_length: int | None = None,
                     text_column: str | None = None, pair_column: str | None = None, threshold: float | None = None, top_k: int | None = None,
                     progress: bool | Callable[[str, dict[str, Any]], Any] | None = None, **options: Unpack[PredictOptions]) -> Iterator[Any]:
        """``predict`` as an iterator: of many rows and many classes, all predictions at once are more than memory holds. The rows are
        encoded when it is called, and computed in the windows that `brim predict` has: what 64 MB of logits hold."""
        _kinds.check(Model.predict_each, locals(), PredictOptions)
        _options.of_answers(options)
        self._check_trained()
        self._refuse_masks()
        if _shapes.of(self.task).bare:
            raise UsageError("the model gives vectors, not classes: model.embed(texts)")
        how = How(self.task, self.labels.values or [], threshold, top_k, self._core.facts()["bare"]).checked()
        data = _data_or_file(data, file)
        if _rows.are_none(data):
            return iter(())
        dataset, _, computing = self._encoded(data, options, labelled=False, max_length=max_length, text_column=text_column, pair_column=pair_column)
        if dataset.firsts is not None and not dataset._core.windows():
            raise UsageError("the rows have several texts each: an answer is of one text, or of one pair")
        return self._windows(dataset, computing, progress, how)

    def _windows(self, dataset, options, progress, how) -> Iterator[Prediction]:
        tokens = _shapes.of(self.task).words
        size = max(_WINDOW // (4 * self.outputs * (dataset.longest if tokens else 1)), 64)
        for first in range(0, len(dataset), size):
            with _progress.shown(progress) as listen:
                logits = self._core.predict(dataset._core, options, listen, first, min(size, len(dataset) - first))
            flat = memoryview(logits).cast("B").cast("f")
            if tokens:
                yield from self._of_words(dataset, first, min(size, len(dataset) - first), flat)
                continue
            for at in range(0, len(flat), self.outputs):
                yield how.of(flat[at:at + self.outputs].tolist())

    def _of_words(self, dataset, first: int, count: int, flat) -> Iterator[TokenPrediction]:
        names, outputs, at = self.labels.values or [], self.outputs, 0
        for row in range(first, first + count):
            found = dataset._words(row)
            if found is None:
                raise TypeError("rows of ids have no words: take logits")
            words, numbers, _ = found
            labels, scores = [None] * len(words), [None] * len(words)
            for word in numbers:
                values = flat[at:at + outputs].tolist()
                at += outputs
                if word >= 0 and labels[word] is None:
                    top = max(values)
                    labels[word] = names[values.index(top)]
                    scores[word] = 1 / sum(math.exp(v - top) for v in values)
            yield TokenPrediction(words, labels, scores)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[str]:
        """A folder that says what the model puts after its encoder, and which prompts it has."""
        if not self._changed:
            yield self._home
            return
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            yield folder

    def _vectors(self) -> Any:
        if self._unkept:
            raise MismatchError(f"{self.path} has modules after its encoder that a copy does not have: ask the model that was copied", self.path)
        if self._head_looks and not _shapes.of(self.task).bare:
            raise UsageError(f"{next(iter(self._head_looks))} is of the model's head, of {self.task}: vectors have it with labels=brim.Labels(None, task=\"embedding\")")
        state, found = self._state, self._embedder  # once: another thread's training may end meanwhile, and what is made of older weights is kept by none
        if found is None or found[0] is not state:
            with self._folder() as folder:
                self._embedder = found = state, _core.embedder(self._runtime, self._core, self.tokenizer._core, os.fsencode(folder))
        return found[1]

    def embed(self, texts: Iterable[str | bytes], *, prompt: str | None = None, dimensions: int | None = None, normalize: bool = False,
              precision: str = "fp32", max_length: int | None = None, batch_size: int = 32, max_tokens: int | None = None) -> np.ndarray:
        """Vectors of texts, as a numpy array of float32 [texts, numbers], in their order: what ``brim embed`` writes.

            model = brim.Model("all-MiniLM-L6-v2")
            vectors = model.embed(["a red house", "a small blue boat"], normalize=True)
            vectors @ model.embed("where can I live", normalize=True)[0]

        The model is a folder of sentence-transformers, or a run of brim: what its modules.json lists after the encoder (pooling, dense layers, a
        norm) gives the vectors of ``SentenceTransformer(folder).encode(texts)``. Without modules.json they are the mean of the encoder's tokens.

        texts: a text (every str is one), or anything to loop over; of a generator no more than 8,192 texts are held at a time. A text's vector
        does not depend on the others: alone and together it has the same bits. prompt: a name of the folder's prompts, with whose text each text
        then begins, such as "query" or "document"; None: the folder's default; "none": nothing. dimensions: the first so many numbers of each
        vector (Matryoshka), None: the folder's truncate_dim, or all; normalize brings them to length 1 then. precision: "int8" multiplies bytes in the layers: faster on processors with
        VNNI, close to fp32, not equal; "bf16" is closer. max_length: tokens that a text is cut to; None: what the folder says. What was cut is
        counted in a warning. batch_size, max_tokens: texts, or tokens, that are computed at once."""
        _kinds.check(Model.embed, locals())
        return _embedding.embed(self._vectors(), texts, prompt=prompt, dimensions=dimensions, normalize=normalize, precision=precision,
                                max_length=self._cut_at if max_length is None else max_length, batch_size=batch_size, max_tokens=max_tokens)

    def evaluate_retrieval(self, corpus: Any, queries: Any, relevant: Any, *, at: Iterable[int] | None = None, similarity: str | None = None,
                           query_prompt: str | None = None, document_prompt: str | None = None, dimensions: int | None = None, precision: str = "fp32",
                           max_length: int | None = None, batch_size: int = 32, max_tokens: int | None = None) -> dict[str, Any]:
        """How well the vectors of ``embed`` find relevant documents: accuracy@k, precision@k, recall@k, mrr@k, ndcg@k and map@k for each k of
        ``at`` (1, 3, 5, 10 and 100), as sentence-transformers' InformationRetrievalEvaluator defines them, and counts of what was looked at. All documents are looked
        through; those of one score are ordered by id.

        corpus, queries: files of JSON lines as BEIR has them (_id, title, text), or dicts from id to text (or to {"title", "text"}). relevant: a
        tab-separated file with the header query-id, corpus-id, score, or a dict from a query's id to the ids of its documents, or to a dict of
        their scores. similarity: cosine, dot, euclidean or manhattan; None: the folder's. query_prompt, document_prompt: names of prompts, "none"
        for nothing; None: the folder's "query" and "document". The others are those of ``embed``."""
        _kinds.check(Model.evaluate_retrieval, locals())
        return _embedding.retrieval(self._vectors(), corpus, queries, relevant, at=(1, 3, 5, 10, 100) if at is None else at, similarity=similarity, query_prompt=query_prompt,
                                    document_prompt=document_prompt, dimensions=dimensions, precision=precision, max_length=self._cut_at if max_length is None else max_length,
                                    batch_size=batch_size, max_tokens=max_tokens)

    def evaluate_similarity(self, pairs: Any, *, prompt: str | None = None, dimensions: int | None = None, precision: str = "fp32",
                            max_length: int | None = None, batch_size: int = 32, max_tokens: int | None = None) -> dict[str, Any]:
        """How far the vectors of pairs agree with scores: pearson_cosine, spearman_cosine, and the same of dot, euclidean and manhattan.

        pairs: a file with the columns sentence1, sentence2 and score, or anything to loop over that gives (text, text, score). The others are
        those of ``embed``."""
        _kinds.check(Model.evaluate_similarity, locals())
        return _embedding.similarity(self._vectors(), pairs, prompt=prompt, dimensions=dimensions, precision=precision, max_length=self._cut_at if max_length is None else max_length,
                                     batch_size=batch_size, max_tokens=max_tokens)

    def evaluate(self, data: Any, *, max_length: int | None = None, text_column: str | None = None, pair_column: str | None = None,
                 label_column: str | None = None, progress: bool | Callable[[str, dict[str, Any]], Any] | None = None,
                 **options: Unpack[PredictOptions]) -> Evaluation:
        """Metrics of a labelled Dataset, files, a table, or rows (``Dataset.of`` says which), as a dict: rows, loss, and what fits the task:
        accuracy, f1 (of the second of two classes, or the mean of more), matthews; f1_micro, f1_macro; rmse, pearson, spearman. Its attributes have more: ``classes``, ``confusion``, the rows that
        are most wrong (``wrong``), the outcome of every row (``rows``)."""
        _kinds.check(Model.evaluate, locals(), PredictOptions)
        _options.of_answers(options)
        self._check_trained()
        self._refuse_masks()
        data = _holders.joined(data)
        dataset, reading, computing = self._encoded(data, options, labelled=True, max_length=max_length, text_column=text_column, pair_column=pair_column,
                                             label_column=label_column)
        with _progress.shown(progress) as listen:
            metrics, judged, found = self._core.evaluate(dataset._core, computing, listen)
        of_entities(self.labels)
        add_texts(judged, data, dataset, self.tokenizer, {"text_column": text_column, "pair_column": pair_column, **reading})
        rows = dict(zip(("label", "predicted", "loss", "score", "label_score"), found)) if isinstance(found, tuple) else {"logits": found}
        return Evaluation(of_task(self.task, metrics), judged, rows)


def length_made_for(said: dict[str, Any], task: str) -> int:
    """Where sentence-transformers cuts a folder's texts, or a cross-encoder's pairs, by max_seq_length; 0: it says none."""
    return said["made_length" if _shapes.of(task).bare else "scored_length"]


def gives_vectors(folder: str) -> bool:
    """It is a folder of sentence-transformers whose modules make a vector of a text's tokens, or the encoder's within it."""
    home = _layout.home_of(folder)
    classes = {str(one.get("type", "")).rpartition(".")[2] for one in _layout.modules_of(home)}
    kind = _layout.read_json(home, "config_sentence_transformers.json").get("model_type", "SentenceTransformer")
    return "Pooling" in classes and kind == "SentenceTransformer"


def is_read(data: Any, labelled: bool) -> bool:
    """Whether it names text files. A str names one where rows have labels, and is a text where they have none."""
    return _files.is_text_files(data) and (labelled or not isinstance(data, str) and all(isinstance(one, os.PathLike) for one in (data if isinstance(data, (list, tuple)) else [data])))


def _data_or_file(data, file):
    if isinstance(data, str) and " " not in data and _files.plain_name(data).endswith(_files.DATA_SUFFIXES):
        log.warning("%r is taken as a text, as every str is: the file of that name is pathlib.Path(%r), or file=", data[:200], data[:200])
    if (data is None) == (file is None):
        raise TypeError("give rows, or file=, and not both")
    if file is None:
        return _holders.kept(_holders.one_as_list(data))
    one = isinstance(file, (str, os.PathLike))
    files = [file] if one else list(file) if hasattr(file, "__iter__") and not isinstance(file, (bytes, dict)) else []
    if not files or not all(isinstance(path, (str, os.PathLike)) for path in files):
        raise TypeError(f"file: a path, or a list of them, is needed, not {file!r:.60}")
    if "" in files:
        raise UsageError("file is an empty name: a path is needed")
    return pathlib.Path(files[0]) if one else [pathlib.Path(path) for path in files]
