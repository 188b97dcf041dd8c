"""With torch and transformers: tensors, loaders with workers, samplers, collators, and parity of logits both ways. Skipped without torch."""
import contextlib
import io
import json
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import case

try:
    import safetensors.torch
    import torch
    import transformers
except ImportError:
    print("1..0 # SKIP torch and transformers are not installed")
    sys.exit(0)

import brim
import brim.torch
from torch.utils.data import DataLoader

transformers.logging.set_verbosity_error()
HERE = case.folder()
TOKENIZER = brim.Tokenizer(HERE / "model")
TRAIN = HERE / "data" / "train.csv"
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "models"


def rows():
    return brim.Dataset.from_csv(TRAIN, TOKENIZER, max_length=20)


def ids_of(batches):
    return [b["input_ids"].tolist() for b in batches]


class Tensors(unittest.TestCase):
    def test_types_and_memory(self):
        batch = next(iter(rows().batches(batch_size=6, padding="longest")))
        t = batch.torch()
        self.assertEqual({k: v.dtype for k, v in t.items()}, {k: torch.int64 for k in ("input_ids", "attention_mask", "token_type_ids", "labels")})
        ids = batch.ids
        one, two = torch.from_dlpack(ids), torch.from_dlpack(ids)
        self.assertEqual(one.data_ptr(), two.data_ptr())
        del batch, ids
        self.assertEqual(one.tolist(), two.tolist())
        values = brim.Dataset.from_files(HERE / "data" / "train.tsv", TOKENIZER)
        self.assertEqual(next(iter(values.batches())).torch()["labels"].dtype, torch.float32)

    def test_models_take_them(self):
        """Padded batches go into transformers as they are, and the loss is brim's."""
        model = brim.Model(HERE / "model", labels=["0", "1"], untrained=True)
        model.save(HERE / "headed")
        theirs = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "headed").eval()
        data = rows()
        total = 0.0
        for batch in data.batches(batch_size=8, padding="longest"):
            with torch.no_grad():
                total += theirs(**batch.torch()).loss.item() * len(batch)
        self.assertAlmostEqual(total / len(data), model.evaluate(data)["loss"], 5)


