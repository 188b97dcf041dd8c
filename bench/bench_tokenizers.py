#!/usr/bin/env python3
"""Tokenization speed: MB/s of brim next to Hugging Face tokenizers 0.23.3 and 1.0.0rc3, nanotoken, gigatoken and tokie.

Ids only, through each library's fastest call for a list of texts that are already in memory. Every contestant has a process of its own
that holds texts and tokenizer; all take turns, pass by pass, on one core and then on all. The first pass (empty caches) is reported
apart from the warm ones (the best of them). English: IMDB reviews, at least 20 MB. Mixed: the translations of Django in a hundred
languages. Real tokenizer files are taken from --files (bert-base-uncased, roberta-base, modernbert, camembert-base); without it, from
--data DIR or, without it, from the small ones of the tests. In the first pass the ids of all texts are compared with
those of 0.23.3, which takes part in two passes only: it is the slowest by far and has no warm speed of its own."""

import argparse
import csv
import hashlib
import os
import pathlib
import subprocess
import sys
import time
import zipfile

from common import BRIM, DATA, ROOT, fetch_data, machine, print_table, write_json

HF, RC = "tokenizers 0.23.3", "tokenizers 1.0.0rc3"
HF_PASSES = 2
PEERS = {"wordpiece": (HF, RC, "nanotoken", "tokie"), "bpe": (HF, RC, "gigatoken", "tokie"), "unigram": (HF, RC, "tokie")}
RC_PIN, DJANGO_PIN = "tokenizers==1.0.0rc3", "Django==5.2.8"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, help="folder with tokenizers/, a folder for each")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--megabytes", type=float, default=22, help="at most so much of each text")
    parser.add_argument("--one-core", action="store_true", help="leave out the passes on all cores")
    parser.add_argument("--only", default="", help="comma-separated names of tokenizers")
    parser.add_argument("--sizes", action="store_true", help="also print the table of hard texts of doubling size")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args()


# ---- texts ----------------------------------------------------------------------------------------------------------


def english(limit):
    fetch_data()
    csv.field_size_limit(1 << 30)
    with open(DATA / "imdb.csv", encoding="utf-8", newline="") as file:
        return cut((row["text"] for row in csv.DictReader(file)), limit)


def mixed(limit):
    folder = DATA / "packages" / "django"
    if not list(folder.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, DJANGO_PIN], check=True)
    texts = []
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        for name in sorted(wheel.namelist()):
            if name.endswith(".po"):
                texts += translations(wheel.read(name).decode())
    texts.sort(key=lambda text: hashlib.sha256(text.encode()).digest())  # languages mixed, the same way each time
    return cut(texts, limit)


def translations(po):
    """The msgstr strings of a .po file."""
    texts, current = [], None
    for line in po.splitlines():
        if line.startswith("msgstr"):
            current = [line[line.index('"') + 1 : -1]] if '"' in line else []
        elif line.startswith('"') and current is not None:
            current.append(line[1:-1])
        elif current is not None:
            texts.append("".join(current).replace('\\"', '"').replace("\\n", "\n"))
            current = None
    return [text for text in texts if text and "Content-Type" not in text]


def cut(texts, megabytes):
    kept, size = [], 0
    for text in texts:
        size += len(text.encode())
        if size > megabytes * 1e6:
            break
        kept.append(text.replace("\0", " "))
    return kept


# ---- contestants ----------------------------------------------------------------------------------------------------


def encoder(name, path):
    """list of texts -> (result, function that makes lists of ids of it)"""
    if name in (HF, RC):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(path)
        for switch_off in ("no_padding", "no_truncation"):
            getattr(tokenizer, switch_off, lambda: None)()
        call = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
        return call, lambda result: (encoding.ids for encoding in result)
    if name == "nanotoken":
        import nanotoken

        tokenizer = nanotoken.Tokenizer.from_json(pathlib.Path(path).read_text(encoding="utf-8"))
        return tokenizer.encode_batch, lambda result: result.to_list()
    if name == "gigatoken":
        import gigatoken

        tokenizer = gigatoken.Tokenizer(path)
        return tokenizer.encode_batch, lambda result: result.to_list()
    import tokie

    tokenizer = tokie.Tokenizer.from_json(path)
    return tokenizer.encode_batch_flat, lambda result: [result[0]]


