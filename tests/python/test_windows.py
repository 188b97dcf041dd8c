"""Windows of texts that are longer than max_length: in training, in what predicts, and in folders."""
import json
import unittest

import brim
import case

HERE = case.folder()
MODEL, TRAIN, TEST = HERE / "model", HERE / "data" / "train.csv", HERE / "data" / "test.csv"


class Windows(unittest.TestCase):
    def test_rows(self):
        """A row's texts are its windows, each with special tokens; what is beyond the last is cut and counted."""
        tokenizer = brim.Tokenizer(MODEL)
        text = "good film bad plot a good film"
        ids = tokenizer.encode(text).ids.tolist()
        rows = brim.Dataset.from_texts([text], tokenizer, max_length=5, windows=1, max_windows=2)
        self.assertEqual(rows[0]["input_ids"], [[ids[0], *ids[1:4], ids[-1]], [ids[0], *ids[3:6], ids[-1]]])
        self.assertEqual((rows.truncated, rows.lost), (1, len(ids) - 2 - 5))
        self.assertEqual(len(brim.Dataset.from_texts([text], tokenizer, max_length=5, windows=1)[0]["input_ids"]), 3)
        with self.assertRaisesRegex(ValueError, "no effect without windows"):
            brim.Dataset.from_texts([text], tokenizer, max_length=5, max_windows=2)

    def test_kept(self):
        """A run's model makes the windows that it was trained with, and brim.train has those of the program."""
        options = {"max_length": 6, "max_steps": 3, "batch_size": 8, "lr": 1e-3}
        brim.train(MODEL, TRAIN, output=HERE / "run", windows=2, max_windows=3, **options)
        case.program("train", "--model", MODEL, "--train", TRAIN, "--output", HERE / "theirs", "--windows", "2", "--max-windows", "3", "--max-length", "6", "--max-steps", "3",
                     "--batch-size", "8", "--lr", "1e-3", "--quiet")
        self.assertEqual((HERE / "run" / "model.safetensors").read_bytes(), (HERE / "theirs" / "model.safetensors").read_bytes())
        model = brim.Model(HERE / "run")
        self.assertEqual((model.tokenizer.windows, brim.Tokenizer(MODEL).windows), ((2, 3), None))
        texts = ["good film bad plot a good film", "good"]
        rows = brim.Dataset.from_texts(texts, model.tokenizer, max_length=6, windows=2, max_windows=3)
        self.assertEqual(model.logits(texts).tolist(), model.logits(rows).tolist())
        cut = brim.Dataset.from_texts(texts, model.tokenizer, max_length=6)
        self.assertNotEqual(model.logits(texts).tolist()[0], model.logits(cut).tolist()[0])
        self.assertEqual(model.logits(texts).tolist()[1], model.logits(cut).tolist()[1])
        self.assertEqual(model.evaluate(TEST)["loss"], json.loads(case.program("evaluate", "--model", HERE / "run", TEST, "--json"))["loss"])


if __name__ == "__main__":
    case.main()
