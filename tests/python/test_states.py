"""A state continues where it was saved, or is refused: with every argument that decides which rows come when, of batches, streams, samplers and loaders."""
import copy
import importlib.util
import inspect
import itertools
import json
import typing
import unittest

import brim
import case
from brim import keywords

HERE = case.folder()
TOKENIZER = brim.Tokenizer(HERE / "model")
ROWS = 48
WORDS = "good bad funny dull slow warm story plot film great fun the".split()
LENGTHS = [1 + 7 * row % 11 for row in range(ROWS)]
TEXTS = [" ".join(WORDS[(row + at) % len(WORDS)] for at in range(length)) for row, length in enumerate(LENGTHS)]
SEVERAL = {"text_columns": ["text", "title"], "format": "csv"}
TORCH = importlib.util.find_spec("torch")

#: Of each argument two values, and what else is given so that it decides something.
PLANS = {
    "batching": ("random", "sorted", {}), "padding": ("none", "max_length", {"max_length": 32}), "batch_size": (4, 3, {}), "max_tokens": (40, 64, {}),
    "max_rows": (None, 2, {}), "max_length": (32, 64, {"padding": "max_length"}), "seed": (1, 2, {}), "world_size": (2, 3, {"batch_size": 6}),
    "drop_last": (False, True, {"batch_size": 5}), "pad_to_multiple_of": (None, 8, {"padding": "longest"}), "read_ahead": (None, 12, {"batching": "bucketed"}),
    "accumulate": (None, 2, {}), "required_batch_size_multiple": (None, 2, {"max_tokens": 40, "batch_size": None}),
    "oversize": ("alone", "truncate", {"max_tokens": 10, "batch_size": None}), "tail": ("resplit", "drop", {"world_size": 2, "batch_size": 5}),
    "rank": (0, 1, {"world_size": 2}), "rows_for": (lambda longest: 3, lambda longest: 4, {"batch_size": None}),
    "key": (LENGTHS, [*reversed(LENGTHS)], {"batching": "sorted"}),
}
STREAMS = {
    **{name: of for name, of in PLANS.items() if name not in ("rank", "rows_for", "key", "max_length", "padding")},
    "padding": ("none", "max_length", {}), "labels": (["0", "1"], ["1", "0"], {}), "task": ("tokens", None, {"text_column": "tokens", "files": "words.jsonl"}), "need_label": (False, True, {"labels": ["0", "1"]}),
    "max_length": (32, 8, {}), "epochs": (2, 3, {}), "window": (16, 20, {}), "prefetch": (1, 3, {}), "rank": (0, 1, {"world_size": 2}),
    "rank_slices": (False, True, {"world_size": 2}), "text_column": ("text", "title", {}), "pair_column": (None, "title", {}),
    "label_column": ("label", "kind", {"labels": ["0", "1"]}), "format": ("csv", "txt", {}), "header": (True, False, {"text_column": "1", "files": "plain.csv"}), "min_chars": (0, 12, {}),
    "truncation": ("longest_first", "only_second", {"pair_column": "title"}), "weights": ([0.5, 0.5], [0.8, 0.2], {}), "repeat": (False, True, {"weights": [0.5, 0.5]}),
    "skip_damaged": (False, True, {}), "where": (None, {"kind": "1"}, {}), "windows": (None, 2, {"max_length": 8}), "max_windows": (2, 3, {"max_length": 6, "windows": 1}),
    "numbering": (None, "tokens", {}), "missing_label": ("error", "skip", {"labels": ["0", "1"]}), "text_columns": (["text", "title"], ["title", "text"], {"format": "csv"}),
    "least_columns": (2, 1, SEVERAL), "most_texts": (2, 3, SEVERAL), "paired": (False, True, SEVERAL), "blocks": (None, {"kind": ("row", 1, "kind")}, {"format": "csv"}),
    "runtime": (None, brim.Runtime(1), {}),
}
#: Of streams: what comes is the same, as far as it goes, or shared out among ranks, which may become more or fewer.
SAME, SHARED = {"epochs", "prefetch", "runtime"}, {"rank", "world_size"}


def arguments(function, *typed):
    named = {name for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY}
    return sorted(named.union(*(typing.get_type_hints(one, vars(keywords) | {"Block": object, "Labels": object, "Predictions": object}) for one in typed)))


def files():
    for part in range(2):
        rows = [f"{text},{WORDS[row % 12]} {WORDS[row % 5]},{row % 2},{row // 3 % 2}" for row, text in enumerate(TEXTS) if row % 2 == part]
        (HERE / f"part{part}.csv").write_text("\n".join(["text,title,label,kind", *rows, ""]), encoding="utf-8")
    (HERE / "plain.csv").write_text("\n".join(["0,1", *(f"{row},{text}" for row, text in enumerate(TEXTS)), ""]), encoding="utf-8")
    (HERE / "words.jsonl").write_text("".join(json.dumps({"tokens": text.split()}) + "\n" for text in TEXTS), encoding="utf-8")


def stream(files=("part0.csv", "part1.csv"), **options):
    paths = [HERE / one for one in ([files] if isinstance(files, str) else files)]
    return brim.data.stream(paths, TOKENIZER, **{"batch_size": 4, "window": 16, "max_length": 32, **options})


def of_batch(batch):
    return batch if isinstance(batch, list) else (batch.rows.tolist(), batch.width)


def passes(source):
    """Batches of one pass after the other; of a finite stream, of one."""
    while True:
        yield from map(of_batch, source)
        if getattr(source, "epochs", None):
            return


