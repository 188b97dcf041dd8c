#!/usr/bin/env python3
"""Runs the cases of tests/cli/cases against the program and prints TAP.

  run.py BRIM [NAME...]               all cases, or those whose name holds one of the words
  run.py BRIM --shard I/N [NAME...]   the I-th of N shares of them, which take about as long as each other (shards.py)
  run.py BRIM --regenerate [NAME...]  write what came out as what is expected (then read the difference)

A case is NAME.sh, run by sh in an empty folder with these variables: BRIM the program, BUILD the folder it was built in, CASES this
folder, MODEL a small BERT with a tokenizer, DATA a folder with small data files, FIXTURES the script that made them. python3 is this
Python with its standard library alone, which starts in half the time. Folders are in memory where there is room. Beside it:

  NAME.stdout  standard output, exactly ({TMP} stands for the folder of the case); absent: nothing may come
  NAME.stderr  standard error: each line is a pattern in which * is anything; absent: nothing may come
  NAME.exit    exit code; absent: 0

No case may leave a temporary file or a process."""

import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import fixtures
import shards

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
TIME_LIMIT = 900  # for the slowest machine with the slowest sanitizer; a case takes a few seconds at most
MEMORY = "/dev/shm"
ROOM = 1 << 30  # bytes; the cases of a shard leave a few megabytes at a time


def scratch():
    """Where folders go: in memory, where programs may be run from and there is room; None: where temporary files go otherwise. A run
    writes and syncs many small files, for which a case would wait more than it computes."""
    try:
        found = os.statvfs(MEMORY)
    except OSError:
        return None
    fits = not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= ROOM
    return MEMORY if fits and os.access(MEMORY, os.W_OK) and "TMPDIR" not in os.environ else None


def write_shared(folder):
    """What all cases use: model, data, and the Python that they call."""
    fixtures.write_all(folder)
    (folder / "bin").mkdir()
    python = folder / "bin" / "python3"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -S "$@"\n', encoding="utf-8")
    python.chmod(0o755)


def processes_of(session):
    """Commands of the processes of a session that have not ended."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, own = (path / "stat").read_text().rsplit(")", 1)[1].split()[:4]
            if int(own) == session and state not in "ZX":
                found.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def end_processes(shell):
    """The shell, where it ran out of time, and what it started."""
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    shell.communicate()


class Result:
    def __init__(self, case, brim, shared_folder):
        self.folder = tempfile.mkdtemp(prefix="brim-cli-", dir=scratch())
        environment = dict(os.environ, BRIM=brim, CASES=str(CASES), MODEL=str(shared_folder / "model"), DATA=str(shared_folder / "data"),
                           FIXTURES=str(HERE / "fixtures.py"), BUILD=os.path.dirname(brim), LC_ALL="C.UTF-8", COLUMNS="100", NO_COLOR="1",
                           PATH=f"{shared_folder / 'bin'}:{os.environ['PATH']}")
        shell = subprocess.Popen(["sh", str(case)], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            self.stdout, self.stderr = shell.communicate(timeout=TIME_LIMIT)
            self.exit, self.processes = shell.returncode, processes_of(shell.pid)
        except subprocess.TimeoutExpired as late:
            self.exit, self.processes, self.stdout, self.stderr = -1, [], late.stdout or b"", (late.stderr or b"") + b"ran out of time"
        end_processes(shell)
        self.leftovers = [str(path.relative_to(self.folder)) for path in pathlib.Path(self.folder).rglob("*.tmp-*")]
        shared = str(shared_folder).encode()
        names = [(self.folder.encode(), b"{TMP}"), (shared, b"{FIXTURES}")]
        for real, shown in names:
            self.stdout, self.stderr = self.stdout.replace(real, shown), self.stderr.replace(real, shown)
        shutil.rmtree(self.folder, ignore_errors=True)


def expected(case, suffix):
    path = case.with_suffix(suffix)
    return path.read_bytes() if path.exists() else None


def matches(pattern, text):
    """Line by line; * is anything."""
    lines, patterns = text.splitlines(), pattern.splitlines()
    return len(lines) == len(patterns) and all(
        re.fullmatch(b".*".join(re.escape(part) for part in p.split(b"*")), line) for p, line in zip(patterns, lines))


def problems(case, result):
    exit_code = int(expected(case, ".exit") or 0)
    if result.exit != exit_code:
        yield f"exit code {result.exit}, not {exit_code}"
    if result.stdout != (expected(case, ".stdout") or b""):
        yield "standard output differs:\n" + result.stdout.decode("utf-8", "replace")[:2000]
    if not matches(expected(case, ".stderr") or b"", result.stderr):
        yield "standard error differs:\n" + result.stderr.decode("utf-8", "replace")[:2000]
    if result.processes:
        yield "processes that have not ended: " + ", ".join(result.processes)
    if result.leftovers:
        yield "left behind: " + ", ".join(result.leftovers)


def keep_patterns(pattern, text):
    """The text, with the patterns that stood for lines of it."""
    patterns = [line for line in pattern.splitlines(keepends=True) if b"*" in line]
    return b"".join(next((p for p in patterns if matches(p, line)), line) for line in text.splitlines(keepends=True))


def regenerate(case, result):
    for suffix, value in ((".stdout", result.stdout), (".stderr", result.stderr), (".exit", str(result.exit).encode() + b"\n")):
        path = case.with_suffix(suffix)
        if suffix == ".stderr" and path.exists():
            value = keep_patterns(path.read_bytes(), value)
        if value and value != b"0\n":
            path.write_bytes(value)
        elif path.exists():
            path.unlink()


def chosen(words):
    """The program, the cases, and whether what is expected is written again."""
    words, share = list(words), "1/1"
    renew = "--regenerate" in words
    if renew:
        words.remove("--regenerate")
    if "--shard" in words:
        at = words.index("--shard")
        share = "".join(words[at + 1:at + 2])
        del words[at:at + 2]
    if not words:
        sys.exit(__doc__)
    brim, *wanted = words
    cases = {case.stem: case for case in sorted(CASES.glob("*.sh")) if not wanted or any(word in case.name for word in wanted)}
    return os.path.abspath(brim), [cases[name] for name in shards.share_of(cases, share)], renew


def main():
    brim, cases, renew = chosen(sys.argv[1:])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="brim-fixtures-", dir=scratch()) as folder:
        shared_folder = pathlib.Path(folder)
        write_shared(shared_folder)
        for number, case in enumerate(cases, 1):
            result = Result(case, brim, shared_folder)
            if renew:
                regenerate(case, result)
            found = list(problems(case, result))
            failed += bool(found)
            print(f"{'not ok' if found else 'ok'} {number} - {case.stem}")
            for problem in found:
                print("\n".join("# " + line for line in problem.splitlines()), flush=True)
    print(f"1..{len(cases)}")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
