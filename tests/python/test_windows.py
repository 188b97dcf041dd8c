"""Windows of texts that are longer than max_length: in training, in what predicts, and in folders."""
import json
import pickle
import unittest

import brim
import case

HERE = case.folder()
MODEL, TRAIN, TEST = HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv"


class Windows(unittest.TestCase):
    def test_rows(self):
        """A row's texts are its windows, each with special tokens; what is beyond the last is cut and counted."""
        tokenizer = brim.Tokenizer(MODEL)
        text = "good film bad plot a good film"
        ids = tokenizer.encode(text).ids.tolist()
        rows = brim.Dataset.from_texts([text], tokenizer, max_length=5, windows=1, max_windows=2)
        self.assertEqual(rows[0]["input_ids"], [[ids[0], *ids[1:4], ids[-1]], [ids[0], *ids[3:6], ids[-1]]])
        self.assertEqual((rows.truncated, rows.lost), (1, len(ids) - 2 - 5))
        self.assertEqual(len(brim.Dataset.from_texts([text], tokenizer, max_length=5, windows=1)[0]["input_ids"]), 3)
        with self.assertRaisesRegex(ValueError, "no effect without windows"):
            brim.Dataset.from_texts([text], tokenizer, max_length=5, max_windows=2)

    def test_parts(self):
        """A row is a list of windows, also where it and all that are with it have but one."""
        rows = brim.Dataset.from_texts(["good film bad plot a good film", "bad"], MODEL, max_length=5, windows=1)
        short = rows[1]
        self.assertEqual(len(short["input_ids"]), 1)
        for part in (rows.select([1]), rows[1:], rows.filter(lambda row: len(row["input_ids"]) == 1), rows.select([1]).select([0]), pickle.loads(pickle.dumps(rows.select([1]))),
                     brim.Dataset.from_texts(["bad"], MODEL, max_length=5, windows=1)):
            self.assertEqual(part[0], short)
        several = brim.Dataset.from_texts([["a", "b"], ["c"]], MODEL)
        self.assertEqual(several.select([1])[0], several[1])
        self.assertEqual(brim.Dataset.from_texts(["bad"], MODEL)[0]["input_ids"], short["input_ids"][0])

    def test_kept(self):
        """A run's model makes the windows that it was trained with, and brim.train has those of the program."""
        options = {"max_length": 6, "max_steps": 3, "batch_size": 8, "lr": 1e-3}
        brim.train(MODEL, TRAIN, output=HERE / "run", windows=2, max_windows=3, **options)
        case.program("train", "--model", MODEL, "--train", TRAIN, "--output", HERE / "theirs", "--windows", "2", "--max-windows", "3", "--max-length", "6", "--max-steps", "3",
                     "--batch-size", "8", "--lr", "1e-3", "--quiet")
        self.assertEqual((HERE / "run" / "model.safetensors").read_bytes(), (HERE / "theirs" / "model.safetensors").read_bytes())
        model = brim.Model(HERE / "run")
        self.assertEqual((model.tokenizer.windows, brim.Tokenizer(MODEL).windows), ((2, 3), None))
        texts = ["good film bad plot a good film", "good"]
        rows = brim.Dataset.from_texts(texts, model.tokenizer, max_length=6, windows=2, max_windows=3)
        self.assertEqual(model.logits(texts).tolist(), model.logits(rows).tolist())
        cut = brim.Dataset.from_texts(texts, model.tokenizer, max_length=6)
        self.assertNotEqual(model.logits(texts).tolist()[0], model.logits(cut).tolist()[0])
        self.assertEqual(model.logits(texts).tolist()[1], model.logits(cut).tolist()[1])
        self.assertEqual(model.evaluate(TEST)["loss"], json.loads(case.program("evaluate", "--model", HERE / "run", TEST, "--json"))["loss"])

    def test_predict(self):
        """predict answers a row once, with the mean of its windows; a row alone as among others"""
        brim.train(MODEL, TRAIN, output=HERE / "run-p", windows=1, max_windows=4, max_length=5, max_steps=2, batch_size=8)
        model = brim.Model(HERE / "run-p")
        texts = ["good film bad plot a good film", "good", "bad plot"]
        found = list(model.predict(texts))
        self.assertEqual(len(found), 3)
        self.assertEqual([list(model.predict([text]))[0].label for text in texts], [one.label for one in found])

    def test_words(self):
        """each word of a long row is answered once, in the window where it has most context; streams train on the same windows"""
        rows = [(["good", "film", "bad", "plot"] * k, ["A", "O", "B", "O"] * k) for k in range(1, 9)]
        options = {"task": "tokens", "max_length": 8, "windows": 2, "max_windows": 20, "batch_size": 4, "lr": 1e-3}
        brim.train(MODEL, rows, output=HERE / "words", epochs=2, **options)
        model = brim.Model(HERE / "words")
        self.assertEqual(model.tokenizer.windows, (2, 20))
        for (words, _), answer in zip(rows, model.predict([words for words, _ in rows])):
            self.assertEqual(answer.tokens, words)
            self.assertTrue(all(label in ("A", "O", "B") for label in answer.labels))
        measured = model.evaluate(rows)
        answers = [label for row in model.predict([words for words, _ in rows]) for label in row.labels]
        right = sum(label == answer for label, answer in zip([label for _, labels in rows for label in labels], answers, strict=True))
        self.assertEqual(measured["rows"], 8)
        self.assertAlmostEqual(measured["accuracy"], right / len(answers))
        path = HERE / "words.jsonl"
        path.write_text("".join(json.dumps({"tokens": words, "ner_tags": tags}) + "\n" for words, tags in rows))
        streamed = brim.train(MODEL, path, output=HERE / "streamed", stream=True, max_steps=2, **options)
        self.assertEqual(streamed.steps, 2)

    def test_masked(self):
        """of a long text every window is a row of masked words, and a share of the texts is held out whole"""
        result = brim.train(MODEL, ["good film bad plot a good film bad plot"] * 6, task="mlm", output=HERE / "masked", max_length=6, epochs=1, batch_size=4)
        tokens = len(brim.Tokenizer(MODEL).encode("good film bad plot a good film bad plot").ids.tolist()) - 2
        self.assertEqual(result.rows, 6 * -(-tokens // 4))
        path = HERE / "masked.txt"
        path.write_text("good film bad plot a good film bad plot\n" * 6)
        few = brim.train(MODEL, path, task="mlm", output=HERE / "few", max_length=6, epochs=1, batch_size=4, max_windows=2)
        with self.assertLogs("brim", "INFO") as said:
            brim.train(MODEL, ["good film bad plot a good film bad plot"] * 6 + ["a"] * 2, task="mlm", output=None, max_length=6, max_steps=1, min_chars=2)
        self.assertTrue(any("2 of 8 rows are left out" in line for line in said.output), said.output)
        self.assertEqual(few.rows, 12)
        options = {"task": "mlm", "max_length": 6, "max_steps": 4, "batch_size": 4, "batching": "sequential", "seed": 3}
        streamed = brim.train(MODEL, path, stream=True, output=HERE / "masked-stream", **options)
        case.program("train", "--quiet", "--model", MODEL, "--train", path, "--task", "mlm", "--stream", "--output", HERE / "masked-theirs", "--max-length", "6", "--max-steps", "4",
                     "--batch-size", "4", "--batching", "sequential", "--seed", "3")
        self.assertEqual(streamed.steps, 4)
        self.assertEqual((HERE / "masked-stream" / "model.safetensors").read_bytes(), (HERE / "masked-theirs" / "model.safetensors").read_bytes())
        with self.assertRaisesRegex(ValueError, "give max_steps"):
            brim.train(MODEL, path, stream=True, task="mlm", max_length=6)

    def test_repeated(self):
        """tokens that are in two windows are counted, also where each window is a row; a stream that is pickled makes the same windows"""
        path, tokenizer = HERE / "repeated.txt", brim.Tokenizer(MODEL)
        path.write_text("".join("good film bad plot " * k + "\n" for k in range(1, 12)))
        how = {"max_length": 8, "windows": 2, "max_windows": 3}
        rows, masked = (brim.Dataset.from_files(path, tokenizer, need_label=False, numbering=numbering, **how) for numbering in (None, "tokens"))
        repeated = brim.analyze(rows).repeated
        self.assertGreater(repeated, 10)
        self.assertEqual(brim.analyze(masked).repeated, repeated)
        for numbering in (None, "words"):
            stream = brim.data.stream(path, tokenizer, epochs=1, batch_size=4, numbering=numbering, **how)
            again = pickle.loads(pickle.dumps(stream))
            seen = [[batch.ids.tolist() for batch in one] for one in (stream, again)]
            self.assertEqual(*seen)
            self.assertEqual([one.ledger()["tokens_repeated"] for one in (stream, again)], [repeated] * 2)

    def test_at_length(self):
        """what rows lose at a length is what rows lose that are encoded so"""
        texts = ["good film bad plot " * k for k in range(1, 60)]
        for more in ({"max_length": 20}, {"max_length": 16, "windows": 3, "max_windows": 5}):
            at = {one.length: one for one in brim.analyze(texts, MODEL, **more).at_length}
            self.assertTrue({more["max_length"], 128, 256} <= set(at))
            for length in (more["max_length"], 128):
                cut = brim.Dataset.from_texts(texts, brim.Tokenizer(MODEL), max_length=length)
                self.assertEqual((at[length].cut_rows, at[length].lost, at[length].computed), (cut.truncated, cut.lost, cut.tokens))
                how = {"windows": more.get("windows", 0), "max_windows": more.get("max_windows", 16)}
                wide = brim.Dataset.from_texts(texts, brim.Tokenizer(MODEL), max_length=length, **how)
                self.assertEqual((at[length].window_cut_rows, at[length].window_lost, at[length].window_computed), (wide.truncated, wide.lost, wide.tokens))
        with self.assertRaisesRegex(ValueError, "windows"):
            brim.analyze(brim.Dataset.from_texts(texts, brim.Tokenizer(MODEL)), windows=2)


class Cuts(unittest.TestCase):
    def test_as_in_training(self):
        """The model and its folder cut texts as the rows of the training were cut, wherever those were encoded, and so do sets that are evaluated."""
        words = "good film bad plot story slow funny warm dull".split()
        rows = [(" ".join(words[i % 9:] + words[:i % 7] + words[:4]), "ab"[i % 2]) for i in range(12)]
        long = {"text": [text for text, _ in rows], "label": [label for _, label in rows]}
        path, tokenizer = HERE / "cuts.csv", brim.Tokenizer(MODEL)
        path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
        left = brim.Tokenizer(MODEL)._cutting("left", None)
        how = {"lr": 1e-2, "batch_size": 4, "max_steps": 3, "labels": ["a", "b"], "progress": False}
        windows = {"max_length": 6, "windows": 1, "max_windows": 2}
        ways = [("columns", "file", "stream", "encoded", "encoded by another", "a part", "a stream")[at] for at in case.takes(7)]
        losses = {}
        for cut in ({"max_length": 6, "truncation_side": "left"}, {"max_length": 6, "truncation_side": "right"}, {**windows, "truncation_side": "left"}, windows):
            for name, train, options in [("rows", rows, cut), ("columns", long, cut), ("file", path, cut), ("stream", path, {**cut, "stream": True}),
                                         ("encoded", brim.Dataset.of(rows, tokenizer, labelled=True, **cut), {}),
                                         ("encoded by another", brim.Dataset.of(rows, left, labelled=True, **cut), {}),
                                         ("a part", brim.Dataset.of(rows, tokenizer, labelled=True, **cut).select(range(11)), {}),
                                         ("a stream", brim.data.stream(path, tokenizer, labels=["a", "b"], batch_size=4, **cut), {"batch_size": None})]:
                if name not in ("rows", *ways):
                    continue
                with self.subTest(name, **cut):
                    given = {**how, **options, "labels": None if name.startswith(("encoded", "a part")) else how["labels"]}
                    result = brim.train(MODEL, train, eval=rows, output=HERE / "cuts", overwrite=True, **given)
                    seen = result.evaluations[-1]["loss"]
                    for model in (result.model, brim.Model(HERE / "cuts"), pickle.loads(pickle.dumps(result.model))):
                        self.assertEqual(model.evaluate(rows)["loss"], seen)
                        self.assertEqual(model.logits(brim.Dataset.of(long["text"], tokenizer if "truncation_side" in cut else model.tokenizer, **cut)).tolist(), model.logits(long["text"]).tolist())
                    losses[name, str(cut)] = seen
        self.assertEqual(len({losses["rows", cut] for _, cut in losses}), 4)
        self.assertEqual(brim.Tokenizer(MODEL).truncation_side, "right")
        with self.assertRaisesRegex(ValueError, "truncation_side is .left. or .right., not .middle."):
            brim.train(MODEL, rows, truncation_side="middle", **how)

    def test_in_place(self):
        """A model that is trained further cuts as in its last training; folds and labels of words keep their end, too."""
        words = "good film bad plot story slow funny warm dull".split()
        rows = [(" ".join(words[i % 9:] + words[:6]), "ab"[i % 2]) for i in range(8)]
        how = {"max_length": 5, "max_steps": 1, "batch_size": 4, "progress": False}
        model = brim.train(MODEL, rows, **how).model
        for side in ("left", "right"):
            brim.train(model, rows, truncation_side=side, **how)
            self.assertEqual(model.tokenizer.truncation_side, side)
            self.assertEqual(model.logits([rows[0][0]]).tolist(), model.logits(brim.Dataset.of([rows[0][0]], model.tokenizer, max_length=5, truncation_side=side)).tolist())
        brim.train(MODEL, rows, folds=2, truncation_side="left", output=HERE / "cut-folds", **how)
        tagged = brim.train(MODEL, [(text.split(), [label] * len(text.split())) for text, label in rows], task="tokens", truncation_side="left", output=HERE / "cut-words", **how)
        for folder in ("cut-folds/fold-0", "cut-folds/fold-1", "cut-words"):
            self.assertEqual(json.loads((HERE / folder / "tokenizer_config.json").read_text())["truncation_side"], "left")
        self.assertEqual([label is None for label in tagged.model.predict([rows[0][0].split()])[0].labels][::14], [True, False])

    def test_text_of_a_pair(self):
        """Which text of a pair is cut is kept as the end is: by the model, its folder, copies and folds, wherever rows were encoded."""
        words = "good film bad plot story slow funny warm dull".split()
        rows = [(" ".join(words[i % 9:] + words), " ".join(words[:2 + i % 3]), "ab"[i % 2]) for i in range(8)]
        pairs, path, tokenizer = [(a, b) for a, b, _ in rows], HERE / "halves.csv", brim.Tokenizer(MODEL)
        path.write_text("text,text_pair,label\n" + "".join(",".join(row) + "\n" for row in rows))
        how = {"lr": 1e-2, "batch_size": 4, "max_steps": 3, "progress": False}
        cut = {"max_length": 8, "truncation": "only_first"}
        for name, train, options in [("rows", rows, cut), ("file", path, cut), ("stream", path, {**cut, "stream": True, "labels": ["a", "b"]}),
                                     ("encoded", brim.Dataset.of(rows, tokenizer, labelled=True, **cut), {})]:
            with self.subTest(name):
                result = brim.train(MODEL, train, eval=rows, output=HERE / "halves", overwrite=True, **how, **options)
                expected = result.model.logits(brim.Dataset.of(pairs, tokenizer, labelled=False, **cut)).tolist()
                self.assertNotEqual(expected, result.model.logits(brim.Dataset.of(pairs, tokenizer, labelled=False, max_length=8, truncation="longest_first")).tolist())
                for model in (result.model, brim.Model(HERE / "halves"), pickle.loads(pickle.dumps(result.model))):
                    self.assertEqual(model.logits(pairs).tolist(), expected)
                    self.assertEqual(model.evaluate(rows)["loss"], result.evaluations[-1]["loss"])
                result.model.save(HERE / "halves-saved")
                self.assertEqual(brim.Tokenizer(HERE / "halves-saved").truncation, "only_first")
        brim.train(MODEL, rows, folds=2, output=HERE / "halves-folds", **how, **cut)
        self.assertEqual(brim.Tokenizer(HERE / "halves-folds" / "fold-1").truncation, "only_first")
        with self.assertRaisesRegex(ValueError, "truncation is .longest_first., .only_first. or .only_second., not .first."):
            brim.train(MODEL, rows, truncation="first", **how)

    def test_pairs(self):
        """A model answers the kind of rows that it was trained on, pairs or single texts, and any others are refused."""
        words = "good film bad plot story slow funny warm dull".split()
        single = [(" ".join(words[i:i + 3]), "ab"[i % 2]) for i in range(6)]
        pairs = [(text, text, label) for text, label in single]
        path = HERE / "kinds.csv"
        path.write_text("text,text_pair,label\n" + "".join(",".join(row) + "\n" for row in pairs))
        how = {"batch_size": 2, "max_steps": 2, "progress": False, "output": HERE / "kinds", "overwrite": True}
        kinds = {"pairs of texts": ([row[:2] for row in pairs], pairs), "single texts": ([text for text, _ in single], single)}
        for (kind, own), (other, others) in zip(kinds.items(), reversed(kinds.items())):
            for train, options in [(own[1], {}), (path, {"stream": True, "labels": ["a", "b"]})][:2 if kind.startswith("pairs") else 1]:
                model = brim.train(MODEL, train, **how, **options).model
                model.save(HERE / "kinds-saved")
                for name, one in {"memory": model, "folder": brim.Model(HERE / "kinds"), "saved": brim.Model(HERE / "kinds-saved"),
                                  "checkpoint": brim.Model(HERE / "kinds" / "checkpoints" / "step-2"), "copy": pickle.loads(pickle.dumps(model))}.items():
                    with self.subTest(name, trained_on=kind):
                        self.assertEqual(len(one.predict(own[0])), 6)
                        for asked in (lambda: one.predict(others[0]), lambda: one.logits(others[0]), lambda: one.evaluate(others[1])):
                            with self.assertRaisesRegex(brim.errors.MismatchError, f"the rows are {other}, and those of the training data are {kind}"):
                                asked()
        folds = brim.train(MODEL, single, folds=2, **how)
        with self.assertRaisesRegex(brim.errors.MismatchError, "the rows are pairs of texts"):
            brim.Model(HERE / "kinds" / "fold-1").predict(kinds["pairs of texts"][0])
        again = brim.Model(HERE / "kinds" / "fold-1")
        again = brim.train(again, pairs, eval=pairs, **{**how, "output": None, "overwrite": False}).model  # which is of pairs from now on
        self.assertEqual(len(again.predict(kinds["pairs of texts"][0])), 6)
        brim.compare(again, single, modes="brim", max_steps=1, progress=False)  # which changes nothing
        self.assertEqual(len(again.predict(kinds["pairs of texts"][0])), 6)


if __name__ == "__main__":
    case.main()
