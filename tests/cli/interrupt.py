"""Runs a command and interrupts it, as Ctrl-C does (or the signal that the environment's SIGNAL names), in the middle of a run:

  interrupt.py OUTPUT LOG EVENT COUNT COMMAND...

With ACTION in the environment, the shell does that instead, and the command goes on to its end.

The signal goes when the file OUTPUT/LOG has COUNT lines of EVENT, however long that takes, and the command has ended when this script
has: one that takes longer than LIMIT is killed. Standard input is a pipe that nothing comes
through: who reads it does not come to an end before the signal. A run that has ended by then, as others may where this script is kept
waiting, shows nothing: its OUTPUT is removed and all is done again. Says "exit N", and on standard error what the command said there."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

TRIES = 30
LIMIT = 600  # seconds, for the slowest machine with the slowest sanitizer


def lines_of(log, event):
    try:
        return sum(f'"{event}"' in line for line in log.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return 0


def interrupted(output, log, event, count, command):
    """Exit code and standard error of one try, and whether the signal came before the run's end."""
    replaces = (log.parent / "model.safetensors").exists()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    late = threading.Timer(LIMIT, child.kill)
    late.start()
    try:
        return watched(child, log, event, count, replaces)
    finally:
        late.cancel()
        child.kill()  # where it has not ended, or nothing
        child.wait()


def watched(child, log, event, count, replaces):
    while lines_of(log, event) < count and child.poll() is None:
        time.sleep(0.002)
    acted = child.poll() is None and "ACTION" in os.environ
    if acted:
        subprocess.run(os.environ["ACTION"], shell=True, check=True)
    elif child.poll() is None:
        os.kill(child.pid, getattr(signal, os.environ.get("SIGNAL", "SIGINT")))
    said, code = child.stderr.read(), child.wait()  # and only now the pipe is closed
    if acted:
        return code, said, True
    return code, said, code != 0 and (replaces or not (log.parent / "model.safetensors").exists())


def main():
    # Below nohup it is ignored, and so would the command.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    output, name, event, count, *command = sys.argv[1:]
    for left in reversed(range(TRIES)):
        code, said, in_time = interrupted(output, pathlib.Path(output, name), event, int(count), command)
        if in_time or not left:
            break
        shutil.rmtree(output, ignore_errors=True)
    sys.stderr.buffer.write(said)
    print("exit", code)


if __name__ == "__main__":
    main()
