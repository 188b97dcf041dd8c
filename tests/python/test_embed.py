"""Model.embed: the bits of `brim embed`, from anything that can be looped over."""
import copy
import json
import logging
import pathlib
import pickle
import re
import shutil
import unittest
import unittest.mock

import case
import numpy as np
import pyarrow

import brim
from brim import _core

HERE = case.folder()
FOLDERS = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tasks" / "folders"
TEXTS = json.loads((FOLDERS / "st-prompts" / "texts.json").read_text(encoding="utf-8"))["texts"]


def by_program(folder, texts, *options):
    data, out = HERE / "embed.jsonl", HERE / "embed.npy"
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    case.program("embed", "-m", folder, data, "-o", out, *options)
    return np.load(out)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class Embedding(unittest.TestCase):
    def test_equals_program(self):
        """The bits of `brim embed`: folders of every kind, prompts, dimensions, precisions, limits."""
        for name in ("st-old-form", "st-mean-normalize", "st-max", "st-cls-dense", "st-prompts"):
            model = brim.Model(FOLDERS / name)
            self.assertTrue(same(model.embed(TEXTS), by_program(FOLDERS / name, TEXTS)), name)
        for how, options in [({"prompt": "query"}, ["--prompt", "query"]), ({"prompt": "none", "max_length": 6}, ["--prompt", "none", "--max-length", "6"]),
                             ({"dimensions": 5, "normalize": True}, ["--dimensions", "5", "--normalize"]),
                             ({"precision": "int8", "max_tokens": 20}, ["--precision", "int8", "--max-tokens", "20"])]:
            self.assertTrue(same(model.embed(TEXTS, **how), by_program(FOLDERS / "st-prompts", TEXTS, *options)), how)

    def test_longer_than_the_tokenizer(self):
        """max_seq_length counts before model_max_length, also where it is larger; without a modules.json it says nothing"""
        folder = HERE / "longer"
        shutil.copytree(FOLDERS / "st-mean-normalize", folder)
        for name, length in (("tokenizer_config.json", {"model_max_length": 6}), ("sentence_bert_config.json", {"max_seq_length": 20})):
            (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text(encoding="utf-8")), **length}), encoding="utf-8")
        text = "a good film " * 20
        model, cut = brim.Model(folder), brim.Model(folder).embed([text], max_length=20)
        self.assertTrue(same(model.embed([text]), cut))
        self.assertTrue(same(by_program(folder, [text]), cut))
        self.assertEqual((model._longest(), brim.train(folder, [("a", "b")], task="embedding", epochs=1).model._longest()), (20, 20))
        (HERE / "longer.csv").write_text("anchor,positive\na,b\n", encoding="utf-8")
        case.program("train", "-m", folder, "--task", "embedding", "--train", HERE / "longer.csv", "-o", HERE / "longer-run", "--max-steps", 1, "--quiet")
        self.assertEqual(json.loads((HERE / "longer-run" / "tokenizer_config.json").read_text(encoding="utf-8"))["model_max_length"], 20)
        model.save(HERE / "longer-saved")
        self.assertEqual(brim.Model(HERE / "longer-saved")._longest(), 20)
        (folder / "modules.json").unlink()
        self.assertTrue(same(by_program(folder, [text]), by_program(folder, [text], "--max-length", "6")))

    def test_prompt_swallows(self):
        """of a prompt that is longer than the cut what ends the text is pooled, where the prompt's tokens are not: as the library does it"""
        made = {}
        for pooling, included in (("mean", False), ("lasttoken", True)):
            folder = HERE / f"swallowed-{pooling}"
            shutil.copytree(FOLDERS / "st-prompts", folder)
            said = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
            said = {key: value for key, value in said.items() if not key.startswith("pooling_mode")}
            (folder / "1_Pooling" / "config.json").write_text(json.dumps({**said, "pooling_mode": pooling, "include_prompt": included}), encoding="utf-8")
            (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "a good film and a bad film: "}}), encoding="utf-8")
            made[pooling] = brim.Model(folder).embed(["the"], prompt="query", max_length=6)
        np.testing.assert_allclose(made["mean"], made["lasttoken"], atol=1e-6)

    def test_written_meanwhile(self):
        """what is made of weights that another thread changes meanwhile is asked once, and not kept"""
        model, make, made = brim.Model(FOLDERS / "st-prompts"), _core.embedder, []

        def embedder(*given):
            made.append(make(*given))
            if len(made) == 1:
                model.written()
            return made[-1]

        with unittest.mock.patch.object(_core, "embedder", embedder):
            for count in (1, 2, 2):
                model.embed("a good film")
                self.assertEqual(len(made), count)

    def test_alone_as_together(self):
        """A text's vector does not depend on its company, and texts come from anything."""
        model = brim.Model(FOLDERS / "st-prompts")
        together = model.embed(TEXTS)
        self.assertTrue(same(np.concatenate([model.embed(text) for text in TEXTS]), together))
        for texts in (iter(TEXTS), (text.encode() for text in TEXTS), tuple(TEXTS), pyarrow.array(TEXTS), np.array(TEXTS, object)):
            self.assertTrue(same(model.embed(texts), together), type(texts))
        self.assertTrue(same(model.embed(TEXTS, batch_size=1), together))
        self.assertEqual(model.embed([]).shape, (0, together.shape[1]))
        many = model.embed(text for _ in range(3000) for text in TEXTS[:3])
        self.assertTrue(same(many, np.tile(together[:3], (3000, 1))))

    def test_memory(self):
        """A generator's texts are not held: of 60,000 no more is in use at the end than their vectors."""
        model = brim.Model(FOLDERS / "st-prompts", runtime=brim.Runtime(threads=1))  # each thread has its working memory, from its first text on
        model.embed("a" for _ in range(9000))
        many = 9000 if case.SANITIZED else 60_000  # sanitizers do not say what is in use
        before = case.in_use()
        vectors = model.embed(f"number {i % 7}" for i in range(many))
        self.assertLess(case.in_use() - before, vectors.nbytes + (1 << 20))

    def test_any_model(self):
        """A run, or an encoder alone: the mean of its tokens. Predictions of the same model are as before."""
        model = brim.Model(HERE / "model", untrained=True)
        before = bytes(model.logits(TEXTS[:3]))
        vectors = model.embed(TEXTS[:3], max_length=8)
        self.assertTrue(same(vectors, by_program(HERE / "model", TEXTS[:3], "--max-length", "8")))
        self.assertEqual(bytes(model.logits(TEXTS[:3])), before)

    def test_copies_of_folders(self):
        """A folder of vectors is one, as it is opened: copies and what is saved have its modules, its prompts and where it cuts."""
        for name in ("st-old-form", "st-mean-normalize", "st-max", "st-cls-dense", "st-prompts"):
            model = brim.Model(FOLDERS / name)
            self.assertEqual(model.task, "embedding")
            model.save(HERE / "kept" / name)
            for one in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), brim.Model(HERE / "kept" / name)):
                self.assertTrue(same(one.embed(TEXTS), model.embed(TEXTS)), name)
        self.assertTrue(same(one.embed(TEXTS, prompt="query"), model.embed(TEXTS, prompt="query")))
        words = next(weights for tensor, weights in model.parameters().items() if "word_embeddings" in tensor)
        np.asarray(words)[:] += 0.5
        model.written()
        self.assertFalse(same(one.embed(TEXTS), model.embed(TEXTS)))
        self.assertTrue(same(pickle.loads(pickle.dumps(model)).embed(TEXTS), model.embed(TEXTS)))

    def test_truncate_dim(self):
        """A folder whose vectors are cut: what is embedded has so many numbers where nothing else is said, as the command's, copies' and measures' have."""
        folder = HERE / "cut"
        shutil.copytree(FOLDERS / "st-prompts", folder)
        settings = folder / "config_sentence_transformers.json"
        settings.chmod(0o644)
        settings.write_text(json.dumps({**json.loads(settings.read_text(encoding="utf-8")), "truncate_dim": 4}), encoding="utf-8")
        whole, model = brim.Model(FOLDERS / "st-prompts"), brim.Model(folder)
        four = whole.embed(TEXTS, dimensions=4)
        for one in (model, pickle.loads(pickle.dumps(model))):
            self.assertTrue(same(one.embed(TEXTS), four) and same(one.embed(TEXTS, dimensions=16), whole.embed(TEXTS)))
        self.assertTrue(same(model.embed(TEXTS), by_program(folder, TEXTS)))
        pairs = [(text, other, i) for i, (text, other) in enumerate(zip(TEXTS, TEXTS[1:]))]
        asked = ({"1": TEXTS[0], "2": TEXTS[1]}, {"q": TEXTS[0]}, {"q": ["1"]})
        for measure in (lambda m, **how: m.evaluate_similarity(pairs, **how), lambda m, **how: m.evaluate_retrieval(*asked, **how)):
            one, other = measure(model), measure(whole, dimensions=4)
            self.assertEqual({**one, "seconds": 0}, {**other, "seconds": 0})
        for wrong in ("4", 0, 1.5):
            settings.write_text(json.dumps({"truncate_dim": wrong}), encoding="utf-8")
            with self.assertRaisesRegex(brim.errors.FormatError, "truncate_dim"):
                brim.Model(folder).embed("a")
        with self.assertRaisesRegex(TypeError, "corpus: a file or a dict by ids is needed, and not a list"):
            model.evaluate_retrieval(["a"], *asked[1:])

    def test_opened_again(self):
        """A run's folder as what the training left in memory: measured and trained on."""
        rows = [(text, other) for text, other in zip(TEXTS, TEXTS[1:]) if text and other]
        model = brim.train(FOLDERS / "st-prompts", rows, task="embedding", max_steps=1, output=HERE / "vectors", overwrite=True).model
        again = brim.Model(HERE / "vectors")
        self.assertEqual(again.evaluate(rows)["mrr"], model.evaluate(rows)["mrr"])
        self.assertEqual(brim.train(again, rows, max_steps=1).model.task, "embedding")
        with self.assertRaisesRegex(brim.errors.UsageError, "vectors"):
            brim.Model(HERE / "vectors").predict("a")
        with self.assertRaisesRegex(brim.errors.UsageError, "pooling is of the model's head"):
            brim.Model(HERE / "model", pooling="max").embed("a")
        vectors = brim.Model(HERE / "model", labels=brim.Labels(None, task="embedding"), pooling="max").embed("good film")
        self.assertFalse(same(vectors, brim.Model(HERE / "model", untrained=True).embed("good film")))

    def test_rows_without_prompts(self):
        """Rows that are measured without the prompts of a training are said to be, by the model and by its folder; encoded ones have theirs."""
        rows = [{"anchor": text, "positive": other} for text, other in zip(TEXTS, TEXTS[1:]) if text and other]
        prompts = {"query": "a good film: ", "document": "a bad film: "}
        for base, how in ((HERE / "model", {}), (HERE / "model", {"output": HERE / "prompted", "overwrite": True})):
            model = brim.train(base, rows, task="embedding", max_steps=1, eval=rows, prompts=prompts, **how).model
            for one in (model, *([brim.Model(HERE / "prompted")] if how else [])):
                with self.assertLogs("brim", logging.WARNING) as logs:
                    one.evaluate(rows)
                self.assertIn("without the model's prompts (document, query)", "".join(logs.output))
                with self.assertNoLogs("brim", logging.WARNING):
                    one.evaluate(brim.Dataset.of(rows, one.tokenizer, text_columns=["anchor", "positive"], prompts=[*prompts.values()]))
        plain = brim.train(HERE / "model", rows, task="embedding", max_steps=1).model
        with self.assertNoLogs("brim", logging.WARNING):
            plain.evaluate(rows)

    def test_copies_with_another_head(self):
        """A copy and what is saved have the head that was asked for. The folder's modules they have not: until it is trained, the copy gives no vectors."""
        rows = [("a good film", "pos"), ("a bad film", "neg")] * 2
        model = brim.Model(FOLDERS / "st-cls-dense", labels=["neg", "pos"])
        model.save(HERE / "kept" / "classes")
        again = copy.copy(pickle.loads(pickle.dumps(model)))
        for one in (again, copy.copy(brim.Model(FOLDERS / "st-cls-dense", untrained=True))):
            with self.assertRaisesRegex(brim.errors.MismatchError, "modules after its encoder that a copy does not have"):
                one.embed(TEXTS)
        self.assertEqual(*(brim.train(one, rows, max_steps=1, progress=False).losses for one in (model, again)))
        self.assertTrue(same(again.embed(TEXTS), model.embed(TEXTS)))
        trained = brim.train(HERE / "model", rows, pooling="max", max_steps=1, progress=False, output=HERE / "kept" / "max").model
        self.assertTrue(same(trained.embed(TEXTS), brim.Model(HERE / "kept" / "max").embed(TEXTS)))

    def test_modules_that_cannot_be_kept(self):
        """What `embed` has and training has not is computed, and a copy without it is refused."""
        folder = HERE / "kept" / "sigmoid"
        shutil.copytree(FOLDERS / "st-cls-dense", folder, dirs_exist_ok=True)
        config = next(folder.glob("*_Dense/config.json"))
        config.write_text(re.sub(r'"activation_function": "[^"]*"', '"activation_function": "torch.nn.modules.activation.Sigmoid"', config.read_text()))
        model = brim.Model(folder)
        self.assertTrue(same(model.embed(TEXTS), by_program(folder, TEXTS)))
        for keep in (pickle.dumps, lambda one: one.save(HERE / "kept" / "not")):
            with self.assertRaisesRegex(brim.errors.MismatchError, "copy the folder itself"):
                keep(model)

    def test_retrieval(self):
        """Dicts and files give what `brim evaluate` prints; a text finds itself."""
        model = brim.Model(FOLDERS / "st-mean-normalize")
        words = "red green blue small large round old new".split()
        corpus = {str(i): " ".join(words[(i * k + k // 3) % 8] for k in range(1, 3 + i % 5)) for i in range(40)}
        queries, relevant = {"q" + name: text for name, text in corpus.items() if int(name) < 9}, {f"q{i}": [str(i)] for i in range(8)}
        found = model.evaluate_retrieval(corpus, queries, relevant, at=[1, 40])
        self.assertEqual((found["queries"], found["queries_without_relevant"], found["documents"], found["recall@40"]), (8, 1, 40, 1.0))
        rows = {"c.jsonl": [{"_id": k, "text": v} for k, v in corpus.items()], "q.jsonl": [{"_id": k, "text": v} for k, v in queries.items()]}
        for name, lines in rows.items():
            (HERE / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8-sig")
        (HERE / "r.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\t{i}\t1\n" for i in range(8)), encoding="utf-8-sig")
        files = [HERE / name for name in ("c.jsonl", "q.jsonl", "r.tsv")]
        printed = json.loads(case.program("evaluate", "-m", FOLDERS / "st-mean-normalize", "--corpus", files[0], "--queries", files[1], "--relevant",
                                          files[2], "--at", "1,40", "--json", "-q"))
        for other in (printed, model.evaluate_retrieval(*files, at=[1, 40]),
                      model.evaluate_retrieval({k: {"title": "", "text": v} for k, v in corpus.items()}, files[1], {k: {"39": 0, v[0]: 2} for k, v in relevant.items()}, at=[1, 40])):
            self.assertEqual(other | {"seconds": 0}, found | {"seconds": 0})
        with self.assertRaisesRegex(ValueError, "similarity"):
            model.evaluate_retrieval(corpus, queries, relevant, similarity="taste")
        with self.assertRaisesRegex(brim.Error, "no query"):
            model.evaluate_retrieval(corpus, queries, {"q99": ["1"]})
        self.assertEqual(model.evaluate_retrieval({int(k): v for k, v in corpus.items()}, queries, {k: [int(v[0])] for k, v in relevant.items()}, at=[1, 40]) | {"seconds": 0},
                         model.evaluate_retrieval(corpus, queries, {k: [v[0]] for k, v in relevant.items()}, at=[1, 40]) | {"seconds": 0})
        with self.assertRaisesRegex(TypeError, "relevant: of 'q1' the ids of documents"):
            model.evaluate_retrieval(corpus, queries, {"q1": "39"})
        with self.assertRaisesRegex(ValueError, "^relevant: line 1: there is no query"):
            model.evaluate_retrieval(corpus, queries, {"q99": ["1"]})

    def test_similarity(self):
        """Pairs from Python and from a file."""
        model = brim.Model(FOLDERS / "st-mean-normalize")
        pairs = [(a, b, i * i % 7 / 6) for i, (a, b) in enumerate(zip(TEXTS, TEXTS[1:] + TEXTS[:1]))] * 3
        found = model.evaluate_similarity(pairs)
        a, b = (model.embed(column) for column in list(zip(*pairs))[:2])
        self.assertAlmostEqual(found["pearson_cosine"], np.corrcoef((a.astype(float) * b).sum(1), [p[2] for p in pairs])[0, 1], places=5)
        (HERE / "pairs.jsonl").write_text("".join(json.dumps(dict(zip(("sentence1", "sentence2", "score"), p))) + "\n" for p in pairs), encoding="utf-8")
        self.assertEqual(model.evaluate_similarity([dict(zip(("sentence1", "sentence2", "score"), row)) for row in pairs]) | {"seconds": 0}, found | {"seconds": 0})
        with self.assertRaisesRegex(TypeError, "pairs: row 1 is "):
            model.evaluate_similarity([pairs[0], pairs[1][:2]])
        self.assertEqual(model.evaluate_similarity(HERE / "pairs.jsonl") | {"seconds": 0}, found | {"seconds": 0})

    def test_rows_as_pairs(self):
        """rows are measured with the vectors that the folder gives, of length 1 where it says so: as pairs are, by every similarity"""
        pairs = [(TEXTS[i % len(TEXTS)], TEXTS[(3 * i + 1) % len(TEXTS)], (i * 7 % 10) / 10 + 0.05) for i in range(20)]
        for name in ("st-mean-normalize", "st-max"):
            for own in ("cosine", "dot"):
                folder = HERE / f"{name}-{own}"
                shutil.copytree(FOLDERS / name, folder)
                settings = folder / "config_sentence_transformers.json"
                said = json.loads(settings.read_text()) if settings.exists() else {}
                settings.write_text(json.dumps(said | {"similarity_fn_name": own}))
                model = brim.Model(folder)
                rows = model.evaluate([{"sentence1": a, "sentence2": b, "score": score} for a, b, score in pairs])
                want = model.evaluate_similarity(pairs)
                for ours, theirs in (("spearman", "spearman_cosine"), ("spearman_dot",) * 2, ("spearman_euclidean",) * 2, ("spearman_manhattan",) * 2,
                                     ("pearson", f"pearson_{own}")):
                    self.assertAlmostEqual(rows[ours], want[theirs], 4, (name, own, ours))

    def test_says_what_is_wrong(self):
        """What is cut is counted; what cannot be is said."""
        model = brim.Model(FOLDERS / "st-prompts")
        with self.assertLogs("brim", logging.WARNING) as logs:
            model.embed(["one two three four five six", "one"], prompt="none", max_length=4)
        self.assertRegex(logs.output[0], r"1 of 2 texts were cut at 4 tokens, \d+ tokens lost; max_length")
        for call, error in [(lambda: model.embed(["a", 3]), TypeError), (lambda: model.embed(["a", None]), TypeError),
                            (lambda: model.embed("a", prompt="poem"), ValueError), (lambda: model.embed("a", dimensions=17), ValueError),
                            (lambda: model.embed("a", precision="fp8"), ValueError), (lambda: model.embed("a", max_length=1 << 20), ValueError)]:
            with self.assertRaises(error):
                call()
        broken = HERE / "other"
        shutil.copytree(FOLDERS / "st-old-form", broken, dirs_exist_ok=True)
        listed = (broken / "modules.json").read_text()
        (broken / "modules.json").write_text(listed.replace("models.Dense", "models.LSTM"))
        with self.assertRaisesRegex(brim.Error, "LSTM|modules.json"):
            brim.Model(broken).embed("a")


if __name__ == "__main__":
    case.main()
