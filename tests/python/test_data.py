"""Tokenizer, datasets, batches and streams: the same as the program's, exact to resume, without copies."""
import json
import os
import pickle
import tempfile
import traceback
import unittest
import warnings

import brim
import case

HERE = case.folder()
TOKENIZER = brim.Tokenizer(HERE / "model")
TRAIN = HERE / "data" / "train.csv"


def rows_of(batches):
    return [batch.rows.tolist() for batch in batches]


def program(*arguments):
    return [json.loads(line) for line in case.program(*arguments).splitlines()]


class Blocks(unittest.TestCase):
    """Numbers that come with rows besides the label."""

    ROWS = [{"text": "good film" if i % 3 else "bad", "label": i % 2, "teacher": [i + 0.5, -i, 0.25]} for i in range(20)]

    def check(self, rows, batches):
        for batch in batches:
            teacher = batch.blocks["teacher"].tolist()
            self.assertEqual(teacher, [rows[i & 0xFFFF]["teacher"] for i in batch.rows.tolist()])
            again = pickle.loads(pickle.dumps(batch))
            self.assertEqual(again.blocks["teacher"].tolist(), teacher)
            self.assertEqual(batch.arrays()["teacher"].shape, (len(batch), 3))

    def test_of_files_and_streams(self):
        path = HERE / "blocks.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in self.ROWS))
        data = brim.data.Dataset.from_files(path, TOKENIZER, blocks={"teacher": "row"})
        self.assertEqual(data.blocks, {"teacher": brim.data.Block("row", 3)})
        self.check(self.ROWS, data.batches(batch_size=8, batching="uniform", padding="longest"))
        self.check(self.ROWS, brim.data.stream(path, TOKENIZER, batch_size=6, max_length=16, epochs=1, window=8, blocks={"teacher": ("row", 3)}))
        again = pickle.loads(pickle.dumps(data))
        self.assertEqual((again.blocks, again.fingerprint), (data.blocks, data.fingerprint))
        self.assertEqual([row["teacher"] for row in data.select([4, 2])], [[4.5, -4.0, 0.25], [2.5, -2.0, 0.25]])
        import numpy as np
        for numbers in ([[1.0], [float("nan")]], [[1.0], [1e300]], np.array([[1.0], [np.inf]]), np.array([[1], [2**31]]), np.array([[1], [2**31]], "uint32"), np.array([[1.0], [1e300]])):
            with self.assertRaisesRegex(brim.errors.UsageError, "blocks: row 1 of mine has"):
                brim.Dataset.from_texts(["a", "b"], TOKENIZER, blocks={"mine": numbers})
        with self.assertRaisesRegex(brim.errors.UsageError, "labels is a name of batches themselves"):
            brim.Dataset.from_texts(["a"], TOKENIZER, blocks={"labels": [[1.0]]})
        with self.assertRaisesRegex(brim.errors.UsageError, "firsts is a name of batches themselves"):
            brim.data.Dataset.from_files(path, TOKENIZER, blocks={"firsts": "row"})
        with self.assertRaisesRegex(brim.errors.UsageError, "beforehand"):
            brim.data.stream(path, TOKENIZER, batch_size=6, blocks={"teacher": "row"})
        with self.assertRaisesRegex(brim.errors.Error, 'no "other"'):
            brim.data.Dataset.from_files(path, TOKENIZER, blocks={"other": "row"})

    def test_of_memory(self):
        columns = {name: [row[name] for row in self.ROWS] for name in self.ROWS[0]}
        for data in self.ROWS, columns:
            self.check(self.ROWS, brim.data.Dataset.of(data, TOKENIZER, blocks={"teacher": "row"}).batches(batch_size=7))
        texts = brim.data.Dataset.from_texts([["good", "bad"], ["film"]], TOKENIZER, blocks={"teacher": [[[1, 2], [3, 4]], [[5, 6]]]})
        self.assertEqual(texts.blocks["teacher"], brim.data.Block("text", 2))
        (batch,) = texts.batches(batch_size=2, batching="sequential")
        self.assertEqual(batch.blocks["teacher"].tolist(), [[1, 2], [3, 4], [5, 6]])
        for wrong, words in (([[1, 2], [1]], "row 1: 1 number of teacher"), ([[1, 2]], "1 items for 2 rows"), (["x", "y"], "a list of numbers")):
            with self.assertRaisesRegex(brim.errors.Error, words):
                brim.data.Dataset.from_texts(["a", "b"], TOKENIZER, blocks={"teacher": wrong})

    def test_of_arrow_and_arrays(self):
        try:
            import numpy
            import pyarrow
        except ImportError:
            self.skipTest("pyarrow is not installed")
        table = pyarrow.table({name: [row[name] for row in self.ROWS] for name in self.ROWS[0]})
        self.check(self.ROWS, brim.data.Dataset.of(table, TOKENIZER, blocks={"teacher": "row"}).batches(batch_size=7))
        vectors = numpy.array([row["teacher"] for row in self.ROWS])
        data = brim.data.Dataset.from_texts([row["text"] for row in self.ROWS], TOKENIZER, blocks={"teacher": vectors})
        self.check(self.ROWS, data.batches(batch_size=7))


