"""Rows that were encoded before they are trained on, Datasets and streams: what says how rows become ids, or what is learnt of them, is as it is for the rows themselves, or is refused."""
import copy
import importlib
import json
import pickle
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


def places(state, at=()):
    """Every place in it."""
    yield at
    for key in state if isinstance(state, dict) else range(len(state)) if isinstance(state, list) else ():
        yield from places(state[key], at + (key,))


def at(state, place):
    """What is there."""
    for key in place:
        state = state[key]
    return state


def put(state, place, value):
    """The same with another value there."""
    if not place:
        return value
    made = copy.deepcopy(state)
    inner = made
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return made


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
                            self.assertNotEqual(task, TASKS[rows] if TASKS[rows] != "auto" else {"pairs": "classification"}.get(rows, rows), found.error)
                            self.assertTrue(swept.is_line(found.error), found.error)

    def test_labels(self):
        """the classes are those that were asked for, in their order"""
        for kind in KINDS:
            for rows in ("classification", "pairs", "multi_label", "tokens"):
                own = ["B-X", "O"] if rows == "tokens" else ["n", "p"]
                for names in (own, own[::-1], ["x", "y"], own + ["more"]):
                    found = swept.outcome(lambda: Training(rows, kind)(labels=names, max_steps=1)[0].model.labels.names)
                    with self.subTest(kind, rows=rows, names=names):
                        if rows == "multi_label" and kind in ("file", "stream"):  # names alone are of classes, where nothing is read before
                            self.assertRegex(str(found.error), "the label is a list, but classification has one class a row: lists are for the task multi-label")
                            continue
                        self.assertTrue(found.value == names or names is not own and swept.is_line(found.error) and re.search("label", str(found.error)), found)

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
                            self.assertNotEqual(length, 24, found.error)
                            self.assertTrue(swept.is_line(found.error), found.error)
                            self.assertRegex(str(found.error), "max_length")
        pairs = [(one["text"], one["other"], one["label"]) for one in rows_of("classification")]
        short, made = trained(pairs, max_length=12), trained(brim.Dataset.of(pairs, TOKENIZER, labelled=True, max_length=12))
        self.assertEqual(case.weights(short.model), case.weights(made.model))
        held = trained(pairs, max_length=12, eval=brim.Dataset.of(pairs, TOKENIZER, labelled=True))
        self.assertRegex(held, "^eval: max_length is 12, and the rows, which are encoded already")

    def test_masked_words(self):
        """a Dataset says what it lacks, and what it is for; whole words are what a stream numbers"""
        texts, wanted = [one["text"] for one in rows_of("mlm")], 'Dataset.of(.., numbering="tokens")'
        of = lambda rows, **how: brim.Dataset.of(rows, TOKENIZER, **how)
        for rows in (of(texts), of(list(zip(texts, "ab" * 9))), of(list(zip(texts, [0.5, 1.5] * 9)), labelled=True)):
            self.assertIn(wanted, trained(rows, task="mlm"))
            self.assertIn(wanted, trained(texts, task="mlm", eval=rows))
            with self.assertRaisesRegex(brim.Error, "numbering"):
                list(brim.train_events(MODEL, rows, task="mlm", max_steps=1, progress=False))
        self.assertIn('which task="mlm" trains with', trained(of(texts, numbering="tokens")))
        path = HERE / "masks.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        opened = lambda numbering: brim.data.stream(path, TOKENIZER, batch_size=5, max_length=9, numbering=numbering)
        self.assertIn('give task="mlm"', trained(opened("tokens")))
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

    def test_conditions(self):
        """where chooses rows of files, and none of a Dataset that is given with them: refused, whichever of the sets is one"""
        rows, path = rows_of("classification"), HERE / "conditions.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        encoded, where = brim.Dataset.of(rows, TOKENIZER, labelled=True), {"split": "a"}
        line = "where: the rows are encoded already (a Dataset), so that it has no effect: give it where the Dataset is made"
        for data, how, name in ((encoded, {}, ""), (encoded, {"eval": path}, ""), (encoded, {"folds": 2, "test": path}, ""), (path, {"eval": encoded}, "eval: "), (path, {"eval": {"a": path, "b": encoded}}, "b: "),
                                (path, {"folds": 2, "test": encoded}, "test: "), (path, {"stream": True, "eval": encoded}, "eval: ")):
            with self.subTest(name, **how):
                self.assertEqual(trained(data, where=where, labels=None if data is encoded else ["n", "p"], **how), name + line)
                self.assertNotIsInstance(trained(data, where={}, **how), str)
        self.assertRaisesRegex(brim.Error, "^where: the rows are encoded already", brim.compare, MODEL, encoded, eval=path, where=where, max_steps=1, progress=False)
        for option, value in (("where", where), ("min_chars", 100), ("windows", 0), ("missing_label", "skip"), ("header", False), ("truncation", "only_first")):
            self.assertRaisesRegex(brim.Error, f"^{option}: the rows are encoded already", brim.Dataset.of, encoded, TOKENIZER, **{option: value})
        self.assertIs(brim.Dataset.of(encoded, TOKENIZER, max_length=24, where={}, min_chars=0, missing_label="error"), encoded)

    def test_labels_that_pass_once(self):
        """classes by an iterator, of whatever kind, are those of a list"""
        rows, path = rows_of("classification"), HERE / "once.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        hot, names = [(row["text"], [1.0, float(at % 2)]) for at, row in enumerate(rows)], ["n", "p"]
        of_run = lambda data, **how: lambda labels: trained(data, labels=labels, **how).model.labels.names
        calls = {"rows": of_run(rows), "evaluated": of_run(rows, eval=path), "a file": of_run(path), "a stream": of_run(path, stream=True), "lists": of_run(hot), "encoded": of_run(brim.Dataset.of(rows, TOKENIZER, labelled=True)),
                 "folds": lambda labels: len(trained(rows, labels=labels, folds=2).folds), "ways": lambda labels: len(brim.compare(MODEL, rows, labels=labels, modes=["brim"], max_steps=1, progress=False)),
                 "a model": lambda labels: (lambda model: [model.labels.names, model.labels.values])(brim.Model(MODEL, labels=labels)), "values": lambda labels: brim.Labels(names, values=labels).values,
                 "texts": lambda labels: brim.Dataset.from_texts(["a", "b"], TOKENIZER, labels=[[1.0, 0.0], [0.0, 1.0]], mapping=labels).labels.names, "a table": lambda labels: brim.Dataset.of(rows, TOKENIZER, labels=labels).labels.names,
                 "ids": lambda labels: brim.Dataset.from_ids([[2, 7, 3], [2, 3]], labels=labels and (names.index(one) for one in labels)).row(1)["label"]}
        for name, call in calls.items():
            listed = call(names)
            for once in (iter(names), (one for one in names), map(str, names)):
                with self.subTest(name, kind=type(once).__name__):
                    self.assertEqual(call(once), listed)

    def test_batches_are_no_rows(self):
        """a stream, and what else gives batches, is not evaluated, predicted, embedded or analyzed"""
        path, rows = HERE / "unasked.jsonl", rows_of("classification")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        model, encoded = brim.train(MODEL, rows, max_steps=1, progress=False).model, brim.Dataset.of(rows, TOKENIZER)
        for data in (brim.data.stream(path, TOKENIZER, labels=["n", "p"]), encoded.batches(), encoded.batches().plan(0), next(iter(encoded.batches()))):
            for ask in (model.predict, model.logits, model.evaluate, lambda data: brim.analyze(data, TOKENIZER), lambda data: brim.Dataset.of(data, TOKENIZER),
                        lambda data: brim.train(MODEL, rows, eval=data, max_steps=1), lambda data: brim.train(MODEL, rows, folds=2, test=data, max_steps=1)):
                self.assertRaisesRegex(brim.Error, "gives batches .*rows are needed here|gives batches, and rows are needed here", ask, data)
            self.assertRaisesRegex(brim.Error, f"texts is a {type(data).__name__}: give a list", model.embed, data)
        self.assertRaisesRegex(brim.Error, "texts is a Dataset: give a list", model.embed, encoded)

    def test_several_texts(self):
        """rows of embeddings say their columns, and rows of one text are none"""
        of = lambda rows, **how: brim.Dataset.of(rows, TOKENIZER, **how)
        pairs = [{"anchor": "a good film", "positive": "a plot"}] * 4
        for rows in (pairs, {"anchor": ["a"], "positive": ["b"]}):
            for task in ("embedding", "rerank"):
                self.assertRaisesRegex(brim.Error, f'task="{task}" reads rows of several texts: name their columns', of, rows, task=task)
        for rows in (["a film", "b"], [("a", 0.5), ("b", 1.0)]):
            self.assertRaisesRegex(brim.Error, 'task="embedding" is of rows of several texts, and these have one each', of, rows, task="embedding")
        self.assertEqual(trained(of(pairs, task="embedding", text_columns=["anchor", "positive"], labelled=False), task="embedding").model.task, "embedding")
        self.assertEqual(trained(of([("a", "b", 1.0), ("c", "d", 0.0)], task="rerank"), task="rerank").model.task, "rerank")

    def test_states(self):
        """any value of JSON at any place of a saved state is refused, or taken, as a saved state is"""
        rows, path = brim.Dataset.of(rows_of("classification"), TOKENIZER), HERE / "states.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows_of("classification")))
        makers = [lambda: rows.batches(batch_size=4), lambda: brim.data.stream(path, TOKENIZER, batch_size=4, max_length=8)]
        try:
            importlib.import_module("brim.torch")
            makers += [lambda: brim.torch.BatchSampler([3, 4, 5, 6], batch_size=2), lambda: brim.torch.IterableDataset(rows.batches(batch_size=4)), lambda: brim.torch.DataLoader(rows.batches(batch_size=4))]
        except ImportError:
            pass
        for make in makers:
            source = make()
            next(iter(source))
            saved = json.loads(json.dumps(source.state_dict()))
            self.assertIsNone(make().load_state_dict(saved))
            for place in places(saved):
                for value in (None, -1, 2**63, 10**30, "x", "", [], {}, [1], {"a": 1}, 1.5, True):
                    with self.subTest(type(source).__name__, place=place, value=value):
                        try:
                            make().load_state_dict(put(saved, place, value))
                        except brim.Error as error:
                            self.assertNotIn("\n", str(error))
                        else:
                            self.assertTrue(type(value) is int and value >= 0 and place and type(at(saved, place)) is int or put(saved, place, value) == saved, "it was taken")
        for how in ({"world_size": 0}, {"world_size": -1}, {"rank": 1}):
            self.assertRaises(ValueError, rows.batches, batch_size=4, **how)
            self.assertRaises(ValueError, brim.Plan, [3, 4], batch_size=2, **how)

    def test_copies_are_shown(self):
        """what a notebook shows of results that were copied or pickled: their page, or their repr"""
        rows = rows_of("classification")
        train = lambda **how: brim.train(MODEL, rows, max_steps=1, progress=False, **how)
        for one in (brim.analyze(rows, TOKENIZER), train(eval=rows), train(folds=2), brim.compare(MODEL, rows, max_steps=1, progress=False, modes=["brim"]), train().model.evaluate(rows)):
            for made in (one, pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
                with self.subTest(type(one).__name__):
                    self.assertTrue((made._repr_html_() or repr(made)).startswith(("<iframe", "Analysis(")))
        self.assertTrue(brim.analyze(rows, TOKENIZER)._repr_html_())

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
