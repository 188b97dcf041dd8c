#!/usr/bin/env python3
"""Every option of every command in every context, from the program's own table (`BRIM help --json`), as TAP.

  options.py BRIM [--most N] [--contexts NAME,..] [--only WORD...] [--say]

Each case gives one option where it was not given, and compares what comes out: standard output, standard error and all files. It must be
one of these:

  effect    something that comes out differs: the option did something, or a line was written
  refused   one line that names the option
  promised  nothing differs, which is what the option promises (PROMISED in option_cases.py)

All else fails: no effect without a word, a crash, no end, a line that does not name the option. An option of which nobody has said a value
(VALUES) fails, so that a new one is tried as well. Contexts:

  plain     the command alone, for each task; stream, folds: training on a stream, or in folds
  resume    given only when the run is resumed
  config    in --config FILE: the same comes out as from the command line
  cache     with rows that are encoded already: the same comes out as without --cache
  twice     given again: the same comes out, or more of a list, or it is refused
  empty     --name= is refused
  foreign   with a model that was trained for another task: it works, or a line says why it does not
  together  with another option: both do what they do alone, or a line is written. Most pairs have nothing to do with each other, so
            each is tried with few, by the seed
  ends      the ends of its range, and just beyond
  ranks     only one of two processes has it: they say so, or it changes nothing (only with --contexts ranks; it needs mpirun)

--most takes so many of the cases, chosen by the seed that is printed (TAP_SEED repeats it; TAP_ALL=1 takes all). --say says what became
of each."""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from option_cases import ENDLESS, LEFT_OUT, NAMES, OF_DATA, PROMISED, STREAMED, TASKS, Base, Option, bases, table, train_base, write_data, write_models
from ranks import Launcher
from run import scratch

OF_TRAINING = ("stream", "folds", "resume", "ranks")
CONTEXTS = ("plain", "stream", "folds", "resume", "config", "cache", "twice", "empty", "ends", "foreign", "together", "ranks")
PATIENCE, ADDRESSES, LARGEST_FILE = 120, 32 << 30, 1 << 30
GOOD = ("effect", "refused", "promised")
OTHERS = 2  # options that each is tried together with

# ---- running -------------------------------------------------------------------------------------------------

#: Members of JSON that are the clock's, the memory's of the moment, or a record of how the run was started.
PASSING = re.compile(r"seconds|^time|tokens_per_second|^memory_(held|peak|planned)$|^threads$|^options$|^given$|^speed|^rounds$|^(compute|wait|communication|balance|slowest)$")
SPOKEN = re.compile(r"in [\d:.]+(?: ?m?s)?\b|\(?[\d,.]+ tokens/s\)?|at most [\d.]+ [KMG]B|[\d.]+ ?(?:ms|s|min)\b(?: of)?|held [\d.]+|case-\w+")
#: Files of which it counts that they are there: they hold times.
UNREAD = re.compile(r"compared\.html|report\.html|page\.html|trace\.json|tensorboard|optimizer\.safetensors|state\.json")


def lasting(value):
    if isinstance(value, dict):
        return {name: lasting(one) for name, one in value.items() if not PASSING.search(name)}
    return [lasting(one) for one in value] if isinstance(value, list) else value


def compared(data):
    """What is compared of a file or a stream."""
    try:
        lines = data.decode().splitlines()
        return "\n".join(json.dumps(lasting(json.loads(line))) if line[:1] in "{[" else SPOKEN.sub("", line) for line in lines)
    except ValueError:
        return hashlib.sha256(data).hexdigest()