class Tokens(unittest.TestCase):
    def test_as_the_program(self):
        want = program("tokenize", "-t", HERE / "model", "--max-length", 9, TRAIN)
        texts = [line.split(",")[0] for line in TRAIN.read_text().splitlines()[1:]]
        self.assertEqual([TOKENIZER.encode(t, max_length=9).ids.tolist() for t in texts], [w["ids"] for w in want])
        ragged = TOKENIZER.encode_batch(texts, max_length=9)
        ids, at = ragged.ids.tolist(), ragged.offsets.tolist()
        self.assertEqual([ids[a:b] for a, b in zip(at, at[1:])], [w["ids"] for w in want])
        self.assertEqual(len(ragged), len(texts))

    def test_batches_of_any_kind(self):
        self.assertEqual(TOKENIZER.encode_batch([]).offsets.tolist(), [0])
        none = TOKENIZER.encode_batch(["", "a"], special_tokens=False)
        self.assertEqual(none.offsets.tolist(), [0, 0, 1])
        pair = TOKENIZER.encode_batch(["good", b"bad"], ["film", "plot"])
        self.assertEqual(pair.type_ids.tolist(), [0, 0, 0, 1, 1] * 2)
        with self.assertRaises(ValueError):
            TOKENIZER.encode_batch(["a"], ["b", "c"])
        with self.assertRaises(TypeError):
            TOKENIZER.encode_batch(["a", 3])
        with self.assertRaises(brim.errors.UsageError):
            TOKENIZER.encode_batch(["a"], max_length=1)

    def test_what_a_token_comes_from(self):
        text = "Good films, naïve"
        e = TOKENIZER.encode(text, offsets=True)
        bytes_ = text.encode()
        self.assertEqual(bytes_[slice(*e.spans.tolist()[1])], b"Good")
        self.assertEqual([w for w in e.words.tolist() if w >= 0], sorted(w for w in e.words.tolist() if w >= 0))
        self.assertEqual(e.sources.tolist()[0], -1)

    def test_there_and_back(self):
        self.assertEqual(TOKENIZER.decode(TOKENIZER.encode("a good film").ids), "a good film")
        self.assertEqual(TOKENIZER.decode([2, 3], skip_special_tokens=False), "[CLS] [SEP]")
        self.assertEqual(TOKENIZER.token_to_id("[PAD]"), TOKENIZER.pad_id)
        self.assertIsNone(TOKENIZER.token_to_id("nowhere to be found"))
        self.assertIsNone(TOKENIZER.id_to_token(10**6))
        self.assertIsNone(TOKENIZER.id_to_token(2**63))

    def test_no_truth(self):
        class Neither:
            def __bool__(self):
                raise ValueError("neither")

        with self.assertRaisesRegex(ValueError, "neither"):
            TOKENIZER.special_tokens_to_add(Neither())

    def test_pickle(self):
        again = pickle.loads(pickle.dumps(TOKENIZER))
        self.assertEqual(again.fingerprint, TOKENIZER.fingerprint)

    def test_errors(self):
        with self.assertRaises(brim.errors.FileError) as caught:
            brim.Tokenizer("/nowhere")
        self.assertIsInstance(caught.exception, OSError)
        self.assertIn("/nowhere", str(caught.exception))
        with self.assertRaises(TypeError):
            TOKENIZER.encode(3)
        with self.assertRaisesRegex(ValueError, "half a character"):
            TOKENIZER.encode("\ud800")


