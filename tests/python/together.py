"""Runs tests as forks of one process, which imports torch, transformers and sentence-transformers once: seven processor seconds a test otherwise.
together.py JOBS FOLDER TEST...

A line of JSON for each test that has ended, [TEST, exit status, seconds]; what it printed is FOLDER/TEST's name."""
import atexit
import contextlib
import json
import os
import pathlib
import runpy
import sys
import time
import traceback

for name in ("torch", "sentence_transformers"):
    with contextlib.suppress(ImportError):
        __import__(name)
with contextlib.suppress(ImportError):
    from transformers import AutoModelForSequenceClassification, Trainer  # noqa: F401 (what is named is what is loaded)


def run(test, out):
    """In the child: as python TEST > OUT would."""
    with open(out, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv[:] = [test]
    sys.path[0] = os.path.dirname(test)
    status = 1
    try:
        runpy.run_path(test, run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(status)


def main():
    jobs, folder, waiting, running = int(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:], {}
    while waiting or running:
        while waiting and len(running) < jobs:
            test, begin = waiting.pop(0), time.monotonic()
            child = os.fork()
            if child == 0:
                run(test, folder / pathlib.Path(test).name)
            running[child] = test, begin
        child, status = os.wait()
        test, begin = running.pop(child)
        print(json.dumps([test, os.waitstatus_to_exitcode(status), time.monotonic() - begin]), flush=True)


if __name__ == "__main__":
    main()