class Loaders(unittest.TestCase):
    def test_workers_change_nothing(self):
        want = None
        for workers in (0, 1, 2):
            with self.assertRaisesRegex(TypeError, r"batches or a stream are needed, .*dataset.batches"):
                brim.torch.DataLoader(rows())
            loader = brim.torch.DataLoader(rows().batches(batch_size=7, batching="uniform", padding="longest"), num_workers=workers)
            got = [ids_of(loader), ids_of(loader)]
            want = want or got
            self.assertEqual(got, want)
            self.assertNotEqual(got[0], got[1])

    def test_every_way_to_start_workers(self):
        """Fork, spawn and forkserver: the last is what CPython 3.14 takes by itself."""
        whole = ids_of(brim.torch.DataLoader(rows().batches(batch_size=16, padding="longest")))
        for method in torch.multiprocessing.get_all_start_methods():
            workers = 2 if method == "fork" else 1  # each of the others imports torch again
            loader = brim.torch.DataLoader(rows().batches(batch_size=16, padding="longest"), num_workers=workers, multiprocessing_context=method)
            self.assertEqual(ids_of(loader), whole, method)

    def test_torch_without_an_import(self):
        code = "import brim; print(brim.torch.DataLoader.__name__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.stdout, "DataLoader\n", done.stderr)

    def test_state_with_workers(self):
        make = lambda workers: brim.torch.DataLoader(rows().batches(batch_size=7, padding="longest"), num_workers=workers)
        whole = make(0)
        want = ids_of(whole) + ids_of(whole)
        for stop in (1, 5, 13, 14, 20):
            before, got = make(2), []
            while len(got) < stop:
                for batch in before:
                    got.append(batch["input_ids"].tolist())
                    if len(got) == stop:
                        break
            after = make(1)
            after.load_state_dict(json.loads(json.dumps(before.state_dict())))
            while len(got) < len(want):
                got += ids_of(after)
            self.assertEqual(got, want)

    def test_streams(self):
        shards = HERE / "data" / "train.jsonl"
        make = lambda: brim.data.stream(shards, TOKENIZER, labels=["neg", "pos"], batch_size=9, padding="longest", max_length=20, window=40)
        plain = []
        for batch in make():
            plain.append(batch.torch()["input_ids"].tolist())
            if len(plain) == 30:
                break
        for workers in (0, 2):
            loader, got = brim.torch.DataLoader(make(), num_workers=workers), []
            for batch in loader:
                got.append(batch["input_ids"].tolist())
                if len(got) == 12:
                    break
            after = brim.torch.DataLoader(make())
            after.load_state_dict(pickle.loads(pickle.dumps(loader.state_dict())))
            for batch in after:
                got.append(batch["input_ids"].tolist())
                if len(got) == 30:
                    break
            self.assertEqual(got, plain)

    def test_streams_that_were_read(self):
        """A stream of which some was read continues in the loader, and a finite one begins again, in whichever processes."""
        make = lambda **o: brim.data.stream(TRAIN, TOKENIZER, labels=["0", "1"], batch_size=9, padding="longest", max_length=20, window=40, **o)
        take = lambda batches, count: [b["input_ids"].tolist() for _, b in zip(range(count), batches)]
        ids = lambda stream, count: [b.torch()["input_ids"].tolist() for _, b in zip(range(count), stream)]
        endless, whole = ids(make(), 22), ids(make(epochs=1), 99)
        for workers in (0, 2):
            training, validation = make(), make(epochs=1)
            self.assertEqual(ids(training, 4), endless[:4])
            self.assertEqual(take(brim.torch.DataLoader(training, num_workers=workers), 18), endless[4:])
            self.assertEqual(ids(validation, 4), whole[:4])
            loader = brim.torch.DataLoader(validation, num_workers=workers)
            self.assertEqual(take(loader, 99), whole)
            validation.set_epoch(1)
            other = ids(validation, 4)
            again = take(brim.torch.DataLoader(validation, num_workers=workers), 99)
            self.assertEqual((again[:4], len(again)), (other, 11))
            state = validation.state_dict()
            validation.load_state_dict(state)
            self.assertEqual(brim.torch.DataLoader(validation).state_dict(), state)

    def test_order_restored(self):
        """Predictions of batches that are sorted by length come back in the order of the rows, whatever loads them."""
        brim.Model(HERE / "model", labels=["0", "1"]).save(HERE / "predicts")
        theirs = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "predicts").eval()
        data = rows()
        alone = [theirs(input_ids=torch.tensor([data[i]["input_ids"]])).logits[0].detach() for i in range(len(data))]
        batches = data.batches(batch_size=8, batching="sorted", padding="longest")
        sampler = brim.torch.BatchSampler(data.lengths, batch_size=8, batching="sorted")
        items = [{"input_ids": data[i]["input_ids"]} for i in range(len(data))]
        chosen = [i for batch in sampler for i in batch]
        sampler.set_epoch(0)
        for order, loader in (([i for b in data.batches(batch_size=8, batching="sorted") for i in b.rows.tolist()],
                               brim.torch.DataLoader(batches, num_workers=2)),
                              (chosen, DataLoader(items, batch_sampler=sampler, collate_fn=brim.torch.Collator(pad_id=0), num_workers=2))):
            self.assertNotEqual(order, sorted(order))
            with torch.no_grad():
                values = torch.cat([theirs(**{k: v for k, v in b.items() if k != "labels"}).logits for b in loader])
            self.assertGreater((values - torch.stack(alone)).abs().max().item(), 1e-3)
            found = torch.stack(brim.restore_order(values, order))
            self.assertLess((found - torch.stack(alone)).abs().max().item(), 1e-5)
            self.assertLess((torch.stack(brim.restore_order(values, torch.tensor(order))) - found).abs().max().item(), 1e-9)

    def test_finite_streams(self):
        """Validation: every pass is the same, also after one that was left and resumed, and one that was finished."""
        make = lambda workers=0: brim.torch.DataLoader(brim.data.stream(TRAIN, TOKENIZER, labels=["0", "1"], batch_size=9, epochs=1,
                                                                        padding="longest", max_length=20, window=40), num_workers=workers)
        whole = make()
        want = ids_of(whole)
        self.assertEqual(len(want), 11)
        self.assertEqual([ids_of(whole), ids_of(make(2))], [want, want])
        for passes in (0, 1):
            for workers in (0, 2):
                before, got = make(workers), []
                for _ in range(passes):
                    ids_of(before)
                for batch in before:
                    got.append(batch["input_ids"].tolist())
                    if len(got) == 4:
                        break
                after = make()
                after.load_state_dict(json.loads(json.dumps(before.state_dict())))
                self.assertEqual(got + ids_of(after), want, (passes, workers))
                self.assertEqual(ids_of(after), want)

    def test_datasets_in_others_loaders(self):
        """Kept workers continue with the next epoch; each worker's own state is exact, as torchdata's StatefulDataLoader uses it."""
        make = lambda: brim.torch.IterableDataset(rows().batches(batch_size=7, padding="longest"))
        one = make()
        want = [ids_of(one) for _ in range(3)]
        self.assertNotEqual(want[0], want[1])
        kept = DataLoader(make(), batch_size=None, num_workers=2, persistent_workers=True)
        self.assertEqual([ids_of(kept) for _ in range(3)], want)
        fresh, got = make(), []
        for epoch in range(3):
            fresh.set_epoch(epoch)
            got.append(ids_of(DataLoader(fresh, batch_size=None, num_workers=2)))
        self.assertEqual(got, want)

        def take(pass_, number):  # as worker `number` of two
            with unittest.mock.patch("torch.utils.data.get_worker_info", lambda: types.SimpleNamespace(id=number, num_workers=2)):
                return next(pass_, {"input_ids": None})["input_ids"]

        for stop in range(0, len(want[0]) - 1):
            before, after, got = [make(), make()], [make(), make()], []
            passes = [iter(d) for d in before]
            for turn in range(stop):
                got.append(take(passes[turn % 2], turn % 2).tolist())
            for old, new in zip(before, after):
                new.load_state_dict(pickle.loads(pickle.dumps(old.state_dict())))
            passes = [iter(d) for d in after]
            for turn in range(stop, len(want[0])):
                got.append(take(passes[turn % 2], turn % 2).tolist())
            self.assertEqual([take(p, n) for n, p in enumerate(passes)], [None, None])
            self.assertEqual(got, want[0], stop)

    def test_batch_sampler(self):
        data = rows()
        items = [{"input_ids": data[i]["input_ids"], "label": data[i]["labels"]} for i in range(len(data))]
        sampler = brim.torch.BatchSampler(data.lengths, batch_size=8, batching="sorted", seed=3)
        loader = DataLoader(items, batch_sampler=sampler, collate_fn=brim.torch.Collator(pad_id=0), num_workers=2)
        self.assertEqual(len(loader), len(sampler))
        first, second = ids_of(loader), ids_of(loader)
        self.assertNotEqual(first, second)
        sampler.set_epoch(0)
        self.assertEqual(ids_of(loader), first)
        ours = data.batches(batch_size=8, batching="sorted", seed=3, padding="longest")
        self.assertEqual([b.padded()["input_ids"].tolist() for b in ours], first)
        parts = [list(brim.torch.BatchSampler(data.lengths, batch_size=8, rank=r, world_size=3)) for r in range(3)]
        self.assertEqual(len({len(p) for p in parts}), 1)
        self.assertEqual(sorted(sum(sum(parts, []), [])), list(range(len(data))))

    def test_sampler_state(self):
        lengths = rows().lengths
        whole = brim.torch.BatchSampler(lengths, batch_size=10)
        want = list(whole) + list(whole)
        for stop in (0, 1, 9, 10, 15):
            before, got = brim.torch.BatchSampler(lengths, batch_size=10), []
            while len(got) < stop:
                for batch in before:
                    got.append(batch)
                    if len(got) == stop:
                        break
            after = brim.torch.BatchSampler(lengths, batch_size=10)
            after.load_state_dict(before.state_dict())
            while len(got) < len(want):
                got += list(after)
            self.assertEqual(got, want)

    def test_collator_as_transformers(self):
        theirs = transformers.AutoTokenizer.from_pretrained(HERE / "model")
        items = [dict(theirs(text)) | {"label": i % 2} for i, text in enumerate(["a good film", "dull", "the plot is not so very bad"])]
        want = transformers.DataCollatorWithPadding(theirs, pad_to_multiple_of=4)([dict(i) for i in items])
        got = brim.torch.Collator(theirs, pad_to_multiple_of=4)(items)
        self.assertEqual(set(got), set(want))
        for name in got:
            self.assertTrue(torch.equal(got[name], want[name]), name)
        flat = brim.torch.Collator(padding="none", for_attention="flash")(items)
        self.assertEqual(flat["cu_seq_lens_q"].tolist()[-1], flat["input_ids"].shape[1])
        with self.assertRaises(ValueError):
            brim.torch.Collator(padding="longest")
        for idle in ({"max_length": 4}, {"padding": "none", "max_length": 4}, {"padding": "none", "pad_to_multiple_of": 8}):
            with self.assertRaisesRegex(ValueError, list(idle)[-1]):
                brim.torch.Collator(theirs, **idle)
        batches = brim.Dataset.from_texts(["a good film"], brim.Tokenizer(HERE / "model")).batches(batch_size=1, padding="longest")
        for name in ("batch_size", "shuffle", "drop_last"):
            with self.assertRaisesRegex(TypeError, f"^{name}: the source has chosen its batches"):
                brim.torch.DataLoader(batches, **{name: 1})

    def test_collator_of_labels(self):
        """labels of tokens as DataCollatorForTokenClassification pads them, and flat; floats of each label; what fits neither"""
        theirs = transformers.AutoTokenizer.from_pretrained(HERE / "model")
        items = [{"input_ids": list(range(2, 2 + n)), "attention_mask": [1] * n, "labels": [-100, *range(n - 2), -100]} for n in (4, 7, 3)]
        want = transformers.DataCollatorForTokenClassification(theirs, pad_to_multiple_of=4)([dict(i) for i in items])
        got = brim.torch.Collator(theirs, pad_to_multiple_of=4)(items)
        self.assertTrue(all(torch.equal(got[k], want[k]) for k in ("input_ids", "attention_mask", "labels")))
        flat = brim.torch.Collator(padding="none")([{**i, "labels": torch.tensor(i["labels"])} for i in items])
        self.assertEqual(flat["labels"].tolist(), [[one for i in items for one in i["labels"]]])
        many = brim.torch.Collator(theirs)([{"input_ids": [1, 2], "labels": row} for row in ([0.0, 1.0, 1.0], [1.0, 0.0, 0.0])])
        padded = [{"input_ids": [1, 2, 0], "attention_mask": [1, 1, 0], "labels": row} for row in ([0.0, 1.0, 1.0], [1.0, 0.0, 0.0])]
        self.assertEqual(brim.torch.Collator(theirs)(padded)["labels"].tolist(), many["labels"].tolist())  # as many as tokens, and of the row
        self.assertEqual((many["labels"].dtype, many["labels"].tolist()), (torch.float32, [[0, 1, 1], [1, 0, 0]]))
        with self.assertRaisesRegex(ValueError, "as many as input_ids"):
            brim.torch.Collator(theirs)([{"input_ids": [1, 2], "labels": [1, 2, 3]}])
        one, typed = {"input_ids": [1, 2]}, {"input_ids": [1, 2], "token_type_ids": [0, 1]}
        for rows, message in [([one, typed], 'row 0 has no "token_type_ids"'), ([typed, one], 'row 1 has no "token_type_ids"'),
                              ([typed, {**typed, "token_type_ids": [0]}], "row 1: its token_type_ids has 1 values for 2 tokens")]:
            for padding in ("longest", "none"):
                with self.assertRaisesRegex(ValueError, message):
                    brim.torch.Collator(theirs, padding=padding)(rows)

    def test_states_that_are_none(self):
        """a state of something else, or of another place, is refused when it is loaded"""
        sampler = brim.torch.BatchSampler([3, 4, 5], batch_size=2)
        for state in (None, {}, {"version": 1}, {**sampler.state_dict(), "version": 1}, {**sampler.state_dict(), "batch": 9}, {**sampler.state_dict(), "of": {}}):
            with self.assertRaises(brim.errors.MismatchError):
                sampler.load_state_dict(state)
        for state in (None, {}, sampler.state_dict()):
            with self.assertRaises(brim.errors.MismatchError):
                brim.torch.IterableDataset(brim.Dataset.from_texts(["a"], TOKENIZER).batches()).load_state_dict(state)
        for rank in (-1, 2):
            with self.assertRaisesRegex(ValueError, f"rank {rank} of 2"):
                brim.torch.BatchSampler([3, 4, 5], rank=rank, world_size=2)
        self.assertEqual(len(brim.Plan([3, 4, 5], batch_size=2, world_size=None)), 2)

    def test_collator_of_padded_rows(self):
        """what the tokenizer's mask hides is cut off or stays hidden; never seen"""
        theirs = transformers.AutoTokenizer.from_pretrained(HERE / "model")
        items = [dict(theirs(text, padding="max_length", max_length=9, truncation=True), label=0) for text in ("a good film", "bad")]
        lengths = [sum(item["attention_mask"]) for item in items]
        got = brim.torch.Collator(theirs)(items)
        self.assertEqual((got["attention_mask"].sum(1).tolist(), got["input_ids"].shape[1]), (lengths, max(lengths)))
        flat = brim.torch.Collator(theirs, padding="none")(items)
        self.assertEqual(flat["input_ids"][0].tolist(), [i for item, n in zip(items, lengths) for i in item["input_ids"][:n]])
        hidden = {"input_ids": [5, 6, 7, 0], "attention_mask": [1, 0, 1, 0]}
        self.assertEqual(brim.torch.Collator(theirs)([hidden])["attention_mask"].tolist(), [[1, 0, 1]])
        with self.assertRaisesRegex(ValueError, "row 0: its attention_mask hides tokens"):
            brim.torch.Collator(theirs, padding="none")([hidden])

    def test_collator_of_more(self):
        """what else rows hold goes along, or is refused by name"""
        theirs = transformers.AutoTokenizer.from_pretrained(HERE / "model")
        rows = [{"input_ids": [2, 5, 3], "label_ids": 1, "weight": 0.5, "special_tokens_mask": [1, 0, 1], "two": [1, 2]},
                {"input_ids": [2, 3], "label_ids": 0, "weight": 2.0, "special_tokens_mask": [1, 1], "two": [3, 4]}]
        got = {name: value.tolist() for name, value in brim.torch.Collator(theirs)(rows).items()}
        self.assertEqual((got["labels"], got["weight"], got["special_tokens_mask"], got["two"]), ([1, 0], [0.5, 2.0], [[1, 0, 1], [1, 1, 1]], [[1, 2], [3, 4]]))
        self.assertEqual(brim.torch.Collator(theirs, padding="none")(rows)["special_tokens_mask"].tolist(), [[1, 0, 1, 1, 1]])
        for wrong, words in (({"label": None}, 'row 1: "labels" is None'), ({"text": "a"}, '"text" is \'a\', no number.*leave_out'), ({}, 'row 1 has no "labels"')):
            with self.assertRaisesRegex(ValueError, words):
                brim.torch.Collator(theirs)([{"input_ids": [2, 3], "label": 1}, {"input_ids": [2, 3], **wrong}])
        self.assertEqual(set(brim.torch.Collator(theirs, leave_out=["text"])([{"input_ids": [2], "text": "a"}])), {"input_ids", "attention_mask"})

    def test_rows_that_are_wrong(self):
        """numbers that a tensor cannot hold, two labels, rows that are no dicts: with the row"""
        collate, good = brim.torch.Collator(pad_id=0), {"input_ids": [1], "label": 0}
        for row, words in (({"labels": 1}, 'row 1 has "label" and "labels"'), ({"label": 2**63}, 'row 1: "labels" is 9223372036854775808'), ({"input_ids": [1.5]}, 'row 1: "input_ids" has 1.5, no whole'),
                           ({"input_ids": [[1]]}, 'row 1: "input_ids" has'), ({"x": [[0.5]]}, 'row 1: "x" has'), ({"label": object()}, 'row 1: "labels" is <object')):
            with self.assertRaisesRegex(ValueError, words):
                collate([good, {**good, **row}])
        with self.assertRaisesRegex(ValueError, "row 1 is .*a dict with input_ids"):
            collate([good, (1, 2)])
        with self.assertRaisesRegex(ValueError, "lengths: row 0 has 1.5"):
            brim.torch.BatchSampler([1.5], batch_size=1)


