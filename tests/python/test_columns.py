"""Columns of every type that pandas, NumPy, pyarrow and polars have, as labels and as texts, and rows of every kind that holds them: what each value is called, or one line."""
import collections
import datetime
import decimal
import enum
import json
import os
import types
import unittest
import uuid
import warnings

import brim
import brim.pairs
import case
import swept
from case import module

HERE = case.folder()
TOKENIZER = brim.Tokenizer(HERE / "model")
TEXTS = ["a good film", "bad", "great", "dull"]
Kind = enum.IntEnum("Kind", "a b")


class Columns(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def ways(self, column):
        """The same values in a frame of pandas, a list, an array of NumPy, and a dict of columns."""
        frame = module("pandas").DataFrame({"text": TEXTS, "label": column})
        yield "frame", lambda: brim.Dataset.of(frame, TOKENIZER, labelled=True)
        yield "list", lambda: brim.Dataset.of(list(zip(TEXTS, frame["label"].tolist())), TOKENIZER, labelled=True)
        yield "array", lambda: brim.Dataset.from_texts(TEXTS, TOKENIZER, labels=frame["label"].to_numpy())
        yield "dict", lambda: brim.Dataset.of({"text": TEXTS, "label": frame["label"]}, TOKENIZER, labelled=True)

    def columns(self):
        """{name: (column of twice the same two values, their names, or their values where they are numbers)}"""
        pd, np, pa = module("pandas"), module("numpy"), module("pyarrow")
        day = datetime.date(2020, 1, 1)
        two = lambda one, other, **how: pd.Series([one, other] * 2, **how)
        days = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"] * 2))
        stamps = ["2020-01-01 00:00:00", "2020-01-02 00:00:00"]
        months = two(pd.Period("2020-01", "M"), pd.Period("2020-02", "M"))
        amounts = pd.Series([decimal.Decimal("1.5"), decimal.Decimal("2.25")] * 2)
        spans = pd.Series(pd.to_timedelta([1, 2] * 2, unit="D"))
        return {
            "periods": (months, ["2020-01", "2020-02"]), "categories of periods": (months.astype("category"), ["2020-01", "2020-02"]),
            "times": (days, stamps), "times with a zone": (days.dt.tz_localize("UTC"), [one + "+00:00" for one in stamps]),
            "times of Arrow": (days.astype("timestamp[ns][pyarrow]"), stamps), "categories of times": (days.astype("category"), stamps),
            "times of NumPy": (np.array(["2020-01-01", "2020-01-02"] * 2, "M8[ns]"), stamps),
            "spans": (spans, None), "spans of Arrow": (spans.astype("duration[ns][pyarrow]"), None),
            "intervals": (two(pd.Interval(0, 1), pd.Interval(1, 2)), ["(0, 1]", "(1, 2]"]),
            "days": (two(day, day.replace(day=2)), ["2020-01-01", "2020-01-02"]), "hours": (two(datetime.time(1), datetime.time(2)), ["01:00:00", "02:00:00"]),
            "days of Arrow": (two(day, day.replace(day=2)).astype(pd.ArrowDtype(pa.date32())), ["2020-01-01", "2020-01-02"]),
            "identities": (two(uuid.UUID(int=1), uuid.UUID(int=2)), [str(uuid.UUID(int=1)), str(uuid.UUID(int=2))]),
            "complex numbers": (two(1 + 2j, 3j), ["(1+2j)", "3j"]), "large numbers": (two(1, 2**80), ["1", str(2**80)]),
            "decimals": (amounts, [1.5, 2.25]), "decimals of Arrow": (amounts.astype(pd.ArrowDtype(pa.decimal128(5, 2))), [1.5, 2.25]),
            "long floats": (pd.Series(np.array([1.5, 2.25] * 2, np.longdouble)), [1.5, 2.25]), "halves": (pd.Series(np.array([1.5, 2.25] * 2, "f2")), [1.5, 2.25]),
            "sparse": (pd.Series(pd.arrays.SparseArray([0, 1] * 2)), ["0", "1"]), "whole categories": (two(3, 5).astype("category"), ["3", "5"]),
            "nullable": (pd.Series(pd.array([3, 5] * 2, dtype="Int64")), ["3", "5"]), "whole numbers of Arrow": (two(3, 5).astype("int64[pyarrow]"), ["3", "5"]),
            "an enumeration": (two(Kind.a, Kind.b, dtype=object), ["1", "2"]), "words": (two("x", "y", dtype="string"), ["x", "y"]),
            "words of Arrow": (two("x", "y").astype("string[pyarrow]"), ["x", "y"]), "words of a dictionary": (two("x", "y").astype(pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))), ["x", "y"]),
        }

    def test_labels(self):
        """a label is called as it is printed; only numbers are numbers"""
        for name, (column, wanted) in self.columns().items():
            for way, make in self.ways(column):
                with self.subTest(name, way=way):
                    made = make()
                    labels = [row["labels"] for row in made]
                    if wanted and isinstance(wanted[0], float):
                        self.assertEqual((made.labels.task, labels), ("regression", wanted * 2))
                        continue
                    self.assertEqual(labels, [0, 1] * 2)
                    self.assertEqual(made.labels.names if wanted else all("day" in one for one in made.labels.names), wanted or True)

    def test_values(self):
        """what predictions give is what the rows had"""
        pd = module("pandas")
        frame = pd.DataFrame({"text": TEXTS, "label": pd.PeriodIndex(["2020-01", "2020-02"] * 2, freq="M")})
        model = brim.train(HERE / "model", frame, max_steps=1, progress=False, output=HERE / "periods").model
        self.assertEqual(model.labels.values, frame["label"].tolist()[:2])
        self.assertIn(model.predict("a good film")[0].label, set(frame["label"]))
        self.assertEqual(brim.Model(HERE / "periods").labels.values, ["2020-01", "2020-02"])
        self.assertEqual(brim.Model(HERE / "periods").evaluate(frame)["rows"], 4)
        self.assertEqual(brim.Dataset.of(pd.DataFrame({"text": TEXTS, "label": pd.Series([Kind.a, Kind.b] * 2, dtype=object)}), TOKENIZER).labels.values, [1, 2])

    def test_missing(self):
        """NaN, NA and NaT are no labels, in whatever they come"""
        pd = module("pandas")
        for column in (["x", None, "y", "x"], pd.array([1, None, 2, 1], dtype="Int64"), pd.array([True, None, False, True], dtype="boolean"),
                       pd.array(["x", None, "y", "x"], dtype="string"), pd.array([1, None, 2, 1], dtype="int64[pyarrow]"), [1.5, None, 2.5, 1.5],
                       pd.to_datetime(["2020-01-01", None, "2020-01-02", "2020-01-01"])):
            for way, make in self.ways(column):
                with self.subTest(str(column)[:40], way=way), self.assertRaisesRegex(brim.Error, "row 1 has no label"):
                    make()

    def test_one_line(self):
        """what has no name is refused with its type"""
        pd, pa = module("pandas"), module("pyarrow")
        period = pa.Table.from_pandas(pd.DataFrame({"text": TEXTS, "label": pd.PeriodIndex(["2020-01", "2020-02"] * 2, freq="M")}))
        for make, wanted in ((lambda: brim.Dataset.from_arrow(period, TOKENIZER), r'column "label" holds pandas\.period, stored as whole numbers, where'),
                             (lambda: brim.Dataset.of(pd.DataFrame({"text": pd.period_range("2020-01", periods=4, freq="M")}), TOKENIZER), "a text is str or bytes, not .*Period"),
                             (lambda: brim.Dataset.of(pd.DataFrame({"text": [1j] * 4}), TOKENIZER), "a text is str or bytes, not .*complex"),
                             (lambda: brim.Dataset.of(pd.DataFrame({"text": pd.Series([3, 5]).astype("category")}), TOKENIZER), "holds whole numbers where a string"),
                             (lambda: brim.Dataset.of(pd.to_datetime(pd.Series(["2020-01-01"])), TOKENIZER), "row 0 is Timestamp")):
            with self.assertRaisesRegex((TypeError, ValueError), wanted):
                make()

    def test_polars(self):
        pl = module("polars")
        frame = pl.DataFrame({"text": TEXTS, "label": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 2})
        with self.assertRaisesRegex(TypeError, 'column "label" holds times where a string, a number or a boolean is needed'):
            brim.Dataset.from_arrow(frame, TOKENIZER)
        for kind in (pl.Categorical, pl.Enum(["y", "x"])):
            made = brim.Dataset.of(pl.DataFrame({"text": TEXTS, "label": ["x", "y"] * 2}).with_columns(pl.col("label").cast(kind)), TOKENIZER)
            self.assertEqual({made.labels.values[row["labels"]] for row in made}, {"x", "y"})


