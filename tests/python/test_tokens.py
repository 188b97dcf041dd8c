"""Words with a label each: training, predicting and evaluating from whatever holds them."""
import json
import pickle
import random
import unittest

import case
import brim

HERE = case.folder()
MODEL = HERE / "model"
NAMES = ["O", "B-GOOD", "I-GOOD", "B-BAD", "I-BAD"]


def make(seed, count):
    draw, rows = random.Random(seed), []
    for _ in range(count):
        words, tags = [], []
        for _ in range(draw.randint(1, 5)):
            kind = draw.choice([None, "GOOD", "BAD"])
            for i in range(draw.randint(1, 2)):
                words.append(draw.choice({None: ["the", "film", "was"], "GOOD": ["good", "great"], "BAD": ["bad", "poor", "dull"]}[kind]))
                tags.append("O" if kind is None else ("I-" if i else "B-") + kind)
        rows.append({"tokens": words, "ner_tags": tags})
    return rows


TRAIN, EVAL = make(1, 80), make(2, 25)


class OneWord(unittest.TestCase):
    def test_a_word_a_row(self):
        """a table with a word a row has no sentences, which is said; of sentences nothing is"""
        apart = [{"tokens": [word], "ner_tags": [tag]} for row in TRAIN[:10] for word, tag in zip(row["tokens"], row["ner_tags"])]
        with self.assertLogs("brim", "WARNING") as said:
            brim.train(MODEL, apart, task="tokens", max_steps=1, progress=False)
        self.assertIn("each of the %d rows has one word" % len(apart), " ".join(said.output))
        with self.assertNoLogs("brim", "WARNING"):
            brim.train(MODEL, TRAIN[:10], task="tokens", max_steps=1, progress=False)


