"""What shares a process with brim: forks, threads, Ctrl-C, other interpreters; and that memory and owners come back."""
import gc
import json
import os
import subprocess
import sys
import threading
import unittest

import brim
import case

HERE = case.folder()
TOKENIZER = brim.Tokenizer(HERE / "model")
TRAIN = HERE / "data" / "train.csv"


def rows_of(batches):
    return [batch.rows.tolist() for batch in batches]


class Processes(unittest.TestCase):
    def test_forked_children_use_datasets(self):
        rows = brim.Dataset.from_csv(TRAIN, TOKENIZER)
        want = rows_of(rows.batches(batch_size=6))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                texts = TOKENIZER.encode_batch(["a good film"] * 500).offsets.tolist()[-1]
                os.write(write, json.dumps([rows_of(rows.batches(batch_size=6)), texts]).encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            self.assertEqual(json.load(answer), [want, 2500])
        os.waitpid(child, 0)

    def test_a_forked_child_ends_with_the_function_that_forked(self):
        """A child that comes back out of a function which a run called ends, with its own status; its parent's run continues."""
        start = ("import os, signal, sys, time, brim\n"
                 f"folder = {str(HERE)!r}\nrows = folder + '/data/train.csv'\nforked = []\n"
                 "def fork(kind, answer, how):\n"
                 "    if not forked and kind != 'progress':\n"
                 "        child = os.fork()\n"
                 "        forked.append(child)\n"
                 "        if child == 0:\n"
                 "            print('of the child')\n"
                 "            return how()\n"
                 "        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)\n"
                 "    return answer\n"
                 "train = lambda **options: brim.train(folder + '/model', rows, max_steps=2, progress=False, **options)\n"
                 "def wait():\n"  # for the other thread, which the handler interrupts
                 "    while not forked:\n        time.sleep(0.01)\n")
        called = {"event": "train(on_event=lambda kind, fields: fork(kind, None, how))",
                  "metrics": "train(eval=rows, compute_metrics=lambda p: fork('', {}, how))",
                  "rows": "brim.Plan([1, 2, 3], rows_for=lambda longest: fork('', 1, how))",
                  "reading": "brim.Dataset.from_csv(rows, brim.Tokenizer(folder + '/model'), progress=lambda kind, fields: fork('', None, how))",
                  "signal": "signal.signal(signal.SIGUSR1, lambda *_: fork('', None, how))\n"
                            "train(on_event=lambda kind, fields: forked or (os.kill(os.getpid(), signal.SIGUSR1), wait()) and None)"}
        ways = {"lambda: None": (1, "a forked child cannot continue a run"), "lambda: 1 / 0": (1, "ZeroDivisionError"), "lambda: sys.exit()": (0, ""),
                "lambda: sys.exit(3)": (3, ""), "lambda: sys.exit('said so')": (1, "said so")}
        for name, call in called.items():
            for how, (status, line) in [*ways.items()][:5 if name == "event" else 1]:
                with self.subTest(name, how=how):
                    done = subprocess.run([sys.executable, "-c", f"{start}how = {how}\n{call}\nprint('of the parent')"], capture_output=True, text=True, timeout=60)
                    self.assertEqual((done.returncode, done.stdout.splitlines()), (0, ["of the child", str(status), "of the parent"]), done.stderr)
                    self.assertIn(line, done.stderr)
                    self.assertNotIn("Fatal", done.stderr)

    def test_threads_share_datasets(self):
        rows = brim.Dataset.from_csv(TRAIN, TOKENIZER)
        want = rows_of(rows.batches(batch_size=6))
        got = []
        threads = [threading.Thread(target=lambda: got.append(rows_of(rows.batches(batch_size=6)))) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, [want] * 6)

    def stopped(self, code):
        """What a program prints that interrupts itself: after(seconds), called where KeyboardInterrupt is caught, sends one Ctrl-C."""
        start = ("import json, os, signal, threading, time, brim\n"
                 "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
                 "after = lambda seconds: threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
                 f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); from case import in_use\n"
                 f"folder, t = {str(HERE)!r}, brim.Tokenizer({str(HERE / 'model')!r})\n")
        done = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_ctrl_c_while_reading(self):
        """Ctrl-C stops a long read and the process lives on."""
        out = self.stopped("texts = ['a good film ' * 200] * 3_000_000\n"
                           "try:\n    after(0.3)\n    brim.Dataset.from_texts(texts, t)\n"
                           "except KeyboardInterrupt:\n    print('stopped', len(brim.Dataset.from_texts(['a'], t)))\n")
        self.assertEqual(out, "stopped 1\n")

    def test_ctrl_c_while_encoding(self):
        """Ctrl-C stops encode_batch long before its end; what was encoded is given back, and the tokenizer continues."""
        times = 2 if case.SANITIZED else 8  # sanitizers do not say what is in use
        out = self.stopped("t = brim.Tokenizer(folder + '/model', runtime=brim.Runtime(2))\n"  # each thread has caches
                           "texts = ['a good film ' * 200] * 3_000_000\n"
                           "def stop():\n"
                           "    try:\n        after(0.3)\n        t.encode_batch(texts)\n"
                           "    except KeyboardInterrupt:\n        return 'stopped'\n"
                           "said, held = [], [in_use()]\n"
                           f"for _ in range({times}):\n    said.append(stop())\n    held.append(in_use())\n"
                           "print(json.dumps([said, held, t.encode_batch(['a good film', 'a']).offsets.tolist()]))\n")
        said, held, offsets = json.loads(out)
        self.assertEqual((said, offsets), (["stopped"] * times, [0, 5, 8]))
        if not case.SANITIZED:
            self.assertLess(max(held), held[0] + (96 << 20))  # tokens that it may keep, blocks and caches

    def test_ctrl_c_between_batches(self):
        """Ctrl-C ends a loop over batches; the next loop continues after the last batch that came."""
        out = self.stopped(
            "rows = brim.Dataset.from_texts(['a good film', 'dull', 'a'] * 20_000, t)\n"
            "def stop(seconds):\n"  # the last batch that came, if any did and they did not end: on a busy machine not every time
            "    batches, got = rows.batches(batch_size=4), None\n"
            "    try:\n        after(seconds)\n"
            "        for batch in batches:\n            got = batch.index\n"
            "        got = None\n        time.sleep(60)\n"
            "    except KeyboardInterrupt:\n        return batches, got if got is None or got < 14_990 else None\n"
            "for i in range(100):\n"
            "    batches, got = stop(0.01 * 2 ** (i % 5 - 2))\n"
            "    if got is not None:\n        break\n"
            "state, want = batches.state_dict(), rows.batches(batch_size=4)\n"
            "print(json.dumps([got, [state['epoch'], state['batch']], len(list(batches))]))\n"
            "batches.load_state_dict(state)\n"
            "mine, all = [b.rows.tolist() for b in batches], [b.rows.tolist() for b in want]\n"
            "print(mine == all[state['batch']:])\n")
        lines = out.splitlines()
        index, (epoch, batch), left = json.loads(lines[0])
        self.assertEqual(epoch, 0)
        self.assertIn(batch - index, (1, 2))  # the last may have come when nobody had looked at it
        self.assertEqual((left, lines[1]), (15_000, "True"))

    def test_ctrl_c_while_a_stream_reads(self):
        """Ctrl-C ends the wait for a window, and the stream continues where it stood; so does one that another call's Ctrl-C disturbs."""
        out = self.stopped(
            "name = folder + '/stop.txt'\n"
            f"with open(name, 'w') as f:\n    f.writelines('a good film ' * ({20 if case.SANITIZED else 80} + i % 7) + '\\n' for i in range(40_000))\n"
            "make = lambda prefetch, **o: brim.data.stream(name, t, max_length=400, batch_size=500, window=20_000, prefetch=prefetch, **o)\n"
            "rows = lambda stream, count: [b.rows.tolist() for _, b in zip(range(count), stream)]\n"
            "def stop(make):\n"  # a quick machine may be through before the signal comes: then once more, and sooner
            "    seconds = 0.05\n"
            "    while True:\n"
            "        stream, through = make(), False\n"
            "        state = stream.state_dict()\n"
            "        try:\n            after(seconds)\n            next(iter(stream))\n            through = True\n            time.sleep(60)\n"
            "        except KeyboardInterrupt:\n            seconds /= 2\n"
            "        if not through:\n            return stream, state\n"
            "want = rows(make(0), 50)\n"
            "for prefetch in (0, 1):\n"
            "    stream, state = stop(lambda: make(prefetch))\n"
            "    print('stopped', stream.state_dict() == state, rows(stream, 50) == want)\n"
            "finite, _ = stop(lambda: make(0, epochs=1))\n"
            "print('stopped', rows(finite, 50) == want)\n"
            "stream = make(1)\n"
            "got = rows(stream, 1)\n"
            "texts = ['a good film ' * 200] * 1_000_000\n"
            "try:\n    after(0.05)\n    t.encode_batch(texts)\n"
            "except KeyboardInterrupt:\n    print('stopped', got + rows(stream, 49) == want)\n"
            "os.unlink(name)\n")
        self.assertEqual(out.splitlines(), ["stopped True True"] * 2 + ["stopped True"] * 2)

    def test_interpreters(self):
        """Another interpreter of the same process has its own brim."""
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            try:
                import _interpreters as interpreters
            except ImportError:
                self.skipTest("this Python has no interpreters module")
        other = interpreters.create()
        paths = [p for p in sys.path]
        code = f"import sys; sys.path[:] = {paths!r}\nimport brim\nassert brim.Tokenizer({str(HERE / 'model')!r}).encode('a good film').length == 5"
        problem = interpreters.run_string(other, code)
        interpreters.destroy(other)
        self.assertIsNone(problem)
        self.assertEqual(TOKENIZER.encode("a good film").length, 5)

    def test_owners(self):
        """Whatever is made holds on to what it was made from, and lets go of it."""
        runtime = brim.Runtime(1)
        count = lambda: sys.getrefcount(runtime)
        tokenizer = brim.Tokenizer(HERE / "model", runtime=runtime)
        rows = brim.Dataset.from_csv(TRAIN, tokenizer, runtime=runtime)
        plan = brim.Plan(rows.lengths, runtime=runtime, batch_size=4)
        ragged = tokenizer.encode_batch(["a good film"])
        made = {"tokenizer": lambda: brim._core.tokenizer(runtime, str(HERE / "model")),
                "labels": lambda: brim._core.labels(runtime, "classification", ["a", "b"], 2, True),
                "dataset": lambda: brim.Dataset.from_texts(["a"], tokenizer, runtime=runtime)._core,
                "encoded": lambda: brim.Dataset.from_ids([1, 2], [0, 2], runtime=runtime)._core,
                "plan": lambda: brim.Plan([1, 2], runtime=runtime, batch_size=1)._core,
                "batch": lambda: plan._core.batch(rows._core, 0, 0, 0),
                "ragged": lambda: tokenizer.encode_batch(["a"]).ids,
                "feed": lambda: brim.data.stream(TRAIN, tokenizer, max_length=20, runtime=runtime)._feed,
                "model": lambda: brim.Model(HERE / "model", labels=["0", "1"], tokenizer=tokenizer, runtime=runtime)._core}
        for name, make in made.items():
            make()
            before = count()
            thing = make()
            self.assertGreater(count(), before, name)
            del thing
            self.assertEqual(count(), before, name)
        self.assertEqual(ragged.ids.tolist(), TOKENIZER.encode("a good film").ids.tolist())
        core = tokenizer._core
        before = sys.getrefcount(core)
        feed = brim.data.stream(TRAIN, tokenizer, max_length=20, runtime=runtime)._feed
        self.assertGreater(sys.getrefcount(core), before)
        batch = feed.next()
        ids, views = batch.ids, sys.getrefcount(batch)
        view = memoryview(ids)
        held = sys.getrefcount(ids)
        again = batch.ids
        self.assertEqual(sys.getrefcount(batch), views + 1)
        del again
        self.assertEqual(sys.getrefcount(batch), views)
        del view
        self.assertEqual(sys.getrefcount(ids), held - 1)
        capsule = ids.__dlpack__()
        self.assertEqual(sys.getrefcount(ids), held)
        del capsule
        self.assertEqual(sys.getrefcount(ids), held - 1)

    def test_memory_comes_back(self):
        """What is made a hundred times takes no more memory than made ten times."""
        if case.SANITIZED:
            self.skipTest("the address sanitizer keeps its own memory")
        texts = ["a good film, so very good " * 40] * 100
        rows = brim.Dataset.from_texts(texts, TOKENIZER, labels=["a", "b"] * 50)
        lengths = [5] * 60_000
        prompts = os.fsencode(HERE / "model"), (None, f"passage={texts[0]}", ["title=passage"]), None, ["anchor", "positive"]
        made = {"encode": lambda: TOKENIZER.encode(texts[0] * 200), "spans": lambda: TOKENIZER.encode(texts[0] * 200, offsets=True),
                "encode_batch": lambda: TOKENIZER.encode_batch(texts), "dataset": lambda: brim.Dataset.from_texts(texts, TOKENIZER),
                "plan": lambda: brim.Plan(lengths, batch_size=16), "tokenizer": lambda: brim.Tokenizer(HERE / "model"),
                "batches": lambda: [b.ragged() for b in rows.batches(batch_size=50)],
                "failure": lambda: self.assertRaises(TypeError, TOKENIZER.encode_batch, texts * 100 + [None]),
                "refusal of prompts": lambda: self.assertRaises(brim.errors.UsageError, brim._core.prompts, TOKENIZER._runtime, *prompts),
                "stream": lambda: next(iter(brim.data.stream(TRAIN, TOKENIZER, max_length=20)))}

        for name, make in made.items():
            for _ in range(10):
                make()
            gc.collect()
            before = case.in_use()
            for _ in range(100):
                make()
            gc.collect()
            self.assertLess(case.in_use() - before, 50_000, name)

    def test_arrow_is_released(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("pyarrow is not installed")
        texts = pyarrow.array(["a good film " * 20] * 500)
        gc.collect()  # what other tests left is not given back meanwhile
        before = pyarrow.total_allocated_bytes()
        for _ in range(3):
            reader = pyarrow.RecordBatchReader.from_batches(pyarrow.schema([("text", pyarrow.string())]),
                                                            (pyarrow.record_batch([texts.take(list(range(500)))], ["text"]) for _ in range(5)))
            rows = brim.Dataset.from_arrow(reader, TOKENIZER)
            self.assertEqual(len(rows), 2500)
        del reader
        gc.collect()
        self.assertEqual(pyarrow.total_allocated_bytes(), before)

    def test_no_leaks(self):
        """A million batches take no more memory than a hundred thousand."""
        rows = brim.Dataset.from_texts(["a good film", "dull"] * 4, TOKENIZER)
        plan = rows.batches(batch_size=8)

        core, fill = plan.plan(0)._core, rows._core
        many = int(os.environ.get("BRIM_LEAK_BATCHES", "1000000"))
        for i in range(many):
            batch = core.batch(fill, 0, 0, 0)
            batch.ids, batch.labels
            if i % 16 == 0:
                batch.padded(0, 0), batch.flat(-1)
            if i == many // 10:
                before = case.in_use()
        self.assertLess(case.in_use() - before, 100_000)


if __name__ == "__main__":
    case.main()