class Classes(unittest.TestCase):
    """The names of a ClassLabel, in their order and with those that no row has, whatever holds the column."""

    def test_names(self):
        datasets = module("datasets")
        names, values = ["z", "a", "rare"], {"text": TEXTS, "label": [0, 1, 1, 0], "many": [[0], [1], [0, 1], [0]], "words": [text.split() for text in TEXTS], "tags": [[0] * len(text.split()) for text in TEXTS],
                                             "unknown": [0, -1, 1, 0]}
        one = datasets.ClassLabel(names=names)
        rows = datasets.Dataset.from_dict(values, features=datasets.Features({"text": datasets.Value("string"), "label": one, "many": datasets.Sequence(one), "tags": datasets.Sequence(one), "unknown": one,
                                                                              "words": datasets.Sequence(datasets.Value("string"))}))
        table, path = rows.data.table, HERE / "classes.parquet"
        rows.to_parquet(path)
        holders = {"Dataset": lambda: rows, "selected": lambda: rows.select(range(4)), "IterableDataset": rows.to_iterable_dataset, "shuffled": lambda: rows.to_iterable_dataset().shuffle(seed=1), "filtered": lambda: rows.to_iterable_dataset().filter(lambda row: True),
                   "Table": lambda: table, "RecordBatchReader": table.to_reader, "RecordBatch": lambda: table.to_batches()[0], "Parquet": lambda: path,
                   "transformed": lambda: rows.with_transform(lambda batch: batch)}
        for name, holder in holders.items():
            for how in ({}, {"label_column": "many"}, {"task": "tokens", "text_column": "words", "label_column": "tags"}, {"label_column": "unknown", "missing_label": "skip"}):
                with self.subTest(name, **how):
                    self.assertEqual(brim.Dataset.of(holder(), TOKENIZER, **how).labels.names, names)
            self.assertEqual(sorted(row["labels"] for row in brim.Dataset.of(holder(), TOKENIZER)), [0, 0, 1, 1])
        for splits in (datasets.DatasetDict, datasets.IterableDatasetDict):
            of = splits({split: rows if splits is datasets.DatasetDict else rows.to_iterable_dataset() for split in ("train", "test")})
            found = brim.train(HERE / "model", of, max_steps=1, progress=False)
            self.assertEqual((found.model.labels.names, found.evaluations[-1]["rows"]), (names, 4))
            self.assertEqual(found.model.evaluate(of["test"])["rows"], 4)

    def test_others(self):
        """a schema that says classes of a column that has its names already is as if it did not"""
        pa = module("pyarrow")
        said = json.dumps({"info": {"features": {"label": {"names": ["n", "p", "more"], "_type": "ClassLabel"}}}})
        of = lambda labels: brim.Dataset.of(pa.table({"text": TEXTS, "label": labels}).replace_schema_metadata({"huggingface": said}), TOKENIZER).labels.names
        self.assertEqual((of([0, 1, 1, 0]), of(["x", "y", "x", "y"])), (["n", "p", "more"], ["x", "y"]))