SIZES = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48, "max_position_embeddings": 80, "pad_token_id": 1,
         "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


class PaddingFree(unittest.TestCase):
    """Texts of a ragged batch do not see each other, whatever attention the model has, and their positions are those of padded rows."""

    def rows(self, pad_id):
        ids = [[2 + (7 * i + 3 * j) % 90 for j in range(length)] for i, length in enumerate([4, 19, 1, 33, 12, 7, 33, 2])]
        return brim.Dataset.from_ids(ids, labels=[i % 2 for i in range(8)], pad_id=pad_id)

    def test_hidden_states(self):
        for family, more in {"bert": {}, "roberta": {}, "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 2}}.items():
            torch.manual_seed(3)
            model = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(family, **{**SIZES, **more})).eval()
            rows = self.rows(1)
            for attention in ("sdpa", "eager"):
                with self.subTest(family, attention=attention):
                    model.set_attn_implementation(attention)
                    batch = lambda padding: next(iter(rows.batches(batch_size=8, batching="sequential", padding=padding)))
                    drop = ("labels", "token_type_ids") if family == "modernbert" else ("labels",)
                    take = lambda arrays: {k: v for k, v in arrays.items() if k not in drop}
                    mine, padded = take(batch("none").torch(model=model)), take(batch("longest").torch())
                    with torch.no_grad():
                        want = model(**padded).last_hidden_state[padded["attention_mask"].bool()]
                        found = model(**mine).last_hidden_state
                        alone = model(**{k: v for k, v in mine.items() if k != "attention_mask"}).last_hidden_state
                    self.assertLess((found[0] - want).abs().max().item(), 1e-5)
                    self.assertGreater((alone[0] - want).abs().max().item(), 1e-2)
                    for ragged in (mine, batch("none")):
                        self.assertEqual([len(part) for part in brim.torch.split_rows(found, ragged)], rows.lengths.tolist())
                    self.assertRaisesRegex(ValueError, "the batch is padded", brim.torch.first_tokens, batch("longest"))

    def test_of_the_tokenizer(self):
        """without a model the tokenizer's folder says where positions begin; flash attention's lengths come when they are asked for"""
        for golden, first in (("roberta-binary", 2), ("mpnet-cls", 2), ("distilbert-4", 0)):
            folder = HERE / f"ragged-{golden}"
            shutil.copytree(HERE / "model", folder)
            shutil.copy(GOLDEN / golden / "config.json", folder)
            data = brim.Dataset.from_texts(["a good film", "bad"], pickle.loads(pickle.dumps(brim.Tokenizer(folder))))
            for batch in (next(iter(data.batches(batching="sequential"))), pickle.loads(pickle.dumps(next(iter(data.batches(batching="sequential")))))):
                lengths = data.lengths.tolist()
                self.assertEqual(batch.torch()["position_ids"].tolist(), [[*range(first, first + lengths[0]), *range(first, first + lengths[1])]])
                self.assertNotIn("cu_seq_lens_q", batch.torch())
                self.assertEqual(batch.torch(for_attention="flash")["cu_seq_lens_q"].tolist(), [0, lengths[0], sum(lengths)])
                masks = [batch.torch(for_attention=kind)["attention_mask"] for kind in ("sdpa", "eager")]
                self.assertTrue(torch.equal(masks[0], masks[1] == 0) and masks[0].sum() == sum(n * n for n in lengths))
            stream = brim.data.stream(TRAIN, data.tokenizer, labels=["0", "1"], batch_size=2, max_length=20)
            self.assertEqual(next(iter(stream)).torch()["position_ids"][0, :2].tolist(), [first, first + 1])
            items = [data[i] for i in range(2)]
            self.assertEqual(brim.torch.Collator(data.tokenizer, padding="none")(items)["position_ids"].tolist(), batch.torch()["position_ids"].tolist())
            loader = brim.torch.DataLoader(data.batches(batching="sequential"), for_attention="flash", num_workers=1)
            self.assertIn("cu_seq_lens_q", next(iter(loader)))
        with self.assertRaisesRegex(ValueError, '"flash", "sdpa" or "eager"'):
            batch.torch(for_attention="none")
        for call, name in ((lambda: batch.torch(for_attention=True), "for_attention"), (lambda: batch.torch(model="bert"), "model: "),
                           (lambda: brim.torch.first_tokens(None), "batch: "), (lambda: brim.torch.split_rows(None, batch), "values: "),
                           (lambda: brim.torch.tensors(None), "arrays: ")):
            with self.assertRaisesRegex(TypeError, name):
                call()
        with self.assertRaisesRegex(brim.errors.UsageError, "width is 2147483648"):
            batch.padded(width=2**31)

    def test_worked_example(self):
        out = case.script(GOLDEN.parents[2] / "examples" / "python" / "padding_free.py", HERE / "model", TRAIN)
        self.assertTrue(all(float(d) < 1e-5 for d in re.findall(r"differ from the padded ones' by (\S+)", out)), out)
        losses = [[float(x) for x in found.split(", ")] for found in re.findall(r"loss (.*)", out)]
        self.assertTrue(len(losses) == 2 and all(last < first for first, last in losses), out)


