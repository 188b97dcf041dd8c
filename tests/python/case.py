"""What the tests of the Python package share: a small model and data in a temporary folder, and TAP instead of unittest's dots."""
import atexit
import contextlib
import ctypes
import importlib
import io
import os
import pathlib
import random
import resource
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "cli"))
import fixtures  # noqa: E402

PROGRAM = os.environ.get("BRIM") or shutil.which("brim", path=os.path.dirname(sys.executable)) or shutil.which("brim")
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
_folder = None


class _MallInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


def in_use():
    """Bytes that were taken from malloc and Python's own blocks and not given back: exact, while the pages of a process depend on
    which thread took what when, and on what malloc keeps."""
    try:
        info = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        raise unittest.SkipTest("this C library does not say what is in use")
    info.restype = _MallInfo
    now = info()
    return now.uordblks + now.hblkhd + 64 * sys.getallocatedblocks()


def folder():
    """model/ and data/ as tests/cli/fixtures.py makes them."""
    global _folder
    if _folder is None and os.path.isdir(os.environ.get("BRIM_TEST_FOLDER", "")):  # a process that the test started, and imports it
        _folder = pathlib.Path(os.environ["BRIM_TEST_FOLDER"])
    if _folder is None:
        _folder = pathlib.Path(tempfile.mkdtemp(prefix="brim-python-"))
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
        os.environ["BRIM_TEST_FOLDER"] = str(_folder)
        fixtures.write_all(_folder)
    return _folder


def program(*arguments):
    """What the program prints."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout


def script(path, *arguments):
    """What a program in Python prints. It runs in this process, which has imported torch where it needs it."""
    before, out = os.getcwd(), io.StringIO()
    os.chdir(folder())
    try:
        with contextlib.redirect_stdout(out), unittest.mock.patch.object(sys, "argv", [str(path), *map(str, arguments)]):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        os.chdir(before)
    return out.getvalue()


def module(name):
    """Another package; without it the test is skipped."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed")


def weights(model):
    """The bytes of all that is trained."""
    return {name: bytes(memoryview(values)) for name, values in model.parameters().items()}


def drawn():
    """The seed of the cases that run: 1, so that a change is judged by the cases of the last one, TAP_SEED, or another one (random)."""
    given = os.environ.get("TAP_SEED") or "1"
    return time.time_ns() // 1000 % 1000000007 if given == "random" else int(given)


def takes(many, most=None):
    """Of so many cases alike, the numbers of those that run: ``most`` (all), and of them under sanitizers a quarter, by a seed that is printed."""
    if not many:
        raise AssertionError("there are no cases, so that nothing would be looked at")
    count = many if most is None else min(many, most)
    if SANITIZED:
        count = (count + 3) // 4
    if count == many or "1" in (os.environ.get("TAP_ALL"), os.environ.get("BRIM_TEST_ALL")):
        return range(many)
    seed = drawn()
    print(f"# {count} of {many} cases, seed {seed}: TAP_SEED={seed} repeats it, TAP_ALL=1 takes all")
    return sorted(random.Random(seed).sample(range(many), count))


class _Tap(unittest.TestResult):
    failed = None  #: the test of which a part failed

    def _line(self, good, test, note=""):
        words = test.shortDescription() or test.id().split(".", 1)[-1]
        print(f"{'ok' if good else 'not ok'} {self.testsRun} - {words}{note}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(True, test, f" # SKIP {reason}")

    def addSubTest(self, test, subtest, error):
        """One line for a test, whatever number of its parts failed."""
        super().addSubTest(test, subtest, error)
        if error and test is not self.failed:
            self._line(False, test)
        if error:
            self.failed = test
            print(f"# {subtest}")
            self._explain(test, error)

    def _bad(self, test, error):
        self._line(False, test)
        self._explain(test, error)

    def _explain(self, test, error):
        for line in self._exc_info_to_string(error, test).splitlines():
            print(f"# {line}")

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._bad(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._bad(test, error)


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    if not suite.countTestCases():
        sys.exit("there are no tests")
    result = _Tap()
    print(f"1..{suite.countTestCases()}")
    suite.run(result)
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"# {sum(u.ru_utime + u.ru_stime for u in used):.1f} processor seconds")
    sys.exit(0 if result.wasSuccessful() else 1)
