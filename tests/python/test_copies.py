"""A copy is the same in all that it says and in all that is made of it: data sets of every kind, models, labels, batches, results, tokenizers."""
import copy
import dataclasses
import json
import math
import pickle
import shutil
import unittest
import warnings

import brim
import case
from case import weights

HERE = case.folder()
MODEL, DATA = HERE / "model", HERE / "data"
TOKENIZER = brim.Tokenizer(MODEL)
LONG = "the story was slow and dull , not funny at all and too long " * 3
TEXTS = ["a good film", LONG, "great fun", "", "dull and slow", "bad", "warm and funny", "no plot"]
NAMES = ["pos", "neg"] * 4
PAIRS = [("a good film", "great fun"), ("a bad film", LONG), ("the story", "the plot"), ("funny", "very funny")] * 2


def of_texts(texts=TEXTS, **options):
    return brim.Dataset.from_texts(texts, TOKENIZER, **{"max_length": 16, **options})


def of_files(name, lines, **options):
    path = HERE / name
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return brim.Dataset.from_files(path, TOKENIZER, **{"max_length": 16, **options})


def of_words(**options):
    rows = [(one.split() or ["x"], [("B-A", "I-A", "O")[place % 3] for place in range(len(one.split()) or 1)]) for one in TEXTS]
    rows[0][1][1] = None
    return brim.Dataset.of(rows, TOKENIZER, **{"labelled": True, "task": "tokens", "max_length": 16, **options})


def of_groups(thirds=tuple("x y good bad dull warm funny z".split()), paired=False, **options):
    rows = {"a": [one for one, _ in PAIRS], "b": [two for _, two in PAIRS], "c": list(thirds), "vectors": [[float(place), 0.5] for place in range(8)]}
    return brim.Dataset.of(rows, TOKENIZER, **{"text_columns": ["a", "b", "c"], "least_columns": 2, "paired": paired, "max_length": 16, **options})


def of_ids(**options):
    rows = [TOKENIZER.encode(one).ids.tolist() for one in TEXTS]
    return brim.Dataset.from_ids(rows, **options)