class Rows(unittest.TestCase):
    def setUp(self):
        self.rows = brim.Dataset.from_csv(TRAIN, TOKENIZER, max_length=20)

    def test_sources_agree(self):
        lines = [line.split(",") for line in TRAIN.read_text().splitlines()[1:]]
        texts, labels = [t for t, _ in lines], [int(label) for _, label in lines]
        for other in (brim.Dataset.from_texts(texts, TOKENIZER, labels=labels, max_length=20),
                      brim.Dataset.from_texts([t.encode() for t in texts], TOKENIZER, labels=[str(v) for v in labels], max_length=20),
                      brim.Dataset.from_iterable(zip(texts, labels), TOKENIZER, max_length=20),
                      brim.Dataset.from_iterable(({"text": t, "label": v} for t, v in zip(texts, labels)), TOKENIZER, max_length=20),
                      pickle.loads(pickle.dumps(self.rows))):
            self.assertEqual(other.fingerprint, self.rows.fingerprint)
            self.assertEqual(other.labels.names, ["0", "1"])
        jsonl = brim.Dataset.from_jsonl(HERE / "data" / "train.jsonl", TOKENIZER, max_length=20)
        self.assertEqual(jsonl.labels.names, ["neg", "pos"])
        self.assertEqual(jsonl.tokens, self.rows.tokens)

    def test_arrow(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("pyarrow is not installed")
        lines = [line.split(",") for line in TRAIN.read_text().splitlines()[1:]]
        texts, labels = [t for t, _ in lines], [int(label) for _, label in lines]
        table = pyarrow.table({"id": list(range(len(texts))), "text": texts, "label": labels})
        chunks = pyarrow.concat_tables([table.slice(0, 7), table.slice(7, 50), table.slice(57)])
        views = table.set_column(1, "text", table["text"].cast(pyarrow.string_view()))
        large = table.set_column(1, "text", table["text"].cast(pyarrow.large_string()))
        classes = table.set_column(2, "label", pyarrow.array([str(v) for v in labels]).dictionary_encode())
        for kind in (table, chunks, views, large, classes, table.slice(0)):
            self.assertEqual(brim.Dataset.from_arrow(kind, TOKENIZER, max_length=20).fingerprint, self.rows.fingerprint)
        values = table.set_column(2, "label", pyarrow.array([v + 0.0 for v in labels]))
        self.assertEqual(brim.Dataset.from_arrow(values, TOKENIZER).labels.task, "regression")
        both = pyarrow.array([{"text": t, "label": v} for t, v in zip(texts, labels)],
                             pyarrow.struct([("text", pyarrow.string()), ("label", pyarrow.int64())]))
        inside = table.slice(10)
        for cut in (inside, pyarrow.chunked_array([both.slice(10)])):  # offsets of columns, and of the whole
            rows = brim.Dataset.from_arrow(cut, TOKENIZER, max_length=20, labels=True, mapping=["0", "1"])
            self.assertEqual([r["ids"].tolist() for r in map(rows.row, range(len(rows)))],
                             [self.rows.row(i)["ids"].tolist() for i in range(10, len(texts))])
            self.assertEqual([rows.row(i)["label"] for i in range(len(rows))], labels[10:])
        some = table.set_column(2, "label", pyarrow.array([None if i == 12 else v for i, v in enumerate(labels)]))
        with self.assertRaisesRegex(brim.errors.FormatError, "row 2 has no label"):
            brim.Dataset.from_arrow(some.slice(10), TOKENIZER)
        brim.Dataset.from_arrow(some.slice(13), TOKENIZER)
        part = brim.Dataset.from_arrow(table.slice(10, 5), TOKENIZER, max_length=20)
        self.assertEqual([r["ids"].tolist() for r in map(part.row, range(5))],
                         [self.rows.row(i)["ids"].tolist() for i in range(10, 15)])
        with self.assertRaises(ValueError):
            brim.Dataset.from_arrow(table, TOKENIZER, text_column="nothing")
        with self.assertRaises(TypeError):
            brim.Dataset.from_arrow(table, TOKENIZER, text_column="id")
        stored = pyarrow.ExtensionArray.from_storage(pyarrow.bool8(), pyarrow.array([0, 1], pyarrow.int8()))
        for odd, named in ((stored, "arrow.bool8, stored as whole numbers"), (pyarrow.array([b"a", b"b"]).dictionary_encode(), "row 0: a label is b'a'.*decode it first")):
            with self.assertRaisesRegex(TypeError, named):
                brim.Dataset.from_arrow(pyarrow.table({"text": ["a", "b"], "label": odd}), TOKENIZER)
        for given, words in (({"text_column": "label"}, "as a text and as the label"), ({"label_column": "text"}, "as a text and as the label"),
                             ({"pair_column": "label"}, "as a text and as the label"), ({"pair_column": "text"}, "both texts")):
            with self.assertRaisesRegex(brim.errors.UsageError, words):
                brim.Dataset.from_arrow(table, TOKENIZER, labels=True, **given)
        holes = pyarrow.table({"text": ["a", None]})
        with self.assertRaises(brim.errors.FormatError) as caught:
            brim.Dataset.from_arrow(holes, TOKENIZER)
        self.assertIn("row 1", str(caught.exception))

    def test_numbered_tables(self):
        """Of table files whose names say how many there are none is missing."""
        try:
            import pyarrow.parquet
        except ImportError:
            self.skipTest("pyarrow is not installed")
        with tempfile.TemporaryDirectory() as folder:
            for i in (0, 2):
                pyarrow.parquet.write_table(pyarrow.table({"text": [f"film {i}"]}), f"{folder}/part-0000{i}-of-00003.parquet")
            with self.assertRaisesRegex(OSError, "1 of 3 files is missing: part-00001-of-00003.parquet"):
                brim.Dataset.from_files(f"{folder}/part-*.parquet", TOKENIZER)
            self.assertEqual(len(brim.Dataset.from_files([f"{folder}/part-0000{i}-of-00003.parquet" for i in (0, 2)], TOKENIZER)), 2)

    def test_polars_and_pandas(self):
        found = 0
        for name in ("polars", "pandas"):
            try:
                frame = __import__(name).DataFrame({"text": ["a good film", "a dull plot", ""], "label": ["x", "y", "x"]})
                frame.__arrow_c_stream__
            except (ImportError, AttributeError):
                continue
            found += 1
            rows = brim.Dataset.from_arrow(frame, TOKENIZER)
            self.assertEqual(rows.fingerprint, brim.Dataset.from_texts(["a good film", "a dull plot", ""], TOKENIZER,
                                                                       labels=["x", "y", "x"]).fingerprint)
        if not found:
            self.skipTest("neither polars nor pandas is installed")

    def test_encoded_rows(self):
        ids, offsets = [], [0]
        for i in range(len(self.rows)):
            ids += self.rows.row(i)["ids"].tolist()
            offsets.append(len(ids))
        labels = [self.rows.row(i)["label"] for i in range(len(self.rows))]
        again = brim.Dataset.from_ids(ids, offsets, labels=labels, mapping=["0", "1"])
        self.assertEqual(again.fingerprint, self.rows.fingerprint)
        for wrong in ([0, 5, 3, len(ids)], [1, len(ids)], [0, len(ids) + 1]):
            with self.assertRaises(ValueError):
                brim.Dataset.from_ids(ids, wrong)
        with self.assertRaises(brim.errors.UsageError):
            brim.Dataset.from_ids([-1], [0, 1])
        for parts in ((None, [0]), ([], None), ([1], [0, 1], None, None, 3)):
            with self.assertRaises(TypeError):
                brim._core.dataset_encoded(brim.runtime.default(), *(parts + (None, None, None))[:5])

    def test_errors_have_a_place(self):
        path = HERE / "data" / "bad.csv"
        path.write_text('text,label\nfine,1\n"never closed,0\n')
        with self.assertRaises(brim.errors.FormatError) as caught:
            brim.Dataset.from_csv(path, TOKENIZER)
        self.assertEqual((caught.exception.file, caught.exception.line), (str(path), 3))
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((type(again), str(again), again.line), (type(caught.exception), str(caught.exception), 3))
        with self.assertRaises(FileNotFoundError) as missing:
            brim.Dataset.from_csv(HERE / "nowhere.csv", TOKENIZER)
        self.assertEqual((missing.exception.errno, str(missing.exception)), (2, f"{HERE / 'nowhere.csv'}: cannot open: No such file or directory"))
        for content, words in (("text;label\na;1\n", "give the delimiter \\(delimiter=';'\\)"), ("good,1\nbad,0\n", "header=False calls the columns"),
                               ("Text,label\na,1\n", "\\(text_column\\)")):
            path.write_text(content)
            with self.assertRaisesRegex(brim.errors.UsageError, words):
                brim.Dataset.from_csv(path, TOKENIZER)
        with self.assertRaisesRegex(brim.errors.UsageError, 'task="tokens"'):
            brim.Dataset.of([{"tokens": ["a"], "ner_tags": ["O"]}], TOKENIZER)
        with self.assertRaises(IndexError):
            self.rows[len(self.rows)]
        with self.assertRaises(TypeError):
            self.rows.batches(batch_sise=3)

    def test_cache(self):
        first = brim.Dataset.from_csv(TRAIN, TOKENIZER, max_length=20, cache=HERE / "cache")
        again = brim.Dataset.from_csv(TRAIN, TOKENIZER, max_length=20, cache=HERE / "cache")
        self.assertEqual((first.fingerprint, again.fingerprint), (self.rows.fingerprint,) * 2)
        self.assertTrue(list((HERE / "cache").iterdir()))

    def test_excluded(self):
        rows = brim.Dataset.from_csv(TRAIN, TOKENIZER, where={"label": "1"})
        self.assertEqual(len(rows) + len(rows.excluded), len(self.rows))
        self.assertEqual(rows.row(0)["origin"], 1)

    def test_parts(self):
        """items in plain lists; slices, select, filter and split are Datasets that know their source's rows"""
        rows, count = self.rows, len(self.rows)
        item = rows[-1]
        self.assertEqual((item["input_ids"], item["attention_mask"]), (rows.row(count - 1)["ids"].tolist(), [1] * len(item["input_ids"])))
        self.assertEqual((set(item), type(item["labels"])), ({"input_ids", "attention_mask", "token_type_ids", "labels"}, int))
        origins = lambda some: [some.row(i)["origin"] for i in range(len(some))]
        self.assertEqual(origins(rows[5:1:-2]), [5, 3])
        some = rows.select([7, 7, -1])
        self.assertEqual((origins(some), some[0], some.labels.names, some.tokenizer), ([7, 7, count - 1], rows[7], rows.labels.names, TOKENIZER))
        ones = rows.filter(lambda row: row["labels"] == 1)
        self.assertTrue(0 < len(ones) < count and all(row["labels"] == 1 for row in ones))
        rest, part = rows.split(0.25, seed=3)
        self.assertEqual((len(part), sorted(origins(rest) + origins(part))), (round(count / 4), list(range(count))))
        self.assertEqual(origins(rows.split(0.25, seed=3)[1]), origins(part))
        self.assertNotEqual(origins(rows.split(0.25, seed=4)[1]), origins(part))
        even = rows.split(0.25, stratify=True)[1]
        self.assertLessEqual(abs(sum(row["labels"] for row in even) - len(ones) / 4), 1)
        for wrong, error in ((lambda: rows[count], IndexError), (lambda: rows[:0], brim.errors.UsageError), (lambda: rows.split(1.0), brim.errors.UsageError),
                             (lambda: rows.filter(lambda row: False), brim.errors.UsageError)):
            self.assertRaises(error, wrong)

    def test_of_a_transform(self):
        """datasets' with_transform is read as its rows read"""
        try:
            import datasets
        except ImportError:
            self.skipTest("datasets is not installed")
        features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["bad", "good"])})
        plain = datasets.Dataset.from_dict({"text": ["good film", "bad plot"], "label": [1, 0]}, features=features)
        made = plain.with_transform(lambda rows: {"text": ["great " + text for text in rows["text"]], "label": rows["label"]})
        rows = brim.Dataset.of(made, TOKENIZER)
        self.assertEqual([TOKENIZER.decode(row["input_ids"]) for row in rows], ["great good film", "great bad plot"])
        self.assertEqual((rows.labels.names, [row["labels"] for row in rows]), (["bad", "good"], [1, 0]))
        turned = plain.with_transform(lambda rows: {"title": rows["text"], "label": [1 - one for one in rows["label"]]})
        rows = brim.Dataset.of(turned, TOKENIZER, text_column="title")
        self.assertEqual((rows.labels.names, [row["labels"] for row in rows]), (["0", "1"], [0, 1]))
        words = datasets.Dataset.from_dict({"tokens": [["a", "b"]], "ner_tags": [["O", "X"]]}).with_transform(
            lambda rows: {"tokens": rows["tokens"], "ner_tags": [["X", "O"] for _ in rows["tokens"]]})
        self.assertEqual(brim.Dataset.of(words, TOKENIZER, task="tokens").row(0)["labels"][1:3], [1, 0])


