"""Where the package meets what it did not make: odd names of files, values that look like others, tables of every make, and a model after
its training, which says what its folder says."""
import collections
import contextlib
import copy
import datetime
import decimal
import gc
import importlib
import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings

import brim
import case
from case import module

HERE = case.folder()
MODEL, DATA = HERE / "model", HERE / "data"
TOKENIZER = brim.Tokenizer(MODEL)
TEXTS = ["a good film", "a bad film", "great fun"]
ROWS = [("a good film", "pos"), ("a bad film", "neg"), ("great fun", "pos"), ("dull and slow", "neg")] * 3
PAIRS = [("a good film", "great fun"), ("a bad film", "dull and slow"), ("the story", "the plot"), ("funny", "very funny")]
LONG = "the story was slow and dull , not funny at all and too long " * 3


def train(rows=ROWS, model=MODEL, **options):
    return brim.train(model, rows, **{"max_steps": 1, **options})


def labels_of(data, **options):
    made = brim.Dataset.of(data, TOKENIZER, **{"labelled": True, **options})
    return made.labels.values if made.labels and made.labels.names else None, [row["labels"] for row in made]


class Edges(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        warnings.simplefilter("ignore")

    def write(self, name, lines):
        path = self.place / name
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return path


class Steering(Edges):
    def test_bytes_and_decimals(self):
        """columns of bytes are texts as lists of them are, or the row that is no UTF-8 is named; decimals are the numbers that they are"""
        pa, tokenizer = case.module("pyarrow"), brim.Tokenizer(HERE / "model")
        texts = ["a good film", "bad", "plot"]
        want = [row["input_ids"] for row in brim.Dataset.of(texts, tokenizer)]
        pairs = [row["input_ids"] for row in brim.Dataset.of([(text, text) for text in texts], tokenizer, labelled=False)]
        raw = pa.array([text.encode() for text in texts], pa.binary())
        columns = [raw, raw.cast(pa.large_binary()), raw.dictionary_encode(), pa.chunked_array([raw.slice(0, 1), raw.slice(1)])]
        for column in columns:
            with self.subTest(column.type):
                self.assertEqual([row["input_ids"] for row in brim.Dataset.of(pa.table({"text": column}), tokenizer)], want)
                self.assertEqual([row["input_ids"] for row in brim.Dataset.of(pa.table({"text": column, "text_pair": column}), tokenizer)], pairs)
        torn = pa.table({"text": pa.array([b"a", b"\xff"], pa.binary())})
        self.assertRaisesRegex(brim.Error, "row 1: .*is not UTF-8", brim.Dataset.of, torn, tokenizer)
        reader = pa.table({"text": raw}).to_reader()
        self.assertEqual(len(brim.Dataset.from_arrow(reader, tokenizer)), 3)
        of = lambda values, kind: brim.Dataset.of(pa.table({"text": texts, "label": pa.array([decimal.Decimal(value) for value in values], kind)}), tokenizer)
        for kind in (pa.decimal128(12, 2), pa.decimal256(12, 2)):
            values = of(["1.5", "0.25", "-2"], kind)
            self.assertEqual(([row["labels"] for row in values], values.labels.names), ([1.5, 0.25, -2.0], None))
        classes = of(["1", "0", "1"], pa.decimal128(38, 0))
        self.assertEqual(([row["labels"] for row in classes], classes.labels.names, classes.labels.values), ([1, 0, 1], ["0", "1"], [0, 1]))
        pl = case.module("polars")
        frame = pl.DataFrame({"text": [text.encode() for text in texts], "label": [decimal.Decimal("1.5"), decimal.Decimal("2"), decimal.Decimal("3")]})
        self.assertEqual([row["input_ids"] for row in brim.Dataset.of(frame, tokenizer)], want)
        self.assertEqual([row["labels"] for row in brim.Dataset.of(frame, tokenizer)], [1.5, 2.0, 3.0])

    def test_in_words(self):
        """what is no text, no name and no number is refused in brim's words"""
        tokenizer, model = brim.Tokenizer(HERE / "model"), brim.Model(HERE / "model", untrained=True)
        rows, plan = [("good", "x"), ("bad", "y")] * 2, brim.Plan([3, 4, 5], batch_size=2)
        for call, line in ((lambda: tokenizer.encode("\ud800x"), "half a character"), (lambda: tokenizer.encode("a", "\ud800x"), "half a character"), (lambda: tokenizer.encode(b"\xff"), "is not UTF-8"),
                           (lambda: tokenizer.token_to_id("\ud800"), "half a character"), (lambda: tokenizer.id_to_token("a"), "id: a whole number"), (lambda: tokenizer.decode(3), "ids: a list"),
                           (lambda: brim.Dataset.of("\ud800x", tokenizer), "half a character"), (lambda: brim.Model("\ud800x"), "half a character"), (lambda: brim.data.stream("\ud800x", tokenizer), "half a character"),
                           (lambda: model.save("\ud800x"), "half a character"), (lambda: brim.train(HERE / "model", rows, max_steps=1, output="\ud800x"), "half a character"), (lambda: brim.train(HERE / "model", rows, max_steps=1, text_column="\ud800"), "."),
                           (lambda: model.predict(bytearray(b"abc")), "a text is a str or bytes, not bytearray"), (lambda: model.logits(memoryview(b"abc")), "a text is a str or bytes"), (lambda: model.embed(memoryview(b"abc")), "texts is one text"),
                           (lambda: model.embed(None), "texts is None"), (lambda: model.embed(3), "give a list"), (lambda: plan["a"], "the number of a batch"), (lambda: plan[None], "the number of a batch"), (lambda: plan[0:1], "the number of a batch"),
                           (lambda: brim.Model(b"model"), "model: a folder")):
            with self.subTest(line), self.assertRaisesRegex((TypeError, ValueError), line) as found:
                call()
            self.assertNotIsInstance(found.exception, UnicodeError)
        for at in (2, -3, 1 << 80):
            self.assertRaisesRegex(IndexError, f"batch {at} of 2", plan.__getitem__, at)
        self.assertEqual(plan[-1]["rows"].tolist(), plan[1]["rows"].tolist())
        found = brim.train(HERE / "model", [(text, "xy"[at % 6 == 0]) for at, text in enumerate("abcdefghijkl")], folds=2, max_steps=1)
        self.assertNotRegex(repr(found), r"\w (,|\))")
        if importlib.util.find_spec("sklearn"):
            from brim import sklearn

            self.assertRaisesRegex(ValueError, "one class only, 'a':", sklearn.TextClassifier(str(HERE / "model")).fit, ["a", "b"], ["a", "a"])

    def test_names_of_others(self):
        """Names of columns, classes, sets and files do not steer the terminal that shows a note, an error or a table."""
        odd = "\x1b[31m\u202e\u2066\x9b"
        rows = [{"text": text, "label": label + odd} for text, label in ROWS]
        with self.assertLogs("brim") as notes:
            model = train(rows, eval={f"set{odd}": rows}, output=self.place / f"run{odd}").model
        said = [record.getMessage() for record in notes.records]
        for wrong in (lambda: train(rows, text_column=f"x{odd}"), lambda: train([{f"t{odd}": "a", f"l{odd}": 1}] * 4), lambda: train(rows, labels=[f"x{odd}", "y"]),
                      lambda: brim.Model(self.place / f"none{odd}"), lambda: model.evaluate([{"text": "a", "label": f"new{odd}"}])):
            with self.assertRaises(brim.Error) as caught:
                wrong()
            said.append(str(caught.exception))
        self.assertEqual([line for line in said if set(odd) - set("[31m") & set(line)], [])
        self.assertTrue(any("set?[31m???" in line for line in said), said)


class Paths(Edges):
    def test_not_utf8(self):
        """every path of a run may have bytes that are no UTF-8; a NUL is refused"""
        odd = lambda name: self.place / os.fsdecode(b"\xff" + name.encode())
        folder, rows, held, run = odd("model"), odd("train.csv"), odd("test.csv"), odd("run")
        shutil.copytree(MODEL, folder), shutil.copy(DATA / "train.csv", rows), shutil.copy(DATA / "test.csv", held)
        result = brim.train(folder, rows, eval=held, max_steps=1, output=run, report_to="csv", profile=True, cache=odd("cache"))
        result.page(odd("page.html"))
        self.assertTrue(all(odd(name).exists() for name in ("run/trace.json", "run/log.csv", "cache", "page.html")))
        self.assertTrue(brim.train(folder, rows, max_steps=2, output=run, resume=True).resumed)
        model = brim.Model(run)
        self.assertEqual(model.evaluate(held)["rows"], 24)
        model.save(odd("saved"))
        self.assertEqual(brim.Model(odd("saved")).predict("good"), pickle.loads(pickle.dumps(model)).predict("good"))
        self.assertEqual(len(brim.train(folder, rows, folds=2, max_steps=1, output=odd("folds")).folds), 2)
        stream = brim.data.stream(rows, brim.Tokenizer(folder), max_length=20)
        self.assertEqual((stream.files, len(next(iter(stream)))), ([str(rows)], 16))
        self.assertEqual(brim.train(folder, rows, stream=True, max_steps=1).steps, 1)
        brim.analyze(rows, folder).page(odd("analysis.html"))
        self.assertEqual(brim.Dataset.of(rows, brim.Tokenizer(folder), min_chars=40).excluded[0][0], str(rows))
        with self.assertRaises(FileNotFoundError) as missing:
            brim.Dataset.of(odd("nowhere.csv"), TOKENIZER)
        self.assertEqual((missing.exception.file, "\udcff" in str(missing.exception)), (str(odd("nowhere.csv")), False))
        with self.assertRaisesRegex(ValueError, "NUL"):
            brim.Model(f"{folder}\0")


class Numbers(Edges):
    def test_true_is_none(self):
        """True is no number, in any option; numbers of NumPy are"""
        for name in ("max_steps", "batch_size", "accumulate", "log_every", "save_every", "warmup_steps", "seed", "max_length", "lr", "weight_decay",
                     "eps", "clip", "warmup_ratio", "min_chars", "read_ahead", "slices", "keep_checkpoints", "folds", "reinit_layers"):
            with self.assertRaisesRegex(TypeError, "number is needed, not True", msg=name):
                train(**{name: True})
        rows = brim.Dataset.of(ROWS, TOKENIZER)
        fine = train().model
        for call in (lambda: rows.batches(batch_size=True), lambda: rows.batches(rank=True, world_size=2), lambda: rows.batches(world_size=True),
                     lambda: rows.batches().set_epoch(True), lambda: brim.Plan([1, 2], batch_size=1, epoch=True), lambda: brim.Runtime(True),
                     lambda: brim.set_threads(True), lambda: fine.predict("x", top_k=True), lambda: TOKENIZER.encode("x", max_length=True),
                     lambda: fine.embed("x", dimensions=True), lambda: brim.analyze(ROWS, MODEL, samples=True), lambda: train(folds=2, fold_seed=True),
                     lambda: brim.data.stream(DATA / "train.csv", TOKENIZER, max_length=9, window=True), lambda: rows.batches().set_epoch(1.5)):
            self.assertRaisesRegex(TypeError, "whole number is needed", call)
        self.assertRaisesRegex(TypeError, "threshold: a number is needed, not True", fine.predict, "x", threshold=True)
        for call in (lambda: rows.batches().set_epoch(-1), lambda: train(folds=2, fold_seed=-1), lambda: train(folds=2, fold_seed=2**64)):
            self.assertRaises(brim.Error, call)
        numpy = module("numpy")
        self.assertEqual(train(batch_size=numpy.int8(4), seed=numpy.uint64(3), lr=numpy.float32(1e-3), freeze=numpy.int64(1)).rows, 4)
        self.assertRaisesRegex(TypeError, "not np.True_", train, batch_size=numpy.True_)

    def test_rows_by_number(self):
        """a list of truth values is no list of rows"""
        rows = brim.Dataset.of(ROWS, TOKENIZER)
        for mask in ([True, False] * 6, [True], module("numpy").array([True, False] * 6)):
            self.assertRaisesRegex(TypeError, "filter", rows.select, mask)
        self.assertRaises(TypeError, lambda: rows[True])


class Tasks(Edges):
    def test_labels_and_task(self):
        """names that are given are of the task that is asked for, from files, streams and memory"""
        several = self.write("several.jsonl", [json.dumps({"text": "a film", "label": ["a"] if i % 2 else ["a", "b"]}) for i in range(8)])
        one = self.write("one.csv", ["text,label"] + ["good,a", "bad,b"] * 4)
        words = self.write("words.jsonl", [json.dumps({"tokens": ["good", "film"], "ner_tags": ["a", "b"]})] * 8)
        for file in (several, one):
            for how in ({}, {"stream": True}):
                self.assertEqual(train(file, task="multi_label", labels=["b", "a"], **how).model.task, "multi_label")
        for how in ({}, {"stream": True}):
            model = train(words, task="tokens", labels=("b", "a", "c"), **how).model
            self.assertEqual((model.task, model.labels.names), ("tokens", ["b", "a", "c"]))
        made = brim.Dataset.from_texts(["a", "b"], TOKENIZER, labels=["x", "y"], mapping=["x", "y"], task="multi_label")
        self.assertEqual(made.labels.task, "multi_label")
        self.assertEqual(next(iter(brim.data.stream(several, TOKENIZER, max_length=9, task="multi_label", labels=["a", "b"]))).labels.shape, (8, 2))
        for how in ({}, {"stream": True}):
            self.assertRaisesRegex(ValueError, 'task: there is no "multilabel"; use .*multi_label', train, one, task="multilabel", **how)
        for wrong in ({"labels": brim.Labels(["pos", "neg"], task="multi_label"), "task": "classification"}, {"labels": ["a", "b"], "task": "regression"}):
            self.assertRaisesRegex(brim.Error, "task", train, **wrong)
        for how in (lambda: train(one, stream=True, labels={"a": "A", "b": "B"}), lambda: brim.data.stream(one, TOKENIZER, max_length=9, labels={"a": "A", "b": "B"})):
            self.assertRaisesRegex(brim.Error, "a stream's labels are as its rows have them", how)
        for wrong in ({"a", "b"}, ["a", None]):
            self.assertRaises(TypeError, brim.Labels, wrong)

    def test_labels_without_a_name(self):
        """what can be read only once, or names nothing but a place in memory, is no label, alone or in a list"""
        for wrong in (lambda: map(str, "xy"), lambda: (c for c in "xy"), lambda: collections.deque("xy"), {"x": 1}.keys, lambda: range(2), lambda: len, object):
            for label in (wrong(), [wrong()]):
                with self.assertRaisesRegex(TypeError, "a label is a name, a number, or a list of them"):
                    train([("a", label), ("b", "y")])
        self.assertEqual(labels_of([("a", ["x", "y"]), ("b", {"y"})])[0], ["x", "y"])
        with contextlib.suppress(ImportError):
            import pyarrow
            self.assertEqual(labels_of([("a", pyarrow.scalar("x")), ("b", [pyarrow.scalar("y")][0])])[0], ["x", "y"])
        self.assertEqual(labels_of([("a", datetime.date(2024, 1, 2)), ("b", "y")])[0], [datetime.date(2024, 1, 2), "y"])

    def test_options_of_loading(self):
        """what a Model cannot take any more, and what keep_head keeps, is refused by name"""
        fine = train().model
        fine.save(self.place / "fine")
        for name, value in {"pooling": "mean", "layers": "weighted", "dense": 8, "dense_activation": "tanh", "reinit_layers": 1, "no_type_ids": True, "revision": "x", "tf32": True, "device": "cuda",
                            "labels": ["pos", "neg"], "task": "regression"}.items():
            self.assertRaisesRegex(brim.Error, name, train, model=fine, **{name: value})
        for wrong, message in {"dense": (True, 0, 1.5), "dense_activation": ("tanh",)}.items():
            for value in message:
                with self.assertRaisesRegex((brim.Error, TypeError), wrong):
                    train(PAIRS, task="embedding", **{wrong: value})
        self.assertRaisesRegex(brim.Error, "dense", train, dense_activation="tanh")
        self.assertEqual(train(model=fine, labels=["neg", "pos"], task="classification").steps, 1)  # which it has
        for name, value in {"labels": ["x", "y"], "task": "multi_label"}.items():
            self.assertRaisesRegex(brim.Error, name, train, model=self.place / "fine", keep_head=True, **{name: value})

    def test_weights_of_renamed_classes(self):
        """a key of class_weights is what rows have, or the class's name; not its place, where these are numbers"""
        rows, names = [(text, 1 + (label == "pos")) for text, label in ROWS], {1: "neg", 2: "pos"}
        loss = lambda **options: train(rows, labels=names, batch_size=4, **options).loss
        self.assertEqual(loss(class_weights={1: 9.0}), loss(class_weights={"neg": 9.0}))
        self.assertNotEqual(loss(class_weights={1: 9.0}), loss(class_weights={"pos": 9.0}))
        self.assertRaises(brim.Error, loss, class_weights={0: 9.0})


class Tables(Edges):
    def test_columns(self):
        """names that are numbers, columns that are one text, columns twice, no rows"""
        pandas = module("pandas")
        want = (["n", "p"], [1, 0, 1])
        for data in (pandas.DataFrame({0: TEXTS, 1: list("pnp")}), {0: TEXTS, 1: list("pnp")}, [{0: text, 1: label} for text, label in zip(TEXTS, "pnp")]):
            self.assertEqual(labels_of(data, text_column="0", label_column=1), want)
        for one in ({"text": "abc"}, {"text": "abc", "label": list("pnp")}):
            self.assertRaisesRegex(brim.Error, "is one text", labels_of, one, labelled=None)
        twice = pandas.DataFrame([["a", "b", "p"]], columns=["text", "text", "label"])
        self.assertRaisesRegex(brim.Error, 'two columns|2 columns "text"', labels_of, twice)
        self.assertRaisesRegex(brim.Error, "no rows", labels_of, pandas.DataFrame({"text": [], "label": []}))
        self.assertEqual(len(train().model.predict(pandas.DataFrame({"text": TEXTS}).to_dict())), 3)

    def test_values(self):
        """columns that Arrow has no type for; numbers of other kinds; lists of a ClassLabel"""
        pandas, decimal = module("pandas"), importlib.import_module("decimal")
        self.assertEqual(labels_of(pandas.DataFrame({"text": TEXTS, "label": pandas.arrays.SparseArray([1, 0, 1])})), ([0, 1], [1, 0, 1]))
        self.assertEqual(labels_of([(text, decimal.Decimal(value)) for text, value in zip(TEXTS, ("1.5", "0.25", "3"))]), (None, [1.5, 0.25, 3]))
        datasets = module("datasets")
        features = datasets.Features({"text": datasets.Value("string"), "label": datasets.List(datasets.ClassLabel(names=["b", "a"]))})
        table = datasets.Dataset.from_dict({"text": TEXTS, "label": [[0], [], [1, 0]]}, features=features)
        self.assertEqual(labels_of(table), (["b", "a"], [[1, 0], [0, 0], [1, 1]]))
        self.assertEqual(train(table).model.task, "multi_label")

    def test_labels_as_in_a_file(self):
        """rows in memory, of any make, have the labels, the task and the counts of the same rows in a file of JSON lines, and their classes' values"""
        pandas, arrow = module("pandas"), module("pyarrow")
        path = HERE / "same.jsonl"
        for labels in ([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[False, True], [True, False], [True, True]], [[1.0], [0.0], [1.0]], [[0.0, 1.0], None, [1.0, 0.0]],
                       [None, [0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.25], [1.0, 1.0]], [[0.5, 1.0], [1.0, 0.25], [0.0, 1.0]],
                       [[0, 1], [1, 0], [1, 1]], [["a"], [], ["b", "a"]], [1, 0, None], [True, False, True], ["1", "0", "1"], [1e-07, 1e22, 0.1]):
            rows = [{"text": text, "label": label} for text, label in zip(TEXTS, labels)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            table = arrow.table({"text": TEXTS, "label": labels})
            found = []
            for data in (path, rows, table, pandas.DataFrame({"text": TEXTS, "label": pandas.Series(labels, dtype=object)})):
                try:
                    made = brim.Dataset.of(data, TOKENIZER, labelled=True, missing_label="skip")
                    found.append((made.labels.task, made.labels.names, made.labels.values, made.labels.outputs, [row["labels"] for row in made]))
                except brim.Error as error:
                    found.append(re.split(r"(?:row|line) \d+[^:]*: ", str(error))[-1][:40])
            with self.subTest(labels=labels):
                self.assertEqual(found[1:], found[:1] * 3)
        numbers = [1e-07, 0.1, 0.3]
        for size in ("float32", "float64"):  # a column of Arrow's has the names that a list has
            column = pandas.Series(numbers, dtype=size)
            want = brim.Dataset.from_texts(TEXTS, TOKENIZER, labels=column, task="classification").labels.names
            for data in (column, column.astype("category")):
                self.assertEqual(brim.Dataset.of(pandas.DataFrame({"text": TEXTS, "label": data}), TOKENIZER, labelled=True, task="classification").labels.names, want)

    def test_rows_with_names(self):
        """columns are those that any row has; fields of named tuples are columns"""
        self.assertEqual(labels_of([{"text": "a"}, {"text": "b", "label": "n"}], missing_label="skip")[1], [0])
        with self.assertRaisesRegex(brim.Error, "row 0 has no 'text_pair'"):
            labels_of([{"text": "a", "label": "p"}, {"text": "b", "text_pair": "c", "label": "n"}])
        rows = module("pandas").DataFrame({"label": list("pnp"), "text": TEXTS}).itertuples()
        self.assertEqual(labels_of(rows), (["n", "p"], [1, 0, 1]))

    def test_holders(self):
        """what gives letters, bytes, keys, names of columns or no order in place of items is refused in one line, and what has items is taken, by all calls"""
        numpy, pandas, arrow = module("numpy"), module("pandas"), module("pyarrow")
        model, rows = brim.Model(MODEL, untrained=True), brim.Dataset.from_texts(TEXTS, TOKENIZER)
        ranker = brim.Model(MODEL, labels=brim.Labels(None, task="rerank"), untrained=True)
        held = {"str": "film", "bytes": b"film", "bytearray": bytearray(b"film"), "array of one": numpy.array("film"), "dict of columns": {"text": TEXTS},
                "texts by id": dict(zip("abc", TEXTS)), "ids by text": dict(zip(TEXTS, "abc")), "DataFrame": pandas.DataFrame({"text": TEXTS}), "Table": arrow.table({"text": TEXTS}),
                "set": set(TEXTS), "frozenset": frozenset(TEXTS), "number": 3, "Dataset": rows}
        tables, dicts = {"dict of columns", "DataFrame", "Table", "Dataset"}, {"dict of columns", "texts by id", "ids by text"}
        calls = [(lambda data: TOKENIZER.encode_batch(data), ()), (lambda data: TOKENIZER.encode_batch(TEXTS, data), ()), (lambda data: brim.Dataset.from_texts(data, TOKENIZER), ()),
                 (lambda data: brim.Dataset.from_texts(TEXTS, TOKENIZER, pairs=data), ()), (lambda data: brim.Dataset.from_texts(TEXTS, TOKENIZER, labels=data), ()),
                 (lambda data: brim.Dataset.from_iterable(data, TOKENIZER), ()), (model.encode, ()), (lambda data: ranker.rank("q", data), ()),
                 (lambda data: brim.Labels(TEXTS, values=data), ()), (brim.Labels, dicts), (lambda data: brim.Dataset.from_texts(TEXTS, TOKENIZER, labels=TEXTS, mapping=data), dicts),
                 (model.embed, {"str", "bytes", "array of one"}), (model.predict, {"str", "bytes", "array of one", *tables}),
                 (lambda data: brim.Dataset.of(data, TOKENIZER), {"str", *tables})]
        if importlib.util.find_spec("sklearn"):
            calls.append((importlib.import_module("brim.sklearn")._texts, {"DataFrame", "Table"}))
        for number, (call, taken) in enumerate(calls):
            for kind in held.keys() - taken:
                with self.subTest(call=number, data=kind), self.assertRaises((ValueError, TypeError)) as refused:
                    call(held[kind])
                self.assertRegex(str(refused.exception), r"\A.*(list|column|row).*\Z")  # one line
            for kind, data in {"list": TEXTS, "tuple": tuple(TEXTS), "array": numpy.array(TEXTS), "Series": pandas.Series(TEXTS, index=[7, 3, 5]), "Arrow": arrow.array(TEXTS),
                               "generator": (text for text in TEXTS), "keys": dict.fromkeys(TEXTS).keys(), "values": dict(enumerate(TEXTS)).values()}.items():
                with self.subTest(call=number, data=kind):
                    call(data)
        self.assertEqual(brim.Labels(arrow.array(TEXTS), values=numpy.array([1, 2, 3])).values, [1, 2, 3])

    def test_texts(self):
        """one text in an array is one; what has columns, or ids, is no list of texts"""
        numpy, pandas = module("numpy"), module("pandas")
        model = train().model
        self.assertEqual(model.predict(numpy.array("a good film")), model.predict("a good film"))
        for wrong in (pandas.DataFrame({"text": TEXTS}), {"text": TEXTS}):
            self.assertRaisesRegex(TypeError, "a column of texts", model.embed, wrong)
        ranker = train([(*pair, float(i % 2)) for i, pair in enumerate(PAIRS)], task="rerank").model
        self.assertRaisesRegex(TypeError, "a column of texts", ranker.rank, "q", {"id": "a good film"})
        self.assertEqual(len(ranker.rank("q", numpy.array(TEXTS))), 3)
        self.assertRaises(brim.Error, TOKENIZER.encode_batch, "abc")
        pairs = [(numpy.str_(one), numpy.str_(other)) for one, other in PAIRS]
        self.assertEqual(train(pairs, task="embedding").loss, train(PAIRS, task="embedding").loss)

    def test_scores(self):
        """numbers of NumPy, tables and rows of arrays where vectors are measured"""
        numpy, pandas = module("numpy"), module("pandas")
        model = brim.Model(MODEL)
        scored = [(*pair, float(i % 2)) for i, pair in enumerate(PAIRS)]
        want = model.evaluate_similarity(scored)["spearman_cosine"]
        names = ["sentence1", "sentence2", "score"]
        for given in ([(a, b, numpy.float32(s)) for a, b, s in scored], pandas.DataFrame(scored, columns=names), dict(zip(names, zip(*scored))),
                      numpy.array(scored, dtype=object)):
            self.assertEqual(model.evaluate_similarity(given)["spearman_cosine"], want)
        found = model.evaluate_retrieval({1: {"_id": "other", "text": "x"}}, {7: "x"}, {7: {numpy.int64(1): numpy.int64(1)}})
        self.assertEqual((found["relevant_missing"], found["accuracy@1"]), (0, 1.0))


class Columns(Edges):
    def test_further_columns(self):
        """a negative that the first row lacks is read; a name that no row has is refused, also of lines of JSON"""
        rows = [{"anchor": "a good film", "positive": "great"}, {"anchor": "bad", "positive": "dull", "negative": "fun"}] * 4
        file = self.write("rows.jsonl", map(json.dumps, rows))
        whole = self.write("array.json", [json.dumps(rows)])
        full = [{"negative": None, **row} for row in rows]
        want = train(full, task="embedding").loss
        self.assertNotEqual(want, train([{**row, "negative": None} for row in rows], task="embedding").loss)
        for data in (rows, file, whole):
            self.assertEqual(train(data, task="embedding").loss, want)
            self.assertEqual(train(data, task="embedding", columns=["anchor", "positive", "negative"]).loss, want)
            with self.assertRaisesRegex(brim.Error, 'no column "negativ"; the columns are "anchor", "positive", "negative"'):
                train(data, task="embedding", columns=["anchor", "positive", "negativ"])


class Trained(Edges):
    """What a model says after its training is what its folder says."""

    def alike(self, result, asked):
        self.saved = self.place / "saved"
        result.model.save(self.saved)
        want = asked(brim.Model(result.output))
        for one in (result.model, pickle.loads(pickle.dumps(result.model)), brim.Model(self.saved)):
            self.assertEqual(asked(one), want)

    def test_length(self):
        held = [(LONG, "pos"), ("good", "neg")]
        result = train(eval=held, max_length=8, output=self.place / "run")
        self.alike(result, lambda model: model.logits([LONG, "good"]).tolist())
        self.assertEqual(result.model.evaluate(held)["loss"], result.evaluations[-1]["loss"])
        self.assertEqual(train(model=result.model).truncated, train(model=result.output).truncated)

    def test_windows(self):
        result = train([(LONG, "pos"), ("bad", "neg")] * 3, max_length=16, windows=4, output=self.place / "run")
        self.alike(result, lambda model: model.logits([LONG, "good"]).tolist())
        for name in ("windows", "max_windows"):  # masked words of pairs are cut
            self.assertRaisesRegex(brim.Error, "windows are of rows of one text each", train, {"text": [LONG] * 4, "text_pair": [LONG] * 4}, task="mlm", max_length=8, **{name: 2})
        with self.assertLogs("brim", "WARNING") as told:
            train({"text": [LONG] * 4, "text_pair": [LONG] * 4}, task="mlm", max_length=8)
        self.assertIn("were cut at 8 tokens", "".join(told.output))

    def test_vectors(self):
        prompts = {"query": "good ", "document": "bad "}
        result = train(PAIRS, task="embedding", max_length=8, prompts=prompts, output=self.place / "run")
        for prompt in ("query", "document", None):
            self.alike(result, lambda model: model.embed([LONG, "good"], prompt=prompt).tolist())
        again = pickle.dumps(result.model)
        shutil.rmtree(self.place / "run")
        self.assertEqual(pickle.loads(again).embed("x").shape, (1, 32))

    def test_scores(self):
        rows = [(*pair, float(i % 2)) for i, pair in enumerate(PAIRS)]
        self.alike(train(rows, task="rerank", max_length=8, output=self.place / "run"), lambda model: model.predict([(LONG, LONG)]))

    def test_types(self):
        """a saved model without type ids says so to transformers, as its run does"""
        result = train([("a", "b", "x"), ("c", "d", "y")] * 3, no_type_ids=True, output=self.place / "run")
        self.alike(result, lambda model: model.logits(PAIRS).tolist())
        names = json.loads((self.saved / "tokenizer_config.json").read_text())["model_input_names"]
        self.assertNotIn("token_type_ids", names)


class Company(Edges):
    def test_closed_standard_error(self):
        code = (f"import os, sys, brim\nsys.stderr.close()\nfor progress in (None, True):\n"
                f"    brim.train({str(MODEL)!r}, {ROWS!r}, eval={ROWS!r}, max_steps=1, progress=progress)\nprint('trained')\n")
        self.assertEqual(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout, "trained\n")

    def test_memory(self):
        """a copy that is asked for is one"""
        numpy = module("numpy")
        logits = train().model.logits("good")
        before = logits.tolist()
        capsule = logits.__dlpack__(copy=True)

        class Given:
            def __dlpack__(self, **_):
                return capsule

            def __dlpack_device__(self):
                return 1, 0

        view = numpy.from_dlpack(Given())
        self.assertNotEqual(view.__array_interface__["data"][0], numpy.asarray(logits).__array_interface__["data"][0])
        del logits
        gc.collect()
        self.assertEqual(view.tolist(), before)

    def test_streams_and_predictions(self):
        stream = brim.data.stream(DATA / "train.csv", TOKENIZER, max_length=20)
        batches = iter(stream)
        next(batches)
        stream.close(), stream.close()
        self.assertRaisesRegex(RuntimeError, "closed", next, batches)
        value = train([(text, float(i)) for i, (text, _) in enumerate(ROWS)]).model.predict("good")[0]
        self.assertEqual(len({value, copy.deepcopy(value), pickle.loads(pickle.dumps(value))}), 1)


if __name__ == "__main__":
    case.main()
