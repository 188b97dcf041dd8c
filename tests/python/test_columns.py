"""Columns of every type that pandas, NumPy, pyarrow and polars have, as labels and as texts: what each value is called, or one line."""
import datetime
import decimal
import enum
import unittest
import uuid
import warnings

import brim
import case
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


if __name__ == "__main__":
    case.main()
