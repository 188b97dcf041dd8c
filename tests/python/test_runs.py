"""What a run does besides its steps: the model that it ends with, own metrics, requests, notes, the line of progress, streams, its end."""
import contextlib
import copy
import io
import json
import logging
import os
import pathlib
import pickle
import random
import subprocess
import sys
import unittest
import unittest.mock
import warnings

import brim
import case
import numpy as np
import pyarrow
import pyarrow.parquet
from brim import progress

HERE = case.folder()
MODEL, TRAIN, TEST = HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv"
LEARNS = {"lr": 1e-2, "epochs": 8, "batch_size": 16}  # its accuracy goes up and down again


def rows(path):
    lines = [line.rsplit(",", 1) for line in path.read_text().splitlines()[1:]]
    return [{"text": text.strip('"'), "label": int(label)} for text, label in lines]


class Best(unittest.TestCase):
    """The weights that a run ends with."""

    def same(self, result, folder=None):
        """What is said of the model is true of it."""
        self.assertEqual(result.evaluations[-1]["step"], result.model_step)
        self.assertEqual(result.model.evaluate(TEST)["loss"], result.evaluations[-1]["loss"])
        self.assertEqual(result.judged["eval"]["loss"], result.evaluations[-1]["loss"])
        if folder:
            self.assertEqual(brim.Model(folder).evaluate(TEST)["loss"], result.evaluations[-1]["loss"])

    def test_kept(self):
        last = brim.train(MODEL, TRAIN, eval=TEST, **LEARNS)
        self.assertEqual((last.model_step, last.stopped_early), (last.steps, False))
        worst = min(last.evaluations, key=lambda e: -e["loss"])
        self.assertNotEqual(worst["step"], last.steps)
        memory = brim.train(MODEL, TRAIN, eval=TEST, best_metric="loss", **LEARNS)
        disk = brim.train(MODEL, TRAIN, eval=TEST, load_best_model_at_end=True, metric_for_best_model="eval_loss", output=HERE / "best", **LEARNS)
        best = min(memory.evaluations, key=lambda e: e["loss"])
        for result in (memory, disk):
            self.assertEqual((result.model_step, result.best_step, result.best_metric), (best["step"], best["step"], best["loss"]))
        self.same(memory), self.same(disk, HERE / "best")
        self.assertEqual(disk.model.logits(["a good film"]).tolist(), memory.model.logits(["a good film"]).tolist())
        kept = brim.train(MODEL, TRAIN, eval=TEST, best_metric="loss", keep="last", **LEARNS)
        self.assertEqual((kept.model_step, kept.best_step), (kept.steps, best["step"]))
        self.assertEqual(kept.model.evaluate(TEST)["loss"], last.evaluations[-1]["loss"])
        again = brim.train(MODEL, TRAIN, eval=TEST, load_best_model_at_end=True, metric_for_best_model="loss", output=HERE / "best", resume=True, **LEARNS)
        self.same(again, HERE / "best")

    def test_early(self):
        result = brim.train(MODEL, TRAIN, eval=TEST, patience=1, output=HERE / "early", **LEARNS)
        self.assertTrue(result.stopped_early and result.model_step == result.best_step < result.steps)
        self.same(result, HERE / "early")
        self.assertIn("(the model's)", repr(result))

    def test_without_checkpoints(self):
        result = brim.train(MODEL, TRAIN, eval=TEST, patience=2, save_strategy="no", output=HERE / "none", **LEARNS)
        self.assertFalse((HERE / "none" / "checkpoints").exists())
        self.same(result, HERE / "none")

    def test_strategies(self):
        how = {"epochs": 2, "batch_size": 16, "output": HERE / "strategies", "overwrite": True, "keep_checkpoints": 0}
        saved = lambda: sorted(p.name for p in (HERE / "strategies" / "checkpoints").iterdir() if p.name != "best")
        result = brim.train(MODEL, TRAIN, eval=TEST, eval_strategy="no", **how)
        self.assertEqual((result.evaluations, saved()), ([], ["step-12", "step-6"]))
        result = brim.train(MODEL, TRAIN, eval=TEST, eval_strategy="steps", eval_steps=5, save_strategy="steps", save_steps=4, **how)
        self.assertEqual([e["step"] for e in result.evaluations], [5, 10, 12])
        self.assertTrue({"step-4", "step-8", "step-12"} <= set(saved()) and "step-6" not in saved())
        with self.assertRaisesRegex(TypeError, 'eval_strategy="steps" needs eval_steps'):
            brim.train(MODEL, TRAIN, eval=TEST, eval_strategy="steps")
        with self.assertRaisesRegex(ValueError, "patience needs an evaluation set"):
            brim.train(MODEL, TRAIN, eval=TEST, eval_strategy="no", patience=1)
        with self.assertRaisesRegex(ValueError, "leave out one of both"):
            brim.train(MODEL, TRAIN, eval=TEST, keep="best", swa_start=0.5)


