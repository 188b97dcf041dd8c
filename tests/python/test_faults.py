"""Calls of the extension whose n-th allocation of Python's fails, one after the other: MemoryError, or what comes of it otherwise, and never a crash, half of
a result, or conditions that were left out."""
import importlib
import json
import types
import unittest
import unittest.mock

import brim
import case
from brim import _core

HERE = case.folder()
MODEL = HERE / "model"
ROWS = [{"text": text, "label": label, "split": split} for text, label, split in (("a good film", "pos", "a"), ("a bad film", "neg", "b"), ("great fun", "pos", "a"), ("dull", "neg", "b"))]


def fresh(value):
    """Arguments again: options are taken out of their dicts."""
    if isinstance(value, dict):
        return {name: fresh(one) for name, one in value.items()}
    return type(value)(map(fresh, value)) if type(value) in (list, tuple) else value


def plain(value):
    """What does not differ from call to call; a list with a hole in it fails here."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in ("seconds", "speed", "speed_said", "time")}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    facts = getattr(value, "facts", None)
    return plain(facts()) if callable(facts) and type(value).__name__ == "Dataset" else type(value).__name__ if isinstance(value, float) else value if isinstance(value, (str, int, bytes)) else type(value).__name__


class Faults(unittest.TestCase):
    def setUp(self):
        try:
            self.testing = importlib.import_module("_testcapi")
            self.testing.remove_mem_hooks()
        except (ImportError, AttributeError):
            raise unittest.SkipTest("this Python cannot fail allocations")

    def recorded(self, name, ask):
        """The function, and the arguments of the first call, without functions: CPython 3.11 itself crashes where it has no memory for a thread's state."""
        calls, real = [], getattr(_core, name)

        def record(*given):
            calls.append(fresh(tuple(None if isinstance(one, (types.FunctionType, types.MethodType)) else one for one in given)))
            return real(*given)

        with unittest.mock.patch.object(_core, name, record):
            ask()
        return real, calls[0]

    def failed(self, call, given, nth):
        given = fresh(given)
        self.testing.set_nomemory(nth, nth + 1)
        try:
            return False, call(*given)
        except MemoryError:
            return True, None
        finally:
            self.testing.remove_mem_hooks()

    def test_calls(self):
        """reading with conditions, from lists and ids; plans, parts of a whole, studies, comparisons, their pages"""
        tokenizer = brim.Tokenizer(MODEL)
        path = HERE / "faults.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        rows = brim.Dataset.of(ROWS, tokenizer)
        model = brim.train(MODEL, ROWS, max_steps=1, progress=False).model
        texts, labels = [row["text"] for row in ROWS], [row["label"] for row in ROWS]
        calls = {
            "dataset_load": lambda: brim.Dataset.from_files(path, tokenizer, where={"split": "a"}),
            "dataset_texts": lambda: brim.Dataset.from_texts(texts, tokenizer, labels=labels),
            "dataset_encoded": lambda: brim.Dataset.from_ids([[1, 2], [3]], labels=[0, 1]),
            "labels": lambda: brim.Labels(["a", "b"]),
            "encode_batch": lambda: tokenizer.encode_batch(texts), "plan": lambda: rows.batches(batch_size=2).plan(0), "hold_out": lambda: rows.split(0.5),
            "analyze": lambda: brim.analyze(ROWS, tokenizer), "page": lambda: brim.compare(MODEL, ROWS, max_steps=1, progress=False).page(HERE / "faults.html"),
            "train": lambda: brim.train(model, ROWS, eval=ROWS, max_steps=1, progress=False),
            "compare": lambda: brim.compare(MODEL, ROWS, max_steps=1, progress=False),
        }
        for name, ask in calls.items():
            self.each(name, *self.recorded(name, ask))

    def test_columns_of_arrow(self):
        """texts and labels of a table, whose numbers are written"""
        pyarrow = case.module("pyarrow")
        table = pyarrow.table({"text": [row["text"] for row in ROWS], "label": [0.1, 0.25, 1e-7, 3.0]})
        call, given = self.recorded("dataset_arrow", lambda: brim.Dataset.from_arrow(table, brim.Tokenizer(MODEL)))
        self.each("dataset_arrow", lambda *more: call(*more[:2], table.__arrow_c_stream__(), *more[3:]), given)

    def test_methods(self):
        """what is asked of rows, plans, tokenizers and models"""
        tokenizer, model = brim.Tokenizer(MODEL), brim.Model(MODEL, untrained=True)
        rows = brim.Dataset.from_files(HERE / "data" / "train.csv", tokenizer, where={"label": "1"}, blocks=None)
        words = brim.Dataset.of([(["a", "film"], ["B-X", "O"])], tokenizer, task="tokens")
        plan = rows.batches(batch_size=2).plan(0)
        how = tokenizer._options(8, True, None, None)
        for call, *given in ((rows._core.sample, 0), (rows._core.facts,), (rows._core.labels,), (rows._core.subset, [0, 1]), (rows._core.excluded,), (words._core.words, 0), (words._core.sample, 0),
                             (plan._core.part, 0, 0), (plan._core.ledger,), (tokenizer._core.encode, "a good film", None, how, True), (tokenizer._core.decode, [5, 6, 7], True),
                             (model._core.facts,), (model._core.parameters,)):
            self.each(call.__name__, call, tuple(given), needed=False)

    def each(self, name, call, given, needed=True):
        want, failures = plain(call(*fresh(given))), 0
        for nth in range(1, 400):
            with self.subTest(name, nth=nth):
                failed, found = self.failed(call, given, nth)
                failures += failed
                if not failed:
                    self.assertEqual(plain(found), want)
            if nth > 20 and not failed and not any(self.failed(call, given, later)[0] for later in range(nth + 1, nth + 4)):
                break
        self.assertTrue(failures or not needed, f"{name}: no allocation failed")


if __name__ == "__main__":
    case.main()
