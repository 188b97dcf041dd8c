"""No option without effect and without a word: each keyword, given a value where it was not given, changes what comes out (a value, files, notes),
or is refused in a line that names it. A new keyword is tried too: one without a value here fails."""
import json
import random
import re
import unittest
import unittest.mock

import brim
import case
import swept
from brim import keywords, options as names_of
from swept import keywords_of

HERE = case.folder()
MODEL = HERE / "model"


def texts(seed, count):
    """Sentences of 3 to 17 words that the small model knows; in some is one that is of several pieces."""
    draw = random.Random(seed)
    return [case.fixtures.sentence(draw, i % 2) + (" zebra" if i % 4 == 0 else "") for i in range(count)]


def rows_of(task, seed=5, count=25):
    """Rows with the columns that the task reads, and others that an option may name."""
    a, b, c = (texts(seed + i, count) for i in range(3))
    common = [{"split": "ab"[i % 3 > 0], "fold": i % 2} for i in range(count)]
    own = {
        "classification": lambda i: {"text": a[i], "other": b[i], "label": "np"[i % 2], "label2": "xyz"[i % 3]},
        "pairs": lambda i: {"text": a[i], "text_pair": b[i], "other": c[i], "label": "np"[i % 2], "label2": "xyz"[i % 3]},
        "regression": lambda i: {"text": a[i], "other": b[i], "label": i / 8 + 0.1, "label2": i / 2 + 0.1},
        "multi_label": lambda i: {"text": a[i], "other": b[i], "label": ["n", "p"][:1 + i % 2], "label2": ["x", "y"][i % 2:]},
        "tokens": lambda i: {"tokens": a[i].split(), "words2": b[i].split(), "ner_tags": ["B-X" if at % 3 == 0 else "O" for at in range(len(a[i].split()))],
                             "tags2": ["B-Y" if at % 2 else "O" for at in range(len(a[i].split()))]},
        "mlm": lambda i: {"text": a[i], "other": b[i]},
        "embedding": lambda i: {"anchor": a[i], "positive": b[i], "other": c[i], "teacher": [[0.1 * (i + j) % 1 - 0.5 for j in range(32)] for _ in range(2)]},
        "scored": lambda i: {"sentence1": a[i], "sentence2": b[i], "other": c[i], "score": i % 5 / 4, "label2": i % 3 / 2},
        "rerank": lambda i: {"query": a[i], "document": b[i], "other": c[i], "label": i % 2, "label2": (i // 2) % 2},
    }[task]
    return [{**own(i), **common[i]} for i in range(count)]


TASKS = {"classification": "auto", "pairs": "auto", "regression": "auto", "multi_label": "auto", "tokens": "tokens", "mlm": "mlm", "embedding": "embedding", "scored": "embedding",
         "rerank": "rerank"}
SEVERAL = {"embedding", "scored", "rerank"}

#: A value, or some of which one has to do something, by name; flags and choices have theirs by their types.
VALUES = {
    "windows": 2, "max_windows": 1, "epochs": 2, "max_steps": 1, "fold_column": "fold", "test": "TEST", "batch_size": 5, "max_tokens": [60, 200], "accumulate": 2, "slices": 2, "max_rows": 2,
    "read_ahead": [2, 8], "pad_to_multiple_of": [8, 7], "required_batch_size_multiple": [4, 3], "freeze": "embeddings", "train_only": "*.bias", "shuffle_window": 7, "prefetch": 2,
    "class_weights": ["balanced", {"n": 3, "p": 1}], "label_smoothing": 0.2, "scale": 5.0, "margin": 0.2, "temperature": 2.0, "directions": "query-to-doc,doc-to-query", "hardness_strength": 3.0,
    "matryoshka": [[16, 8]], "matryoshka_weights": [[2, 1]], "positive_weight": 3.0, "mask_rate": "0.5", "lr": 1e-3, "warmup_steps": 2, "warmup_ratio": 0.5, "weight_decay": 0.5, "mixout": 0.5,
    "clip": 0.01, "layer_lr_decay": 0.5, "momentum": 0.5, "beta1": 0.5, "beta2": 0.5, "eps": 1e-3, "log_every": 2, "eval_every": 1, "save_every": 1, "keep_checkpoints": [0, 1], "swa_start": 0.4,
    "swa_every": 1, "best_metric": ["loss", "f1"], "patience": [1, 2], "min_delta": 0.9, "eval_batch_size": 3, "memory_limit": ["2MB", "100MB"], "loss_scale": 1024.0, "loss_scale_steps": 5,
    "min_chars": [30, 200], "where": {"split": "a"}, "max_record": [10, 100000], "cache": "cache", "profile": [True, "trace.json"], "callbacks": "CALLBACK", "compute_metrics": "METRICS",
    "eval_max_tokens": 20, "report_to": ["csv", "none"], "validation_split": 0.25, "weights": [[1.0, 2.0]], "eval": "EVAL", "output": "out", "labels": [["p", "n"], ["n", "p"]], "max_length": 6, "seed": 7,
    "text_column": ["other", "words2"], "pair_column": "other", "label_column": ["label2", "tags2"], "columns": [["other", "positive"], ["other", "document"], ["other", "sentence2"]],
    "prompts": {"query": "the film "}, "teacher_column": "teacher", "delimiter": ";", "pooling": ["mean", "max"], "layers": "weighted", "dense": 8, "dense_activation": "tanh", "reinit_layers": 1,
    "tokenizer": "FEWER", "revision": "main", "folds": 3, "fold_seed": 7, "on_event": "CALLBACK", "runtime": "RUNTIME", "args": 5, "train_dataset": "EVAL", "processing_class": "FEWER",
    "gradient_accumulation_steps": 2, "buffer_size": 7, "file": HERE / "answers.jsonl", "threshold": 0.9, "top_k": 1, "prompt": "query", "dimensions": 8, "at": [[2]], "query_prompt": "query",
    "document_prompt": "query", "pairs": [texts(7, 12), texts(7, 6)], "text_columns": [["text", "other"]], "least_columns": 1, "most_texts": 1, "numbering": "tokens", "blocks": [{"fold": ("row", 1)}, {"fold": [[0.5]] * 12}],
    "mapping": [["p", "n"], ["b", "a"]], "offsets": [[0, 2, 4]], "type_ids": [[[0, 0, 1], [0, 1, 1, 1]]], "pad_id": 1, "rank": 1, "world_size": 2, "rows_for": lambda longest: 2, "key": [list(range(1, 13))],
    "modes": [["uniform"]], "for_attention": ["sdpa", "flash"], "model": "ENCODER", "leave_out": [["extra"]], "pin_memory": True, "epoch": 1, "window": 5, "samples": 1, "values": [[1, 2]], "outputs": 1, "kernels": "plain", "similarity": "dot", "special_tokens": False, "truncate": 3, "task": ["regression", "classification", "multi_label", "tokens"], "missing_label": "skip", "truncation": "only_first", "truncation_side": "left", "device": "cuda", "progress": True,
}
TIME, ONE = "changes time and memory alone", "of one evaluation or checkpoint"
#: Options that may leave everything as it was, and why that is what they promise.
PROMISED = {
    "accumulate": TIME, "max_tokens": TIME, "max_rows": TIME, "required_batch_size_multiple": TIME, "memory_limit": TIME, "checkpoint_activations": TIME, "eval_batch_size": TIME,
    "eval_batching": TIME, "eval_padding": TIME, "eval_max_tokens": TIME, "prefetch": TIME, "cpu": "auto is the best there is", "format": "it was that already", "keep": ONE, "best_metric": ONE,
    "patience": ONE, "min_delta": ONE, "keep_checkpoints": ONE, "max_record": "of longer records", "keep_head": "a loaded model keeps its own", "labels": "of a loaded model they may be its own", "windows": "of texts longer than max_length", "max_windows": "of texts longer than max_length", "missing_label": "of rows without a label", "oversize": "of longer rows", "quote": "of quotes",
    "resume": "of a folder that is there", "resume_anyway": "of other instructions", "overwrite": "of a folder that is there", "skip_damaged": "of damage", "tail": "of several processes",
    "truncation_side": "right is what the tokenizer has", "truncation": "of pairs", "revision": "of names of the hub", "runtime": TIME, "on_event": "is called", "callbacks": "are called",
    "device": "there may be no card", "tf32": "of a card", "no_type_ids": "of pairs", "progress": "False is what there is without a terminal", "report_to": "of TensorBoard, which is there",
    "profile": "is in the result", "gradient_accumulation_steps": TIME,
}

#: The same of answers, rows and batches.
OF_ANSWERS = {
    "batching": "changes no result but by rounding", "padding": "changes no result but by rounding", "batch_size": "changes no result but by rounding", "query_prompt": "is what a folder has",
    "on_device": "of a GPU", "evaluate_retrieval precision": "of an order that may stay", "analyze seed": "of a page", "untrained": "is asked of what is not trained", "rank_slices": "of several processes", "samples": "of a page", "label_column": "of a page", "most_texts": "of rows of more",
    "pin_memory": "of a GPU", "ragged Collator pad_id": "of models whose positions begin after it", "BatchSampler pad_to_multiple_of": "of slots, which max_tokens counts", "BatchSampler max_length": "of slots",
    "mapping": "of labels", "task": "of labels", "outputs": "of a regression", "tokenizer": "of a name of the hub",
}
#: The same of comparisons.
OF_COMPARISONS = {"keep": "there is one evaluation, at the end", "read_ahead": "of the ways that look ahead"}
#: Options with which the data may be wrong: a line about a row or a column is right.
OF_DATA = {"task", "labels", "text_column", "pair_column", "label_column", "columns", "teacher_column", "delimiter", "format", "header"}

#: Of names that are a str in one signature, and a Literal in another.
WORDS = {"precision": ["bf16", "int8"], "format": ["csv", "jsonl", "txt"], "quote": ["none", "backslash"], "batching": ["sequential", "uniform", "bucketed"], "padding": ["longest"],
         "oversize": ["truncate"], "tail": ["drop", "fill"], "tokenizer": [True], "header": [False], "need_label": [False], "labelled": [False]}


def values_of(keyword):
    """Valid values that are not the default."""
    if keyword.name in WORDS and not swept.choices(keyword.annotation) and (keyword.name != "tokenizer" or keyword.annotation == "bool"):
        return WORDS[keyword.name]
    if keyword.name in VALUES:
        given = VALUES[keyword.name]
        return given if isinstance(given, list) else [given]
    kinds = swept.parts(keyword.annotation)
    if "bool" in kinds:
        return [not keyword.default]
    return [one for one in swept.choices(keyword.annotation) if one != keyword.default]


OF_TRAINING = keywords_of(brim.train, keywords.TrainOptions)
ALIASES = {*names_of._SAME, *names_of._FIXED, *names_of._IDLE, "bf16", "args", "train_dataset", "processing_class", "gradient_accumulation_steps"}


class Training:
    """A training to which one option is added."""

    def __init__(self, task, rows="memory", **given):
        self.task, self.rows, self.given = task, rows, given
        self.loaded = given.pop("loaded", False)

    def __str__(self):
        return f"{self.task} of {self.rows}{' by a loaded model' if self.loaded else ''}" + "".join(f", {name}" for name in self.given)

    def data(self, seed=5, count=25):
        rows = rows_of(self.task, seed, count)
        if self.rows == "memory":
            return rows
        path = HERE / f"{self.task}-{seed}.jsonl"
        if not path.exists():
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        if self.rows == "opened":
            return self.opened(path)
        if self.rows == "dataset":
            tokenizer = brim.Tokenizer(MODEL)
            if self.task == "mlm":
                return brim.Dataset.of(path, tokenizer, labelled=False, numbering="tokens", max_length=24)
            if self.task in SEVERAL:
                several = [name for name in rows[0] if name in ("anchor", "positive", "sentence1", "sentence2", "query", "document")]
                label = next((name for name in ("score", "label") if name in rows[0]), None)
                return brim.Dataset.of(path, tokenizer, labelled=label is not None, label_column=label, task=TASKS[self.task], text_columns=several, paired=self.task == "rerank", max_length=24)
            return brim.Dataset.of(path, tokenizer, labelled=True, task=TASKS[self.task], max_length=24)
        return path

    def opened(self, path, **more):
        """A stream that was made before."""
        tokenizer, how = brim.Tokenizer(MODEL), {"batch_size": 6, "max_length": 24, **more}
        if self.task == "mlm":
            return brim.data.stream(path, tokenizer, **{"numbering": "tokens", **how})
        if self.task in SEVERAL:
            texts, label = {"embedding": (["anchor", "positive"], None), "scored": (["sentence1", "sentence2"], "score"), "rerank": (["query", "document"], "label")}[self.task]
            return brim.data.stream(path, tokenizer, **{"text_columns": texts, "paired": self.task == "rerank", "label_column": label, "need_label": label is not None,
                                                        "labels": brim.Labels(None, task=TASKS[self.task]), **how})
        names = {"regression": None, "tokens": ["B-X", "O"]}.get(self.task, ["n", "p"])
        shape = {"task": self.task} if self.task in ("multi_label", "tokens") else {}
        return brim.data.stream(path, tokenizer, **{"labels": brim.Labels(names, **shape), **how})

    def special(self, value):
        if value == "EVAL":
            return Training(self.task).data(seed=50, count=9) if self.rows == "opened" else self.data(seed=50, count=9)
        if value == "TEST":
            return [{n: v for n, v in row.items() if n not in ("label", "ner_tags")} for row in rows_of(self.task, 60, 5)]
        return special(value)

    def __call__(self, **more):
        given = {name: self.special(value) for name, value in {**self.given, **more}.items()}
        task = given.pop("task", "auto" if self.rows in ("dataset", "opened") and self.task not in SEVERAL | {"mlm"} else TASKS[self.task])
        if self.rows == "stream":
            given.setdefault("stream", True)
            if self.task in SEVERAL | {"mlm"} and not {"max_steps", "epochs", "num_train_epochs"} & given.keys():
                given["max_steps"] = 6
        if self.rows == "opened":
            given.setdefault("max_steps", 6)
        if self.rows in ("stream", "opened"):
            if self.task in SEVERAL:
                given.setdefault("loss", {"embedding": "in-batch", "scored": "cosent", "rerank": "bce"}[self.task])
        if self.rows != "opened" and not {"batch_size", "per_device_train_batch_size", "train_batch_size"} & given.keys():
            given["batch_size"] = 6
        model = MODEL
        if self.loaded:
            shape = {"task": TASKS[self.task]} if TASKS[self.task] != "auto" else {"task": {"pairs": "classification"}.get(self.task, self.task)}
            names = {"classification": ["n", "p"], "pairs": ["n", "p"], "multi_label": ["n", "p"], "tokens": ["B-X", "O"]}.get(self.task)
            model = brim.Model(MODEL, labels=brim.Labels(names, **shape))
        events = []
        given.setdefault("on_event", lambda kind, fields: events.append(kind) if kind != "progress" else None)
        return self.made(model, self.data(), task=task, progress=given.pop("progress", False), **given), events

    def made(self, model, rows, **given):
        return brim.train(model, rows, **given)


class Events(Training):
    """The same as an iterator."""

    def __str__(self):
        return f"events of {super().__str__()}"

    def made(self, model, rows, **given):
        return [event for event in brim.train_events(model, rows, **given) if event.kind != "progress"]  # of which there are as many as the clock says


class Compared(Training):
    """Two ways of batching."""

    def __str__(self):
        return f"comparison of {super().__str__()}"

    def made(self, model, rows, **given):
        return brim.compare(model, rows, **{"modes": ["brim", "dynamic"], **given})


def special(value):
    """What a word of VALUES means."""
    made = {"CALLBACK": lambda: lambda kind, fields: None, "METRICS": lambda: lambda found: {"own": 1.0}, "FEWER": fewer, "RUNTIME": lambda: brim.Runtime(threads=1),
            "ENCODER": lambda: case.module("transformers").AutoModel.from_pretrained(MODEL)}
    return made[value]() if isinstance(value, str) and value in made else value


def fewer():
    """A tokenizer that knows fewer words."""
    folder = HERE / "fewer"
    if not folder.exists():
        case.fixtures.write_model(folder)
        words = (folder / "vocab.txt").read_text().split("\n")
        (folder / "vocab.txt").write_text("\n".join([f"gone{i}" if word in ("film", "movie", "the", "of") else word for i, word in enumerate(words)]))
    return brim.Tokenizer(folder)


def trainings():
    for task in TASKS:
        yield Training(task)
    for task in TASKS:
        for rows, given in (("memory", {"output": "out"}), ("memory", {"eval": "EVAL"}), ("memory", {"eval": "EVAL", "output": "out"}), ("memory", {"folds": 2}), ("memory", {"folds": 2, "output": "out"}),
                            ("memory", {"loaded": True}), ("file", {}), ("stream", {}), ("dataset", {}), ("opened", {})):
            if task == "mlm" and "folds" in given:
                continue
            yield Training(task, rows, **given)


class Effects(unittest.TestCase):
    def tried(self, call, base, keyword, promised):
        """What became of the option: None where it is right, else a line."""
        same = refused = False
        for value in values_of(keyword):
            now = swept.outcome(lambda: call(**{keyword.name: value}))
            if now.error is not None:
                if not self.named(keyword.name, value, now.error):
                    return f"{keyword.name}={value!r}: {type(now.error).__name__}: {now.error}"
                refused = True
            elif not now.same(base):
                return None
            else:
                same = True
        if not values_of(keyword):
            return f"{keyword.name}: give a value to try"
        return f"{keyword.name}={values_of(keyword)!r}: no effect, and no word" if same and not refused and not {keyword.name, f"{call} {keyword.name}"} & promised.keys() else None

    def named(self, name, value, error):
        message = str(error)
        if name in OF_DATA and re.search(r"\bcolumn|\brow \d|\bline \d", message):
            return swept.is_line(error)
        mine = {name, names_of.brims(name), swept.SAID.get(name, name), value if isinstance(value, str) else name}
        return swept.is_line(error) and bool(mine & set(re.findall(r"\w+", message.lower())))

    def sweep(self, cases, most, promised=PROMISED):
        """cases: (call, Keyword)"""
        bases = {}
        for call, keyword in swept.thinned(cases, most):
            if str(call) not in bases:
                bases[str(call)] = swept.outcome(call)
                with self.subTest(str(call)):  # a call that differs by itself would make every option look as if it had an effect
                    self.assertTrue(swept.outcome(call).same(bases[str(call)]), f"{call}: it is not the same twice")
            with self.subTest(str(call), option=keyword.name):
                self.assertIsNone(bases[str(call)].error)
                wrong = self.tried(call, bases[str(call)], keyword, promised)
                self.assertIsNone(wrong, f"{call}: {wrong}")

    def test_train(self):
        """every option of brim.train, for every task, of rows in memory, files, streams (given as files, and made before) and Datasets, with a folder, evaluations, folds, a loaded model"""
        cases = [(call, keyword) for call in trainings() for name, keyword in OF_TRAINING.items()
                 if name not in call.given and name not in ALIASES and not (name == "stream" and call.rows in ("stream", "opened"))]
        self.sweep(cases, 150)

    def test_events_and_comparisons(self):
        """the same options of an iterator of events, and of a comparison"""
        calls = [Events("classification"), Events("embedding"), Events("tokens", output="out"), Compared("classification", eval="EVAL"), Compared("scored"), Compared("rerank")]
        options = {**OF_TRAINING, **keywords_of(brim.compare)}
        self.sweep([(call, keyword) for call in calls for name, keyword in options.items() if name not in ALIASES and name not in call.given and (name != "modes" or isinstance(call, Compared))], 60,
                   PROMISED | OF_COMPARISONS)

    def test_estimators(self):
        """of scikit-learn"""
        case.module("sklearn")
        from brim.sklearn import TextClassifier, TextRegressor
        fitted = lambda kind, labels: lambda **more: vars(kind(MODEL, **{"max_steps": 3, "batch_size": 6, "progress": False, **more}).fit(texts(3, 12), labels))
        calls = [Named("TextClassifier", fitted(TextClassifier, list("np") * 6), brim.train, keywords.TrainOptions), Named("TextRegressor", fitted(TextRegressor, [i / 7 for i in range(12)]), brim.train, keywords.TrainOptions)]
        self.sweep([(call, keyword) for call in calls for name, keyword in call.options.items() if name not in ALIASES], 40)

    def test_loaders(self):
        """of torch"""
        case.module("torch"), case.module("transformers")
        tokenizer, rows = brim.Tokenizer(MODEL), rows_of("pairs", 5, 12)
        encoded = brim.Dataset.of(rows, tokenizer)
        own = [{**encoded[at], "extra": at} for at in range(6)]
        batches = lambda: encoded.batches(batch_size=5)
        passed = lambda loader: [batch for _, batch in zip(range(3), loader)]
        calls = [Named("IterableDataset", lambda **more: passed(brim.torch.IterableDataset(batches(), **more)), brim.torch.IterableDataset),
                 Named("DataLoader", lambda **more: passed(brim.torch.DataLoader(batches(), **more)), brim.torch.DataLoader),
                 Named("BatchSampler", lambda **more: list(brim.torch.BatchSampler([4, 9, 3, 12, 7, 5, 8], **{"batch_size": 3, **more})), brim.torch.BatchSampler, keywords.BatchOptions),
                 Named("Collator", lambda **more: brim.torch.Collator(tokenizer, **more)(own), brim.torch.Collator),
                 Named("ragged Collator", lambda **more: brim.torch.Collator(tokenizer, **{"padding": "none", **more})(own), brim.torch.Collator),
                 Named("Batch.torch", lambda **more: next(iter(batches())).torch(**more), brim.Batch.torch)]
        self.sweep([(call, keyword) for call in calls for keyword in call.options.values() if keyword.name != "device"], None, PROMISED | OF_ANSWERS)

    def test_answers(self):
        """predictions, evaluations, vectors: of texts, pairs, a file"""
        quick = {"max_steps": 2, "progress": False}
        classes = brim.train(MODEL, rows_of("classification"), **quick).model
        pairs = brim.train(MODEL, rows_of("pairs"), **quick).model
        vectors = brim.train(MODEL, rows_of("embedding"), task="embedding", prompts={"query": "the film "}, **quick).model
        scores = brim.train(MODEL, rows_of("rerank"), task="rerank", **quick).model
        text = texts(3, 6)
        path = HERE / "answers.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows_of("pairs", 8, 6)))
        alone = HERE / "alone.jsonl"  # for what was trained on single texts
        alone.write_text("".join(json.dumps(row) + "\n" for row in rows_of("classification", 8, 6)))
        asked, listed = {"corpus": dict(zip("abcdef", text)), "queries": {"q": text[0], "r": text[3]}, "relevant": {"q": ["a", "b"], "r": ["c"]}}, [("good", one) for one in text]
        scored = [(a, b, i / 5) for i, (a, b) in enumerate(zip(text, texts(4, 6)))]
        one = lambda ask, data, model: lambda **more: ask(data, **more) if "file" not in more else ask(None, **(more | {"file": alone} if model is classes else more))
        calls = [Named(f"{ask.__name__} of {name}", one(ask, data, model), function, keywords.PredictOptions)
                 for name, model, data in (("texts", classes, text), ("rows", classes, rows_of("classification", 9, 6)), ("pairs", pairs, rows_of("pairs", 9, 6)), ("documents", scores, listed))
                 for ask, function in ((model.predict, brim.Model.predict_each), (model.logits, brim.Model.logits))]
        calls += [Named("evaluate of rows", lambda **more: classes.evaluate(rows_of("classification", 9, 8), **more), brim.Model.evaluate, keywords.PredictOptions),
                  Named("evaluate of pairs", lambda **more: pairs.evaluate(path, **more), brim.Model.evaluate, keywords.PredictOptions),
                  Named("embed", lambda **more: vectors.embed(text, **more), brim.Model.embed),
                  Named("rank", lambda **more: scores.rank("good", text, **more), brim.Model.rank, keywords.ComputeOptions),
                  Named("evaluate_retrieval", lambda **more: vectors.evaluate_retrieval(**{**asked, **more}), brim.Model.evaluate_retrieval),
                  Named("evaluate_similarity", lambda **more: vectors.evaluate_similarity(scored, **more), brim.Model.evaluate_similarity),
                  Named("encode", lambda **more: classes.encode(text, **more), brim.Model.encode),
                  Named("Model", lambda **more: brim.Model(MODEL, **more), brim.Model)]
        self.sweep([(call, keyword) for call in calls for keyword in call.options.values()], 60, PROMISED | OF_ANSWERS)

    def test_data(self):
        """rows, batches, streams, tokenizers, lengths"""
        tokenizer, text, more_texts = brim.Tokenizer(MODEL), texts(3, 12), texts(4, 12)
        rows = rows_of("classification", 5, 12)
        path, table = HERE / "rows.jsonl", HERE / "rows.csv"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        table.write_text("text,other,label,label2,split,fold\n" + "".join(f"{row['text']},{row['other']},{row['label']},{row['label2']},{row['split']},{row['fold']}\n" for row in rows))
        encoded = brim.Dataset.of(rows, tokenizer)
        streamed = lambda **more: taken(brim.data.stream(path, tokenizer, **{"labels": ["n", "p"], "epochs": 1, **more}))
        calls = [Named("from_files of lines", lambda **more: brim.Dataset.from_files(path, tokenizer, **more), brim.Dataset.from_files),
                 Named("from_files of a table", lambda **more: brim.Dataset.from_files(table, tokenizer, **more), brim.Dataset.from_files),
                 Named("from_csv", lambda **more: brim.Dataset.from_csv(table, tokenizer, **more), None, keywords.FileOptions),
                 Named("from_jsonl", lambda **more: brim.Dataset.from_jsonl(path, tokenizer, **more), None, keywords.FileOptions),
                 Named("from_texts", lambda **more: brim.Dataset.from_texts(text, tokenizer, **more), brim.Dataset.from_texts),
                 Named("from_texts of pairs", lambda **more: brim.Dataset.from_texts(text, tokenizer, **{"pairs": more_texts, "labels": list("np") * 6, **more}), brim.Dataset.from_texts),
                 Named("from_iterable", lambda **more: brim.Dataset.from_iterable(rows, tokenizer, **more), None, keywords.TextOptions),
                 Named("of", lambda **more: brim.Dataset.of(rows, tokenizer, **more), brim.Dataset.of),
                 Named("from_ids", lambda **more: brim.Dataset.from_ids([[2, 7, 3], [2, 9, 9, 3]], **more), brim.Dataset.from_ids),
                 Named("split", lambda **more: encoded.split(0.4, **more), brim.Dataset.split),
                 Named("batches", lambda **more: encoded.batches(**{"batch_size": 5, **more}), brim.Batches),
                 Named("padded batches", lambda **more: encoded.batches(**{"batch_size": 5, "padding": "longest", **more}), brim.Batches),
                 Named("batches of tokens", lambda **more: encoded.batches(**{"max_tokens": 60, "batching": "bucketed", **more}), brim.Batches),
                 Named("Plan", lambda **more: brim.Plan([4, 9, 3, 12, 7, 5, 8], **{"batch_size": 3, "batching": "random", **more}), brim.Plan, keywords.BatchOptions),
                 Named("stream", streamed, brim.Stream, keywords.PlanOptions),
                 Named("encode", lambda **more: tokenizer.encode(text[0], text[1], **more), brim.Tokenizer.encode),
                 Named("encode_batch", lambda **more: tokenizer.encode_batch(text, more_texts, **more), brim.Tokenizer.encode_batch),
                 Named("decode", lambda **more: tokenizer.decode(tokenizer.encode(text[0]).ids, **more), brim.Tokenizer.decode),
                 Named("Tokenizer", lambda **more: brim.Tokenizer(MODEL, **more), brim.Tokenizer),
                 Named("analyze", lambda **more: brim.analyze(rows, tokenizer, **{"batch_size": 5, **more}), brim.analyze, keywords.BatchOptions),
                 Named("Labels", lambda **more: brim.Labels(["a", "b"], **more), brim.Labels),
                 Named("hub.folder", lambda **more: brim.hub.folder(MODEL, **more), brim.hub.folder)]
        self.sweep([(call, keyword) for call in calls for keyword in call.options.values()], 80, PROMISED | OF_ANSWERS)


class Said(unittest.TestCase):
    """What the sweep found, each with its line or its right result."""

    def test_idle_is_refused(self):
        rows, tokenizer = rows_of("classification"), brim.Tokenizer(MODEL)
        train = lambda **more: brim.train(MODEL, rows, max_steps=1, progress=False, **more)
        for given, line in (({"save_every": 1}, "save_every has no effect without output"), ({"save_steps": 1}, "save_steps has no effect without output"),
                            ({"save_total_limit": 2}, "save_total_limit has no effect without output"), ({"save_strategy": "epoch"}, "save_strategy has no effect without output"),
                            ({"eval_strategy": "epoch"}, "eval_strategy has no effect without an evaluation set"), ({"greater_is_better": True}, "greater_is_better has no effect without best_metric"),
                            ({"decay_towards": "pretrained"}, "decay_towards has no effect without weight_decay"), ({"eval_when": "steps", "eval": rows}, 'eval_when="steps" needs eval_every'),
                            ({"validation_split": 0.2, "folds": 2}, "leave out validation_split"), ({"task": "mlm", "label_column": "label"}, "label_column")):
            self.assertRaisesRegex((brim.Error, TypeError), line, train, **given)
        train(save_strategy="no", eval_strategy="no")
        encoded = brim.Dataset.of(rows, tokenizer)
        lacks = 'pad_to_multiple_of has no effect without padding="longest" or "max_length": add it'
        for call in (lambda: encoded.batches(pad_to_multiple_of=8), lambda: brim.Plan([3, 4], batch_size=2, pad_to_multiple_of=8)):
            self.assertRaisesRegex(brim.Error, lacks, call)
        self.assertRaisesRegex(brim.Error, "read_ahead has no effect", encoded.batches, read_ahead=8)
        self.assertEqual(next(iter(encoded.batches(pad_to_multiple_of=8, padding="longest"))).width % 8, 0)

    def test_others_are_refused(self):
        """what is no dataset, tokenizer, table, state or layout: in one line"""
        tokenizer, path = brim.Tokenizer(MODEL), HERE / "others.jsonl"
        path.write_text('{"text": "a good film"}\n{"text": "bad"}\n')
        rows = brim.Dataset.from_texts(["good", "bad"], tokenizer)
        for wrong in (None, 5, object(), [None], {"version": 1}):
            for call, line in ((lambda: brim.Batches(wrong), "dataset: a Dataset is needed"), (lambda: brim.data.stream(path, wrong), "a tokenizer is"),
                               (lambda: brim.Dataset.from_arrow(wrong, tokenizer), "table: one of pyarrow"), (lambda: rows.batches().load_state_dict(wrong), "is no state of batches"),
                               (lambda: brim.restore_order([1], wrong), "rows"), (lambda: rows.split(wrong), "share")):
                self.assertRaisesRegex((brim.Error, TypeError, ValueError), line, call)
        self.assertRaisesRegex(brim.errors.MismatchError, "is no state of a stream", brim.data.stream(path, tokenizer).load_state_dict, 5)
        self.assertRaisesRegex(TypeError, "layout: a Layout is needed", next(iter(rows.batches())).ragged, 5)

    def test_streams_are_shuffled(self):
        """as their options say, where no batching is named"""
        path = HERE / "shuffled.jsonl"
        path.write_text("".join(json.dumps({"text": word}) + "\n" for word in case.fixtures.WORDS))
        of = lambda **more: next(iter(brim.data.stream(path, brim.Tokenizer(MODEL), batch_size=8, **more))).rows.tolist()
        self.assertNotEqual(of(), list(range(8)))
        self.assertEqual(of(), of(batching="random"))
        self.assertEqual(of(batching="sequential"), list(range(8)))
        found = brim.data.stream(HERE.glob(path.name), brim.Tokenizer(MODEL), batch_size=8)
        self.assertEqual(next(iter(found)).rows.tolist(), of())

    def test_streams_of_masked_words(self):
        """are of the column that is named"""
        rows = brim.Dataset.of(rows_of("mlm"), brim.Tokenizer(MODEL), labelled=False, text_column="other")
        path = HERE / "masked.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows_of("mlm")))
        result = brim.train(MODEL, path, task="mlm", stream=True, text_column="other", batch_size=25, max_steps=1, progress=False)
        self.assertEqual((result.rows, result.tokens), (25, rows.tokens))

    def test_masked_rows_that_are_encoded(self):
        texts = brim.Dataset.of([row["text"] for row in rows_of("mlm")], brim.Tokenizer(MODEL), labelled=False, numbering="tokens")
        self.assertEqual(brim.train(MODEL, texts, task="mlm", max_steps=1, progress=False).model.task, "mlm")

    def test_rows_of_another_task(self):
        """rows that are encoded for masked words, or are not, and streams, are refused where they would be read as something else"""
        tokenizer, quick = brim.Tokenizer(MODEL), {"max_steps": 1, "progress": False}
        rows, path = rows_of("classification"), HERE / "another.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        labelled, plain, numbered = brim.Dataset.of(rows, tokenizer), brim.Dataset.of(rows, tokenizer, labelled=False), brim.Dataset.of(rows, tokenizer, numbering="tokens")
        ids = brim.Dataset.from_ids([[2, 7, 3], [2, 9, 3]] * 4, labels=[0, 1] * 4)
        for wrong in (labelled, plain, ids, brim.Dataset.of(rows_of("tokens"), tokenizer, task="tokens")):
            self.assertRaisesRegex(brim.errors.MismatchError, '^task="mlm" masks words of rows that are encoded for it', brim.train, MODEL, wrong, task="mlm", **quick)
        self.assertRaisesRegex(brim.errors.MismatchError, '^eval: task="mlm" masks words', brim.train, MODEL, numbered, task="mlm", eval=labelled, **quick)
        for task in ("auto", "embedding", "rerank"):
            self.assertRaisesRegex(brim.errors.MismatchError, "^the rows are encoded for masked words", brim.train, MODEL, numbered, task=task, **quick)
        self.assertRaisesRegex(brim.errors.MismatchError, "^eval: the rows are encoded for masked words", brim.train, MODEL, labelled, eval=numbered, **quick)
        for wrong in (plain, ids):
            self.assertRaisesRegex(brim.Error, "whose names the Dataset does not have", brim.train, MODEL, wrong, **quick)
        model, stream = brim.train(MODEL, labelled, eval=labelled[:3], **quick).model, brim.data.stream(path, tokenizer, labels=["n", "p"], max_length=20)
        masked = brim.data.stream(path, tokenizer, numbering="tokens", max_length=20)
        for given, task, line in ((stream, "mlm", '^task="mlm" masks words of a stream that is made for it'), (stream, "tokens", '^task="tokens": the labels of the stream are of classification'),
                                  (masked, "auto", 'the stream is of masked words'), (masked, "tokens", 'the stream is of masked words'),
                                  (brim.data.stream(path, tokenizer, max_length=20), "embedding", r'labels=brim.Labels\(None, task="embedding"\)')):
            self.assertRaisesRegex(brim.Error, line, brim.train, MODEL, given, task=task, **quick)
        for option, value in (("fold_column", "fold"), ("folds", 2), ("validation_split", 0.2)):
            self.assertRaisesRegex(brim.Error, f"a stream does not have its rows in memory, and {option} needs them: leave out {option} or stream", brim.train, MODEL, stream, **{option: value}, **quick)
        self.assertRaisesRegex(TypeError, "labels is a Stream: give a list of names", brim.Model, MODEL, labels=stream)
        learned = HERE / "of masked words"
        brim.train(MODEL, numbered, task="mlm", output=learned, **quick)
        self.assertEqual(brim.train(learned, labelled, **quick).model.task, "classification")
        self.assertEqual(brim.train(learned, numbered, task="mlm", **quick).model.task, "mlm")
        for call in (model.predict, model.logits, model.evaluate, lambda one: brim.analyze(one, tokenizer), lambda one: brim.Dataset.of(one, tokenizer), lambda one: brim.train(MODEL, rows, eval=one, **quick)):
            self.assertRaisesRegex(brim.Error, "a stream gives batches to train with, and rows are needed here: give its files", call, stream)

    def test_folders_without_an_encoder(self):
        for name in ("StaticEmbedding", "BoW", "WordEmbeddings"):
            folder = HERE / name
            folder.mkdir()
            (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": f"sentence_transformers.models.{name}"}]))
            for call in (brim.Model, lambda path: brim.train(path, [("a", "x"), ("b", "y")])):
                self.assertRaisesRegex(brim.errors.UnsupportedError, f"modules.json: .*the folder's model is {name}, which is no encoder", call, folder)

    def test_vectors_are_loaded_once(self):
        made = brim.train(MODEL, rows_of("embedding"), task="embedding", max_steps=1, progress=False).model
        folder = HERE / "vectors"
        made.save(folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**{n: v for n, v in config.items() if n != "brim_task"}, "architectures": ["BertModel"]}))
        with unittest.mock.patch.object(brim.model._core, "model", wraps=brim.model._core.model) as load:
            model = brim.Model(folder)
        self.assertEqual((load.call_count, model.task), (1, "embedding"))
        self.assertEqual(model.embed(["good"]).tolist(), made.embed(["good"]).tolist())

    def test_notes(self):
        """of what was given, and teaches nothing"""
        alike = [(a, b, 0.5) for a, b in zip(texts(1, 8), texts(2, 8))]
        for rows, given, line in ((alike, {"task": "embedding", "loss": "cosent"}, "all scores are equal, and the loss cosent"),
                                  (rows_of("classification"), {"warmup_steps": 9}, "the warm-up takes 9 steps, and the run has 2")):
            with self.assertLogs("brim", "WARNING") as heard:
                brim.train(MODEL, rows, max_steps=2, progress=False, **given)
            self.assertRegex("\n".join(heard.output), line)

    def test_notes_of_the_command(self):
        """which Python has too: of sets that are one, of what is not read, of an average that continues"""
        rows, path = rows_of("classification"), HERE / "sets.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        train = lambda data, **more: brim.train(MODEL, data, **{"max_steps": 1, "progress": False, **more})
        held, quoted = rows_of("classification", 9, 6), [{**row, "label": f'"{row["label"]}"'} for row in rows]
        scored = [{"sentence1": one["sentence1"], "sentence2": one["sentence2"], "is_similar": one["score"]} for one in rows_of("scored")]
        averaged = lambda steps, **more: train(rows, max_steps=steps, swa_start=0.5, swa_every=1, output=HERE / "averaged", **more)
        averaged(8)
        for call, line in ((lambda: train(rows, eval={"a": held, "b": held}), "b: its rows are those of a, under another name"), (lambda: train(path, eval={"a": path, "b": str(path)}), "b: its rows are those of a"),
                           (lambda: train(path, eval=str(path)), "eval: its rows are those that are trained on"), (lambda: train(rows, eval=rows), "eval: its rows are those that are trained on"),
                           (lambda: train(rows, eval={"train": rows, "held": held}), None), (lambda: train(quoted), "the names of all classes are in quotes"), (lambda: train(scored, task="embedding"), '"is_similar" is not read'),
                           (lambda: train(scored, task="embedding", label_column="is_similar"), None), (lambda: averaged(10, resume=True), "the average keeps steps from 4 on, as the shorter run had them")):
            with self.subTest(line), self.assertLogs("brim", "WARNING") as heard:
                brim.notes.log.warning("begin")
                call()
            (self.assertRegex("".join(heard.output), line) if line else self.assertEqual(len(heard.output), 1, heard.output))
        with self.assertLogs("brim", "WARNING") as heard:
            brim.notes.of_event("rounds", {"fits": False, "modes": 2})
        self.assertRegex(heard.output[0], "one way after another, so speeds cannot be compared: .* of 2 that wait")

    def test_endings(self):
        """a name that says another format is refused before anything is computed"""
        rows = rows_of("classification")
        result, analysis = brim.train(MODEL, rows, max_steps=1, progress=False), brim.analyze(rows, brim.Tokenizer(MODEL))
        for name in ("page.docx", "page.pdf", "page.html.gz", b"page.json"):
            for page in (result.page, analysis.page):
                self.assertRaisesRegex(brim.Error, "page: what is written is not .*: let the name .* end in .html", page, name)
        self.assertRaisesRegex(brim.Error, "profile: what is written is not .html", brim.train, MODEL, rows, profile="trace.html")
        for name in ("page.HTM", "page", "page.1"):
            analysis.page(HERE / name)


class Named:
    """A call with a name, and the keywords that it takes."""

    def __init__(self, name, call, function, *typed):
        self.name, self.call, self.options = name, call, keywords_of(function or (lambda: None), *typed)

    def __str__(self):
        return self.name

    def __call__(self, **more):
        return self.call(**{name: special(value) for name, value in more.items()})


def taken(stream):
    """The first batches of a stream, which may have no end."""
    found = [swept.shown(batch) for _, batch in zip(range(9), stream)]
    ledger = stream.ledger()
    stream.close()
    return [found, ledger]


if __name__ == "__main__":
    case.main()