class Strategies(unittest.TestCase):
    def setUp(self):
        self.rows = brim.Dataset.from_csv(TRAIN, TOKENIZER, max_length=20)

    def test_same_batches_as_the_program(self):
        lengths = HERE / "data" / "these.txt"
        lengths.write_text("".join(f"{n}\n" for n in self.rows.lengths.tolist()))
        for batching in ("sequential", "random", "uniform", "sorted", "bucketed", "packed"):
            for padding in ("none", "longest"):
                for rank, world in ((0, 1), (1, 3)):
                    for epoch in (0, 2):
                        ahead = {"read_ahead": 40} if batching in ("bucketed", "packed") else {}
                        b = self.rows.batches(batching=batching, padding=padding, batch_size=8, max_tokens=80, seed=3, rank=rank,
                                              world_size=world, **ahead)
                        want = program("plan", "--lengths", lengths, "--batching", batching, "--padding", padding, "--batch-size", 8,
                                       "--max-tokens", 80, "--seed", 3, "--epoch", epoch, "--rank", rank, "--world-size", world,
                                       *(["--read-ahead", 40] if ahead else []), "--jsonl")
                        b.set_epoch(epoch)
                        self.assertEqual(rows_of(b), [w["rows"] for w in want[:-1]])
                        b.set_epoch(epoch)
                        self.assertEqual(f"{b.ledger()['hash']:016x}", want[-1]["summary"]["hash"])

    def test_epochs_and_length(self):
        b = self.rows.batches(batch_size=10)
        first, second = rows_of(b), rows_of(b)
        self.assertEqual((len(b), b.epoch), (10, 2))
        self.assertNotEqual(first, second)
        self.assertEqual(sorted(sum(first, [])), sorted(sum(second, [])))
        b.set_epoch(0)
        self.assertEqual(rows_of(b), first)

    def test_padded_and_ragged(self):
        for batch in self.rows.batches(batch_size=7, padding="longest", pad_to_multiple_of=8):
            p = {k: v.tolist() for k, v in batch.padded().items()}
            self.assertEqual(batch.width % 8, 0)
            for i, row in enumerate(batch.rows.tolist()):
                ids = self.rows.row(row)["ids"].tolist()
                self.assertEqual(p["input_ids"][i], ids + [0] * (batch.width - len(ids)))
                self.assertEqual(p["attention_mask"][i], [1] * len(ids) + [0] * (batch.width - len(ids)))
                self.assertEqual(p["labels"][i], int(self.rows.row(row)["label"]))
        for batch in self.rows.batches(batch_size=7):
            r = batch.ragged()
            self.assertEqual(r["input_ids"].shape, (1, batch.tokens))
            at = r["cu_seq_lens_q"].tolist()
            flat, positions = r["input_ids"].tolist()[0], r["position_ids"].tolist()[0]
            for i, row in enumerate(batch.rows.tolist()):
                self.assertEqual(flat[at[i]:at[i + 1]], self.rows.row(row)["ids"].tolist())
                self.assertEqual(positions[at[i]:at[i + 1]], list(range(at[i + 1] - at[i])))
            self.assertEqual(r["max_length_k"], max(b - a for a, b in zip(at, at[1:])))

    def test_regression_labels_are_floats(self):
        rows = brim.Dataset.from_files(HERE / "data" / "train.tsv", TOKENIZER)
        batch = next(iter(rows.batches(batch_size=4)))
        self.assertEqual(batch.ragged()["labels"].format, "f")
        self.assertAlmostEqual(batch.labels[0], rows.row(batch.rows[0])["label"], 6)

    def test_resume_at_every_batch(self):
        make = lambda: self.rows.batches(batch_size=9, batching="sorted", seed=5)
        one = make()
        want = [(b.epoch, b.index, b.rows.tolist()) for _ in range(3) for b in one]
        for stop in range(0, len(want), 3):
            before, got = make(), []
            for _ in range(3):
                for batch in before:
                    got.append((batch.epoch, batch.index, batch.rows.tolist()))
                    if len(got) == stop:
                        break
                if len(got) >= stop:
                    break
            state = before.state_dict() if stop else make().state_dict()
            for through in (lambda s: json.loads(json.dumps(s)), lambda s: pickle.loads(pickle.dumps(s))):
                after = make()
                after.load_state_dict(through(state))
                rest = []
                while len(rest) < len(want) - stop:
                    rest += [(b.epoch, b.index, b.rows.tolist()) for b in after]
                self.assertEqual(want[:stop] + rest, want)

    def test_states_of_others_are_refused(self):
        state = self.rows.batches(batch_size=9).state_dict()
        with self.assertRaises(brim.errors.MismatchError) as caught:
            self.rows.batches(batch_size=8).load_state_dict(state)
        self.assertIn("batch_size", str(caught.exception))
        fewer = brim.Dataset.from_csv(HERE / "data" / "test.csv", TOKENIZER)
        with self.assertRaises(brim.errors.MismatchError):
            fewer.batches(batch_size=9).load_state_dict(state)

    def test_ranks_share_a_step(self):
        whole = rows_of(self.rows.batches(batch_size=12, seed=1))
        parts = [rows_of(self.rows.batches(batch_size=12, seed=1, rank=r, world_size=4)) for r in range(4)]
        self.assertEqual({len(p) for p in parts}, {len(whole)})
        self.assertEqual([sorted(sum((p[i] for p in parts), [])) for i in range(len(whole))], [sorted(w) for w in whole])

    def test_rows_for_and_key(self):
        b = self.rows.batches(rows_for=lambda longest: 100 // longest, batching="sorted", padding="longest")
        for batch in b:
            self.assertLessEqual(len(batch) * batch.width, max(100, batch.width))
        with self.assertRaisesRegex(TypeError, "whole number, not 'many'"):
            self.rows.batches(rows_for=lambda longest: "many")
        with self.assertRaisesRegex(ValueError, "at least 1, not 0"):
            self.rows.batches(rows_for=lambda longest: 0)

        def fails(longest):
            raise KeyError("mine")

        try:
            self.rows.batches(rows_for=fails)
            self.fail("nothing was raised")
        except KeyError as error:
            self.assertEqual(error.args, ("mine",))
            self.assertEqual(traceback.extract_tb(error.__traceback__)[-1].name, "fails")
        key = [1 + i % 5 for i in range(len(self.rows))]
        for batch in self.rows.batches(key=key, batching="sorted", batch_size=8, padding="longest"):
            kinds = [key[r] for r in batch.rows.tolist()]
            self.assertLessEqual(max(kinds) - min(kinds), 1)
            self.assertEqual(batch.width, max(len(self.rows.row(r)["ids"]) for r in batch.rows.tolist()))

    def test_order_restored(self):
        values, rows = [], []
        for batch in self.rows.batches(batch_size=9, batching="uniform"):
            rows += batch.rows.tolist()
            values += [r * 10 for r in batch.rows.tolist()]
        self.assertEqual(brim.restore_order(values, rows), [10 * i for i in range(len(self.rows))])
        for wrong, words in (([2, 0, 5], "rows\\[2\\] is 5"), ([0, 0, 1], "row 0 comes twice"), ([0, 1], "3 values for 2 rows"), ([0, -1, 1], "is -1")):
            with self.assertRaisesRegex(ValueError, words):
                brim.restore_order([1, 2, 3], wrong)

    def test_arrays_by_row(self):
        """one row of two dimensions, some of them, and nothing that floods a screen"""
        array = next(iter(self.rows.batches(batch_size=9, padding="longest"))).padded()["input_ids"]
        whole = array.tolist()
        self.assertEqual((array[0].tolist(), array[-1].tolist(), array[2:4].tolist(), array[1, 2]), (whole[0], whole[-1], whole[2:4], whole[1][2]))
        self.assertEqual((array[3:3].shape, array[0].shape), ((0, len(whole[0])), (len(whole[0]),)))
        self.assertRaises(IndexError, lambda: array[9])
        self.assertLess(len(repr(self.rows.lengths)), 200)
        self.assertLess(len(repr(self.rows.batches(batch_size=4))), 200)
        self.assertIn("batching='random'", repr(self.rows.batches(batch_size=4)))

    def test_arrays_are_equal(self):
        """by their shape and numbers, as lists are; with an array of NumPy item by item"""
        rows, same = (brim.Dataset.from_texts(["a good film", "bad"], HERE / "model") for _ in range(2))
        other = brim.Dataset.from_texts(["a good film", "a bad"], HERE / "model")
        self.assertTrue(rows.lengths == same.lengths and rows.lengths == rows.lengths)
        self.assertTrue(rows.lengths != other.lengths and rows.lengths != rows.select([0]).lengths and rows.lengths != rows.lengths.tolist())
        with self.assertRaises(TypeError):
            hash(rows.lengths)
        model = brim.Model(HERE / "model", untrained=True)
        self.assertEqual(model.logits(rows), model.logits(same))
        self.assertNotEqual(model.logits(rows), model.logits(other))
        numpy = case.module("numpy")
        self.assertEqual((rows.lengths == numpy.asarray(other.lengths)).tolist(), [True, False])
        self.assertEqual((numpy.asarray(rows.lengths) == other.lengths).tolist(), [True, False])

    def test_fingerprints(self):
        """equal of equal rows alone: where a row's texts end, and blocks, are of them"""
        made = lambda texts, **given: brim.Dataset.from_texts(texts, HERE / "model", special_tokens=False, **given).fingerprint
        of = [made([["a good", "film"], ["bad"]]), made([["a", "good film"], ["bad"]]), made([["a good"], ["film", "bad"]]), made(["a good film", "bad"]), made(["a good", "film bad"]),
              made(["a", "bad"], labels=[0, 1]), made(["a", "bad"], labels=[1, 0]), made(["a", "bad"]), made(["a", "bad"], blocks={"b": ((1,), (2,))}), made(["a", "bad"], blocks={"b": ((1,), (3,))})]
        self.assertEqual(len(set(of)), len(of))
        self.assertEqual(made([["a good", "film"], ["bad"]]), of[0])

    def test_arrays_share_memory(self):
        try:
            import numpy
        except ImportError:
            self.skipTest("numpy is not installed")
        batch = next(iter(self.rows.batches(batch_size=5)))
        a, b = numpy.asarray(batch.ids), numpy.from_dlpack(batch.ids)
        self.assertEqual(a.__array_interface__["data"][0], b.__array_interface__["data"][0])
        self.assertEqual(a.dtype, numpy.int32)
        ids = a.tolist()
        del batch
        self.assertEqual(b.tolist(), ids)
        lengths = numpy.asarray(self.rows.lengths)
        self.assertFalse(lengths.flags.writeable)
        with self.assertRaises(BufferError):
            numpy.from_dlpack(self.rows.lengths)


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shards = HERE / "shards"
        case.program("shard", TRAIN, "--records", 14, "-o", cls.shards)

    def open(self, **options):
        given = {"labels": ["0", "1"], "max_length": 16, "batch_size": 5, "batching": "bucketed", "window": 30, **options}
        return brim.data.stream(self.shards, TOKENIZER, **given)

    def keys(self, stream, count):
        out = []
        for batch in stream:
            out.append((batch.epoch, batch.rows.tolist(), batch.labels.tolist(), batch.index))
            if len(out) == count:
                break
        return out

    def test_finite_begins_anew(self):
        s = self.open(epochs=1)
        first, second = self.keys(s, -1), self.keys(s, -1)
        self.assertEqual(first, second)
        self.assertEqual(sum(len(r) for _, r, _, _ in first), 96)
        self.assertEqual([k[3] for k in first], list(range(len(first))))

    def test_endless_goes_on(self):
        a, b = self.open(), self.open(prefetch=0, runtime=brim.Runtime(1))
        want = self.keys(a, 60)
        self.assertEqual(self.keys(b, 25) + self.keys(b, 35), want)
        self.assertGreater(want[-1][0], 1)

    def test_resume_at_every_batch(self):
        want = self.keys(self.open(), 45)
        for stop in range(1, 45, 4):
            before, after = self.open(), self.open(prefetch=0)
            self.keys(before, stop)
            after.load_state_dict(json.loads(json.dumps(before.state_dict())))
            self.assertEqual(self.keys(after, 45 - stop), want[stop:])
            self.assertEqual(self.keys(pickle.loads(pickle.dumps(before)), 45 - stop), want[stop:])

    def test_changed_states(self):
        """no number of a state becomes another one unnoticed"""
        stream = self.open()
        self.keys(stream, 5)
        state = stream.state_dict()
        for name in ("epoch", "window", "rows_taken", "steps_done"):
            with self.subTest(name), self.assertRaises(brim.Error):
                self.open().load_state_dict({**state, name: state[name] + 1})
        self.open().load_state_dict(dict(reversed(state.items())))

    def test_epochs_by_number(self):
        endless = [k for k in self.keys(self.open(), 45) if k[0] == 1]
        s = self.open(epochs=1)
        s.set_epoch(1)
        self.assertEqual(self.keys(s, -1)[:10], endless[:10])

    def test_mixture(self):
        other = HERE / "data" / "test.csv"
        s = brim.data.stream([self.shards, other], TOKENIZER, weights=[1, 3], repeat=True, labels=["0", "1"], max_length=16, batch_size=8,
                             window=64)
        names, counts = s.files, {}
        for batch, _ in zip(s, range(200)):
            for row in batch.rows.tolist():
                name = names[row >> 40]
                counts[name == str(other)] = counts.get(name == str(other), 0) + 1
        self.assertAlmostEqual(counts[True] / sum(counts.values()), 0.75, 1)
        with self.assertRaises(ValueError):
            brim.data.stream([self.shards, other], TOKENIZER, weights=[1], max_length=16)

    def test_slices(self):
        seen, steps = [], set()
        for rank in range(3):
            s = self.open(epochs=1, batch_size=9, world_size=3, rank=rank, rank_slices=True)
            for _, rows, _, _ in self.keys(s, -1):
                seen += rows
            steps.add(s.ledger()["steps"])
            state = s.state_dict()
        self.assertEqual(len(set(seen)), 96)
        self.assertEqual(len(seen), 96)
        self.assertEqual(steps, {11})
        with self.assertRaisesRegex(brim.errors.MismatchError, "saved by rank 2 of 3"):
            self.open(epochs=1, batch_size=9, rank_slices=True).load_state_dict(state)

    def test_facts(self):
        s = self.open(epochs=1)
        self.keys(s, 3)
        self.assertEqual(len(s.files), 7)
        self.assertGreater(s.memory, 0)
        self.assertEqual(s.ledger()["rows_yielded"], 15)
        s.close()
        with self.assertRaises(brim.errors.MismatchError):
            self.open(batch_size=6).load_state_dict(self.open().state_dict())

    def test_after_a_fork(self):
        s = self.open()
        want = self.keys(self.open(), 4)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, json.dumps(self.keys(s, 4)).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            self.assertEqual([tuple(k) for k in json.load(answer)], want)
        os.waitpid(child, 0)


class FilesThatAreAnswered(unittest.TestCase):
    """Predictions and evaluations read files as training does."""

    def test_options_of_reading(self):
        folder = case.folder()
        path = folder / "asked.csv"
        path.write_text("good,1,a\nbad,0,b\ngood good,1,b\n,1,b\n")
        model = brim.train(folder / "model", [("good", "1"), ("bad", "0")] * 4, max_steps=1, progress=False).model
        read = {"header": False, "text_column": "0"}
        self.assertEqual(len(model.predict(file=path, **read)), 4)
        for ask in (model.predict, model.logits):
            with self.assertLogs("brim", "INFO") as said:
                self.assertEqual(len(ask(file=path, where={"2": "b"}, min_chars=1, **read)), 2)
            self.assertIn("2 of 4 rows are left out", said.output[0])
        lines = folder / "asked.text"
        lines.write_bytes(path.read_bytes().replace(b",", b";"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # the texts of the most wrong rows are read in the same way
            found = model.evaluate([lines], format="csv", delimiter=";", label_column="1", where={"2": "b"}, min_chars=1, **read)
        self.assertEqual((found["rows"], {row.text for row in found.wrong} - {"bad", "good good"}), (2, set()))
        self.assertTrue(found.wrong)
        for name, value in {"where": {"a": "b"}, "format": "csv", "header": False, "min_chars": 2}.items():
            with self.subTest(name), self.assertRaisesRegex(brim.errors.UsageError, name):
                model.predict(["good"], **{name: value})


class Shared(unittest.TestCase):
    def test_plans_of_two_threads(self):
        """an epoch's plan is that of the epoch, whatever another thread plans between two looks at what is kept"""
        class Torn(brim.Batches):
            kept = None
            _planned = property(lambda self: (self.kept, setattr(self, "kept", (7, "of the other thread")))[0], lambda self, planned: setattr(self, "kept", planned))

        rows = brim.Dataset.from_texts(["a good film", "a bad film", "great fun"], brim.Tokenizer(HERE / "model"))
        batches = Torn(rows, batch_size=2)
        made = batches.plan(0)
        self.assertEqual(made.ledger(), rows.batches(batch_size=2).plan(0).ledger())
        batches.kept = (0, made)
        self.assertIs(batches.plan(0), made)


if __name__ == "__main__":
    case.main()
