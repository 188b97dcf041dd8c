"""Masked words of brim and of transformers: the losses of steps where both are fed the same masks, the folder that comes out, and what continues
from it. Skipped without torch."""
import json
import pathlib
import random
import sys
import tempfile
import unittest

import case

try:
    import torch
    import transformers
except ImportError:
    print("1..0 # SKIP torch and transformers are not installed")
    sys.exit(0)

import brim
from brim.errors import UsageError

transformers.logging.set_verbosity_error()
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tasks" / "folders" / "fill-mask"
WORDS = "the film is a quiet triumph unbelievable twice and then some".split()
STEPS, ROWS, RATE = 8, 6, 1e-3


def texts(seed, count):
    draw = random.Random(seed)
    return [" ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 14))) for _ in range(count)]


def padded(rows, name, fill):
    longest = max(len(row[name]) for row in rows)
    return torch.tensor([row[name] + [fill] * (longest - len(row[name])) for row in rows])


def step_losses(model, masks):
    """A Trainer's loop, with these masks: rows in order, padded, every position in the decoder."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    losses = []
    for at in range(0, len(masks), ROWS):
        rows = masks[at:at + ROWS]
        ids = padded(rows, "input", 0)
        seen = padded([{"seen": [1] * len(row["ids"])} for row in rows], "seen", 0)
        loss = model(input_ids=ids, attention_mask=seen, labels=padded(rows, "labels", -100)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


class Masked(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.place / "texts.txt"
        self.file.write_text("\n".join(texts(1, STEPS * ROWS)) + "\n", encoding="utf-8")

    def train(self, *options):
        case.program("train", "--quiet", "--model", FOLDER, "--train", self.file, "--task", "mlm", "--output", self.place / "run", *options)
        return [json.loads(line) for line in open(self.place / "run" / "log.jsonl", encoding="utf-8")]

    def test_steps(self):
        """step by step the losses are those of transformers with the same masks, with whole words too; the folder opens there with the same logits"""
        for words in ([], ["--whole-words"]):
            events = self.train("--batching", "sequential", "--batch-size", ROWS, "--lr", RATE, "--schedule", "constant", "--weight-decay", 0,
                                "--mask-rate", "0.3", "--seed", 5, "--overwrite", *words)
            ours = [event["loss"] for event in events if event["event"] == "step"]
            lines = case.program("inspect", "masks", "-t", FOLDER, "--mask-rate", "0.3", "--seed", 5, *words, self.file).splitlines()
            masks = [json.loads(line) for line in lines]
            torch.manual_seed(0)
            model = transformers.AutoModelForMaskedLM.from_pretrained(FOLDER).train()
            theirs = step_losses(model, masks)
            self.assertEqual(len(ours), STEPS)
            self.assertLess(max(abs(a - b) / b for a, b in zip(ours, theirs)), 2e-5, (ours, theirs))
            written = transformers.AutoModelForMaskedLM.from_pretrained(self.place / "run", output_loading_info=True)
            self.assertFalse(written[1]["missing_keys"])
            with torch.no_grad():
                want = model.eval()(torch.tensor([masks[0]["ids"]])).logits
                got = written[0].eval()(torch.tensor([masks[0]["ids"]])).logits
            self.assertLess(float((got - want).abs().max()), 1e-4)

    def test_further(self):
        """a run of Python with whole words and a falling rate; a classifier continues from its folder, and predict fills its mask tokens"""
        rows = texts(2, 60)
        result = brim.train(FOLDER, rows, eval=rows[:20], task="mlm", mask_rate="0.4:0.2", whole_words=True, output=self.place / "run", epochs=3, lr=3e-3,
                            max_length=30)
        self.assertGreater(result.steps, 10)
        filled = json.loads(case.program("predict", "--quiet", "--model", self.place / "run", self.one("The [MASK] is a quiet triumph.")))
        self.assertEqual(filled["masks"], [2])
        self.assertEqual(len(filled["best"][0]), 5)
        measured = json.loads(case.program("evaluate", "--quiet", "--json", "--model", self.place / "run", self.file))
        self.assertGreater(measured["masked"], 40)
        self.assertLess(measured["perplexity"], 3000)
        more = brim.train(self.place / "run", [(text, len(text) % 2) for text in rows], task="classification", output=self.place / "next", max_steps=3)
        self.assertEqual(more.steps, 3)
        self.assertEqual(brim.Model(self.place / "next").task, "classification")
        with self.assertRaisesRegex(UsageError, "masked words"):
            brim.Model(self.place / "run").predict(["a text"])

    def test_fill(self):
        """predict gives the tokens and probabilities of transformers' fill-mask"""
        wanted = json.loads((FOLDER / "texts.json").read_text(encoding="utf-8"))["texts"]
        for entry in wanted:
            got = json.loads(case.program("predict", "--quiet", "--model", FOLDER, self.one(entry["text"])))
            self.assertEqual(got["masks"], entry["masks"])
            self.assertEqual([[(best["id"], best["token"]) for best in one] for one in got["best"]],
                             [[(best["id"], best["token"]) for best in one] for one in entry["best"]])
            apart = [abs(a["probability"] - b["probability"]) for one, other in zip(got["best"], entry["best"]) for a, b in zip(one, other)]
            self.assertLess(max(apart), 1e-8)

    def one(self, text):
        path = self.place / "one.txt"
        path.write_text(text + "\n", encoding="utf-8")
        return path


if __name__ == "__main__":
    case.main()
