"""The Python blocks of docs/users/python.md and from-trainer.md, one after the other as a reader would run them, and the notebook: files and
models of the names that they use, and stand-ins for what is not installed or not here (wandb, a GPU)."""
import importlib.util
import io
import contextlib
import logging
import os
import pathlib
import re
import shutil
import sys
import types
import unittest
import unittest.mock

import brim
import case

HERE = case.folder()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
USERS = ROOT / "docs" / "users"
PAGE = USERS / "python.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)


class Mine(list):
    """Somebody's rows, as a tokenizer of transformers makes them."""


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place, cls.before = HERE / "page", os.getcwd()
        cls.place.mkdir()
        with unittest.mock.patch.object(case.fixtures, "POSITIONS", 512):  # as long as texts of the pages may be
            for name in ("MiniLM", "roberta-base"):
                case.fixtures.write_model(cls.place / name)
        for name in ("train.csv", "test.csv"):
            shutil.copy(HERE / "data" / name, cls.place)
        os.chdir(cls.place)

    @classmethod
    def tearDownClass(cls):
        os.chdir(cls.before)

    def names(self):
        rows = Mine({"input_ids": [2, 5 + i % 20, 3], "label": i % 2} for i in range(40))
        run = types.SimpleNamespace(log=lambda values: None)
        names = {"brim": brim, "logging": logging, "wandb": types.SimpleNamespace(init=lambda project: run), "mine": rows,
                 "lengths": [len(row["input_ids"]) for row in rows]}
        for module in ("torch", "transformers"):
            if importlib.util.find_spec(module):
                names[module] = __import__(module)
        return names

    @staticmethod
    def as_written(block):
        """The first whole example on the model that it names, where that is here; else on a small one, which learns at another rate."""
        real = next(iter(sorted((ROOT / "quickstart" / "packages").glob("*/model/model.safetensors"))), None)
        if real:
            return block.replace('"MiniLM"', repr(str(real.parent)))
        return block.replace("learning_rate=1e-4", "learning_rate=3e-3").replace("num_train_epochs=8", "num_train_epochs=20")

    def test_every_block(self):
        names, done, left = self.names(), [], []
        for block in BLOCKS:
            missing = [m for m in ("datasets", "sklearn", "torch", "transformers") if re.search(rf"\b{m}\b", block) and not importlib.util.find_spec(m)]
            if missing:
                left.append(missing[0])
                continue
            if "batch.torch(" in block:  # a model that takes what brim's batches hold, and no GPU
                names["model"] = lambda input_ids, attention_mask, labels, token_type_ids=None: types.SimpleNamespace(loss=input_ids.shape)
                block = block.replace('device="cuda", ', "")
            with contextlib.ExitStack() as stack:
                out = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
                if "logging.basicConfig" in block:  # not the whole test's
                    stack.enter_context(unittest.mock.patch.object(logging, "basicConfig"))
                if "datasets.Dataset" in block:
                    block = self.as_written(block)
                exec(compile(block, f"{PAGE.name}, block {len(done) + len(left) + 1}", "exec"), names)
            done.append(block)
            if "datasets.Dataset" in block:
                lines = out.getvalue().splitlines()
                self.assertGreater(float(lines[0]), 0.9)
                self.assertEqual([line.rsplit(" ", 2)[:2] for line in lines[1:]], [["great fun", "good"], ["a dull plot", "bad"]])
            if "class Trainer" in block:
                self.assertTrue(issubclass(names["Trainer"], names["transformers"].Trainer))
        self.assertEqual(len(done) + len(left), len(BLOCKS))
        self.assertGreaterEqual(len(done), 7)
        self.assertTrue((self.place / "run" / "model.safetensors").exists() and list((self.place / "run" / "tensorboard").iterdir()))
        if left:
            print(f"# left out: pip install {' '.join(sorted(set(left)))}")

    def test_ten_lines(self):
        """From a datasets.Dataset in memory to predictions, in ten lines."""
        [block] = [b for b in BLOCKS if "datasets.Dataset.from_dict" in b]
        self.assertLessEqual(len(block.strip().splitlines()), 12)  # ten, and the imports


    def test_from_trainer(self):
        """both programs of the page; transformers' where it is installed"""
        there, here = re.findall(r"```python\n(.*?)```", (USERS / "from-trainer.md").read_text(encoding="utf-8"), re.S)
        for block, needs in ((there, ("datasets", "transformers", "accelerate")), (here, ())):
            if all(importlib.util.find_spec(name) for name in needs):
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(block, "from-trainer.md", "exec"), {})
                self.assertTrue(0 <= float([line for line in out.getvalue().splitlines() if re.fullmatch(r"[\d.]+", line)][0]) <= 1)
        self.assertTrue((self.place / "here" / "model.safetensors").exists())

    @unittest.skipUnless(importlib.util.find_spec("nbclient") and importlib.util.find_spec("ipykernel"), "nbclient and ipykernel are not installed")
    def test_notebook(self):
        """every cell runs, and a result shows its page"""
        import nbclient
        import nbformat

        notebook = nbformat.read(USERS / "films.ipynb", as_version=4)
        self.assertFalse([cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs])  # outputs are made, not kept
        nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(self.place)}}).execute()
        shown = [output.data for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs if "data" in output]
        self.assertEqual(sum("<iframe" in data.get("text/html", "") for data in shown), 2)
        self.assertTrue((self.place / "films-model" / "config.json").exists())


if __name__ == "__main__":
    case.main()
