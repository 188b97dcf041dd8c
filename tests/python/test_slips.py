"""Arguments in other shapes than the first that one thinks of: taken for what they mean, or refused with a line that says what to give."""
import contextlib
import fractions
import logging
import shutil
import tempfile
import unittest
import warnings

import brim
import case
import swept

HERE = case.folder()
MODEL, TRAIN = str(HERE / "model"), str(HERE / "data" / "train.csv")
ROWS = [("a good film", 1), ("a bad film", 0), ("great fun", 1), ("dull", 0)] * 2
TEXTS = [text for text, _ in ROWS]
COLUMNS = {"text": TEXTS, "label": [label for _, label in ROWS]}


def train(*given, **options):
    return brim.train(MODEL, *(given or [ROWS]), **{"max_steps": 1, "progress": False, **options})


class Slips(unittest.TestCase):
    def setUp(self):
        self.enterContext(warnings.catch_warnings())
        warnings.simplefilter("ignore")

    @contextlib.contextmanager
    def refused(self, words, kind=(TypeError, ValueError)):
        with self.assertRaisesRegex(kind, words) as caught:
            yield
        self.assertTrue(swept.is_line(caught.exception), caught.exception)

    def test_best_of_a_set(self):
        """as Trainer names it, and with what there is where there is no such set"""
        sets = {"a": ROWS[:4], "a_b": ROWS[4:]}
        for given, metric in {"eval_a_accuracy": "a/accuracy", "a_b_f1": "a_b/f1", "a_b/f1": "a_b/f1", "eval_accuracy": "accuracy", "eval_a_f1": "a/f1"}.items():
            with self.subTest(given):
                self.assertIn(f"best {metric} ", repr(train(eval=sets, metric_for_best_model=given)))
        self.assertIn("best a/loss ", repr(train(eval=sets, metric_for_best_model="eval_a_loss", greater_is_better=False)))
        with self.refused("greater_is_better=True: of loss the least is best"):
            train(eval=sets, metric_for_best_model="eval_a_loss", greater_is_better=True)
        for given in ("eval_c_accuracy", "c/accuracy"):
            with self.refused(r'of the set "c", and there is none of this name: the sets are a, a_b, so that it may be "a/accuracy"'):
                train(eval=sets, best_metric=given)
        own = {"compute_metrics": lambda predictions: {"c_accuracy": 0.5}, "best_metric": "c_accuracy"}
        self.assertIn("best c_accuracy 0.5 ", repr(train(eval=sets, **own)))

    def test_numbers(self):
        """a number where the command takes one"""
        texts = [*TEXTS]
        want = case.weights(train(texts, task="mlm", mask_rate="0.5").model)
        for given in (0.5, fractions.Fraction(1, 2)):
            self.assertEqual(case.weights(train(texts, task="mlm", mask_rate=given).model), want)
        for wrong in (True, 0, 1.5):
            with self.refused("mask_rate"):
                train(texts, task="mlm", mask_rate=wrong)
        pairs = [{"anchor": one, "positive": other} for one, other in zip(TEXTS[:4], TEXTS[1:5])]
        embed = lambda **given: case.weights(train(pairs, task="embedding", **given).model)
        self.assertEqual(embed(matryoshka=8, matryoshka_weights=0.5), embed(matryoshka="8", matryoshka_weights="0.5"))
        self.assertEqual(swept.shown(train(eval=0.25).evaluations), swept.shown(train(eval="25%").evaluations))
        for wrong in (0, 2.5):
            with self.refused("eval=.*: rows, or a share of them"):
                train(eval=wrong)

    def test_order(self):
        with self.refused("train.csv is a file of rows: the model is first, brim.train"):
            brim.train(TRAIN, MODEL)
        for call in (brim.analyze, brim.Dataset.of):
            with self.refused("train.csv is a file of rows, and a tokenizer is needed here"):
                call(MODEL, TRAIN)

    def test_twice(self):
        for given, line in (({"train_dataset": ROWS}, "the rows and train_dataset say the same"), ({"processing_class": MODEL, "tokenizer": MODEL}, "tokenizer and processing_class say the same")):
            with self.refused(line):
                train(**given)
        self.assertEqual(brim.train(MODEL, train_dataset=ROWS, processing_class=MODEL, max_steps=1, progress=False).steps, 1)

    def test_classes_of_callbacks(self):
        heard = []

        class Hears:
            def __call__(self, kind, fields):
                heard.append(kind)

        class Needs(Hears):
            def __init__(self, name):
                self.name = name

        class EarlyStoppingCallback:
            def on_step_end(self, *given):
                pass

        for given in ({"callbacks": Hears}, {"callbacks": [Hears]}, {"on_event": Hears}, {"report_to": [Hears]}):
            with self.subTest(given):
                heard.clear()
                train(**given)
                self.assertIn("step", heard)
        with self.refused("callbacks: Needs is a class, and no object of it can be made without arguments: give one"):
            train(callbacks=Needs)
        for given in (EarlyStoppingCallback, EarlyStoppingCallback()):
            with self.refused("a callback is a function of a kind and fields, not .*; patience=3 stops as it does"):
                train(callbacks=[given])

    def test_asked_in_vain(self):
        """once, of a request that has no effect"""
        for ask, line in ((brim.EVALUATE, "there is no evaluation set: give eval"), (brim.SAVE, "nothing is written: give output")):
            with self.subTest(line), self.assertLogs("brim", logging.WARNING) as told:
                train(callbacks=lambda kind, fields, ask=ask: ask, max_steps=3)
                self.assertEqual([line in one for one in told.output].count(True), 1, told.output)
        with self.assertNoLogs("brim", logging.WARNING):
            result = train(ROWS[:4], eval=ROWS[4:], callbacks=lambda kind, fields: brim.EVALUATE if kind == "step" else None, max_steps=3, eval_strategy="no")
        self.assertEqual(len(result.evaluations), 3)

    def test_sets(self):
        """where one set of rows is needed"""
        model = train().model
        for data in ({"train": ROWS, "test": ROWS}, {"train": [dict(zip(("text", "label"), row)) for row in ROWS], "test": ROWS}):
            for call in (model.evaluate, model.predict, model.logits, lambda data: brim.analyze(data, MODEL), lambda data: brim.Dataset.of(data, MODEL)):
                with self.refused(r"the rows are the sets 'train', 'test': give one of them, such as data\['test'\]"):
                    call(data)
        datasets = case.module("datasets")
        splits = datasets.DatasetDict({"one": datasets.Dataset.from_dict(COLUMNS)})
        for call in (model.evaluate, model.predict, lambda data: brim.Dataset.from_arrow(data, MODEL)):
            with self.refused(r"such as data\['one'\]"):
                call(splits)

    def test_columns_of_predictions(self):
        model, rows = train().model, {"review": TEXTS, "label": COLUMNS["label"]}
        for call in (model.evaluate, model.predict, model.logits):
            with self.refused('there is no option "columns"; did you mean text_column, or pair_column'):
                call(rows, columns="review")
            with self.refused('there is no option "batchsize"; did you mean batch_size'):
                call(rows, text_column="review", batchsize=4)
        self.assertEqual(model.evaluate(rows, text_column="review")["rows"], len(ROWS))

    def test_parts_of_a_table(self):
        """batches, slices and chunks, in a list or one after the other, are the table"""
        pyarrow, polars, pandas, datasets = map(case.module, ("pyarrow", "polars", "pandas", "datasets"))
        table, frame = pyarrow.table(COLUMNS), polars.DataFrame(COLUMNS)
        parts = {"batches": table.to_batches(max_chunksize=3), "tables": [table.slice(0, 5), table.slice(5)], "slices": [*frame.iter_slices(3)],
                 "chunks": [frame.to_pandas()[:3], frame.to_pandas()[3:]], "sets": [datasets.Dataset(table.slice(0, 5)), datasets.Dataset(table.slice(5))]}
        model, tokenizer = train().model, brim.Tokenizer(MODEL)
        want, evaluated = brim.Dataset.of(table, tokenizer), model.evaluate(table)
        for name, given in parts.items():
            with self.subTest(name):
                for data in (given, iter(given)):
                    rows = brim.Dataset.of(data, tokenizer)
                    self.assertEqual((rows.fingerprint, rows.labels.values), (want.fingerprint, want.labels.values))
                self.assertEqual(len(model.predict(iter(given))), len(ROWS))
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    found = model.evaluate(given)
                self.assertEqual([one.text for one in found.wrong], [one.text for one in evaluated.wrong])
        want = case.weights(train(table, batch_size=3).model)
        for data in (parts["batches"], iter(parts["slices"]), {"train": parts["chunks"]}):
            self.assertEqual(case.weights(train(data, batch_size=3).model), want)
        for wrong, line in (([table, frame], "not all of it are parts of such a table"), ([table, ROWS[0]], "not all of it are parts"),
                            ([frame, polars.DataFrame({"other": [1]})], "2 tables that do not go together")):
            with self.refused(line):
                brim.Dataset.of(wrong, tokenizer)

    def test_rows_by_number(self):
        """as torch's Dataset has them; without a length there is no end"""
        class Rows:
            def __getitem__(self, number):
                return ROWS[number]

        class Counted(Rows):
            def __len__(self):
                return len(ROWS)

        self.assertEqual(len(brim.Dataset.of(Counted(), MODEL)), len(ROWS))
        with self.refused("rows is a Rows, which has no length: give a list of them"):
            brim.Dataset.of(Rows(), MODEL)
        loader = type("DataLoader", (), {"dataset": ROWS, "__iter__": lambda self: iter([ROWS])})()
        with self.refused("DataLoader gives batches, and rows are needed here: give its dataset"):
            brim.Dataset.of(loader, MODEL)

    def test_names_of_options(self):
        """what the library says of files names arguments of Python, with what they may be"""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for text, line, given in (("review,label\na,b\n", 'text_column="NAME"', {}), ("text,kind\na,b\n", 'label_column="NAME"', {}), ("text;label\na;b\n", "delimiter=';'", {}),
                                  ('"text"\t"label"\na\tb\n', 'quote="csv" reads them', {"format": "tsv"})):
            with open(f"{folder}/rows.csv", "w", encoding="utf-8") as file:
                file.write(text)
            with self.subTest(text), self.assertRaises(brim.Error) as caught:
                brim.Dataset.from_files(f"{folder}/rows.csv", MODEL, **given)
            self.assertIn(line, str(caught.exception))
            self.assertNotIn("--", str(caught.exception))
        with open(f"{folder}/words.conll", "w", encoding="utf-8") as file:
            file.write("1 a O\n2 film B-X\n\n")
        with self.assertRaisesRegex(brim.Error, r"such as text_column=1, label_column=3 \("):
            brim.Dataset.from_files(f"{folder}/words.conll", MODEL, task="tokens")

    def test_labels(self):
        """a loop gives the values; of labels that are called otherwise a folder keeps the names, and a line says how to load it"""
        model = train(labels={0: "bad", 1: "good"}).model
        self.assertEqual((list(model.labels), list(brim.Labels([3, 1])), list(brim.Labels(None))), (["bad", "good"], [3, 1], []))
        folder = self.enterContext(tempfile.TemporaryDirectory())
        model.save(f"{folder}/saved")
        again = brim.Model(f"{folder}/saved")
        with self.refused(r"row 0: label \"1\" is not among .*; if the numbers are theirs, brim.Model\(.*saved', labels=\{0: 'bad', 1: 'good'\}\) says so"):
            again.evaluate(ROWS)
        wanted = swept.shown(model.evaluate(ROWS))
        self.assertEqual(swept.shown(brim.Model(f"{folder}/saved", labels={0: "bad", 1: "good"}).evaluate(ROWS)), wanted)
        self.assertEqual(swept.shown(again.evaluate([(text, ["bad", "good"][label]) for text, label in ROWS])), wanted)
        with self.assertRaises(brim.errors.MismatchError) as caught:
            again.evaluate([("a", "2")])
        self.assertNotIn("says so", str(caught.exception))

    def test_where_it_began(self):
        """the weights that a training began with stay, as those of brim.train(output=) do"""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        shutil.copytree(MODEL, f"{folder}/base")
        before = (HERE / "model" / "model.safetensors").read_bytes()
        model = brim.train(f"{folder}/base", ROWS, max_steps=1, progress=False).model
        with self.refused("base has the weights that the training began with, which would be replaced: name another folder"):
            model.save(f"{folder}/base")
        with open(f"{folder}/base/model.safetensors", "rb") as file:
            self.assertEqual(file.read(), before)
        model.save(f"{folder}/other")
        brim.Model(f"{folder}/other").save(f"{folder}/other")  # as it was


if __name__ == "__main__":
    case.main()
