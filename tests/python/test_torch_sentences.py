"""Runs of embeddings and rerankers next to those of sentence-transformers, which opens their folders and computes the same vectors and scores. Skipped
without sentence-transformers."""
import csv
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import case

try:
    import numpy as np
    from sentence_transformers import CrossEncoder, SentenceTransformer
except ImportError:
    print("1..0 # SKIP sentence-transformers is not installed")
    sys.exit(0)

TEXTS = ["a film", "it was good, and then it was not", "", "the " * 90, "Ünïcode"]
EXAMPLE = pathlib.Path(__file__).parent.parent.parent / "examples" / "python" / "train_sentences.py"
FOLDERS = pathlib.Path(__file__).parent.parent / "golden" / "tasks" / "folders"


class Sentences(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.place.name)
        with open(case.folder() / "data" / "train.csv", encoding="utf-8") as file:
            texts = [row["text"] for row in csv.DictReader(file)][:40]
        self.pairs = list(zip(texts[::2], texts[1::2]))
        self.table("pairs.csv", ["anchor", "positive"], self.pairs)
        self.table("labels.csv", ["query", "document", "label"], [(a, b, i % 2) for i, (a, b) in enumerate(self.pairs)])

    def tearDown(self):
        self.place.cleanup()

    def table(self, name, header, rows):
        with open(self.folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])

    def train(self, task, data, model, *options):
        case.program("train", "--model", model, "--task", task, "--train", self.folder / data, "--output", self.folder / "run", "--overwrite",
                     "--max-steps", 3, "--lr", 1e-3, "--quiet", *options)
        return self.folder / "run"

    def vectors(self, run):
        (self.folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
        lines = case.program("embed", "--model", run, self.folder / "texts.jsonl", "--quiet").splitlines()
        return np.array([json.loads(line)["embedding"] for line in lines])

    def test_vectors(self):
        """encode gives the vectors of brim embed: each pooling, a norm, a dense module"""
        for model, options in ((case.folder() / "model", ["--pooling", "cls"]), (case.folder() / "model", ["--pooling", "max"]),
                               (case.folder() / "model", ["--pooling", "mean", "--matryoshka", "32,8"]), (FOLDERS / "st-mean-normalize", []),
                               (FOLDERS / "st-old-form", [])):
            run = self.train("embedding", "pairs.csv", model, *options)
            theirs = SentenceTransformer(str(run), device="cpu")
            np.testing.assert_allclose(theirs.encode(TEXTS), self.vectors(run), atol=1e-5, err_msg=f"{model} {options}")
            saved = self.folder / "saved"
            theirs.save(str(saved))
            np.testing.assert_allclose(self.vectors(saved), self.vectors(run), atol=1e-5)

    def test_scores(self):
        """predict gives the scores of brim predict, and a squared error's are not made probabilities"""
        for loss in ("bce", "mse"):
            run = self.train("rerank", "labels.csv", case.folder() / "model", "--loss", loss)
            theirs = CrossEncoder(str(run), device="cpu")
            lines = case.program("predict", "--model", run, self.folder / "labels.csv", "--quiet").splitlines()
            np.testing.assert_allclose(theirs.predict(self.pairs), [json.loads(line)["scores"][0] for line in lines], atol=1e-5, err_msg=loss)
            self.assertEqual(type(theirs.activation_fn).__name__, {"bce": "Sigmoid", "mse": "Identity"}[loss])


    def test_batches(self):
        """examples/python/train_sentences.py: their model, modules and loss with brim's batches; ragged ones have no padding, and the same vectors"""
        slots = {}
        for padding in ("none", "longest"):
            done = subprocess.run([sys.executable, EXAMPLE, FOLDERS / "st-mean-normalize", self.folder / "pairs.csv", "--padding", padding, "--epochs", "3",
                                   "--lr", "1e-3", "--output", self.folder / padding], capture_output=True, text=True, check=True)
            apart, losses = re.search(r"differ by (\S+)", done.stdout), [float(loss) for loss in re.search(r"loss (.*)", done.stdout)[1].split(", ")]
            self.assertLess(float(apart[1]), 1e-5)
            self.assertLess(losses[-1], losses[0])
            slots[padding] = int(re.search(r"([\d,]+) slots", done.stdout)[1].replace(",", ""))
            np.testing.assert_allclose(SentenceTransformer(str(self.folder / padding), device="cpu").encode(TEXTS), self.vectors(self.folder / padding), atol=1e-5)
        self.assertLess(slots["none"], slots["longest"])


if __name__ == "__main__":
    case.main()
