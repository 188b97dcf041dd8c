"""The programs of examples/python, on real text where there is any: quickstart/ (./quickstart.sh data), on made texts, and with
--data DIR on those of the notebook (`make test-data DATA=DIR`)."""
import csv
import gzip
import json
import lzma
import pathlib
import random
import re
import sys
import unittest

import case

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HERE = case.folder()
GOLDEN = ROOT / "tests" / "golden"
FOLDERS = GOLDEN / "tasks" / "folders"
DATA = pathlib.Path(sys.argv[2]) if sys.argv[1:2] == ["--data"] else None


def run(name, *arguments):
    return case.script(ROOT / "examples" / "python" / name, *arguments)


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
        """Made texts: the counts are those of plain sorting and cutting, from the reference's own ids."""
        with gzip.open(GOLDEN / "texts" / "made.jsonl.gz", "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["text"] for line in file]
        with gzip.open(GOLDEN / "ids" / "byte-bpe" / "made.jsonl.gz", "rt", encoding="utf-8") as file:
            lengths = [min(350, len(json.loads(line)["ids"])) for line in file]
        keep = [i for i, text in enumerate(texts) if text.strip()][:2390]
        lengths, short = sorted((lengths[i] for i in keep), reverse=True), len(keep) % 24
        data = HERE / "made.csv"
        with open(data, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("excerpt", "target"), *((texts[i], i % 7 / 2) for i in keep)])
        out = run("sampler_and_collator.py", data, GOLDEN / "tokenizers" / "byte-bpe", "--text-column", "excerpt", "--label-column", "target")
        counts = [int(n.replace(",", "")) for n in re.findall(r"([\d,]+) tokens", out)]
        self.assertEqual(counts[0], len(keep) * 350)

        def slots(rows):
            return sum(len(rows[i : i + 24]) * max(rows[i : i + 24]) for i in range(0, len(rows), 24))

        def uniform(draw):
            left, total = list(lengths), 0
            while left:
                at = draw.randrange(len(left) - min(24, len(left)) + 1)
                total += len(left[at : at + 24]) * max(left[at : at + 24])
                del left[at : at + 24]
            return total

        drawn = [uniform(random.Random(seed)) for seed in range(30)]
        self.assertLessEqual(counts[1], max(drawn) + (max(drawn) - min(drawn)) // 2)
        self.assertGreaterEqual(counts[1], sum(lengths))
        self.assertGreater(short, 0)
        anywhere = [slots(lengths[:at]) + short * lengths[at] + slots(lengths[at + short :]) for at in range(0, len(lengths), 24)]
        self.assertTrue(min(anywhere) <= counts[2] <= max(anywhere), (counts[2], min(anywhere), max(anywhere)))

    def test_sampler_and_collator_published(self):
        if DATA is None:
            self.skipTest("CommonLit is not in the repository: make test-data DATA=DIR")
        packed = DATA / "data" / "commonlit" / "train.csv.xz"
        tokenizer = DATA / "tokenizers" / "roberta-base"
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

    def test_search(self):
        """The document that is the query itself comes first; kept vectors are used until the documents change."""
        data, kept = HERE / "documents.csv", HERE / "documents.vectors.npy"
        texts = ["a red house", "a small blue boat", "the loud sea", "an old green door"]
        for documents in (texts, texts[::-1]):
            with open(data, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows([("text",), *((text,) for text in documents)])
            for _ in range(2):
                out = run("search.py", FOLDERS / "st-prompts", data, "the loud sea", texts[0], "--top", 2).splitlines()
                before = kept.stat().st_mtime_ns
                self.assertEqual((out[0], out[3], len(out)), ("the loud sea", texts[0], 6))
            self.assertEqual(kept.stat().st_mtime_ns, before)
        out = run("search.py", FOLDERS / "st-mean-normalize", data, "the loud sea").splitlines()
        self.assertEqual(out[1], "  1.0000  the loud sea")

    def test_mteb_encoder(self):
        """What mteb calls, without its data sets: the vectors of Model.embed, by the kind of text that it names."""
        try:
            import torch
        except ImportError:
            self.skipTest("mteb brings torch, which is not here")
        import numpy as np
        sys.path.insert(0, str(ROOT / "examples" / "python"))
        import mteb_encoder
        encoder = mteb_encoder.Encoder(str(FOLDERS / "st-prompts"))
        batches = [{"text": ["a red house", "the sea"], "id": ["1", "2"]}, {"text": ["a boat"]}]
        for kind, prompt in (("query", "query"), ("document", "document"), (None, None)):
            got = encoder.encode(iter(batches), task_metadata=None, hf_split="test", hf_subset="default", prompt_type=kind)
            self.assertTrue(np.array_equal(got, encoder.model.embed(["a red house", "the sea", "a boat"], prompt=prompt)), kind)
        all_pairs, own = encoder.similarity(got, got), encoder.similarity_pairwise(got, got)
        self.assertTrue(torch.allclose(own, torch.ones(3)) and torch.allclose(all_pairs.diagonal(), own))
        try:
            from mteb.models import EncoderProtocol
        except ImportError:
            return
        self.assertIsInstance(encoder, EncoderProtocol)
        self.assertEqual(encoder.mteb_model_meta.embed_dim, got.shape[1])


if __name__ == "__main__":
    case.main()
