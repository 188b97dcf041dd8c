"""Somebody who writes a row and waits for its line before the next one: `brim predict - --unbuffered`.

  answers.py BRIM RUN DATA      says what each format came to, and whether the answers are those to the whole file"""

import array
import fcntl
import json
import os
import pathlib
import select
import subprocess
import sys
import termios
import time

BRIM, RUN, DATA = sys.argv[1:4]
PATIENCE = 120  # seconds for an answer, on the slowest machine with the slowest sanitizer
TEXTS = ["a good film", "a", "", "bad \"plot\", and more", "great fun"]


def quoted(text):
    return '"' + text.replace('"', '""') + '"'


# What opens the stream, each row as it is written (a list: in pieces, the answer comes after the last), and the options.
FORMATS = {
    "plain text": ("", [[text + "\n"] for text in TEXTS], []),
    "Windows line ends": ("", [[text + "\r\n"] for text in TEXTS], []),
    "a byte order mark": ("\ufeff", [[text + "\n"] for text in TEXTS], []),
    "JSON lines": ("", [[json.dumps({"text": text}) + "\n"] for text in TEXTS], ["--format", "jsonl"]),
    "empty lines between": ("\n", [["\n", json.dumps({"text": text}) + "\n"] for text in TEXTS], ["--format", "jsonl"]),
    "a JSON array": ("[", [[("," if i else "") + json.dumps({"text": text})] for i, text in enumerate(TEXTS)], ["--format", "jsonl"]),
    "csv": ("text\n", [[quoted(text) + "\n"] for text in TEXTS], ["--format", "csv"]),
    "tsv": ("id\ttext\n", [[f"{i}\t{text}\n"] for i, text in enumerate(TEXTS)], ["--format", "tsv"]),
    "in pieces": ("te", [["xt\n" if i == 0 else "", '"' + "long words " * 400, text.replace('"', ""), '"', "\n"] for i, text in enumerate(TEXTS)],
                  ["--format", "csv"]),
}


def start(options):
    return subprocess.Popen([BRIM, "predict", "-q", "-m", RUN, "-", "--unbuffered", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def answer(process):
    """The next line of standard output; None: none came."""
    if not select.select([process.stdout], [], [], PATIENCE)[0]:
        return None
    return process.stdout.readline().decode()


def taken(pipe, process):
    """Waits until the program has read what is in the pipe: the next piece comes alone."""
    left = array.array("i", [1])
    while left[0] and process.poll() is None:
        fcntl.ioctl(pipe.fileno(), termios.FIONREAD, left)
        time.sleep(0.001)


def talk(opening, rows, options):
    process = start(options)
    lines = []
    process.stdin.write(opening.encode())
    for row in rows:
        for piece in row:
            process.stdin.write(piece.encode())
            process.stdin.flush()
            taken(process.stdin, process)
        lines.append(answer(process))
        if not lines[-1]:
            process.kill()
            break
    out, err = process.communicate()
    return lines, process.returncode, out, err.decode()


def predict(data, options):
    done = subprocess.run([BRIM, "predict", "-q", "-m", RUN, "-", *options], input=data.encode(), capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def same(answers, want):
    """The numbers of rows that are computed together show in the last digit."""
    return len(answers) == len(want) and all(
        a["index"] == w["index"] and a["label"] == w["label"] and all(abs(x - y) < 1e-6 for x, y in zip(a["scores"], w["scores"]))
        for a, w in zip(answers, want))


def main():
    for name, (opening, rows, options) in FORMATS.items():
        lines, code, out, err = talk(opening, rows, options)
        if name == "a JSON array" and code == 1 and "the array is never closed" in err:
            code, err = 0, ""  # nobody closed it
        whole = opening + "".join("".join(row) for row in rows) + ("]" if name == "a JSON array" else "")
        fine = all(lines) and not out and same([json.loads(line) for line in lines], predict(whole, options))
        print(name, "as expected" if fine and code == 0 and not err else f"exit {code}, {len(lines)} lines, {err}")
    lines, code, out, err = talk("", [['{"text": "a"}\n'], ['{"txt": "a"}\n']], ["--format", "jsonl"])
    print("a bad row", json.loads(lines[0])["index"], repr(lines[1]), code, err, end="")
    process = start([])
    process.stdin.write(b"a good film\n")
    process.stdin.flush()
    answer(process)
    process.send_signal(2)
    print("Ctrl-C", process.wait(PATIENCE), process.stderr.read().decode(), end="")
    fifo = pathlib.Path("rows.txt")
    os.mkfifo(fifo)
    process = subprocess.Popen([BRIM, "predict", "-q", "-m", RUN, str(fifo), "--unbuffered"], stdout=subprocess.PIPE)
    with open(fifo, "w", encoding="utf-8") as rows:
        rows.write("a good film\n")
        rows.flush()
        print("a named pipe", json.loads(answer(process))["index"])
    process.wait(PATIENCE)


main()
