"""What has a name that a run writes in its folder is replaced, or refused before the first step: folder_names.py BRIM

Names are those of runs that were written; each becomes a link to a device, a pipe, and a folder (or a file where a run has a folder), in
a folder that has nothing else and in one with a run. The command comes to its end, and a model is a file in the folder. Short stacks,
and checkpoints that are removed in mid-run, are here as well."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

import fixtures
from run import scratch

RUNS = {"embedding": ("--task", "embedding", "--train", "pairs.jsonl", "--eval", "pairs.jsonl", "--max-steps", "1", "--save-every", "1",
                      "--dense", "8", "--profile"),
        "folds": ("--train", "rows.csv", "--folds", "2", "--test", "rows.csv", "--max-steps", "1")}
LEFT = ("best",)  # something else of this name is left alone
LIMIT = 60
UNSAID = ("events.out.tfevents",)  # names with a time in them


class Names:
    def __init__(self, brim, folder):
        self.brim, self.folder, self.tests, self.failed = brim, folder, 0, 0

    def run(self, *words, shell=""):
        command = ["bash", "-c", shell + 'exec "$0" "$@"', self.brim, *words, "-j", "2"]
        try:
            done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return None, "it hangs"
        return done.returncode, done.stderr

    def ok(self, wrong, name):
        self.tests += 1
        self.failed += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {self.tests} - {name}")
        for what in wrong:
            print(f"# {what}")

    def put(self, path, kind, folder):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.exists() or path.is_symlink():
            path.unlink()
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "device":
            path.symlink_to("/dev/null")
        elif kind == "pipe":
            os.mkfifo(path)
        elif folder:
            path.write_text("mine")
        else:
            path.mkdir()
            (path / "mine").write_text("mine")

    def judge(self, words, whole, name, kind, code, said):
        """What is wrong, or None."""
        output, at = self.folder / "output", self.folder / "output" / name
        if code is None:
            return said
        if code:
            late = "step 1, " in said
            return f"refused after the first step: {said}" if late else None if "output/" in said else f"{code}: {said}"
        odd = at.is_symlink() != (whole / name).is_symlink() or at.is_fifo() or at.is_dir() != (whole / name).is_dir()
        if odd and at.name not in LEFT and "are not kept" not in said and "no report" not in said and "no events for TensorBoard: output/" not in said:
            return "it is still there, and nothing is said"
        for model in whole.rglob("model.safetensors"):
            same = output / model.relative_to(whole)
            if same.is_symlink() or not same.is_file() or same.read_bytes() != model.read_bytes():
                return f"the model is not in {same}"
        return None

    def names(self, kind, words):
        whole, output = self.folder / "whole", self.folder / "output"
        shutil.rmtree(whole, ignore_errors=True)
        code, said = self.run("train", "-m", "fixtures/model", *words, "-o", "whole")
        self.ok([said] if code else [], f"{kind}: a run")
        wrong, tried = [], 0
        # All of a checkpoint is brim's where state.json is, and is replaced as one.
        for path in [p for p in sorted(whole.rglob("*")) if not p.name.startswith(UNSAID)]:
            name = path.relative_to(whole)
            parts = [part for part in name.parts if not part.startswith("fold-")]
            if len(parts) > 2 and path.name != "state.json" or "fold-1" in name.parts:
                continue
            for what in ("device", "pipe", "folder"):
                for former in (False, True):
                    shutil.rmtree(output, ignore_errors=True)
                    if former:
                        shutil.copytree(whole, output, symlinks=True)
                    self.put(output / name, what, path.is_dir() and not path.is_symlink())
                    tried += 1
                    bad = self.judge(words, whole, name, what, *self.run("train", "-m", "fixtures/model", *words, "-o", "output", "--overwrite"))
                    if bad:
                        wrong.append(f"{name}, {what}, {'a run' if former else 'nothing else'} in the folder: {bad}")
        self.ok(wrong, f"{kind}: {tried} times something else has the name")

    def pipes(self):
        """A pipe or an endless device at each name that is read again: a line, and an end."""
        wrong = []
        for kind, words, last in (("single", ("--eval", "rows.csv", "--save-every", "1"), "state.json"), ("folds", RUNS["folds"][2:-2], "folds.csv")):
            run = ("train", "-m", "fixtures/model", "--train", "rows.csv", *words, "-o", "output", "--resume", "--max-steps")
            shutil.rmtree(self.folder / "whole", ignore_errors=True)
            wrong += [said for code, said in [self.run(*run[:-3], "whole", "--max-steps", "1")] if code]
            for path in [p for p in sorted((self.folder / "whole").rglob("*")) if p.is_file() and not p.name.startswith(UNSAID)]:
                name = path.relative_to(self.folder / "whole")
                for target in (None, "/dev/zero"):
                    shutil.rmtree(self.folder / "output", ignore_errors=True)
                    shutil.copytree(self.folder / "whole", self.folder / "output", symlinks=True)
                    at = self.folder / "output" / name
                    at.unlink()
                    os.mkfifo(at) if target is None else at.symlink_to(target)
                    tries = [run + ("2",)]
                    if len(name.parts) == 1 and kind == "single":
                        tries += [("predict", "-m", "output", "rows.csv", "-o", "predicted"), ("evaluate", "-m", "output", "rows.csv")]
                    for words_of in tries:
                        code, said = self.run(*words_of, shell="ulimit -v 8000000; ")
                        if code is None or code < 0 or code > 2 or (code and not said.count("brim: ")) or (path.name == last and code == 0):
                            wrong.append(f"{words_of[0]}, {name}, {target or 'a pipe'}: {code}, {said}")
        self.ok(wrong, "pipes and devices in a folder that is read")

    def named(self):
        """What brim names in the folder is no user's link; a folder at a file's name stays, and the first step is not reached."""
        wrong, output = [], self.folder / "output"
        run = ("train", "-m", "fixtures/model", "--train", "rows.csv", "--max-steps", "1", "--profile", "-o", "output", "--overwrite")
        shutil.rmtree(output, ignore_errors=True)
        wrong += [said for code, said in [self.run(*run)] if code]
        (self.folder / "precious").write_text("precious")
        (output / "trace.json").unlink(missing_ok=True)
        (output / "trace.json").symlink_to("../precious")
        code, said = self.run(*run)
        if code or (self.folder / "precious").read_text() != "precious" or (output / "trace.json").is_symlink():
            wrong.append(f"trace.json, a link: {code}, {said}")
        for name in ("config.json", "model.safetensors", "tokenizer.json", "report.html", "evaluation.jsonl", "trace.json"):
            self.put(output / name, "folder", False)
            code, said = self.run(*run)
            if not code or "step 1" in said or not (output / name / "mine").is_file() or "this is a folder" not in said:
                wrong.append(f"{name}, a folder: {code}, {said}")
            shutil.rmtree(output / name, ignore_errors=True)
        self.ok(wrong, "names in the folder are the folder's own")

    def removed(self):
        """A checkpoint that goes while it is written."""
        ended = threading.Event()

        def remove():
            while not ended.wait(0.001):
                try:
                    (self.folder / "removed" / "checkpoints").rename(self.folder / "gone")
                except OSError:
                    continue
                shutil.rmtree(self.folder / "gone")
        remover = threading.Thread(target=remove)
        remover.start()
        code, said = self.run("train", "-m", "fixtures/model", "--train", "rows.csv", "--max-steps", "2000", "--save-every", "1", "-o", "removed", "-q")
        ended.set()
        remover.join()
        self.ok([] if code and "let nothing else remove checkpoints" in said else [f"{code}: {said}"], "checkpoints are removed in mid-run")

    def stacks(self):
        commands = (("train", "-m", "fixtures/model", *RUNS["folds"], "-o", "stacks", "--overwrite"),
                    ("tokenize", "-t", "fixtures/model", "rows.csv", "-o", "/dev/null"), ("train", "--help"))
        wrong = [f"{words[0]}: {code}, {said}" for words in commands for code, said in [self.run(*words, shell="ulimit -s 128; ")] if code]
        self.ok(wrong, "stacks of 128 KiB are enough")
        wrong = [f"{kind} {words[0]}: {code}, {said}" for words in commands[1:] for kind in ("-S", "-H -S")
                 for code, said in [self.run(*words, shell=f"ulimit {kind} -s 32; ")]
                 if (code, said.count("\n"), "brim: the stack has 32 KiB" in said) != ((0, 0, False) if kind == "-S" else (1, 1, True))]
        self.ok(wrong, "shorter ones are made longer, or refused in a line")


def main():
    with tempfile.TemporaryDirectory(prefix="brim-names-", dir=scratch()) as name:
        folder = pathlib.Path(name)
        fixtures.write_all(folder / "fixtures")
        lines = (folder / "fixtures" / "data" / "train.csv").read_text().splitlines(keepends=True)
        (folder / "rows.csv").write_text("".join(lines[:17]))
        (folder / "pairs.jsonl").write_text("".join(f'{{"text": "good film {i}", "pair": "bad film {i}"}}\n' for i in range(8)))
        names = Names(os.path.abspath(sys.argv[1]), folder)
        for kind, words in RUNS.items():
            names.names(kind, words)
        names.named()
        names.pipes()
        names.removed()
        if "--no-stacks" not in sys.argv:
            names.stacks()
    print(f"1..{names.tests}")
    sys.exit(names.failed > 0)


if __name__ == "__main__":
    main()
