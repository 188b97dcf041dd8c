"""What options.py tries: a value for each option, the data, and the command lines that options are added to."""

import dataclasses
import json
import random
import subprocess

import fixtures

#: Values to try, of which one must do something: by "COMMAND OPTION" or by the option alone. Numbers and choices without an entry have
#: theirs by the table.
VALUES = {
    "accumulate": ["2"], "at": ["1,2"], "best-metric": ["loss"], "beta1": ["0.5"], "beta2": ["0.5"], "cache": ["cache"],
    "class-weights": ["balanced", "0=3,1=1", "a=3,b=1", "A=3,B=1"], "clip": ["0.1"], "column-prompt": ["positive=document=the bad "],
    "columns": ["other,positive", "other,document"], "compare html": ["compared.html"], "compare precision": ["fp32,bf16"], "corpus": ["d/corpus.jsonl"], "csv": ["table.csv"],
    "data": ["d/more.jsonl"], "delimiter": [";"], "dense": ["8"], "directions": ["query-to-doc,doc-to-query"], "document-prompt": ["document=the bad "],
    "eval": ["more=d/more.jsonl"], "evaluate document-prompt": ["query"], "evaluate query-prompt": ["query"], "fold-column": ["fold"],
    "freeze": ["embeddings"], "html": ["lengths.html"], "keep-checkpoints": ["1", "0", "2"], "label-column": ["label2"], "labels": ["1", "0"],
    "layers": ["weighted", "joined:2"], "lengths": ["d/lengths.txt"], "mask-rate": ["0.5"], "matryoshka": ["16,8"], "matryoshka-weights": ["2,1"],
    "max-length": ["12", "2"], "max-record": ["100000", "10"], "max-rows": ["2", "1"], "max-tokens": ["200", "64"], "memory-limit": ["3MB", "100MB"],
    "min-chars": ["30", "200"], "model": ["d/other"], "modes": ["random+longest"], "momentum": ["0.5"], "output": ["other"],
    "pad-to-multiple-of": ["8", "5"], "pair-column": ["other"], "patience": ["2", "1"], "pooling": ["mean", "max"], "profile": ["trace.json"], "prompt": ["query"],
    "queries": ["d/queries.jsonl"], "records": ["3"], "query-prompt": ["query=the good "], "relevant": ["d/relevant.tsv"], "save-every": ["1"],
    "scored-pairs": ["d/scored.jsonl"], "simulate": ["ranks=2"], "slices": ["2"], "teacher-column": ["teacher"], "test": ["d/more.jsonl"],
    "text-column": ["other"], "tokenizer": ["d/fewer"], "train": ["d/more.jsonl"], "train-only": ["*.bias,classifier.*", "*.bias"], "weight": ["2"],
    "where": ["split=a"]}

#: Options that may leave everything that is compared as it was, and why that is what they promise.
TIME = "changes time and memory alone"
ONCE = "of one evaluation or checkpoint"
PROMISED = {
    "accumulate": TIME, "best-metric": ONCE, "cpu": "auto is the best there is", "drop-last": "of a last step that is short", "eval-batch-size": TIME, "eval-batching": TIME, "eval-padding": TIME,
    "format": "it was that already", "input-format": "it was that already", "keep": ONCE, "keep-checkpoints": ONCE, "max-record": "of longer records", "max-tokens": TIME, "min-delta": ONCE,
    "missing-label": "of rows without a label", "overwrite": "of a folder that is there", "oversize": "of longer rows", "patience": ONCE,
    "prefetch": TIME, "quiet": "where there are no notes", "quote": "of quotes", "rank-slices": "of several processes",
    "rank-timeout": "of several processes", "resume": "of a folder that is there", "resume-anyway": "of other instructions",
    "skip-damaged": "of damage", "tail": "of several processes", "threads": TIME, "truncation-side": "right is what the tokenizer has",
    "unbuffered": TIME,
    "analyze samples": "of texts that may be shown already", "analyze seed": "of slots, which may be as many in any order", "analyze task": "of rows that are the same", "analyze truncation": "of pairs",
    "compare checkpoint-activations": TIME, "compare no-type-ids": "of pairs",
    "embed batch-size": TIME, "evaluate batch-size": TIME, "evaluate document-prompt": "of an order that may stay",
    "evaluate padding": TIME, "evaluate precision": "of an order that may stay",
    "evaluate query-prompt": "of an order that may stay", "evaluate similarity": "of an order that may stay", "plan slices": "of a batch's order, which its counts have not", "plan task": "of rows that are the same",
    "plan truncation": "of pairs", "plan weight": "of several sources", "predict batch-size": TIME, "predict padding": TIME,
    "report label-column": "of a page that holds times, and is not read", "tokenize task": "of rows that are the same", "tokenize truncation": "of pairs"}

