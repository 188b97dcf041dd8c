"""Rows of several texts: from files, tables, lists; their batches, copies, streams."""
import json
import os
import tempfile
import unittest

import brim
import case

HERE = case.folder()
TOKENIZER = brim.Tokenizer(HERE / "model")
ANCHORS = ["good film", "bad plot", "a"]
POSITIVES = ["film", "plot", "good"]
NEGATIVES = [["plot", "bad"], [], ["film"]]


def texts_of(dataset):
    """The tokens of each text of each row."""
    rows = [dataset[row]["input_ids"] for row in range(len(dataset))]
    return [[row] for row in rows] if dataset.firsts is None else rows


def encoded(rows):
    return [[TOKENIZER.encode(text).ids.tolist() for text in row] for row in rows]


ROWS = [[a, p, *n] for a, p, n in zip(ANCHORS, POSITIVES, NEGATIVES)]


class Texts(unittest.TestCase):
    def setUp(self):
        self.rows = brim.Dataset.from_texts(ROWS, TOKENIZER)

    def test_ways_in(self):
        self.assertEqual(texts_of(self.rows), encoded(ROWS))
        self.assertEqual(self.rows.text_lengths.tolist(), [len(text) for row in encoded(ROWS) for text in row])
        columns = {"anchor": ANCHORS, "positive": POSITIVES, "negative": NEGATIVES}
        names = ["anchor", "positive", "negative"]
        lines = [dict(zip(names, row)) for row in zip(ANCHORS, POSITIVES, NEGATIVES)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.jsonl")
            with open(path, "w") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            ways = [columns, lines, path]
            for data in ways:
                with self.subTest(data=type(data).__name__):
                    rows = brim.Dataset.of(data, TOKENIZER, text_columns=names, least_columns=2, labelled=False)
                    self.assertEqual((texts_of(rows), rows.fingerprint), (encoded(ROWS), rows.fingerprint))
                    pairs = brim.Dataset.of(data, TOKENIZER, text_columns=names, least_columns=2, paired=True, labelled=False)
                    want = [[TOKENIZER.encode(a, s).ids.tolist() for s in (p, *n)] for a, p, n in zip(ANCHORS, POSITIVES, NEGATIVES)]
                    self.assertEqual(texts_of(pairs), want)
            stream = brim.Stream(path, TOKENIZER, text_columns=names, least_columns=2, most_texts=4, epochs=1, max_length=16, batch_size=2)
            self.assertEqual(sum(batch.texts for batch in stream), 9)

    def test_batches(self):
        for padding in ("none", "longest"):
            for batch in self.rows.batches(batch_size=2, padding=padding, batching="sequential"):
                firsts = batch.firsts.tolist()
                self.assertEqual((len(batch), batch.texts), (len(batch.rows), firsts[-1]))
                for i, row in enumerate(batch.rows.tolist()):
                    self.assertEqual(firsts[i + 1] - firsts[i], len(ROWS[row]))
                self.assertEqual(batch.arrays()["firsts"].tolist(), firsts)
                if padding == "longest":
                    self.assertEqual(batch.padded()["input_ids"].shape, (batch.texts, batch.width))
        self.assertIsNone(next(iter(brim.Dataset.from_texts(ANCHORS, TOKENIZER).batches())).firsts)

    def test_places(self):
        batch = next(iter(self.rows.batches(batch_size=3, batching="sequential")))
        self.assertEqual(batch.places.tolist(), [0, 1, 2, 3, 4, 5, 8, 9, 10])  # p * 4 + t

    def test_copies(self):
        import pickle
        again = pickle.loads(pickle.dumps(self.rows))
        self.assertEqual((texts_of(again), again.fingerprint), (texts_of(self.rows), self.rows.fingerprint))
        for batch in self.rows.batches(batch_size=2):
            other = pickle.loads(pickle.dumps(batch))
            self.assertEqual((other.firsts.tolist(), other.places.tolist(), len(other)), (batch.firsts.tolist(), batch.places.tolist(), len(batch)))
        part = self.rows[1:3]
        self.assertEqual(texts_of(part), encoded(ROWS[1:3]))

    def test_analysis(self):
        found = brim.analyze(self.rows, batch_size=2)
        self.assertEqual((found.rows, found.texts, found.tokens), (3, 9, self.rows.tokens))
        self.assertEqual(sum(found.histogram), 9)

    def test_refused(self):
        for wrong, words in (({"text_columns": ["a", "b"], "least_columns": 3}, "least_columns is 3"),
                             ({"text_columns": ["a"], "paired": True}, "least_columns is 1"),
                             ({"text_columns": ["a", "c"]}, 'there is no column "c"')):
            with self.assertRaisesRegex(brim.errors.UsageError, words):
                brim.Dataset.of({"a": ["x"], "b": ["y"]}, TOKENIZER, labelled=False, **wrong)
        with self.assertRaisesRegex(brim.errors.UsageError, 'row 0: the value of column "b" is missing'):
            brim.Dataset.of({"a": ["x"], "b": [None]}, TOKENIZER, labelled=False, text_columns=["a", "b"])
        with self.assertRaisesRegex(brim.errors.UsageError, "more than most_texts 3"):
            brim.Dataset.from_texts(ROWS, TOKENIZER, most_texts=3)
        with self.assertRaisesRegex(brim.errors.UsageError, "has several texts and a pair"):
            brim.Dataset.from_texts([["a", "b"]], TOKENIZER, pairs=["c"])
        with self.assertRaisesRegex(brim.errors.Error, "several texts"):
            brim.train(HERE / "model", brim.Dataset.from_texts([["a", "b"], ["c"]], TOKENIZER, labels=["0", "1"]), max_steps=1)


if __name__ == "__main__":
    case.main()
