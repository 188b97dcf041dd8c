#!/usr/bin/env python3
"""Runs the program as several processes of an MPI launcher and prints TAP. Skips where there is no MPI.

  ranks.py BRIM [LAUNCHER...]   such as mpirun.openmpi, mpirun.mpich; without: the first that there is
  ranks.py BRIM [LAUNCHER...] --parts PART...   only these (Case.PARTS), in their order

Root and more ranks than cores are allowed here, in the environment of the tests. Seconds are not asserted, but for the promise that all
ranks are gone within 30 of a failure."""

import array
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

import fixtures
from run import scratch

MARK = "BRIM_TEST_RANKS"
GONE, MOST, PATIENCE = 30, 400, 20  # seconds: the promise, for a run, for a launcher to begin or to end
count = failed = 0


def ok(good, name, *notes):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)
    if not good:
        for note in notes:
            print("\n".join("# " + line for line in str(note).splitlines()), flush=True)
    return good


def holds_file(process, name):
    """The process has it open, or mapped."""
    at = pathlib.Path(f"/proc/{process}")
    try:
        return name in (at / "maps").read_text() or any(os.readlink(link).endswith(name) for link in (at / "fd").iterdir())
    except OSError:
        return False


def lines_of_brim(text):
    return [line for line in text.splitlines() if line.startswith("brim: ")]


class Launcher:
    def __init__(self, program):
        self.program = program
        version = subprocess.run([program, "--version"], capture_output=True, text=True, env=self.environment()).stdout
        self.open_mpi = "open" in version.lower()
        self.modern = "PRRTE" in version or bool(re.search(r"\(Open MPI\) [5-9]", version))
        self.name = "Open MPI" if self.open_mpi else "MPICH"
        self.jobs = []

    def leave_none(self):
        """Where a test failed in the middle."""
        for job in self.jobs:
            if job.poll() is None:
                finish(job, 0)

    @staticmethod
    def environment():
        more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1",
                "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
                "OMPI_MCA_btl_base_warn_component_unused": "0", "UCX_RNDV_THRESH": "inf"}
        return {**os.environ, **more}

    def command(self, ranks, words, lonely=False):
        keep = [] if not lonely else ["--enable-recovery"] if self.open_mpi else ["-disable-auto-cleanup"]
        return [self.program, *keep, "-n", str(ranks), *words]

    def start(self, ranks, words, lonely=False, **more):
        mark = f"{os.getpid()}-{random.random()}"
        with open("output", "wb") as output:
            job = subprocess.Popen(self.command(ranks, words, lonely), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   env={**self.environment(), MARK: mark, **more})
        job.mark = mark
        self.jobs.append(job)
        return job

    def run(self, ranks, words, **more):
        job = self.start(ranks, words, **more)
        finish(job, MOST)
        return job.code, job.text