#: Options with which the data may be wrong: a line about the file is right.
OF_DATA = {"delimiter", "format", "input-format", "label-column", "min-chars", "model", "no-header", "pair-column", "quote", "scored-pairs", "task", "text-column", "tokenizer"}

#: No cases: a file of options is a context, help ends the command, and there may be no card.
LEFT_OUT = {"config", "help", "device", "tf32"}

#: Their largest values would take forever.
ENDLESS = {"epochs", "max-steps", "folds"}

#: Kinds of rows, and the --task of those that have another name.
TASKS = ("classification", "pairs", "regression", "multi-label", "tokens", "mlm", "embedding", "scored", "rerank")
NAMES = {"pairs": "classification", "scored": "embedding"}

#: What a stream needs besides.
STREAMED = {"embedding": ("--max-steps=4", "--loss=in-batch"), "scored": ("--max-steps=4", "--loss=cosent"), "rerank": ("--max-steps=4", "--loss=bce")}


@dataclasses.dataclass(frozen=True)
class Option:
    """A row of the program's table."""
    name: str
    also: str | None
    kind: str
    value: str | None
    default: str | None
    constant: bool
    least: float | None
    most: float | None
    implied: str | None
    needs: str | None

    def words(self, value):
        return (f"--{self.name}",) if value is None else (f"--{self.name}={value}",)

    def values(self, command):
        """Values to try; None: VALUES should have some."""
        given = VALUES.get(f"{command} {self.name}", VALUES.get(self.name))
        if given or self.kind == "flag":
            return given or [None]
        if self.kind == "choice":
            return [word for word in self.value.split("|") if word != self.default]
        return self.numbers() if self.kind in ("integer", "real") else None

    def numbers(self):
        """Some that are not the default, within the range."""
        usual = float(self.default) if self.constant else None
        tries = [usual * 2, usual / 2, usual / 1000, 1, 0.5] if usual else [1, 2, 3, 8, 5] if self.kind == "integer" else [0.5, 0.1]
        if self.least is not None:
            tries = [min(max(one, self.least), self.most) for one in tries]
        return [self.text(one) for one in dict.fromkeys(tries) if one != usual and (self.kind == "real" or one == int(one))]

    def text(self, number):
        return str(int(number)) if self.kind == "integer" else repr(float(number))


def table(brim):
    rows = json.loads(subprocess.run([brim, "help", "--json"], capture_output=True, text=True, check=True).stdout)
    names = [field.name for field in dataclasses.fields(Option)]
    return {command: {row["name"]: Option(**{name: row.get(name) for name in names}) for row in options} for command, options in rows.items()}


