"""Options that say what rows say already, and options of files with rows in memory."""
import unittest

import case

import brim

HERE = case.folder()
MODEL = str(HERE / "model")
TOKENIZER = brim.Tokenizer(MODEL)
ROWS = [("a good film", "pos"), ("a bad film", "neg"), ("good fun", "pos"), ("good good", "pos")] * 4
HOW = {"max_steps": 1, "progress": False}


def file(name, sign=",", rows=ROWS):
    path = HERE / name
    path.write_text("".join(f"{text}{sign}{label}\n" for text, label in [("text", "label"), *rows]))
    return path


class Agreeing(unittest.TestCase):
    def test_balanced_streams(self):
        """the pass that finds the classes of a stream counts them"""
        path = file("balanced.csv")
        answers = lambda weights: brim.train(MODEL, path, stream=True, batch_size=4, lr=1e-2, class_weights=weights, progress=False).model.logits(["a film"]).tolist()
        balanced = answers("balanced")
        self.assertEqual(balanced, answers({"pos": 16 / 24, "neg": 2}))
        self.assertNotEqual(balanced, answers(None))

    def test_datasets(self):
        """what agrees with an encoded Dataset is taken, what differs is refused"""
        rows = brim.Dataset.of(ROWS, TOKENIZER, labels=["neg", "pos"], labelled=True)
        brim.train(MODEL, rows, task="classification", labels=["neg", "pos"], **HOW)
        for how in ({"task": "regression"}, {"labels": ["pos", "neg"]}):
            with self.assertRaisesRegex(brim.errors.UsageError, f"{next(iter(how))}: the rows are encoded already"):
                brim.train(MODEL, rows, **how, **HOW)
        texts = [text for text, _ in ROWS]
        brim.train(MODEL, brim.Dataset.of(texts, TOKENIZER, numbering="words"), task="mlm", whole_words=True, **HOW)
        with self.assertRaisesRegex(brim.errors.UsageError, "whole_words: the rows are encoded"):
            brim.train(MODEL, brim.Dataset.of(texts, TOKENIZER, numbering="tokens"), task="mlm", whole_words=True, **HOW)

    def test_streams(self):
        """a stream leaves out rows without a label where it is made, as the advice says"""
        path = file("missing.csv", rows=[*ROWS, ("no label", "")])
        make = lambda **how: brim.data.stream(path, TOKENIZER, max_length=9, labels=["neg", "pos"], **how)
        with self.assertRaisesRegex(brim.errors.UsageError, "missing_label: .*brim.data.stream"):
            brim.train(MODEL, make(), missing_label="skip", **HOW)
        brim.train(MODEL, make(missing_label="skip"), max_steps=3, progress=False)
        with self.assertRaisesRegex(brim.errors.UsageError, "missing_label='no'"):
            make(missing_label="no")

    def test_files_with_memory(self):
        """options of files hold for the sets that are files; rows in memory are not chosen by where"""
        path, plain = file("with.csv", ";"), file("plain.csv")
        self.assertEqual(brim.train(MODEL, ROWS, eval=path, delimiter=";", **HOW).evaluations[-1]["rows"], len(ROWS))
        with self.assertRaisesRegex(TypeError, "delimiter is for files"):
            brim.train(MODEL, ROWS, eval=ROWS[:4], delimiter=";", **HOW)
        for train, held in ((plain, ROWS[:4]), (ROWS, plain)):
            with self.assertRaisesRegex((TypeError, brim.Error), "where is for files"):
                brim.train(MODEL, train, eval=held, where={"label": "pos"}, labels=["neg", "pos"], **HOW)

    def test_masked_words(self):
        """what a model of masked words does not give names what measures it"""
        model = brim.train(MODEL, [text for text, _ in ROWS], task="mlm", **HOW).model
        for ask in (model.logits, model.predict, model.evaluate):
            self.assertRaisesRegex(brim.errors.UsageError, "`brim evaluate` measures it", ask, ["a film"])


if __name__ == "__main__":
    case.main()