def worker(name, path, texts_path):
    """Says that it is ready, then answers each line on standard input with the seconds of one pass, the number of ids and, when it says "check", their hash."""
    texts = pathlib.Path(texts_path).read_bytes().decode().split("\0")[:-1]
    encode, lists = encoder(name, path)
    print("ready", flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        result = encode(texts)
        seconds = time.perf_counter() - begin
        count = digest = 0
        for ids in lists(result) if "check" in line else ():
            count += len(ids)
            for i in map(int, ids):
                digest = ((digest ^ i) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        print(f"{seconds:.6f} {count} {digest:016x}", flush=True)
        del result


class Contestant:
    def __init__(self, name, path, texts_path, cores):
        self.name = name
        environment = dict(os.environ, RAYON_NUM_THREADS=str(len(cores)), TOKENIZERS_PARALLELISM="true" if len(cores) > 1 else "false")
        if name == "brim":
            program = pathlib.Path(BRIM).resolve().parent / "bench" / "bench_tokenizers"
            command = [program, path, texts_path, str(len(cores))]
        else:
            command = [sys.executable, __file__, "--worker", name, path, texts_path]
            if name == RC:
                environment["PYTHONPATH"] = str(release_candidate())
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.seconds, self.tokens, self.hash = [], 0, ""
        self.process.stdout.readline()  # it has loaded all it needs, so it will not be in the way of others

    def run(self, check):
        try:
            self.process.stdin.write("check\n" if check else "\n")
            self.process.stdin.flush()
            seconds, tokens, digest = self.process.stdout.readline().split()
        except (ValueError, BrokenPipeError):
            return False
        self.seconds.append(float(seconds))
        if check:
            self.tokens, self.hash = int(tokens), digest
        return True

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def release_candidate():
    """A folder with the release candidate, which cannot live beside 0.23.3."""
    folder = ROOT / "build" / "tokenizers-rc"
    if not folder.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, RC_PIN], check=True)
    return folder


# ---- the run --------------------------------------------------------------------------------------------------------


def measure(family, path, texts_path, megabytes, cores, passes):
    contestants = [Contestant(name, path, texts_path, cores) for name in ("brim", *PEERS[family])]
    for number in range(passes):
        for c in list(contestants):
            if (c.name != HF or number < HF_PASSES) and not c.run(check=number == 0):
                print(f"{c.name} failed on {path}")
                contestants.remove(c)
    rows = []
    reference = next(c for c in contestants if c.name == HF)
    for c in contestants:
        c.close()
        rows.append({"name": c.name, "first": megabytes / c.seconds[0], "warm": megabytes / min(c.seconds[1:] or c.seconds),
                     "tokens": c.tokens, "same_ids": c.hash == reference.hash})
    return rows


def families(files):
    if files and files.exists():
        return {"bert-base-uncased": "wordpiece", "roberta-base": "bpe", "modernbert": "bpe", "camembert-base": "unigram"}, files
    return {"wordpiece-uncased": "wordpiece", "byte-bpe": "bpe", "unigram": "unigram"}, ROOT / "tests" / "golden" / "tokenizers"


def main():
    args = arguments()
    if args.worker:
        worker(*args.worker)
        return
    names, files = families(args.data and args.data / "tokenizers")
    everyone = sorted(os.sched_getaffinity(0))
    results, rows = [], []
    folder = ROOT / "build" / "bench-tokenizers"
    folder.mkdir(parents=True, exist_ok=True)
    for kind, make in (("english", english), ("mixed", mixed)):
        texts = make(args.megabytes)
        texts_path = folder / f"{kind}.txt"
        texts_path.write_bytes(b"".join(text.encode() + b"\0" for text in texts))
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        for name, family in names.items():
            if args.only and name not in args.only.split(","):
                continue
            path = str(files / name / "tokenizer.json")
            for cores in ([everyone[0]], everyone) if len(everyone) > 1 and not args.one_core else ([everyone[0]],):
                for row in measure(family, path, str(texts_path), megabytes, cores, args.passes):
                    row.update(text=kind, megabytes=round(megabytes, 1), tokenizer=name, cores=len(cores))
                    results.append(row)
                    rows.append([f"{name}, {kind} {megabytes:.0f} MB", row["cores"], row["name"], f"{row['first']:.1f}",
                                 f"{row['warm']:.1f}", row["tokens"], "yes" if row["same_ids"] else "no"])
    print(machine())
    print_table(["tokenizer", "cores", "library", "first MB/s", "warm MB/s", "tokens", "same ids"], rows)
    if args.sizes:
        program = pathlib.Path(BRIM).resolve().parent / "bench" / "bench_tokenizers"
        for name in names:
            print(f"\n{name}")
            subprocess.run([program, files / name / "tokenizer.json", "--sizes"], check=True)
    write_json("bench-tokenizers.json", {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