class Result:
    def __init__(self, done, folder=None, given=()):
        err = done.stderr.decode(errors="replace")
        said = [line for line in err.splitlines() if line.startswith("brim: ")]
        self.code, self.last = done.returncode, said[-1] if said else err[-300:]
        self.parts = {"stdout": compared(done.stdout), "stderr": compared(done.stderr)}
        for path in sorted(folder.rglob("*")) if folder else ():
            name = str(path.relative_to(folder))
            if path.is_file() and not name.startswith("d/") and name not in given:
                self.parts[re.sub(r"tfevents\.\d+", "tfevents", name)] = "" if UNREAD.search(name) else compared(path.read_bytes())

    def broken(self):
        return "" if self.code in (0, 1, 2) else f"ended with {self.code}: {self.last}"

    def differences(self, other, left_out=()):
        return [name for name in sorted({*self.parts, *other.parts}) if name not in left_out and self.parts.get(name) != other.parts.get(name)]

    def names(self, option, value=None, more=()):
        """A line of the program names the option, its word, or another that it needs and that was given with it."""
        if not self.last.startswith("brim: "):
            return False
        needed = [word.removeprefix("--").split("=")[0] for word in more if word.startswith("--")]
        spelled = [name.replace("-", sign) for name in (option.name, *(option.also or "").split(), *needed) for sign in "-_ "]
        of_data = option.name in OF_DATA and (self.last.startswith("brim: d/") or option.name.removeprefix("no-") in self.last or f'"{value}"' in self.last)
        return of_data or any(name in self.last for name in spelled) or (option.kind == "choice" and bool(value) and value in self.last)


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))


class Runner:
    """Runs command lines, each in an empty folder, and each once."""
    def __init__(self, brim, home):
        self.brim, self.home, self.known, self.lock = brim, home, {}, threading.Lock()

    def start(self, folder, words, launch=()):
        environment = {**Launcher.environment(), "LC_ALL": "C.UTF-8", "COLUMNS": "100", "NO_COLOR": "1"}
        line = launch or [self.brim, *words]
        try:
            return subprocess.run(line, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, env=environment, check=False, preexec_fn=limit)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(line, -1, b"", b"no end")

    def made(self, name, make):
        """A folder that make(folder) fills, once."""
        folder = self.home / name
        with self.lock:
            if not folder.exists():
                folder.mkdir()
                make(folder)
        return folder

    def data(self, task):
        """Models, rows of the task, and a run that was trained on them."""
        def make(folder):
            write_models(folder)
            write_data(folder, task)
            (folder / "d").symlink_to(folder)
            prompt = ("--query-prompt", "query=the good ") if NAMES.get(task, task) == "embedding" else ()
            done = self.start(folder, train_base(task).line(*prompt))
            if done.returncode:
                raise SystemExit(f"{task}: {done.stderr.decode()}")
            (folder / "d").unlink()
        return self.made(f"data-{task}", make)

    def empty(self, task):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="case-", dir=self.home))
        (folder / "d").symlink_to(self.data(task))
        return folder

    def begun(self, base, words):
        """The folder that a base leaves."""
        def make(folder):
            (folder / "d").symlink_to(data)
            self.start(folder, base.line(*words))
            shutil.rmtree(folder / base.words[base.words.index("--output") + 1], ignore_errors=True) if "--cache" in words and "--output" in base.words else None
        data = self.data(base.task)
        return self.made("begun-" + "-".join((base.name, *words)).replace(" ", "-"), make)

    def run(self, task, words, before=None, files=None, launch=()):
        key = (task, words, str(before), json.dumps(files), str(launch))
        if key not in self.known:
            folder = self.empty(task)
            if before:
                shutil.copytree(before, folder, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("d"))
            for name, text in (files or {}).items():
                (folder / name).write_text(text, encoding="utf-8")
            self.known[key] = Result(self.start(folder, words, launch), folder, files or ())
            shutil.rmtree(folder)
        return self.known[key]


# ---- cases ---------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Case:
    base: Base
    option: Option
    context: str
    choice: str | None = None

    def name(self):
        return f"{self.base.name}: --{self.option.name}{'=' + self.choice if self.choice else ''}, {self.context}"

    def values(self):
        return [self.choice] if self.choice and self.context != "together" else self.option.values(self.base.command)


def promised(case):
    """Why the option may change nothing; None: it has to."""
    return PROMISED.get(f"{case.base.command} {case.option.name}", PROMISED.get(case.option.name))


class Unmet(Exception):
    """What an option needs is not to be had here: it is to be refused."""