def taken(source, count):
    return [*itertools.islice(passes(source), count)]


class States(unittest.TestCase):
    def sweep(self, make, names, values, same=(), shared=()):
        self.assertEqual([name for name in names if name not in values], [], "arguments without values to try")
        refused = set()
        for name in names:
            one, other, rest = values[name]
            for before, after in ((one, other), (other, one))[:1 if name == "task" else 2]:  # lists of words are no texts
                with self.subTest(name, before=before, after=after):
                    source = make(**{**rest, name: before})
                    batches = passes(source)
                    self.assertEqual(len([*itertools.islice(batches, 3)]), 3)
                    state = json.loads(json.dumps(source.state_dict()))
                    want = [*itertools.islice(batches, 30)]
                    again = make(**{**rest, name: before})
                    again.load_state_dict(state)
                    self.assertEqual(taken(again, 30), want)
                    differs = make(**{**rest, name: after})
                    try:
                        differs.load_state_dict(state)
                    except brim.errors.MismatchError as error:
                        self.assertNotIn("\n", str(error))
                        refused.add(name)
                        continue
                    if name not in shared:
                        found = taken(differs, 30)
                        count = min(len(found), len(want)) if name in same else 30
                        self.assertEqual(found[:count], want[:count], "another continuation")
        return refused

    def test_batches(self):
        rows = brim.Dataset.from_texts(TEXTS, TOKENIZER)
        make = lambda **options: rows.batches(**{"batch_size": 4, **options})
        refused = self.sweep(make, arguments(brim.Batches.__init__), PLANS)
        self.assertEqual(refused, set(PLANS))
        for before, after in (({"key": LENGTHS}, {}), ({}, {"key": LENGTHS}), ({"rows_for": lambda longest: 4}, {})):
            with self.assertRaisesRegex(brim.errors.MismatchError, next(iter({**before, **after}))):
                make(**after).load_state_dict(make(**before).state_dict())

    def test_values_of_numpy(self):
        """the same numbers of another type are no other state, and a state is JSON"""
        numpy = case.module("numpy")
        rows = brim.Dataset.from_texts(TEXTS, TOKENIZER)
        plain, other = rows.batches(seed=3, key=LENGTHS), rows.batches(seed=numpy.int64(3), key=numpy.array(LENGTHS, "int16"))
        plain.load_state_dict(json.loads(json.dumps(other.state_dict())))
        self.assertEqual(plain.state_dict(), other.state_dict())

    def test_streams(self):
        files()
        refused = self.sweep(stream, arguments(brim.Stream.__init__, keywords.PlanOptions), STREAMS, SAME, SHARED)
        self.assertLessEqual({"weights", "repeat", "numbering", "where", "window", "seed", "text_column"}, refused)

    def test_streams_of_more_ranks(self):
        """they share the steps that were left"""
        files()
        source = stream()
        taken(source, 3)
        state, want = source.state_dict(), taken(source, 12)  # an endless one continues
        parts = []
        for rank in range(2):
            part = stream(rank=rank, world_size=2)
            part.load_state_dict(state)
            parts.append(taken(part, 12))
        self.assertEqual([sorted(a + b) for (a, _), (b, _) in zip(*parts)], [sorted(rows) for rows, _ in want])

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_samplers(self):
        import brim.torch

        make = lambda lengths=LENGTHS, **options: brim.torch.BatchSampler(lengths, **{"batch_size": 4, "rank": 0, "world_size": 1, **options})
        values = {**{name: of for name, of in PLANS.items() if name != "key"}, "lengths": (LENGTHS, [*reversed(LENGTHS)], {"batching": "sorted"})}
        self.assertEqual(self.sweep(make, [*arguments(brim.torch.BatchSampler.__init__, keywords.PlanOptions), "lengths", "rows_for", "max_length"], values),
                         set(values))
        make(oversize="error", drop_last=None).load_state_dict(make().state_dict())  # what is said, and what is meant where nothing is

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_loaders(self):
        """of a loader that of its source decides; workers and the like change nothing"""
        import brim.torch

        rows = brim.Dataset.from_texts(TEXTS, TOKENIZER)
        make = lambda workers, **options: brim.torch.DataLoader(rows.batches(batch_size=4, padding="longest", **options), num_workers=workers)
        loader = make(0)
        batches = iter(loader)
        next(batches)
        state, want = loader.state_dict(), [one["input_ids"].tolist() for one in batches]
        other = make(2)
        other.load_state_dict(state)
        self.assertEqual([one["input_ids"].tolist() for one in other], want)
        for wrong in (make(0, key=LENGTHS), brim.torch.IterableDataset(rows.batches(batch_size=4, padding="longest", key=LENGTHS))):
            with self.assertRaisesRegex(brim.errors.MismatchError, "key"):
                wrong.load_state_dict(state if isinstance(wrong, brim.torch.DataLoader) else {"source": state, "index": 1})

    def test_copies(self):
        """a copy in the middle of a pass has its own place"""
        rows = brim.Dataset.from_texts(TEXTS, TOKENIZER)
        for copied in (copy.copy, copy.deepcopy):
            batches = rows.batches(batch_size=4)
            running = iter(batches)
            next(running)
            again, state = copied(batches), batches.state_dict()
            self.assertEqual(again.state_dict(), state)
            next(running)
            self.assertEqual((again.state_dict(), again.epoch, len(again)), (state, 0, 12))
            for _ in again:
                pass
            self.assertEqual(batches.state_dict()["batch"], 2)


if __name__ == "__main__":
    case.main()