FORMS = ("bfloat16 in parts", "float16", "pytorch_model.bin")


def save_as(form, model, folder):
    """As files of other kinds: 16 bits, several with an index, a pickle."""
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    if form == "bfloat16 in parts":
        model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="12KB")
        assert (folder / "model.safetensors.index.json").exists()
    elif form == "float16":
        model.to(torch.float16).save_pretrained(folder)
    else:
        model.save_pretrained(folder)
        torch.save(safetensors.torch.load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    model.to(torch.float32).load_state_dict(kept)


class Parity(unittest.TestCase):
    def same_logits(self, folder):
        """brim's logits of transformers' folder, and transformers' of the one that brim saves."""
        draw = torch.Generator().manual_seed(3)
        theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
        model = brim.Model(folder, tokenizer=TOKENIZER)
        lengths = [3, 17, 8, 1, 12]
        texts = [torch.randint(5, model._facts["vocab_size"], (n,), generator=draw).tolist() for n in lengths]
        offsets = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        ours = torch.tensor(model.logits(brim.Dataset.from_ids(sum(texts, []), offsets)).tolist())

        def logits(of):
            with torch.no_grad():
                return torch.cat([of(input_ids=torch.tensor([t]), attention_mask=torch.ones(1, len(t), dtype=torch.int64)).logits for t in texts])

        want = logits(theirs)
        self.assertLess((ours - want).abs().max().item(), 1e-4, folder.name)
        self.assertGreater(want.std().item(), 1e-2, folder.name)
        model._core.save(str(HERE / "saved" / folder.name))
        again = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "saved" / folder.name).eval()
        self.assertIs(type(again), type(theirs))
        one, other = again.state_dict(), theirs.state_dict()
        self.assertEqual(list(one), list(other))
        self.assertTrue(all(torch.equal(one[name], other[name]) for name in one), folder.name)
        self.assertLess((logits(again) - want).abs().max().item(), 1e-5)  # torch rounds by where in a file a tensor lies

    def test_golden_models(self):
        """Logits of the stored models are those of transformers."""
        if not GOLDEN.is_dir():
            self.skipTest("there are no golden models")
        for folder in sorted(GOLDEN.iterdir()):
            config = folder / "config.json"
            if config.exists() and "ForSequenceClassification" in config.read_text():
                self.same_logits(folder)

    def test_every_family(self):
        """The same with random weights, made here by transformers."""
        size = {"vocab_size": 90, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
        roberta = size | {"max_position_embeddings": 40, "type_vocab_size": 1, "pad_token_id": 1}
        families = {"bert": size | {"max_position_embeddings": 40}, "ernie": size | {"max_position_embeddings": 40}, "roberta": roberta, "camembert": roberta, "xlm-roberta": roberta,
                    "distilbert": {"vocab_size": 90, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "max_position_embeddings": 40},
                    "electra": size | {"max_position_embeddings": 40, "embedding_size": 20},
                    "albert": size | {"max_position_embeddings": 40, "embedding_size": 20, "num_hidden_layers": 4, "num_hidden_groups": 2},
                    "mpnet": size | {"max_position_embeddings": 40, "pad_token_id": 1},
                    "deberta-v2": size | {"max_position_embeddings": 40, "relative_attention": True, "position_buckets": 8,
                                          "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm",
                                          "position_biased_input": False},
                    "modernbert": size | {"max_position_embeddings": 60, "num_hidden_layers": 4, "local_attention": 6, "pad_token_id": 0,
                                          "classifier_pooling": "mean"},
                    "nomic_bert": size | {"max_position_embeddings": 40},
                    "gte": size | {"max_position_embeddings": 40, "type_vocab_size": 0},
                    "jina_embeddings_v3": size | {"max_position_embeddings": 40},
                    "eurobert": size | {"max_position_embeddings": 40, "num_key_value_heads": 2, "pad_token_id": 0}}
        others = [("deberta-v2", families["deberta-v2"] | {"share_att_key": False, "embedding_size": 20, "type_vocab_size": 2}),
                  ("deberta-v2", families["deberta-v2"] | {"relative_attention": False, "position_biased_input": True, "pos_att_type": None,
                                                            "norm_rel_ebd": "none"})]
        torch.manual_seed(5)
        for number, (name, sizes) in enumerate([*families.items(), *others]):
            config = transformers.AutoConfig.for_model(name, num_labels=3, initializer_range=0.2, **sizes)
            model = transformers.AutoModelForSequenceClassification.from_config(config)
            for parameter in model.parameters():  # biases and norms too, which begin as 0 and 1
                parameter.data += 0.1 * torch.randn(parameter.shape)
            model.save_pretrained(HERE / f"random-{number}-{name}")
            self.same_logits(HERE / f"random-{number}-{name}")
            for form in FORMS[number % 3], FORMS[(number + 1) % 3]:
                save_as(form, model, HERE / f"{form}-{number}-{name}")
                self.same_logits(HERE / f"{form}-{number}-{name}")

    def older(self, name, sizes, change, prefix=("", "")):
        """A folder whose config.json and names of tensors are older ones: read as the newer ones, and transformers reads what is saved."""
        config = transformers.AutoConfig.for_model(name, num_labels=3, initializer_range=0.2, **sizes)
        model = transformers.AutoModelForSequenceClassification.from_config(config)
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"older-{name}-", dir=HERE))
        model.save_pretrained(folder / "newer")
        members = json.loads((folder / "newer" / "config.json").read_text())
        change(members)
        (folder / "config.json").write_text(json.dumps(members))
        tensors = safetensors.torch.load_file(folder / "newer" / "model.safetensors")
        safetensors.torch.save_file({n.replace(*prefix): t for n, t in tensors.items()}, folder / "model.safetensors")
        newer, older = brim.Model(folder / "newer", tokenizer=TOKENIZER), brim.Model(folder, tokenizer=TOKENIZER)
        rows = brim.Dataset.from_ids([5, 6, 7, 8, 9, 10, 11], [0, 3, 7])
        self.assertEqual(older.logits(rows).tolist(), newer.logits(rows).tolist(), name)
        older._core.save(str(folder / "saved"))
        again = transformers.AutoModelForSequenceClassification.from_pretrained(folder / "saved").eval()
        self.assertIs(type(again), type(model))
        with torch.no_grad():
            for text, ours in (([5, 6, 7], 0), ([8, 9, 10, 11], 1)):
                want = again(input_ids=torch.tensor([text]), attention_mask=torch.ones(1, len(text), dtype=torch.int64)).logits[0]
                self.assertLess((torch.tensor(older.logits(rows).tolist()[ours]) - want).abs().max().item(), 1e-5, name)

    def test_older_files(self):
        size = {"vocab_size": 90, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}

        def nomic(members):
            for old, new in (("n_embd", "hidden_size"), ("n_layer", "num_hidden_layers"), ("n_head", "num_attention_heads"),
                             ("n_inner", "intermediate_size"), ("n_positions", "max_position_embeddings"),
                             ("layer_norm_epsilon", "layer_norm_eps"), ("resid_pdrop", "hidden_dropout_prob"),
                             ("attn_pdrop", "attention_probs_dropout_prob")):
                members[old] = members.pop(new)
            for name in ("hidden_act", "head_dim", "rope_parameters"):
                members.pop(name)
            members.update(activation_function="swiglu", rotary_emb_base=500, rotary_scaling_factor=None, prenorm=False)

        def new(members):
            members.pop("rope_parameters")
            members.update(model_type="new", rope_theta=20000, rope_scaling={"type": "ntk", "factor": 8.0},
                           position_embedding_type="rope", pack_qkv=True)

        self.older("nomic_bert", size | {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}, "max_position_embeddings": 64},
                   nomic, ("nomic_bert.", "bert."))

        def flat(members):
            members["rope_theta"] = members.pop("rope_parameters")["rope_theta"]

        def thetas(members):
            for older, kind in (("global_rope_theta", "full_attention"), ("local_rope_theta", "sliding_attention")):
                members[older] = members["rope_parameters"][kind]["rope_theta"]
            for name in ("rope_parameters", "layer_types"):
                members.pop(name)
            members.update(global_attn_every_n_layers=2, position_embedding_type="sans_pos")  # the last is mmBERT's

        for name in ("nomic_bert", "gte", "jina_embeddings_v3", "eurobert"):
            more = {"num_key_value_heads": 2, "pad_token_id": 0} if name == "eurobert" else {}
            self.older(name, size | more | {"rope_parameters": {"rope_type": "default", "rope_theta": 3.5}, "max_position_embeddings": 64}, flat)
        kinds = {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in (("full_attention", 30.5), ("sliding_attention", 4.5))}
        self.older("modernbert", size | {"rope_parameters": kinds, "global_attn_every_n_layers": 2, "local_attention": 4, "pad_token_id": 0,
                                         "max_position_embeddings": 64, "num_hidden_layers": 3}, thetas)
        scaled = {"rope_type": "linear", "rope_theta": 160000.0, "factor": 8.0 ** (2 / 8)}  # what the published code computes
        self.older("gte", size | {"rope_parameters": scaled, "max_position_embeddings": 64}, new, ("gte.", "new."))

    def test_there_and_back(self):
        """A model of transformers, trained by brim, opened by transformers."""
        config = transformers.BertConfig(vocab_size=TOKENIZER.vocab_size, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                                         intermediate_size=64, max_position_embeddings=64, num_labels=2)
        transformers.BertForSequenceClassification(config).save_pretrained(HERE / "theirs")
        TOKENIZER.save(HERE / "theirs")
        result = brim.train(HERE / "theirs", TRAIN, output=HERE / "trained", epochs=2, lr=1e-3)
        theirs = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "trained").eval()
        words = transformers.AutoTokenizer.from_pretrained(HERE / "trained")
        texts = ["a good film", "so very dull a plot"]
        with torch.no_grad():
            want = theirs(**words(texts, padding=True, return_tensors="pt")).logits
        ours = torch.tensor(result.model.logits(texts).tolist())
        self.assertLess((ours - want).abs().max().item(), 1e-5)


