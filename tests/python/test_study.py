"""Comparisons, analyses and folds from Python: the program's numbers, and their pages."""
import json
import pickle
import re
import shutil
import unittest

import brim
import case
from case import program

HERE = case.folder()
MODEL, TRAIN, TEST = HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv"


def pictures(page):
    """Which pictures a page has, and how many; without what the clock says."""
    return re.findall(r"<figcaption><bdi>(.*?)</bdi>|<h[12]><bdi>(.*?)</bdi>", page), page.count("<path"), page.count("<rect")


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
            self.assertEqual([(one.steps, one.tokens, one.slots) for one in mine.rounds], [(one["steps"], one["tokens"], one["slots"]) for one in theirs["rounds"]])
            self.assertTrue(mine.speed_low <= mine.speed <= mine.speed_high and mine.speed_said in repr(found) and len(mine.rounds) == 12)
        self.assertEqual(model.parameters()["classifier.weight"].tolist(), before)
        self.assertEqual(found["brim"].padding_share, 0)
        self.assertIn("fixed", repr(found))
        is_page(self, found, "<svg", "What was computed", "uniform")
        self.assertTrue(all(len(w.curve[0]) == len(w.curve[2]) == w.steps and w.curve[0][-1] == w.rows and w.memory > 1e6 for w in found))
        program("compare", *options[:-1], "--html", HERE / "theirs.html")
        self.assertEqual(pictures((HERE / "page.html").read_text()), pictures((HERE / "theirs.html").read_text()))
        self.assertEqual(pickle.loads(pickle.dumps(found))._repr_html_(), found._repr_html_())
        self.assertEqual(brim.compare(MODEL, TRAIN, modes="sorted+longest", max_steps=2)[0].batching, "sorted")
        both = brim.compare(MODEL, TRAIN, modes=["brim", "fixed"], precision=["fp32", "bf16"], max_steps=2, learning_rate=1e-3)
        self.assertEqual([(w.name, w.precision) for w in both], [(f"{mode} {one}", one) for mode in ("brim", "fixed") for one in ("fp32", "bf16")])
        self.assertEqual([mode.name for mode in brim.compare(MODEL, TRAIN, modes="sorted+longest, brim", max_steps=2)], ["sorted+longest", "brim"])
        narrow = brim.compare(MODEL, TRAIN, modes="brim", precision="bf16", max_steps=2, learning_rate=1e-3)["brim"]
        self.assertEqual((narrow.precision, narrow.loss), ("bf16", both["brim bf16"].loss))
        self.assertNotEqual(both["brim fp32"].loss, both["brim bf16"].loss)
        self.assertEqual(brim.compare(MODEL, TRAIN, modes="brim", precision=["bf16"], max_steps=2)[0].name, "brim")
        for wrong, words in (({"precision": ["fp32", "fp33"]}, "use fp32, bf16"), ({"precision": ["bf16", "bf16"]}, "name each once"),
                             ({"precision": []}, "name each once"), ({"modes": "best"}, "none of fixed"), ({"modes": "a+b"}, "none of fixed"), ({"modes": "a+none"}, "there is no mode a\\+none"), ({"modes": "brim+clever"}, 'no option "clever"'),
                             ({"modes": "brim+optimizer=sgd"}, "same in all modes"), ({"modes": [("brim", {"eval": TEST})]}, "no option of batches"), ({"output": "x"}, "writes nothing"),
                             ({"batching": "sorted"}, "ways have theirs"), ({"lrr": 1}, "did you mean lr")):
            with self.assertRaisesRegex((TypeError, ValueError), words):
                brim.compare(MODEL, TRAIN, **wrong)

    def test_modes_with_options(self):
        """A mode with options is a comparison with these options, to the bit."""
        ways = brim.compare(MODEL, TRAIN, modes=["brim", "uniform+batch_size=5+lr=1e-3", ("brim", {"checkpoint_activations": True, "accumulate": 2})], max_steps=3)
        self.assertEqual([way.name for way in ways], ["brim", "uniform+batch_size=5+lr=1e-3", "brim+checkpoint_activations+accumulate=2"])
        apart = [brim.compare(MODEL, TRAIN, modes=mode, max_steps=3, **options)[0] for mode, options in
                 (("brim", {}), ("uniform", {"batch_size": 5, "lr": 1e-3}), ("brim", {"checkpoint_activations": True, "accumulate": 2}))]
        self.assertEqual([(way.loss, way.tokens, way.slots) for way in ways], [(way.loss, way.tokens, way.slots) for way in apart])
        self.assertEqual(brim.compare(MODEL, TRAIN, modes=("brim", {"batch_size": 5}), max_steps=1)[0].rows, 5)

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
        is_page(self, found, "<svg", "Lengths", "Rows of each class")
        program("analyze", "-t", MODEL, TRAIN, "--html", HERE / "theirs.html")
        theirs = (HERE / "theirs.html").read_text()
        self.assertEqual((HERE / "page.html").read_text(), theirs)
        lines = [line.rsplit(",", 1) for line in TRAIN.read_text().splitlines()[1:]]
        dicts = [{"text": text.strip('"'), "label": int(label)} for text, label in lines]
        tuples = [(d["text"], d["label"]) for d in dicts]
        for rows in (dicts, {"text": [d["text"] for d in dicts], "label": [d["label"] for d in dicts]}, tuples, iter(tuples), [(text, str(label)) for text, label in tuples]):  # in memory
            brim.analyze(rows, MODEL).page(HERE / "page.html")
            self.assertEqual((HERE / "page.html").read_text().replace("Analysis: 512", f"{TRAIN}: 512"), theirs)
        with self.assertLogs("brim", "WARNING") as said:
            self.assertEqual(brim.analyze([(d["text"], d["text"]) for d in dicts], MODEL).tokens, found.tokens)
        self.assertIn("the second of two is its row's label", "".join(said.output))
        is_page(self, brim.analyze((d["text"] for d in dicts), MODEL, max_length=8), "<svg", "What a max length keeps", "drawn at random")
        is_page(self, brim.analyze(brim.Dataset.of(dicts, MODEL)), "<svg", "Lengths")
        with self.assertRaisesRegex(ValueError, "was pickled"):
            pickle.loads(pickle.dumps(found)).page(HERE / "page.html")
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

    def test_folds_of_rows_that_are_left_out(self):
        """A column of folds, and the fold of each row, are of the rows as they were given."""
        rows = [{"text": "" if i == 0 else f"film {i}", "label": None if i == 5 else "ab"[i % 2], "part": i // 6} for i in range(12)]
        how = {"min_chars": 1, "missing_label": "skip", "max_steps": 1}
        for data in (rows, (row for row in rows), [{**row, "part": str(row["part"])} for row in rows]):
            self.assertEqual(list(brim.train(MODEL, data, fold_column="part", **how).fold), [0] * 4 + [1] * 6)
        self.assertEqual(list(brim.train(MODEL, rows, folds=[row["part"] for row in rows], **how).fold), [0] * 4 + [1] * 6)
        with self.assertRaisesRegex(ValueError, "folds has 11 numbers for 10 rows"):
            brim.train(MODEL, rows, folds=[0, 1] * 5 + [0], **how)
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        self.assertEqual(list(brim.train(MODEL, columns, folds=columns["part"], **how).fold), [0] * 4 + [1] * 6)
        for data, folds in ((columns, [0, 1, 0]), (str(TRAIN), [0, 1] * (len(str(TRAIN)) // 2) + [0] * (len(str(TRAIN)) % 2))):  # as long as a dict or a path
            with self.assertRaisesRegex(ValueError, f"folds has {len(folds)} numbers for"):
                brim.train(MODEL, data, folds=folds, **how)

    def test_own_metrics_of_folds(self):
        """of every fold while it trains and at its end, of all held-out rows, and of sets that all folds predict"""
        seen = []

        def mine(predictions):
            seen.append((predictions.name, predictions.step))
            top = [row.index(max(row)) for row in predictions.logits.tolist()]
            return {"right": sum(t == l for t, l in zip(top, predictions.labels.tolist())) / len(top)}

        events = []
        found = brim.train(MODEL, TRAIN, eval={"other": TEST}, folds=3, lr=4e-3, epochs=2, compute_metrics=mine, best_metric="right",
                           on_event=lambda kind, fields: events.append(fields) if kind == "eval" else None)
        self.assertEqual({one["name"] for one in events}, {"valid", "other"})
        for part in (found, *found.folds, *found.averages, *[type("E", (), {"metrics": e}) for e in events]):
            metrics = part["metrics"] if isinstance(part, dict) else part.metrics
            self.assertAlmostEqual(metrics["right"], metrics["accuracy"])
        self.assertIn("right", repr(found))
        words = [(["a", "good", "film"], ["O", "X", "O"]), (["dull"], [-100])] * 6
        shapes = []
        brim.train(MODEL, words, task="tokens", folds=2, max_steps=1, compute_metrics=lambda p: shapes.append((tuple(p.logits.shape), tuple(p.labels.shape))) or {})
        self.assertEqual(shapes[-1], ((18, 2), (18,)))
        pairs = [{"text": "a good film", "label": [0.5, 1.5]}, {"text": "a bad plot", "label": [1.0, 2.0]}] * 2
        brim.train(MODEL, pairs, folds=2, max_steps=1, compute_metrics=lambda p: shapes.append((tuple(p.logits.shape), tuple(p.labels.shape))) or {})
        self.assertEqual(shapes[-1], ((4, 2), (4, 2)))
        with self.assertRaisesRegex(ZeroDivisionError, "."):
            brim.train(MODEL, TRAIN, folds=2, max_steps=1, compute_metrics=lambda p: {"x": 1 / 0})
        with self.assertRaisesRegex(ValueError, "brim.compare has no compute_metrics"):
            brim.compare(MODEL, TRAIN, eval=TEST, max_steps=1, compute_metrics=mine)

    def test_result(self):
        """A result's page is that of a run of the program, also without a folder."""
        result = brim.train(MODEL, TRAIN, eval=TEST, max_steps=5)
        self.assertEqual([step for step, _ in result.losses], [1, 2, 3, 4, 5])
        self.assertRegex(repr(result), r"^Result\(5 steps, 80 rows, loss 0\.\d+, best accuracy 0\.\d+ at step 5")
        words = ("<svg", "Norm of the gradient", "the last evaluation of each set", "Confusion", "Most wrong: eval", "batch_size")
        is_page(self, result, *words)
        kept = brim.train(MODEL, TRAIN, eval=TEST, max_steps=5, output=HERE / "paged")
        self.assertEqual(kept.judged["eval"].wrong, result.judged["eval"].wrong)
        is_page(self, kept, *words)
        self.assertEqual((HERE / "page.html").read_text(), (HERE / "paged" / "report.html").read_text())
        shutil.rmtree(HERE / "paged")
        is_page(self, kept, "<svg", "Loss")
        brim.train(MODEL, TRAIN, max_steps=1).page(HERE / "page.html")


class Judged(unittest.TestCase):
    """What a model made of labelled rows."""

    def test_as_the_program(self):
        """The same evaluation.jsonl, with the texts, from files, tables, lists, dicts and streams; and from rows in folds."""
        program("train", "-m", MODEL, "--train", TRAIN, "--eval", f"test={TEST}", "--max-steps", "4", "-o", HERE / "theirs", "--quiet")
        want = (HERE / "theirs" / "evaluation.jsonl").read_text()
        self.assertIn('"event":"wrong"', want)
        lines = [line.rsplit(",", 1) for line in TEST.read_text().splitlines()[1:]]
        pairs = [(text.strip('"'), int(label)) for text, label in lines]
        dicts = [{"text": text, "label": label} for text, label in pairs]
        for number, rows in enumerate((TEST, str(TEST), [TEST], pairs, dicts, {"text": [t for t, _ in pairs], "label": [n for _, n in pairs]})):
            run = HERE / f"ours-{number}"
            brim.train(MODEL, TRAIN, eval={"test": rows}, max_steps=4, output=run)
            self.assertEqual((run / "evaluation.jsonl").read_text(), want)
            self.assertIn("Most wrong: test", (run / "report.html").read_text())
        for rows in (iter(pairs), brim.Dataset.of(pairs, MODEL)):  # what the model saw
            wrong = brim.train(MODEL, TRAIN, eval={"test": rows}, max_steps=4).judged["test"].wrong
            self.assertEqual([w.text for w in wrong], [pairs[w.row][0].lower() for w in wrong])

    def test_folds(self):
        """Each fold is a run, with its page; there is one of all; predictions and folds.json are the program's."""
        for folder, run in (("fold-ours", lambda: brim.train(MODEL, TRAIN, eval={"other": TEST}, folds=2, max_steps=3, output=HERE / "fold-ours")),
                            ("fold-theirs", lambda: program("train", "-m", MODEL, "--train", TRAIN, "--eval", f"other={TEST}", "--folds", "2",
                                                            "--max-steps", "3", "-o", HERE / "fold-theirs", "--quiet"))):
            run()
            self.assertIn("fold-1: valid", (HERE / folder / "report.html").read_text())
        for fold in ("fold-0", "fold-1"):
            ours, theirs = ((HERE / folder / fold / "evaluation.jsonl").read_text() for folder in ("fold-ours", "fold-theirs"))
            self.assertEqual(ours, theirs)
            self.assertTrue((HERE / "fold-ours" / fold / "report.html").exists())
        for name in ("folds.csv", "predictions.jsonl", "predictions-other.jsonl", "folds.json"):
            ours, theirs = (re.sub(r'"seconds":[^,]*', "", (HERE / folder / name).read_text()) for folder in ("fold-ours", "fold-theirs"))
            self.assertEqual(ours, theirs, name)
        with self.assertRaisesRegex(ValueError, '"a/b": a name with / cannot become a file'):
            brim.train(MODEL, TRAIN, eval={"a/b": TEST}, folds=2, max_steps=1)

    def test_evaluation(self):
        model = brim.train(MODEL, TRAIN, max_steps=6, lr=1e-3).model
        found = model.evaluate(TEST)
        want = json.loads(program("evaluate", "-m", HERE / "judged", "--json", TEST)) if model.save(HERE / "judged") is None else None
        self.assertEqual(found.confusion, want["confusion"])
        self.assertEqual([(c.name, c.rows, c.predicted) for c in found.classes], [(c["name"], c["rows"], c["predicted"]) for c in want["classes"]])
        for mine, theirs in zip(found.classes, want["classes"]):
            for name in ("precision", "recall", "f1"):
                self.assertTrue(theirs[name] is None and getattr(mine, name) != getattr(mine, name) or abs(getattr(mine, name) - theirs[name]) < 1e-8)
        self.assertEqual((found["accuracy"], found["rows"]), (want["accuracy"], 24))
        texts = [line.rsplit(",", 1)[0].strip('"') for line in TEST.read_text().splitlines()[1:]]
        predictions = model.predict(texts)
        rows = {name: column.tolist() for name, column in found.rows.items()}
        self.assertEqual([str(p) for p in rows["predicted"]], [str(p.id) for p in predictions])
        for row, prediction in enumerate(predictions):
            self.assertAlmostEqual(rows["score"][row], prediction.score, 6)
            self.assertAlmostEqual(rows["label_score"][row], prediction.scores[rows["label"][row]], 6)
        wrong = [row for row in range(24) if rows["label"][row] != rows["predicted"][row]]
        self.assertEqual(sorted(w.row for w in found.wrong), wrong)
        self.assertTrue(all(w.text == texts[w.row] for w in found.wrong))
        self.assertEqual([w.loss for w in found.wrong], sorted((w.loss for w in found.wrong), reverse=True))
        self.assertEqual(sum(n for _, _, n in found.confused), len(wrong))
        self.assertEqual(json.loads(json.dumps(found)).keys(), found.keys())
        is_page(self, found, "Confusion", "Most wrong", "accuracy")

    def test_values(self):
        """Of values, and of several labels a row."""
        rows = [("a good film", 0.5), ("a bad plot", 1.5), ("the story", 2.5)] * 3
        found = brim.train(MODEL, rows, max_steps=2).model.evaluate(rows)
        self.assertEqual((found.confusion, found.classes, found.confused, found.rows["logits"].shape), (None, [], [], (9, 1)))
        self.assertEqual({w.text for w in found.wrong}, {"a good film", "a bad plot", "the story"})
        is_page(self, found, "spearman", "<svg")
        rows = [("a good film", ["a", "b"]), ("a bad plot", ["b"])] * 3
        found = brim.train(MODEL, rows, max_steps=2).model.evaluate(rows)
        self.assertEqual((found.confusion, [(c.name, c.rows) for c in found.classes]), (None, [("a", 3), ("b", 6)]))
        is_page(self, found, "rows with each label", "f1_micro")

    def test_texts_that_are_gone(self):
        """A file that is not there any more, or rows that fail, cost the texts and nothing else."""
        gone = HERE / "gone.csv"
        gone.write_text(TEST.read_text())
        with self.assertWarnsRegex(RuntimeWarning, "no texts of the most wrong rows: .*gone.csv"):
            result = brim.train(MODEL, TRAIN, eval=gone, max_steps=1, on_event=lambda kind, fields: gone.unlink() if kind == "start" else None)
        self.assertTrue(result.judged["eval"].wrong and all(w.text is None for w in result.judged["eval"].wrong))

    def test_an_older_run_is_let_alone(self):
        """A run that is refused, or stops before it has a step, does not touch what another keeps."""
        brim.train(MODEL, TRAIN, eval=TEST, max_steps=1, output=HERE / "older")
        before = {name: (HERE / "older" / name).read_bytes() for name in ("evaluation.jsonl", "report.html")}
        with self.assertRaises(brim.Error):
            brim.train(MODEL, TRAIN, eval={"test": TRAIN}, max_steps=1, output=HERE / "older")
        with self.assertRaises(brim.errors.Cancelled):
            brim.train(MODEL, TRAIN, eval={"test": TRAIN}, max_steps=1, output=HERE / "older", overwrite=True, on_event=lambda k, f: brim.STOP if k == "start" else None)
        self.assertEqual({name: (HERE / "older" / name).read_bytes() for name in before}, before)

    def test_stopped(self):
        """What is stopped keeps its evaluations, as the program does."""
        with self.assertRaises(brim.errors.Cancelled):
            brim.train(MODEL, TRAIN, eval=TEST, eval_every=2, max_steps=9, output=HERE / "stopped",
                       on_event=lambda k, f: brim.STOP if k == "step" and f["step"] == 4 else None)
        kept = [json.loads(line) for line in (HERE / "stopped" / "evaluation.jsonl").read_text().splitlines()]
        self.assertTrue(all(line["text"] for line in kept if line["event"] == "wrong"))
        self.assertIn("Most wrong: eval", (HERE / "stopped" / "report.html").read_text())


if __name__ == "__main__":
    case.main()
