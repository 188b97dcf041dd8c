"""A folder of a model is written one way: by a run however it comes to its end, by its checkpoints and by Model.save. What else is there stays."""
import json
import os
import pathlib
import pickle
import shutil
import tempfile
import unittest

import brim
import case

HERE = case.folder()
MODEL = HERE / "model"
TEXTS = ["a good film", "a bad film , dull and slow", "great fun"]
ROWS = [("a good film", "pos"), ("a bad film", "neg"), ("great fun", "pos"), ("dull and slow", "neg")] * 2
PAIRS = [("a good film", "great fun"), ("a bad film", "dull and slow"), ("the story", "the plot"), ("funny", "very funny")]
WORDS = {"tokens": [["a", "good", "film"], ["dull", "and", "slow"]], "labels": [["O", "B", "O"], ["B", "O", "B"]]}
OF_RUN = {"log.jsonl", "checkpoints", "evaluation.jsonl", "report.html", "tensorboard"}
OF_STATE = {"optimizer.safetensors", "state.json", "average.safetensors"}
#: What is trained, and what is asked of its folder.
KINDS = {
    "classes": (ROWS, {"pooling": "mean"}, lambda model: model.logits(TEXTS).tolist()),
    "windows": (ROWS, {"max_length": 8, "windows": 2, "no_type_ids": True}, lambda model: model.logits([" ".join(TEXTS) * 3]).tolist()),
    "words": (WORDS, {"task": "tokens"}, lambda model: [row.labels for row in model.predict([["a", "good", "film"]])]),
    "masked": (TEXTS, {"task": "mlm"}, None),
    "vectors": (PAIRS, {"task": "embedding", "dense": 8, "max_length": 12, "prompts": {"query": "good "}}, lambda model: model.embed(TEXTS, prompt="query").tolist()),
    "layers": (PAIRS, {"task": "embedding", "layers": "joined:2", "pooling": "max"}, lambda model: model.embed(TEXTS).tolist()),
    "scores": ([(*pair, float(i % 2)) for i, pair in enumerate(PAIRS)], {"task": "rerank"}, lambda model: model.predict(PAIRS)),
}


def tree(folder, but=OF_RUN):
    """The bytes of all files of a folder of a model."""
    folder = pathlib.Path(folder)
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.relative_to(folder).parts[0] not in but}


def train(rows, output, model=MODEL, **options):
    return brim.train(model, rows, output=output, **{"max_steps": 3, "batch_size": 4, **options})