class Entities(unittest.TestCase):
    def test_of_every_kind_of_label(self):
        """marked labels as seqeval, BILOU's alike; bare names by runs, also those that begin with an O"""
        words = list("abcdefg")
        of = lambda *labels: [(kind, first, last) for kind, first, last, _ in brim.TokenPrediction(words, list(labels), []).entities]
        self.assertEqual(of("PER", "O", None, "LOC", "O", "ORG", "ORG"), [("PER", 0, 1), ("LOC", 3, 4), ("ORG", 5, 7)])
        self.assertEqual(of("U-LOC", "U-LOC", "B-ORG", "L-ORG", "B-ORG", "I-ORG", "O"), [("LOC", 0, 1), ("LOC", 1, 2), ("ORG", 2, 4), ("ORG", 4, 6)])
        self.assertEqual(of("B-A", "B-A", "I-A", "I-B", "S-B", "E-B", "O"), [("A", 0, 1), ("A", 1, 3), ("B", 3, 4), ("B", 4, 5), ("B", 5, 6)])


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = brim.train(MODEL, TRAIN, task="tokens", labels=NAMES, eval=EVAL, epochs=5, lr=4e-3)
        cls.model = cls.result.model

    def test_training(self):
        """labels are those that were given, evaluations have entities"""
        self.assertEqual((self.model.task, self.model.labels.names), ("tokens", NAMES))
        last = self.result.evaluations[-1]
        self.assertTrue(last["entity_f1"] > 0.3 and last["accuracy"] > 0.5)
        self.assertTrue(self.result.losses[-1][1] < self.result.losses[0][1])

    def test_predictions(self):
        """a label and its probability for each word; evaluation is what they are worth"""
        found = self.model.predict(EVAL)
        self.assertEqual([f.tokens for f in found], [r["tokens"] for r in EVAL])
        pairs = [(t, p) for r, f in zip(EVAL, found) for t, p in zip(r["ner_tags"], f.labels)]
        metrics = self.model.evaluate(EVAL)
        self.assertAlmostEqual(metrics["accuracy"], sum(t == p for t, p in pairs) / len(pairs), places=12)
        self.assertEqual(len(metrics.rows["label"]), len(pairs))
        self.assertEqual([NAMES[i] for i in metrics.rows["predicted"].tolist()], [p for _, p in pairs])
        self.assertEqual(sum(map(sum, metrics.confusion)), len(pairs))
        for wrong in metrics.wrong:
            self.assertEqual(wrong.text, " ".join(EVAL[wrong.row]["tokens"]))
            self.assertEqual(wrong.word_text, EVAL[wrong.row]["tokens"][wrong.word])
            self.assertEqual(wrong.label, EVAL[wrong.row]["ner_tags"][wrong.word])
        truth = {(i, e) for i, r in enumerate(EVAL) for e in brim.TokenPrediction(r["tokens"], r["ner_tags"], []).entities}
        guess = {(i, e) for i, f in enumerate(found) for e in f.entities}
        self.assertAlmostEqual(metrics["entity_f1"], 2 * len(truth & guess) / (len(truth) + len(guess)), places=12)

    def test_forms(self):
        """a text, texts, lists of words, files: the same predictions"""
        text = "the film was great"
        one = self.model.predict(text)
        self.assertEqual(one, self.model.predict([text]))
        self.assertEqual(one, self.model.predict([text.split()]))
        self.assertEqual(one, self.model.predict([{"tokens": text.split()}]))
        self.assertEqual(one, self.model.predict({"tokens": [text.split()]}))
        path = HERE / "words.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in EVAL), encoding="utf-8")
        conll = HERE / "words.conll"
        conll.write_text("".join("".join(f"{w} {t}\n" for w, t in zip(r["tokens"], r["ner_tags"])) + "\n" for r in EVAL), encoding="utf-8")
        expected = self.model.evaluate(EVAL)
        for data in (path, conll, [(r["tokens"], r["ner_tags"]) for r in EVAL], {k: [r[k] for r in EVAL] for k in EVAL[0]}):
            self.assertEqual(self.model.evaluate(data)["loss"], expected["loss"])
        self.assertEqual(len(self.model.predict(path)), len(EVAL))
        pd, pa = case.module("pandas"), case.module("pyarrow")
        for none in ([], (), {}, {"tokens": []}, iter(()), pd.Series([], dtype=object), pd.DataFrame({"tokens": []}), pa.table({"tokens": []})):
            self.assertEqual(self.model.predict(none), [])
        long = self.model.predict([["film"] * 200])[0]
        self.assertEqual((len(long.labels), long.labels.count(None)), (200, 200 - (self.model.max_length - 2)))

    def test_numbers(self):
        """tags as numbers are those of the model's names in rows, in what was encoded before and in weights of classes"""
        numbers = [{**row, "ner_tags": [NAMES.index(tag) for tag in row["ner_tags"]]} for row in EVAL]
        self.assertEqual(sorted({tag for row in numbers for tag in row["ner_tags"]}), [*range(len(NAMES))])
        encoded = brim.Dataset.of(numbers, self.model.tokenizer, task="tokens", labelled=True)
        self.assertEqual(encoded.labels.names, [str(number) for number in range(len(NAMES))])
        expected = self.model.evaluate(EVAL)["loss"]
        self.assertEqual([self.model.evaluate(rows)["loss"] for rows in (numbers, encoded)], [expected, expected])
        train = lambda weights: brim.train(MODEL, TRAIN, task="tokens", labels=NAMES, max_steps=2, class_weights=weights).loss
        self.assertEqual(train({"3": 3.0, "O": 0.5}), train({"B-BAD": 3.0, "O": 0.5}))

    def test_rows(self):
        """what a row is: word_ids, and the label of each word's first token"""
        row = brim.Dataset.of([(["xy", "", "film"], ["B-BAD", "O", "O"])], brim.Tokenizer(MODEL), task="tokens", labels=NAMES).row(0)
        self.assertEqual((row["tokens"], row["word_ids"], row["labels"]),
                         (["xy", "", "film"], [None, 0, 0, 2, None], [-100, 3, -100, 0, -100]))

    def test_pickle(self):
        """rows of words there and back: words, labels and what is trained on them, with and without labels"""
        rows = brim.Dataset.of([*TRAIN, {"tokens": ["été", "", "film"], "ner_tags": ["O", "O", -100]}], brim.Tokenizer(MODEL), task="tokens", labels=NAMES)
        again = pickle.loads(pickle.dumps(rows))
        self.assertEqual((str([again[i] for i in range(len(again))]), again.fingerprint), (str([rows[i] for i in range(len(rows))]), rows.fingerprint))
        self.assertEqual(self.model.evaluate(again)["loss"], self.model.evaluate(rows)["loss"])
        self.assertEqual(brim.train(MODEL, again, max_steps=2).loss, brim.train(MODEL, rows, max_steps=2).loss)
        bare = brim.Dataset.of([["the", "film"], ["xy"]], brim.Tokenizer(MODEL), task="tokens", labelled=False)
        self.assertEqual(str([pickle.loads(pickle.dumps(bare))[i] for i in range(2)]), str([bare[i] for i in range(2)]))

    def test_batches(self):
        """batches have the labels of tokens: flat, padded, cut, after a pickle, without rows"""
        rows = brim.Dataset.of(TRAIN, brim.Tokenizer(MODEL), task="tokens", labels=NAMES)
        for most, options in ((100, {"batching": "random", "seed": 3}), (6, {"max_length": 6, "oversize": "truncate"})):
            cut = lambda i: rows[i]["labels"] if len(rows[i]["labels"]) <= most else [*rows[i]["labels"][:most - 1], rows[i]["labels"][-1]]
            seen = 0
            for batch in rows.batches(batch_size=7, padding="longest", **options):
                for one in (batch, pickle.loads(pickle.dumps(batch))):
                    expected = [cut(i) for i in one.rows.tolist()]
                    labels, offsets = one.token_labels.tolist(), one.offsets.tolist()
                    self.assertEqual([labels[a:b] for a, b in zip(offsets, offsets[1:])], expected)
                    padded, ragged = one.padded(), one.ragged()
                    width = padded["input_ids"].shape[1]
                    self.assertEqual(padded["labels"].tolist(), [[*row, *[-100] * (width - len(row))] for row in expected])
                    self.assertEqual((ragged["labels"].tolist(), one.targets().tolist()), ([labels], [labels]))
                seen += len(batch)
            self.assertEqual(seen, len(TRAIN))
        few = brim.Dataset.of(TRAIN[:1], brim.Tokenizer(MODEL), task="tokens", labels=NAMES)
        empty = next(iter(few.batches(batch_size=2, padding="longest", world_size=2, rank=1)))
        for one in (empty, pickle.loads(pickle.dumps(empty))):
            self.assertEqual((len(one), one.token_labels.tolist(), one.targets().shape, one.padded()["labels"].shape, one.padded(5)["labels"].shape),
                             (0, [], (1, 0), (0, 0), (0, 5)))
        plain = brim.Dataset.of([("good", "a")], brim.Tokenizer(MODEL), labels=["a"])
        self.assertIsNone(next(iter(plain.batches(batch_size=1))).token_labels)

    def test_stream(self):
        """a stream of words, from JSON lines and from conll: the labels of the data set, with a state; without labels, too"""
        tokenizer = brim.Tokenizer(MODEL)
        rows = brim.Dataset.of(TRAIN, tokenizer, task="tokens", labels=NAMES)
        expected = sorted(str((rows[i]["input_ids"], rows[i]["labels"])) for i in range(len(rows)))
        lines, conll = HERE / "stream.jsonl", HERE / "stream.conll"
        lines.write_text("".join(json.dumps(r) + "\n" for r in TRAIN), encoding="utf-8")
        conll.write_text("".join("".join(f"{w} {t}\n" for w, t in zip(r["tokens"], r["ner_tags"])) + "\n" for r in TRAIN), encoding="utf-8")

        def of(batches):
            return [str((b.ids.tolist()[x:y], b.token_labels.tolist()[x:y])) for b in batches for x, y in zip(b.offsets.tolist(), b.offsets.tolist()[1:])]

        for file, options in ((lines, {}), (conll, {}), (conll, {"format": "conll"}), (lines, {"task": None, "labels": brim.Labels(NAMES, task="tokens")})):
            options = {"task": "tokens", "labels": NAMES, "epochs": 1, "batch_size": 9, "window": 20, "max_length": 40, **options}
            stream = brim.data.stream(file, tokenizer, **options)
            batches = iter(stream)
            first = [next(batches) for _ in range(3)]
            state, rest = stream.state_dict(), of(batches)
            again = pickle.loads(pickle.dumps(stream))
            again.load_state_dict(state)
            self.assertEqual(of(again), rest)
            self.assertEqual(sorted(of(first) + rest), expected)
        bare = brim.data.stream(lines, tokenizer, task="tokens", epochs=1, max_length=40)
        self.assertEqual(sorted(str(b.ids.tolist()[x:y]) for b in bare for x, y in zip(b.offsets.tolist(), b.offsets.tolist()[1:])),
                         sorted(str(rows[i]["input_ids"]) for i in range(len(rows))))
        with self.assertRaisesRegex(brim.Error, "task is 'sums'"):
            brim.data.stream(lines, tokenizer, task="sums")

    def test_missing_words(self):
        """A missing value among words is no word, whatever it is written as."""
        for word in (None, float("nan")):
            with self.assertRaisesRegex(brim.errors.UsageError, "row 1: one of the words is"):
                brim.Dataset.of([(["a"], ["O"]), (["a", word], ["O", "O"])], brim.Tokenizer(MODEL), task="tokens", labelled=True)

    def test_datasets(self):
        """datasets with a list of ClassLabel: its names, in their order"""
        try:
            import datasets
        except ImportError:
            self.skipTest("datasets is not installed")
        many = getattr(datasets, "List", datasets.Sequence)
        features = datasets.Features({"tokens": many(datasets.Value("string")), "ner_tags": many(datasets.ClassLabel(names=NAMES))})
        table = datasets.Dataset.from_list([{**r, "ner_tags": [NAMES.index(t) for t in r["ner_tags"]]} for r in EVAL], features=features)
        self.assertEqual(self.model.evaluate(table)["loss"], self.model.evaluate(EVAL)["loss"])
        self.assertEqual(brim.Dataset.of(table, brim.Tokenizer(MODEL), task="tokens").labels.names, NAMES)

    def test_folds(self):
        """folds, and a folder that is opened again"""
        found = brim.train(MODEL, TRAIN, task="tokens", folds=3, epochs=2, lr=4e-3, eval={"e": EVAL})
        self.assertEqual(found.metrics["rows"], len(TRAIN))
        made = brim.Dataset.of(TRAIN, brim.Tokenizer(MODEL), task="tokens")
        self.assertEqual((tuple(found.logits.shape), tuple(found.averages[0]["logits"].shape)[1]), ((made.tokens, 5), 5))
        labels = [one for row in range(len(made)) for one in made[row]["labels"]]
        right = [row.index(max(row)) == label for row, label in zip(found.logits.tolist(), labels) if label >= 0]
        self.assertAlmostEqual(sum(right) / len(right), found.metrics["accuracy"], places=12)
        even = brim.train(MODEL, TRAIN, task="tokens", folds=4, stratify=True, max_steps=1).fold.tolist()
        rare = [sum(row["ner_tags"].count("I-BAD") for row, fold in zip(TRAIN, even) if fold == k) for k in range(4)]
        self.assertLessEqual(max(rare) - min(rare), 2)
        self.assertEqual([even.count(k) for k in range(4)], [20] * 4)
        self.model.save(HERE / "saved-tokens")
        again = brim.Model(HERE / "saved-tokens")
        self.assertEqual((again.task, again.predict("the film was great")), ("tokens", self.model.predict("the film was great")))
        more = brim.train(HERE / "saved-tokens", TRAIN, max_steps=1)
        self.assertEqual(more.model.task, "tokens")

    def test_refused(self):
        """one line each"""
        for bad, words in (([(["a"], ["O", "O"])], "1 word and 2 tags"), ([(["a"], ["B-UGLY"])], "row 0"), ([(["a"], [99])], '"99"'),
                           ([{"tokens": ["a"]}], "ner_tags"), ([{"tokens": 5, "tags": [1]}], "a list"), ([([["a"]], ["O"])], "row 0")):
            with self.assertRaises(brim.Error, msg=bad) as error:
                self.model.evaluate(bad)
            self.assertIn(words, str(error.exception))


if __name__ == "__main__":
    case.main()