class Judge:
    def __init__(self, runner, options):
        self.runner, self.options = runner, options

    def judge(self, case):
        return getattr(self, case.context)(case) if case.values() is not None else ("NO VALUE", "say one in VALUES of option_cases.py")

    def run(self, case, line, *more, **context):
        return self.runner.run(case.base.task, (*line, *more), **context)

    def partners(self, case, option=None, depth=0):
        """Words that give what an option needs."""
        option, base = option or case.option, case.base
        for need in sorted((option.needs or "").split(), key=lambda need: f"--{need.partition('=')[0]}" not in base.words):
            name, _, wanted = need.partition("=")
            other = self.options[base.command].get(name)
            if name == "task" or f"--{name}" in base.words:
                has = NAMES.get(base.task, base.task) if name == "task" else base.words[base.words.index(f"--{name}") + 1]
                if not wanted or has in wanted.split("|"):
                    return ()
            elif other and depth < 4 and wanted != "fp16":
                value = wanted.split("|")[0] if wanted else other.values(base.command)[0]
                return (*self.partners(case, other, depth + 1), *other.words(value), *(STREAMED.get(base.task, ()) if name == "stream" and base.command == "train" else ()))
        if option.needs:
            raise Unmet
        return ()

    def line(self, case, *more):
        return case.base.line(*more, *self.partners(case))

    def refusal(self, case, words):
        """What is refused whatever its value."""
        value = case.values()[0]
        result = self.run(case, words, *case.option.words(value))
        return ("refused", result.last) if result.code in (1, 2) and result.names(case.option, value) else ("OTHER LINE", result.last)

    def plain(self, case, *more, **context):
        try:
            line = self.line(case, *more)
        except Unmet:
            return self.refusal(case, case.base.line(*more))
        before, tried, refused = self.run(case, line, **context), [], ""
        for value in case.values():
            result = self.run(case, line, *case.option.words(value), **context)
            if result.broken():
                return "BROKEN", f"{value}: {result.broken()}"
            if result.code:
                known = result.names(case.option, value, line[len(case.base.line()):])
                refused = refused or (result.last if known else "")
                tried += [] if known else [f"{value}: {result.last}"]
                continue
            differences = result.differences(before)
            if differences:
                return "effect", f"{value}: {', '.join(differences[:6])}" + (f" | {result.last}" if differences == ["stderr"] else "")
            tried.append(f"{value}: nothing")
        if refused:
            return "refused", refused
        promise = promised(case)
        if promise and not case.base.only and not any("brim:" in one for one in tried):
            return "promised", promise
        return ("OTHER LINE" if any("brim:" in one for one in tried) else "NOTHING"), "; ".join(tried)

    def stream(self, case):
        needed = STREAMED.get(case.base.task, ())
        if case.option.words(case.choice)[0] in needed:
            return "promised", "a stream of this task has it already"
        return self.plain(case, "--stream", *needed)

    def folds(self, case):
        return self.plain(case, "--folds=2", "--epochs=2")

    def resume(self, case):
        return self.plain(case, "--resume", "--epochs=2", before=self.runner.begun(case.base, ()))

    def working(self, case, needs_effect=False):
        """A line, a value with which it works (and does something), and what comes out; or None."""
        try:
            line = self.line(case)
        except Unmet:
            return None
        for value in case.values():
            result = self.run(case, line, *case.option.words(value))
            if result.code == 0 and not (needs_effect and not result.differences(self.run(case, line))):
                return line, value, result
        return None

    def config(self, case):
        option, found = case.option, self.working(case)
        if not found or option.name in ("batch-size", "threads", "tokenizer") or f"--{option.name}" in found[0]:
            return "promised", "the command line has it, or nothing to say"
        line, value, result = found
        number = option.kind in ("integer", "real")
        as_json = True if value is None else [value] if option.kind == "list" else json.loads(value) if number else value
        other = self.run(case, line, "--config", "config.json", files={"config.json": json.dumps({option.name: as_json})})
        differences = result.differences(other, ("stderr",) if option.name == "profile" else ())
        return ("DIFFERENT", f"{value}: {differences}, {other.last}") if differences else ("effect", "the same")

    def cache(self, case):
        found = self.working(case)
        if not found or case.option.name == "cache":
            return "promised", "it has no value that works here"
        line, value, result = found
        cached = self.run(case, line, *case.option.words(value), "--cache=cache", before=self.runner.begun(case.base, ("--cache", "cache")))
        if cached.code:
            return ("refused", cached.last) if cached.names(case.option, value, ["--cache"]) else ("OTHER LINE", cached.last)
        differences = result.differences(cached, ("stderr", *(name for name in cached.parts if name.startswith("cache"))))
        return ("DIFFERENT", f"{value}: {differences}, {cached.last}") if differences else ("effect", "the same")

    def twice(self, case):
        found = self.working(case)
        if not found:
            return "promised", "it has no value that works here"
        line, value, _ = found
        result = self.run(case, line, *case.option.words(value), *case.option.words(value))
        if result.code and not (result.names(case.option, value) or "twice" in result.last or "given two" in result.last):
            return "OTHER LINE", result.last
        return ("BROKEN", result.broken()) if result.broken() else ("refused", result.last) if result.code else ("effect", "")

    def empty(self, case):
        if case.option.kind == "flag" or case.option.implied == "":
            return "promised", "takes no value"
        result = self.run(case, case.base.line(), f"--{case.option.name}=")
        return ("refused", result.last) if result.code in (1, 2) and result.names(case.option) else ("NOT REFUSED", f"{result.code} {result.last}")

    def foreign(self, case):
        """Whatever it is, it ends with a line of the program."""
        base, other = case.base, other_task(case.base.task, case.option.name)
        words = [str(self.runner.data(other) / "run") if before == "--model" else word for before, word in zip(("", *base.words), base.words)]
        try:
            line = (*base.command.split(), *words, *self.partners(case))
        except Unmet:
            return "promised", "what it needs is not to be had here"
        said = []
        for value in case.values():
            result = self.run(case, line, *case.option.words(value))
            if result.broken():
                return "BROKEN", f"{other}, {value}: {result.broken()}"
            if result.code and not result.last.startswith("brim: "):
                return "OTHER LINE", f"{other}, {value}: {result.last}"
            said.append(result.last if result.code else "fine")
        return "effect", f"{other}: {'; '.join(said)}"

    def together(self, case):
        """An option that does something alone does it with another, too: for one of the values of both."""
        other = dataclasses.replace(case, option=self.options[case.base.command][case.choice], choice=None)
        mine, its = self.working(case, needs_effect=True), self.working(other)
        if not mine or not its or f"--{case.option.name}" in {word.split("=")[0] for word in its[0]}:
            return "promised", "one of them has no value that works here, or the other needs it"
        has = {word.split("=")[0] for word in mine[0]}
        line = (*mine[0], *(word for word in its[0] if word.split("=")[0] not in has))
        swallowed = ""
        for two in [other.option.words(value) for value in other.values()[:3]]:
            second = self.run(case, line, *two)
            for one in [case.option.words(value) for value in case.values()[:3]]:
                alone, both = self.run(case, line, *one), self.run(case, line, *one, *two)
                if both.broken():
                    return "BROKEN", both.broken()
                if both.code and not (alone.code or second.code):
                    said = any(both.names(each.option, each.values()[0], line) for each in (case, other))
                    return ("refused", both.last) if said else ("OTHER LINE", f"{one} {two}: {both.last}")
                if alone.code or second.code or both.differences(second):
                    return "effect", "each its own"
                swallowed = f"{one} does nothing with {two}"
        return ("promised", promised(case)) if promised(case) else ("SWALLOWED", swallowed)

    def ends(self, case):
        option = case.option
        if option.least is None:
            return "promised", "has no range"
        try:
            line = self.line(case)
        except Unmet:
            return self.refusal(case, case.base.line())
        beyond = max(1, option.most * 1e-6) if option.kind == "integer" else max(abs(option.most) * 1e-6, 1e-9)
        said = []
        for number, within in ((option.least, True), (option.most, True), (option.least - beyond, False), (option.most + beyond, False)):
            if within and number == option.most and option.name in ENDLESS:
                continue
            result = self.run(case, line, f"--{option.name}={option.text(number)}")
            if result.broken():
                return "BROKEN", f"{number}: {result.broken()}"
            if result.code and not result.names(option, None, line[len(case.base.line()):]):
                return "OTHER LINE", f"{number}: {result.last}"
            if not within and not result.code:
                return "NOT REFUSED", f"{number}: {result.last}"
            said.append(f"{number}: {result.last if result.code else 'fine'}")
        return "effect", "; ".join(said)

    def ranks(self, case):
        found = self.working(case)
        if not found:
            return "promised", "it has no value that works here"
        line, value, _ = found
        alone, with_it = [self.runner.brim, *line], [self.runner.brim, *line, *case.option.words(value)]

        def together(first, second):
            return self.run(case, (), launch=["mpirun", "-n", "1", *first, ":", "-n", "1", *second])

        result = together(alone, with_it)
        if result.code:
            said = "the ranks would not train the same" in result.last or result.names(case.option, value)
            return ("refused", result.last) if said else ("OTHER LINE", f"{result.code} {result.last}")
        same = not result.differences(together(alone, alone), ("stderr",)) or not result.differences(together(with_it, with_it), ("stderr",))
        return ("effect", "the same") if same else ("DIFFERENT", f"{value}: {result.last}")


