"""Rows that were encoded before they are trained on, Datasets and streams: what says how rows become ids, or what is learnt of them, is as it is for the rows themselves, or is refused."""
import json
import re
import unittest
import warnings

import brim
import case
import swept
from test_effects import MODEL, SEVERAL, TASKS, Training, rows_of

HERE = case.folder()
KINDS = ("memory", "file", "stream", "dataset", "opened")
TOKENIZER = brim.Tokenizer(MODEL)


def trained(rows, **how):
    """The result, or the line of a refusal."""
    try:
        return brim.train(MODEL, rows, progress=False, **{"max_steps": 1, **how})
    except (brim.Error, TypeError, ValueError) as error:
        return str(error)


class Encoded(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    def test_tasks(self):
        """what is trained is the task that was asked for, whatever holds the rows"""
        for kind in KINDS:
            for rows in TASKS:
                for task in ("classification", "regression", "multi_label", "tokens", "mlm", "embedding", "rerank"):
                    found = swept.outcome(lambda: Training(rows, kind)(task=task, max_steps=1)[0].model.task)
                    with self.subTest(kind, rows=rows, task=task):
                        if found.error is None:
                            self.assertEqual(found.value, task)
                        else:
                            self.assertIsInstance(found.error, (brim.Error, TypeError, ValueError))
                            self.assertNotIn("\n", str(found.error))

    def test_labels(self):
        """the classes are those that were asked for, in their order"""
        for kind in KINDS:
            for rows in ("classification", "pairs", "multi_label", "tokens"):
                own = ["B-X", "O"] if rows == "tokens" else ["n", "p"]
                for names in (own, own[::-1], ["x", "y"], own + ["more"]):
                    found = swept.outcome(lambda: Training(rows, kind)(labels=names, max_steps=1)[0].model.labels.names)
                    with self.subTest(kind, rows=rows, names=names):
                        self.assertTrue(found.value == names or re.search("label", str(found.error)), found)

    def test_lengths(self):
        """a row has the ids of a text that was cut there, or max_length is refused: of classes, pairs, words, several texts, masked words"""
        for kind in ("dataset", "opened"):
            for rows in TASKS:
                for length in (6, 24, 30):
                    found = swept.outcome(lambda: (lambda result: [result.tokens, result.model._longest()])(Training(rows, kind)(max_length=length, max_steps=3, seed=42)[0]))
                    with self.subTest(kind, rows=rows, length=length):
                        if found.error is None:
                            self.assertGreaterEqual(length, 24)
                            self.assertEqual(found.value[1], length)
                        else:
                            self.assertRegex(str(found.error), "max_length")
        pairs = [(one["text"], one["other"], one["label"]) for one in rows_of("classification")]
        short, made = trained(pairs, max_length=12), trained(brim.Dataset.of(pairs, TOKENIZER, labelled=True, max_length=12))
        self.assertEqual(case.weights(short.model), case.weights(made.model))
        held = trained(pairs, max_length=12, eval=brim.Dataset.of(pairs, TOKENIZER, labelled=True))
        self.assertRegex(held, "^eval: max_length is 12, and the rows, which are encoded already")

    def test_masked_words(self):
        """a Dataset says what it lacks, and what it is for; whole words are what a stream numbers"""
        texts, wanted = [one["text"] for one in rows_of("mlm")], 'numbering="tokens" where the Dataset is made'
        of = lambda rows, **how: brim.Dataset.of(rows, TOKENIZER, **how)
        for rows in (of(texts), of(list(zip(texts, "ab" * 9))), of(list(zip(texts, [0.5, 1.5] * 9)), labelled=True)):
            self.assertIn(wanted, trained(rows, task="mlm"))
            self.assertIn(wanted, trained(texts, task="mlm", eval=rows))
            with self.assertRaisesRegex(brim.Error, "numbering"):
                list(brim.train_events(MODEL, rows, task="mlm", max_steps=1, progress=False))
        self.assertIn('give task="mlm" too', trained(of(texts, numbering="tokens")))
        path = HERE / "masks.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        opened = lambda numbering: brim.data.stream(path, TOKENIZER, batch_size=5, max_length=9, numbering=numbering)
        self.assertIn('give task="mlm" too', trained(opened("tokens")))
        self.assertIn("whole_words: the stream numbers tokens", trained(opened("tokens"), task="mlm", whole_words=True))
        self.assertEqual(trained(opened("words"), task="mlm", whole_words=True).model.task, "mlm")

    def test_kept_heads(self):
        """of a stream with other classes: refused, and nothing else is said; with the same in another order, kept"""
        rows = rows_of("classification")
        trained(rows, output=HERE / "kept", overwrite=True)
        path = HERE / "kept.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        keep = lambda labels: brim.train(HERE / "kept", brim.data.stream(path, TOKENIZER, labels=labels, max_length=24), keep_head=True, max_steps=1, progress=False)
        with self.assertNoLogs("brim", "WARNING"), self.assertRaisesRegex(brim.Error, r"keep_head keeps the classes \(n, p\), and the stream's are a, b"):
            keep(["a", "b"])
        self.assertEqual(sorted(keep(["p", "n"]).model.labels.names), ["n", "p"])

    def test_kinds_of_texts(self):
        """one check of pairs and single texts, whatever asks and whatever holds them"""
        text, other = (brim.train(MODEL, rows_of(kind), max_steps=1, progress=False).model for kind in ("classification", "pairs"))
        single = [one["text"] for one in rows_of("classification")]
        pairs = [(one["text"], one["text_pair"]) for one in rows_of("pairs")]
        for model, rows, wrong in ((text, pairs, "the rows are pairs of texts"), (other, single, "the rows are single texts")):
            for data in (rows, brim.Dataset.of(rows, TOKENIZER, labelled=False)):
                for answer in (model.predict, model.logits):
                    self.assertRaisesRegex(brim.errors.MismatchError, wrong, answer, data)
            labelled = [(*((row,) if isinstance(row, str) else row), "n") for row in rows]
            for data in (labelled, brim.Dataset.of(labelled, TOKENIZER, labelled=True)):
                self.assertRaisesRegex(brim.errors.MismatchError, wrong, model.evaluate, data)

    def test_batches_are_no_rows(self):
        """a stream, and what else gives batches, is not evaluated, predicted, embedded or analyzed"""
        path, rows = HERE / "unasked.jsonl", rows_of("classification")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        model, encoded = brim.train(MODEL, rows, max_steps=1, progress=False).model, brim.Dataset.of(rows, TOKENIZER)
        for data in (brim.data.stream(path, TOKENIZER, labels=["n", "p"]), encoded.batches(), encoded.batches().plan(0), next(iter(encoded.batches()))):
            for ask in (model.predict, model.logits, model.evaluate, model.embed, lambda data: brim.analyze(data, TOKENIZER), lambda data: brim.Dataset.of(data, TOKENIZER),
                        lambda data: brim.train(MODEL, rows, eval=data, max_steps=1), lambda data: brim.train(MODEL, rows, folds=2, test=data, max_steps=1)):
                self.assertRaisesRegex(brim.Error, f"a {type(data).__name__} gives batches, and rows are needed", ask, data)
        self.assertRaisesRegex(brim.Error, "embed takes texts", model.embed, encoded)

    def test_analyses(self):
        """of a Dataset look at its rows as they are: what says how they are read is refused"""
        rows = brim.Dataset.of(rows_of("classification"), TOKENIZER)
        for given in ({"text_column": "x"}, {"pair_column": "x"}, {"label_column": "x"}, {"windows": 2}, {"max_windows": 2}):
            self.assertRaisesRegex(brim.Error, f"^{next(iter(given))}: the rows are encoded already", brim.analyze, rows, **given)
        from test_effects import fewer
        self.assertRaisesRegex(brim.Error, "^tokenizer: the rows are encoded already", brim.analyze, rows, fewer())
        self.assertEqual(brim.analyze(rows, MODEL).tokens, rows.tokens)


if __name__ == "__main__":
    case.main()