class Pooling(unittest.TestCase):
    """README.md of a model that looks at all tokens: its lines give brim's logits in transformers."""

    def logits_of(self, folder):
        code = re.search(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.S)[1]
        before, names = os.getcwd(), {}
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(code, names)
        finally:
            os.chdir(before)
        return names["logits"]

    def plain_logits_of(self, folder):
        batch = transformers.AutoTokenizer.from_pretrained(folder)(["a text", "another, longer text"], padding=True, return_tensors="pt")
        with torch.no_grad():
            return transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()(**batch).logits

    def test_readme(self):
        sizes = {"vocab_size": len(brim.Tokenizer(HERE / "model")), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                 "intermediate_size": 64, "max_position_embeddings": 66, "pad_token_id": 0, "num_labels": 3}
        relative = {"relative_attention": True, "position_buckets": 8, "max_relative_positions": -1, "norm_rel_ebd": "layer_norm", "share_att_key": True,
                    "pos_att_type": ["p2c", "c2p"], "position_biased_input": False, "type_vocab_size": 0, "pooler_hidden_size": 32}
        families = {"bert": {}, "roberta": {"type_vocab_size": 1}, "xlm-roberta": {"type_vocab_size": 1}, "camembert": {"type_vocab_size": 1}, "deberta-v2": relative, "electra": {"embedding_size": 16}, "albert": {"embedding_size": 16}, "mpnet": {"pad_token_id": 1},
                    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}, "nomic_bert": {}, "gte": {}, "eurobert": {"num_key_value_heads": 2, "classifier_pooling": "bos"},
                    "modernbert": {"global_attn_every_n_layers": 2, "local_attention": 8}}
        for family, more in families.items():
            folder = HERE / f"pool-{family}"
            transformers.AutoModelForSequenceClassification.from_config(transformers.AutoConfig.for_model(family, **{**sizes, **more})).save_pretrained(folder)
            for name in ("tokenizer.json", "vocab.txt"):
                if (HERE / "model" / name).exists():
                    shutil.copy(HERE / "model" / name, folder)
            known = json.loads((HERE / "model" / "tokenizer_config.json").read_text())
            (folder / "tokenizer_config.json").write_text(json.dumps({**known, "pad_token": "[PAD]"}))
            for layers, pooling in (("weighted", None), ("joined:2", "mean"), ("weighted:3", "max")):
                with self.subTest(family, layers=layers):
                    model = brim.Model(folder, pooling=pooling, layers=layers, untrained=True)
                    model.save(folder / layers)
                    want = torch.tensor(model.logits(["a text", "another, longer text"]).tolist())
                    self.assertLess(float((self.logits_of(folder / layers) - want).abs().max()), 1e-5)
                    again = torch.tensor(brim.Model(folder / layers).logits(["a text", "another, longer text"]).tolist())
                    self.assertEqual(again.tolist(), want.tolist())
            for pooling in ("mean", "max"):
                with self.subTest(family, pooling=pooling):
                    model = brim.Model(folder, pooling=pooling)
                    model.save(folder / pooling)
                    want = torch.tensor(model.logits(["a text", "another, longer text"]).tolist())
                    own = pooling == "mean" and family in ("eurobert", "modernbert")  # config.json says it, and transformers does it
                    self.assertEqual((folder / pooling / "README.md").exists(), not own)
                    self.assertLess(float(((self.plain_logits_of if own else self.logits_of)(folder / pooling) - want).abs().max()), 1e-5)
                    plain = brim.Model(folder).logits(["a text", "another, longer text"]).tolist()
                    self.assertGreater(float((torch.tensor(plain) - want).abs().max()), 1e-4)


