"""What people try first, as a table: where the try comes from, the try, and what has to come of it.

A try is an expression; what it needs beside Python is found by the names it uses (pd, pl, pa, np, datasets, transformers, torch), and
where that is not installed the try is skipped with the command that installs it. Half of them are what the first pages of Hugging Face,
pandas, polars and sentence-transformers do with their own objects."""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import brim
import case

HERE = case.folder()
MODEL, DATA = HERE / "model", HERE / "data"
MODULES = {"pd": "pandas", "pl": "polars", "pa": "pyarrow", "np": "numpy", "datasets": "datasets", "transformers": "transformers", "torch": "torch",
           "parquet": "pyarrow", "arrow": "pyarrow"}
PAIRS = [("a good film", "pos"), ("a bad plot", "neg"), ("great fun", "pos"), ("poor and dull", "neg")] * 6
DICTS = [{"text": text, "label": label} for text, label in PAIRS]
COLUMNS = {"text": [text for text, _ in PAIRS], "label": [label for _, label in PAIRS]}
IDS = {"text": COLUMNS["text"], "label": [int(label == "pos") for label in COLUMNS["label"]]}
STS = [("a good film", "a great film", 0.9), ("a bad plot", "good fun", 0.1), ("the story", "the same story", 0.8)] * 4
THREE = ["neg", "neutral", "pos"]
WARM = []


def hf(columns, names=None):
    import datasets
    features = None
    if names:
        features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=names)})
    return datasets.Dataset.from_dict(columns, features=features)


def split():
    import datasets
    rows = hf(IDS, ["neg", "pos"])
    return datasets.DatasetDict(train=rows, validation=rows.select(range(8)), test=rows.select(range(4)))


def learn(rows, **options):
    """The run that all tries take: rows of four steps, and the class of one text that was trained on."""
    options = {"epochs": 24, "lr": 3e-3, "batch_size": 8, **options}
    result = brim.train(MODEL, rows, **options)
    return result.rows // 24 if "epochs" in options and options["epochs"] == 24 else result.rows, result.model.labels.names, \
        result.model.predict("a good film")[0].label


def trained():
    if not hasattr(trained, "model"):
        trained.model = brim.train(MODEL, PAIRS, epochs=24, lr=3e-3, batch_size=8).model
    return trained.model


def of_two():
    """Trained on rows of two texts."""
    if not hasattr(of_two, "model"):
        of_two.model = brim.train(MODEL, {"text": ["good", "bad"], "text_pair": ["bad", "film"], "label": ["pos", "neg"]}, epochs=1).model
    return of_two.model


def labels(predictions):
    return [p.label for p in predictions]


def parquet(name="rows.parquet"):
    import pyarrow
    import pyarrow.parquet
    pyarrow.parquet.write_table(pyarrow.table(COLUMNS), HERE / name)
    return HERE / name


def arrow(stream):
    import pyarrow
    table, path = pyarrow.table(COLUMNS), HERE / f"rows-{stream}.arrow"
    with (pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file)(str(path), table.schema) as out:
        out.write_table(table)
    return path


class Pairs:
    """A torch dataset has a length and an index, and no more."""

    def __len__(self):
        return len(PAIRS)

    def __getitem__(self, i):
        if i >= len(PAIRS):
            raise IndexError
        return DICTS[i]


def needs(name):
    """Skips the try where a package is missing that another one imports late."""
    if importlib.util.find_spec(name) is None:
        raise unittest.SkipTest(f"pip install {name}")
    return True


def windows(predict_each, rows):
    """Predictions of so many rows at a time."""
    import brim.model
    before, brim.model._WINDOW = brim.model._WINDOW, 0
    try:
        return list(predict_each({"text": COLUMNS["text"]}, batch_size=rows))
    finally:
        brim.model._WINDOW = before


GOOD = (24, ["neg", "pos"], "pos")
NAMES = ["neg", "pos"]


def fails(kind, words):
    return kind, words


def warns(words):
    return Warning, words


def sentences(name="sentences"):
    """As sentence-transformers saves a model."""
    shutil.copytree(MODEL, HERE / name, dirs_exist_ok=True)
    (HERE / name / "1_Pooling").mkdir(exist_ok=True)
    (HERE / name / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true}')
    return HERE / name


def older():
    """As its first versions did."""
    shutil.copytree(MODEL, HERE / "older" / "0_Transformer", dirs_exist_ok=True)
    (HERE / "older" / "modules.json").write_text("[]")
    return HERE / "older"


