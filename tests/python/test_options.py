"""Each option of each call with values that it cannot have: as if left out, or refused in one line that names it, and never another."""
import contextlib
import logging
import math
import os
import re
import tempfile
import unittest
import warnings

import brim
import case
import swept
from brim import feed, keywords, options as names_of

HERE = case.folder()
MODEL, FILE = HERE / "model", HERE / "data" / "train.csv"
ROWS = [("a good film", "pos"), ("a bad film", "neg"), ("great fun", "pos"), ("dull", "neg")]
PAIRS = [("a good film", "great fun"), ("a bad film", "dull"), ("the story", "the plot")]
VALUES = [None, 0, False, True, "", "5", [], {}, -1, 1.5, 1e400, math.nan, object(), b"", 1 << 63, 1 << 70]
#: Of which more than their kind is looked at, or less: names of columns may be numbers, whole numbers with a point are steps, an object without an attribute is no model.
ANY_KIND = {"text_column", "pair_column", "label_column", "warmup_steps", "columns", "folds", "callbacks", "device", "revision"}
#: Whole numbers that may be below 0: by the epochs.
BELOW = {"max_steps"}

#: Of which an empty one means something: no conditions, no columns, no functions, no prompts, no rows.
EMPTY = {"where", "blocks", "prompts", "callbacks", "report_to", "documents"}


class Begun(Exception):
    """A training begins: nothing was refused."""


def begin(kind, fields):
    raise Begun


def senseless(keyword, value):
    """Whether a value is of no kind that the option's annotation says, or a number that counts nothing."""
    if keyword is None or keyword.name in ANY_KIND:
        return False
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    numbers = {"int", "float"} & swept.parts(keyword.annotation)
    below = value == -1 and "int" in numbers and keyword.name not in BELOW
    return not swept.means(keyword.annotation, value) or number and bool(numbers) and (value != value or abs(value) == math.inf or below)