class Told(unittest.TestCase):
    """Who hears what, and asks for what."""

    def test_own_metrics(self):
        seen = []

        def mine(predictions):
            logits, labels = predictions
            seen.append((predictions.name, predictions.step))
            top = [int(b > a) for a, b in logits.tolist()]
            return {"eval_wrong": sum(t != l for t, l in zip(top, labels.tolist()))}

        result = brim.train(MODEL, TRAIN, eval=TEST, compute_metrics=mine, best_metric="wrong", greater_is_better=False, **LEARNS)
        for one in result.evaluations:
            self.assertAlmostEqual(one["accuracy"], 1 - one["wrong"] / 24)
        self.assertEqual(result.best_metric, min(e["wrong"] for e in result.evaluations))
        self.assertEqual(seen, [(e["name"], e["step"]) for e in result.evaluations])
        three = [{"text": "a good film", "label": [0.5, 1.5]}, {"text": "a bad plot", "label": [1.0, 2.0]}]
        shapes = []
        brim.train(MODEL, three, eval=three, max_steps=1, compute_metrics=lambda p: shapes.append((p.logits.shape, p.labels.shape)) or {})
        self.assertEqual([tuple(map(tuple, one)) for one in shapes], [((2, 2), (2, 2))])
        words = [(["a", "good", "film"], ["O", "X", "O"])] * 4
        brim.train(MODEL, words, eval=words, task="tokens", max_steps=1, compute_metrics=lambda p: shapes.append((p.logits.shape, p.labels.shape)) or {})
        self.assertEqual(tuple(map(tuple, shapes[-1])), ((12, 2), (12,)))
        for name in ("step", "eval_rows", "loss"):  # which the log would have twice
            with self.assertRaisesRegex(brim.errors.UsageError, f'compute_metrics: "{name}" is what the event'):
                brim.train(MODEL, TRAIN, eval=TEST, max_steps=1, compute_metrics=lambda p: {name: 1})
        with self.assertRaisesRegex(ValueError, 'best_metric is "mine"'):
            brim.train(MODEL, TRAIN, eval=TEST, max_steps=1, compute_metrics=lambda p: {"other": 1}, best_metric="mine")
        with self.assertRaisesRegex(ZeroDivisionError, "."):
            brim.train(MODEL, TRAIN, eval=TEST, max_steps=1, compute_metrics=lambda p: {"x": 1 / 0})

    def test_metrics_that_are_none(self):
        """what is no number, or no name, is named in one line"""
        numpy = case.module("numpy")
        for metrics, line in (({"x": numpy.ones((3, 2))}, "'x' is array"), ({"x": [1.0]}, r"'x' is \[1.0\]"), ({"x": 10 ** 400}, "'x' is 1000"), ({"x": 10 ** 5000}, "'x' is a number of 16610 bits"),
                              ({"x": "high"}, "'x' is 'high'"), ({"x": None}, "'x' is None"), ({"x\ud800": 1.0}, "half a character"), ({"x\0y": 1.0}, "NUL")):
            with self.subTest(line), self.assertRaisesRegex((TypeError, brim.errors.UsageError), f"^compute_metrics: .*{line}") as found:
                brim.train(MODEL, TRAIN, eval=TEST, max_steps=1, compute_metrics=lambda p: metrics)
            self.assertNotIn("\n", str(found.exception))

    def test_requests(self):
        seen, answers = [], {1: brim.EVALUATE, 2: brim.SAVE, 3: [brim.SAVE, brim.EVALUATE], 4: brim.SAVE | brim.EVALUATE}

        def listen(kind, fields):
            seen.append((kind, fields.get("step")))
            return answers.get(fields["step"]) if kind == "step" else None

        brim.train(MODEL, TRAIN, eval=TEST, max_steps=6, callbacks=[listen, lambda k, f: True], output=HERE / "asked")
        self.assertEqual([step for kind, step in seen if kind == "eval"], [1, 3, 4, 6])
        self.assertTrue({1, 2, 3, 4, 6} <= {step for kind, step in seen if kind == "checkpoint"})
        self.assertNotIn(("checkpoint", 5), seen)
        self.assertEqual((repr(brim.SAVE | brim.STOP), pickle.loads(pickle.dumps(brim.EVALUATE)), brim.STOP == 1), ("brim.STOP | brim.SAVE", brim.EVALUATE, False))

    def test_requests_at_every_event(self):
        """Also at the progress of an evaluation, in folds, of streams and of vectors of texts; what ends a run says so in words."""
        pairs = [{"anchor": f"film {i}", "positive": f"the film {i}"} for i in range(16)]
        ways = {"files": ((MODEL, TRAIN), {"eval": TEST}), "folds": ((MODEL, TRAIN), {"folds": 2, "eval": TEST}), "stream": ((MODEL, TRAIN), {"eval": TEST, "stream": True}),
                "vectors": ((MODEL, pairs), {"eval": pairs, "task": "embedding"})}
        for name, (given, options) in ways.items():
            for request in (brim.SAVE, brim.EVALUATE, brim.STOP, brim.SAVE | brim.EVALUATE):
                heard = []

                def listen(kind, fields):
                    heard.append(kind)
                    return request if fields.get("phase") == "evaluate" else None

                with self.subTest(way=name, request=request):
                    stops = self.assertRaisesRegex(brim.errors.Cancelled, ".") if request == brim.STOP else contextlib.nullcontext()
                    with stops:
                        brim.train(*given, max_steps=3, output=HERE / "asked-always", overwrite=True, callbacks=[listen], progress=False, **options)
                    self.assertIn("progress", heard)
                    self.assertLessEqual(heard.count("eval"), 4)
        model = brim.Model(MODEL, labels=["0", "1"], untrained=True)
        for request in (brim.SAVE, brim.EVALUATE):
            self.assertEqual(len(model.predict(["a good film"], progress=lambda kind, fields: request)), 1)
        with self.assertRaisesRegex(brim.errors.Cancelled, "."):
            model.predict(["a good film"], progress=lambda kind, fields: brim.STOP)
        comparison = brim.compare(MODEL, TRAIN, eval=TEST, max_steps=2, on_event=lambda kind, fields: brim.SAVE | brim.EVALUATE)
        self.assertTrue(comparison)

    def test_evaluated_at_its_end(self):
        """A finished run that is resumed with rows to evaluate on has the best evaluation of them."""
        for how in ({}, {"stream": True}):
            given = {**how, "max_steps": 3, "output": HERE / f"not-evaluated-{len(how)}"}
            brim.train(MODEL, TRAIN, **given)
            result = brim.train(MODEL, TRAIN, eval=TEST, resume=True, **given)
            self.assertEqual((result.best_step, result.best_metric), (3, result.evaluations[-1]["accuracy"]))
            events = [json.loads(line) for line in (given["output"] / "log.jsonl").read_text().splitlines()]
            self.assertEqual([event["step"] for event in events if event["event"] == "eval"], [3])

    def test_values(self):
        """Fields of events are Python's."""
        seen = {}
        result = brim.train(MODEL, TRAIN, eval=TEST, max_steps=1, on_event=lambda k, f: seen.__setitem__(k, f))
        self.assertIsNone(seen["end"]["failure"])
        self.assertEqual(seen["start"]["options"]["batch_size"], 16)
        self.assertIsNone(seen["start"]["given"])
        self.assertNotIn(">null<", result._repr_html_())

    def test_pickled(self):
        result = brim.train(MODEL, TRAIN, eval=TEST, max_steps=3)
        for other in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
            self.assertEqual(other.judged["eval"].wrong, result.judged["eval"].wrong)
            self.assertEqual(other.judged["eval"].confusion, result.judged["eval"].confusion)
            self.assertEqual(other._repr_html_(), result._repr_html_())

    def test_notes(self):
        long = [{"text": "good film " * 60, "label": 1.0}, {"text": "bad", "label": 0.0}] * 4
        with self.assertLogs("brim", "INFO") as caught, self.assertWarnsRegex(UserWarning, "the task is regression; if they are classes"):
            result = brim.train(MODEL, long, max_steps=1)
        said = [(r.levelname, r.getMessage()) for r in caught.records]
        self.assertTrue(any(level == "WARNING" and "4 of 8 rows (50.0 %) were cut at" in text for level, text in said), said)
        self.assertTrue(any(text.startswith("task: regression, because the labels are decimals") for _, text in said), said)
        self.assertTrue(any(text.startswith("2 tensors are new: classifier") for _, text in said), said)
        self.assertEqual((result.truncated, result.model.task), (4, "regression"))
        with self.assertNoLogs("brim", "WARNING"):
            brim.train(MODEL, TRAIN, eval=TEST, max_steps=1)

    def test_line(self):
        """brim's own where tqdm is not there; none where nobody looks."""
        out = io.StringIO()
        with contextlib.redirect_stderr(out), unittest.mock.patch.dict(sys.modules, {"tqdm.auto": None, "tqdm": None}):
            brim.train(MODEL, TRAIN, eval=TEST, max_steps=3, progress=True)
        self.assertRegex(out.getvalue(), r"train: 3 of 3 steps, 0:00:\d\d passed, 0:00:00 left, loss 0\.\d{4}")
        self.assertRegex(out.getvalue(), r"step 3, eval: loss 0\.\d{4}, accuracy 0\.\d{4}")
        quiet = io.StringIO()
        with contextlib.redirect_stderr(quiet):
            brim.train(MODEL, TRAIN, eval=TEST, max_steps=3)
            brim.train(MODEL, TRAIN, max_steps=1, progress=False)
        self.assertEqual((quiet.getvalue(), progress.wanted(None)), ("", sys.stderr.isatty()))
        with unittest.mock.patch.object(sys, "stderr", unittest.mock.Mock(closed=False, isatty=lambda: True)):
            self.assertEqual([progress.wanted(one) for one in (None, True, 1, False, 0, np.False_)], [True] * 3 + [False] * 3)

    def test_reports(self):
        how = {"eval": TEST, "max_steps": 2, "output": HERE / "reports", "overwrite": True}
        seen = []
        brim.train(MODEL, TRAIN, **how)
        self.assertTrue((HERE / "reports" / "tensorboard").exists())
        brim.train(MODEL, TRAIN, report_to=["csv", "none", lambda kind, fields: seen.append(kind)], profile=True, **how)
        here = {path.name for path in (HERE / "reports").iterdir()}
        self.assertTrue({"log.csv", "trace.json"} <= here and "tensorboard" not in here and seen.count("step") == 2)
        self.assertEqual(len((HERE / "reports" / "log.csv").read_text().splitlines()), 5)  # steps, an evaluation, an epoch
        self.assertTrue(json.loads((HERE / "reports" / "trace.json").read_text())["traceEvents"])
        brim.train(MODEL, TRAIN, report_to="none", **how)
        self.assertFalse({"log.csv", "trace.json", "tensorboard"} & {path.name for path in (HERE / "reports").iterdir()})
        result = brim.train(MODEL, TRAIN, max_steps=1, profile=HERE / "other.json")
        self.assertTrue(any(work.kind == "products" and work.calls > 0 for work in result.profile))
        with self.assertRaisesRegex(TypeError, "give output"):
            brim.train(MODEL, TRAIN, report_to="csv")


