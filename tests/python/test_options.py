"""Each option of each call with values that it cannot have: as if left out, or refused in one line that names it, and never another."""
import inspect
import logging
import math
import re
import unittest
import warnings

import brim
import case
from brim import feed, keywords, options as names_of

HERE = case.folder()
MODEL, FILE = HERE / "model", HERE / "data" / "train.csv"
ROWS = [("a good film", "pos"), ("a bad film", "neg"), ("great fun", "pos"), ("dull", "neg")]
PAIRS = [("a good film", "great fun"), ("a bad film", "dull"), ("the story", "the plot")]
VALUES = [None, 0, False, "", [], {}, -1, 1e400, math.nan, object(), b"", 1 << 70]
#: What the message of an option says in place of its name.
SAID = {"processing_class": "tokenizer", "mapping": "labels", "names": "labels"}


class Begun(Exception):
    """A training begins: nothing was refused."""


def begin(kind, fields):
    raise Begun


def options_of(function, *typed):
    """Those of its signature that have names, and of what it passes on."""
    own = [name for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY]
    return list(dict.fromkeys([*own, *(name for options in typed for name in options.__annotations__)]))


class Options(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def sweep(self, call, options, but=()):
        known = set(options)
        for name in options:
            for value in VALUES:
                if name in but:
                    continue
                with self.subTest(name, value=repr(value)[:20]):
                    try:
                        call(**{name: value})
                    except Begun:
                        pass
                    except (brim.Error, TypeError, ValueError) as error:
                        self.named(name, str(error), known)

    def named(self, name, message, known):
        self.assertNotIn("\n", message)
        mine = {name, names_of.brims(name), SAID.get(name, name)}
        found = set(re.findall(r"\w+", message.lower()))
        self.assertTrue(mine & found, message)
        blamed = re.match(r"(\w+)(?:: | is )", message)
        self.assertIn(blamed[1] if blamed and blamed[1] in known else name, mine, message)

    def test_train(self):
        options = options_of(brim.train, keywords.TrainOptions)
        quick = {"max_steps": 1, "progress": False, "on_event": begin}
        train = lambda model, rows, **given: lambda **more: brim.train(model, rows, **{**quick, **given, **more})
        model = brim.train(MODEL, ROWS, max_steps=1, progress=False).model
        self.sweep(train(MODEL, ROWS), options, but={"on_event", "train_dataset"})
        self.sweep(train(model, ROWS), [name for name in options_of(brim.train) if name not in ("on_event", "runtime")])
        for given in ({"dense": 0}, {"dense": 8}, {"pooling": ""}, {"layers": ""}, {"revision": ""}, {"dense_activation": ""}):
            with self.assertRaisesRegex(brim.Error, f"{next(iter(given))} is said when a model is loaded"):
                brim.train(model, ROWS, max_steps=1, **given)
        self.sweep(train(MODEL, FILE, stream=True), sorted(names_of.SOURCE | names_of.STREAM | {"text_column", "labels", "prompts", "folds"}))
        self.sweep(train(MODEL, ROWS, folds=2), sorted(names_of.HERE | {"fold_seed", "stratify", "eval"}), but={"validation_split"})
        self.sweep(lambda **more: brim.train(MODEL, ROWS, max_steps=1, progress=False, **more), ["on_event"])
        self.sweep(lambda **more: brim.compare(MODEL, ROWS, **{**quick, **more}), ["modes", "eval", "precision", "seed"])

    def test_answers(self):
        model = brim.train(MODEL, ROWS, max_steps=1, progress=False).model
        vectors = brim.train(MODEL, PAIRS, task="embedding", max_steps=1, progress=False).model
        scores = brim.train(MODEL, [(*pair, 1.0) for pair in PAIRS], task="rerank", max_steps=1, progress=False).model
        one = lambda ask, data: lambda **more: ask(None if more.get("file") is not None else data, progress=False, **{name: value for name, value in more.items() if name != "progress"})
        for ask in (model.predict, model.logits):
            self.sweep(one(ask, "good"), options_of(getattr(brim.Model, "predict_each" if ask == model.predict else "logits"), keywords.PredictOptions))
        self.assertEqual(len(model.predict(file=FILE.parent.glob(FILE.name))), len(model.predict(file=FILE)))
        with self.assertRaisesRegex(TypeError, "file: a path, or a list of them"):
            model.predict(file=[5])
        self.sweep(one(model.evaluate, ROWS), options_of(brim.Model.evaluate, keywords.PredictOptions))
        self.sweep(lambda **more: vectors.embed("good", **more), options_of(brim.Model.embed))
        self.sweep(lambda **more: vectors.evaluate_similarity([(*pair, at) for at, pair in enumerate(PAIRS)], **more), options_of(brim.Model.evaluate_similarity))
        found = {"corpus": {"1": "a", "2": "b"}, "queries": {"1": "a"}, "relevant": {"1": ["1"]}}
        self.sweep(lambda **more: vectors.evaluate_retrieval(**{**found, **more}), options_of(brim.Model.evaluate_retrieval))
        self.sweep(lambda **more: scores.rank("good", **{"documents": ["a", "b"], **more}), ["documents", *options_of(brim.Model.rank)])
        self.sweep(lambda **more: brim.Model(MODEL, **more), options_of(brim.Model))

    def test_data(self):
        tokenizer = brim.Tokenizer(MODEL)
        self.sweep(lambda **more: brim.Dataset.from_texts(["good", "bad"], tokenizer, **more), options_of(brim.Dataset.from_texts))
        self.sweep(lambda **more: brim.Dataset.from_files(FILE, tokenizer, **more), options_of(brim.Dataset.from_files))
        rows = brim.Dataset.from_texts(["good", "bad"], tokenizer, labels=["a", "b"])
        self.sweep(lambda **more: next(iter(rows.batches(**more))), options_of(brim.Batches))

        def stream(**more):
            made = brim.data.stream(FILE, tokenizer, **{"labels": ["0", "1"], **more})
            next(iter(made)), made.close()

        self.sweep(stream, options_of(feed.Stream, keywords.PlanOptions))
        self.sweep(lambda **more: brim.analyze(ROWS, tokenizer, **more), [name for name in options_of(brim.analyze) if name != "tokenizer"])
        self.sweep(lambda **more: tokenizer.encode("good", **more), options_of(brim.Tokenizer.encode))
        self.sweep(lambda **more: tokenizer.encode_batch(["good"], **more), options_of(brim.Tokenizer.encode_batch))
        self.sweep(lambda **more: brim.Labels(**{"names": ["a", "b"], **more}), ["names", *options_of(brim.Labels)])
        self.sweep(lambda **more: brim.Runtime(**more), ["threads", "cpu"])


if __name__ == "__main__":
    case.main()
