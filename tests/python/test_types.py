"""What type checkers and editors see: the options that the program describes, the types of all that is public, the examples and the lines
of README.md under strict checkers, and what an editor offers. Parts whose checker is not installed are skipped."""
import ast
import importlib.util
import inspect
import itertools
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys
import unittest

import brim
import case
from brim import keywords, options

HERE = case.folder()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = pathlib.Path(brim.__file__).parent
EVERYTHING = os.environ.get("BRIM_TEST_ALL") == "1"  # make test-everything
#: What other packages leave untyped themselves, or are not here, where a program uses them.
OTHERS = {"reportUnknownMemberType", "reportUnknownVariableType", "reportUnknownArgumentType", "reportMissingImports", "reportMissingTypeStubs"}


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not installed")


def checker(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    return subprocess.run([sys.executable, "-m", *map(str, arguments)], capture_output=True, text=True, env=environment, cwd=HERE)


def uses_others(path):
    """Whether a program imports more than brim and Python's own."""
    found = re.findall(r"^ *(?:import|from) (\w+)", path.read_text(encoding="utf-8"), re.M)
    return any(name not in sys.stdlib_module_names and name != "brim" for name in found)


def programs():
    """The examples, and the Python of README.md as one program after what it takes for granted. Transformers' own types take a checker
    longer than all else: examples that import it are among them where everything is tested."""
    folder = HERE / "typed"
    folder.mkdir(exist_ok=True)
    for example in (ROOT / "examples" / "python").glob("*.py"):
        text = example.read_text(encoding="utf-8")
        if EVERYTHING or not re.search(r"^(import|from) (sentence_)?transformers", text, re.M):
            (folder / example.name).write_text(text, encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)
    (folder / "readme.py").write_text("\n".join(["import typing\n\nimport brim\n\nmodel: typing.Any = None", *blocks]), encoding="utf-8")
    return folder


class Options(unittest.TestCase):
    def test_made_from_the_program(self):
        """keywords.py and __init__.pyi are what the program's tables, options.py and the signatures say"""
        done = subprocess.run([sys.executable, str(ROOT / "tools" / "python_options"), case.PROGRAM, "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_reference(self):
        """docs/reference is what the docstrings say"""
        done = subprocess.run([sys.executable, str(ROOT / "tools" / "python_reference"), "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_all_are_there(self):
        """every option that brim.train takes is typed, and help(brim.train) tells of each"""
        typed = set(keywords.TrainOptions.__annotations__)
        self.assertLessEqual(options.PLAN | options.TRAIN, typed)
        self.assertIn("learning_rate", typed)
        for name in ("lr", "batch_size", "patience"):
            self.assertRegex(brim.train.__doc__, rf"\n *{name}: ")
        self.assertIn("Default: 5e-5", brim.train.__doc__)


    def test_said_once(self):
        """options that two kinds of calls have are of a class that both inherit"""
        tree = ast.parse((PACKAGE / "keywords.py").read_text(encoding="utf-8"))
        own = {node.name: {ast.unparse(one) for one in node.body if isinstance(one, ast.AnnAssign)} for node in tree.body if isinstance(node, ast.ClassDef)}
        self.assertGreater(len(own), 5)
        del own["TrainOptions"]  # whose types are others: each may be None
        for one, other in itertools.combinations(own, 2):
            self.assertLess(len(own[one] & own[other]), 6, f"{one} and {other} have {sorted(own[one] & own[other])}")
        self.assertLessEqual({"seed", "rank"}, set(keywords.BatchOptions.__annotations__))


class Checked(unittest.TestCase):
    @needs("basedpyright")
    def test_public_types(self):
        """all that is public has types: brim.torch, Model and the rest"""
        done = checker("basedpyright", "--pythonpath", sys.executable, "--verifytypes", "brim", "--ignoreexternal", "--outputjson")
        symbols = json.loads(done.stdout)["typeCompleteness"]["symbols"]
        reference = runpy.run_path(str(ROOT / "tools" / "python_reference"), run_name="reference")
        public = {f"brim.{file.removesuffix('.pyi')}.{name}" for *_, file, names in [*reference["CLASSES"], *reference["FUNCTIONS"]] for name in names}
        unknown = [one["name"] for one in symbols if one["isExported"] and not one["isTypeKnown"] and ".".join(one["name"].split(".")[:3]) in public]
        self.assertGreater(len(symbols), 200)
        bases = {"torch.IterableDataset", "torch.BatchSampler", "sklearn.TextClassifier", "sklearn.TextRegressor"}  # whose own bases have no types
        self.assertLessEqual(set(unknown), {f"brim.{name}" for name in bases})

    @needs("basedpyright")
    def test_pyright(self):
        """strict over the examples and README.md; and it sees an option that there is not, a value of another type, folds taken for a run"""
        folder = programs()
        (folder / "wrong.py").write_text("import brim\nbrim.train('m', 'a.csv', epoch=2)\nbrim.train('m', 'a.csv', epochs='2')\n"
                                         "brim.train('m', 'a.csv', folds=3).model\nbrim.train('m', 'a.csv').model.predict('x')\n"
                                         "brim.train('m', 'a.csv').foo\nrows = brim.Dataset.from_csv('a.csv', brim.Tokenizer('m'))\n"
                                         "rows.batches(batching='sort')\nbrim.Model('m').predict(['a'], precision='int4')\nbrim.Model('m').predict(['a'], treshold=1)\n", encoding="utf-8")
        (HERE / "pyrightconfig.json").write_text(json.dumps({"include": [str(folder)], "typeCheckingMode": "strict", "extraPaths": [str(PACKAGE.parent)]}))
        done = checker("basedpyright", "--pythonpath", sys.executable, "-p", HERE / "pyrightconfig.json", "--outputjson")
        (folder / "wrong.py").unlink()
        found = [(pathlib.Path(one["file"]), one["range"]["start"]["line"] + 1, one) for one in json.loads(done.stdout)["generalDiagnostics"]]
        self.assertEqual(sorted({line for file, line, one in found if file.name == "wrong.py" and one["severity"] == "error"}), [2, 3, 4, 6, 8, 9, 10])
        wrong = [f'{file.name}:{line}: {one["message"]}' for file, line, one in found if file.name != "wrong.py"
                 and not (one.get("rule") in OTHERS and uses_others(file))]
        self.assertEqual(wrong, [])

    @needs("mypy")
    @unittest.skipUnless(EVERYTHING, "make test-everything has a second checker")
    def test_mypy(self):
        """strict over README.md and the examples that need no torch, whose own types take mypy a minute"""
        folder = programs()
        files = [path for path in sorted(folder.glob("*.py")) if not uses_others(path)]
        self.assertGreaterEqual(len(files), 2)
        done = checker("mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports", "--cache-dir", HERE / "mypy", *files)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1][:7]), (0, "Success"), done.stdout)


class Completed(unittest.TestCase):
    @needs("jedi")
    def test_options_are_offered(self):
        """in a script and in a notebook's cell"""
        import jedi

        names = lambda found: {one.name.rstrip("=") for one in found}
        project = jedi.Project(str(HERE), added_sys_path=[str(PACKAGE.parent)])
        for line, option in (("brim.train('m', 'a.csv', learn", "learning_rate"), ("brim.train('m', 'a.csv', patie", "patience"),
                             ("rows = brim.Dataset.from_csv('a.csv', brim.Tokenizer('m'))\nrows.batches(batch_s", "batch_size"),
                             ("brim.train('m', 'a.csv').mod", "model")):
            self.assertIn(option, names(jedi.Script(f"import brim\n{line}", project=project).complete()), line)
        live = inspect.signature(brim.train).parameters  # what IPython offers
        self.assertTrue({"learning_rate", "lr", "folds"} <= set(live) and "report_to" not in live)


if __name__ == "__main__":
    case.main()