class Indexed:
    """Rows of torch: a length and an index."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, at):
        return self.rows[at]


def dicts(columns):
    return [dict(zip(columns, row)) for row in zip(*columns.values())]


def named(columns):
    return [collections.namedtuple("Row", list(columns))(*row) for row in zip(*columns.values())]


def objects(values, width=None):
    """An array of NumPy with these objects; width: of two dimensions, from tuples."""
    array = module("numpy").empty(len(values) if width is None else (len(values), width), object)
    for at, value in enumerate(values):
        for column, one in enumerate(value) if width else ():
            array[at, column] = one
        if not width:
            array[at] = value
    return array


def written(columns):
    path = HERE / "rows-of-a-kind.jsonl"
    path.write_text("".join(json.dumps(row, allow_nan=False) + "\n" for row in dicts(columns)))
    return path


#: What holds rows, with names of their columns.
NAMED = {
    "columns": dict, "arrays": lambda c: {name: objects(column) for name, column in c.items()},
    "series": lambda c: {name: module("pandas").Series(column, dtype=object) for name, column in c.items()},
    "dicts": dicts, "generator of dicts": lambda c: iter(dicts(c)), "indexed dicts": lambda c: Indexed(dicts(c)), "named tuples": named,
    "pandas": lambda c: module("pandas").DataFrame({name: module("pandas").Series(column, dtype=object) for name, column in c.items()}),
    "pandas, by itself": lambda c: module("pandas").DataFrame(c), "polars": lambda c: module("polars").DataFrame(c),
    "pyarrow": lambda c: module("pyarrow").table(c), "datasets": lambda c: module("datasets").Dataset.from_dict(c), "jsonl": written,
}
#: And without.
BARE = {
    "tuples": lambda c: list(zip(*c.values())), "generator of tuples": lambda c: zip(*c.values()), "indexed tuples": lambda c: Indexed(list(zip(*c.values()))),
    "lists": lambda c: [list(row) for row in zip(*c.values())], "array": lambda c: objects(list(zip(*c.values())), len(c)),
}
TEXT, PAIR, LABEL = ["a good film", "bad", "great", "dull"], ["a plot", "a movie", "one", "two"], ["x", "y", "x", "y"]
WORDS = {"tokens": [["a", "good"], ["bad", "film"], ["the", "story"]], "ner_tags": [["O", "X"], ["X", "O"], ["O", "O"]]}
SCORED = {"query": TEXT, "document": PAIR, "score": [0.5, 1.0, 0.0, 0.25]}
TRIPLES = {"anchor": TEXT, "positive": PAIR, "negative": ["one", "two", "good", "bad"]}
E = enum.Enum("E", "a b")


def bad_cells():
    np, pd, pa = module("numpy"), module("pandas"), module("pyarrow")
    return {"None": None, "NaN": float("nan"), "NA": pd.NA, "NaT": pd.NaT, "a float": 1.5, "2.0": 2.0, "inf": float("inf"), "an int": 3, "2**63": 2**63, "10**400": 10**400, "bytes": b"good",
            "bytes of no text": b"\xff", "half a character": "a\ud800", "a list": ["a", "b"], "an empty list": [], "a list in a list": [["a"]], "a list with None": ["a", None],
            "a list with NA": ["a", pd.NA], "True": True, "a decimal": decimal.Decimal("1.5"), "a time": datetime.datetime(2020, 1, 1), "a day": datetime.date(2020, 1, 1), "int64": np.int64(3),
            "float32": np.float32(1.5), "str_": np.str_("good"), "bool_": np.bool_(True), "an enum": E.a, "a dict": {"a": 1}, "an object": object(), "nothing": "", "a NUL": "a\0b",
            "complex": 1j, "a tuple": ("a", "b"), "a set": {"a"}, "an array": np.array(["a"]), "a string of Arrow": pa.scalar("good"), "a function": len}


def of_several(task, **how):
    return lambda data: brim.pairs.dataset(data, TOKENIZER, task=task, columns=None, labelled=True, runtime=brim.runtime.default(), **how)


def of(**how):
    return lambda data: brim.Dataset.of(data, TOKENIZER, **how)


class Lines(unittest.TestCase):
    """What is said of rows, and what is taken."""

    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def refused(self, words, make, *given, **how):
        with self.subTest(words), self.assertRaisesRegex(brim.Error, words) as caught:
            make(*given, **how)
        if hasattr(caught, "exception"):
            self.assertNotIn("\n", str(caught.exception))

    def test_labels(self):
        """what is no finite number is no class; a list among single labels does not change the task; what holds an error is said, not what was tried first"""
        pa = module("pyarrow")
        of = lambda data, **how: brim.Dataset.of(data, TOKENIZER, **how)
        for column in ([float("-inf"), float("inf")], pa.array([float("-inf"), float("inf")])):
            self.refused("row 0: a label is -inf: a finite number", of, {"text": ["a", "b"], "label": column} if isinstance(column, list) else pa.table({"text": ["a", "b"], "label": column}))
        self.refused("row 0 has no label", of, pa.table({"text": ["a", "b"], "label": [float("nan")] * 2}))
        self.refused("row 1: the label is a list, but classification has one", of, [("a", 0), ("b", [])], labels=[0, 1])
        self.refused("row 1: label \"good\" is not among", of, [("a", 0), ("b", "good")], labels={0: "n", 1: "p"})
        self.refused("row 0: label \"m\" is not among the 2 known labels: n, p", of, [("m", "m"), ("b", "good")], labels=brim.Labels(["n", "p"]))
        self.refused("row 1: label \"good\" is not among the 2 known labels: n, p", of, [("a", "n"), ("b", "good")], labels={0: "n", 1: "p"})
        self.refused("labels: .*lone surrogate", brim.Labels, ["a\ud800", "b"])
        self.refused("labels: .*holds a NUL", brim.Labels, ["a\0", "b"])
        self.refused("^labels: the rows have no labels", of, ["a"], labels=["x"])
        for how in ({"labels": ["x", "y"]}, {"labels": brim.Labels(["x", "y"])}, {}):
            with self.assertRaisesRegex(ValueError, 'there is no "multilabel"; use .*multi_label'):
                of([("a", ["x"]), ("b", ["x", "y"])], task="multilabel", **how)
        self.refused("mapping: the rows have no labels", brim.Dataset.from_texts, ["a"], TOKENIZER, mapping=["x"])
        tags = of([(["a", "b"], ["O", float("nan")])], task="tokens")
        self.assertEqual((tags.labels.names, tags[0]["labels"]), (["O"], [-100, 0, -100, -100]))

    def test_numbers(self):
        """lengths, keys, ids and folds are named with their row"""
        rows = brim.Dataset.of(["a", "b"], TOKENIZER)
        for wrong, words in (([3, 1.5], "row 1 has 1.5"), ([1, 2**40], "row 1 has 1099511627776"), ([True, 2], "row 0 has True"), (["a", 1], "row 0 has 'a'"), (module("numpy").array([1.5, 2]), "row 0 has 1.5")):
            self.refused(f"lengths: {words}: a whole number of 32 bits", brim.data.Plan, wrong, batch_size=1)
            self.refused(f"key: {words}: a whole number of 32 bits", rows.batches, key=wrong)
        self.refused("item 2: a whole number of 64 bits is needed, not 1.5", brim.Dataset.from_ids, [[1, 2], [1.5]])
        self.refused("not \\[0, None.*: row 1 has None", brim.train, HERE / "model", [("good", 0), ("bad", 1)] * 2, folds=[0, None, 1, 1], progress=False)
        for make in (lambda: TOKENIZER.encode("a", max_length=0), lambda: TOKENIZER.encode_batch(["a"], max_length=0), lambda: brim.Dataset.from_texts(["a"], TOKENIZER, max_length=0),
                     lambda: brim.analyze(["a"], TOKENIZER, max_length=0), lambda: brim.data.stream(HERE / "data" / "train.csv", TOKENIZER, max_length=0)):
            self.refused("max_length is 0", make)

    def test_texts(self):
        """lists where one text is meant, and what is no text, with the row"""
        self.assertEqual(*(TOKENIZER.encode_batch(texts).ids.tolist() for texts in (TEXT, iter(TEXT))))
        for several in (["b", "c"], ["b"]):
            self.refused("row 1 has a list of texts", TOKENIZER.encode_batch, ["a", several])
            self.refused("row 1 has a list of texts", TOKENIZER.encode_batch, ["a", "b"], ["c", several])
        self.refused("row 1: a text is str or bytes, not None", TOKENIZER.encode_batch, ["a", None])
        self.refused("row 1: .*lone surrogate", TOKENIZER.encode_batch, ["a", "b"], ["c", "d\ud800"])
        model = brim.Model(HERE / "model", untrained=True)
        self.refused("row 1: a text is a str, not 1.5", model.embed, ["a", 1.5])
        self.refused("row 9000: .*lone surrogate", model.embed, ["a"] * 9000 + ["\ud800"])
        for value in (decimal.Decimal(1), datetime.date(2020, 1, 1), float("inf"), b"\xff", E.a):
            self.refused('pairs: row 1: "score" is .*: a text or a finite number', model.evaluate_similarity, [("a", "b", 1.0), ("c", "d", value)])
        self.refused("a stream reads files, and <generator", brim.data.stream, ({"text": "a"} for _ in iter(int, 1)), TOKENIZER)
        self.refused("a stream reads files, and \\[\\('a', 'b'\\)\\]", brim.data.stream, [("a", "b")], TOKENIZER)

    def test_once(self):
        """what can be looped over once is read whole: texts to encode, batches of Arrow, paths of a stream"""
        pa, np = module("pyarrow"), module("numpy")
        alone, pairs = TOKENIZER.encode_batch(TEXTS).ids.tolist(), TOKENIZER.encode_batch(TEXTS, TEXTS[::-1]).ids.tolist()
        for once in (iter, lambda rows: map(str, rows), lambda rows: (row for row in rows)):
            self.assertEqual(TOKENIZER.encode_batch(once(TEXTS)).ids.tolist(), alone)
            for other in (once, list):
                self.assertEqual(TOKENIZER.encode_batch(once(TEXTS), other(TEXTS[::-1])).ids.tolist(), pairs)
                self.assertEqual(TOKENIZER.encode_batch(other(TEXTS), once(TEXTS[::-1])).ids.tolist(), pairs)
        table = pa.table({"text": TEXTS, "label": [0, 1] * 2})
        for labels in (None, {0: "n", 1: "p"}):
            self.assertEqual([*brim.Dataset.of(table.to_reader(), TOKENIZER, labels=labels)], [*brim.Dataset.of(table, TOKENIZER, labels=labels)])
        self.assertEqual(brim.analyze(table.to_reader(), TOKENIZER, batch_size=2).tokens, brim.analyze(table, TOKENIZER, batch_size=2).tokens)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = brim.train(HERE / "model", table.to_reader(), eval=table.to_reader(), max_steps=1, progress=False)
        self.assertEqual(made.evaluations[-1]["rows"], 4)
        path = HERE / "data" / "train.csv"
        for files in (str(path), os.fsencode(path), [path], {path}, iter([path]), path.parent.glob("train.csv"), np.array([str(path)]), module("pandas").Series([str(path)])):
            self.assertEqual(sum(batch.tokens for batch in brim.data.stream(files, TOKENIZER, epochs=1)), brim.Dataset.of(path, TOKENIZER).tokens)

    def test_values_of_no_class(self):
        """numbers of classes are whole; decimals are values where the mapping says so"""
        np, ids = module("numpy"), [[2, 7, 3], [2, 9, 9, 3]]
        for labels, words in (([0.5, 1], "0 has 0.5"), (np.array([1, 1.75]), "1 has 1.75"), ([1, float("inf")], "1 has inf"), ([np.float32(0), np.float32(0.5)], "1 has np.float32")):
            self.refused(f"labels: row {words}.*no number of a class", brim.Dataset.from_ids, ids, labels=labels)
        for labels in ([0, 1], [0.0, 1.0], np.array([0, 1]), np.array([0.0, 1.0]), [False, True]):
            self.assertEqual([row["labels"] for row in brim.Dataset.from_ids(ids, labels=labels)], [0, 1])
        self.assertEqual([row["labels"] for row in brim.Dataset.from_ids(ids, labels=[0.5, 1.75], mapping=brim.Labels(None))], [0.5, 1.75])

    def test_rows_of_words(self):
        """arrays, Series of lists, and pairs of str"""
        rows, wanted = list(zip(*WORDS.values())), brim.Dataset.of(WORDS, TOKENIZER, task="tokens")
        pairs = [(" ".join(words), " ".join(tags)) for words, tags in rows]
        for data in (objects(rows, 2), [list(row) for row in rows], pairs):
            self.assertEqual([*brim.Dataset.of(data, TOKENIZER, task="tokens", labelled=True)], [*wanted])
        alone = brim.Dataset.of(module("polars").Series(WORDS["tokens"]), TOKENIZER, task="tokens", labelled=False)
        self.assertEqual([row["input_ids"] for row in alone], [row["input_ids"] for row in wanted])
        self.refused("may be two words, or words and their labels", brim.Dataset.of, pairs, TOKENIZER, task="tokens")
        self.refused("row 1: one of the words is \\['b'\\]", brim.Dataset.of, [["a", "b"], ["a", ["b"]]], TOKENIZER, task="tokens", labelled=False)

    def test_blocks_of_a_generator(self):
        rows = [{"text": "a", "label": i, "teacher": [i, 1.0]} for i in range(2)]
        for labels in (None, {0: "n", 1: "p"}):
            made = brim.Dataset.of(iter(rows), TOKENIZER, blocks={"teacher": "row"}, labels=labels)
            self.assertEqual([row["teacher"] for row in made], [[0.0, 1.0], [1.0, 1.0]])

    def test_training(self):
        """sets of texts by their names; classes that rows call otherwise; scores; documents of the most wrong rows; pairs that look like labels"""
        train = lambda data, **how: brim.train(how.pop("model", HERE / "model"), data, max_steps=1, progress=False, **how)
        texts = ["a good film", "bad"] * 4
        self.assertEqual({one["name"] for one in train(texts, task="mlm", eval={"one": texts[:2], "two": texts[:3]}).evaluations}, {"one", "two"})
        self.refused("row 0 is .*: without labels a row of two is a pair", train, [("good", 1)] * 4, task="mlm")
        self.refused("label_column: no labels are read", train, {"text": texts, "label": texts}, task="mlm", label_column="label")
        rows = [("good film", 0), ("bad", 1)] * 4
        answers = lambda data, test: [(one["name"], bytes(memoryview(one["logits"]))) for one in train(data, folds=2, test=test).averages]
        for data, texts_alone, tests in ((rows, ["a", "b"], ([("a", 1), ("b", 0)], [("a", 7), ("b", None)], iter([("a", 1), ("b", 0)]), {"test": [("a", 1), ("b", 0)]}, {"test": ["a", "b"]})),
                                         ([("good", "p"), ("bad", "n")] * 4, ["a"], ([("a", "n")], [("a", None)])),
                                         ([("good", "it", 1), ("bad", "it", 0)] * 4, [("a", "b")], ([("a", "b", 1)], [("a", "b", "?")]))):
            wanted = answers(data, texts_alone)
            for test in (tests[at] for at in case.takes(len(tests))):
                self.assertEqual(answers(data, test), wanted)
        self.refused("test: its rows are pairs of texts, as two texts of a row are without labels", train, rows, folds=2, test=[("a", "x")])
        train(rows, labels={0: "neg", 1: "pos"}, output=HERE / "renamed")
        self.assertEqual(train(rows, model=HERE / "renamed", keep_head=True, labels={0: "neg", 1: "pos"}).model.labels.names, ["neg", "pos"])
        self.refused("keep_head keeps the classes", train, rows, model=HERE / "renamed", keep_head=True, labels={0: "no", 1: "yes"})
        self.refused('row 0: label "true" is a boolean, and a score is a number', train, [("a", "b", True), ("c", "d", False)], task="rerank")
        lists = [{"query": "a film", "documents": ["good", "bad"], "labels": [1, 0]}] * 4
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertRegex(train(lists, task="rerank", eval=lists).judged["eval"].wrong[0].text, "(?s)a film.*good.*bad")
        path = HERE / "lists.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in lists))
        self.refused("the row has 2 second texts, and 1 is read here", train, path, task="rerank", stream=True, loss="bce")
        path.write_text("".join(json.dumps({"query": "a film", "positive": "good", "negative": "bad", "score": scores}) + "\n" for scores in ([1, 0], [1])))
        for loss in ("list-net", "margin-mse"):
            of = brim.data.stream(path, TOKENIZER, batch_size=2, repeat=True, max_length=8, text_columns=["query", "positive", "negative"], paired=True, label_column="score",
                                  labels=brim.Labels(None, task="rerank", outputs=2))
            self.refused("a row of 2 documents has fewer labels", train, of, loss=loss)
        with self.assertLogs("brim", "WARNING") as said:
            train([("a film", "pos"), ("a plot", "neg")] * 8, task="embedding")
        self.assertIn("the last of 2 texts is one of 2 in all 16 rows", "".join(said.output))
        table = [{"t": "good film", "l": 0}, {"t": "bad", "l": 1}] * 4
        sets = (rows, collections.deque(rows), iter(rows), (row for row in rows), objects(rows, 2), Indexed(rows), module("pandas").DataFrame(table), iter(table))
        for evals in (sets[at] for at in case.takes(len(sets))):
            with self.subTest(type(evals).__name__), warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertIn(train(table, text_column="t", label_column="l", eval=evals).judged["eval"].wrong[0].text, ("good film", "bad"))

    def test_labels_as_second_texts(self):
        """what looks like a class, and is read as a second text, is said"""
        rows = [("a good film", "pos"), ("bad", "neg")] * 8
        model = brim.train(HERE / "model", rows, max_steps=1, progress=False).model
        for answer in (model.predict, model.logits):
            with self.assertRaisesRegex(brim.errors.MismatchError, "the rows are pairs of texts, and those of the training data are single texts"):
                answer(rows[:2])
        model.save(HERE / "older")
        config = json.loads((HERE / "older" / "config.json").read_text())
        del config["brim_pairs"]  # as older versions wrote it: whether its rows are pairs is not known
        (HERE / "older" / "config.json").write_text(json.dumps(config))
        model = brim.Model(HERE / "older")
        others = [("a good film", "a plot"), ("bad", "neg")]
        for make, said in ((lambda: model.predict(rows[:2]), True), (lambda: model.predict(iter(rows[:2])), True), (lambda: model.logits(rows[:1]), True), (lambda: model.predict(others), False),
                           (lambda: model.predict([text for text, _ in rows]), False), (lambda: model.evaluate(rows), False),
                           (lambda: brim.train(HERE / "model", rows, task="mlm", max_steps=1, progress=False), True), (lambda: brim.train(HERE / "model", iter(rows), task="mlm", max_steps=1, progress=False), True),
                           (lambda: brim.train(HERE / "model", others * 2, task="mlm", max_steps=1, progress=False), False)):
            with self.assertLogs("brim", "INFO") as heard:
                brim.notes.log.info("begin")
                make()
            self.assertEqual("as the names of classes are, and no labels are read here" in "".join(heard.output), said)


    def test_items_of_another_kind(self):
        """what a tuple's last item looks like, and is not read as, is said; what is right says nothing"""
        texts, model = [f"a film of {at}" for at in range(12)], HERE / "model"
        train = lambda rows, **more: brim.train(model, rows, max_steps=1, progress=False, **more)
        tagger = train([(["a", "film"], ["O", "B-X"])] * 6, task="tokens").model
        for call, line in ((lambda: train(list(zip(texts, texts[::-1]))), "second of two is its row's label, and they are of 12 kinds"),
                           (lambda: train(list(zip(texts, texts, texts[::-1]))), "third of three is its row's label"),
                           (lambda: train(list(zip(texts, texts, texts[::-1])), task="mlm"), "third of three is its row's label"),
                           (lambda: train([(one, one, "0.5") for one in texts], task="embedding"), "the last of 3 texts is a number in all 12 rows"),
                           (lambda: train([(one, one, "np"[at % 2]) for at, one in enumerate(texts)], task="embedding"), "the last of 3 texts is one of 2"),
                           (lambda: tagger.predict(list(zip(texts, texts))), "all words of the 12 rows hold white space"),
                           (lambda: train(list(zip(texts, "np" * 6))), None), (lambda: train([(one, other, at / 11) for at, (one, other) in enumerate(zip(texts, texts[::-1]))], task="embedding"), None),
                           (lambda: train(list(zip(texts, texts[::-1])), task="embedding"), None), (lambda: tagger.predict(texts), None)):
            with self.subTest(line), self.assertLogs("brim", "WARNING") as heard:
                brim.notes.log.warning("begin")
                call()
            (self.assertRegex("".join(heard.output), line) if line else self.assertEqual(len(heard.output), 1))

    def test_columns_without_a_value(self):
        """second texts that are missing in all rows are as if there were no column of them, in memory as in files"""
        pd, pa, pl = module("pandas"), module("pyarrow"), module("polars")
        path = HERE / "missing.jsonl"
        path.write_text("".join(json.dumps({"text": text, "text_pair": None, "label": "pn"[at % 2]}) + "\n" for at, text in enumerate(TEXTS)))
        want = [brim.Dataset.of(path, TOKENIZER)[at] for at in range(4)]
        labels = ["p", "n"] * 2
        for missing in (None, float("nan"), pd.NA):
            columns = {"text": TEXTS, "text_pair": [missing] * 4, "label": labels}
            kinds = [columns, [dict(zip(columns, row)) for row in zip(*columns.values())], list(zip(*columns.values())), pd.DataFrame(columns)]
            if missing is None:
                kinds += [pa.table(columns), pa.table(columns).set_column(1, "text_pair", pa.nulls(4, pa.string())), pl.DataFrame(columns)]
            for rows in kinds:
                with self.subTest(type(rows).__name__, missing=missing):
                    found = brim.Dataset.of(rows, TOKENIZER)
                    self.assertEqual(([found[at] for at in range(4)], found.has_pairs), (want, False))

    def test_rows_without_a_second_text(self):
        """A row has the texts that it has, also under min_chars; a column that is named has to have one in each row. In memory as in files."""
        for pairs in (["a", None, "b", "c"], [None] * 4, ["a", None, "", "c"]):
            for name, data in self.forms([{"text": text, "text_pair": pair} for text, pair in zip(TEXTS, pairs)]).items():
                for least in (0, 1):
                    with self.subTest(name, pairs=pairs, min_chars=least):
                        found = brim.Dataset.of(data, TOKENIZER, labelled=False, min_chars=least)
                        want = [TOKENIZER.encode(text, pair).ids.tolist() for text, pair in zip(TEXTS, pairs) if not least or pair != ""]
                        self.assertEqual([found[at]["input_ids"] for at in range(len(found))], want)
                        self.assertEqual(found.has_pairs, "a" in pairs)
                        if not least:
                            with self.assertRaisesRegex(ValueError, r"row 1: there is no second text|row 0: there is no second text|\"text_pair\" is null.*min_chars 1"):
                                brim.Dataset.of(data, TOKENIZER, labelled=False, pair_column="text_pair")
                        elif "a" in pairs:
                            self.assertEqual(len(brim.Dataset.of(data, TOKENIZER, labelled=False, pair_column="text_pair", min_chars=1)), sum(map(bool, pairs)))
                        else:
                            with self.assertRaisesRegex(ValueError, "no rows are left: 4 were excluded"):
                                brim.Dataset.of(data, TOKENIZER, labelled=False, pair_column="text_pair", min_chars=1)
        with self.assertRaisesRegex(ValueError, r"row 1: there is no second text: fill it in, or leave such rows out \(min_chars 1\)"):
            brim.Dataset.from_texts(TEXTS, TOKENIZER, pairs=["a", None, "b", "c"])

    def test_lists_of_texts(self):
        """each item is a text, in memory as in files, and has its score"""
        for documents in (["b", "", "c"], ["", "b", "c"], ["", "", ""], ["b", " ", ""]):
            for name, data in self.forms([{"query": "a", "documents": documents, "scores": [1, 0.5, 0]}] * 2).items():
                with self.subTest(name, documents=documents):
                    found = brim.Dataset.of(data, TOKENIZER, text_columns=["query", "documents"], paired=True, label_column="scores", task="rerank")
                    lengths = [len(TOKENIZER.encode("a", one).ids) for one in documents]
                    self.assertEqual(found.text_lengths.tolist(), lengths * 2)
        rows = [{"query": "a", "documents": ["b", None], "scores": [1, 0]}, {"query": "a", "documents": ["b", "c"], "scores": [1, 0]}]
        how = {"text_columns": ["query", "documents"], "paired": True, "label_column": "scores", "task": "rerank"}
        for name, data in self.forms(rows).items():
            with self.subTest(name):
                with self.assertRaisesRegex(ValueError, 'item 2 of the list in "documents" is null, and each is a text: fill it in, or leave such rows out .min_chars 1.'):
                    brim.Dataset.of(data, TOKENIZER, **how)
                self.assertEqual(len(brim.Dataset.of(data, TOKENIZER, min_chars=1, **how)), 1)

    def forms(self, rows):
        """The same dicts as a list, a dict of columns, a frame, a table of Arrow and a file of JSON lines."""
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        path = HERE / "forms.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return {"rows": rows, "columns": columns, "frame": module("pandas").DataFrame(columns), "table": module("pyarrow").table(columns), "file": path}

    def test_a_row_with_an_empty_text(self):
        """min_chars=1 leaves out a row that lacks any of its texts, whatever the task is and whatever holds the rows"""
        for missing in ("", None):
            for task, good, lacking in (
                    ("rerank", {"query": "a", "document": "b", "score": 1}, ("query", "document")),
                    ("rerank", {"query": "a", "documents": ["b", "c"], "scores": [1, 0]}, ("query", "documents")),
                    ("embedding", {"anchor": "a", "positive": "b", "negative": "c"}, ("anchor", "positive")),
                    ("classification", {"text": "a", "text_pair": "b", "label": "x"}, ("text", "text_pair"))):
                other = {**good, **({"label": "y"} if "label" in good else {"score": 0} if "score" in good else {})}
                for column in lacking:
                    bad = {**good, column: [missing] if column == "documents" else missing, **({"scores": [1]} if column == "documents" else {})}
                    if missing is None and column == "text_pair":
                        continue  # such a row is a text alone
                    for kind, data in self.forms([good, bad, other, good]).items():
                        with self.subTest(kind, task=task, column=column, missing=missing):
                            self.left_out(data, task, missing is None)

    def left_out(self, data, task, refused):
        how = {"task": task, "batch_size": 2, "max_steps": 1}
        with self.assertLogs("brim", "INFO") as heard:
            brim.train(HERE / "model", data, min_chars=1, **how)
        self.assertIn("1 of 4 rows are left out", "".join(heard.output))
        if refused:
            with self.assertRaisesRegex(ValueError, "such rows.* .min_chars 1"):
                brim.train(HERE / "model", data, **how)

    def test_a_label_without_a_character(self):
        """a label of "" is none, in memory as in files"""
        rows = [{"text": text, "label": label} for text, label in zip(TEXTS, ["p", "", "n", "p"])]
        for data in self.forms(rows).values():
            with self.assertRaisesRegex(ValueError, "missing_label"):
                brim.Dataset.of(data, TOKENIZER, labelled=True)
            found = brim.Dataset.of(data, TOKENIZER, labelled=True, missing_label="skip")
            self.assertEqual((found.labels.names, len(found), [one[2:] for one in found.excluded]), (["n", "p"], 3, [(1, "there is no label")]))
        pd = module("pandas")
        for labels in (pd.Series(["p", "", "n", "p"], dtype="category"), module("numpy").array(["p", "", "n", "p"])):
            for data in (pd.DataFrame({"text": TEXTS, "label": labels}), {"text": TEXTS, "label": labels}):
                self.assertEqual(brim.Dataset.of(data, TOKENIZER, labelled=True, missing_label="skip").labels.names, ["n", "p"])
        self.assertEqual(brim.Dataset.from_texts(TEXTS, TOKENIZER, labels=["p", "", "n", "p"], missing_label="skip").labels.names, ["n", "p"])

    def test_labels_of_bytes(self):
        for labels in ([b"x", b"y"] * 2, module("numpy").array([b"x", b"y"] * 2)):
            with self.assertRaisesRegex(TypeError, "row 0: a label is b'x', and would come back as a str: decode it first"):
                brim.Dataset.from_texts(TEXTS, TOKENIZER, labels=labels)


