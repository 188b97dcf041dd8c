"""What people try first on the command line, and what has to come of it.

  first_tries.py BRIM MODEL DATA      in an empty folder; says each try that came out otherwise, and how many there were

A row is a command line (run by sh; $B is the program with -q where it trains), the exit status, and words that must be in what it says
or, as a function, a check of what it left. Rows run in order: later ones use what earlier ones made."""

import json
import os
import pathlib
import subprocess
import sys

BRIM, MODEL, DATA = sys.argv[1:4]


def lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]


def predicted(path, rows, labels):
    """Rows in order, each with a label of these and probabilities that add up to one."""
    def check(_):
        got = lines(path)
        return (len(got) == rows and [row["index"] for row in got] == list(range(rows)) and {row["label"] for row in got} <= set(labels)
                and all(abs(sum(row["scores"]) - 1) < 1e-5 for row in got))
    return check


def trained(run, steps, classes):
    """So many steps in the log, and classes in config.json."""
    def check(_):
        config = json.loads(pathlib.Path(run, "config.json").read_text(encoding="utf-8"))
        return sum(e["event"] == "step" for e in lines(f"{run}/log.jsonl")) == steps and list(config["id2label"].values()) == classes
    return check


def absent(path):
    return lambda _: not os.path.exists(path)