def kinds():
    """{name: (how it is made, options of training or None: it is not trained on)}"""
    csv = ["text,label,split", "a good film,1,x", "bad,0,y", "great fun,1,x", ",0,x", f'"{LONG}",0,x', "no plot,0,x", "torn", "fine,1,x"]
    chosen = {"where": {"split": "x"}, "min_chars": 1, "skip_damaged": True}
    scores = [float(place) / 8 for place in range(8)]
    return {
        "texts": (lambda: of_texts(labels=NAMES), {}),
        "texts without labels": (lambda: of_texts(), None),
        "strings that look like numbers": (lambda: of_texts(labels=["007", "1"] * 4), {}),
        "whole numbers": (lambda: of_texts(labels=[3, 5] * 4), {}),
        "booleans": (lambda: of_texts(labels=[True, False] * 4), {}),
        "classes with other names": (lambda: brim.Dataset.of(list(zip(TEXTS, [0, 1] * 4)), TOKENIZER, labelled=True, labels={0: "neg", 1: "pos"}), {}),
        "labels that are none": (lambda: of_texts(labels=["a", "b", None, "b"] * 2, missing_label="skip"), {}),
        "values": (lambda: of_texts(labels=scores), {}),
        "several values": (lambda: of_texts(labels=[[one, 1 - one] for one in scores], task="regression"), {}),
        "several labels": (lambda: of_texts(labels=[["a"], [], ["a", "b"], ["c"]] * 2), {}),
        "pairs": (lambda: of_texts([one for one, _ in PAIRS], pairs=[two for _, two in PAIRS], labels=NAMES), {}),
        "words": (of_words, {}),
        "words in windows": (lambda: of_words(windows=4), None),
        "windows": (lambda: of_texts(labels=NAMES, windows=4, max_windows=3), {}),
        "masked words": (lambda: of_texts(numbering="words", windows=0), None),
        "masked words in windows": (lambda: of_texts(numbering="tokens", windows=4), None),
        "groups": (of_groups, {"task": "embedding"}),
        "groups of two or three": (lambda: of_groups(["x", "", "good", "", "bad", "y", "", "z"]), None),
        "groups of pairs": (lambda: of_groups(paired=True), {"task": "rerank"}),
        "blocks": (lambda: of_groups(blocks={"teacher": ("row", 2, "vectors")}), {"task": "embedding"}),
        "several blocks": (lambda: of_texts(labels=NAMES, blocks={"teacher": [[float(place)] for place in range(8)], "kind": [[place, 1] for place in range(8)]}), {}),
        "a file": (lambda: of_files("kinds.csv", csv, **chosen), {}),
        "from a cache": (lambda: [of_files("kinds.csv", csv, **chosen, cache=HERE / "cache") for _ in range(2)][1], {}),
        "a file and labels that are none": (lambda: of_files("none.csv", ["text,label", "a,-1", "b,0", "c,1", "d,0", "e,1"]), {}),
        "two files": (lambda: brim.Dataset.from_files([DATA / "train.csv", DATA / "test.csv"], TOKENIZER, max_length=8), {}),
        "a part": (lambda: of_files("kinds.csv", csv, **chosen).select([3, 1, 0, 4, 1]), {}),
        "a part of windows": (lambda: of_texts(labels=NAMES, windows=4, max_windows=3)[1:6], {}),
        "a share": (lambda: of_texts(labels=NAMES).split(0.4)[0], {}),
        "ids": (of_ids, None),
        "ids with labels": (lambda: of_ids(labels=[0, 1] * 4, mapping=["a", "b"]), {}),
        "ids with some labels": (lambda: of_ids(labels=[0, math.nan] * 4, mapping=["a", "b"], pad_id=3), None),
        "ids and labels of nothing": (lambda: of_ids(labels=[0, 1] * 4), None),
        "ids and a mapping alone": (lambda: of_ids(mapping=["a", "b"]), None),
    }


