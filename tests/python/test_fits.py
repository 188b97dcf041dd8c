"""Encoded rows that meet a model made for others, options that have no effect on them, and labels of every kind of source."""
import contextlib
import enum
import json
import os
import pickle
import random
import threading
import unittest
import warnings

import case
import brim

HERE = case.folder()
MODEL = HERE / "model"
TOKENIZER = brim.Tokenizer(MODEL)
WORDS = {"neg": "bad", "neutral": "film", "pos": "good"}


def rows(names, count, seed=1):
    draw = random.Random(seed)
    return [(" ".join([WORDS[name]] * draw.randint(2, 4)), name) for name in (draw.choice(names) for _ in range(count))]


TRAIN, TWO = rows(["neg", "neutral", "pos"], 60), rows(["pos", "neg"], 20, seed=2)
_model = None


def trained():
    """Knows its three classes."""
    global _model
    _model = _model or brim.train(MODEL, TRAIN, epochs=6, lr=3e-3, batch_size=8).model
    return pickle.loads(pickle.dumps(_model))


def other_tokenizer():
    """Another order of the same words."""
    folder = HERE / "other-tokenizer"
    if not folder.exists():
        folder.mkdir()
        words = (MODEL / "vocab.txt").read_text().split("\n")
        good, bad = words.index("good"), words.index("bad")
        words[good], words[bad] = words[bad], words[good]
        (folder / "vocab.txt").write_text("\n".join(words))
    return brim.Tokenizer(folder)


class Datasets(unittest.TestCase):
    def test_fewer_classes_in_another_order(self):
        model = trained()
        encoded = brim.Dataset.of(TWO, TOKENIZER, labelled=True, labels=["pos", "neg"])
        want, got = model.evaluate(TWO), model.evaluate(encoded)
        self.assertGreater(want["accuracy"], 0.9)
        self.assertEqual((got["accuracy"], got["loss"], got.confusion), (want["accuracy"], want["loss"], want.confusion))
        self.assertEqual([c.name for c in got.classes], ["neg", "neutral", "pos"])
        self.assertEqual(model.evaluate(pickle.loads(pickle.dumps(encoded)))["loss"], want["loss"])
        first = {}
        for kind, given in {"rows": TWO, "encoded": encoded}.items():
            brim.train(trained(), given, max_steps=1, batching="sequential", on_event=lambda k, f, kind=kind: k == "step" and first.update({kind: f["loss"]}))
        self.assertEqual(first["rows"], first["encoded"])

    def test_evaluated_while_training(self):
        """A set that lacks a class was an overflow of the heap, and one of another task a crash."""
        a, b = brim.Dataset.of(TRAIN, TOKENIZER, labelled=True), brim.Dataset.of(TWO, TOKENIZER, labelled=True)
        got, want = brim.train(MODEL, a, eval=b, max_steps=2), brim.train(MODEL, TRAIN, eval=TWO, max_steps=2)
        self.assertEqual(got.evaluations[0]["loss"], want.evaluations[0]["loss"])
        self.assertEqual([(c.name, c.rows) for c in got.judged["eval"].classes], [(c.name, c.rows) for c in want.judged["eval"].classes])
        values = brim.Dataset.of([(text, float(len(text))) for text, _ in TWO], TOKENIZER, labelled=True)
        with self.assertRaisesRegex(brim.errors.MismatchError, r"eval: the rows are labelled for regression, and the model is of classification \(neg"):
            brim.train(MODEL, a, eval=values, max_steps=1)
        with self.assertRaisesRegex(brim.errors.MismatchError, "labelled for classification .*, and the model is of regression"):
            brim.train(MODEL, values, eval=b, max_steps=1)
        self.assertEqual(brim.train(MODEL, a, eval=b, folds=2, max_steps=1).averages[0]["metrics"]["rows"], len(TWO))

    def test_what_does_not_fit(self):
        model, other = trained(), other_tokenizer()
        unknown = brim.Dataset.of([("good", "great"), ("bad", "neg")], TOKENIZER, labelled=True)
        foreign = brim.Dataset.of(TWO, other, labelled=True)
        singles, pairs = brim.Dataset.of(TWO, TOKENIZER, labelled=True), brim.Dataset.of([(t, t, l) for t, l in TWO], TOKENIZER, labelled=True)
        with self.assertRaisesRegex(brim.errors.MismatchError, 'row 0 has the label "great", which is not among the 3 of the model: neg, neutral, pos'):
            model.evaluate(unknown)
        self.assertEqual(len(model.predict(unknown)), 2)
        for what in (lambda: model.evaluate(foreign), lambda: model.predict(foreign), lambda: brim.train(MODEL, foreign, max_steps=1),
                     lambda: model.evaluate(pickle.loads(pickle.dumps(foreign))),
                     lambda: brim.train(MODEL, singles, eval=foreign, max_steps=1)):
            with self.assertRaisesRegex(brim.errors.MismatchError, "another tokenizer encoded the rows"):
                what()
        with self.assertRaisesRegex(brim.errors.MismatchError, "are single texts, and those of the training data are pairs"):
            brim.train(MODEL, pairs, eval=singles, max_steps=1)
        copy = HERE / "copy-of-tokenizer"
        copy.mkdir(exist_ok=True)
        TOKENIZER.save(copy)
        self.assertEqual(model.evaluate(brim.Dataset.of(TWO, brim.Tokenizer(copy), labelled=True))["loss"], model.evaluate(TWO)["loss"])

    def test_options_without_effect(self):
        model, encoded = trained(), brim.Dataset.of(TWO, TOKENIZER, labelled=True)
        for option, value in {"labels": ["a", "b"], "task": "regression", "text_column": "x", "label_column": "y", "missing_label": "skip", "header": False,
                              "delimiter": ";"}.items():
            with self.assertRaisesRegex(brim.errors.UsageError, f"{option}: the rows are encoded already"):
                brim.train(MODEL, encoded, max_steps=1, **{option: value})
        for call in (model.predict, model.evaluate, model.logits):
            with self.assertRaisesRegex(brim.errors.UsageError, "max_length: the rows are encoded already"):
                call(encoded, max_length=4)


