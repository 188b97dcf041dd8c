"""Accuracies of real trainings on a card, beside the processor's on the same rows: what tools/try_card packs for them here, trains there, and judges."""

import csv
import hashlib
import io
import json
import lzma
import math
import pathlib
import random
import shutil
import sys
import tempfile
import time

# Rows to train on and to test on, and what is asked of brim.
TASKS = {"accuracy": ("train.csv", "test.csv", ["--epochs", "2"]), "accuracy-imdb": ("imdb-train.csv", "imdb-test.csv", ["--epochs", "2", "--max-length", "256"])}
IMDB_ROWS, IMDB_LETTERS = 2000, 1500  # to train on, and as many to test on; 256 tokens are about 1,100 letters
LEAST_CHANCE = 0.01  # of what is not told from chance: a part has four such rows at most


# ---- what is packed


def write_changed(file, text):
    """Nothing, where the file has it: what was made of it stays good."""
    if not file.exists() or file.read_bytes() != text.encode():
        file.write_bytes(text.encode())


def pack_imdb(source, folder):
    """Some of IMDB's texts, cut where a word ends."""
    with lzma.open(source, "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    random.Random(7).shuffle(rows)
    for name, part in (("imdb-train.csv", rows[:IMDB_ROWS]), ("imdb-test.csv", rows[IMDB_ROWS:2 * IMDB_ROWS])):
        text = io.StringIO(newline="")
        to = csv.writer(text)
        to.writerow(["text", "label"])
        to.writerows([row["text"] if len(row["text"]) <= IMDB_LETTERS else row["text"][:IMDB_LETTERS].rpartition(" ")[0], row["label"]] for row in part)
        write_changed(folder / name, text.getvalue())


def pack_processor(run, brim, card):
    """The processor's predictions, with which the card's are compared. Those of the very rows and weights that are packed stay."""
    (card / "reference").mkdir(exist_ok=True)
    what = Trainings(run, brim, card / "model", card / "data")
    for task in TASKS:
        file = card / "reference" / f"{task}.json"
        if not what.has(task) or (file.exists() and json.loads(file.read_text(encoding="utf-8")).get("of") == what.fingerprint(task)):
            continue
        with tempfile.TemporaryDirectory(prefix="brim-card-") as work:
            found = what.on_processor(task, 7200, pathlib.Path(work), plain=True)
        if "failed" in found:
            print(f"try_card: {task} on the processor: {found['failed']}", file=sys.stderr)
            continue
        right = sum(a == b for a, b in zip(found["predicted"], found["truth"]))
        print(f"{task} on the processor: {right} of {len(found['truth'])} are right, in {found['seconds']:.0f} seconds")
        file.write_text(json.dumps(found), encoding="utf-8")


# ---- trainings


class Trainings:
    """Of one model on a folder's rows: `run` starts a program as try_card's does. Small ones are two steps of each task."""

    def __init__(self, run, brim, model, data, small=False):
        self.run, self.brim, self.model, self.data, self.small = run, brim, model, data, small

    def has(self, task):
        return (self.model / "model.safetensors").exists() and (self.data / TASKS[task][0]).exists()

    def fingerprint(self, task):
        """Of what an accuracy depends on."""
        whole = hashlib.sha256(repr(TASKS[task]).encode())
        for file in (self.data / TASKS[task][0], self.data / TASKS[task][1], self.model / "model.safetensors"):
            whole.update(file.read_bytes())
        return whole.hexdigest()[:16]

    def train(self, task, out, device, seed, precision, limit, **how):
        """What was said where it failed, and seconds."""
        train, _, words = TASKS[task]
        code, text, seconds = self.run([self.brim, "train", "--model", self.model, "--train", self.data / train, "--lr", "5e-5", "--seed", str(seed), "--precision", precision, "--device", device,
                                        "--output", out, "--quiet", *(["--max-steps", "2"] if self.small else words)], limit, **how)
        return (text[-300:] or f"exit code {code}") if code else "", seconds

    def predict(self, task, model, device, limit, **how):
        """The class of each row, and the row's own, as text: a digit a row. What was said where there are none."""
        rows = self.data / TASKS[task][1]
        code, text, _ = self.run([self.brim, "predict", "--model", model, rows, "--quiet", "--device", device], limit, **how)
        labels = [json.loads(line)["label"] for line in text.splitlines() if line.startswith("{")]
        with open(rows, encoding="utf-8", newline="") as lines:
            truth = [row["label"] for row in csv.DictReader(lines)]
        if code or len(labels) != len(truth):
            return None, None, text[-300:] or f"exit code {code}"
        return "".join(map(str, labels)), "".join(truth), ""

    def on_processor(self, task, limit, work, **how):
        """What a row of the card is compared with: the same training, in fp32."""
        failed, seconds = self.train(task, work / "processor", "cpu", 1, "fp32", limit, **how)
        if failed:
            return {"failed": failed}
        predicted, truth, failed = self.predict(task, work / "processor", "cpu", limit, **how)
        shutil.rmtree(work / "processor", ignore_errors=True)
        return {"failed": failed} if failed else {"of": self.fingerprint(task), "predicted": predicted, "truth": truth, "seconds": round(seconds, 1)}

    def on_card(self, task, runs, known, limit, note, work):
        """A line of what a part finds: a row for each seed and precision, beside the processor's predictions where these are known."""
        begin, found = time.monotonic(), []
        for seed, precision in runs:
            out, left = work / f"{seed}-{precision}", limit - (time.monotonic() - begin)
            failed, seconds = self.train(task, out, "cuda", seed, precision, left)
            predicted, truth, failed = self.predict(task, out, "cuda", max(left - seconds, 5)) if not failed else (None, None, failed)
            row = {"seed": seed, "precision": precision, "seconds": round(seconds, 1), "failed": failed}
            if not failed:
                row |= {"rows": len(truth), "accuracy": round(sum(a == b for a, b in zip(predicted, truth)) / len(truth), 4), "predicted": predicted}
                row |= compare(predicted, known["predicted"], truth) if known.get("predicted") else {"verdict": "the processor's predictions were not packed"}
            found.append(row)
            note(**row)
            shutil.rmtree(out, ignore_errors=True)
        return {"runs": found, "of": self.fingerprint(task), "failed": [row["failed"] for row in found if row["failed"]]}


# ---- verdicts


def tail(count, most, share):
    """The probability of at most so many of `count`."""
    return math.fsum(math.exp(math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) + k * math.log(share) + (count - k) * math.log1p(-share))
                     for k in range(most + 1))