def plain(thing):
    """Whatever a thing says, as what Python compares."""
    if isinstance(thing, brim.Labels):
        return "labels", thing.names, thing.values, list(map(type, thing.values or ())), thing.task, thing.outputs, thing._keys
    if isinstance(thing, brim.Tokenizer):
        return said(thing)
    if dataclasses.is_dataclass(thing):
        return plain(vars(thing))
    if isinstance(thing, dict):
        return {name: plain(value) for name, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        return [plain(one) for one in thing]
    if hasattr(thing, "tolist"):
        return plain(thing.tolist())
    return "nan" if isinstance(thing, float) and math.isnan(thing) else thing


def said(thing):
    """All public attributes that are no functions."""
    names = {name for name in [*dir(type(thing)), *vars(thing)] if not name.startswith("_")}
    found = {name: getattr(thing, name) for name in names}
    return {name: plain(value) for name, value in found.items() if not callable(value)} | {"repr": repr(thing)}


TIMES = {"seconds", "tokens_per_second", "time", "eta", "wait", "elapsed"}


def timeless(thing):
    """Without what a clock said."""
    if isinstance(thing, dict):
        return {name: timeless(value) for name, value in thing.items() if name not in TIMES and "second" not in name and "memory" not in name}
    return [timeless(one) for one in thing] if isinstance(thing, list) else thing


def all_of(data):
    """A data set to its last row, and a pass over its batches."""
    rows = [[plain(data[place]), plain(data.row(place))] for place in range(len(data))]
    batches = [[plain(batch.arrays()), batch.tokens, batch.slots, plain(batch.rows)] for batch in data.batches(batch_size=3, max_length=16)]
    return said(data), rows, batches, plain(data._core.windows()), data._values, data._types, data._pair, list(data._texts)


def judged(evaluation):
    return timeless(plain([dict(evaluation), evaluation.classes, evaluation.confusion, evaluation.confused, evaluation.wrong, evaluation.near, evaluation.rows]))


def run_on(data, options):
    """All that a training says, and the weights that it ends with."""
    events = []
    result = brim.train(MODEL, data, max_steps=2, batch_size=4, progress=False, on_event=lambda kind, fields: events.append([kind, plain(fields)]), eval=data, **options)
    answers = plain(result.model.logits(data)) if not options.get("task") else None
    return timeless([event for event in events if event[0] != "progress"]), weights(result.model), answers, result.truncated, result.lost, \
        {name: judged(one) for name, one in result.judged.items()}, plain(result.model.labels)


class Copies(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def same(self, one, other, name=""):
        with self.subTest(name):
            self.assertEqual(one, other)

    def test_data(self):
        """every kind of data set says the same and trains the same"""
        ways = [lambda data: pickle.loads(pickle.dumps(data)), copy.copy, copy.deepcopy, lambda data: pickle.loads(pickle.dumps(data, 0))]
        for number, (name, (make, options)) in enumerate(kinds().items()):
            data = make()
            again = ways[number % len(ways)](data)
            twice = copy.deepcopy(again)
            self.same(all_of(again), all_of(data), name)
            self.same(all_of(twice), all_of(data), name)
            if options is not None:
                self.same(run_on(twice, options), run_on(data, options), name)

    def test_tokenizers(self):
        """also one that says more than ids: a length, windows, the end that is cut"""
        folder = HERE / "said"
        shutil.copytree(MODEL, folder, dirs_exist_ok=True)
        brim.train(MODEL, list(zip(TEXTS, NAMES)), max_steps=1, max_length=10, windows=3, output=HERE / "windows")
        config = json.loads((folder / "tokenizer_config.json").read_text()) if (folder / "tokenizer_config.json").exists() else {}
        (folder / "tokenizer_config.json").write_text(json.dumps({**config, "truncation_side": "left", "model_max_length": 33}))
        for path in (folder, folder / "vocab.txt", HERE / "windows"):
            tokenizer = brim.Tokenizer(path)
            for again in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(copy.copy(tokenizer))):
                self.same(said(again), said(tokenizer), path)
                self.same(plain(tuple(again.encode(LONG, "a", max_length=9, offsets=True))), plain(tuple(tokenizer.encode(LONG, "a", max_length=9, offsets=True))), path)
        tokenizer.save(HERE / "again")
        self.assertEqual((brim.Tokenizer(HERE / "again").windows, tokenizer.windows), ((3, 16), (3, 16)))

    def test_models(self):
        """before and after a training: what they say, answer, and are trained to"""
        few = list(zip(TEXTS, NAMES))
        scored = [(*pair, float(place % 2)) for place, pair in enumerate(PAIRS)]
        made = {"new": (brim.Model(MODEL, labels=["pos", "neg"], pooling="mean", no_type_ids=True, untrained=True), few),
                "trained": (brim.train(MODEL, few, max_steps=1, max_length=10, windows=3).model, few),
                "other names": (brim.train(MODEL, few, max_steps=1, labels={"pos": "P", "neg": "N"}).model, few),
                "values": (brim.train(MODEL, list(zip(TEXTS, range(8))), task="regression", max_steps=1).model, list(zip(TEXTS, range(8)))),
                "words": (brim.train(MODEL, of_words(), max_steps=1).model, of_words()),
                "vectors": (brim.train(MODEL, PAIRS, task="embedding", max_steps=1, max_length=9, layers="weighted", dense=8, prompts={"query": "good "}).model, PAIRS),
                "scores": (brim.train(MODEL, scored, task="rerank", max_steps=1).model, scored)}

        def all_said(model):
            asked = [lambda: model.logits(PAIRS[:3]), lambda: model.predict([LONG, "good"]), lambda: model.embed([LONG, "good"]), lambda: model.embed("good", prompt="query")]
            return said(model), weights(model), [plain(answer(one)) for one in asked]

        def answer(asked):
            try:
                return asked()
            except brim.Error as error:
                return str(error)

        for name, (model, rows) in made.items():
            copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(copy.copy(model))]
            for again in copies:
                self.same(all_said(again), all_said(model), name)
            for one in (model, *copies):
                labels = one.labels if one.labels._keys else None
                one.result = plain(brim.train(one, rows, max_steps=2, labels=labels, progress=False).losses), weights(one)
            self.same(copies[0].result, model.result, name)
            self.same(copies[1].result, model.result, name)

    def test_small_things(self):
        """labels, batches that are under way, streams, and what came of a training"""
        for labels in (brim.Labels([3, 5]), brim.Labels(["007", "1"]), brim.Labels({0: "neg", 1: "pos"}), brim.Labels([True, False]), brim.Labels(None, outputs=3),
                       brim.Labels(["a", "b"], task="multi_label"), brim.Labels(["B-A", "O"], task="tokens")):
            for again in (pickle.loads(pickle.dumps(labels)), copy.copy(labels), copy.deepcopy(labels)):
                self.same(plain(again), plain(labels))
                self.assertEqual(again.id(labels.values[1]) if labels.values else 1, 1)
        stream = brim.data.stream(DATA / "train.csv", TOKENIZER, max_length=20, labels=["0", "1"], where={"label": "1"}, window=30)
        batches, running = iter(stream), iter(of_texts(labels=NAMES).batches(batch_size=2))
        next(batches), next(running)
        for again in (copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))):
            self.same(said(again), said(stream))
        self.same(plain(next(iter(again)).arrays()), plain(next(batches).arrays()))
        for again in (copy.copy(running), pickle.loads(pickle.dumps(running))):
            self.same([plain(batch.arrays()) for batch in again], [plain(batch.arrays()) for batch in copy.deepcopy(running)])
        few = list(zip(TEXTS, NAMES))
        result = brim.train(MODEL, few, eval=few, max_steps=2, progress=False)
        again = copy.deepcopy(pickle.loads(pickle.dumps(result)))
        self.same(plain(vars(again) | {"model": 0, "judged": 0}), plain(vars(result) | {"model": 0, "judged": 0}))
        self.same({name: judged(one) for name, one in again.judged.items()}, {name: judged(one) for name, one in result.judged.items()})
        held = result.model.evaluate(few)
        self.same(judged(pickle.loads(pickle.dumps(copy.copy(held)))), judged(held))
        for thing in (brim.train(MODEL, few, folds=2, max_steps=1, progress=False), brim.compare(MODEL, few, max_steps=1, modes=["brim", "dynamic"], progress=False),
                      brim.analyze(few, TOKENIZER)):
            again = pickle.loads(pickle.dumps(copy.deepcopy(thing)))
            self.same((repr(again), plain(vars(again) | {"_source": None})), (repr(thing), plain(vars(thing) | {"_source": None})))

    def test_of_a_kind(self):
        """a class that is derived from one of brim's, and what was noted on a thing, go along"""
        class Noted:
            pass

        for kind in (brim.Dataset, brim.Model, brim.Tokenizer, brim.Labels):
            globals()[f"My{kind.__name__}"] = type(f"My{kind.__name__}", (kind, Noted), {"__module__": __name__})
        data = MyDataset.from_texts(TEXTS, MyTokenizer(MODEL), labels=NAMES)  # noqa: F821
        for thing in (data, data[1:4], MyModel(MODEL), data.tokenizer, MyLabels(["a", "b"])):  # noqa: F821
            thing.note = ["mine"]
            for again in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
                self.assertEqual((type(again), again.note), (type(thing), ["mine"]))
        self.assertIsInstance(data[1:4], MyDataset)  # noqa: F821


if __name__ == "__main__":
    case.main()