class Asked(unittest.TestCase):
    """What is asked for and would have no effect, or would replace what is read."""

    def test_without_effect(self):
        for options, words in (({"epochs": 2, "max_steps": 1}, "epochs and max_steps contradict"), ({"num_train_epochs": 2, "max_steps": 1}, "num_train_epochs and"),
                               ({"best_metric": "f1"}, "best_metric has no effect without"), ({"eval_steps": 3}, "eval_steps has no effect"),
                               ({"compute_metrics": dict}, "compute_metrics has no effect"), ({"min_delta": 1.0}, "min_delta has no effect"),
                               ({"fold_seed": 1}, "fold_seed is for folds")):
            with self.assertRaisesRegex(brim.errors.UsageError, words):
                brim.train(MODEL, TRAIN, **options)
        for options, kind, words in (({"momentum": 0.5}, brim.errors.UsageError, "adamw has none"), ({"optimizer": "sgd", "beta2": 0.5}, brim.errors.UsageError, "sgd has none"),
                                     ({"decay_towards": "pretrained"}, brim.errors.UsageError, "without weight_decay"),
                                     ({"resume": True}, brim.errors.UsageError, "resume has no effect without output"), ({"overwrite": True}, brim.errors.UsageError, "without output"),
                                     ({"stream": "no"}, TypeError, "stream: True or False"), ({"cache": ""}, brim.errors.UsageError, "cache is empty"),
                                     ({"freeze": ""}, brim.errors.UsageError, "freeze is empty"), ({"where": "a=b"}, TypeError, "where: "),
                                     ({"windows": 2, "max_length": 8, "max_windows": 0}, brim.errors.UsageError, "max_windows is 0"),
                                     ({"windows": True, "max_length": 8}, TypeError, "windows: a whole number"),
                                     ({"eval": "1.2.3%"}, brim.errors.UsageError, 'eval="1.2.3%"'), ({"eval": ".%"}, brim.errors.UsageError, 'eval=".%"'),
                                     ({"max_steps": -5}, ValueError, "max_steps is -5"),
                                     ({"folds": -2**63}, brim.errors.UsageError, "folds is -9223372036854775808")):
            with self.assertRaisesRegex(kind, words):
                brim.train(MODEL, TRAIN, **{"max_steps": 1, **options})
        self.assertEqual(brim.train(MODEL, TRAIN, epochs=9, max_steps=-1, batch_size=60).steps, 9)
        brim.train(MODEL, TRAIN, eval="10%", fold_seed=1, max_steps=1, best_metric="f1")

    def test_inputs_are_not_replaced(self):
        run, file = HERE / "own", HERE / "own.csv"
        file.write_text("text,label\na good film,1\na bad film,0\n")
        brim.train(MODEL, file, output=run, max_steps=1)
        weights = (run / "model.safetensors").read_bytes()
        (run / "predictions.csv").write_text(file.read_text())
        (HERE / "trace.csv").symlink_to(file)
        for model, data, options, words in ((run, file, {"output": run, "overwrite": True}, "model .* is in output .*, which would be replaced"),
                                            (brim.Model(run), file, {"output": HERE / "data" / ".." / "own", "overwrite": True}, "would be replaced"),
                                            (run / "checkpoints" / "step-1", file, {"output": run, "overwrite": True}, "would be replaced"),
                                            (run, file, {"output": run, "resume": True}, "is the run's own"),
                                            (MODEL, run / "predictions.csv", {"output": run, "overwrite": True}, r"predictions.csv in it is also an input \(train\)"),
                                            (MODEL, file, {"profile": HERE / "trace.csv"}, r"is also an input \(train\)"),
                                            (MODEL, TWO, {"eval": str(file), "profile": file}, r"is also an input \(eval\)"),
                                            (run, TWO, {"profile": run / "config.json"}, r"is also an input \(model\)"),
                                            (MODEL, file, {"tokenizer": run, "output": run, "overwrite": True}, "tokenizer .* is in output .*, which would be replaced"),
                                            (MODEL, file, {"output": HERE / "other", "cache": HERE / "other"}, "cache .* is in output"),
                                            (run, file, {"output": HERE / "not-there" / ".." / "own", "overwrite": True}, "a folder before .. is not there")):
            with self.assertRaisesRegex(brim.errors.UsageError, words):
                brim.train(model, data, max_steps=2, **options)
        self.assertEqual((file.read_text().splitlines()[0], (run / "model.safetensors").read_bytes()), ("text,label", weights))

    def test_pipe(self):
        """a stream that is read twice cannot be a pipe"""
        pipe = HERE / "pipe.csv"
        os.mkfifo(pipe)
        with self.assertRaisesRegex(brim.errors.UsageError, "a pipe can be read only once"):
            brim.train(MODEL, pipe, stream=True, epochs=2)

    def test_pipe_of_texts(self):
        """a pipe that was looked into is read, or given up when nobody will: who writes to it is never left waiting"""
        pipe, ends = HERE / "texts.jsonl", []
        os.mkfifo(pipe)

        def write(names):
            try:
                with open(pipe, "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(dict.fromkeys(names, "a good film")) + "\n" for _ in range(60000))
                ends.append("read")
            except BrokenPipeError:
                ends.append("given up")

        for names, columns, end in ((["anchor", "positive"], ["anchor", "positive"], "read"), (["anchor", "positive"], None, "given up"),
                                    (["anchor"], ["anchor", "positive"], "given up")):
            writer = threading.Thread(target=write, args=(names,), daemon=True)
            writer.start()
            with contextlib.suppress(brim.Error):
                brim.train(MODEL, pipe, task="embedding", columns=columns, max_steps=1)
            writer.join(60)
            self.assertEqual((writer.is_alive(), ends.pop() if ends else None), (False, end), (names, columns))


class Order(enum.IntEnum):
    FIRST = 0
    SECOND = 1


class Labels(unittest.TestCase):
    def names(self, labels, **options):
        texts = [f"film {i}" for i in range(len(labels))]
        made = brim.Dataset.from_texts(texts, TOKENIZER, labels=labels, **options)
        table = brim.Dataset.of({"text": texts, "label": list(labels)}, TOKENIZER, labelled=True, **options)
        self.assertEqual((made.labels.names, made.labels.task), (table.labels.names, table.labels.task))
        return made.labels.names

    def test_names(self):
        self.assertEqual(self.names(["007", "7", "08"]), ["007", "08", "7"])
        self.assertEqual(self.names(["10", "9"]), ["10", "9"])
        self.assertEqual(self.names([Order.FIRST, Order.SECOND]), ["0", "1"])
        self.assertEqual(self.names(["1.10", "4.5"]), ["1.10", "4.5"])
        self.assertEqual(self.names([10, 9]), ["9", "10"])
        self.assertEqual(self.names([True, False]), ["false", "true"])
        self.assertEqual(self.names([1.0, 0.0], task="classification"), ["0.0", "1.0"])
        self.assertIsNone(self.names([1.5, 0.0]))
        self.assertEqual(self.names([["007", "7"], ["7"]]), ["007", "7"])
        self.assertEqual(self.names([[True, False], [False, False]]), ["0", "1"])
        with self.assertRaisesRegex(ValueError, "every row's list is of 0 and 1"):
            self.names([[1, 0], [0, 1]])
        with self.assertRaisesRegex(ValueError, "list of labels is null"):
            self.names([["a", None]])

    def test_arrow(self):
        import pyarrow

        for labels, want in ((["007", "7"], ["007", "7"]), ([10, 9], ["9", "10"]), ([True, False], ["false", "true"]),
                             (pyarrow.array(["7", "007"]).dictionary_encode(), ["007", "7"]), ([["007", "7"], ["7"]], ["007", "7"])):
            table = pyarrow.table({"text": ["good", "bad"], "label": labels})
            self.assertEqual(brim.Dataset.of(table, TOKENIZER, labelled=True).labels.names, want)
        for type, values in ((pyarrow.uint8(), [0, 1]), (pyarrow.int64(), [0, 1]), (pyarrow.bool_(), [False, True]), (pyarrow.string(), ["0", "1"])):
            for labels in (pyarrow.array(values, type), pyarrow.array(values, type).dictionary_encode()):
                table = pyarrow.table({"text": ["good", "bad"], "label": labels})
                self.assertEqual(brim.train(MODEL, table, max_steps=1).model.labels.values, values, labels.type)

    def test_none(self):
        with self.assertWarnsRegex(RuntimeWarning, "2 of 5 rows are left out: their label, -1 or -100"):
            made = brim.Dataset.from_texts(list("abcde"), TOKENIZER, labels=[0, -1, 2, 1, -100])
        self.assertEqual((made.labels.names, len(made), [made._core.sample(i)[3] for i in range(3)]), (["0", "1", "2"], 3, [0, 2, 3]))
        self.assertEqual([row[2] for row in made.excluded], [1, 4])
        with self.assertWarnsRegex(RuntimeWarning, "1 of 2 rows are left out"):
            self.assertEqual(trained().evaluate([("good", "pos"), ("bad", -1)])["rows"], 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(self.names(["-1", "0", "1", "2"]), ["-1", "0", "1", "2"])
            self.assertEqual(self.names([-1, 1]), ["-1", "1"])
        with self.assertRaisesRegex(ValueError, "row 1: there is no text"):
            brim.Dataset.from_texts(["a", None], TOKENIZER)
        self.assertEqual(len(brim.Dataset.from_texts(["a", None, "b"], TOKENIZER, min_chars=1)), 2)

    def test_strings_stay_strings(self):
        """Also where they look like numbers or booleans, in predictions, and in the folder that a model is saved to."""
        folder = case.folder() / "strings"
        for labels in (["1", "0"], [1, 0], ["true", "false"], [True, False], ["7", "9"], [9, 7]):
            rows = [("a good film", labels[0]), ("a bad film", labels[1])] * 4
            model = brim.train(MODEL, rows, max_steps=1).model
            model.save(folder)
            for one in (model, brim.Model(folder), pickle.loads(pickle.dumps(brim.Model(folder)))):
                self.assertEqual((sorted(one.labels.values), {type(p.label) for p in one.predict(["good", "bad"])}), (sorted(labels), {type(labels[0])}))
            said = json.loads((folder / "config.json").read_text()).get("brim_label_strings", False)
            self.assertEqual(said, isinstance(labels[0], str))
            line = json.loads(case.program("predict", "-m", folder, "--quiet", case.folder() / "data" / "test.txt").splitlines()[0])
            self.assertEqual(type(line["label"]), type(labels[0]))
        words = [(["good", "film"], [1, 0]), (["bad"], [0])] * 3
        tagger = brim.train(MODEL, words, task="tokens", max_steps=1).model
        tagger.save(folder)
        for one in (tagger, brim.Model(folder)):
            self.assertEqual({type(label) for row in one.predict(["a good film"]) for label in row.labels}, {int})

    def test_names_of_labels(self):
        """what rows have is called otherwise, also in the folder; no name, and what is no list of names, is an error"""
        folder = case.folder() / "renamed"
        model = brim.train(MODEL, [("a", 0), ("b", 1)] * 3, labels={0: "1", 1: "0"}, max_steps=1).model
        model.save(folder)
        self.assertEqual((model.labels.values, brim.Model(folder).labels.values), (["1", "0"], ["1", "0"]))
        for wrong, error, words in (([], brim.Error, "no class"), ("pos", TypeError, "a list of names"), (3, TypeError, "a list of names")):
            with self.assertRaisesRegex(error, words):
                brim.train(MODEL, TWO, labels=wrong, max_steps=1)

    def test_other_names_do_not_resume(self):
        run = case.folder() / "named-run"
        rows = [("a good film", 0), ("a bad film", 1)] * 4
        brim.train(MODEL, rows, output=run, max_steps=1)
        with self.assertRaisesRegex(brim.errors.MismatchError, "classes of other names"):
            brim.train(MODEL, [(text, label + 1) for text, label in rows], output=run, max_steps=2, resume=True)
        self.assertTrue(brim.train(MODEL, rows, output=run, max_steps=2, resume=True).resumed)

    def test_texts(self):
        """bytes are UTF-8, as files are; either end of rows in memory may be cut"""
        with self.assertRaisesRegex(ValueError, r"row 1: b'.xff' is not UTF-8"):
            brim.Dataset.from_texts([b"good", b"\xff"], TOKENIZER)
        long = "good bad film good"
        ids = brim.Dataset.from_texts([long], TOKENIZER)[0]["input_ids"]
        for side, want in (("right", [*ids[:3], ids[-1]]), ("left", [ids[0], *ids[-3:]])):
            for data in ([(long, "x")], {"text": [long], "label": ["x"]}):
                made = brim.Dataset.of(data, TOKENIZER, max_length=4, truncation_side=side)
                self.assertEqual(made[0]["input_ids"], want)
        self.assertEqual(brim.train(MODEL, [(long, "x"), (long, "y")], max_length=4, truncation_side="left", max_steps=1).steps, 1)

    def test_types_of_families(self):
        """token_type_ids of what the folder's model takes, where the tokenizer's own file says nothing"""
        folder = HERE / "typed"
        folder.mkdir()
        (folder / "vocab.txt").write_bytes((MODEL / "vocab.txt").read_bytes())
        for kind, types, taken in [("bert", 2, True), ("electra", 2, True), ("electra", None, True), ("ernie", 2, True), ("nomic_bert", 2, True), ("gte", 1, False),
                                   ("distilbert", None, False), ("mpnet", None, False), (None, None, True)]:
            (folder / "config.json").write_text(json.dumps({"model_type": kind, "type_vocab_size": types} if types else {"model_type": kind} if kind else {}))
            (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
            data = brim.Dataset.from_texts(["good"], brim.Tokenizer(folder), pairs=["bad film"])
            self.assertEqual("token_type_ids" in data[0], taken, kind)
            self.assertEqual(next(iter(data.batches(padding="longest"))).numpy().get("token_type_ids") is not None, taken, kind)

    def test_class_label(self):
        """-1 of datasets' ClassLabel is none, as of other integers, and is said; a number of no class is an error"""
        try:
            import datasets
        except ImportError:
            self.skipTest("datasets is not installed")
        features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["neg", "pos"])})
        table = datasets.Dataset.from_dict({"text": ["a good film", "a bad film", "a film"], "label": [1, 0, -1]}, features=features)
        with self.assertWarnsRegex(RuntimeWarning, "1 of 3 rows are left out: their label, -1 or -100"):
            made = brim.Dataset.of(table, TOKENIZER, labelled=True)
        self.assertEqual((made.labels.names, [made[i]["labels"] for i in range(len(made))]), (["neg", "pos"], [1, 0]))
        with self.assertRaisesRegex(brim.Error, "no rows are left: 2 were excluded"):
            brim.train(MODEL, table.select([2, 2]), max_steps=1)

    def test_notes(self):
        """classes that look alike, by any of Unicode's means; labels of words that are almost those of entities"""
        for one, other in (("pos", " Pos"), ("caf\u00e9", "cafe\u0301"), ("a\u200bb", "ab"), ("07", "7")):
            with self.assertLogs("brim", "WARNING") as caught:
                brim.train(MODEL, [("a", one), ("b", other)] * 2, max_steps=1)
            self.assertIn("look alike", caught.output[0])
        with self.assertLogs("brim", "WARNING") as caught:
            brim.train(MODEL, [("a", "0,2"), ("b", "0,5")] * 2, max_steps=1)
        self.assertIn("looks like a number", caught.output[0])
        words = [(["good", "film"], ["B-A", "X"]), (["bad"], ["O"])] * 3
        with self.assertLogs("brim", "WARNING") as caught:
            model = brim.train(MODEL, words, task="tokens", max_steps=1).model
        self.assertIn("no metrics of whole entities", caught.output[0])
        with self.assertLogs("brim", "WARNING") as caught:
            model.evaluate(words)
        self.assertIn("no metrics of whole entities", caught.output[0])

    def test_a_run_without_a_model(self):
        """where one is: a checkpoint, a fold, what is being replaced"""
        run, empty = case.folder() / "unfinished", case.folder() / "nothing"
        (run / "checkpoints" / "step-9").mkdir(parents=True), (run / "checkpoints" / "step-12").mkdir()
        with self.assertRaisesRegex(FileNotFoundError, r"its newest checkpoint is a model too, .*step-12"):
            brim.train(run, [("a", "x"), ("b", "y")])
        empty.mkdir()
        with self.assertRaises(FileNotFoundError):
            brim.Model(empty)
        (empty / "replaced-run").mkdir(), (empty / "replaced-run" / "config.json").touch()
        with self.assertRaisesRegex(FileNotFoundError, "the old model is in .*replaced-run"):
            brim.Model(empty)
        (empty / "folds.csv").touch()
        with self.assertRaisesRegex(FileNotFoundError, "a run in folds: .*fold-0"):
            brim.Model(empty)

    def test_classes_as_decimals(self):
        """What pandas makes of integers where one is missing."""
        rows = {"text": list("abcd"), "label": [1.0, None, 0.0, 1.0]}
        with self.assertWarnsRegex(UserWarning, 'the task is regression; if they are classes, give task="classification"'):
            brim.train(MODEL, rows, missing_label="skip", max_steps=1)
        self.assertEqual(brim.train(MODEL, rows, missing_label="skip", max_steps=1, task="classification").model.labels.names, ["0.0", "1.0"])

    def test_words(self):
        def tagged(*tags):
            return brim.Dataset.of([{"tokens": ["good"] * len(t), "ner_tags": t} for t in tags], TOKENIZER, task="tokens", labelled=True)

        self.assertEqual(tagged(["01", "1"], ["O"]).labels.names, ["01", "1", "O"])
        self.assertEqual(tagged([10, 9]).labels.names, ["9", "10"])
        with self.assertWarnsRegex(RuntimeWarning, "1 words have no label: it is null"):
            made = tagged(["B", None, -100])
        self.assertEqual((made.labels.names, made[0]["labels"]), (["B"], [-100, 0, -100, -100, -100]))
        with self.assertRaisesRegex(ValueError, "a tag is true, and a boolean names no class"):
            tagged([True, False])


if __name__ == "__main__":
    case.main()
