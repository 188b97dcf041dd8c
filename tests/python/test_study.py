"""Comparisons, analyses and folds from Python: the program's numbers, and their pages."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import brim
import case

HERE = case.folder()
MODEL, TRAIN, TEST = HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv"


def program(*arguments):
    name = os.environ.get("BRIM") or shutil.which("brim", path=os.path.dirname(sys.executable)) or shutil.which("brim")
    return subprocess.run([name, *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def is_page(test, thing, *words):
    """A page that stands alone, and the same in a notebook."""
    thing.page(HERE / "page.html")
    page = (HERE / "page.html").read_text()
    test.assertTrue(page.startswith("<!"))
    for word in words:
        test.assertIn(word, page)
    shown = thing._repr_html_()
    test.assertTrue(shown.startswith("<iframe") and "srcdoc" in shown)
    test.assertNotIn("<svg", shown)  # escaped


class Studies(unittest.TestCase):
    def test_compare(self):
        """As `brim compare --json`, but for the clock."""
        options = ["-m", MODEL, "--train", TRAIN, "--eval", TEST, "--lr", "1e-3", "--batch-size", "8", "--json"]
        want = json.loads(program("compare", *options))
        want = want if isinstance(want, list) else next(v for v in want.values() if isinstance(v, list))
        model = brim.Model(MODEL, labels=["0", "1"])
        before = model.parameters()["classifier.weight"].tolist()
        found = brim.compare(model, TRAIN, eval=TEST, learning_rate=1e-3, batch_size=8)
        self.assertEqual([w.name for w in found], ["fixed", "dynamic", "uniform", "brim"])
        for mine, theirs in zip(found, want):
            self.assertEqual((mine.name, mine.slots, round(mine.loss, 6)), (theirs["method"], theirs["slots"], round(theirs["loss"], 6)))
            self.assertEqual(mine.metrics["accuracy"], theirs["accuracy"])
        self.assertEqual(model.parameters()["classifier.weight"].tolist(), before)
        self.assertEqual(found["brim"].padding_share, 0)
        self.assertIn("fixed", repr(found))
        is_page(self, found, "<svg", "Slots", "uniform")
        self.assertEqual(brim.compare(MODEL, TRAIN, modes="sorted+longest", max_steps=2)[0].batching, "sorted")
        for wrong, words in (({"modes": "best"}, "none of fixed"), ({"modes": "a+b"}, "no way a\\+b"), ({"output": "x"}, "writes nothing"),
                             ({"batching": "sorted"}, "ways have theirs"), ({"lrr": 1}, "did you mean lr")):
            with self.assertRaisesRegex((TypeError, ValueError), words):
                brim.compare(MODEL, TRAIN, **wrong)

    def test_analyze(self):
        want = json.loads(program("analyze", "-t", MODEL, "--json", TRAIN))
        found = brim.analyze(TRAIN, MODEL)
        self.assertEqual((found.rows, found.tokens, found.longest), (96, want["tokens"], want["length"]["longest"]))
        self.assertEqual([(s["batching"], s["padding"], s["slots"]) for s in found.strategies],
                         [(s["batching"], s["padding"], s["slots"]) for s in want["strategies"]])
        self.assertEqual((found.percentiles, found.histogram), (want["length"]["percentiles"], want["histogram"]))
        self.assertEqual((sum(found.histogram), len(found.histogram)), (96, found.longest + 1))
        self.assertEqual((found.strategies[-1]["slots"], found.strategies[-1]["padding_share"]), (found.tokens, 0))
        self.assertTrue(all(a["slots"] >= b["slots"] for a, b in zip(found.strategies, found.strategies[1:])))
        rows = brim.Dataset.from_csv(TRAIN, brim.Tokenizer(MODEL))
        self.assertEqual(brim.analyze(rows).strategies, found.strategies)
        self.assertEqual(brim.analyze(["a good film", "a plot"], MODEL, batch_size=2).rows, 2)
        is_page(self, found, "<svg", "Lengths", "Slots of an epoch")
        with self.assertRaisesRegex(TypeError, "needs a tokenizer"):
            brim.analyze(["a"])

    def test_folds(self):
        """As `brim train --folds`: the same folds, and the same out-of-fold predictions."""
        program("train", "-m", MODEL, "--train", TRAIN, "--eval", f"other={TEST}", "--folds", "3", "--stratify", "--lr", "1e-3", "-o", HERE / "folds", "--quiet")
        seen = []
        found = brim.train(MODEL, TRAIN, eval={"other": TEST}, folds=3, stratify=True, lr=1e-3, on_event=lambda k, f: seen.append(k))
        lines = (HERE / "folds" / "folds.csv").read_text().splitlines()[1:]
        self.assertEqual(found.fold.tolist(), [int(line.split(",")[1]) for line in lines])
        theirs = [json.loads(line) for line in (HERE / "folds" / "predictions.jsonl").read_text().splitlines()]
        top = [["0", "1"][int(b > a)] for a, b in found.logits.tolist()]
        self.assertEqual(top, [str(line["label"]) for line in theirs])
        self.assertEqual((found.metrics["rows"], len(found.folds), sum(f["valid_rows"] for f in found.folds)), (96, 3, 96))
        self.assertEqual([(a["name"], a["metrics"]["rows"]) for a in found.averages], [("other", 24)])
        self.assertEqual(seen.count("fold"), 3)
        is_page(self, found, "fold 2", "all rows")
        given = brim.train(MODEL, TRAIN, folds=found.fold.tolist(), lr=1e-3)
        self.assertEqual(given.logits.tolist(), found.logits.tolist())
        for wrong, words in (([0, 1], "2 numbers for 96 rows"), (1, "fold"), (97, "fold")):
            with self.assertRaisesRegex(ValueError, words):
                brim.train(MODEL, TRAIN, folds=wrong)

    def test_result(self):
        result = brim.train(MODEL, TRAIN, eval=TEST, max_steps=5)
        self.assertEqual([step for step, _ in result.losses], [1, 2, 3, 4, 5])
        self.assertRegex(repr(result), r"^Result\(5 steps, 80 rows, loss 0\.\d+, best 0\.\d+ at step 5")
        is_page(self, result, "<svg", "Loss", "Evaluations", "accuracy")


if __name__ == "__main__":
    case.main()