TRIES = [
    # rows in memory
    ("list of (text, label)", "learn(PAIRS)", GOOD),
    ("list of dicts", "learn(DICTS)", GOOD),
    ("dict of lists", "learn(COLUMNS)", GOOD),
    ("generator", "learn(pair for pair in PAIRS)", GOOD),
    ("zip", "learn(zip(COLUMNS['text'], COLUMNS['label']))", GOOD),
    ("integers as labels", "learn(IDS)", (24, ["0", "1"], 1)),
    ("booleans as labels", "learn([(t, l == 'pos') for t, l in PAIRS])", (24, ["false", "true"], True)),
    ("integers with names", "learn(IDS, labels={0: 'neg', 1: 'pos'})", GOOD),
    ("integers with a list of names", "learn(IDS, labels=['neg', 'pos'])", fails(ValueError, 'is not among the 2 known labels')),
    ("words that are numbers", "repr(learn([(t, '10' if l == 'pos' else '2') for t, l in PAIRS])[2])", "'10'"),
    ("torch Dataset", "learn(Pairs())", GOOD),
    ("class names in an order", "learn(PAIRS, labels=['pos', 'neg'])", (24, ["pos", "neg"], "pos")),
    ("a class that no row has", "learn(PAIRS, labels=THREE)", (24, THREE, "pos")),
    ("several labels a row", "brim.train(MODEL, [('good film', ['a', 'b']), ('plot', ['b'])], max_steps=1).model.labels.names", ["a", "b"]),
    ("multi-hot floats", "brim.train(MODEL, [('good film', [1., 0., 1.]), ('plot', [0., 0., 1.])], max_steps=1).model.task", "multi_label"),
    ("multi-hot floats, a label unused", "brim.train(MODEL, [('good', [1., 0., 1.]), ('plot', [0., 0., 1.])], max_steps=1).model.outputs", 3),
    ("multi-hot integers", "brim.train(MODEL, [('good film', [1, 0, 1]), ('plot', [0, 0, 1])])", fails(brim.errors.FormatError, "twice in this list")),
    ("values", "brim.train(MODEL, [('good', .5), ('bad', 1.5)], max_steps=1).model.task", "regression"),
    ("pairs with a score", "brim.train(MODEL, STS, max_steps=1).model.task", "regression"),
    ("texts only", "brim.train(MODEL, [{'text': 'a'}])", fails(ValueError, 'there is no column "label"; the columns are "text"')),
    ("a list of texts", "brim.train(MODEL, ['a good film', 'a bad plot'])", fails(ValueError, "the rows have no labels: they are (text, label)")),
    ("a list of files", "brim.train(MODEL, [DATA / 'train.csv', str(DATA / 'test.csv')], epochs=1).rows", 120),
    ("a star in a text", "brim.analyze(['5 stars', 'a film'], MODEL).rows", 2),
    ("no rows", "brim.train(MODEL, [])", fails(ValueError, "no")),
    ("a number", "brim.train(MODEL, 3)", fails(ValueError, "3 has no rows")),
    # pandas, polars, pyarrow
    ("pandas 10 minutes: DataFrame", "learn(pd.DataFrame(COLUMNS))", GOOD),
    ("pandas: a selection", "learn(pd.DataFrame(COLUMNS)[lambda d: d.index < 10])[0]", 10),
    ("pandas: sample", "learn(pd.DataFrame(COLUMNS).sample(frac=1, random_state=1))", GOOD),
    ("pandas: Categorical", "learn(pd.DataFrame({**COLUMNS, 'label': pd.Categorical(COLUMNS['label'])}))", GOOD),
    ("pandas: read_csv", "learn(pd.read_csv(DATA / 'train.csv'), epochs=1)[:2]", (96, ["0", "1"])),
    ("pandas: to_dict", "learn(pd.DataFrame(COLUMNS).to_dict('records'))", GOOD),
    ("pandas: to_dict of columns", "learn(pd.DataFrame(COLUMNS).to_dict())", GOOD),
    ("pandas: to_json", "learn(__import__('json').loads(pd.DataFrame(COLUMNS).to_json()))", GOOD),
    ("pandas: to_dict of rows", "learn(pd.DataFrame(COLUMNS).to_dict('index'))", fails(ValueError, 'the rows are a dict of dicts, {0: ')),
    ("columns that number other rows", "learn({'text': {0: 'a', 1: 'b'}, 'label': {1: 'y', 0: 'x'}})", fails(ValueError, "do not number the same rows")),
    ("splits of numbered columns", "brim.train(MODEL, {'train': {0: ['a', 'b'], 1: [0, 1]}}, text_column='0', label_column='1', max_steps=1).rows", 2),
    ("multi-label as messages have it", "brim.train(MODEL, [('a', ['x']), ('b', ['x', 'y'])], task='multi-label', max_steps=1).model.task", "multi_label"),
    ("multi-label of a model that is loaded", "brim.train(brim.Model(MODEL, labels=brim.Labels(['x', 'y'], task='multi-label')), [('a', ['x'])], task='multi-label', max_steps=1).model.task",
     "multi_label"),
    ("pandas: other columns", "learn(pd.DataFrame({'sentence': COLUMNS['text'], 'label': COLUMNS['label'], 'idx': range(24)}))",
     fails(ValueError, 'the columns are "sentence", "label", "idx": give text_column="sentence"')),
    ("pandas: capitals", "learn(pd.DataFrame({'Text': ['a'], 'Label': [1]}))", fails(ValueError, 'give text_column="Text"')),
    ("pandas: numbers as texts", "learn(pd.DataFrame({'text': [1, 2], 'label': [0, 1]}))", fails(TypeError, 'column "text" holds whole numbers where a string')),
    ("pandas: float16", "brim.train(MODEL, pd.DataFrame({'text': ['a', 'b', 'c'], 'label': np.array([0.5, -1.25, 65504], 'f2')}), max_steps=1).model.task",
     "regression"),
    ("float16: the values", "brim.Dataset.of(pa.table({'text': ['a'] * 6, 'label': pa.array(np.array([0.5, -1.25, 65504, 0, 6e-8, -0.1], 'f2'))}), brim.Tokenizer(MODEL),"
     " task='classification').labels.names", ["-1.25", "-0.0999755859375", "0.0", "5.960464477539063e-08", "0.5", "65504.0"]),
    ("uint64: above int64", "brim.Dataset.of(pa.table({'text': ['a', 'b'], 'label': pa.array([2**63 + 5, 1], pa.uint64())}), brim.Tokenizer(MODEL),"
     " task='classification').labels.names", ["1", "9223372036854775813"]),
    ("pyarrow: a column of nulls", "brim.train(MODEL, pa.table({'text': ['a', 'b'], 'label': pa.nulls(2)}))", fails(ValueError, "row 0 has no label")),
    ("pyarrow: texts that are nulls", "brim.train(MODEL, pa.table({'text': pa.nulls(2), 'label': [0, 1]}))",
     fails(TypeError, 'column "text" holds nothing but nulls where a string is needed')),
    ("pyarrow: second texts that are nulls", "brim.train(MODEL, pa.table({'text': ['a', 'b'], 'text_pair': pa.nulls(2), 'label': [0, 1]}), max_steps=1).rows", 2),
    ("pyarrow: bytes", "brim.train(MODEL, pa.table({'text': [b'a', b'b'], 'label': [0, 1]}), max_steps=1).rows", 2),
    ("polars: decimals", "brim.train(MODEL, pl.DataFrame(IDS).with_columns(pl.col('label').cast(pl.Decimal(9, 2))), max_steps=1).model.task", "regression"),
    ("polars: lazy", "brim.train(MODEL, pl.DataFrame(IDS).lazy())", fails(ValueError, "give lazy.collect()")),
    ("-1 of a ClassLabel", "datasets and brim.train(MODEL, hf({'text': ['a', 'b', 'c'], 'label': [0, -1, 1]}, ['neg', 'pos']), max_steps=1).rows", 2),
    ("no columns", "brim.train(MODEL, {})", fails(ValueError, "the table has no columns")),
    ("nothing to evaluate", "trained().evaluate([])", fails(ValueError, "there are no rows")),
    ("no name of a model", "brim.Model('')", fails(TypeError, "is needed, not ''")),
    ("None for a model", "brim.Model(None)", fails(TypeError, "is needed, not None")),
    ("no name of a tokenizer", "brim.Tokenizer('')", fails(TypeError, "is needed, not ''")),
    ("stratify without folds", "brim.train(MODEL, PAIRS, stratify=True)", fails(ValueError, "it is for folds")),
    ("stratify with each row's fold", "brim.train(MODEL, PAIRS, folds=[0, 1] * 12, stratify=True)", fails(ValueError, "each row's fold already")),
    ("stratify with a number of NumPy", "[brim.train(MODEL, PAIRS, folds=n, stratify=True, max_steps=1).fold.tolist() for n in (np.array(2), np.int64(2))]"
     " == [brim.train(MODEL, PAIRS, folds=2, stratify=True, max_steps=1).fold.tolist()] * 2", True),
    ("folds of words", "brim.train(MODEL, PAIRS, folds=['a', 'b'] * 12)", fails(TypeError, "folds: a number of folds is needed, or the fold of each row (0, 1, ..), not ['a', 'b'")),
    ("folds with a hole", "brim.train(MODEL, PAIRS, folds=[0, None] * 12)", fails(TypeError, "folds: a number of folds is needed, or the fold of each row (0, 1, ..), not [0, None")),
    ("folds of fractions", "brim.train(MODEL, PAIRS, folds=np.array([0, .5] * 12))", fails(TypeError, "folds: a number of folds is needed, or the fold of each row")),
    ("folds that no int holds", "brim.train(MODEL, PAIRS, folds=[0, 2**40] * 12)", fails(TypeError, "folds: a number of folds is needed, or the fold of each row")),
    ("folds that are no rows", "brim.train(MODEL, PAIRS, folds=2.5)", fails(TypeError, "or the fold of each row (0, 1, ..), not 2.5")),
    ("folds of pyarrow", "brim.train(MODEL, PAIRS, folds=pa.chunked_array([[0, 1] * 6] * 2), max_steps=1).fold.tolist()", [0, 1] * 12),
    ("folds of pyarrow with a hole", "brim.train(MODEL, PAIRS, folds=pa.chunked_array([[0, None] * 12]))", fails(TypeError, "folds: a number of folds is needed, or the fold of each row")),
    ("folds of polars", "brim.train(MODEL, PAIRS, folds=pl.Series([0, 1] * 12), max_steps=1).fold.tolist()", [0, 1] * 12),
    ("folds below 0", "brim.train(MODEL, PAIRS, folds=[0, -1] * 12)", fails(ValueError, "folds are numbered from 0")),
    ("threads", "brim.train(MODEL, PAIRS, threads=2)", fails(TypeError, "brim.set_threads(n)")),
    ("a batching that is none", "brim.train(MODEL, PAIRS, batching='foo')", fails(ValueError, 'there is no "foo"; use sequential, random, uniform, sorted, bucketed or packed')),
    ("a schedule that is none", "brim.train(MODEL, PAIRS, lr_scheduler_type='polynomial')", fails(ValueError, "use linear, cosine or constant")),
    ("a rate that is no number", "brim.train(MODEL, PAIRS, learning_rate='x')", fails(TypeError, "learning_rate: a number is needed, not 'x'")),
    ("pandas: nullable integers", "brim.train(MODEL, pd.DataFrame({'text': ['a', 'b', 'c'], 'label': pd.array([1, None, 0], dtype='Int64')}), missing_label='skip',"
     " max_steps=1).model.labels.names", ["0", "1"]),
    ("pandas: to_json by columns", "pd.DataFrame(COLUMNS).to_json(HERE / 'columns.json'), brim.train(MODEL, HERE / 'columns.json')",
     fails(brim.errors.FormatError, 'to_json(.., orient="records", lines=True)')),
    ("pandas: to_json by rows", "pd.DataFrame(COLUMNS).to_json(HERE / 'rows.jsonl', orient='records', lines=True), learn(HERE / 'rows.jsonl')[0]", 24),
    ("pandas: to_csv with its index", "pd.DataFrame(COLUMNS).to_csv(HERE / 'index.csv'), learn(HERE / 'index.csv')[0]", 24),
    ("pandas: to_csv without a head line", "pd.DataFrame(COLUMNS).to_csv(HERE / 'bare.csv', index=False, header=False), learn(HERE / 'bare.csv', header=False,"
     " label_column='1')", GOOD),
    ("pandas: to_csv with tabs", "pd.DataFrame(COLUMNS).to_csv(HERE / 'tabs.tsv', sep='\t', index=False), learn(HERE / 'tabs.tsv')", GOOD),
    ("pandas: to_csv in Latin-1", "pd.DataFrame({'text': ['été', 'b'], 'label': [0, 1]}).to_csv(HERE / 'latin.csv', encoding='latin1', index=False), "
     "brim.train(MODEL, HERE / 'latin.csv')", fails(brim.errors.FormatError, "is not UTF-8: convert the file first")),
    ("pandas: to_csv for Excel", "pd.DataFrame(COLUMNS).to_csv(HERE / 'excel.csv', encoding='utf-8-sig', index=False, lineterminator='\\r\\n'), learn(HERE / 'excel.csv')", GOOD),
    ("pandas: to_csv, gzip", "pd.DataFrame(COLUMNS).to_csv(HERE / 'packed.csv.gz', index=False), learn(HERE / 'packed.csv.gz')", GOOD),
    ("pandas: to_csv, zip", "pd.DataFrame(COLUMNS).to_csv(HERE / 'packed.csv.zip', index=False), learn(HERE / 'packed.csv.zip')",
     fails(brim.Error, "zip is not read: take the file out of it")),
    ("pandas: columns by name", "learn(pd.DataFrame({'sentence': COLUMNS['text'], 'y': IDS['label']}), text_column='sentence', label_column='y')[0]", 24),
    ("pandas: lists of labels", "brim.train(MODEL, pd.DataFrame({'text': ['a', 'b'], 'label': [['x'], ['x', 'y']]}), max_steps=1).model.task", "multi_label"),
    ("pandas: a missing text", "brim.train(MODEL, pd.DataFrame({'text': ['a', None], 'label': ['x', 'y']}))", fails(ValueError, "row 1: there is no text")),
    ("pandas: a missing label", "brim.train(MODEL, pd.DataFrame({'text': ['a', 'b'], 'label': ['x', None]}))", fails(ValueError, "row 1 has no label")),
    ("polars first page: DataFrame", "learn(pl.DataFrame(COLUMNS))", GOOD),
    ("polars: filter", "learn(pl.DataFrame(COLUMNS).filter(pl.col('label') == 'pos'), labels=NAMES)[0]", 12),
    ("polars: Categorical", "learn(pl.DataFrame(COLUMNS, schema_overrides={'label': pl.Categorical}))", GOOD),
    ("pyarrow: table", "learn(pa.table(COLUMNS))", GOOD),
    ("pyarrow: record batch", "learn(pa.RecordBatch.from_pydict(COLUMNS))", GOOD),
    ("pyarrow: Parquet", "learn(parquet())", GOOD),
    ("pyarrow: Parquet by a pattern", "parquet('part-0.parquet'), parquet('part-1.parquet'), learn(str(HERE / 'part-*.parquet'), epochs=1)[0]", 48),
    ("pyarrow: Arrow file", "learn(arrow(False))", GOOD),
    ("pyarrow: Arrow stream", "learn(str(arrow(True)))", GOOD),
    ("Parquet that is none", "(HERE / 'x.parquet').write_bytes(b'PAR1'), brim.train(MODEL, HERE / 'x.parquet')", fails(brim.Error, "x.parquet")),
    ("Parquet that is not there", "pa and brim.train(MODEL, 'none.parquet')", fails(OSError, "none.parquet: cannot open")),
    # datasets and transformers
    ("datasets: Dataset", "datasets and learn(hf(COLUMNS))", GOOD),
    ("datasets: ClassLabel keeps its names", "datasets and learn(hf(IDS, NAMES))", GOOD),
    ("datasets: ClassLabel keeps its order", "datasets and learn(hf({**IDS, 'label': [1 - i for i in IDS['label']]}, ['pos', 'neg']))", (24, ["pos", "neg"], "pos")),
    ("datasets: shuffle, select", "datasets and learn(hf(IDS, NAMES).shuffle(seed=1).select(range(9)))[0]", 9),
    ("datasets: train_test_split", "datasets and learn(hf(IDS, NAMES).train_test_split(test_size=0.25, seed=1))[0]", 18),
    ("datasets: filter", "datasets and learn(hf(IDS, NAMES).filter(lambda r: r['label'] == 1))[:2]", (12, NAMES)),
    ("datasets: no label is -1", "datasets and brim.train(MODEL, hf({'text': ['a'], 'label': [-1]}, NAMES))", fails(ValueError, "no rows are left: 1 were excluded")),
    ("datasets: DatasetDict", "datasets and learn(split())", GOOD),
    ("datasets: its validation is evaluated", "datasets and [(e['name'], e['rows']) for e in brim.train(MODEL, split(), max_steps=1).evaluations]", [("validation", 8)]),
    ("datasets: all splits", "datasets and [(e['name'], e['rows']) for e in brim.train(MODEL, split()['train'], eval={'test': split()['test']}, max_steps=1)"
     ".evaluations]", [("test", 4)]),
    ("datasets: streaming", "datasets and learn(hf(COLUMNS).to_iterable_dataset())", GOOD),
    ("datasets: with_format", "datasets and torch and learn(hf(COLUMNS).with_format('torch'))", GOOD),
    ("datasets: sst2's columns", "datasets and learn(hf(IDS, NAMES).rename_column('text', 'sentence'))", fails(ValueError, 'give text_column="sentence"')),
    ("datasets: mrpc's columns", "datasets and brim.train(MODEL, datasets.Dataset.from_dict({'sentence1': ['a', 'b'], 'sentence2': ['c', 'd'], 'label': [0, 1]}),"
     " text_column='sentence1', pair_column='sentence2', max_steps=1).steps", 1),
    ("datasets: evaluate", "datasets and trained().evaluate(hf(IDS, NAMES))['accuracy']", 1.0),
    ("datasets: predict", "datasets and labels(trained().predict(hf(COLUMNS)))[:2]", ["pos", "neg"]),
    ("transformers: Trainer's names", "datasets and brim.train(MODEL, train_dataset=hf(IDS, NAMES), eval_dataset=hf(IDS, NAMES), output_dir=HERE / 'out', "
     "num_train_epochs=1, per_device_train_batch_size=8, learning_rate=2e-5, weight_decay=0.01, eval_strategy='epoch', save_strategy='epoch').steps", 3),
    ("transformers: TrainingArguments", "transformers and torch and needs('accelerate') and brim.train(MODEL, args=transformers.TrainingArguments(output_dir=str(HERE / 'ta'), "
     "num_train_epochs=2, per_device_train_batch_size=4, learning_rate=1e-3, weight_decay=0.1, eval_strategy='epoch', report_to='none'), train_dataset=DICTS, "
     "eval_dataset=DICTS, processing_class=transformers.AutoTokenizer.from_pretrained(MODEL)).steps", 12),
    ("transformers: its defaults", "transformers and torch and needs('accelerate') and brim.train(MODEL, transformers.TrainingArguments(output_dir=str(HERE / 'tb'), "
     "report_to='none'), train_dataset=DICTS).steps", 9),
    ("transformers: gradient_accumulation_steps", "brim.train(MODEL, DICTS, per_device_train_batch_size=4, gradient_accumulation_steps=3, num_train_epochs=1).steps", 2),
    ("transformers: compute_metrics", "brim.train(MODEL, DICTS, eval=DICTS, max_steps=1, compute_metrics=lambda p: {'seen': len(p.label_ids)}).evaluations[0]['seen']", 24.0),
    ("compute_metrics that is no function", "brim.train(MODEL, DICTS, eval=DICTS, compute_metrics='f1')", fails(TypeError, "compute_metrics is a function of predictions")),
    ("compute_metrics that returns a number", "brim.train(MODEL, DICTS, eval=DICTS, max_steps=1, compute_metrics=lambda p: 1.0)", fails(TypeError, "returns a dict of metrics")),
    ("transformers: data_collator", "brim.train(MODEL, DICTS, data_collator=len)", fails(TypeError, "brim makes its batches itself")),
    ("transformers: callbacks", "brim.train(MODEL, DICTS, callbacks=[transformers.TrainerCallback()])", fails(TypeError, "a callback is a function of a kind and fields")),
    ("transformers: report_to wandb", "brim.train(MODEL, DICTS, report_to='wandb')", fails(TypeError, "examples/python/wandb_run.py")),
    ("transformers: warmup_steps as a share", "brim.train(MODEL, transformers.TrainingArguments(output_dir=str(HERE / 'share'), warmup_steps=0.5, report_to='none', num_train_epochs=1), "
     "train_dataset=DICTS, on_event=lambda k, f: k == 'start' and WARM.append(f['warmup_steps'])), WARM[-1]", 2),
    ("transformers: the metric's direction", "brim.train(MODEL, transformers.TrainingArguments(output_dir=str(HERE / 'least'), eval_strategy='epoch', metric_for_best_model='eval_loss', "
     "report_to='none', num_train_epochs=1), train_dataset=DICTS, eval_dataset=DICTS).metric", "loss"),
    ("a wrong direction", "brim.train(MODEL, DICTS, eval=DICTS, metric_for_best_model='accuracy', greater_is_better=False)", fails(TypeError, "of accuracy the greatest is best")),
    ("warm-up twice", "brim.train(MODEL, DICTS, warmup_steps=3, warmup_ratio=0.1)", fails(TypeError, "say the same")),
    ("no steps", "brim.train(MODEL, DICTS, max_steps=0)", fails(ValueError, "max_steps is 0")),
    ("a word for a truth value", "brim.train(MODEL, DICTS, resume='no')", fails(TypeError, "resume: True or False is needed, not 'no'")),
    ("another one", "brim.train(MODEL, DICTS, keep_head='False')", fails(TypeError, "keep_head: True or False is needed")),
    ("a truth value of NumPy", "brim.train(MODEL, DICTS, max_steps=1, drop_last=np.False_).steps", 1),
    ("a NUL in a path", "brim.train(MODEL, DICTS, max_steps=1, output=str(HERE / 'nul') + '\\0x')", fails(ValueError, "output: ")),
    ("a NUL in a file's name", "brim.Dataset.from_csv(str(DATA / 'train.csv') + '\\0.png', brim.Tokenizer(MODEL))", fails(ValueError, "holds a NUL")),
    ("a NUL where a model is saved", "trained().save(str(HERE / 'nul') + '\\0x')", fails(ValueError, "holds a NUL")),
    ("half a character", "brim.train(MODEL, {'text': ['a', 'b\\ud83d'], 'label': [0, 1]})", fails(ValueError, "row 1: ")),
    ("options of files, rows in memory", "brim.train(MODEL, DICTS, where={'label': 'pos'})", fails(TypeError, "where is for files")),
    ("options of a stream without it", "brim.train(MODEL, DATA / 'train.csv', shuffle_window=10)", fails(ValueError, "give stream=True too")),
    ("a stream without an end", "brim.train(MODEL, DATA / 'train.csv', stream=True, max_tokens=64)", fails(ValueError, "give max_steps in place of epochs")),
    ("a transform", "datasets and learn(hf({'raw': COLUMNS['text'], 'label': COLUMNS['label']}).with_transform(lambda rows: {'text': rows['raw'], 'label': rows['label']}))", GOOD),
    ("a transform, predicted", "datasets and labels(trained().predict(hf(COLUMNS).with_transform(lambda rows: {'text': ['a good film'] * len(rows['text'])})))[:2]", ["pos", "pos"]),
    ("pandas: the order of a Categorical", "learn(pd.DataFrame({**COLUMNS, 'label': pd.Categorical(COLUMNS['label'], categories=['pos', 'neg'])}))", (24, ["pos", "neg"], "pos")),
    ("polars: the order of an Enum", "learn(pl.DataFrame(COLUMNS).with_columns(pl.col('label').cast(pl.Enum(['pos', 'neg']))))", (24, ["pos", "neg"], "pos")),
    ("pandas: integers, compared", "[p.label for p in brim.train(MODEL, pd.DataFrame(IDS), epochs=24, lr=3e-3, batch_size=8).model.predict(COLUMNS['text'])] == IDS['label']", True),
    ("pandas: words that are numbers", "repr(brim.train(MODEL, pd.DataFrame(IDS).astype({'label': str}), max_steps=1).model.labels.values)", "['0', '1']"),
    ("transformers: a model of torch", "torch and brim.train(transformers.AutoModelForSequenceClassification.from_pretrained(MODEL), DICTS)",
     fails(TypeError, "model.save_pretrained(folder) and tokenizer.save_pretrained(folder)")),
    ("Trainer", "brim.Trainer", fails(AttributeError, "brim.train(model, rows) trains")),
    ("pipeline", "brim.pipeline", fails(AttributeError, 'predict("a text") labels')),
    ("result.predict", "brim.train(MODEL, DICTS, max_steps=1).predict('a')", fails(AttributeError, "result.model.predict")),
    ("no model", "brim.train(None, DICTS)", fails(TypeError, "needs a model first: a folder, a name")),
    ("an address", "brim.train('https://huggingface.co/google-bert/bert-base-uncased', DICTS)", fails(OSError, 'give the name alone, "google-bert/bert-base-uncased"')),
    ("max_length above the model's", "brim.train(MODEL, DICTS, max_length=1000)", fails(ValueError, "max_length is 1000: the model has positions for 1 to 64 tokens")),
    ("epochs as a word", "brim.train(MODEL, DICTS, epochs='3')", fails(TypeError, "epochs: a number is needed, not '3'")),
    ("datasets: load_dataset of csv", "datasets and [(e['name'], e['rows']) for e in brim.train(MODEL, datasets.load_dataset('csv', data_files={'train': str(DATA / 'train.csv'), "
     "'test': str(DATA / 'test.csv')}, cache_dir=str(HERE / 'cache')), max_steps=1).evaluations]", [("test", 24)]),
    ("datasets: snli's columns", "datasets and brim.train(MODEL, datasets.Dataset.from_dict({'premise': ['a', 'b'], 'hypothesis': ['c', 'd'], 'label': [0, 1]}))",
     fails(ValueError, 'give text_column="premise", pair_column="hypothesis"')),
    ("datasets: snli's -1", "datasets and brim.train(MODEL, hf({'text': ['a', 'b', 'c'], 'label': [-1, 0, 1]}, NAMES), missing_label='skip', max_steps=1).rows", 2),
    ("datasets: qnli's columns", "datasets and brim.train(MODEL, datasets.Dataset.from_dict({'question': ['a', 'b'], 'sentence': ['c', 'd'], 'label': [0, 1]}))",
     fails(ValueError, 'give text_column="question", pair_column="sentence"')),
    ("datasets: rows with ids too", "datasets and brim.train(MODEL, hf(COLUMNS).map(lambda r: {'input_ids': [2, 3], 'attention_mask': [1, 1]}), max_steps=1).steps", 1),
    ("transformers: its tokenizer", "transformers and len(brim.Dataset.of(PAIRS, transformers.AutoTokenizer.from_pretrained(MODEL)))", 24),
    ("transformers: its tokenizer's ids", "transformers and brim.Dataset.from_texts(['good plot'], transformers.AutoTokenizer.from_pretrained(MODEL))[0]['input_ids']"
     " == brim.Tokenizer(MODEL).encode('good plot').ids.tolist()", True),
    ("transformers: AutoModel opens what is saved", "trained().save(HERE / 'saved'), torch and transformers.AutoModelForSequenceClassification.from_pretrained("
     "HERE / 'saved').config.id2label[1]", "pos"),
    # predictions
    ("pipeline('a text')", "trained().predict('a good film')[0].label", "pos"),
    ("pipeline([texts])", "labels(trained().predict(['a good film', 'a bad plot']))", ["pos", "neg"]),
    ("pipeline(generator)", "labels(trained().predict(t for t in ['a good film', 'a bad plot']))", ["pos", "neg"]),
    ("pipeline, one after the other", "[p.label for p in trained().predict_each(iter(['a good film', 'a bad plot']))]", ["pos", "neg"]),
    ("pipeline of windows", "list(windows(trained().predict_each, 7)) == trained().predict(COLUMNS)", True),
    ("pipeline([])", "trained().predict([])", []),
    ("pipeline({'text', 'text_pair'})", "len(of_two().predict([{'text': 'good', 'text_pair': 'bad'}]))", 1),
    ("CrossEncoder.predict of pairs", "len(of_two().predict([('good', 'bad'), ['film', 'plot']]))", 2),
    ("pairs for a model of single texts", "trained().predict([('good', 'bad')])", fails(brim.errors.MismatchError, "the rows are pairs of texts, and those of the training data are single texts")),
    ("a pair is not two texts", "of_two().logits([('good', 'bad')]).tolist() == of_two().logits(brim.Dataset.from_texts(['good'], of_two().tokenizer, pairs=['bad'])).tolist()", True),
    ("a Series", "labels(trained().predict(pd.Series(['a good film', 'a bad plot'])))", ["pos", "neg"]),
    ("a column of polars", "labels(trained().predict(pl.DataFrame(COLUMNS)['text']))[:2]", ["pos", "neg"]),
    ("an array of NumPy", "labels(trained().predict(np.array(['a good film', 'a bad plot'])))", ["pos", "neg"]),
    ("a column of Arrow", "labels(trained().predict(pa.array(['a good film', 'a bad plot'])))", ["pos", "neg"]),
    ("a path", "len(trained().predict(DATA / 'test.csv'))", 24),
    ("a file's name is a text", "len(trained().predict(str(DATA / 'test.txt')))", 1),
    ("a file by its name", "len(trained().predict(file=str(DATA / 'test.txt')))", 24),
    ("a file that is not there", "trained().predict(pathlib.Path('none.csv'))", fails(OSError, "none.csv: cannot open")),
    ("rows and a file", "trained().predict('a', file='b')", fails(TypeError, "and not both")),
    ("a threshold", "trained().predict(['a good film'], threshold=1.0)[0].label", None),
    ("the best class alone", "list(trained().predict('a good film', top_k=1)[0].scores)", ["pos"]),
    ("a score by name", "trained().predict('a good film')[0].scores['pos'] == trained().predict('a good film')[0].score", True),
    ("a class's number", "trained().predict('a good film')[0].id, trained().labels.id('pos')", (1, 1)),
    ("X and y", "brim.train(MODEL, COLUMNS['text'], COLUMNS['label'])", fails(TypeError, "brim.train(model, zip(texts, labels))")),
    ("a number", "trained().predict(3)", fails(TypeError, "a text, a list of texts, a table or a file is needed, not 3")),
    ("probabilities", "round(sum(trained().predict('good')[0].scores.values()), 6)", 1.0),
    ("evaluate of rows", "trained().evaluate(PAIRS)['accuracy'], trained().evaluate(DICTS)['rows'], trained().evaluate(COLUMNS)['rows']", (1.0, 24, 24)),
    ("a batch's parts by their names elsewhere", "next(iter(brim.Dataset.of(PAIRS, brim.Tokenizer(MODEL)).batches())).input_ids", fails(AttributeError, "no input_ids: batch.torch() has them")),
    ("folds as scikit-learn splits", "brim.train(MODEL, PAIRS, folds=(([*range(k), *range(k + 12, 24)], [*range(k, k + 12)]) for k in (0, 12)), max_steps=1).fold.tolist().count(1)", 12),
    ("a row that no fold holds out", "brim.train(MODEL, PAIRS, folds=[([*range(12)], [*range(12, 24)])], max_steps=1)", fails(brim.errors.UsageError, "no pair holds out row 0")),
    ("a row that two folds hold out", "brim.train(MODEL, PAIRS, folds=[([*range(12)], [*range(12, 24)])] * 2, max_steps=1)", fails(brim.errors.UsageError, "the pair 1 holds out row 12, which another")),
    # sentence-transformers
    ("a folder made for mean pooling", "brim.train(sentences(), PAIRS, max_steps=1)", warns('made for mean pooling; pooling="mean" trains with it')),
    ("with mean pooling", "len(brim.train(sentences(), PAIRS, max_steps=1, pooling='mean').model.predict('a good film')[0].scores)", 2),
    ("an older folder", "brim.Model(older(), labels=NAMES).path.endswith('0_Transformer')", True),
    # options
    ("learning_rate", "brim.train(MODEL, PAIRS, learning_rate=1e-3, num_train_epochs=2, per_device_train_batch_size=8).steps", 6),
    ("max_steps=-1", "brim.train(MODEL, PAIRS, max_steps=-1, num_train_epochs=1, train_batch_size=8).steps", 3),
    ("bf16", "brim.train(MODEL, PAIRS, bf16=True, max_steps=1).steps", 1),
    ("fp16", "brim.train(MODEL, PAIRS, fp16=True)", fails(TypeError, "fp16=True: precision=\"bf16\" multiplies")),
    ("a slip", "brim.train(MODEL, PAIRS, learnig_rate=1)", fails(TypeError, "did you mean learning_rate")),
    ("another slip", "brim.train(MODEL, PAIRS, epoch=1)", fails(TypeError, "did you mean epochs")),
    ("one option twice", "brim.train(MODEL, PAIRS, lr=1, learning_rate=1)", fails(TypeError, "lr and learning_rate are the same option")),
    ("scalars of NumPy", "brim.train(MODEL, PAIRS, lr=np.float32(1e-3), max_steps=np.int64(2), seed=np.int64(3), batch_size=np.int32(4)).steps", 2),
    ("a seed that is too large", "brim.train(MODEL, PAIRS, seed=2**64)", fails(ValueError, "seed: 18446744073709551616 is out of range")),
    ("a word for a number", "brim.train(MODEL, PAIRS, max_steps='two')", fails(TypeError, "max_steps: a whole number is needed, not 'two'")),
    ("weights by name", "brim.train(MODEL, PAIRS, class_weights={'pos': 2, 'neg': 1}, max_steps=1).steps", 1),
    ("weights by number", "brim.train(MODEL, IDS, class_weights={0: 1, 1: 2}, max_steps=1).steps", 1),
    ("weights of scikit-learn", "brim.train(MODEL, PAIRS, class_weights=np.array([1, 2.]), max_steps=1).steps", 1),
    ("too many weights", "brim.train(MODEL, PAIRS, class_weights=[1, 2, 3])", fails(ValueError, "3 weights for 2 classes")),
    ("no class of that name", "brim.train(MODEL, PAIRS, class_weights={'other': 2})", fails(ValueError, "other")),
    ("a limit of memory", "brim.train(MODEL, PAIRS, memory_limit='8GB', max_steps=1).steps", 1),
    # pieces
    ("from_texts of one text", "brim.Dataset.from_texts('abc', brim.Tokenizer(MODEL))", fails(ValueError, "texts is one text")),
    ("rows that are encoded", "[row['labels'] for row in brim.Dataset.from_ids([[2, 9, 3], [2, 3]], labels=[1, 0])]", [1, 0]),
    ("flat ids without offsets", "brim.Dataset.from_ids([2, 9, 3])", fails(ValueError, "offsets")),
    ("a tokenizer that is none", "brim.Dataset.from_texts(['a'], 3)", fails(ValueError, "not a int")),
    ("python -m brim", "subprocess.run([sys.executable, '-m', 'brim', '--version'], capture_output=True, text=True).stdout.split()[-1] == brim.__version__", True),
    ("TensorBoard", "brim.train(MODEL, PAIRS, max_steps=1, output=HERE / 'board'), len(list((HERE / 'board' / 'tensorboard').iterdir()))", 1),
]