class Runs(Pooling):
    """README.md of a run: its lines cut texts and pairs as the run's folder has brim cut them."""
    TEXTS = ["a film that was long and dull and slow and bad and no good at all", "great fun", "the plot was funny and the story was good and long"]
    SECONDS = ["but very funny and great and good and warm and long", "the story was bad and no good at all and dull and slow", "so slow"]

    def lines_of(self, folder, pairs):
        """README.md's lines, of other texts."""
        readme = folder / "README.md"
        written = readme.read_text()
        texts = re.sub(r"^texts = .*$", f"texts = {self.TEXTS!r}", written, flags=re.M)
        readme.write_text(re.sub(r"^pairs = .*$", f"pairs = {self.SECONDS if pairs else None!r}", texts, flags=re.M))
        try:
            return self.logits_of(folder), written
        finally:
            readme.write_text(written)

    def test_readme(self):
        cases = [({"pooling": "mean"}, {}), ({"pooling": "max"}, {"truncation_side": "left"}), ({"layers": "weighted:2"}, {}),
                 ({"pooling": "mean"}, {"truncation": "only_second"}), ({"no_type_ids": True}, {"truncation": "only_first", "truncation_side": "left"}),
                 ({"pooling": "mean", "windows": 2}, {}), ({"pooling": "max", "no_type_ids": True}, {"max_length": None})]
        for number, (options, cutting) in enumerate(cases):
            for pairs in (False, True):
                if pairs and "windows" in options or not pairs and ("truncation" in cutting or options == {"no_type_ids": True}):
                    continue  # of pairs alone, or not of them
                with self.subTest(options, cutting=cutting, pairs=pairs):
                    run = HERE / f"lines-{number}-{pairs}"
                    own = dict(options)
                    windows = {"windows": own.pop("windows")} if "windows" in own else {}
                    data = brim.Dataset.from_texts(self.TEXTS, TOKENIZER, pairs=self.SECONDS if pairs else None, labels=["a", "b", "a"],
                                                   **{"max_length": 24 if pairs else 15, **cutting, **windows})
                    brim.train(HERE / "model", data, output=run, max_steps=2, batch_size=4, lr=1e-2, **own)
                    got, readme = self.lines_of(run, pairs)
                    want = brim.Model(run).logits(list(zip(self.TEXTS, self.SECONDS, strict=True)) if pairs else self.TEXTS)
                    differs = [row > 1e-5 for row in (got - torch.tensor(want.tolist())).abs().max(1).values.tolist()]
                    self.assertEqual(differs, [True, False, True] if windows else [False] * 3)
                    self.assertEqual("up to 16 windows that overlap by 2 tokens" in readme, bool(windows))


