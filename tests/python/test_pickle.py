"""Pickle: everything that a worker process may be sent, with every way of starting one."""
import multiprocessing
import pickle
import shutil
import unittest

import brim
import case

HERE = case.folder()
TOKENIZER = brim.Tokenizer(HERE / "model")
TRAIN = HERE / "data" / "train.csv"


def few(longest):
    return max(1, 100 // longest)


def there_and_back(thing):
    return pickle.loads(pickle.dumps(thing))


def rows_of(batches):
    return [batch.rows.tolist() for batch in batches]


def pass_of(batches):
    """What a worker does: one pass, as batches that go back by pickle."""
    return list(batches)


def logits_of(model):
    return model.logits(["a good film", "a bad one"]).tolist()


class Pickle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = brim.Dataset.from_csv(TRAIN, TOKENIZER, max_length=20)

    def test_tokenizer_without_its_files(self):
        """It takes its files along: the folder may be gone, or not be there in another process."""
        shutil.copytree(HERE / "model", HERE / "gone", dirs_exist_ok=True)
        tokenizer = brim.Tokenizer(HERE / "gone")
        packed = pickle.dumps(tokenizer)
        shutil.rmtree(HERE / "gone")
        again = there_and_back(pickle.loads(packed))
        self.assertEqual((again.fingerprint, again.path, again.uses_type_ids), (TOKENIZER.fingerprint, tokenizer.path, True))
        self.assertEqual(again.encode("a good film").ids.tolist(), TOKENIZER.encode("a good film").ids.tolist())

    def test_plan(self):
        plan = brim.Plan(self.rows.lengths, batch_size=8, batching="uniform", epoch=3, seed=7)
        self.assertEqual(there_and_back(plan).ledger(), plan.ledger())
        plan = brim.Plan([3, 9, 4] * 5, rank=1, world_size=2, rows_for=few)
        again = there_and_back(plan)
        self.assertEqual([p["rows"].tolist() for p in again], [p["rows"].tolist() for p in plan])

    def test_batches(self):
        """The copy continues where the original stands, and the two do not disturb each other."""
        for options in ({"batch_size": 8}, {"rows_for": few, "padding": "longest"}, {"key": list(range(1, 97)), "batch_size": 8}):
            batches = self.rows.batches(seed=3, **options)
            whole = rows_of(batches)
            self.assertEqual(rows_of(there_and_back(self.rows.batches(seed=3, **options))), whole)
            batches.set_epoch(0)
            running = iter(batches)
            taken = [next(running).rows.tolist() for _ in range(3)]
            again = there_and_back(batches)
            self.assertEqual(again.state_dict(), batches.state_dict())
            again.load_state_dict(again.state_dict())
            self.assertEqual(taken + rows_of(again), whole)
            self.assertEqual(taken + [b.rows.tolist() for b in running], whole)

    def test_batch(self):
        many = brim.Dataset.from_texts(["good film", "plot"], TOKENIZER, labels=[["a", "b"], ["b"]], task="multi_label")
        for batch in (*self.rows.batches(batch_size=30, padding="longest"), *self.rows.batches(batch_size=30), *many.batches(),
                      *many.batches(world_size=3, rank=2)):  # the last one has no rows
            again = there_and_back(batch)
            self.assertEqual({k: v if isinstance(v, int) else v.tolist() for k, v in again.arrays().items()},
                             {k: v if isinstance(v, int) else v.tolist() for k, v in batch.arrays().items()})
            for name in ("epoch", "index", "step", "step_rows", "width", "slots", "tokens"):
                self.assertEqual(getattr(again, name), getattr(batch, name))
            self.assertEqual((again.rows.tolist(), again.places.tolist()), (batch.rows.tolist(), batch.places.tolist()))

    def test_arrays(self):
        import array
        lengths = self.rows.lengths
        self.assertEqual(there_and_back(lengths).tolist(), lengths.tolist())
        table = next(iter(self.rows.batches(batch_size=4, padding="longest"))).padded()["input_ids"]
        self.assertEqual((there_and_back(table).tolist(), there_and_back(table).shape), (table.tolist(), table.shape))
        for wrong in (("i", b"abc", 1, -1), ("x", b"abcd", 1, -1), ("i", b"abcd", -1, -1), ("i", b"abcdefgh", 1, 1), ("i", b"abcd", 2**62, 4)):
            with self.assertRaises(ValueError):
                brim._core.array(*wrong)
        words = lambda *numbers: array.array("i", numbers)
        for offsets in (words(0, 5), words(0, 2, 1), words(1, 1), words()):
            with self.assertRaises(ValueError):
                brim._core.batch(brim.runtime.default(), words(1, 2), bytes(2), offsets, [0.0], [0], [0], None, None, 1, 0, 2, 0, 1)
        with self.assertRaises(ValueError):  # one label, and two tokens
            brim._core.batch(brim.runtime.default(), words(1, 2), bytes(2), words(0, 2), [0.0], [0], [0], words(1), None, 1, 0, 2, 0, 1)

    def test_model(self):
        model = brim.train(HERE / "model", TRAIN, max_steps=2).model
        again = there_and_back(model)
        self.assertEqual(logits_of(again), logits_of(model))
        self.assertEqual((again.labels.names, again.path), (["0", "1"], model.path))
        self.assertEqual(logits_of(there_and_back(again)), logits_of(model))
        with self.assertRaises(brim.errors.MismatchError):
            there_and_back(brim.Model(HERE / "model")).predict(["a"])

    def test_every_way_to_start_a_process(self):
        model = brim.train(HERE / "model", TRAIN, max_steps=1).model
        batches = self.rows.batches(batch_size=16, padding="longest")
        want, logits = rows_of(self.rows.batches(batch_size=16, padding="longest")), logits_of(model)
        for method in multiprocessing.get_all_start_methods():
            with self.subTest(method), multiprocessing.get_context(method).Pool(1) as pool:
                self.assertEqual(rows_of(pool.apply(pass_of, (batches,))), want)
                self.assertEqual(pool.apply(logits_of, (model,)), logits)


if __name__ == "__main__":
    case.main()