def bound(count, most, level):
    """The share of which at most so many of `count` has this probability."""
    low, high = 1e-12, 1 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(count, most, middle) > level else (low, middle)
    return (low + high) / 2


def compare(card, processor, truth):
    """McNemar's exact test, two-sided, of two runs on the same rows: of those that one alone has right, half are the card's, but for chance. The interval is
    of the card's accuracy less the processor's, 95 %, by Clopper and Pearson."""
    ours = sum(c == t != p for c, p, t in zip(card, processor, truth))
    theirs = sum(p == t != c for c, p, t in zip(card, processor, truth))
    count, rows = ours + theirs, len(truth)
    chance = min(1.0, 2 * tail(count, min(ours, theirs), 0.5)) if count else 1.0
    low = 0.0 if ours == 0 else bound(count, ours - 1, 0.975)
    high = 1.0 if theirs == 0 else bound(count, ours, 0.025)
    return {"processor_accuracy": round(sum(p == t for p, t in zip(processor, truth)) / rows, 4), "card_alone_right": ours, "processor_alone_right": theirs,
            "p": round(chance, 4), "difference": [round((2 * share - 1) * count / rows, 4) for share in (low, high)] if count else [0.0, 0.0],
            "verdict": "as on the processor within chance" if chance >= LEAST_CHANCE else "not as on the processor"}


def wrongs(found):
    """Rows of a part's line that are not as on the processor."""
    for row in found.get("runs", []):
        if row["seed"] == 1 and row.get("p", 1) < LEAST_CHANCE:
            yield f"{row['precision']}: {row['accuracy']} beside {row['processor_accuracy']} on the processor, p {row['p']}"


def judge(results, references):
    """Accuracies of a card beside predictions of the processor that were made later, by prepare."""
    for line in results.read_text(encoding="utf-8").splitlines():
        found = json.loads(line) if line.endswith("}") else {}
        file = references / f"{found.get('part')}.json"
        if found.get("part") not in TASKS or "of" not in found:
            continue
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        for row in found["runs"]:
            said = compare(row["predicted"], known["predicted"], known["truth"]) if known.get("of") == found["of"] and "predicted" in row else {"verdict": f"{file} is not of these rows"}
            print(json.dumps({"part": found["part"], **{name: row.get(name) for name in ("seed", "precision", "accuracy")}, **said}))
