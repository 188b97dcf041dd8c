"""Runs of embeddings and rerankers next to those of sentence-transformers, which opens their folders and computes the same vectors and scores. Skipped
without sentence-transformers."""
import csv
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import brim
import case

try:
    import numpy as np
    import safetensors.numpy
    import tokenizers
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer
    from transformers import AutoModelForSequenceClassification, AutoTokenizer
except ImportError:
    print("1..0 # SKIP sentence-transformers is not installed")
    sys.exit(0)

TEXTS = ["a film", "it was good, and then it was not", "", "the " * 90, "Ünïcode"]
EXAMPLE = pathlib.Path(__file__).parent.parent.parent / "examples" / "python" / "train_sentences.py"
GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
FOLDERS = GOLDEN / "tasks" / "folders"
FAMILIES = ["albert-regression", "bert-pair-3", "camembert-binary", "deberta-v3-cls", "distilbert-4", "electra-cls", "eurobert-cls", "gte-cls", "jina-linear",
            "modernbert-cls", "mpnet-cls", "nomic-cls", "roberta-binary"]
ALL = "cls,max,mean,mean-sqrt,weighted-mean,last"


def letters(folder, golden):
    """A folder with the model of a golden one, and a tokenizer of letters whose ids it has."""
    shutil.copytree(golden, folder, ignore=lambda _, names: set(names) - {"config.json", "model.safetensors"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    words = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", *(mark + chr(ord("a") + i) for mark in ("", "##") for i in range(26))]
    words.insert(config.get("pad_token_id") or 0, "[PAD]")
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]", continuing_subword_prefix="##"))
    made.normalizer, made.pre_tokenizer = tokenizers.normalizers.Lowercase(), tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                                                   special_tokens=[(one, words.index(one)) for one in ("[CLS]", "[SEP]")])
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 32, "model_input_names": ["input_ids", "attention_mask"],
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}}), encoding="utf-8")
    return folder


