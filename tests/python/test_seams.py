"""Where Python meets a run that is under way: what functions that it calls do to the folder of the process, the rows, the model, the stream."""
import contextlib
import gc
import os
import pathlib
import pickle
import tempfile
import unittest
import warnings

import brim
import case
from case import weights

HERE = case.folder()
MODEL, DATA = HERE / "model", HERE / "data"
ROWS = [("a good film", "pos"), ("a bad film", "neg"), ("great fun", "pos"), ("dull and slow", "neg")] * 3
HOW = {"max_steps": 4, "batch_size": 4, "progress": False}


class Seams(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        self.place = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_values_of_categories(self):
        """a regression takes the values of a column that says which there are; a model of masked words says that it is one"""
        try:
            import pandas
        except ImportError:
            self.skipTest("without pandas")
        texts = [text for text, _ in ROWS]
        plain = {"text": texts, "label": [1.5, 2.5] * 6}
        of = lambda data: brim.Dataset.of(data, brim.Tokenizer(MODEL), labelled=True, task="regression")
        self.assertEqual([of(data).row(1)["label"] for data in (pandas.DataFrame(plain), pandas.DataFrame(plain).astype({"label": "category"}))], [2.5, 2.5])
        masked = brim.train(MODEL, texts, task="mlm", **HOW).model
        with self.assertRaisesRegex(brim.errors.UsageError, "the model is of masked words"):
            brim.train(masked, ROWS, **HOW)

    def test_trained_on_predictions(self):
        """what a model predicts are labels: of texts, of several labels, values, from rows and from a column"""
        texts = [text for text, _ in ROWS]
        for labels, kind in ((["pos", "neg", "pos", "neg"], "classification"), ([["pos"], ["neg", "new"], ["pos"], ["neg"]], "multi_label"), ([1.5, 0.25, 1.0, 0.5], "regression"),
                             ([7, 9, 7, 9], "classification")):
            model = brim.train(MODEL, list(zip(texts[:4], labels)), task=kind, max_steps=20, lr=1e-2, progress=False).model
            said = model.predict(texts)
            found = [brim.Dataset.of(data, model.tokenizer, labelled=True, task=kind) for data in
                     (list(zip(texts, said)), {"text": texts, "label": said}, list(zip(texts, [one.label for one in said])))]
            self.assertEqual([one.labels.values for one in found], [found[-1].labels.values] * 3)
            self.assertEqual([[one.row(i)["label"] for i in range(len(one))] if kind != "multi_label" else None for one in found[:2]],
                             [[found[-1].row(i)["label"] for i in range(len(texts))] if kind != "multi_label" else None] * 2)

    def test_folder_of_the_process(self):
        """a run works where it began, also where a function that it calls goes elsewhere"""
        self.enterContext(contextlib.chdir(HERE))
        seen = []

        def leave(kind, fields):
            seen.append(os.getcwd())
            if kind == "step" and fields["step"] == 1:
                os.chdir(self.place)

        for number, how in enumerate(({"epochs": 2, "save_every": 3}, {"stream": True, "max_steps": 20, "save_every": 5, "shuffle_window": 20}, {"folds": 2, "max_steps": 2},
                                      {"max_steps": 2, "report_to": "csv", "profile": True, "compute_metrics": lambda made: leave("metric", {}) or {"m": 1.0}})):
            os.chdir(HERE)
            output, seen[:] = f"seams-{number}", []
            evals = {} if "folds" in how else {"eval": "data/test.csv"}
            result = brim.train("model", "data/train.csv", output=output, on_event=leave, progress=False, **evals, **how)
            self.assertEqual((os.getcwd(), seen[-1], os.listdir(self.place)), (str(self.place.resolve()),) * 2 + ([],))
            wanted = "folds.json" if "folds" in how else "model.safetensors"
            self.assertTrue((HERE / output / wanted).exists())
            self.assertEqual((HERE / output / "log.csv").exists(), how.get("report_to") == "csv")
            if evals:
                self.assertTrue(all(row.text for row in result.judged["eval"].wrong))
                result.page(self.place / "page.html")
                self.assertIn(output, (self.place / "page.html").read_text())
                os.remove(self.place / "page.html")
        os.chdir(gone := tempfile.mkdtemp())
        brim.train(MODEL, ROWS, on_event=lambda kind, fields: os.path.exists(gone) and os.rmdir(gone), **HOW)
        os.chdir(HERE)
        stream, model, tokenizer = brim.data.stream("data/train.csv", brim.Tokenizer("model"), max_length=20, epochs=1), brim.Model("model", untrained=True), brim.Tokenizer("model")
        passes = [[batch.rows.tolist() for batch in stream]]
        os.chdir(self.place)
        passes.append([batch.rows.tolist() for batch in stream])
        self.assertEqual(passes[0], passes[1])
        self.assertEqual((model.embed("good").shape, tokenizer.uses_type_ids), ((1, 32), True))

    def test_rows_that_change(self):
        """rows were read when the training began; its texts are theirs"""
        want = weights(brim.train(MODEL, ROWS, **HOW).model)
        for held in (list(ROWS), {"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]}):
            rows = list(ROWS)

            def change(kind, fields):
                rows[:] = [("other", "pos")]
                for one in (held, *held.values()) if isinstance(held, dict) else (held,):
                    one.clear()

            result = brim.train(MODEL, rows, eval=held if isinstance(held, list) else dict(held), on_event=change, **HOW)
            self.assertEqual(weights(result.model), want)
            self.assertTrue(all(row.text in dict(ROWS) for row in result.judged["eval"].wrong))

    def test_what_is_said_is_kept(self):
        """what a function does to the fields that it is given is its own matter"""
        result = brim.train(MODEL, ROWS, eval=ROWS, on_event=lambda kind, fields: fields.clear(), **HOW)
        self.assertEqual((len(result.losses), len(result.evaluations), "loss" in result.evaluations[-1]), (4, 2, True))

    def test_model_in_use(self):
        """what a function asks of the model that is trained is refused or does no harm"""
        want = weights(brim.train(MODEL, ROWS, **HOW).model)
        asks = (lambda model: model.predict("good"), lambda model: model.evaluate(ROWS), lambda model: model.save(self.place / "saved"), pickle.dumps,
                lambda model: brim.train(model, ROWS, **HOW), lambda model: model.embed("good"))
        for ask in asks:
            model, refused = brim.Model(MODEL, labels=["neg", "pos"]), []

            def call(kind, fields):
                with self.assertRaisesRegex((RuntimeError, brim.Error), "in use|not fine-tuned|gives") as caught:
                    ask(model)
                refused.append(caught.exception)

            self.assertEqual(weights(brim.train(model, ROWS, on_event=call, **HOW).model), want)
            self.assertTrue(refused)
        brim.train(model, ROWS, on_event=lambda kind, fields: (gc.collect(), model.parameters()), **HOW)

    def test_stream_in_use(self):
        tokenizer = brim.Tokenizer(MODEL)
        made = lambda: brim.data.stream(DATA / "train.csv", tokenizer, max_length=20, labels=["0", "1"], batch_size=4)
        want = brim.train(MODEL, made(), max_steps=4, progress=False).losses
        for ask in (lambda one: one.close(), lambda one: next(iter(one)), lambda one: one.state_dict(), lambda one: one.ledger(), pickle.dumps):
            stream, refused = made(), []

            def call(kind, fields):
                with self.assertRaisesRegex(RuntimeError, "in use"):
                    ask(stream)
                refused.append(kind)

            self.assertEqual(brim.train(MODEL, stream, max_steps=4, progress=False, on_event=call).losses, want)
            self.assertEqual((len(next(iter(stream))), "step" in refused), (4, True))
            stream.close()


if __name__ == "__main__":
    case.main()