class Types(Pooling):
    """README.md of a model that ignores types of tokens: its lines give brim's logits of pairs."""

    def test_readme(self):
        sizes = {"vocab_size": len(brim.Tokenizer(HERE / "model")), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                 "intermediate_size": 64, "max_position_embeddings": 66, "pad_token_id": 0, "num_labels": 3}
        pairs = [("a text", "its pair"), ("another, longer text", "a second text")]
        for family in ("bert", "electra", "albert", "nomic_bert"):
            folder = HERE / f"types-{family}"
            more = {} if family == "bert" or family == "nomic_bert" else {"embedding_size": 16}
            transformers.AutoModelForSequenceClassification.from_config(transformers.AutoConfig.for_model(family, **{**sizes, **more})).save_pretrained(folder)
            for name in ("tokenizer.json", "vocab.txt", "tokenizer_config.json"):
                if (HERE / "model" / name).exists():
                    shutil.copy(HERE / "model" / name, folder)
            config = json.loads((folder / "config.json").read_text())
            plain = torch.tensor(brim.Model(folder).logits(pairs).tolist())
            (folder / "config.json").write_text(json.dumps({**config, "brim_type_ids": False}))
            for pooling, saved in ((None, "first"), ("mean", "mean")):
                with self.subTest(family, pooling=pooling):
                    model = brim.Model(folder, pooling=pooling)
                    model.save(folder / saved)
                    want = torch.tensor(model.logits(pairs).tolist())
                    self.assertLess(float((self.logits_of(folder / saved) - want).abs().max()), 1e-5)
                    self.assertGreater(float((plain - want).abs().max()), 1e-5)


