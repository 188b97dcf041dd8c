"""The package as `pip install .` leaves it, in an environment that has nothing else: its files and what describes them, the program
and how it is found, and a model that is trained. What the package does is tested in a build folder, by the files beside this one."""
import filecmp
import importlib.metadata
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import unittest

import brim
import case

HERE = case.folder()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL, TRAIN, TEST = HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv"
PROGRAM = pathlib.Path(sysconfig.get_path("scripts"), "brim")
ABOUT = importlib.metadata.distribution("brim")


def said(*words, **more):
    """What a command prints, with no variable that would help it to find anything."""
    env = {"PATH": "", "HOME": str(HERE), "BRIM_TEST_FOLDER": str(HERE), **more}
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=True, env=env, cwd=HERE).stdout


class Installed(unittest.TestCase):
    def test_files(self):
        """Every file of python/brim, the extension for any CPython from 3.11 on, the program, its manual pages and completion, the licence, and
        nothing else"""
        names = {str(file) for file in ABOUT.files if "dist-info" not in str(file) and "__pycache__" not in str(file)}
        want = {f"brim/{path.name}" for path in (ROOT / "python" / "brim").iterdir() if path.suffix in (".py", ".pyi", ".typed")}
        shared = {name.removeprefix("../../../share/") for name in names if name.startswith("../../../share/")}
        self.assertEqual({name for name in names if "/share/" not in name}, want | {"brim/_core.abi3.so", "../../../bin/brim"})
        self.assertLessEqual({"man/man1/brim.1", "man/man1/brim-train.1", "zsh/site-functions/_brim", "fish/vendor_completions.d/brim.fish",
                              "bash-completion/completions/brim.bash"}, shared)
        self.assertEqual([file.name for file in ABOUT.files if "licenses" in str(file)], ["LICENSE"])
        self.assertIn("brim/py.typed", names)
        self.assertRegex(ABOUT.read_text("WHEEL"), r"(?m)^Tag: cp311-abi3-linux_\w+$")

    def test_description(self):
        """The version of meson.build, and what pip asks for: no package at all, two more by choice"""
        [version] = re.findall(r"^project\(.* version: '([^']+)'", (ROOT / "meson.build").read_text(), re.M)
        self.assertEqual((brim.__version__, ABOUT.version), (version, version))
        self.assertEqual((ABOUT.metadata["Requires-Python"], ABOUT.metadata.get_all("Provides-Extra")), (">=3.11", ["numpy", "torch"]))
        self.assertEqual([one for one in ABOUT.requires if "extra ==" not in one], [])
        self.assertEqual([name for name in ("numpy", "torch", "pyarrow") if importlib.util.find_spec(name)], [])

    def test_program(self):
        """The program beside the interpreter, which `python -m brim` finds by itself; and beside a package that lies elsewhere"""
        self.assertEqual(said(PROGRAM, "--version"), said(sys.executable, "-m", "brim", "--version"))
        self.assertEqual(said(PROGRAM, "--version").split()[-1], brim.__version__)
        elsewhere = HERE / "elsewhere"
        shutil.copytree(pathlib.Path(brim.__file__).parent, elsewhere / "brim")
        (elsewhere / "bin").mkdir()
        shutil.copy(PROGRAM, elsewhere / "bin")
        other = pathlib.Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
        found = said(other, "-c", "from brim import __main__; print(__main__.program())", PYTHONPATH=str(elsewhere))
        self.assertEqual(found, f"{elsewhere / 'bin' / 'brim'}\n")

    def test_training(self):
        """A model is trained, saved, opened and asked; its weights are those of the program"""
        options = {"epochs": 2, "lr": 1e-3, "batch_size": 8}
        result = brim.train(MODEL, TRAIN, eval=TEST, output=HERE / "ours", **options)
        said(PROGRAM, "train", "-m", MODEL, "--train", TRAIN, "--eval", TEST, "-o", HERE / "theirs", "--epochs", 2, "--lr", "1e-3",
             "--batch-size", 8, "--quiet")
        self.assertTrue(filecmp.cmp(HERE / "ours" / "model.safetensors", HERE / "theirs" / "model.safetensors", shallow=False))
        model = brim.Model(HERE / "ours")
        self.assertEqual([p.label for p in model.predict(TEST)], [p.label for p in result.model.predict(TEST)])
        self.assertEqual(memoryview(model.logits(["a good film"])).shape, (1, 2))


if __name__ == "__main__":
    case.main()