def cases(commands, contexts, seed):
    for base in bases():
        for option in commands[base.command].values():
            if option.name in LEFT_OUT or base.has(option):
                continue
            for context in [context for context in contexts if not base.only or context == "plain"]:
                if (context in OF_TRAINING and base.command != "train") or context == option.name or (context == "cache" and "cache" not in commands[base.command]):
                    continue
                if context == "together":  # but with "quiet", where an option whose effect is a note has none
                    others = [other.name for other in commands[base.command].values() if other.name not in (*LEFT_OUT, "quiet", option.name) and not base.has(other)]
                    drawn = random.Random(f"{seed} {base.name} {option.name}").sample(others, min(len(others), OTHERS))
                    yield from (Case(base, option, context, other) for other in drawn)
                    continue
                of_words = option.kind == "choice" and context not in ("twice", "empty", "ends", "foreign", "ranks")
                for word in option.values(base.command) if of_words else [None]:
                    if base.only and option.name not in base.only and f"{option.name}={word}" not in base.only:
                        continue
                    if option.name != "task" or (base.name not in ("csv", "evals") and word != NAMES.get(base.task, base.task)):
                        yield Case(base, option, context, word)


def other_task(task, word):
    """Whose model a row of the task is given to; another for another word."""
    others = [other for other in TASKS if NAMES.get(other, other) != NAMES.get(task, task)]
    return others[sum(word.encode()) % len(others)]