# ---- data ----------------------------------------------------------------------------------------------------


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def row_of(draw, i, task):
    """A row with columns for every option that names one; some texts are longer than the model."""
    def text(label=i % 2):
        return " ".join(fixtures.sentence(draw, label) for _ in range(9 if i % 3 == 0 else 1))

    row = {"other": text(), "split": "ab"[i // 2 % 2], "fold": i % 2}
    if task == "tokens":
        words = text().split()
        return row | {"tokens": words, "ner_tags": ["AB"[len(word) % 2] for word in words], "label2": ["AB"[len(word) > 3] for word in words], "other": words[1:]}
    if task == "embedding":
        return row | {"anchor": text(), "positive": text(), "negative": text(), "teacher": [0.25 * (i % 3), 0.5]}
    if task == "scored":
        score = i % 3 / 2
        return row | {"sentence1": text(), "sentence2": text(), "label": score, "label2": 1 - score, "positive": text(), "teacher": [0.5, 0.25]}
    if task == "rerank":
        return row | {"query": f"the query of all rows of group {i // 4}", "document": text(), "label": i % 2, "label2": (i + 1) % 2}
    row["text"] = text()
    if task == "regression":
        row |= {"label": round(draw.random(), 3), "label2": round(draw.random(), 3)}
    elif task == "multi-label":
        row |= {"label": [["a"], ["b"], ["a", "b"]][i % 3], "label2": [["b"], ["a"]][i % 2]}
    elif task != "mlm":
        row |= {"label": i % 2, "label2": (i + 1) % 2}
    return row | {"text_pair": text()} if task == "pairs" else row


def write_models(folder):
    """A model, another that computes otherwise, and a tokenizer without ten of the words."""
    fixtures.write_model(folder / "model")
    fixtures.write_model(folder / "other", labels=2)
    fixtures.write_model(folder / "fewer")
    config = folder / "other" / "config.json"
    config.write_text(config.read_text(encoding="utf-8").replace("1e-12", "1e-5"), encoding="utf-8")
    words = fixtures.vocabulary()
    (folder / "fewer" / "vocab.txt").write_text("\n".join([*words[:-10], *(f"[unused{i}]" for i in range(10))]) + "\n", encoding="utf-8")


def write_data(folder, task):
    """train.jsonl and more.jsonl are of the task; the other files are the same for all."""
    draw = random.Random(5)
    for name, rows in (("train", 14), ("more", 8)):
        write_lines(folder / f"{name}.jsonl", [row_of(draw, i, task) for i in range(rows)])
    rows, names = [row_of(draw, i, "classification") for i in range(14)], ("text", "label", "other", "label2", "split", "fold")
    write_lines(folder / "text.jsonl", rows)
    (folder / "table.csv").write_text("\n".join([",".join(names), *(",".join(str(row[name]) for name in names) for row in rows)]) + "\n", encoding="utf-8")
    written = {"damaged": 'text,label\na film,0\na "bad film,1\ngood,0,1\nfine,1\n', "unlabelled": "text,label\na film,0\nbad,\nfine,1\n",
               "quoted": 'text,label\n"a ""good"", warm film",1\n"bad",0\n"fine \\" plot",1\n'}
    for name, text in written.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    (folder / "lengths.txt").write_text("".join(f"{draw.randrange(3, 60)}\n" for _ in range(42)), encoding="utf-8")
    write_lines(folder / "corpus.jsonl", [{"_id": f"d{i}", "text": fixtures.sentence(draw, i % 2)} for i in range(6)])
    write_lines(folder / "queries.jsonl", [{"_id": f"q{i}", "text": fixtures.sentence(draw, i % 2)} for i in range(3)])
    (folder / "relevant.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{2 * i}\t1\n" for i in range(3)), encoding="utf-8")
    write_lines(folder / "scored.jsonl", [{"sentence1": fixtures.sentence(draw, 0), "sentence2": fixtures.sentence(draw, i % 2), "score": i % 3 / 2, "split": "ab"[i % 2]}
                                          for i in range(9)])


# ---- command lines -------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Base:
    """A command line, in a folder where d is the data of a task. It works, but for those that are of some options only: these have an
    effect here, whatever they promise elsewhere."""
    name: str
    command: str
    words: tuple
    task: str
    only: tuple = ()

    def line(self, *more):
        return (*self.command.split(), *self.words, *more)

    def has(self, option):
        return f"--{option.name}" in self.words and option.kind in ("text", "names", "flag")


def task_words(task):
    return ("--task", NAMES.get(task, task))


def train_base(task):
    return Base(task, "train", ("--model", "d/model", "--train", "d/train.jsonl", "--output", "run", "-b", "4", "--lr", "1e-3", "-j", "1", *task_words(task)), task)


def bases():
    """The command lines that options are added to."""
    train = train_base("classification").words
    yield from (train_base(task) for task in TASKS)
    yield Base("csv", "train", tuple("d/table.csv" if word == "d/train.jsonl" else word for word in train), "classification")
    yield Base("evals", "train", (*train, "--eval", "d/more.jsonl", "--eval-every", "1"), "classification")
    for file, option in {"damaged": "skip-damaged", "unlabelled": "missing-label", "quoted": "quote"}.items():
        words = tuple({"d/train.jsonl": f"d/{file}.csv"}.get(word, word) for word in train)
        yield Base(file, "train", words, "classification", (option,))
    yield Base("a budget", "train", (*train, "--max-tokens", "40"), "classification", ("oversize",))
    often = ("--epochs", "4", "--eval", "d/more.jsonl", "--eval-every", "1", "--save-every", "1")
    yield Base("many evaluations", "train", (*train, *often, "--lr", "0.3"), "classification", ("keep=best", "patience", "keep-checkpoints"))
    yield Base("better each time", "train", (*train_base("regression").words, *often, "--lr", "3e-3"), "regression", ("min-delta",))
    for task in ("classification", "pairs", "tokens", "embedding", "rerank"):
        words = ("--model", "d/model", "--train", "d/train.jsonl", "-b", "4", "-j", "1", "--max-steps", "4", "--lr", "1e-3", "--json", "--modes", "random+none")
        yield Base(f"compare {task}", "compare", (*words, *task_words(task)), task)
    for task in ("classification", "pairs", "regression", "multi-label", "tokens", "rerank"):
        yield Base(f"evaluate {task}", "evaluate", ("--model", "d/run", "d/more.jsonl", "--json"), task)
        yield Base(f"predict {task}", "predict", ("--model", "d/run", "d/more.jsonl"), task)
    search = ("--corpus", "d/corpus.jsonl", "--queries", "d/queries.jsonl", "--relevant", "d/relevant.tsv", "--json")
    yield Base("evaluate search", "evaluate", ("--model", "d/run", *search), "embedding")
    yield Base("evaluate pairs of vectors", "evaluate", ("--model", "d/run", "--scored-pairs", "d/scored.jsonl", "--json"), "embedding")
    yield Base("embed", "embed", ("--model", "d/run", "d/text.jsonl", "--output", "vectors.jsonl"), "embedding")
    for task in ("classification", "pairs", "tokens", "mlm", "embedding"):
        named = task_words(task) if task in ("tokens", "mlm", "embedding") else ()
        yield Base(f"analyze {task}", "analyze", ("-t", "d/model", "--json", "--max-length", "12", "-b", "4", "d/train.jsonl", *named), task)
        yield Base(f"plan {task}", "plan", ("-t", "d/model", "-b", "4", "d/train.jsonl", *named), task)
    yield Base("plan of lengths", "plan", ("--lengths", "d/lengths.txt", "-b", "4"), "classification")
    for name, words in {"rows": ("d/train.jsonl",), "csv": ("d/table.csv",)}.items():
        yield Base(f"tokenize {name}", "tokenize", ("-t", "d/model", *words), "classification")
        yield Base(f"shard {name}", "shard", (*words, "--output", "shards"), "classification")
    yield Base("tokenize pairs", "tokenize", ("-t", "d/model", "d/train.jsonl"), "pairs")
    yield Base("tokenize tokens", "tokenize", ("-t", "d/model", "d/train.jsonl", "--task", "tokens"), "tokens")
    yield Base("report", "report", ("d/run", "--output", "page.html"), "classification")