class Trainers(unittest.TestCase):
    def test_transformers_trainer(self):
        """The recipe of docs/users/python.md: brim's batches under transformers.Trainer."""
        try:
            import accelerate  # noqa: F401
        except ImportError:
            self.skipTest("accelerate is not installed")
        data = rows()
        seen = []

        class Trainer(transformers.Trainer):
            def get_train_dataloader(self):
                return brim.torch.DataLoader(data.batches(batch_size=8, batching="uniform", padding="longest", seed=self.args.seed))

            def training_step(self, model, inputs, *args, **kwargs):
                seen.append(inputs["input_ids"].tolist())
                return super().training_step(model, inputs, *args, **kwargs)

        brim.Model(HERE / "model", labels=["0", "1"]).save(HERE / "for-trainer")
        model = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "for-trainer")
        arguments = transformers.TrainingArguments(output_dir=str(HERE / "trainer"), num_train_epochs=2, report_to=[], save_strategy="no",
                                                   disable_tqdm=True, use_cpu=True, seed=7, logging_strategy="no")
        Trainer(model=model, args=arguments).train()
        ours = data.batches(batch_size=8, batching="uniform", padding="longest", seed=7)
        self.assertEqual(seen, [b.padded()["input_ids"].tolist() for _ in range(2) for b in ours])

    def test_rows_as_train_dataset(self):
        """A Dataset of brim where Trainer wants one of torch's."""
        try:
            import accelerate  # noqa: F401
        except ImportError:
            self.skipTest("accelerate is not installed")
        data = rows()
        brim.Model(HERE / "model", labels=["0", "1"]).save(HERE / "for-rows")
        model = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "for-rows")
        arguments = transformers.TrainingArguments(output_dir=str(HERE / "trainer-of-rows"), num_train_epochs=4, learning_rate=3e-3, report_to=[], save_strategy="no",
                                                   disable_tqdm=True, use_cpu=True, seed=7, logging_strategy="no")
        trainer = transformers.Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data[:40],
                                       data_collator=transformers.DataCollatorWithPadding(transformers.AutoTokenizer.from_pretrained(HERE / "model")))
        before = trainer.evaluate()["eval_loss"]
        trainer.train()
        self.assertLess(trainer.evaluate()["eval_loss"], before)

    def test_accelerate(self):
        try:
            from accelerate import Accelerator
        except ImportError:
            self.skipTest("accelerate is not installed")
        data = rows()
        accelerator = Accelerator(cpu=True)
        brim.Model(HERE / "model", labels=["0", "1"]).save(HERE / "for-accelerate")
        model = transformers.AutoModelForSequenceClassification.from_pretrained(HERE / "for-accelerate")
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        model, optimizer = accelerator.prepare(model, optimizer)
        batches = data.batches(batch_size=8, padding="longest", rank=accelerator.process_index, world_size=accelerator.num_processes)
        losses = []
        for _ in range(4):
            for batch in batches:
                loss = model(**batch.torch(device=accelerator.device)).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
        self.assertLess(sum(losses[-12:]), sum(losses[:12]))


if __name__ == "__main__":
    case.main()