def drawn():
    """The seed of the cases that run: 1, TAP_SEED, or another one (random)."""
    given = os.environ.get("TAP_SEED") or "1"
    return int(time.time()) if given == "random" else int(given)


def choose(all_cases, most, seed):
    """As many of each context, though some have many more."""
    if most is None or os.environ.get("TAP_ALL") == "1" or most >= len(all_cases):
        return all_cases
    print(f"# seed {seed}: {most} of {len(all_cases)} cases; TAP_ALL=1 takes all")
    draw, contexts, chosen = random.Random(seed), {}, set()
    for i, case in enumerate(all_cases):
        contexts.setdefault(case.context, []).append(i)
    for left, numbers in zip(range(len(contexts), 0, -1), sorted(contexts.values(), key=len)):
        chosen.update(draw.sample(numbers, min(len(numbers), (most - len(chosen)) // left)))
    return [all_cases[i] for i in sorted(chosen)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("brim")
    parser.add_argument("--most", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--contexts", default=",".join(CONTEXTS[:-1]))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--say", action="store_true")
    arguments = parser.parse_args()
    brim = str(pathlib.Path(arguments.brim).resolve())
    commands, contexts = table(brim), arguments.contexts.split(",")
    seed = drawn()
    chosen = choose([case for case in cases(commands, contexts, seed) if all(word in case.name() for word in arguments.only)], arguments.most, seed)
    print(f"1..{len(chosen)}", flush=True)
    good = True
    with tempfile.TemporaryDirectory(prefix="brim-options-", dir=scratch()) as home, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        judge = Judge(Runner(brim, pathlib.Path(home)), commands)
        for number, (case, (outcome, why)) in enumerate(zip(chosen, pool.map(judge.judge, chosen)), 1):
            good = good and outcome in GOOD
            print(f"{'ok' if outcome in GOOD else 'not ok'} {number} - {case.name()}: {outcome}", flush=True)
            if why and (arguments.say or outcome not in GOOD):
                print(f"#   {why}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