class Kinds(unittest.TestCase):
    """The same little table in every kind of rows."""

    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def outcome(self, make, columns, read):
        """What comes out, or the line that says why not; None: this kind cannot hold the table."""
        try:
            data = make({name: list(column) for name, column in columns.items()})
        except unittest.SkipTest:
            raise
        except Exception:  # whatever pandas and others raise
            return None
        try:
            made = read(data)
        except brim.Error as error:
            self.assertIsInstance(error, ValueError)
            self.assertNotIn("\n", str(error))
            return str(error)
        labels = made.labels and (made.labels.task, made.labels.names)
        return [row["input_ids"] for row in made], [row.get("labels") for row in made], labels, made.has_pairs

    def test_same(self):
        """gives the same Dataset for every task"""
        numbers, lists = [0, 1, 1, 0], [["a"], ["b", "a"], [], ["b"]]
        both = NAMED | BARE
        for what, columns, read, kinds in (
                ("classes", {"text": TEXT, "label": LABEL}, of(labelled=True), both), ("numbers", {"text": TEXT, "label": numbers}, of(), both), ("values", {"text": TEXT, "label": [1.5, 2.0, 0.0, -1.0]}, of(), both),
                ("booleans", {"text": TEXT, "label": [True, False] * 2}, of(), both), ("lists", {"text": TEXT, "label": lists}, of(), both), ("texts", {"text": TEXT}, of(labelled=False), both),
                ("pairs", {"text": TEXT, "text_pair": PAIR}, of(labelled=False), both), ("pairs and classes", {"text": TEXT, "text_pair": PAIR, "label": LABEL}, of(), both),
                ("words", WORDS, of(task="tokens"), NAMED | BARE), ("words alone", WORDS, of(task="tokens", labelled=False), both), ("masked", {"text": TEXT}, of(labelled=False, numbering="tokens", max_length=8), both),
                ("scores", SCORED, of_several("rerank"), both), ("vectors", TRIPLES, of_several("embedding"), both), ("columns", {"t": TEXT, "p": PAIR, "l": LABEL}, of(text_column="t", pair_column="p", label_column="l"), NAMED),
                ("no label at all", {"text": TEXT, "label": [None] * 4}, of(), both)):
            wanted = self.outcome(dict, columns, read)
            for kind, make in kinds.items():
                with self.subTest(what, kind=kind):
                    found = self.outcome(make, columns, read)
                    if isinstance(wanted, str):
                        self.assertIsInstance(found, str)
                    elif found is not None:
                        self.assertEqual(found, wanted)

    def test_options(self):
        """an option does the same, or a line names it"""
        table, words, classes = {"text": TEXT, "label": LABEL}, WORDS, brim.Labels(["y", "x"])
        cases = [(table, {name: "nowhere"}, name) for name in ("text_column", "pair_column", "label_column")]
        cases += [(words, {"task": "tokens", name: "nowhere"}, name) for name in ("text_column", "pair_column", "label_column")]
        cases += [(table, {"labels": ["y", "x"]}, None), (table, {"labels": classes}, None), (table, {"labels": {"x": "X", "y": "Y"}}, None), (table, {"task": "multi_label"}, None), (table, {"labels": ["x"]}, "label"),
                  (table, {"labelled": False, "label_column": "label"}, "label_column"), (table, {"labelled": False, "labels": ["x", "y"]}, "labels"), (table, {"paired": True}, "paired"),
                  (table, {"least_columns": 1}, "least_columns"), (table, {"text_columns": ["text"], "text_column": "text"}, "text_column"), (table, {"max_length": 0}, "max_length"), (table, {"max_length": 4}, None),
                  ({"text": TEXT, "label": ["x", None, "y", "x"]}, {"missing_label": "skip"}, None), ({"text": TEXT}, {"labels": ["x"]}, "label"), ({"text": TEXT}, {"task": "regression"}, "task|label"),
                  ({"text": TEXT}, {"missing_label": "skip"}, "missing_label|label"), (table, {"min_chars": 4}, None)]
        cases += [(table, {name: value}, name) for name, value in {"header": False, "delimiter": ";", "where": {"label": "x"}, "skip_damaged": True, "quote": "none", "max_record": 9, "format": "csv", "cache": HERE / "kept"}.items()]
        for columns, how, refused in cases:
            wanted = self.outcome(dict, columns, of(**how))
            for kind, make in (NAMED | BARE).items():
                of_files = kind == "jsonl" and (how.keys() & {"where", "skip_damaged", "max_record", "cache", "header", "delimiter", "quote", "format"} or not how.keys() & {"text_column", "pair_column", "label_column", "labels", "max_length", "paired"} or "label" not in columns)
                if of_files or kind == "named tuples" and columns is words:
                    continue
                with self.subTest(str(how), kind=kind):
                    found = self.outcome(make, columns, of(**how))
                    if refused and isinstance(found, str):
                        self.assertRegex(found, f"{refused}|nowhere")
                    else:
                        self.assertEqual((found, refused), (wanted, None))
        for kind, make in BARE.items():
            for name in ("text_column", "pair_column", "label_column"):
                with self.subTest(name, kind=kind):
                    self.assertRegex(str(self.outcome(make, table, of(**{name: "text"}))), f"{name}='text': row 0, .* has no names of columns")
        for rows in (TEXT, iter(TEXT), objects(TEXT), module("pandas").Series(TEXT), module("polars").Series(TEXT), module("pyarrow").array(TEXT)):
            with self.assertRaisesRegex(brim.errors.UsageError, "text_column='t': row 0, 'a good film', has no names of columns"):
                brim.Dataset.of(rows, TOKENIZER, text_column="t")
        with self.assertRaisesRegex(brim.errors.UsageError, "text_column: the rows are encoded already"):
            brim.Dataset.of(brim.Dataset.of(TEXT, TOKENIZER), TOKENIZER, text_column="t")
        with self.assertRaisesRegex(brim.errors.UsageError, "text_column='t': row 0"):
            brim.Model(HERE / "model", untrained=True).predict(TEXT, text_column="t")

    def test_mappings(self):
        """a mapping of any kind is columns, as a dict is, and so are the fields of a record array; a row by itself is none"""
        model, numpy = brim.Model(HERE / "model", untrained=True), module("numpy")
        wanted = [p.scores for p in model.predict(TEXT)]
        records = numpy.array([(label, text) for label, text in zip([0, 1, 1, 0], TEXT)], dtype=[("label", int), ("text", object)])
        for table in (collections.UserDict(text=TEXT), collections.ChainMap({"text": TEXT}), types.MappingProxyType({"text": TEXT}), records[["text"]]):
            self.assertEqual([p.scores for p in model.predict(table)], wanted, type(table))
        self.assertEqual(brim.Dataset.of(records, TOKENIZER).labels.names, ["0", "1"])
        for row in (collections.UserDict(text="a good film"), {"text": "a good film"}):
            with self.assertRaisesRegex(brim.Error, 'column "text" is one text'):
                model.predict(row)
        with self.assertRaisesRegex(brim.Error, 'there is no column "text"'):
            model.predict(collections.UserDict(input_ids=[[1, 2]], attention_mask=[[1, 1]]))

    def bad(self):
        """(what, table with a bad cell in row 1, reader, kinds) of each cell in each column"""
        for what, value in bad_cells().items():
            for role, columns, read in (("text", {"text": TEXT, "label": LABEL}, of(labelled=True)), ("text_pair", {"text": TEXT, "text_pair": PAIR, "label": LABEL}, of(labelled=True)),
                                        ("label", {"text": TEXT, "label": LABEL}, of(labelled=True)), ("label", {"text": TEXT, "label": [0, 1, 1, 0]}, of(labelled=True)),
                                        ("label", {"text": TEXT, "label": [0.5, 1.5, 1.0, 0.0]}, of(labelled=True)), ("label", {"text": TEXT, "label": [["a"], ["b"], ["a", "b"], []]}, of(labelled=True)),
                                        ("query", SCORED, of_several("rerank")), ("document", SCORED, of_several("rerank")), ("score", SCORED, of_several("rerank")), ("negative", TRIPLES, of_several("embedding")),
                                        ("tokens", WORDS, of(task="tokens")), ("ner_tags", WORDS, of(task="tokens"))):
                inside = [(role, value)] if columns is not WORDS else [(role, value), (role, [WORDS[role][1][0], value])]
                for name, cell in inside:
                    yield f"{what} in {name}", {**columns, name: [cell if at == 1 else one for at, one in enumerate(columns[name])]}, read, name

    def test_bad_cells(self):
        """a cell is the same in all kinds of rows, or a line says in which row or column it is"""
        cases = [(*one, kind) for one in self.bad() for kind in (NAMED | BARE) if kind != "dicts"]
        compared, taken = dict.fromkeys(("refused", "equal", "neither"), 0), swept.thinned(cases, 1200)
        for what, columns, read, name, kind in taken:
            with self.subTest(what, kind=kind):
                found = self.outcome((NAMED | BARE)[kind], columns, read)
                if isinstance(found, str):
                    self.assertRegex(found, rf'row {"[01]" if kind == "pandas, by itself" else 1}\b|line 2\b|column "{name}"|row \d+ has no score|texts? of a row|as many|^row 0: a label is b')  # a column of bytes has them in row 0, too
                    compared["refused"] += 1
                    continue
                wanted = found and self.outcome(dicts, columns, read)
                if found is None or isinstance(wanted, str):
                    compared["neither"] += 1
                    continue
                self.assertEqual(found, wanted)
                compared["equal"] += 1
        for how in ("refused", "equal"):
            self.assertGreater(compared[how], len(taken) // 20, compared)
        self.assertLess(compared["neither"], len(taken) // 2, compared)


if __name__ == "__main__":
    case.main()
