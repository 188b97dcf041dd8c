"""The programs of examples/python, on real text where there is any: quickstart/ (./quickstart.sh data), and the documents' own data."""
import lzma
import os
import pathlib
import re
import subprocess
import sys
import unittest

import case

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = case.folder()
SHARED = pathlib.Path(os.environ.get("BRIM_SHARED", "/nowhere"))


def run(name, *arguments, cwd=HERE):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "python" / name), *map(str, arguments)], capture_output=True,
                          text=True, cwd=cwd)
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    return done.stdout


class Examples(unittest.TestCase):
    def test_smart_batching(self):
        data = ROOT / "quickstart" / "imdb.csv"
        models = list((ROOT / "quickstart" / "packages").glob("**/tokenizer.json"))
        if not data.exists() or not models:
            self.skipTest("there are no reviews: ./quickstart.sh data")
        out = run("smart_batching.py", data, models[0].parent)
        fixed, smart, none = (int(n.replace(",", "")) for n in re.findall(r"([\d,]+) tokens", out))
        print("#", out.replace("\n", "\n# "))
        self.assertEqual((fixed, none), (10_000_000, 6_358_424))
        self.assertLess(abs(smart - 6_381_424), 0.003 * 6_381_424)

    def test_sampler_and_collator(self):
        packed = SHARED / "data" / "commonlit" / "train.csv.xz"
        tokenizer = SHARED / "tokenizers" / "roberta-base"
        if not packed.exists() or not tokenizer.exists():
            self.skipTest("there are no CommonLit texts")
        data = HERE / "commonlit.csv"
        data.write_bytes(lzma.decompress(packed.read_bytes()).replace(b"\r\n", b"\n"))
        out = run("sampler_and_collator.py", data, tokenizer, "--text-column", "excerpt", "--label-column", "target")
        print("#", out.replace("\n", "\n# "))
        counts = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) tokens", out)]
        self.assertEqual(counts[0], 991_900)
        self.assertLess(counts[1], 629_000)
        self.assertLess(counts[2], 624_200)

    def test_small_data(self):
        out = run("smart_batching.py", HERE / "data" / "train.csv", HERE / "model", "--max-length", 20, "--batch-size", 8)
        self.assertIn("96 texts", out)
        out = run("sampler_and_collator.py", HERE / "data" / "train.csv", HERE / "model", "--max-length", 20, "--batch-size", 8)
        self.assertIn("uniform", out)

    def test_stream(self):
        first = run("stream.py", HERE / "data" / "train.txt", HERE / "model", "--batches", 1)
        second = run("stream.py", HERE / "data" / "train.txt", HERE / "model", "--batches", 1)
        self.assertIn("epoch 0: 96 rows", first)
        self.assertIn("epoch 1: 96 rows", second)

    def test_fine_tune(self):
        out = run("fine_tune.py", HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv")
        self.assertRegex(out, r"6 steps, [\d,]+ tokens, nothing padded; accuracy 0\.\d+")


if __name__ == "__main__":
    case.main()
