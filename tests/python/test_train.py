"""Training from Python: the program's weights, events, interruption, resume, other programs' folders."""
import contextlib
import filecmp
import io
import json
import math
import pathlib
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import types
import unittest
import unittest.mock

import brim
import case
from case import program

HERE = case.folder()
MODEL, TRAIN, TEST = HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv"


class Training(unittest.TestCase):
    def test_as_the_program(self):
        """The same weights as `brim train` writes."""
        program("train", "--model", MODEL, "--train", TRAIN, "--eval", TEST, "--output", HERE / "c", "--epochs", "2", "--lr", "1e-3",
                "--batch-size", "8", "--quiet")
        result = brim.train(MODEL, TRAIN, eval=TEST, output=HERE / "py", epochs=2, lr=1e-3, batch_size=8)
        self.assertTrue(filecmp.cmp(HERE / "c" / "model.safetensors", HERE / "py" / "model.safetensors", shallow=False))
        self.assertEqual((result.steps, result.rows), (24, 192))
        self.assertEqual(len(result.evaluations), 2)
        named = [[json.loads(line).get("name") for line in open(HERE / run / "log.jsonl") if '"event":"eval"' in line] for run in ("c", "py")]
        self.assertEqual(named, [["eval"] * 2] * 2)  # so that either may resume the other's run
        self.assertTrue(math.isfinite(result.loss))
        self.assertEqual(result.best_metric, max(e["accuracy"] for e in result.evaluations))

    def test_longer(self):
        """A finished run becomes longer, here or by the program: the weights of one that was begun so long."""
        how = {"batch_size": 16, "schedule": "constant"}
        brim.train(MODEL, TRAIN, output=HERE / "whole3", epochs=3, **how)
        brim.train(MODEL, TRAIN, output=HERE / "longer", epochs=1, **how)
        seen = []
        result = brim.train(MODEL, TRAIN, output=HERE / "longer", epochs=2, resume=True, on_event=lambda k, f: seen.append((k, f)) and None, **how)
        resumed = next(f for k, f in seen if k == "resume")
        self.assertEqual((result.steps, resumed["former_steps"], resumed["lr"], resumed["former_lr"]), (12, 6, 5e-5, 5e-5))
        program("train", "--model", MODEL, "--train", TRAIN, "--output", HERE / "longer", "--epochs", "3", "--schedule", "constant", "--resume", "-q")
        self.assertTrue(filecmp.cmp(HERE / "whole3" / "model.safetensors", HERE / "longer" / "model.safetensors", shallow=False))
        with self.assertRaisesRegex(brim.errors.MismatchError, "longer, not shorter"):
            brim.train(MODEL, TRAIN, output=HERE / "longer", epochs=1, resume=True, **how)
        brim.train(MODEL, TRAIN, output=HERE / "longer", epochs=3, resume=True, resume_anyway=True, **how)

    def test_kept_head(self):
        three = [("a film", "good"), ("a plot", "dull"), ("a story", "bad")]
        brim.train(MODEL, three, max_steps=1, output=HERE / "three")
        self.assertEqual(brim.train(HERE / "three", three[:2], max_steps=1).model.labels.names, ["dull", "good"])
        kept = brim.train(HERE / "three", three[:2], max_steps=1, lr=0, keep_head=True, output=HERE / "kept")
        self.assertEqual(kept.model.labels.names, ["bad", "dull", "good"])
        self.assertTrue(filecmp.cmp(HERE / "three" / "model.safetensors", HERE / "kept" / "model.safetensors", shallow=False))
        with self.assertRaisesRegex(brim.errors.MismatchError, "not among the 3 known labels"):
            brim.train(HERE / "three", [("a film", "fine")], max_steps=1, keep_head=True)
        with self.assertRaisesRegex(brim.errors.UsageError, "not fine-tuned"):
            brim.train(MODEL, three, max_steps=1, keep_head=True)

    def test_rows_without_labels(self):
        rows = [("a film", "good"), ("a plot", None), ("a story", "bad")]
        with self.assertRaisesRegex(brim.errors.FormatError, "row 1 has no label"):
            brim.train(MODEL, rows, max_steps=1)
        self.assertEqual(brim.train(MODEL, rows, max_steps=1, batch_size=8, missing_label="skip").rows, 2)
        file = HERE / "gaps.csv"
        file.write_text("text;label\na film;good\na plot;\na story;bad\n")
        self.assertEqual(brim.train(MODEL, file, max_steps=1, batch_size=8, missing_label="skip", delimiter=";").rows, 2)
        with self.assertRaisesRegex(brim.errors.UsageError, "error or skip"):
            brim.train(MODEL, rows, max_steps=1, missing_label="drop")

    def test_events(self):
        seen = []
        brim.train(MODEL, TRAIN, max_steps=3, on_event=lambda kind, fields: seen.append((kind, fields)) and None)
        steps = [f for k, f in seen if k == "step"]
        self.assertEqual([f["step"] for f in steps], [1, 2, 3])
        self.assertEqual((seen[0][0] in ("start", "progress"), "end" in [k for k, _ in seen]), (True, True))
        self.assertTrue(all(math.isfinite(f["loss"]) for f in steps))

    def test_recipes(self):
        """The recipe of docs/users/python.md and the examples for Weights & Biases and MLflow, with stand-ins for what they speak to."""
        root = pathlib.Path(__file__).parent.parent.parent
        block = next(b for b in re.findall(r"```python\n(.*?)```", (root / "docs" / "users" / "python.md").read_text(), re.S) if "wandb.init" in b)
        logged, said = [], []
        run = types.SimpleNamespace(log=logged.append, config=types.SimpleNamespace(update=said.append), finish=lambda: said.append("finished"))
        wandb = types.ModuleType("wandb")
        wandb.init = lambda project: run
        names = {"brim": brim, "wandb": wandb, "model": MODEL, "train": TRAIN, "test": TEST}
        exec(block.replace('"MiniLM", "train.csv"', "model, train, max_steps=5, batch_size=8").replace('eval="test.csv"', "eval=test"), names)
        self.assertEqual([v["trainer/step"] for v in logged if "step/loss" in v], [1, 2, 3, 4, 5])
        self.assertEqual([v["trainer/step"] for v in logged if "eval/accuracy" in v], [5])
        self.assertTrue(all(isinstance(x, (int, float)) for v in logged for x in v.values()))
        whole, listen = logged[:], names["log_to"](run)
        del logged[:]
        for event in brim.train_events(MODEL, TRAIN, eval=TEST, max_steps=5, batch_size=8):
            listen(*event)
        self.assertEqual([v.get("step/loss") for v in logged], [v.get("step/loss") for v in whole])
        mlflow = types.ModuleType("mlflow")
        mlflow.log_params, mlflow.log_artifacts = said.append, lambda *where: said.append(where)
        mlflow.log_metrics, mlflow.start_run = lambda numbers, step: logged.append((step, numbers)), contextlib.nullcontext
        for module, arguments in ((wandb, []), (mlflow, [str(HERE / "mlflow")])):
            del logged[:], said[:]
            with unittest.mock.patch.dict(sys.modules, {module.__name__: module}), unittest.mock.patch.object(sys, "argv", ["", str(MODEL), str(TRAIN), str(TEST), *arguments]), \
                 contextlib.redirect_stdout(io.StringIO()):
                exec((root / "examples" / "python" / f"{module.__name__}_run.py").read_text(), {})
            self.assertEqual(len(logged), 7)  # six steps and an evaluation
            self.assertEqual(said[0]["batch_size"], 16)
            self.assertIn(said[-1], ("finished", (str(HERE / "mlflow"), "run")))

    def test_events_one_by_one(self):
        kinds = [e.kind for e in brim.train_events(MODEL, TRAIN, max_steps=3)]
        self.assertEqual(kinds.count("step"), 3)
        self.assertEqual(kinds[-1], "result")
        for event in brim.train_events(MODEL, TRAIN, epochs=50):
            if event.kind == "step" and event.fields["step"] == 2:
                break
        self.assertLess(threading.active_count(), 3)

    def test_exceptions_of_callbacks(self):
        def listen(kind, fields):
            if kind == "step" and fields["step"] == 2:
                raise KeyError("mine")

        with self.assertRaises(KeyError) as caught:
            brim.train(MODEL, TRAIN, on_event=listen)
        self.assertEqual(caught.exception.args, ("mine",))

    def test_only_stop_stops(self):
        """What a function happens to return stops nothing: tqdm's update is True whenever it draws. Only brim.STOP does."""
        for returned in (True, 1, "stop", [0]):
            self.assertEqual(brim.train(MODEL, TRAIN, max_steps=3, on_event=lambda k, f: returned).steps, 3)
        seen = []
        with self.assertRaises(brim.errors.Cancelled):
            brim.train(MODEL, TRAIN, max_steps=5, on_event=lambda k, f: seen.append(k) or (brim.STOP if k == "step" else None))
        self.assertEqual(seen.count("step"), 1)
        self.assertEqual((repr(brim.STOP), pickle.loads(pickle.dumps(brim.STOP))), ("brim.STOP", brim.STOP))

    def test_program_and_package_go_on_with_each_other(self):
        """A run that one began the other finishes: the weights of a run that nobody stopped."""
        for length in (None, 12):
            options = {"epochs": 2, "lr": 1e-3, "batch_size": 8, **({"max_length": length} if length else {})}
            words = ["--epochs", "2", "--lr", "1e-3", "--batch-size", "8", *(["--max-length", str(length)] if length else [])]
            whole, ours, theirs = (HERE / f"{name}-{length}" for name in ("go-whole", "go-ours", "go-theirs"))
            brim.train(MODEL, TRAIN, output=whole, **options)
            with self.assertRaises(brim.errors.Cancelled):
                brim.train(MODEL, TRAIN, output=ours, on_event=lambda k, f: brim.STOP if k == "step" and f["step"] == 5 else None, **options)
            program("train", "-m", MODEL, "--train", TRAIN, "-o", ours, "--resume", *words)
            program("train", "-m", MODEL, "--train", TRAIN, "-o", theirs, "--save-every", "5", "--keep-checkpoints", "0", *words)
            for name in ("checkpoints/step-24", "checkpoints/step-20"):
                shutil.rmtree(theirs / name)
            self.assertTrue(brim.train(MODEL, TRAIN, output=theirs, resume=True, save_every=5, keep_checkpoints=0, **options).resumed)
            for run in (ours, theirs):
                self.assertTrue(filecmp.cmp(whole / "model.safetensors", run / "model.safetensors", shallow=False), run)

    def test_rows_of_another_model(self):
        """Rows that were encoded longer than the model is are refused, not cut, also where a length is given."""
        rows = brim.Dataset.from_texts(["good film " * 60, "bad plot"], brim.Tokenizer(MODEL), labels=["1", "0"])
        with self.assertRaisesRegex(brim.errors.MismatchError, "row 0 has 122 tokens"):
            brim.train(MODEL, rows, max_steps=1)
        with self.assertRaisesRegex(brim.errors.UsageError, "max_length is 20, and the rows, .*, have up to 122 tokens: give it where the Dataset is made"):
            brim.train(MODEL, rows, max_steps=1, max_length=20)

    def test_stop_and_resume(self):
        """A run that is stopped and resumed has the weights of one that was not."""
        options = {"epochs": 2, "lr": 1e-3, "batch_size": 8, "seed": 5}
        brim.train(MODEL, TRAIN, output=HERE / "whole", **options)
        with self.assertRaises(brim.errors.Cancelled):
            brim.train(MODEL, TRAIN, output=HERE / "cut", on_event=lambda k, f: brim.STOP if k == "step" and f["step"] == 7 else None, **options)
        result = brim.train(MODEL, TRAIN, output=HERE / "cut", resume=True, **options)
        self.assertTrue(result.resumed)
        self.assertTrue(filecmp.cmp(HERE / "whole" / "model.safetensors", HERE / "cut" / "model.safetensors", shallow=False))

    def test_ctrl_c(self):
        """Ctrl-C in the middle of training writes a checkpoint and raises KeyboardInterrupt."""
        code = (f"import brim, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\ntry:\n    brim.train({str(MODEL)!r}, {str(TRAIN)!r}, output={str(HERE / 'ctrl')!r}, epochs=5000,"
                " on_event=lambda k, f: print(k, flush=True) if k == 'step' else None)\n"
                "except KeyboardInterrupt:\n    print('stopped')\n")
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.kill)
        for _ in range(20):  # steps; all 30,000 are more than the pipe takes, so that it does not end before
            child.stdout.readline()
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=900)
        self.assertTrue(out.endswith("stopped\n"))
        self.assertTrue(list((HERE / "ctrl" / "checkpoints").glob("step-*")))

    def test_methods(self):
        """Frozen tensors stay as they were; a run with every method goes through."""
        before = {n: v.tolist() for n, v in brim.Model(MODEL, labels=["0", "1"]).parameters().items()}
        model = brim.train(MODEL, TRAIN, max_steps=4, freeze="embeddings", checkpoint_activations=True, label_smoothing=0.1,
                           class_weights="balanced", layer_lr_decay=0.9, pooling="mean").model
        after = {n: v.tolist() for n, v in model.parameters().items()}
        same = {n for n in before if before[n] == after[n]}
        self.assertTrue(all("embeddings" in n for n in same), same)
        self.assertIn("bert.embeddings.word_embeddings.weight", same)
        some = brim.train(MODEL, TRAIN, max_steps=2, train_only=["*.bias", "classifier.*"], freeze=[1, "*.key.bias"]).model.parameters()
        moved = {n for n in before if before[n] != some[n].tolist()}
        self.assertTrue(moved and all(n.startswith("classifier.") or n.endswith(".bias") for n in moved), moved)
        self.assertFalse([n for n in moved if "key" in n or "embeddings" in n or "layer.0." in n])
        with self.assertRaisesRegex(ValueError, r"qeury.*\(train_only\)"):
            brim.train(MODEL, TRAIN, max_steps=1, train_only="*qeury*")

    def test_texts_are_cut_where_the_model_ends(self):
        """Files are read as long as the model allows, also beside a Dataset, and for every kind of model argument."""
        long = HERE / "data" / "long.csv"
        long.write_text("text,label\n" + "".join(f"{'good film ' * 300},{i % 2}\n" for i in range(8)))
        rows = brim.Dataset.from_csv(TRAIN, brim.Tokenizer(MODEL))
        for model, train in ((MODEL, rows), (MODEL, long), (brim.Model(MODEL, labels=["0", "1"]), rows)):
            result = brim.train(model, train, eval=long, max_steps=1)
            self.assertEqual(result.evaluations[0]["rows"], 8)
            self.assertEqual(result.evaluations[0]["tokens"], 8 * result.model.max_length)
        result = brim.train(MODEL, rows, eval=long, max_steps=1, max_length=20)
        self.assertEqual(result.evaluations[0]["tokens"], 160)

    def test_rows_of_a_step(self):
        """16, or what max_tokens holds, or what is said."""
        steps = lambda **o: brim.train(MODEL, TRAIN, epochs=1, **o).steps
        self.assertEqual((steps(), steps(batch_size=None), steps(batch_size=32)), (6, 6, 3))
        self.assertEqual(steps(batch_size=32, max_tokens=64), 3)
        tokens = brim.Dataset.from_csv(TRAIN, brim.Tokenizer(MODEL)).tokens
        self.assertGreaterEqual(steps(max_tokens=64), tokens // 64)

    def test_many_labels(self):
        tokenizer = brim.Tokenizer(MODEL)
        texts = ["good film", "bad plot", "good plot", "the story"] * 6
        labels = [["good", "film"], ["plot"], ["good", "plot"], []] * 6
        rows = brim.Dataset.from_texts(texts, tokenizer, labels=labels, task="multi_label")
        self.assertEqual((rows.labels.task, rows.labels.names), ("multi_label", ["film", "good", "plot"]))
        self.assertEqual(rows[0]["labels"], [1.0, 1.0, 0.0])
        batch = next(iter(rows.batches(batch_size=5)))
        self.assertEqual(batch.ragged()["labels"].shape, (5, 3))
        model = brim.train(MODEL, rows, epochs=30, lr=3e-3, batch_size=8).model
        self.assertEqual(set(model.predict(["good film"])[0].label), {"good", "film"})
        self.assertIn("f1_micro", model.evaluate(rows))

    def test_wrong_use(self):
        with self.assertRaises(TypeError) as caught:
            brim.train(MODEL, TRAIN, learning=3)
        self.assertIn("learning", str(caught.exception))
        with self.assertRaises(brim.errors.UsageError):
            brim.train(MODEL, TRAIN, lr=float("nan"))
        with self.assertRaises(brim.errors.FileError):
            brim.train("/nowhere", TRAIN)
        with self.assertRaises(ValueError):
            brim.train(MODEL, brim.Dataset.from_texts(["a"], brim.Tokenizer(MODEL)))

    def test_numbers_out_of_range(self):
        """What the program refuses, with the same least and most: 0 does not mean that nothing is given."""
        for name, (least, most) in brim.keywords.RANGES.items():
            whole = isinstance(least, int) and name not in ("epochs", "weight_decay")
            for value in (least - 1 if whole else least / 2 - 1e-9, most * 2 + 1):
                if name == "max_steps" and value == 0 or name == "memory_limit":
                    continue
                with self.assertRaisesRegex((brim.errors.UsageError, TypeError), f"{name}|reinitialised", msg=(name, value)):
                    brim.train(MODEL, TRAIN, **{name: int(value) if whole else value})
        with self.assertRaisesRegex(brim.errors.UsageError, "memory_limit is 0"):
            brim.train(MODEL, TRAIN, memory_limit=0)
        model = brim.Model(MODEL, untrained=True)
        for name in ("batch_size", "max_tokens", "max_length"):
            for value in (0, -1):
                for use in (model.predict, model.logits, model.embed, lambda rows, **how: model.evaluate([(row, "LABEL_0") for row in rows], **how),
                            lambda rows, **how: model.evaluate_similarity([("a", "b", 1)], **how),
                            lambda rows, **how: model.evaluate_retrieval({"a": "b"}, {"c": "d"}, {"c": ["a"]}, **how)):
                    with self.assertRaisesRegex(brim.errors.UsageError, name):
                        use(["good"], **{name: value})

    def test_options_without_effect(self):
        """What the program refuses without its partner, and what has no effect on rows that are encoded."""
        for how in ({"swa_every": 2}, {"tail": "fill"}, {"oversize": "alone"}, {"read_ahead": 4}, {"pad_to_multiple_of": 8}, {"min_delta": 0.5, "eval": TEST},
                    {"resume_anyway": True}, {"loss_scale": 2}):
            with self.assertRaisesRegex(brim.errors.UsageError, f"{next(iter(how))} has no effect without"):
                brim.train(MODEL, TRAIN, **how)
        brim.train(MODEL, TRAIN, max_steps=1, tail="resplit", oversize="error", pad_to_multiple_of=8, padding="longest", swa_every=2, swa_start=0.5)
        brim.compare(MODEL, TRAIN, max_steps=1, modes=["fixed"], pad_to_multiple_of=8)
        rows = brim.Dataset.from_csv(TRAIN, brim.Tokenizer(MODEL))
        for how in ({"windows": 2, "max_length": 8}, {"truncation_side": "left"}, {"min_chars": 3}, {"where": {"label": "1"}}, {"cache": HERE / "cached"}):
            with self.assertRaisesRegex(brim.errors.UsageError, f"{next(iter(how))}: the rows are encoded already"):
                brim.train(MODEL, rows, **how)
        brim.train(MODEL, rows, max_steps=1, skip_damaged=False, min_chars=0, where={})
        in_memory = [{"text": "good", "label": "pos"}, {"text": "bad", "label": "neg"}]
        brim.train(MODEL, in_memory, max_steps=1, skip_damaged=False, format="auto")
        for how in ({"format": "csv"}, {"skip_damaged": True}, {"quote": "none"}, {"max_record": 9}, {"cache": HERE / "cached"}, {"delimiter": ";"}, {"header": False}):
            with self.assertRaisesRegex(TypeError, f"{next(iter(how))} is for files"):
                brim.train(MODEL, in_memory, **how)
            with self.assertRaisesRegex(brim.errors.UsageError, f"{next(iter(how))} is for files"):
                brim.Dataset.of(in_memory, brim.Tokenizer(MODEL), **how)
        with self.assertRaisesRegex(brim.Error, "fp16 needs a device"):  # the way says that
            brim.compare(MODEL, TRAIN, max_steps=1, modes=[("brim", {"precision": "fp16"})], loss_scale=2)
        several = brim.Dataset.from_texts([["a", "b"]] * 4, brim.Tokenizer(MODEL))
        for how in ({"prompts": "a: "}, {"teacher_column": "a"}):
            with self.assertRaisesRegex(brim.errors.UsageError, f"{next(iter(how))}: the rows are encoded already"):
                brim.train(MODEL, several, task="embedding", **how)


class Models(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trained = HERE / "run"
        brim.train(MODEL, TRAIN, output=cls.trained, epochs=3, lr=2e-3, batch_size=8)
        cls.model = brim.Model(cls.trained)

    def test_predict(self):
        texts = [line.split(",")[0] for line in TEST.read_text().splitlines()[1:]]
        out = self.model.predict(texts)
        self.assertEqual(len(out), len(texts))
        self.assertTrue(all(abs(sum(p.scores.values()) - 1) < 1e-9 and p.label in (0, 1) for p in out))
        again = self.model.logits(texts, batching="sequential", padding="longest", batch_size=3).tolist()
        for a, b in zip(self.model.logits(texts).tolist(), again):
            self.assertLess(max(abs(x - y) for x, y in zip(a, b)), 1e-5)
        self.assertEqual(self.model.logits(TEST).tolist(), self.model.logits(texts).tolist())

    def test_int8(self):
        texts = [line.split(",")[0] for line in TEST.read_text().splitlines()[1:]]
        wide, narrow = self.model.logits(texts).tolist(), self.model.logits(texts, precision="int8").tolist()
        apart = max(abs(x - y) for a, b in zip(wide, narrow) for x, y in zip(a, b))
        self.assertTrue(0 < apart < 0.2, apart)
        self.assertEqual(self.model.logits(texts, precision="int8", batch_size=3).tolist(), narrow)
        self.assertEqual(self.model.logits(texts).tolist(), wide)
        self.assertAlmostEqual(self.model.evaluate(TEST, precision="int8")["loss"], self.model.evaluate(TEST)["loss"], 1)
        self.assertEqual(len(self.model.predict(texts, precision="int8")), len(texts))
        with self.assertRaisesRegex(ValueError, "precision"):
            self.model.logits(texts, precision="int4")

    def test_evaluate(self):
        found = self.model.evaluate(TEST)
        self.assertEqual(found["rows"], 24)
        self.assertTrue(0 <= found["accuracy"] <= 1)
        self.assertNotIn("rmse", found)
        rows = brim.Dataset.from_csv(TEST, self.model.tokenizer, labels=self.model.labels)
        self.assertEqual(self.model.evaluate(rows)["loss"], found["loss"])

    def test_save_and_load(self):
        self.model.save(HERE / "copy")
        again = brim.Model(HERE / "copy")
        self.assertEqual(again.logits(["a good film"]).tolist(), self.model.logits(["a good film"]).tolist())
        self.assertEqual(again.labels.names, ["0", "1"])

    def test_weights_in_place(self):
        model = brim.Model(self.trained)
        before = model.logits(["a good film"]).tolist()
        bias = memoryview(model.parameters()["classifier.bias"])
        bias[0] += 1.0
        model.written()
        after = model.logits(["a good film"]).tolist()
        self.assertAlmostEqual(after[0][0], before[0][0] + 1, 5)

    def test_weights_while_they_are_trained(self):
        """Rows without a gradient wait for their weight decay: not when somebody asks for them."""
        model = brim.Model(MODEL, labels=["0", "1"])
        [name] = [n for n in model.parameters() if n.endswith("word_embeddings.weight")]
        held, seen = model.parameters()[name], []

        def listen(kind, fields):
            if kind == "step":
                seen.append(model.parameters()[name].tolist())
                model.written()

        brim.train(model, TRAIN, on_event=listen, max_steps=6, lr=1e-2, weight_decay=0.5, schedule="constant", batch_size=2)
        self.assertEqual(len(seen), 6)
        for before, after in zip(seen, seen[1:]):
            self.assertTrue(all(a != b for a, b in zip(before, after)))
        self.assertEqual(held.tolist(), seen[-1])
        self.assertEqual(model.parameters()[name].tolist(), seen[-1])

    def test_nobody_writes_while_steps_are_computed(self):
        model, begun, done, refused = brim.Model(MODEL, labels=["0", "1"]), threading.Event(), threading.Event(), []

        def write():
            begun.wait()
            while not refused and not done.is_set():
                try:
                    model.written()
                except RuntimeError as error:
                    refused.append(str(error))

        def listen(kind, fields):
            begun.set()
            return brim.STOP if refused else None

        writer = threading.Thread(target=write)
        writer.start()
        try:
            with self.assertRaises(brim.errors.Cancelled):  # at the end of all steps it would not be
                brim.train(model, TRAIN, on_event=listen, max_steps=2000)
        finally:
            done.set()
            writer.join()
        self.assertEqual(refused, ["this object is in use, by another thread or by what called this function: it serves one at a time"])

    def test_random_heads_are_refused(self):
        """As `brim predict` does: the answers of a head that nobody trained are none."""
        texts = ["a good film"]
        for options in ({}, {"labels": ["a", "b"]}):
            model = brim.Model(MODEL, **options)
            for ask in (model.predict, model.logits):
                with self.assertRaisesRegex(brim.errors.MismatchError, "has no classifier.weight: it is not fine-tuned yet"):
                    ask(texts)
            with self.assertRaisesRegex(brim.errors.MismatchError, "not fine-tuned"):
                model.evaluate(TEST)
        self.assertEqual(len(brim.Model(MODEL, untrained=True).predict(texts)), 1)
        model = brim.Model(MODEL, labels=["0", "1"])
        self.assertIs(brim.train(model, TRAIN, max_steps=1).model, model)
        self.assertEqual(len(model.predict(texts)), 1)

    def test_numbers_that_are_none(self):
        """A damaged weight gives an error, not a class."""
        for number in (math.nan, math.inf):
            broken = HERE / "broken"
            shutil.copytree(self.trained, broken, dirs_exist_ok=True)
            model = brim.Model(broken)
            memoryview(model.parameters()["bert.encoder.layer.1.output.dense.weight"])[0, 0] = number
            model.written()
            for ask in (model.predict, model.logits, lambda t: model.predict(t, precision="int8"), lambda t: model.evaluate(TEST)):
                with self.assertRaisesRegex(brim.errors.DivergedError, "row 0: the model's output is not a finite number"):
                    ask(["a good film"])

    def test_one_thread_at_a_time(self):
        refused = []

        def listen(kind, fields):
            if kind == "step":
                try:
                    self.model.logits(["a"])
                except RuntimeError as error:
                    refused.append(str(error))
                return brim.STOP

        with self.assertRaises(brim.errors.Cancelled):
            brim.train(self.model, TRAIN, on_event=listen)
        self.assertEqual(len(refused), 1)


if __name__ == "__main__":
    case.main()