class Options(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        before = os.getcwd()
        os.chdir(tempfile.mkdtemp(dir=HERE))
        self.addCleanup(os.chdir, before)
        self.addCleanup(logging.disable, logging.NOTSET)

    def sweep(self, call, options, but=()):
        known, given, taken, refused = set(options), options if isinstance(options, dict) else {}, 0, 0
        for name in options:
            for value in VALUES:
                if name in but or value == "5" and name in ("tokenizer", "processing_class") or value == "5" and swept.means(getattr(given.get(name), "annotation", "Any"), value):  # a word, which is looked at elsewhere
                    continue
                with self.subTest(name, value=repr(value)[:20]):
                    try:
                        with contextlib.suppress(Begun):
                            call(**{name: value})
                    except (brim.Error, TypeError, ValueError) as error:
                        refused += 1
                        self.assertTrue(swept.is_line(error), error)
                        self.named(name, str(error), known)
                    else:
                        taken += 1
                        self.assertFalse(senseless(given.get(name), value), f"{name}={value!r:.40} is taken")
                        self.assertFalse(isinstance(value, (str, bytes, list, dict)) and not value and name not in EMPTY | names_of._IDLE, f"{name}={value!r} is taken for none")
        self.assertTrue(taken and refused, f"{taken} values were taken, and {refused} refused: nothing is compared")

    def named(self, name, message, known):
        self.assertNotIn("\n", message)
        mine = {name, names_of.brims(name), swept.SAID.get(name, name)}
        found = set(re.findall(r"\w+", message.lower()))
        self.assertTrue(mine & found, message)
        blamed = re.match(r"(\w+)(?:: | is )", message)
        self.assertIn(blamed[1] if blamed and blamed[1] in known else name, mine, message)

    def test_train(self):
        options = swept.keywords_of(brim.train, keywords.TrainOptions)
        quick = {"max_steps": 1, "progress": False, "on_event": begin}
        train = lambda model, rows, **given: lambda **more: brim.train(model, rows, **{**quick, **given, **more})
        model = brim.train(MODEL, ROWS, max_steps=1, progress=False).model
        self.sweep(train(MODEL, ROWS), options, but={"on_event", "train_dataset"})
        self.sweep(train(model, ROWS), {name: one for name, one in swept.keywords_of(brim.train).items() if name not in ("on_event", "runtime")})
        for given in ({"dense": 0}, {"dense": 8}, {"pooling": "max"}, {"layers": "last"}, {"revision": "main"}, {"dense_activation": "tanh"}):
            with self.assertRaisesRegex(brim.Error, f"{next(iter(given))} is said when a model is loaded"):
                brim.train(model, ROWS, max_steps=1, **given)
        for nobody in (b"", {}, [""]):
            self.assertRaisesRegex(TypeError, "report_to=.*brim reports to", train(MODEL, ROWS), report_to=nobody)
        self.sweep(train(MODEL, FILE, stream=True), sorted(names_of.SOURCE | names_of.STREAM | {"text_column", "labels", "prompts", "folds"}))
        self.sweep(train(MODEL, ROWS, folds=2), sorted(names_of.HERE | {"fold_seed", "stratify", "eval"}), but={"validation_split"})
        self.sweep(lambda **more: brim.train(MODEL, ROWS, max_steps=1, progress=False, **more), ["on_event"])
        self.sweep(lambda **more: brim.compare(MODEL, ROWS, **{**quick, **more}), ["modes", "eval", "precision", "seed"])

    def test_answers(self):
        model = brim.train(MODEL, ROWS, max_steps=1, progress=False).model
        vectors = brim.train(MODEL, PAIRS, task="embedding", max_steps=1, progress=False).model
        scores = brim.train(MODEL, [(*pair, 1.0) for pair in PAIRS], task="rerank", max_steps=1, progress=False).model
        one = lambda ask, data: lambda **more: ask(None if more.get("file") is not None else data, **{"progress": False, **more})
        for ask in (model.predict, model.logits):
            self.sweep(one(ask, "good"), swept.keywords_of(getattr(brim.Model, "predict_each" if ask == model.predict else "logits"), keywords.PredictOptions))
        self.assertEqual(len(model.predict(file=FILE.parent.glob(FILE.name))), len(model.predict(file=FILE)))
        with self.assertRaisesRegex(TypeError, "file: a path, or a list of them"):
            model.predict(file=[5])
        self.sweep(one(model.evaluate, ROWS), swept.keywords_of(brim.Model.evaluate, keywords.PredictOptions))
        self.sweep(lambda **more: vectors.embed("good", **more), swept.keywords_of(brim.Model.embed))
        self.sweep(lambda **more: vectors.evaluate_similarity([(*pair, at) for at, pair in enumerate(PAIRS)], **more), swept.keywords_of(brim.Model.evaluate_similarity))
        found = {"corpus": {"1": "a", "2": "b"}, "queries": {"1": "a"}, "relevant": {"1": ["1"]}}
        self.sweep(lambda **more: vectors.evaluate_retrieval(**{**found, **more}), swept.keywords_of(brim.Model.evaluate_retrieval))
        self.sweep(lambda **more: scores.rank("good", **{"documents": ["a", "b"], **more}), {"documents": None, **swept.keywords_of(brim.Model.rank)})
        self.sweep(lambda **more: brim.Model(MODEL, **more), swept.keywords_of(brim.Model))

    def test_data(self):
        tokenizer = brim.Tokenizer(MODEL)
        self.sweep(lambda **more: brim.Dataset.from_texts(["good", "bad"], tokenizer, **more), swept.keywords_of(brim.Dataset.from_texts))
        self.sweep(lambda **more: brim.Dataset.from_files(FILE, tokenizer, **more), swept.keywords_of(brim.Dataset.from_files))
        rows = brim.Dataset.from_texts(["good", "bad"], tokenizer, labels=["a", "b"])
        self.sweep(lambda **more: next(iter(rows.batches(**more)), None), swept.keywords_of(brim.Batches))

        def stream(**more):
            made = brim.data.stream(FILE, tokenizer, **{"labels": ["0", "1"], **more})
            next(iter(made)), made.close()

        self.sweep(stream, swept.keywords_of(feed.Stream, keywords.PlanOptions))
        self.sweep(lambda **more: brim.analyze(ROWS, tokenizer, **more), {name: one for name, one in swept.keywords_of(brim.analyze, keywords.BatchOptions).items() if name != "tokenizer"})
        self.sweep(lambda **more: tokenizer.encode("good", **more), swept.keywords_of(brim.Tokenizer.encode))
        self.sweep(lambda **more: tokenizer.encode_batch(["good"], **more), swept.keywords_of(brim.Tokenizer.encode_batch))
        self.sweep(lambda **more: brim.Labels(**{"names": ["a", "b"], **more}), {"names": None, **swept.keywords_of(brim.Labels)})
        self.sweep(lambda **more: brim.Runtime(**more), ["threads", "cpu"])


if __name__ == "__main__":
    case.main()