class Saved(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)

    def same(self, folder, want, why, but=OF_RUN):
        found = tree(folder, but)
        self.assertEqual(sorted(found), sorted(want), why)
        self.assertEqual([name for name in want if found[name] != want[name]], [], why)

    def interrupted(self, rows, output, **options):
        def stop(kind, fields):
            return brim.STOP if kind == "step" and fields["step"] == 2 else None
        with self.assertRaises(Exception):
            train(rows, output, on_event=stop, **options)

    def ways(self, name, rows, options):
        """Folders of the same weights."""
        result = train(rows, self.place / name, **options)
        yield "a run", result.output
        other = "scores" if name == "vectors" else "vectors"
        train(KINDS[other][0], self.place / f"{name}-over", **KINDS[other][1])
        yield "over another run", train(rows, self.place / f"{name}-over", overwrite=True, **options).output
        self.interrupted(rows, self.place / f"{name}-resumed", **options)
        yield "resumed", train(rows, self.place / f"{name}-resumed", resume=True, **options).output
        for why, model in (("Model.save", result.model), ("unpickled", pickle.loads(pickle.dumps(result.model))), ("loaded", brim.Model(result.output))):
            model.save(self.place / f"{name}-{why}")
            model.save(self.place / f"{name}-{why}")
            yield why, self.place / f"{name}-{why}"

    def test_one_way(self):
        for name, (rows, options, asked) in KINDS.items():
            want, answer, ids = None, None, [list(brim.Tokenizer(MODEL).encode(text).ids) for text in TEXTS]
            for why, folder in self.ways(name, rows, options):
                want = want or tree(folder)
                self.same(folder, want, f"{name}: {why}")
                if asked:
                    answer = answer or asked(brim.Model(folder))
                    self.assertEqual(asked(brim.Model(folder)), answer, f"{name}: {why}")
                self.assertEqual([list(brim.Tokenizer(folder).encode(text).ids) for text in TEXTS], ids)
            self.same(self.place / name / "checkpoints/step-3", want, f"{name}: its checkpoint", OF_STATE)

    def test_average(self):
        result = train(ROWS, self.place / "run", swa_start=0.3)
        result.model.save(self.place / "saved")
        self.same(self.place / "saved", tree(result.output), "an average")
        self.assertNotEqual(tree(self.place / "run/checkpoints/step-3", OF_STATE)["model.safetensors"], tree(result.output)["model.safetensors"])

    def listed_as(self, name, place):
        """A model of vectors whose dense layer lies in a folder of this name, where that is free."""
        shutil.copytree(self.vectors, place, ignore=shutil.ignore_patterns(*OF_RUN))
        if not (place / name).is_file():
            shutil.copytree(place / "2_Dense", place / name, dirs_exist_ok=True)
            shutil.rmtree(place / "2_Dense")
        (place / "modules.json").write_text((place / "modules.json").read_text().replace("2_Dense", name))
        return place

    def test_modules(self):
        """what a run owns of modules is what its modules.json lists; a folder of another's is kept, and named"""
        self.vectors, run = train(PAIRS, self.place / "first", task="embedding", dense=8).output, self.place / "run"
        train(PAIRS, run, self.listed_as("projection", self.place / "model"), task="embedding")
        self.assertEqual((run / "projection").is_dir(), not (run / "2_Dense").exists())
        for theirs in ("2_Dense", "notes"):
            shutil.copytree(run / "projection", run / theirs)
        with self.assertLogs("brim", "WARNING") as told:
            train(ROWS, run, overwrite=True)
        self.assertIn("keeps what is not the run's: 2_Dense, notes", "\n".join(told.output))
        train(ROWS, self.place / "fresh")
        self.assertEqual(sorted(os.listdir(run)), sorted([*os.listdir(self.place / "fresh"), "2_Dense", "notes"]))

    def test_names(self):
        """a dense layer in a folder whose name is something else's is refused before anything is written"""
        self.vectors = train(PAIRS, self.place / "first", task="embedding", dense=8).output
        for number, name in enumerate(("1_Pooling", "checkpoints", "fold-0", "README.md", "added_tokens.json", "log.jsonl")):
            model = self.listed_as(name, self.place / f"model-{number}")
            self.assertRaisesRegex(brim.Error, f'"{name}"', train, PAIRS, self.place / "none", model, task="embedding")
            self.assertFalse((self.place / "none").exists())

    def test_links(self):
        """a file's link is replaced, with a word, and what it points at stays; a folder's is refused before anything is written"""
        theirs, folder = self.place / "theirs", self.place / "saved"
        for name in ("config.json", "README.md"):
            theirs.mkdir(exist_ok=True)
            (theirs / name).write_text("theirs")
        model = train(PAIRS, None, task="embedding").model
        folder.mkdir()
        (folder / "config.json").symlink_to(theirs / "config.json")
        with self.assertLogs("brim", "WARNING") as told:
            model.save(folder)
        self.assertIn("config.json in the folder: the model's own file takes the place of a link", told.output[0])
        before = tree(folder)
        shutil.rmtree(folder / "1_Pooling")
        (folder / "1_Pooling").symlink_to(theirs)
        train(PAIRS, None, model, task="embedding")
        self.assertRaisesRegex(brim.Error, "1_Pooling: this is a link", model.save, folder)
        self.assertRaisesRegex(brim.Error, "1_Pooling: this is a link", train, PAIRS, folder, task="embedding", overwrite=True)
        self.assertEqual({name: text for name, text in tree(folder).items() if name in before}, {name: text for name, text in before.items() if "1_" not in name})
        self.assertEqual({file.name: file.read_text() for file in theirs.iterdir()}, {"config.json": "theirs", "README.md": "theirs"})

    def test_in_the_way(self):
        """what would be read with the model though it is another's, and what has a file's name"""
        classes = train(ROWS, None, pooling="mean").model
        train(PAIRS, None, task="embedding").model.save(self.place / "vectors")
        before = tree(self.place / "vectors")
        self.assertRaisesRegex(brim.Error, "modules.json in this folder is of another model", classes.save, self.place / "vectors")
        self.assertRaisesRegex(brim.Error, "modules.json in this folder is of another model", train, ROWS, self.place / "vectors", overwrite=True)
        self.same(self.place / "vectors", before, "nothing was written")
        for name in ("added_tokens.json", "special_tokens_map.json"):
            other = self.place / name[:5]
            other.mkdir()
            (other / name).write_text("{}")
            self.assertRaisesRegex(brim.Error, f"{name} in this folder is of another tokenizer", classes.save, other)
            self.assertRaisesRegex(brim.Error, f"{name} in this folder is of another tokenizer", classes.tokenizer.save, other)
            self.assertEqual(os.listdir(other), [name])
            shutil.copytree(MODEL, other, dirs_exist_ok=True)  # with the same tokenizer it says nothing else
            classes.save(other)
            self.assertEqual(list(brim.Tokenizer(other).encode(TEXTS[0]).ids), list(classes.tokenizer.encode(TEXTS[0]).ids))
        (self.place / "taken/model.safetensors").mkdir(parents=True)
        self.assertRaisesRegex(brim.Error, "model.safetensors: this is a folder", classes.save, self.place / "taken")
        self.assertEqual(os.listdir(self.place / "taken"), ["model.safetensors"])

    def test_other_numbers(self):
        """what transformers computes otherwise is said wherever such a model is written, with where to read how"""
        quick = {"max_steps": 1, "progress": False}
        for how in ({"pooling": "mean"}, {"layers": "weighted"}, {"no_type_ids": True}):
            name = next(iter(how))
            with self.subTest(name), self.assertLogs("brim", "WARNING") as said:
                model = brim.train(MODEL, [("good", "1"), ("bad", "0")] * 4, output=HERE / name, **how, **quick).model
                model.save(HERE / f"{name}-saved")
                self.assertEqual([str(HERE / folder / "README.md") in line for folder, line in zip((name, f"{name}-saved"), said.output)], [True, True])
                self.assertTrue(all("computes other numbers" in line for line in said.output))
        with self.assertLogs("brim", "WARNING") as said:
            brim.train(MODEL, [("good", "1"), ("bad", "0")] * 8, folds=2, output=HERE / "folds", pooling="mean", **quick)
        self.assertEqual(["computes other numbers" in line for line in said.output], [True])
        with self.assertNoLogs("brim", "WARNING"):
            brim.train(MODEL, [("good", "1"), ("bad", "0")] * 4, output=HERE / "usual", **quick)

    def test_readme(self):
        """somebody's README.md stays where brim would write its own, with a word; brim's goes with its model"""
        run = self.place / "run"
        run.mkdir()
        (run / "README.md").write_text("mine")
        (run / "a\nb").write_text("mine")
        with self.assertLogs("brim", "WARNING") as told:
            model = train(ROWS, run, pooling="mean", overwrite=True).model
        self.assertIn("keeps what is not the run's: README.md, a?b", told.output[0])
        self.assertIn("README.md in the folder is not brim's and stays", told.output[1])
        with self.assertLogs("brim", "WARNING") as told:
            model.save(run)
        self.assertEqual((len(told.output), (run / "README.md").read_text()), (1, "mine"))
        self.assertTrue(train(ROWS, self.place / "own", pooling="mean") and (self.place / "own/README.md").exists())
        self.assertTrue(train(ROWS, self.place / "own", overwrite=True) and not (self.place / "own/README.md").exists())


if __name__ == "__main__":
    case.main()
