"""Folders of sentence-transformers whose files say more, or are elsewhere, than those that it saves today: vectors are its own, or a line says what brim does not
do. Skipped without sentence-transformers."""
import json
import pathlib
import shutil
import sys
import tempfile
import unittest

import brim
import case

try:
    import numpy as np
    import scipy.stats
    from sentence_transformers import SentenceTransformer
except ImportError:
    print("1..0 # SKIP sentence-transformers is not installed")
    sys.exit(0)

FOLDERS = pathlib.Path(__file__).parent.parent / "golden" / "tasks" / "folders"
TEXTS = ["good movie of old", "a", "the movie was great and the acting bad, and so on, with a long plot that never ends in the old house", "Été"]
LENGTHS = "sentence_bert_config.json"


class Edits(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.count = 0

    def tearDown(self):
        self.place.cleanup()

    def folder(self, name="st-prompts"):
        self.count += 1
        return pathlib.Path(shutil.copytree(FOLDERS / name, pathlib.Path(self.place.name, str(self.count))))

    def put(self, folder, name, **said):
        """Members of a file, put to those that it has."""
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        had = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(json.dumps({**had, **said}), encoding="utf-8")

    def move(self, folder, path):
        """The encoder into a folder below."""
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        modules[0]["path"] = path
        (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
        (folder / path).mkdir(parents=True)
        for file in [*folder.glob("tokenizer*"), *folder.glob("sentence_*"), folder / "config.json", folder / "model.safetensors"]:
            file.rename(folder / path / file.name)

    def same(self, folder, message=""):
        theirs, made = SentenceTransformer(str(folder), device="cpu"), brim.Model(folder)
        np.testing.assert_allclose(made.embed(TEXTS, prompt=None), theirs.encode(TEXTS), atol=1e-5, err_msg=message)
        np.testing.assert_allclose(made.embed(TEXTS, prompt="query"), theirs.encode_query(TEXTS), atol=1e-5, err_msg=message)
        np.testing.assert_allclose(made.embed(TEXTS, prompt="document"), theirs.encode_document(TEXTS), atol=1e-5, err_msg=message)

    def refused(self, folder, words):
        for ask in (lambda: brim.Model(folder).embed(TEXTS), lambda: brim.train(folder, [("a", "b")], task="embedding", max_steps=1)):
            with self.assertRaisesRegex(brim.errors.Error, words):
                ask()

    def test_lengths(self):
        """every name of the file that says where texts are cut, the first that says something, and what the tokenizer is given"""
        for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"):
            for path in (None, "0_Transformer"):
                folder = self.folder("st-cls-dense")
                (folder / LENGTHS).unlink()
                self.put(folder, f"sentence_{kind}_config.json", max_seq_length=10)
                if path:
                    self.move(folder, path)
                self.same(folder, kind)
                uncut = np.asarray(brim.Model(folder).embed(TEXTS, max_length=20, prompt="none"))
                self.assertGreater(np.abs(uncut - brim.Model(folder).embed(TEXTS, prompt="none"))[2].max(), 1e-4)
        for first, second in (({}, {"max_seq_length": 5}), ({"max_seq_length": 9}, {"max_seq_length": 5})):
            folder = self.folder()
            (folder / LENGTHS).write_text(json.dumps(first), encoding="utf-8")
            self.put(folder, "sentence_albert_config.json", **second)
            self.same(folder)
        for given in ("tokenizer_args", "processor_kwargs"):
            folder = self.folder()
            self.put(folder, LENGTHS, max_seq_length=12, **{given: {"model_max_length": 7}})
            self.same(folder, given)
        folder = self.folder()
        self.put(folder, LENGTHS, tokenizer_args={"model_max_length": 7}, processor_kwargs={"model_max_length": 9})
        self.same(folder)

    def test_accepted(self):
        """what changes no vector"""
        for said in ({"tokenizer_args": {"use_fast": True, "trust_remote_code": True, "padding_side": "right"}}, {"model_args": {"torch_dtype": "float32"}},
                     {"model_kwargs": {"attn_implementation": "eager", "add_pooling_layer": False}}, {"config_args": {"trust_remote_code": False}},
                     {"processing_kwargs": {"text": {"padding": True}}}, {"transformer_task": "feature-extraction"}, {"unpad_inputs": False, "query_length": None}):
            folder = self.folder("st-cls-dense")
            self.put(folder, LENGTHS, **said)
            self.same(folder, str(said))

    def test_refused(self):
        """what changes vectors, and brim does not do"""
        for said, words in (({"tokenizer_args": {"truncation_side": "left"}}, "truncation_side"), ({"config_kwargs": {"layer_norm_eps": 0.1}}, "layer_norm_eps"),
                            ({"model_args": {"num_hidden_layers": 1}}, "num_hidden_layers"), ({"transformer_task": "fill-mask"}, "feature-extraction"),
                            ({"query_length": 4}, "query_length"), ({"tokenizer_name_or_path": "other"}, "tokenizer_name_or_path"),
                            ({"processing_kwargs": {"text": {"add_special_tokens": False}}}, "add_special_tokens"),
                            ({"modality_config": {"text": {"method": "forward", "method_output_name": "pooler_output"}}, "module_output_name": "sentence_embedding"}, "last_hidden_state")):
            folder = self.folder()
            self.put(folder, LENGTHS, **said)
            self.refused(folder, f"{LENGTHS}: line 1, byte .*{words}")

    def test_paths(self):
        """the encoder where modules.json says"""
        rows = [("good film", "bad film"), ("old", "new")]
        wanted = brim.train(self.folder(), rows, task="embedding", max_steps=1).model.embed(TEXTS)
        for path in ("encoder", "0_Encoder", "a/b", "0_Transformer"):
            folder = self.folder()
            self.move(folder, path)
            self.same(folder, path)
            self.assertEqual(brim.Model(folder / path).embed(TEXTS).tolist(), brim.Model(folder).embed(TEXTS).tolist())
            self.assertEqual(brim.train(folder, rows, task="embedding", max_steps=1).model.embed(TEXTS).tolist(), wanted.tolist(), path)
            shutil.copytree(FOLDERS / "st-max", folder, dirs_exist_ok=True, ignore=lambda _, names: set(names) - {"config.json", "model.safetensors"})
            self.same(folder, f"{path}, and another model above")
        folder = self.folder()
        self.move(folder, "x")
        (folder / "modules.json").write_text((folder / "modules.json").read_text(encoding="utf-8").replace('"x"', '"../x"'), encoding="utf-8")
        with self.assertRaisesRegex(brim.errors.Error, "path is the name of a folder within this one"):
            brim.Model(folder).embed(TEXTS)

    def test_kinds(self):
        """folders of other classes"""
        for kind, words in (("SparseEncoder", "no SentenceTransformer"), ("MultiVectorEncoder", "no SentenceTransformer")):
            folder = self.folder()
            self.put(folder, "config_sentence_transformers.json", model_type=kind)
            with self.assertRaisesRegex(brim.errors.Error, words):
                brim.Model(folder).embed(TEXTS)
        for name in ("st-max", "st-cls-dense"):  # of a reranker neither modules nor prompts count
            folder = self.folder(name)
            self.put(folder, "config_sentence_transformers.json", model_type="CrossEncoder", prompts={"x": "good "}, default_prompt_name="x")
            np.testing.assert_allclose(brim.Model(folder).embed(TEXTS), SentenceTransformer(str(folder), device="cpu").encode(TEXTS), atol=1e-5)
        folder = self.folder()
        (folder / "modules.json").write_text((folder / "modules.json").read_text(encoding="utf-8").replace(".Pooling", ".SpladePooling"), encoding="utf-8")
        self.refused(folder, "SparseEncoder")

    def test_prompts(self):
        """a query begins with "query" and a document with "document", where these are not said with nothing"""
        for prompts, usual in (({"query": "good ", "document": "", "passage": "bad "}, None), ({"passage": "bad "}, "passage"), ({"document": None, "passage": "bad "}, "query"),
                               ({"corpus": "bad "}, None), ({"x": None}, "x")):
            folder = self.folder()
            self.put(folder, "config_sentence_transformers.json", prompts=prompts, default_prompt_name=usual)
            self.same(folder, str(prompts))
            corpus, queries = {str(i): text for i, text in enumerate(TEXTS)}, {"q": "old film"}
            theirs = SentenceTransformer(str(folder), device="cpu")
            near = (theirs.encode_query([queries["q"]]) @ theirs.encode_document(TEXTS).T)[0]
            best = str(int(near.argmax()))
            found = brim.Model(folder).evaluate_retrieval(corpus, queries, {"q": [best]}, at=[1], similarity="dot")
            self.assertEqual([value for name, value in found.items() if "accuracy" in name], [1.0], str(prompts))

    def test_evaluation(self):
        """rows with prompts, whose tokens are not pooled where the folder says so, and those after them that have none"""
        folder = self.folder()
        self.put(folder, "1_Pooling/config.json", include_prompt=False)
        prompts, scores = ["a good old film: ", "the bad movie: "], [0.1, 0.9, 0.3, 0.6]
        rows = [{"sentence1": a, "sentence2": b, "score": s} for a, b, s in zip(TEXTS, TEXTS[1:] + TEXTS[:1], scores)]
        theirs = SentenceTransformer(str(folder), device="cpu")

        def pearson(prompts):
            a, b = (theirs.encode([row[name] for row in rows], prompt=prompt, normalize_embeddings=True) for name, prompt in zip(("sentence1", "sentence2"), prompts))
            return scipy.stats.pearsonr((a * b).sum(1), scores)[0]

        model = brim.Model(folder)
        for given in (prompts, None, prompts[::-1]):
            rows_of = brim.Dataset.of(rows, model.tokenizer, labelled=True, text_columns=["sentence1", "sentence2"], label_column="score", labels=model.labels, **({"prompts": given} if given else {}))
            for part in (rows_of, rows_of.select(range(len(rows)))):
                self.assertAlmostEqual(model.evaluate(part)["pearson"], pearson(given or ["", ""]), 4)
        trained = brim.train(folder, rows, task="embedding", prompts={"query": prompts[0], "document": prompts[1]}, lr=1e-30, max_steps=1).model
        self.assertAlmostEqual(trained.evaluate(rows)["pearson"], pearson(["", ""]), 4)


if __name__ == "__main__":
    case.main()