class Sentences(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.place.name)
        with open(case.folder() / "data" / "train.csv", encoding="utf-8") as file:
            texts = [row["text"] for row in csv.DictReader(file)][:40]
        self.pairs = list(zip(texts[::2], texts[1::2]))
        self.table("pairs.csv", ["anchor", "positive"], self.pairs)
        self.table("labels.csv", ["query", "document", "label"], [(a, b, i % 2) for i, (a, b) in enumerate(self.pairs)])

    def tearDown(self):
        self.place.cleanup()

    def table(self, name, header, rows):
        with open(self.folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])

    def train(self, task, data, model, *options):
        case.program("train", "--model", model, "--task", task, "--train", self.folder / data, "--output", self.folder / "run", "--overwrite",
                     "--max-steps", 3, "--lr", 1e-3, "--quiet", *options)
        return self.folder / "run"

    def vectors(self, run, *options):
        (self.folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
        lines = case.program("embed", "--model", run, self.folder / "texts.jsonl", "--quiet", *options).splitlines()
        return np.array([json.loads(line)["embedding"] for line in lines])

    def test_vectors(self):
        """encode gives the vectors of brim embed: each pooling, a norm, a dense module"""
        for model, options in ((case.folder() / "model", ["--pooling", "cls"]), (case.folder() / "model", ["--pooling", "max"]),
                               (case.folder() / "model", ["--pooling", "mean", "--matryoshka", "32,8"]), (FOLDERS / "st-mean-normalize", []),
                               (FOLDERS / "st-old-form", []), (case.folder() / "model", ["--pooling", "last"]), (case.folder() / "model", ["--pooling", "mean,cls"]),
                               (FOLDERS / "st-mean-normalize", ["--pooling", "weighted_mean,mean_sqrt"]),
                               (FOLDERS / "st-cls-dense", ["--dense", 8, "--dense-activation", "tanh"]), (FOLDERS / "st-mean-normalize", ["--dense", 24]),
                               (FOLDERS / "st-mean-normalize", ["--layers", "weighted", "--dense", 12]), (case.folder() / "model", ["--layers", "weighted:3", "--pooling", "max"]),
                               (FOLDERS / "st-mean-normalize", ["--layers", "joined:2", "--pooling", "cls,mean"])):
            run = self.train("embedding", "pairs.csv", model, *options)
            theirs = SentenceTransformer(str(run), device="cpu", trust_remote_code="joined:2" in options)
            np.testing.assert_allclose(theirs.encode(TEXTS), self.vectors(run), atol=1e-5, err_msg=f"{model} {options}")
            saved = self.folder / "saved"
            theirs.save(str(saved))
            np.testing.assert_allclose(self.vectors(saved), self.vectors(run), atol=1e-5, err_msg=f"{model} {options}")
            shutil.rmtree(saved)

    def test_families(self):
        """encode gives the vectors of brim embed for every family with all six poolings side by side, a text alone those that it has among others, and
        brim reads what the library saves of it"""
        for name in FAMILIES:
            run = self.train("embedding", "pairs.csv", letters(self.folder / name, GOLDEN / "models" / name), "--pooling", ALL, "--max-steps", 1)
            theirs, ours = SentenceTransformer(str(run), device="cpu"), self.vectors(run)
            np.testing.assert_allclose(theirs.encode(TEXTS), ours, atol=1e-5, err_msg=name)
            np.testing.assert_allclose([theirs.encode(text) for text in TEXTS], ours, atol=1e-5, err_msg=name)
            theirs.save(str(self.folder / f"{name}-saved"))
            np.testing.assert_allclose(self.vectors(self.folder / f"{name}-saved"), ours, atol=1e-5, err_msg=name)

    def test_gradients(self):
        """the gradient of every weight is torch's, with all six poolings side by side, and with a list of them in another order than the older form has"""
        rows = [[[5, 9, 20, 7], [30, 8]], [[6, 40, 41], [9, 9, 21, 22, 23, 24]], [[11], [12, 13, 14]]]
        (self.folder / "batch.json").write_text(json.dumps([{"columns": row} for row in rows]), encoding="utf-8")
        for order, first in ((ALL.split(","), None), (["last", "cls", "mean-sqrt"], None), (["mean"], 1), (["cls", "max"], 0)):
            named = {"mean-sqrt": "mean_sqrt_len_tokens", "weighted-mean": "weightedmean", "last": "lasttoken"}
            folder = letters(self.folder / "-".join(order), GOLDEN / "models" / "bert-pair-3")
            (folder / "1_Pooling").mkdir()
            (folder / "1_Pooling" / "config.json").write_text(json.dumps({"embedding_dimension": json.loads((folder / "config.json").read_text())["hidden_size"],
                                                                          "pooling_mode": [named.get(one, one) for one in order]}), encoding="utf-8")
            (folder / "modules.json").write_text(json.dumps([{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                                             for i, (path, kind) in enumerate([("", "Transformer"), *([("1_Layers", "WeightedLayerPooling")] if first is not None else []),
                                                                                               ("1_Pooling", "Pooling")])]), encoding="utf-8")
            if first is not None:
                config = json.loads((folder / "config.json").read_text())
                (folder / "1_Layers").mkdir()
                (folder / "1_Layers" / "config.json").write_text(json.dumps({"word_embedding_dimension": config["hidden_size"], "layer_start": first,
                                                                             "num_hidden_layers": config["num_hidden_layers"]}), encoding="utf-8")
                shares = np.arange(1, config["num_hidden_layers"] + 2 - first, dtype=np.float32) / 2
                safetensors.numpy.save_file({"layer_weights": shares}, str(folder / "1_Layers" / "model.safetensors"))
                (folder / "config.json").write_text(json.dumps({**config, "output_hidden_states": True}), encoding="utf-8")
            case.program("inspect", "gradients", "--model", folder, "--batch", self.folder / "batch.json", "--loss", "in-batch", "-o", self.folder / "gradients.safetensors")
            model = SentenceTransformer(str(folder), device="cpu").double().eval()
            vectors = [[model({"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)})["sentence_embedding"][0] for ids in column]
                       for column in zip(*rows)]
            a, p = (torch.nn.functional.normalize(torch.stack(column), dim=1) for column in vectors)
            torch.nn.functional.cross_entropy(20 * a @ p.T, torch.arange(len(rows))).backward()
            found = safetensors.numpy.load_file(str(self.folder / "gradients.safetensors"))
            for name, weight in model[0].auto_model.named_parameters():
                if weight.grad is not None and f"grad.{name}" in found:
                    scale = max(1e-3, float(weight.grad.abs().max()))
                    np.testing.assert_allclose(found[f"grad.{name}"] / scale, weight.grad.numpy() / scale, atol=2e-5, err_msg=f"{order} {name}")
            self.assertGreater(len([name for name in found if name.startswith("grad.encoder")]), 20)
            if first is not None:
                of_shares = next(value for name, value in found.items() if name.endswith("layer_weights"))
                np.testing.assert_allclose(of_shares, model[1].layer_weights.grad.numpy(), atol=1e-5)

    def test_prompts(self):
        """vectors after training with prompts, in the pooling or not: encode_query and encode_document have those of brim embed --prompt"""
        for include in (True, False):
            folder = self.folder / f"prompts-{include}"
            shutil.copytree(FOLDERS / "st-mean-normalize", folder)
            if not include:
                pooling = folder / "1_Pooling" / "config.json"
                pooling.write_text(json.dumps({**json.loads(pooling.read_text(encoding="utf-8")), "include_prompt": False}), encoding="utf-8")
            run = self.train("embedding", "pairs.csv", folder, "--query-prompt", "query=find: ", "--document-prompt", "document=passage: ")
            theirs = SentenceTransformer(str(run), device="cpu")
            self.assertEqual({name: text for name, text in theirs.prompts.items() if text}, {"query": "find: ", "document": "passage: "})
            np.testing.assert_allclose(theirs.encode_query(TEXTS), self.vectors(run, "--prompt", "query"), atol=1e-5, err_msg=str(include))
            np.testing.assert_allclose(theirs.encode_document(TEXTS), self.vectors(run, "--prompt", "document"), atol=1e-5, err_msg=str(include))

    def test_scores(self):
        """predict gives the scores of brim predict, and a squared error's are not made probabilities"""
        for loss in ("bce", "mse"):
            run = self.train("rerank", "labels.csv", case.folder() / "model", "--loss", loss)
            theirs = CrossEncoder(str(run), device="cpu")
            lines = case.program("predict", "--model", run, self.folder / "labels.csv", "--quiet").splitlines()
            np.testing.assert_allclose(theirs.predict(self.pairs), [json.loads(line)["scores"][0] for line in lines], atol=1e-5, err_msg=loss)
            self.assertEqual(type(theirs.activation_fn).__name__, {"bce": "Sigmoid", "mse": "Identity"}[loss])

    def scores(self, run, *options):
        lines = case.program("predict", "--model", run, self.folder / "labels.csv", "--quiet", *options).splitlines()
        return [json.loads(line)["scores"][0] for line in lines]

    def test_older_scores(self):
        """what the library says of a cross-encoder counts in its order; a run that is trained from one says it in one way, and a regression is none"""
        older = self.folder / "older"
        shutil.copytree(self.train("rerank", "labels.csv", case.folder() / "model"), older)
        (older / "config_sentence_transformers.json").unlink()
        config = json.loads((older / "config.json").read_text(encoding="utf-8"))
        del config["sentence_transformers"]
        for member in ("torch.nn.modules.linear.Identity", None):
            (older / "config.json").write_text(json.dumps({**config, "sbert_ce_default_activation_function": member}), encoding="utf-8")
            for folder in (older, self.train("rerank", "labels.csv", older)):
                np.testing.assert_allclose(CrossEncoder(str(folder), device="cpu").predict(self.pairs), self.scores(folder), atol=1e-5, err_msg=f"{folder} {member}")
        saved = self.folder / "saved"
        CrossEncoder(str(self.folder / "run"), device="cpu", activation_fn=torch.nn.Identity()).save_pretrained(str(saved))
        np.testing.assert_allclose(CrossEncoder(str(saved), device="cpu").predict(self.pairs), self.scores(saved), atol=1e-5)
        CrossEncoder(str(saved), device="cpu", activation_fn=torch.nn.Tanh()).save_pretrained(str(saved))
        with self.assertRaisesRegex(AssertionError, "activation_fn"):
            self.scores(saved)
        pair = ("--text-column", "query", "--pair-column", "document")
        run = self.train("regression", "labels.csv", older, *pair)
        theirs = AutoModelForSequenceClassification.from_pretrained(run)
        with torch.no_grad():
            values = theirs(**AutoTokenizer.from_pretrained(run)(*zip(*self.pairs), padding=True, return_tensors="pt")).logits[:, 0]
        np.testing.assert_allclose(values, self.scores(run, *pair), atol=1e-5)

    def test_lower_case(self):
        """do_lower_case of sentence_bert_config.json says nothing new of a tokenizer that does it, and is refused of another"""
        for lowers in (True, False):
            folder = self.folder / f"lower-{lowers}"
            shutil.copytree(FOLDERS / "st-mean-normalize", folder)
            (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 12, "do_lower_case": True}), encoding="utf-8")
            tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
            tokenizer["normalizer"] = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": lowers}
            (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
            settings = folder / "tokenizer_config.json"
            settings.write_text(json.dumps({**json.loads(settings.read_text(encoding="utf-8")), "do_lower_case": lowers}), encoding="utf-8")
            if lowers:
                np.testing.assert_allclose(SentenceTransformer(str(folder), device="cpu").encode([text.upper() for text in TEXTS]), self.vectors(folder), atol=1e-5)
            else:
                with self.assertRaisesRegex(AssertionError, "do_lower_case"):
                    self.vectors(folder)

    def lengths(self, made):
        """Copies of a folder in which each place that may say a length says each of several; with what is said and the positions."""
        places = {name: json.loads((made / name).read_text(encoding="utf-8")) for name in ("config.json", "tokenizer_config.json", "sentence_bert_config.json")}
        tensors = safetensors.numpy.load_file(made / "model.safetensors")
        positions = next(name for name in tensors if name.endswith("position_embeddings.weight"))
        for most in (16, 32):
            for own in ({}, {"model_max_length": 10}, {"model_max_length": 30}, {"model_max_length": 1e30}):
                for length in ({}, {"max_seq_length": None}, {"max_seq_length": 5}, {"max_seq_length": 28}, {"max_seq_length": 10000}):
                    folder = self.folder / "length"
                    shutil.rmtree(folder, ignore_errors=True)
                    shutil.copytree(made, folder)
                    safetensors.numpy.save_file({**tensors, positions: np.ascontiguousarray(tensors[positions][:most])}, folder / "model.safetensors")
                    for (name, said), one in zip(places.items(), ({"max_position_embeddings": most}, own, length)):
                        said = {key: value for key, value in said.items() if key not in ("model_max_length", "max_seq_length")}
                        (folder / name).write_text(json.dumps({**said, **one}), encoding="utf-8")
                    yield folder, most, f"{most} {own} {length}"

    def test_lengths(self):
        """texts are cut where the library cuts them: at max_seq_length, else at model_max_length, within the positions; a model that is saved again, and
        a run, keep it"""
        texts = ["a good film " * 30, "the " * 7]
        for folder, most, said in self.lengths(FOLDERS / "st-mean-normalize"):
            theirs = SentenceTransformer(str(folder), device="cpu")
            theirs.max_seq_length = min(theirs.max_seq_length, most)  # beyond which it fails
            model = brim.Model(folder)
            np.testing.assert_allclose(theirs.encode(texts), model.embed(texts), atol=1e-5, err_msg=said)
            model.save(self.folder / "again")
            self.assertEqual(SentenceTransformer(str(self.folder / "again"), device="cpu").max_seq_length, theirs.max_seq_length, said)
            for run in (brim.train(folder, [("a film", "b")], task="embedding", epochs=1).model, brim.train(model, [("a film", "b")], task="embedding", epochs=1).model):
                self.assertEqual(run._longest(), theirs.max_seq_length, said)
            shutil.rmtree(self.folder / "again")

    def test_lengths_of_pairs(self):
        """the same of rerankers"""
        made = self.folder / "made"
        CrossEncoder(str(self.train("rerank", "labels.csv", case.folder() / "model")), device="cpu").save_pretrained(str(made))
        self.pairs = [("a good film " * 9, "it was not " * 9), ("the", "film")]
        self.table("labels.csv", ["query", "document", "label"], [(*pair, 1) for pair in self.pairs])
        for folder, most, said in self.lengths(made):
            theirs = CrossEncoder(str(folder), device="cpu")
            theirs.max_seq_length = min(theirs.max_seq_length, most)
            scores = theirs.predict(self.pairs)
            np.testing.assert_allclose(scores, brim.Model(folder).predict(self.pairs), atol=1e-5, err_msg=said)
            np.testing.assert_allclose(scores, self.scores(folder), atol=1e-5, err_msg=said)
            self.assertEqual(brim.train(folder, [("a", "b", 1)], task="rerank", epochs=1).model._longest(), theirs.max_seq_length, said)

    def test_batches(self):
        """examples/python/train_sentences.py: their model, modules and loss with brim's batches; ragged ones have no padding, and the same vectors"""
        slots = {}
        for padding in ("none", "longest"):
            out = case.script(EXAMPLE, FOLDERS / "st-mean-normalize", self.folder / "pairs.csv", "--padding", padding, "--epochs", "3", "--lr", "1e-3",
                              "--output", self.folder / padding)
            apart, losses = re.search(r"differ by (\S+)", out), [float(loss) for loss in re.search(r"loss (.*)", out)[1].split(", ")]
            self.assertLess(float(apart[1]), 1e-5)
            self.assertLess(losses[-1], losses[0])
            slots[padding] = int(re.search(r"([\d,]+) slots", out)[1].replace(",", ""))
            np.testing.assert_allclose(SentenceTransformer(str(self.folder / padding), device="cpu").encode(TEXTS), self.vectors(self.folder / padding), atol=1e-5)
        self.assertLess(slots["none"], slots["longest"])


if __name__ == "__main__":
    case.main()