TRAIN = "$B train -q -m $MODEL --train"
TRIES = [
    # help
    ("$B", 0, "train"),
    ("$B --help", 0, "evaluate"),
    ("$B -h", 0, "predict"),
    ("$B help", 0, "inspect"),
    ("$B --version", 0, "brim "),
    ("$B help train", 0, "--epochs"),
    ("$B train --help", 0, "--epochs"),
    ("$B train -h", 0, "num-train-epochs"),
    ("$B help inspect gradients", 0, "--batch"),
    ("$B inspect gradients --help", 0, "--batch"),
    ("$B inspect --help", 0, "inspect trajectory"),
    ("$B help inspect", 0, "inspect gradients"),
    ("$B inspect", 2, "inspect what?"),
    ("$B tain", 2, "did you mean train?"),
    ("$B fit", 2, "unknown command"),
    # what is missing, or too much
    ("$B train", 2, "--model DIR is missing"),
    ("$B train -m $MODEL", 2, "--train DATA is missing"),
    ("$B predict -m $MODEL", 2, "usage: brim predict [options] --model RUN DATA..."),
    (TRAIN + " $DATA/train.csv -o r extra", 2, "usage: brim train [options] --model DIR --train DATA --output RUN"),
    ("$B train --epoch 3", 2, "did you mean --epochs?"),
    ("$B train --epochs three", 2, '"three" is not a number'),
    ("$B train --batch-size 99999999999999999999", 2, "is out of range"),
    ("$B train --seed 18446744073709551616", 2, "is too large"),
    ("$B train --epochs -1", 2, "-1"),
    ("$B train --gpu", 2, "here it is --device cuda"),
    ("$B train -m '' --train $DATA/train.csv -o r", 2, "--model is empty: give DIR"),
    ("$B train -m $MODEL --train '' -o r", 2, "--train is empty: give DATA"),
    ("$B train -m $MODEL --train $DATA/train.csv -o ''", 2, "--output is empty: give RUN"),
    ("$B train -m $MODEL --train $DATA/train.csv -o r --eval ''", 2, "--eval is empty: give [NAME=]DATA"),
    ("$B evaluate -m $MODEL -t '' $DATA/train.csv", 2, "--tokenizer is empty: give PATH"),
    ("$B plan -t $MODEL -b 4 --cache= $DATA/train.csv", 2, "--cache is empty: give DIR"),
    ("$B train --bf16", 2, "here it is --precision bf16"),
    ("$B train --do_train", 2, "here it is --train"),
    ("$B train --save_steps 5", 2, "here it is --save-every N"),
    ("$B train --train_file x.csv", 2, "here it is --train DATA"),
    ("$B train --resume_from_checkpoint x", 2, "here it is --resume"),
    # models and files
    ("$B train -m none --train $DATA/train.csv -o r", 1, "none"),
    (TRAIN + " none.csv -o r", 1, "none.csv: cannot open"),
    (TRAIN + " $DATA -o r", 2, "data"),
    (TRAIN + " $DATA/train.txt -o r", 2, "label"),
    (TRAIN + " $DATA/train.csv --label-column stars -o r", 2, "stars"),
    (TRAIN + " $DATA/train.csv --text-column review -o r", 2, "review"),
    ("printf 'text;label\\ngood;1\\n' > semi.csv; " + TRAIN + " semi.csv -o r", 2, "it looks separated by ;"),
    ("printf 'text\\tlabel\\ngood\\t1\\n' > tabs.csv; " + TRAIN + " tabs.csv -o r", 2, "--format tsv"),
    # JSON that is not a row a line; what is not text
    ("echo '{\"data\": [{\"text\": \"a\"}]}' > o.json; " + TRAIN + " o.json -o r", 1, "jq -c '.\"data\"[]' o.json > rows.jsonl"),
    ("printf '{\n \"text\": \"a\"\n}\n' > o.json; " + TRAIN + " o.json -o r", 1, "an object over several lines: a row is an object on one line"),
    ("echo '{\"text\": [\"a\"], \"label\": [1]}' > o.json; " + TRAIN + " o.json -o r", 1, 'to_json(.., orient="records", lines=True)'),
    ("printf 'PK\\3\\4....' > a.csv; " + TRAIN + " a.csv -o r", 1, "this is a zip archive or a spreadsheet: take the file out"),
    (TRAIN + " none.zip -o r", 1, "none.zip: cannot open"),
    # tables as people have them: Windows, Excel, no head line, other names
    ("printf 'text,label\\r\\na,1\\r\\nb,0\\r\\n' > c.csv; " + TRAIN + " c.csv --max-steps 1 -o crlf", 0, trained("crlf", 1, ["0", "1"])),
    ("printf '\\357\\273\\277text,label\\na,True\\nb,False\\n' > c.csv; " + TRAIN + " c.csv --max-steps 1 -o mark", 0, trained("mark", 1, ["False", "True"])),
    ("printf 'text,label\\n\\351t\\351,1\\nb,0\\n' > c.csv; " + TRAIN + " c.csv -o r", 1, "convert the file first, for example with iconv -f latin1"),
    ("printf 'a film,1\\nb plot,0\\n' > c.csv; " + TRAIN + " c.csv -o r", 2, "it looks as if there were no head line: --no-header"),
    (TRAIN + " c.csv --no-header --label-column 1 --max-steps 1 -o bare", 0, trained("bare", 1, ["0", "1"])),
    ("printf 'Text,Label\\na,1\\nb,0\\n' > c.csv; " + TRAIN + " c.csv -o r", 2, "capitals count"),
    (TRAIN + " c.csv --text-column Text --label-column Label --max-steps 1 -o capitals", 0, trained("capitals", 1, ["0", "1"])),
    ("printf 'premise,hypothesis,label\\na,b,entailment\\nc,d,neutral\\n' > c.csv; "
     + TRAIN + " c.csv --text-column premise --pair-column hypothesis --max-steps 1 -o snli", 0, trained("snli", 1, ["entailment", "neutral"])),
    (TRAIN + " $DATA/train.csv --gradient-accumulation-steps 4 -o r", 2, "here it is --batch-size N with all rows of a step"),
    (TRAIN + " - --eval - -o r", 2, "standard input (-) is named twice"),
    ("BRIM_THREADS=abc $B doctor", 2, 'BRIM_THREADS is "abc"'),
    ("BRIM_CPU=foo $B doctor", 2, 'BRIM_CPU is "foo"'),
    ("BRIM_THREADS=1 $B doctor --no-speed", 0, "threads"),
    ("$B predict -m $MODEL $DATA/test.csv", 1, "not fine-tuned yet"),
    ("test ! -e r", 0, absent("r")),
    # training
    (TRAIN + " $DATA/train.csv --max-steps 2 -o run", 0, trained("run", 2, ["0", "1"])),
    (TRAIN + " $DATA/train.csv -o run", 2, "holds a run already"),
    (TRAIN + " $DATA/train.jsonl --max_steps 1 --output_dir words", 0, trained("words", 1, ["neg", "pos"])),
    (TRAIN + " $DATA/train.csv --num-train-epochs 1 --per-device-train-batch-size 32 --learning-rate 1e-4 -o names", 0,
     trained("names", 3, ["0", "1"])),
    (TRAIN + " $DATA/train.csv --num_train_epochs 1 --per_device_train_batch_size 48 --max_seq_length 32 --warmup_ratio 0.1 -o under", 0,
     trained("under", 2, ["0", "1"])),
    (TRAIN + " $DATA/train.tsv --max-steps 1 -o values", 0, lambda _: "regression" in pathlib.Path("values/config.json").read_text()),
    ("cat $DATA/train.csv | " + TRAIN + " - --format csv --max-steps 1 -o piped", 0, trained("piped", 1, ["0", "1"])),
    ("gzip -c $DATA/train.csv > z.csv.gz; " + TRAIN + " z.csv.gz --max-steps 1 -o zipped", 0, trained("zipped", 1, ["0", "1"])),
    (TRAIN + ' "$DATA/t*.csv"' + " --max-steps 1 -o glob", 0, trained("glob", 1, ["0", "1"])),
    (TRAIN + " $DATA/train.csv --epochs 1 --max-steps 2 -o run --overwrite", 0, trained("run", 2, ["0", "1"])),
    # sentence-transformers: a folder says how it pools; older ones have the model in 0_Transformer
    ('cp -r $MODEL st; mkdir st/1_Pooling; echo \'{"pooling_mode_mean_tokens": true}\' > st/1_Pooling/config.json; '
     "$B train -m st --train $DATA/train.csv --max-steps 1 -o first", 0,
     "this model was made for mean pooling; --pooling mean trains with it"),
    ("test ! -e first/README.md", 0, trained("first", 1, ["0", "1"])),
    ("mkdir older; mv st older/0_Transformer; mv older/0_Transformer/1_Pooling older; echo [] > older/modules.json; "
     "$B train -m older --train $DATA/train.csv --max-steps 1 -o below", 0, "this model was made for mean pooling"),
    ("$B train -m older --train $DATA/train.csv --max-steps 1 --pooling mean -o pooled 2>&1 | grep -c 'made for'", 1,
     lambda _: "(hidden * real).sum(1)" in pathlib.Path("pooled/README.md").read_text()),
    ("$B predict -q -m pooled $DATA/test.csv -o pooled.jsonl", 0, predicted("pooled.jsonl", 24, [0, 1])),
    # names as long as a file system lets them be
    ("$B train -q -m $MODEL --train $DATA/train.csv --max-steps 1 -o $LONG && $B predict -q -m $LONG $DATA/test.csv -o ${LONG%xxxxx}.json", 0,
     lambda _: len(lines("x" * 250 + ".json")) == 24),
    # predictions
    ("$B predict -q -m run $DATA/test.csv -o p.jsonl", 0, predicted("p.jsonl", 24, [0, 1])),
    ("$B predict -q -m words $DATA/test.csv -o w.jsonl", 0, predicted("w.jsonl", 24, ["neg", "pos"])),
    ("$B predict -q -m run $DATA/test.txt -o t.jsonl", 0, predicted("t.jsonl", 24, [0, 1])),
    ("cut -d, -f1 $DATA/test.csv | $B predict -q -m run - --format csv > c.jsonl", 0, predicted("c.jsonl", 24, [0, 1])),
    ("echo 'a good film' | $B predict -q -m run - > one.jsonl", 0, predicted("one.jsonl", 1, [0, 1])),
    ("cmp p.jsonl t.jsonl", 0, lambda _: True),
    ("$B predict -q -m run/checkpoints/step-2 $DATA/test.csv > s.jsonl && cmp p.jsonl s.jsonl", 0, lambda _: True),
    ("cp $DATA/test.csv in.csv; $B predict -q -m run in.csv -o in.csv", 2, "is also an input"),
    ("cmp in.csv $DATA/test.csv", 0, lambda _: True),
    ("rm run/config.json; $B predict -q -m run $DATA/test.csv", 1, "--model run/checkpoints/step-2"),
    ("$B predict -q -m words 'a good film'", 1, 'a text comes through standard input: echo ".." | brim predict .. -'),
    # evaluation
    ("$B evaluate -q -m words $DATA/test.jsonl --json > e.json", 0, lambda _: lines("e.json")[0]["rows"] == 24),
    ("$B evaluate -q -m words $DATA/test.jsonl", 0, "accuracy"),
    ("$B evaluate -q -m words $DATA/test.csv", 1, "not among the 2 known labels: neg, pos"),
    ("$B evaluate -q -m values $DATA/test.tsv", 0, "spearman"),
    ("$B report words", 0, lambda _: os.path.getsize("words/report.html") > 1000),
]


def run(command):
    environment = dict(os.environ, B=BRIM, MODEL=MODEL, DATA=DATA, LONG="x" * 255)
    done = subprocess.run(["sh", "-c", command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


def main():
    bad = 0
    for command, code, wanted in TRIES:
        got, said = run(command)
        try:
            fine = got == code and (wanted(said) if callable(wanted) else wanted in said)
        except (OSError, ValueError, KeyError) as why:
            fine, said = False, f"{said}{why!r}\n"
        if not fine:
            bad += 1
            print(f"{command}\n  exit {got}, {code} expected\n  {said[:600]}")
    print("at least 60 tries" if len(TRIES) >= 60 else f"{len(TRIES)} tries", "" if bad else "as expected")


main()
