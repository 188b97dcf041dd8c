"""brim.train of embeddings and rerankers: the weights of `brim train`, from rows of any kind."""
import itertools
import json
import logging
import pathlib
import pickle
import shutil
import unittest
import unittest.mock

import case
import numpy as np
import pyarrow
import pyarrow.parquet

import brim

HERE = case.folder()
FOLDERS = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tasks" / "folders"
WORDS = "red green blue small large round old new".split()
PAIRS = [{"anchor": f"{a} {b}", "positive": f"{b} {a} {a}", "negative": f"{WORDS[(i * 3 + j) % 8]} {a}"} for i, a in enumerate(WORDS) for j, b in enumerate(WORDS)][:48]
SCORED = [{"sentence1": row["anchor"], "sentence2": row["negative"], "score": (i * 7 % 11) / 10} for i, row in enumerate(PAIRS)]
RANKED = [{"query": row["anchor"], "document": row["positive" if i % 3 else "negative"], "label": int(i % 3 > 0)} for i, row in enumerate(PAIRS)]
ASKED = [{"query": WORDS[i % 3], "document": " ".join(WORDS[i % 5:i % 5 + 2]), "label": i * 3 // 2 % 2} for i in range(36)]
HOW = {"batch_size": 8, "max_steps": 6, "lr": 1e-3, "progress": False}


def written(name, rows):
    path = HERE / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def by_program(model, task, rows, *options):
    """The folder of the command's run with the same options."""
    out = HERE / "by-program"
    shutil.rmtree(out, ignore_errors=True)
    case.program("train", "-m", model, "--task", task, "--train", rows, "-o", out, "--batch-size", "8", "--max-steps", "6", "--lr", "1e-3", *options)
    return out


def weights(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*.safetensors") if "checkpoints" not in path.parts}


class Pairs(unittest.TestCase):
    def test_equals_program(self):
        """The files of `brim train`: every loss's options, modules of folders, and what the model embeds before it is written."""
        pairs, scored = written("pairs.jsonl", PAIRS), written("scored.jsonl", SCORED)
        for folder, rows, how, options in [
                ("st-mean-normalize", pairs, {}, []),
                ("st-cls-dense", pairs, {"scale": 10, "directions": ["query-to-doc", "doc-to-query"], "partition": "per-direction", "matryoshka": [8, 4], "matryoshka_weights": (1, .5)},
                 ["--scale", "10", "--directions", "query-to-doc,doc-to-query", "--partition", "per-direction", "--matryoshka", "8,4", "--matryoshka-weights", "1,0.5"]),
                ("st-old-form", scored, {"loss": "cosine"}, ["--loss", "cosine"]),
                ("st-prompts", pairs, {"loss": "triplet", "margin": 1, "distance": "cosine"}, ["--loss", "triplet", "--margin", "1", "--distance", "cosine"]),
                ("st-prompts", pairs, {"prompts": {"query": True, "document": "passage: "}, "pooling": "mean,last", "overwrite": True},
                 ["--query-prompt", "query", "--document-prompt", "document=passage: ", "--pooling", "mean,last"]),
                ("st-prompts", pairs, {"prompts": {"document": "passage: ", "anchor": ("query", True), "negative": "not: "}, "overwrite": True},
                 ["--document-prompt", "document=passage: ", "--column-prompt", "anchor=query", "--column-prompt", "negative=negative=not: "]),
                ("st-mean-normalize", pairs, {"layers": "weighted", "dense": 6, "dense_activation": "tanh", "overwrite": True},
                 ["--layers", "weighted", "--dense", "6", "--dense-activation", "tanh"]),
                ("st-mean-normalize", pairs, {"layers": "joined:2", "pooling": "cls,mean", "overwrite": True}, ["--layers", "joined:2", "--pooling", "cls,mean"])]:
            out = HERE / f"trained-{folder}"
            shutil.rmtree(out, ignore_errors=True)
            result = brim.train(FOLDERS / folder, rows, task="embedding", output=out, **how, **HOW)
            self.assertEqual(weights(out), weights(by_program(FOLDERS / folder, "embedding", rows, *options)), folder)
            self.assertEqual(result.model.task, "embedding")
            vectors = result.model.embed(WORDS)
            self.assertEqual(vectors.tobytes(), brim.Model(out).embed(WORDS).tobytes(), folder)
            self.assertNotEqual(vectors.tobytes(), brim.Model(FOLDERS / folder).embed(WORDS).tobytes())

    def test_rows_of_any_kind(self):
        """Lists of dicts, tuples, columns, tables and files are the same rows; the loss falls."""
        model, texts = FOLDERS / "st-cls-dense", [tuple(row.values()) for row in PAIRS]
        columns = {name: [row[name] for row in PAIRS] for name in PAIRS[0]}
        first = brim.train(model, PAIRS, task="embedding", **HOW)
        self.assertLess(np.mean([loss for _, loss in first.losses[-2:]]), first.losses[0][1])
        expected = first.model.embed(WORDS).tobytes()
        for rows in (texts, columns, pyarrow.table(columns), iter(PAIRS), written("pairs.jsonl", PAIRS), [(a, [b, c]) for a, b, c in texts]):
            self.assertEqual(brim.train(model, rows, task="embedding", **HOW).model.embed(WORDS).tobytes(), expected, type(rows))
        named = [{"b": row["positive"], "a": row["anchor"], "c": row["negative"]} for row in PAIRS]
        for given in (["a", "b", "c"], "a,b,c"):
            self.assertEqual(brim.train(model, named, task="embedding", columns=given, **HOW).model.embed(WORDS).tobytes(), expected)
        lacking = [{**row, "negative": None if i % 3 else row["negative"]} for i, row in enumerate(PAIRS)]
        one, other = (brim.train(model, [{**row, "negative": row["negative"] or empty} for row in lacking], task="embedding", **HOW).model for empty in (None, float("nan")))
        self.assertEqual(one.embed(WORDS).tobytes(), other.embed(WORDS).tobytes())
        self.assertEqual(pickle.loads(pickle.dumps(first.model)).embed(WORDS).tobytes(), expected)
        with unittest.mock.patch.object(brim.Model, "save", side_effect=AssertionError("this model is trained, not written")):
            further = brim.train(first.model, PAIRS, **HOW)
        self.assertIs(further.model, first.model)
        self.assertNotEqual(further.model.embed(WORDS).tobytes(), expected)

    def test_classes_are_no_scores(self):
        """Numbers of classes, whose order says nothing, are refused as scores; those of two are taken, and said."""
        rows = {"sentence1": [row["sentence1"] for row in SCORED], "sentence2": [row["sentence2"] for row in SCORED]}

        def table(names):
            feature = {"names": names, "_type": "ClassLabel"}
            made = pyarrow.table({**rows, "label": [i % len(names) for i in range(len(SCORED))]})
            return made.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": {"label": feature}}})})

        three, two = table(["entailment", "neutral", "contradiction"]), table(["other", "same"])
        pyarrow.parquet.write_table(three, HERE / "three.parquet")
        for task in ("embedding", "rerank"):
            for data in (three, HERE / "three.parquet"):
                with self.assertRaisesRegex(brim.errors.UsageError, r'"label" is of classes \(entailment, neutral, contradiction\)'):
                    brim.train(HERE / "model", data, task=task, columns=["sentence1", "sentence2"], **HOW)
            with self.assertLogs("brim", logging.WARNING) as said:
                brim.train(HERE / "model", two, task=task, columns=["sentence1", "sentence2"], **HOW)
            self.assertIn('texts of "same" (1) are taken to fit, and those of "other" (0) not', " ".join(said.output))
        brim.train(HERE / "model", three.replace_schema_metadata(None), task="embedding", columns=["sentence1", "sentence2"], **HOW)
        with self.assertRaisesRegex(brim.errors.UsageError, "is of classes"):
            scores = three.rename_columns(["sentence1", "sentence2", "score"])
            brim.Model(FOLDERS / "st-max").evaluate_similarity(
                scores.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": {"score": {"names": ["a", "b", "c"]}}}})}))

    def test_teacher(self):
        """A teacher's vectors from a column of files and of rows in memory are the same; a table file of one text column takes no prompts."""
        rows = [{"english": row["anchor"], "other": row["positive"], "vectors": [i / 48, -1, i % 3]} for i, row in enumerate(PAIRS)]
        model = FOLDERS / "st-mean-normalize"
        first = brim.train(model, rows, task="embedding", teacher_column="vectors", **HOW)
        again = brim.train(model, written("taught.jsonl", rows), task="embedding", teacher_column="vectors", **HOW)
        self.assertNotEqual(first.model.embed(WORDS).tobytes(), brim.Model(model).embed(WORDS).tobytes())
        self.assertEqual(first.model.embed(WORDS).tobytes(), again.model.embed(WORDS).tobytes())
        alone = [{"text": row["english"], "vectors": row["vectors"]} for row in rows]  # one text a row is enough
        one, other = (brim.train(model, these, task="embedding", teacher_column="vectors", **HOW).model for these in (alone, written("alone.jsonl", alone)))
        self.assertEqual(one.embed(WORDS).tobytes(), other.embed(WORDS).tobytes())
        import pyarrow.parquet
        pyarrow.parquet.write_table(pyarrow.table({"text": WORDS}), HERE / "words.parquet")
        tokenizer = first.model.tokenizer
        self.assertEqual(len(brim.Dataset.from_files(HERE / "words.parquet", tokenizer)), len(WORDS))
        with self.assertRaisesRegex(brim.Error, "text_columns"):
            brim.Dataset.from_files(HERE / "words.parquet", tokenizer, prompts=("a: ", None))

    def test_evaluations(self):
        """What an evaluation measures depends on the rows; Model.evaluate measures the same."""
        for rows, metric, names in [(SCORED, "spearman", ("pearson", "spearman_manhattan")), (PAIRS, "accuracy", ()), ([(row["anchor"], row["positive"]) for row in PAIRS], "mrr", ("accuracy",))]:
            result = brim.train(FOLDERS / "st-mean-normalize", rows, task="embedding", eval=rows[:20], patience=9, **HOW)
            found = result.evaluations[-1]
            self.assertEqual(result.metric, metric)
            self.assertEqual(result.best_metric, max(one[metric] for one in result.evaluations))
            again = result.model.evaluate(rows[:20])
            for name in (metric, *names):
                self.assertAlmostEqual(again[name], found[name], places=6)
        result = brim.train(FOLDERS / "st-mean-normalize", SCORED, task="embedding", eval="25%", **HOW)
        self.assertEqual(result.evaluations[-1]["rows"], 12)

    def test_judged_as_trained(self):
        """a model that is trained with dot products is judged by them: in its run, in its folder, by itself, and until it is trained by cosines"""
        rows = [{"query": row["anchor"], "document": row["positive"]} for row in PAIRS]
        folder = HERE / "dots"
        for model, similarity in ((HERE / "model", "dot"), (folder, None), (folder, "cosine"), (HERE / "model", None)):
            shutil.rmtree(HERE / "judged", ignore_errors=True)
            result = brim.train(model, rows, task="embedding", eval=rows, output=HERE / "judged", **HOW, **({"similarity": similarity} if similarity else {}))
            kept = json.loads((HERE / "judged" / "config_sentence_transformers.json").read_text())["similarity_fn_name"]
            first, second = (np.asarray(result.model.embed([row[name] for row in rows])).astype(float) for name in ("query", "document"))
            if kept == "cosine":
                first, second = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (first, second))
            found = first @ second.T
            same = np.array([[a["document"] == b["document"] and i != j for j, b in enumerate(rows)] for i, a in enumerate(rows)])
            found[same] = -np.inf
            right = float(np.mean(found.argmax(1) == np.arange(len(rows))))
            self.assertEqual(kept, "dot" if similarity == "dot" else "cosine")
            self.assertAlmostEqual(result.model.evaluate(rows)["accuracy"], right)
            self.assertAlmostEqual(brim.Model(HERE / "judged").evaluate(rows)["accuracy"], right)
            page = (HERE / "judged" / "report.html").read_text(encoding="utf-8")
            self.assertEqual(("Similarities of what belongs together" in page, "Cosines" in page), (True, False))
            if similarity == "dot":
                shutil.copytree(HERE / "judged", folder)

    def test_judged_as_folder(self):
        """Evaluations are of the vectors that the folder gives, cut after their norm, and the best is by what it compares them by; a run's folder too."""
        for similarity, cut in (("dot", 0), ("cosine", 4), ("dot", 4), ("euclidean", 3), ("manhattan", 5)):
            folder = HERE / f"{similarity}-{cut}"
            shutil.copytree(FOLDERS / "st-mean-normalize", folder)
            settings = folder / "config_sentence_transformers.json"
            settings.chmod(0o644)
            settings.write_text(json.dumps({"similarity_fn_name": similarity, **({"truncate_dim": cut} if cut else {})}), encoding="utf-8")
            result = brim.train(folder, SCORED, task="embedding", loss="cosent", eval=SCORED, patience=9, output=HERE / "own", overwrite=True, **HOW)
            metric = "spearman" if similarity == "cosine" else f"spearman_{similarity}"
            self.assertEqual(result.metric, metric)
            for model in (result.model, brim.Model(HERE / "own")):
                texts = [model.embed([row[name] for row in SCORED]).astype(float) for name in ("sentence1", "sentence2")]
                self.assertEqual(texts[0].shape[1], cut or 16)
                found, whole = model.evaluate(SCORED), model.evaluate_similarity([(row["sentence1"], row["sentence2"], row["score"]) for row in SCORED])
                for name in ("cosine", "dot", "euclidean", "manhattan"):
                    self.assertAlmostEqual(found["spearman" if name == "cosine" else f"spearman_{name}"], whole[f"spearman_{name}"], delta=2e-3)
                self.assertAlmostEqual(found["pearson"], whole[f"pearson_{similarity}"], places=5)
            compared = brim.compare(folder, SCORED, eval=SCORED[:12], modes=["brim"], task="embedding", batch_size=8, max_steps=1, progress=False)
            self.assertEqual(compared.metric, metric)

    def test_compare(self):
        """Ways of batching are compared by what the rows are measured by."""
        for rows, task, metric in [(PAIRS, "embedding", "accuracy"), (SCORED, "embedding", "spearman"), (ASKED, "rerank", "ndcg")]:
            found = brim.compare(FOLDERS / "st-mean-normalize", rows, eval=rows[:12], modes=["fixed", "brim"], task=task, pooling="mean", batch_size=8, max_steps=2, progress=False)
            self.assertEqual(found.metric, metric)
            self.assertAlmostEqual(*(way.metrics[metric] for way in found.ways), places=5)
            found.page(HERE / "compared.html")
            self.assertIn(metric.title() if metric == "accuracy" else metric, (HERE / "compared.html").read_text(encoding="utf-8"))

    def test_says_what_it_does(self):
        """The loss, the columns and the negatives are said."""
        with self.assertLogs("brim", logging.INFO) as logs:
            brim.train(FOLDERS / "st-mean-normalize", PAIRS, task="embedding", **HOW)
        said = "\n".join(logs.output)
        for text in ("loss: in-batch", "anchor, positive, negative", "negatives: each row of the first step has"):
            self.assertIn(text, said)

    def test_reranker_equals_program(self):
        """Pairs with labels, and groups: the files and the scores of the command."""
        groups = [{"query": row["anchor"], "positive": row["positive"], "negatives": [row["negative"], WORDS[i % 8]][:1 + i % 2]} for i, row in enumerate(PAIRS)]
        for rows, how, options in [(RANKED, {"positive_weight": 2}, ["--positive-weight", "2"]), (groups, {"loss": "in-group", "scale": 5}, ["--loss", "in-group", "--scale", "5"]),
                                   ([row | {"label": row["label"] * 4.5} for row in RANKED], {}, [])]:
            out, path = HERE / "reranker", written("ranked.jsonl", rows)
            result = brim.train(HERE / "model", rows, task="rerank", output=out, overwrite=True, **how, **HOW)
            program = by_program(HERE / "model", "rerank", path, *options)
            self.assertEqual(weights(out), weights(program))
            self.assertLess(np.mean([loss for _, loss in result.losses[-2:]]), result.losses[0][1])
            pairs = [(row["query"], row["document"]) for row in RANKED[:9]]
            scores = result.model.predict(pairs)
            opened = brim.Model(out)
            self.assertEqual((opened.task, opened.predict(pairs)), ("rerank", scores))
            self.assertEqual(opened.predict(RANKED[:9]), scores)
            lines = case.program("predict", "-m", program, written("asked.jsonl", [{"text": a, "text_pair": b} for a, b in pairs])).splitlines()
            np.testing.assert_allclose(scores, [json.loads(line)["label"] for line in lines], atol=1e-6)

    def test_reranker_of_lists(self):
        """A query, a list of its documents and a score of each: the weights of the command, and evaluations of rows and files are one."""
        rows = [{"query": row["anchor"], "documents": [row["positive"], row["negative"], WORDS[i % 8]], "scores": [1, 0, 0.5]} for i, row in enumerate(PAIRS)]
        out, path = HERE / "reranker", written("lists.jsonl", rows)
        result = brim.train(HERE / "model", rows, task="rerank", loss="list-net", output=out, overwrite=True, **HOW)
        self.assertEqual(weights(out), weights(by_program(HERE / "model", "rerank", path, "--loss", "list-net")))
        self.assertEqual(*(result.model.evaluate(one)["ndcg"] for one in (rows, str(path))))
        rows[1]["documents"][1] = ""  # a text like others
        brim.train(HERE / "model", rows, task="rerank", loss="list-net", output=out, overwrite=True, **HOW)
        self.assertEqual(weights(out), weights(by_program(HERE / "model", "rerank", written("lists.jsonl", rows), "--loss", "list-net")))
        rows[1]["documents"][1] = None
        with self.assertRaisesRegex(brim.Error, 'row 1: item 2 of the list in "documents" is null'):
            brim.train(HERE / "model", rows, task="rerank", **HOW)

    def test_reranker_metrics(self):
        """MRR, nDCG and average precision, of the run and of Model.evaluate."""
        result = brim.train(HERE / "model", [tuple(row.values()) for row in ASKED], task="rerank", eval=ASKED, **HOW)
        found, again = result.evaluations[-1], result.model.evaluate(str(written("ranked.jsonl", ASKED)))
        self.assertEqual({name for name, value in again.items() if value == value}, {name for name, value in found.items() if value == value} - {"step", "epoch", "name", "averaged"})
        with self.assertRaisesRegex(brim.Error, "scores pairs"):
            result.model.predict(["a text"])
        for name in ("mrr", "ndcg", "map"):
            self.assertAlmostEqual(again[name], found[name], places=6)
            self.assertGreater(found[name], 0)

    def test_queries_are_texts(self):
        """Rows of one query text are one query, however each pair is cut; two whose cut tokens are equal are two."""
        kinds = {"one": [" ".join(WORDS[i // 6:i // 6 + 3]) + " large" * 8 for i in range(18)],
                 "two": ["red " * 20 + WORDS[i // 6] for i in range(18)]}
        for kind, queries in kinds.items():
            with self.subTest(kind):
                rows = [(query, "old " * (1 + i * 5 % 7), int(i % 6 == 1)) for i, query in enumerate(queries)]
                path = written("queries.jsonl", [dict(zip(("query", "document", "label"), row)) for row in rows])
                result = brim.train(HERE / "model", rows, task="rerank", eval={"memory": rows, "file": str(path)}, max_length=14, output=HERE / "cut", overwrite=True, **HOW)
                scores = result.model.predict([row[:2] for row in rows])
                order = sorted(range(18), key=lambda i: (queries.index(queries[i]), -scores[i], i))
                mrr = np.mean([1 / (1 + next(at for at, i in enumerate(order[q:q + 6]) if rows[i][2])) for q in (0, 6, 12)])
                encoded = brim.Dataset.of(rows, result.model.tokenizer, task="rerank", max_length=14)
                for data in (rows, str(path), encoded, pickle.loads(pickle.dumps(encoded)), encoded.select(range(18))):
                    self.assertAlmostEqual(result.model.evaluate(data)["mrr"], mrr, places=6)
                self.assertTrue(all(abs(found["mrr"] - mrr) < 1e-6 for found in result.judged.values()), result.judged)
                for cache in ([], ["--cache", HERE / "rows"], ["--cache", HERE / "rows"]):
                    self.assertAlmostEqual(json.loads(case.program("evaluate", "-m", HERE / "cut", path, "--json", *cache))["mrr"], mrr, places=6)
                    lines = case.program("predict", "-m", HERE / "cut", path, "--sort", *cache).splitlines()
                    self.assertEqual([json.loads(line)["index"] for line in lines], order)

    def test_rows_of_several_texts(self):
        """Logits of rows of several documents are one of each; a prediction is of one."""
        model = brim.train(HERE / "model", RANKED, task="rerank", **HOW).model
        rows = brim.Dataset.of(PAIRS, model.tokenizer, labelled=False, text_columns=["anchor", "positive", "negative"], paired=True)
        pairs = [(row["anchor"], row[one]) for row in PAIRS for one in ("positive", "negative")]
        np.testing.assert_allclose(np.asarray(model.logits(rows)), np.asarray(model.logits(pairs)), atol=1e-6)
        with self.assertRaisesRegex(brim.Error, "several texts"):
            model.predict(rows)

    def test_rank(self):
        """The documents of a query from the best to the worst."""
        model = brim.train(HERE / "model", ASKED, task="rerank", **HOW).model
        documents = [" ".join(WORDS[i:i + 2]) for i in range(6)] + [" ".join(WORDS[:2])]
        scores = model.predict([("red", one) for one in documents])
        found = model.rank("red", documents)
        self.assertEqual([(one.index, one.score, one.text) for one in found],
                         sorted(((i, score, documents[i]) for i, score in enumerate(scores)), key=lambda one: (-one[1], one[0])))
        self.assertLess([one.index for one in found].index(0), [one.index for one in found].index(6))  # equal texts, in their order
        self.assertEqual(model.rank("red", iter(documents), top_k=2), found[:2])
        self.assertEqual(model.rank("red", []), [])
        for query, given, how in (("red", "one text", {}), (["red"], documents, {}), ("red", documents, {"top_k": 0})):
            with self.assertRaises(brim.Error):
                model.rank(query, given, **how)
        with self.assertRaisesRegex(brim.Error, "a reranker ranks"):
            brim.Model(FOLDERS / "st-mean-normalize").rank("a", ["b"])

    def test_folds(self):
        """Rows in folds: the metrics and the scores of the command."""
        for rows, task, model, how in ((ASKED, "rerank", HERE / "model", {}), (SCORED, "embedding", FOLDERS / "st-mean-normalize", {"loss": "cosine"})):
            found = brim.train(model, rows, task=task, folds=3, output=HERE / "folds", overwrite=True, **how, **HOW)
            program = by_program(model, task, written("rows.jsonl", rows), "--folds", "3", *(["--loss", "cosine"] if how else []))
            theirs = json.loads((program / "folds.json").read_text(encoding="utf-8"))
            for name, value in found.metrics.items():
                self.assertEqual(theirs["out_of_fold"]["metrics"].get(name, value), None if value != value else value, name)
            kept = [(folder / "predictions.jsonl").exists() for folder in (program, HERE / "folds")]
            self.assertEqual(kept, [task == "rerank"] * 2)
        beside = brim.train(FOLDERS / "st-mean-normalize", PAIRS, task="embedding", folds=2, test=SCORED, **HOW).averages[0]["metrics"]
        self.assertEqual([beside[name] == beside[name] for name in ("spearman", "accuracy")], [True, False])  # of a set with scores
        bare = [{"query": row["query"], "document": row["document"]} for row in ASKED]
        half = [row if i % 2 else {**row, "label": None} for i, row in enumerate(ASKED)]
        groups = [{"query": row["query"], "documents": [row["document"], "other"]} for row in ASKED]
        for how in ({"test": ASKED}, {"test": bare}, {"test": half}, {"test": groups}, {"eval": ASKED}):  # what is to be predicted is not measured
            beside = brim.train(HERE / "model", ASKED, task="rerank", folds=2, **how, **HOW).averages[0]
            self.assertEqual(bool(beside["metrics"]) and beside["metrics"]["ndcg"] > 0, "eval" in how)
            self.assertGreaterEqual(len(beside["logits"]), len(ASKED))

    def test_queries_stay_together(self):
        """documents of one query are held out together, in folds of equal sizes and as a share, by the command too"""
        rows = [{"query": f"{WORDS[i % 8]} {WORDS[i % 3]}", "document": WORDS[i % 5], "label": i % 2} for i in range(48)]
        queries = [row["query"] for row in rows]
        found = brim.train(HERE / "model", rows, task="rerank", folds=4, output=HERE / "folds", overwrite=True, **HOW)
        by_program(HERE / "model", "rerank", written("rows.jsonl", rows), "--folds", "4")
        for folder in (HERE / "folds", HERE / "by-program"):
            folds = [int(line.split(",")[1]) for line in (folder / "folds.csv").read_text().splitlines()[1:]]
            self.assertEqual(len(set(zip(queries, folds))), len(set(queries)))
            self.assertEqual([folds.count(fold) for fold in range(4)], [12] * 4)
        self.assertGreater(found.metrics["ndcg"], 0)
        data = brim.Dataset.of([(row["query"], row["document"], row["label"]) for row in rows], brim.Tokenizer(HERE / "model"), labels=brim.Labels(None, task="rerank"))
        for rest, held in (data._hold_out(0.25, 1), data.split(0.25, seed=1)):
            asked = [{queries[part.row(i)["origin"]] for i in range(len(part))} for part in (rest, held)]
            self.assertEqual((asked[0] & asked[1], len(asked[1])), (set(), 6))
        with self.assertRaisesRegex(ValueError, "a reranker's rows of one query stay together"):
            data.split(0.25, stratify=True)
        with self.assertRaisesRegex(ValueError, "stratified.*a reranker's rows"):
            brim.train(HERE / "model", rows, task="rerank", folds=4, stratify=True, **HOW)
        with self.assertRaisesRegex(ValueError, "5 folds of rows with 3 queries.*fold_column"):
            brim.train(HERE / "model", ASKED, task="rerank", folds=5, **HOW)

    def test_stream(self):
        """Rows of files that are read again in each epoch: the weights of the command."""
        for rows, task, model, how in ((PAIRS, "embedding", FOLDERS / "st-mean-normalize", "in-batch"), (ASKED, "rerank", HERE / "model", "bce")):
            path = written("streamed.jsonl", rows)
            brim.train(model, path, task=task, loss=how, stream=True, output=HERE / "streamed", overwrite=True, **HOW)
            self.assertEqual(weights(HERE / "streamed"), weights(by_program(model, task, path, "--stream", "--loss", how)))
        with self.assertRaisesRegex(brim.Error, "max_steps"):
            brim.train(model, path, task=task, loss=how, stream=True)

    def test_what_runs_keep(self):
        """The last evaluation: what lies apart, the worst rows and neighbours, with texts, from files and from rows in memory."""
        folder = FOLDERS / "st-mean-normalize"
        tuples = [(row["anchor"], row["positive"]) for row in PAIRS]
        for rows, given in ((PAIRS, PAIRS), (PAIRS, str(written("kept.jsonl", PAIRS))), (SCORED, SCORED), (tuples, tuples)):
            result = brim.train(folder, rows, task="embedding", eval=given, output=HERE / "kept", overwrite=True, **HOW)
            lines = [json.loads(line) for line in (HERE / "kept" / "evaluation.jsonl").read_text(encoding="utf-8").splitlines()]
            kinds = {kind: [line for line in lines if line["event"] == kind] for kind in ("set", "point", "wrong", "near")}
            self.assertEqual(len(kinds["near"]), 18)
            self.assertEqual(len(kinds["point"]), 48 if rows is SCORED else 96)
            for line in kinds["wrong"]:
                self.assertIn(rows[line["row"]]["anchor"] if rows is PAIRS else rows[line["row"]][0] if rows is tuples else rows[line["row"]]["sentence1"], line["text"])
            vectors = {name: result.model.embed([row[at] if rows is tuples else list(row.values())[at] for row in rows], normalize=True) for at, name in enumerate(("a", "b"))}
            found = result.model.evaluate(given)
            self.assertEqual([(one.row, one.other) for one in found.near], [(line["row"], line["other"]) for line in kinds["near"]])
            for line in kinds["near"]:
                self.assertTrue(line["text"] and line["other_text"], line)
                self.assertAlmostEqual(line["similarity"], float(vectors["a"][line["row"]] @ vectors["b"][line["other"]]), places=5)
            log = [json.loads(line) for line in (HERE / "kept" / "log.jsonl").read_text(encoding="utf-8").splitlines()]
            apart = [line for line in log if line["event"] == "cosines"]
            self.assertEqual(len(apart), 0 if rows is SCORED else sum(line["event"] == "eval" for line in log))
            if apart:
                own = np.sort((vectors["a"] * vectors["b"]).sum(1))
                self.assertAlmostEqual(apart[-1]["positive"], float(own[24]), places=5)
                self.assertLessEqual(apart[-1]["negative_low"], apart[-1]["negative_high"])
            page = (HERE / "kept" / "report.html").read_text(encoding="utf-8")
            for title in ("Nearest neighbours", "Most wrong", "Predictions" if rows is SCORED else "Similarities of what belongs together"):
                self.assertIn(title, page)

    def test_all_texts_are_kept(self):
        """The most wrong rows have all their texts, the same from the command, files, dicts, columns and tuples."""
        lists = [{"anchor": row["anchor"], "positive": row["positive"], "negatives": [row["negative"], WORDS[i % 8] + " small"]} for i, row in enumerate(PAIRS)]
        asked = [{"query": row["anchor"], "documents": [row["positive"], row["negative"]]} for row in PAIRS]
        for task, model, rows in (("embedding", FOLDERS / "st-mean-normalize", PAIRS), ("embedding", FOLDERS / "st-mean-normalize", lists), ("rerank", HERE / "model", asked)):
            path = written("whole.jsonl", rows)
            folders = [by_program(model, task, path, "--eval", path)]
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            for at, given in enumerate((str(path), rows, columns, *([[tuple(row.values()) for row in rows]] if task == "embedding" else []))):
                with self.assertNoLogs(level="ERROR"):
                    brim.train(model, given, task=task, eval=given, output=HERE / f"whole-{at}", overwrite=True, **HOW)
                folders.append(HERE / f"whole-{at}")
            kept = [[(line["event"], line["row"], line["text"], line.get("other_text")) for line in map(json.loads, (folder / "evaluation.jsonl").read_text(encoding="utf-8").splitlines())
                     if line["event"] in ("wrong", "near")] for folder in folders]
            self.assertTrue(kept[0])
            for _, row, text, _ in kept[0]:
                texts = [text for value in list(rows[row].values())[:3] for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)]
                self.assertEqual(text, "\n\n".join(texts))
            for one in kept[1:]:
                self.assertEqual(one, kept[0])

    def test_columns_in_any_order(self):
        """The texts of a row and its score are found by their names, whatever the order of the columns and whatever others there are."""
        forms = {"embedding": [("anchor", "positive"), ("query", "document"), ("query", "passage"), ("query", "answer"), ("question", "answer"), ("anchor", "positive", "negative"), ("query", "positive", "negatives"),
                               ("sentence1", "sentence2", "score"), ("sentence1", "sentence2", "label"), ("question1", "question2", "is_duplicate"), ("sentence_A", "sentence_B", "relatedness_score")],
                 "rerank": [("query", "document", "label"), ("query", "passage", "score"), ("query", "positive", "negative"), ("query", "positive", "negatives"), ("query", "documents", "scores"), ("query", "documents")]}
        values = {"negatives": ["old", "new"], "documents": ["red red", "blue"], "scores": [1.0, 0.5], "score": 0.5, "label": 1, "is_duplicate": 1, "relatedness_score": 4.5}
        tokenizer = brim.Tokenizer(HERE / "model")
        for task, names in ((task, names) for task, all in forms.items() for names in all):
            row = {name: values.get(name, WORDS[i] + " " + WORDS[-i]) for i, name in enumerate(names)}
            kinds = ["jsonl"] if any(isinstance(value, list) for value in row.values()) else ["jsonl", "csv"]
            expected = None
            for order in itertools.permutations((*names, "lang")[:len(names) + 1]):
                rows = [{name: (row | {"lang": "en", "id": 7}).get(name) for name in (*order, "id")}] * 2
                given = {"memory": rows, "dict": {name: [one[name] for one in rows] for name in rows[0]}}
                for kind in kinds:
                    given[kind] = str(HERE / f"order.{kind}")
                    lines = map(json.dumps, rows) if kind == "jsonl" else [",".join(rows[0]), *(",".join(map(str, one.values())) for one in rows)]
                    pathlib.Path(given[kind]).write_text("\n".join(lines) + "\n", encoding="utf-8")
                for kind, data in given.items():
                    with self.subTest(task=task, order=order, kind=kind):
                        found = brim.pairs.dataset(data, tokenizer, task=task, columns=None, labelled=None, runtime=brim.runtime.default()).fingerprint
                        expected = expected or found
                        self.assertEqual(found, expected)

    def test_refuses(self):
        """A line for each thing that cannot be, before anything is trained."""
        model = FOLDERS / "st-mean-normalize"
        texts = [tuple(row.values()) for row in PAIRS]
        for rows, how, message in [
                (["one text"] * 4, {}, "row 0 is 'one text': a row is two texts or more"),
                ([{"title": "a"}] * 4, {}, "two texts or more.*columns.*title"),
                ([{"qid1": 1, "one": "a", "two": "b"}] * 4, {}, "their names do not say which are the texts.*columns"),
                ([{"premise": "a", "hypothesis": "b", "label": 2}] * 4, {}, "a class, such as entailment, and no score.*label_column=.label."),
                ([("a", "b", 0.5), ("a", "b")], {}, "row 1 has no score"),
                ([("a", None)] * 4, {}, "row 0: the value of column \"text2\" is missing"),
                ([{"anchor": "a", "positive": float("nan")}] * 4, {}, "row 0: the value of column \"positive\" is missing"),
                ([{"query": "a", "document": float("nan"), "label": 1}] * 4, {"task": "rerank"}, "row 0: the value of column \"document\" is missing"),
                ([("a", 5, "b")] * 4, {}, "row 0: the value of column \"text2\" is 5: a text is expected"),
                ([("a", ["b", 5])] * 4, {}, "row 0: the value of column \"text2\" is 5: a text is expected"),
                ([], {}, "there are no rows"),
                (PAIRS, {"columns": ["anchor", "poem"]}, "no column \"poem\"|poem"),
                (str(written("late.jsonl", [{"anchor": "red " * 300000, "positive": "a"}] + PAIRS)), {"columns": ["anchor", "positive", "poem"], "max_length": 8}, "no row has the column \"poem\""),
                (PAIRS, {"loss": "poem"}, "in-batch, cosent"),
                (PAIRS, {"loss": "cosent"}, "2 texts a row"),
                (PAIRS, {"margin": 1}, "in-batch has no margin"),
                (PAIRS, {"scale": -1}, "scale is -1"),
                (PAIRS, {"positive_weight": 2}, "positive_weight has no effect without task=.rerank."),
                (PAIRS, {"matryoshka": [4096]}, "vectors have"),
                (PAIRS, {"labels": ["a", "b"]}, "has no labels"),
                (PAIRS, {"stream": True}, "stream=True is for files"),
                (PAIRS, {"columns": 7}, "columns=7: names"),
                (PAIRS, {"prompts": {"anchor": "a: "}, "eval": [{"sentence1": "a", "anchor": "b"}]}, "text 2 of these rows begins with another"),
                (PAIRS, {"prompts": {"poem": "a"}}, "a prompt is given as .poem=poem=a.: COLUMN=NAME"),
                (PAIRS, {"columns": ["anchor", "positive"], "prompts": {"query": "a: ", "anchor": "b: "}}, "the prompt .query. is of no text"),
                (PAIRS, {"eval": PAIRS, "best_metric": "spearman_dot", "patience": 1}, "best_metric is .spearman_dot., which the labels of .eval. do not allow: use accuracy"),
                (PAIRS, {"prompts": {"query": 7}}, "prompts=.*is expected"),
                (PAIRS, {"prompts": {"query": 1}}, "prompts=.*is expected"),
                (PAIRS, {"prompts": "a: ", "stream": True}, "prompts is of rows in memory"),
                ([row[:2] for row in texts], {"loss": "angle"}, "angle needs a label"),
                (PAIRS, {"pooling": "mean,mean"}, "pooling"),
                (RANKED, {"task": "rerank", "prompts": "a: "}, "prompts is of embeddings"),
                (PAIRS, {"keep_head": True}, "has no keep_head"),
                ([{"sentence1": "a", "sentence2": "b", "score": "much"}] * 4, {}, "much"),
                (RANKED, {"task": "rerank", "scale": 3}, "bce has no scale"),
                *((RANKED, {"task": "rerank", name: value}, f"{name} has no effect without (task=.embedding.|directions|hardness)") for name, value in
                  {"matryoshka": [8], "directions": "query-to-doc", "similarity": "dot", "hardness": "all", "hardness_strength": 2, "partition": "joint", "distance": "cosine",
                   "margin": 1, "temperature": 2}.items()),
                ([pair[:2] for pair in texts], {"task": "rerank"}, "a score or a label")]:
            with self.assertRaisesRegex((brim.Error, ValueError), message, msg=(rows[:1], how)):
                brim.train(model, rows, **{"task": "embedding", **how}, **HOW)
        for how, message in [({"columns": ["a", "b"]}, "task=\"embedding\""), ({"scale": 3}, "scale is of losses of embeddings")]:
            with self.assertRaisesRegex(brim.Error, message):
                brim.train(HERE / "model", [("a", 0), ("b", 1)] * 4, **how, **HOW)
        trained = brim.train(model, PAIRS, task="embedding", **HOW).model
        with self.assertRaisesRegex(brim.Error, "model.embed"):
            trained.predict(["a"])
        with self.assertRaisesRegex(brim.Error, "loaded for embedding"):
            brim.train(trained, RANKED, task="rerank", **HOW)


if __name__ == "__main__":
    case.main()