class Rows(unittest.TestCase):
    """Which rows are trained on."""

    def test_share(self):
        case.program("train", "-m", MODEL, "--train", TRAIN, "--eval", "25%", "-o", HERE / "quarter", "-q")
        theirs = [json.loads(line) for line in (HERE / "quarter" / "evaluation.jsonl").read_text().splitlines()]
        for data, how in ((TRAIN, {"eval": "25%"}), (rows(TRAIN), {"validation_split": 0.25})):
            result = brim.train(MODEL, data, **how)
            self.assertEqual((result.rows, result.evaluations[0]["rows"], result.evaluations[0]["name"]), (72, 24, "eval"))
            held = [one for one in theirs if "wrong" in one or one.get("row") is not None]
            self.assertEqual(result.judged["eval"].wrong[0].text, rows(TRAIN)[result.judged["eval"].wrong[0].row]["text"])
        self.assertTrue(theirs and held is not None)
        mine = brim.train(MODEL, TRAIN, eval="25%", output=HERE / "quarter2")
        self.assertEqual((HERE / "quarter" / "model.safetensors").read_bytes(), (HERE / "quarter2" / "model.safetensors").read_bytes())
        self.assertEqual(mine.evaluations[0]["rows"], 24)
        for wrong in ({"eval": TEST, "validation_split": 0.1}, {"validation_split": 2}, {"validation_split": 0.1, "folds": 3}, {"eval": "0%"}):
            with self.assertRaises(ValueError):
                brim.train(MODEL, TRAIN, **wrong)

    def test_stream(self):
        """As `brim train --stream`."""
        case.program("train", "-m", MODEL, "--train", TRAIN, "--eval", TEST, "--stream", "--shuffle-window", "40", "-e", "2", "-o", HERE / "streamed", "-q")
        result = brim.train(MODEL, TRAIN, eval=TEST, stream=True, shuffle_window=40, epochs=2, output=HERE / "streamed2")
        self.assertEqual((HERE / "streamed" / "model.safetensors").read_bytes(), (HERE / "streamed2" / "model.safetensors").read_bytes())
        self.assertEqual((result.steps, result.model.labels.values), (12, [0, 1]))
        stream = brim.data.stream(TRAIN, brim.Tokenizer(MODEL), labels=["0", "1"], max_length=64, batch_size=8)
        self.assertEqual(brim.train(MODEL, stream, max_steps=3).rows, 24)
        two = brim.train(MODEL, [TRAIN, TEST], stream=True, weights=[3, 1], repeat=True, shuffle_window=40, max_steps=4, where={"label": "1"}, labels=["1", "0"])
        self.assertEqual(two.steps, 4)
        for how, words in (({"stream": True, "repeat": True}, "has no end"), ({"stream": True, "folds": 3}, "in memory")):
            with self.assertRaisesRegex(ValueError, words):
                brim.train(MODEL, TRAIN, **how)
        with self.assertRaisesRegex(ValueError, "the stream has its own"):
            brim.train(MODEL, stream, max_steps=1, batch_size=4)

    def test_files(self):
        """Options of reading."""
        file = HERE / "selected.csv"
        file.write_text("text;label;split;fold\n" + "".join(f"a good film {i};{i % 2};{'train' if i % 3 else 'test'};{i % 2}\n" for i in range(12)))
        how = {"delimiter": ";", "max_steps": 1, "batch_size": 16}
        self.assertEqual(brim.train(MODEL, file, where={"split": "train"}, **how).rows, 8)
        self.assertEqual(brim.train(MODEL, file, min_chars=14, **how).rows, 2)
        self.assertEqual(brim.train(MODEL, file, cache=HERE / "cache", quote="none", cpu="plain", **how).rows, 12)
        self.assertTrue(any((HERE / "cache").iterdir()))
        found = brim.train(MODEL, file, fold_column="fold", test={"unseen": [{"text": "a good film"}, {"text": "a bad plot"}]}, **how)
        self.assertEqual((found.fold.tolist(), found.averages[0]["name"], len(found.averages[0]["logits"])), ([i % 2 for i in range(12)], "unseen", 2))
        table = [{"text": f"a film {i}", "label": i % 2, "fold": i % 3} for i in range(12)]
        self.assertEqual(brim.train(MODEL, table, fold_column="fold", max_steps=1).fold.tolist(), [i % 3 for i in range(12)])
        with self.assertRaisesRegex(brim.Error, "^test: row 1 has no label"):
            brim.train(MODEL, table, eval={"test": [{"text": "a", "label": 1}, {"text": "b", "label": None}]}, max_steps=1)


    def test_changed(self):
        """A file of an evaluation that changes in mid-run has no texts to show next to the old rows' losses; of words the rows have them."""
        draw = random.Random(3)
        text = lambda: " ".join(draw.choice(("good", "bad", "film", "plot", "fine", "dull")) for _ in range(6))
        texts = [{"text": text(), "label": draw.randrange(2)} for _ in range(20)]
        words = [{"tokens": text().split(), "tags": [draw.choice("OAB") for _ in range(6)]} for _ in range(20)]
        pairs = [{"anchor": text(), "positive": text()} for _ in range(20)]
        lists = [{"query": text(), "docs": [text(), text(), text()], "label": [1, 0, draw.randrange(2)]} for _ in range(20)]
        for task, table, ends in (("classification", texts, (".jsonl", ".parquet")), ("tokens", words, (".jsonl",)), ("embedding", pairs, (".jsonl", ".parquet")),
                                  ("rerank", lists, (".jsonl", ".parquet"))):
            for end in ends:
                train, file, output = HERE / f"trained{end}", HERE / f"changes{end}", HERE / f"changed-{task}{end}"

                def write(path, some):
                    if end == ".parquet":
                        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(some), path)
                    else:
                        path.write_text("".join(json.dumps(row) + "\n" for row in some))

                def change(kind, fields):
                    if kind == "step":
                        write(file, table[::-1])
                write(train, table)
                for folder in (None, output):
                    write(file, table)
                    with self.subTest(task, end=end, folder=folder), warnings.catch_warnings(record=True) as said:
                        warnings.simplefilter("always")
                        found = brim.train(MODEL, train, task=task, eval={"other": file}, max_steps=2, lr=1e-6, output=folder, on_event=change).judged["other"].wrong
                    self.assertTrue(found)
                    if task == "tokens":
                        self.assertTrue(all(one.text == " ".join(table[one.row]["tokens"]) for one in found))
                    else:
                        self.assertEqual({one.text for one in found}, {None})
                        self.assertEqual(sum("changed after the rows were read" in str(one.message) for one in said), 1)

    def test_stack(self):
        """The thread of a long call has a stack that does not hang on `ulimit -s`."""
        code = ("import brim, ctypes\nlibc, sizes = ctypes.CDLL(None), []\nlibc.pthread_self.restype = ctypes.c_ulong\n"
                "def look(kind, fields):\n  attributes, size = ctypes.create_string_buffer(256), ctypes.c_size_t()\n"
                "  libc.pthread_getattr_np(ctypes.c_ulong(libc.pthread_self()), attributes)\n"
                "  libc.pthread_attr_getstacksize(attributes, ctypes.byref(size))\n  sizes.append(size.value)\n"
                f"brim.train({str(MODEL)!r}, {str(TRAIN)!r}, max_steps=1, on_event=look)\nprint(min(sizes) >= 1 << 20)")
        done = subprocess.run(["bash", "-c", 'ulimit -s 256; exec "$0" -c "$1"', sys.executable, code], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "True\n", done.stderr)

    def test_column_of_folds(self):
        """Whatever columns the texts and labels of a row are in."""
        kinds = {"embedding": {"anchor": "a good film", "positive": "a fine film"}, "rerank": {"query": "a film", "document": "a good film", "label": 1},
                 "tokens": {"tokens": ["a", "film"], "ner_tags": ["O", "A"]}}
        for task, row in kinds.items():
            file = HERE / f"{task}-folds.jsonl"
            file.write_text("".join(json.dumps({**row, "fold": i % 3, "label": i % 2} if task == "rerank" else {**row, "fold": i % 3}) + "\n" for i in range(9)))
            with self.subTest(task):
                self.assertEqual(brim.train(MODEL, file, task=task, fold_column="fold", max_steps=1).fold.tolist(), [i % 3 for i in range(9)])