def ranks_of(job):
    """rank -> process, of those that are there and are no zombies."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            words = pathlib.Path(f"/proc/{name}/environ").read_bytes().decode(errors="replace").split("\0") if name.isdigit() else []
            if f"{MARK}={job.mark}" not in words or "brim" not in os.path.basename(os.readlink(f"/proc/{name}/exe")):
                continue
            state = pathlib.Path(f"/proc/{name}/stat").read_text().rsplit(")", 1)[1].split()[0]
            values = dict(word.split("=", 1) for word in words if "=" in word)
            if state not in "ZX":
                found[int(values.get("OMPI_COMM_WORLD_RANK", values.get("PMI_RANK", -1)))] = int(name)
        except (OSError, ValueError):
            continue
    return found


def wait_until(what, seconds):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def kill_ranks(job):
    for process in ranks_of(job).values():
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


def finish(job, seconds):
    """Until launcher and ranks have ended, and nothing is left in any case; their output and the exit code. A launcher that does not end
    although all ranks have (Open MPI 4.1 with PMIx 4.2 may wait for itself) is ended."""
    begun = time.monotonic()  # ranks may not be there yet
    gone = wait_until(lambda: job.poll() is not None or time.monotonic() - begun > PATIENCE and not ranks_of(job), seconds)
    kill_ranks(job)
    hangs = not wait_until(lambda: job.poll() is not None, PATIENCE)
    if hangs:
        job.kill()
    job.wait()
    job.text = pathlib.Path("output").read_text(encoding="utf-8", errors="replace")
    job.code = job.returncode if not hangs else int(bool(lines_of_brim(job.text)))
    return gone


def end(job, stopped=None):
    """True: all ranks but the stopped one end in time."""
    gone = wait_until(lambda: not set(ranks_of(job)) - {stopped}, GONE)
    finish(job, 0)
    return gone


def checkpoints(run):
    return [path for path in pathlib.Path(run).glob("checkpoints/step-*") if ".tmp" not in path.name]


def read_tensors(path):
    bytes_ = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", bytes_[:8])[0]
    out = {}
    for name, entry in json.loads(bytes_[8:8 + size]).items():
        if name != "__metadata__":
            start, stop = entry["data_offsets"]
            out[name] = array.array("f", bytes_[8 + size + start:8 + size + stop])
    return out


def apart(one, other):
    """The largest relative distance of a tensor."""
    worst = 0.0
    for name, values in one.items():
        norm = sum(v * v for v in values)
        if norm > 1e-16:
            worst = max(worst, (sum((a - b) ** 2 for a, b in zip(values, other[name])) / norm) ** 0.5)
    return worst


class Case:
    def __init__(self, brim, launcher):
        self.brim, self.mpi = brim, launcher

    def train(self, output, *words):
        return [self.brim, "train", "--model", "model", "--train", "data/train.jsonl", "--output", output, "--quiet", *words]

    def alone(self, *words):
        return subprocess.run(words, capture_output=True, text=True, env={**os.environ, "BRIM_MPI": "none"})

    def only(self, rank, common, other):
        """A shell that runs `other` on that rank, and `common` on the rest."""
        return ["sh", "-c", f'if [ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = {rank} ]; then {other}; fi; exec {" ".join(common)}']

    # ---- what is computed

    def gradients(self):
        words = ("--max-steps", "1", "--batch-size", "23", "--clip", "0", "--eval", "data/test.jsonl")
        self.alone(*self.train("one", *words))
        moments = read_tensors("one/checkpoints/step-1/optimizer.safetensors")
        for ranks in (1, 2, 3, 4):
            code, text = self.mpi.run(ranks, self.train(f"world-{ranks}", *words))
            if ok(code == 0, f"{ranks} processes train", text):
                far = apart(moments, read_tensors(f"world-{ranks}/checkpoints/step-1/optimizer.safetensors"))
                ok(far < 1e-5, f"{ranks} processes: the gradient of one, dropout on ({far:.1e} apart)")

    def bits(self):
        shas = set()
        for name, how in (("first", {}), ("second", {}), ("third", {"BRIM_SHARED": "none"})):
            code, text = self.mpi.run(3, self.train(name, "--epochs", "2", "--eval", "data/test.jsonl", "--json"), **how)
            found = re.search(r'\{"steps".*\}', text)
            result = json.loads(found[0]) if found else {}
            ok(code == 0 and result.get("rows") == 192 and result.get("steps") == 12, "3 processes: two epochs of 96 rows", text)
            moments = next(pathlib.Path(name, "checkpoints").glob("step-12/optimizer.safetensors"), None)
            shas.add((pathlib.Path(name, "model.safetensors").read_bytes(), moments and moments.read_bytes()))
        ok(len(shas) == 1, "the same bits from run to run, weights and moments, through shared memory and by messages")
        lines = [json.loads(line) for line in open("first/log.jsonl", encoding="utf-8")]
        events = [line["event"] for line in lines]
        times = next((line for line in lines if line["event"] == "ranks"), {})
        whole = all(len(times.get(what, ())) == 3 and min(times[what]) >= 0 for what in ("compute", "wait", "communication"))
        most = max(times.get("compute", [0]))
        ok(whole and times["compute"][times["slowest"]] == most > 0 and abs(times["balance"] - 3 * most / sum(times["compute"])) < 1e-6 and events[-2:] == ["ranks", "end"],
           "the log has each rank's times", times)
        code, text = self.mpi.run(2, [word for word in self.train("told", "--max-steps", "3", "--profile") if word != "--quiet"])
        ok(code == 0 and re.search(r"rank [01] of 2 computed longest, 1\.\d\d of the mean", text) and "waiting for all processes" in text and "gradient of all processes" in text and "weights of all processes" in text,
           "the slowest rank is named, and the profile has waiting and communication", text)
        ok(events.count("start") == 1 and events.count("end") == 1 and os.path.exists("first/report.html"), "one of them writes the run")

    def shared_out(self):
        evaluate = [self.brim, "evaluate", "--model", "first", "data/test.jsonl", "--json", "--quiet"]
        predict = [self.brim, "predict", "--model", "first", "data/test.jsonl", "--quiet", "-o"]
        one = json.loads(self.alone(*evaluate).stdout)
        code, text = self.mpi.run(3, evaluate)
        many = json.loads(text) if code == 0 else {}
        ok(all(many.get(key) == value for key, value in one.items() if key not in ("seconds", "slots")), "evaluate: each row once", one, text)
        self.alone(*predict, "one.jsonl")
        code, text = self.mpi.run(2, [*predict, "two.jsonl"])
        rows = [[json.loads(line) for line in open(name, encoding="utf-8")] for name in ("one.jsonl", "two.jsonl")]
        same = all(a["index"] == b["index"] and a["label"] == b["label"] and abs(a["scores"][0] - b["scores"][0]) < 1e-6 for a, b in zip(*rows))
        ok(code == 0 and len(rows[0]) == len(rows[1]) == 24 and same, "predict: each row once, in order", text)
        fewer = [word.replace("data/test", "data/train") for word in evaluate]
        self.refused("evaluate: other rows on a rank", 2, self.only(1, evaluate, "exec " + " ".join(fewer)), "rank 1 has other rows than rank 0")
        code, text = self.mpi.run(2, [self.brim, "plan", "data/train.csv", "-t", "model", "-b", "16", "--jsonl"])
        ranks = {json.loads(line)["rank"] for line in text.splitlines() if '"rank"' in line}
        ok(code == 0 and ranks == {0, 1}, "plan: that of two ranks, once", text)
        code, text = self.mpi.run(2, [self.brim, "compare", "--model", "model", "--train", "data/train.jsonl", "--max-steps", "2", "--quiet"])
        ok(code == 0 and text.count("method") == 1, "compare: one table", text)
        code, text = self.mpi.run(2, [self.brim, "doctor", "--no-speed"])
        ok(code == 0 and f"2, started by {self.mpi.name}; " in text and text.count("products  ") == 1, "doctor says what it found", text)

    def ends(self):
        """The end of a run: rank 0 may take its time, or be lost; MPI comes to its end."""
        self.alone(*self.train("ended", "--max-steps", "3"))
        text = pathlib.Path("data/test.jsonl").read_text(encoding="utf-8")
        pathlib.Path("slow").mkdir()
        for lost in (False, True):  # rank 0 waits for who reads what it writes
            os.mkfifo(f"slow/{lost}")
            job = self.mpi.start(2, [self.brim, "predict", "--model", "ended", "data/test.jsonl", "--quiet", "-o", f"slow/{lost}"], lonely=True)
            wait_until(lambda: job.poll() is not None or len(ranks_of(job)) == 2, 60)
            time.sleep(2 if lost else 17)  # by now rank 1 has nothing more to do; longer than MPI gets for its end
            processes = ranks_of(job)
            if lost and 0 in processes:
                os.kill(processes[0], signal.SIGKILL)
                gone, said = end(job), lines_of_brim(job.text)
                ok(gone, "rank 0 is killed at its end, when rank 1 was at its own: all are gone", job.text)
                if self.mpi.open_mpi:
                    ok(len(said) == 1 and f"rank 0 (process {processes[0]} on " in said[0], f"rank 1 says it: {said[0] if said else 'nothing was said'}", job.text)
                continue
            with open(f"slow/{lost}", encoding="utf-8") as file:
                rows = file.read().splitlines() if ok(set(processes) == {0, 1}, "rank 0 takes long at its end: rank 1 waits for it", processes) else []
            finish(job, MOST)
            ok(job.code == 0 and len(rows) == len(text.splitlines()), "rank 0 takes long at its end: it writes all", job.code, len(rows), job.text)
        if not self.mpi.open_mpi:  # UCX, between machines
            said, how = [], {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "BRIM_SHARED": "none"}
            for _ in range(10):
                code, text = self.mpi.run(2, self.train("ended", "--overwrite", "--max-steps", "3"), **how)
                said.append((code, [line for line in lines_of_brim(text) if "come to its end" in line]))
            ok(said == 10 * [(0, [])], "MPI comes to its end, over TCP too", said)
        self.late_end()

    def late_end(self):
        """MPI that never comes to its end is left, with the code of the command."""
        found = re.search(r"started by .*\((/\S+)\)", self.mpi.run(2, [self.brim, "doctor", "--no-speed"])[1])
        pathlib.Path("endless.c").write_text("#include <unistd.h>\nint MPI_Finalize(void) { for (;;) pause(); }\n", encoding="utf-8")
        words = [*os.environ.get("CC", "cc").split(), "-shared", "-fPIC", "-o", "endless.so", "endless.c", "-Wl,--no-as-needed", found[1] if found else ""]
        made = subprocess.run(words, capture_output=True, text=True)
        if not ok(made.returncode == 0, "an MPI that does not come to its end", found, made.stderr):
            return
        predict = [self.brim, "predict", "--model", "ended", "data/test.jsonl", "--quiet"]
        for code, name, more in ((0, "all was well", ("-o", "endless.jsonl")), (2, "what one process alone may do", ("--unbuffered",))):
            shell = '"$@"; code=$?; echo $code >code-${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; sleep 3; exit $code'
            text = self.mpi.run(2, ["sh", "-c", shell, "sh", *predict, *more], BRIM_MPI=os.path.abspath("endless.so"))[1]
            codes = [pathlib.Path(f"code-{rank}") for rank in (0, 1)]
            codes = [int(path.read_text()) if path.exists() and path.stat().st_size else None for path in codes]
            said = [line for line in lines_of_brim(text) if "MPI has not come to its end within 15 seconds" in line]
            ok(codes == [code, code] and len(said) == 1, f"MPI is left at its end with the code of the command: {name}", codes, text)

    # ---- what is refused

    def refused(self, name, ranks, words, want, **more):
        code, text = self.mpi.run(ranks, words, **more)
        said = lines_of_brim(text)
        # What keeps ranks from being joined each of them says, where the launcher lets it live so long.
        alike = {re.sub(r"^brim: rank \d+: ", "brim: ", line) for line in said}
        good = code != 0 and len(alike) == 1 and re.search(want, said[0]) and not os.path.exists("none")
        ok(good, f"{name}: {said[0] if said else 'nothing was said'}", text)

    def other_build(self):
        """The program with another instruction between two functions, which nobody runs: its version is the same."""
        code, filling = bytearray(pathlib.Path(self.brim).read_bytes()), bytes.fromhex("662e0f1f840000000000")
        code[code.rindex(filling) + len(filling) - 1] = 1
        pathlib.Path("brim-other").write_bytes(code)
        os.chmod("brim-other", 0o755)
        return "./brim-other"

    def refusals(self):
        self.refused("other options on a rank", 3, self.only(2, self.train("none"), "set -- --seed 43; exec " + " ".join(self.train("none", '"$@"'))),
                     r"seed: 43 on rank 2, 42 on rank 0")
        self.refused("another build on a rank", 2, self.only(1, self.train("none"), "exec " + " ".join([self.other_build(), *self.train("none")[1:]])),
                     r"rank 1 on .* runs brim \S+ \(build \w{16}\), rank 0 on .* brim \S+ \(build \w{16}\)")
        self.refused("sets to evaluate on a rank", 2, self.only(1, self.train("none"), "exec " + " ".join(self.train("none", "--eval", "data/test.jsonl"))),
                     "number of evaluation sets: 1 on rank 1, 0 on rank 0")
        lines = pathlib.Path("data/train.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        pathlib.Path("fewer.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
        fewer = [word.replace("data/train", "fewer") for word in self.train("none")]
        self.refused("other data on a rank", 2, self.only(1, self.train("none"), "exec " + " ".join(fewer)), r"on rank 1, .* on rank 0")
        missing = [word.replace("data/train", "missing") for word in self.train("none")]
        self.refused("a missing file on a rank", 3, self.only(2, self.train("none"), "exec " + " ".join(missing)), r"rank 2: missing\.jsonl: cannot open")
        self.refused("a missing file on all ranks", 2, missing, r"^brim: missing\.jsonl: cannot open")
        os.mkdir("traced")
        shutil.copy("data/train.jsonl", "traced/trace.json")
        traced = [word.replace("data/train.jsonl", "traced/trace.json") for word in self.train("none", "--format", "jsonl", "--profile=traced/trace.json")]
        self.refused("a trace over the data", 2, traced, r"--profile traced/trace\.json is also an input \(--train\)")
        ok(pathlib.Path("traced/trace.json").read_text(encoding="utf-8") == "".join(lines), "which no rank replaces")
        self.refused("a wrong option", 2, self.train("none", "--nonsense"), "unknown option")
        self.refused("no MPI library", 2, self.train("none"), "BRIM_MPI: the MPI library cannot be loaded", BRIM_MPI="/nowhere/libmpi.so")
        libc = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "libc.so" in line or "libc-" in line)
        self.refused("a library that is none", 2, self.train("none"), "it is not an MPI library", BRIM_MPI=libc)

    # ---- what fails

    def full_disk(self):
        """A limit on the size of files stands for it, on the rank that writes."""
        if not self.mpi.open_mpi:
            return  # what MPICH itself writes to shared memory would be over the limit
        words = self.train("full", "--max-steps", "3", "--save-every", "1")
        code, text = self.mpi.run(2, self.only(0, words, "trap '' XFSZ; ulimit -f 40"))
        said = lines_of_brim(text)
        ok(code != 0 and len(said) == 1 and "File too large" in said[0], f"a full disk: {said[0] if said else ''}", text)
        left = list(pathlib.Path("full").glob("checkpoints/*")) if os.path.exists("full") else []
        ok(not left, "no half of a checkpoint", left)

    LONG = ("--max-steps", "4000", "--save-every", "20", "--log-every", "50", "--keep-checkpoints", "1")

    def begin(self, output, ranks, *words, lonely=False):
        job = self.mpi.start(ranks, self.train(output, *words), lonely)
        wait_until(lambda: job.poll() is not None or len(ranks_of(job)) == ranks and checkpoints(output), 60)
        return job

    def lost(self, name, rank, number, lonely):
        job = self.begin("lost", 3, *self.LONG, "--rank-timeout", "3", lonely=lonely)
        processes = ranks_of(job)
        if not ok(set(processes) == {0, 1, 2}, f"{name}: three ranks train", processes, job.poll()):
            return end(job)
        os.kill(processes[rank], number)
        gone = end(job, rank if number == signal.SIGSTOP else None)
        ok(gone, f"{name}: all are gone", job.text)
        said = [line for line in lines_of_brim(job.text) if f"rank {rank} (process {processes[rank]} on " in line]
        if lonely and (self.mpi.open_mpi or number == signal.SIGSTOP):  # MPICH's launcher ends all at once, whatever it is told
            ok(len(said) == 1 == len(lines_of_brim(job.text)) and "--resume" in said[0], f"{name}: {said[0] if said else 'nothing was said'}", job.text)
        whole = checkpoints("lost")
        ok(whole and all((path / "state.json").exists() for path in whole), f"{name}: the last checkpoint is whole")
        shutil.rmtree("lost")

    def losses(self):
        for rank in (0, 1):
            self.lost(f"kill -9 of rank {rank}", rank, signal.SIGKILL, True)
            self.lost(f"rank {rank} is stopped", rank, signal.SIGSTOP, True)
        self.lost("kill -9 of rank 2, with the launcher's clean-up", 2, signal.SIGKILL, False)

    def shared_rows(self):
        """One process of a machine tokenizes, the others map its rows; where it dies meanwhile, all end."""
        job = self.begin("rows", 3, *self.LONG)
        maps = {rank: "brim-rows" in pathlib.Path(f"/proc/{process}/maps").read_text() for rank, process in ranks_of(job).items()}
        ok(maps == {0: True, 1: True, 2: True}, "3 processes have one copy of their rows", maps, job.poll())
        kill_ranks(job)
        end(job)
        text = pathlib.Path("data/train.jsonl").read_text(encoding="utf-8")
        pathlib.Path("large.jsonl").write_text(text * (60_000_000 // len(text)), encoding="utf-8")
        for rank, number in ((0, signal.SIGKILL), (0, signal.SIGSTOP), (1, signal.SIGKILL)):
            words = [word.replace("data/train", "large") for word in self.train("never", "--rank-timeout", "3")]
            job = self.mpi.start(2, words, lonely=True)

            def reads():
                found = ranks_of(job)
                return len(found) == 2 and holds_file(found[0], "large.jsonl")

            wait_until(lambda: job.poll() is not None or reads(), 60)
            processes, name = ranks_of(job), f"rank {rank} gets signal {number} while rank 0 reads"
            if set(processes) != {0, 1}:
                end(job)
                ok(False, f"{name}: two ranks are there", processes, job.poll(), job.text)
                continue
            os.kill(processes[rank], number)
            ok(end(job, rank if number == signal.SIGSTOP else None), f"{name}: all are gone", job.text)
            said = lines_of_brim(job.text)
            if self.mpi.open_mpi or number == signal.SIGSTOP:
                ok(len(said) == 1 and f"rank {rank} (process {processes[rank]} on " in said[0], f"{name}: {said[0] if said else 'nothing was said'}", job.text)
            ok(not os.path.exists("never"), f"{name}: nothing is written")

    def killed_and_resumed(self):
        """Killed at random moments, again and again, with the launcher's clean-up and without, and resumed: the bits of a run that nobody killed."""
        self.killed(int(os.environ.get("BRIM_KILLS", "5")), ["shared memory", "messages"])
        self.killed(2, ["messages"], *self.SLICED)

    SLICED = ("--slices", "24", "--batch-size", "20")
    WAYS = {"shared memory": {}, "messages": {"BRIM_SHARED": "none"}, "messages after backward": {"BRIM_SHARED": "none", "BRIM_OVERLAP": "none"}}

    def killed_every_way(self):
        """The same thirty times over all ways in which gradients come together, with slices and without, each way by itself and changed in between."""
        for ways in ([way] for way in self.WAYS):
            self.killed(4, ways)
            self.killed(4, ways, *self.SLICED)
        self.killed(6, list(self.WAYS), *self.SLICED)

    def killed(self, times, ways, *more):
        """`ways`: those of the runs that are killed, in turn, two of each."""
        words = ("--max-steps", "240", "--save-every", "7", "--log-every", "50", "--keep-checkpoints", "2", *more)
        for run in ("straight", "killed"):
            shutil.rmtree(run, ignore_errors=True)
        straight = self.mpi.run(2, self.train("straight", *words))
        ok(straight[0] == 0, f"240 steps that nobody kills {' '.join(more)}", straight[1])
        draw, gone, left = random.Random(5), True, []
        for turn in range(times):
            job = self.mpi.start(2, self.train("killed", "--resume", *words), lonely=turn % 2 == 1, **self.WAYS[ways[turn // 2 % len(ways)]])
            wait_until(lambda: job.poll() is not None or len(ranks_of(job)) == 2, 60)
            if turn == 0:  # whatever the moments of the others, this one is in training
                wait_until(lambda: job.poll() is not None or checkpoints("killed"), 60)
            else:
                time.sleep(draw.uniform(0.0, 0.8))
            for process in list(ranks_of(job).items())[:1] if draw.random() < 0.5 else list(ranks_of(job).items())[-1:]:
                os.kill(process[1], signal.SIGKILL)
            gone = end(job) and gone
            left.append(max((int(path.name.removeprefix("step-")) for path in checkpoints("killed")), default=0))
        ok(gone, f"killed {times} times, {' and '.join(ways)}: all ranks were gone each time")
        ok(0 < left[0] < 240, f"the first time in training; steps of the last checkpoints: {left}")
        code, text = self.mpi.run(2, self.train("killed", "--resume", *words))
        same = code == 0 and pathlib.Path("killed/model.safetensors").read_bytes() == pathlib.Path("straight/model.safetensors").read_bytes()
        ok(same, "resumed to the end: the same bits", text)

    SLICES = ("--slices", "24", "--batch-size", "20", "--epochs", "3", "--lr", "1e-3", "--schedule", "constant")

    def bits_of_one(self, worlds, **how):
        """The same bits for any number of processes. Returns them."""
        if not os.path.exists("slices-1"):
            self.alone(*self.train("slices-1", *self.SLICES))
        one = pathlib.Path("slices-1/model.safetensors").read_bytes()
        for ranks in worlds:
            code, text = self.mpi.run(ranks, self.train("slices-n", "--overwrite", *self.SLICES), **how)
            same = code == 0 and pathlib.Path("slices-n/model.safetensors").read_bytes() == one
            ok(same, f"--slices: {ranks} processes have the bits of one{', by messages' if how else ''}", text)
        return one

    def few_slices(self):
        self.bits_of_one((2,))
        self.bits_of_one((3,), BRIM_SHARED="none")

    def slices(self):
        """The same bits for any number of processes, and for a run that changes it twice."""
        words, one = self.SLICES, self.bits_of_one((2, 3, 4, 8))
        self.bits_of_one((2, 3, 8), BRIM_SHARED="none")
        for ranks, epochs in ((4, "1"), (1, "2"), (3, "3")):
            changed = ["--resume", *words[:5], epochs, *words[6:]]
            code, text = self.mpi.run(ranks, self.train("slices-elastic", *changed))
            ok(code == 0, f"--slices: {ranks} processes to epoch {epochs}", text)
        ok(pathlib.Path("slices-elastic/model.safetensors").read_bytes() == one, "--slices: 4, 1 and 3 processes, one after another, have the bits of one")
        stream = ("--slices", "24", "--stream", "--max-steps", "9")
        self.alone(*self.train("stream-1", *stream))
        code, text = self.mpi.run(3, self.train("stream-3", *stream))
        kept = [pathlib.Path(name, "model.safetensors").read_bytes() for name in ("stream-1", "stream-3")]
        ok(code == 0 and len(set(kept)) == 1, "--slices --stream: 3 processes have the bits of one", text)
        folds = ("--slices", "24", "--folds", "3", "--epochs", "1")
        self.alone(*self.train("folds-1", *folds))
        code, text = self.mpi.run(2, self.train("folds-2", *folds))
        kept = [pathlib.Path(name, "predictions.jsonl").read_bytes() for name in ("folds-1", "folds-2")]
        ok(code == 0 and len(set(kept)) == 1, "--slices --folds: 2 processes predict held-out rows as one does", text)
        self.refused("other slices on a rank", 2, self.only(1, self.train("none"), "exec " + " ".join(self.train("none", "--slices", "8"))), "slices: 8 on rank 1")

    def elastic(self):
        """Ctrl-C at the launcher writes a checkpoint; another number of ranks continues from it."""
        # Open MPI lets this many seconds pass before it tells the ranks, and as many again before it kills them.
        patience = {"OMPI_MCA_odls_base_sigkill_timeout": "3", "PRTE_MCA_odls_base_sigkill_timeout": "3"}
        epochs = 1500  # seconds enough for Ctrl-C to come before the end
        words = ("--epochs", str(epochs), "--save-every", "50", "--log-every", "50")
        job = self.mpi.start(3, self.train("elastic", *words), **patience)
        wait_until(lambda: job.poll() is not None or checkpoints("elastic"), 60)
        job.send_signal(signal.SIGINT)
        asked = time.time()
        gone = end(job)
        steps = [int(path.name.removeprefix("step-")) for path in checkpoints("elastic")]
        ok(gone and steps and max(steps) < 6 * epochs and not os.path.exists("elastic/model.safetensors"),
           f"Ctrl-C: a checkpoint, not the end ({steps})", job.text)
        print(f"# it was there {max((path.stat().st_ctime for path in checkpoints('elastic')), default=asked) - asked:.2f} s after Ctrl-C", flush=True)
        for ranks in (1, 2):
            shutil.copytree("elastic", f"elastic-{ranks}", symlinks=True)
            code, text = self.mpi.run(ranks, self.train(f"elastic-{ranks}", "--resume", "--json", *words))
            found = re.search(r'\{"steps".*\}', text)
            result = json.loads(found[0]) if found else {}
            ok(code == 0 and result.get("resumed") and result.get("rows") == epochs * 96 and result.get("steps") == 6 * epochs,
               f"3 processes, and then {ranks}: every row once an epoch", text)
        job = self.mpi.start(3, self.train("twice", *words), **patience)
        wait_until(lambda: job.poll() is not None or checkpoints("twice"), 60)
        for _ in range(2):
            job.send_signal(signal.SIGINT)
            time.sleep(0.1)
        ok(end(job) and job.code != 0 and all((path / "state.json").exists() for path in checkpoints("twice")), "Ctrl-C twice: all are gone, checkpoints are whole",
           job.code, job.text)

    # shared_out needs what bits trained.
    PARTS = ("gradients", "few_slices", "slices", "bits", "shared_out", "ends", "refusals", "full_disk", "losses", "shared_rows", "killed_and_resumed", "elastic")

    def run(self, parts):
        for part in parts:
            begun = time.monotonic()
            getattr(self, part)()
            print(f"# {part}: {time.monotonic() - begun:.1f} s", flush=True)


def launchers(given):
    for name in given or ("mpirun.openmpi", "mpirun.mpich", "mpirun", "mpiexec"):
        if shutil.which(name):
            yield name
            if not given:
                return


def main():
    brim = os.path.abspath(sys.argv[1])
    words = sys.argv[2:]
    at = words.index("--parts") if "--parts" in words else len(words)
    parts = words[at + 1:] or Case.PARTS
    found = list(launchers(words[:at]))
    if not found:
        print("SKIPPED: several processes: there is no MPI; `tools/deps --mpi` installs one", file=sys.stderr)
        print("1..0 # SKIP there is no MPI: tools/deps --mpi")
        return 0
    for name in found:
        with tempfile.TemporaryDirectory(prefix="brim-ranks-", dir=scratch()) as folder:
            os.chdir(folder)
            fixtures.write_all(pathlib.Path("."))
            launcher = Launcher(shutil.which(name))
            begun = time.monotonic()
            try:
                Case(brim, launcher).run(parts)
            finally:
                launcher.leave_none()
            print(f"# {name}: {time.monotonic() - begun:.0f} s", flush=True)
            os.chdir("/")
    print(f"1..{count}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
