"""``brim.train`` under an MPI launcher, with and without mpi4py."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import case

LAUNCHERS = [name for name in ("mpirun.openmpi", "mpirun.mpich", "mpirun") if shutil.which(name)][:2]
ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
           "OMPI_MCA_rmaps_base_oversubscribe": "1", "UCX_RNDV_THRESH": "inf"}
TRAIN = """
import os, sys
{before}
import brim
from brim import ranks
result = brim.train("model", "data/train.jsonl", eval="data/test.jsonl", output=sys.argv[1], slices=24, batch_size=20, epochs=2, lr=1e-3)
rank, world = ranks.join()
assert (rank == 0) == bool(result.losses) == bool(result.evaluations), (rank, result.losses)
assert result.rows == 192 and len(result.model.predict(["a fine film"])) == 1
os.write(1, b"rank %d of %d\\n" % (rank, world))  # in one piece, however many processes write
{after}
"""


@unittest.skipUnless(LAUNCHERS, "there is no MPI: tools/deps --mpi")
class Ranks(unittest.TestCase):
    def run_script(self, script, *words, launcher=None, ranks=1, **more):
        path = pathlib.Path(self.folder, "script.py")
        path.write_text(script)
        launch = [launcher, "-n", str(ranks)] if launcher else []
        done = subprocess.run([*launch, sys.executable, str(path), *words], cwd=case.folder(), env={**os.environ, **ALLOWED, **more}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout + done.stderr

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="brim-python-ranks-")
        self.addCleanup(shutil.rmtree, self.folder)

    def weights(self, name):
        return pathlib.Path(self.folder, name, "model.safetensors").read_bytes()

    def alone(self):
        if not hasattr(Ranks, "one"):
            code, text = self.run_script(TRAIN.format(before="", after=""), f"{self.folder}/one")
            self.assertEqual(code, 0, text)
            Ranks.one = self.weights("one")
        return self.one

    def test_same_bits(self):
        "brim.train of several processes: the bits of one, and one of them writes"
        one = self.alone()
        ways = [(launcher, ranks) for launcher in LAUNCHERS for ranks in (2, 3)]
        for launcher, ranks in [ways[at] for at in case.takes(len(ways))]:
            code, text = self.run_script(TRAIN.format(before="", after=""), f"{self.folder}/{launcher}-{ranks}", launcher=launcher, ranks=ranks)
            self.assertEqual(code, 0, text)
            self.assertEqual({f"rank {rank} of {ranks}" for rank in range(ranks)}, {line for line in text.splitlines() if line.startswith("rank ")}, text)
            self.assertEqual(one, self.weights(f"{launcher}-{ranks}"))
            self.assertTrue(pathlib.Path(self.folder, f"{launcher}-{ranks}", "report.html").exists())

    def test_stream(self):
        "a stream of files is shared by the processes, with the bits of one"
        script = ("import sys, brim\nbrim.train('model', 'data/train.csv', stream=True, max_steps=3, slices=4, output=sys.argv[1])\n"
                  "assert brim.ranks.join()[1] == int(sys.argv[2])\n")
        for name, launcher, ranks in (("alone", None, 1), ("two", LAUNCHERS[0], 2)):
            code, text = self.run_script(script, f"{self.folder}/{name}", str(ranks), launcher=launcher, ranks=ranks)
            self.assertEqual(code, 0, text)
        self.assertEqual(self.weights("alone"), self.weights("two"))
        code, text = self.run_script("import brim\nbrim.train('model', 'data/train.csv', max_steps=1)\n", launcher=LAUNCHERS[0], ranks=2, BRIM_RANK_TIMEOUT="soon")
        self.assertIn("BRIM_RANK_TIMEOUT='soon' in the environment: a number is needed", text)

    @unittest.skipUnless(importlib.util.find_spec("mpi4py"), "mpi4py is not installed")
    def test_mpi4py(self):
        "brim.train joins the MPI that mpi4py began"
        one = self.alone()
        script = TRAIN.format(before="from mpi4py import MPI", after="assert MPI.COMM_WORLD.allreduce(1) == world == MPI.COMM_WORLD.Get_size()")
        code, text = self.run_script(script, f"{self.folder}/two", launcher=LAUNCHERS[0], ranks=2)
        self.assertEqual(code, 0, text)
        self.assertEqual(one, self.weights("two"))

    def test_failures(self):
        "a process that fails ends all, and says why; other arguments are told before the first step"
        fails = "import os, brim\nfrom brim import ranks\nrank, world = ranks.join()\nif rank == 1:\n    raise KeyError('no such thing')\n"
        code, text = self.run_script(fails + TRAIN.format(before="", after=""), f"{self.folder}/none", launcher=LAUNCHERS[0], ranks=2)
        self.assertNotEqual(code, 0)
        self.assertIn("no such thing", text)
        other = TRAIN.replace("lr=1e-3", "lr=1e-3 * (1 + ranks.join()[0])").format(before="", after="")
        code, text = self.run_script(other, f"{self.folder}/none", launcher=LAUNCHERS[0], ranks=2)
        self.assertNotEqual(code, 0)
        self.assertIn("lr: 0.002 on rank 1, 0.001 on rank 0", text)
        folds = TRAIN.replace("eval=", "folds=3, eval=").format(before="", after="")
        code, text = self.run_script(folds, f"{self.folder}/none", launcher=LAUNCHERS[0], ranks=2)
        self.assertIn("several processes train folds by the command only", text)
        self.assertFalse(pathlib.Path(self.folder, "none").exists())

    def test_none(self):
        "BRIM_MPI=none: each process trains alone"
        script = "import sys, brim\nfrom brim import ranks\nassert not ranks.launched() and ranks.join() == (0, 1)\n"
        code, text = self.run_script(script, launcher=LAUNCHERS[0], ranks=2, BRIM_MPI="none")
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    case.main()