class Tries(unittest.TestCase):
    def one(self, number):
        source, code, want = TRIES[number]
        names = dict(globals())
        for word in set(re.findall(r"\w+", code)) & set(MODULES):
            try:
                module = importlib.import_module(MODULES[word])
                names.setdefault(word, module)
            except ImportError:
                self.skipTest(f"pip install {MODULES[word]}")
        if isinstance(want, tuple) and want[0] is Warning:
            with self.assertWarnsRegex(UserWarning, re.escape(want[1])):
                eval(code, names)
            return
        if isinstance(want, tuple) and len(want) == 2 and isinstance(want[0], type) and issubclass(want[0], Exception):
            with self.assertRaisesRegex(want[0], re.escape(want[1])):
                eval(code, names)
            return
        found = eval(code, names)
        if isinstance(found, tuple) and not (isinstance(want, tuple) and len(want) == len(found)):
            found = found[-1]  # what came before is preparation
        self.assertEqual(found, want)


# Sanitizers have none that import torch, as tools/test_python has no files that do.
_TRIED = [number for number, (_, code, _) in enumerate(TRIES) if not (case.SANITIZED and re.search(r"\b(torch|transformers)\b", code))]
for _number in [_TRIED[at] for at in case.takes(len(_TRIED))]:
    _source, _code, _ = TRIES[_number]

    def _try(self, number=_number):
        self.one(number)
    _try.__doc__ = f"{_source}: {_code if len(_code) < 90 else _code[:87] + '...'}"
    setattr(Tries, f"test_{_number:03}", _try)


if __name__ == "__main__":
    case.main()