class End(unittest.TestCase):
    """The interpreter ends while something is computed."""

    def run_code(self, code):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "BRIM_THREADS": "2"}, timeout=300)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)

    def test_events_that_nobody_takes(self):
        for take in [("break", "pass")[at] for at in case.takes(2)]:
            self.run_code(f"import brim\nevents = brim.train_events({str(MODEL)!r}, {str(TRAIN)!r}, epochs=100000)\n"
                          f"for event in events:\n    if event.kind == 'step' and event.fields['step'] > 20:\n        {'break' if take == 'break' else 'import sys; sys.exit(0)'}\n")

    def test_threads_of_ones_own(self):
        self.run_code(f"import brim, threading\nbegun = threading.Event()\n"
                      f"threading.Thread(target=lambda: brim.train({str(MODEL)!r}, {str(TRAIN)!r}, epochs=100000, on_event=lambda k, f: begun.set()), daemon=True).start()\n"
                      "threading.excepthook = lambda args: None\nbegun.wait()\n")


class Memory(unittest.TestCase):
    def test_flat(self):
        """Trainings one after the other: what is in use does not grow."""
        data, used = rows(TRAIN)[:32], []
        for _ in case.takes(50):  # sanitizers do not say what is in use
            brim.train(MODEL, data, eval=data, max_steps=2, patience=5, compute_metrics=lambda p: {"x": 1.0})
            used.append(case.in_use())
        self.assertLess(used[-1] - used[10], 300_000, used)


if __name__ == "__main__":
    logging.getLogger("brim").addHandler(logging.NullHandler())
    logging.getLogger("brim").propagate = False
    case.main()
