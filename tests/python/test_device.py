"""Devices: what is refused, and training on the emulated card where `make test-cuda` has built it."""
import ctypes
import gc
import os
import pathlib
import pickle
import tempfile
import unittest
import unittest.mock

import brim
import case

HERE = case.folder()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = pathlib.Path(os.environ.get("BRIM_BUILD") or ROOT / "build") / "tests" / "cuda" / "libfake_cuda.so"
TEXTS = {"text": ["a good film", "a bad one", "warm and funny", "dull and slow"] * 4, "label": [1, 0, 1, 0] * 4}


class Device(unittest.TestCase):
    def test_names(self):
        """Other devices than cpu and cuda are refused"""
        for name in ("tpu", "cuda:first", "cpu:1"):
            with self.assertRaisesRegex(ValueError, '"cpu", "cuda" or "cuda:N"'):
                brim.Model(HERE / "model", device=name)

    def test_missing(self):
        """A GPU that cannot be used is one line"""
        with unittest.mock.patch.dict(os.environ, BRIM_LIBCUDA="/nowhere/libcuda.so.1"):
            with self.assertRaisesRegex(brim.errors.UnsupportedError, "BRIM_LIBCUDA names no library"):
                brim.train(HERE / "model", TEXTS, device="cuda")


@unittest.skipUnless(LIBRARY.exists(), "make test-cuda builds the emulated card")
class Emulated(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = unittest.mock.patch.dict(os.environ, BRIM_LIBCUDA=str(LIBRARY), BRIM_NVRTC=str(LIBRARY), BRIM_CUBLASLT="none", BRIM_CACHE=folder.name)
        patch.start()
        self.addCleanup(patch.stop)

    def test_train(self):
        """Training on the card gives the processor's answers"""
        models = [brim.train(HERE / "model", TEXTS, epochs=2, batch_size=4, lr=1e-3, device=device).model for device in ("cuda", "cpu")]
        self.assertTrue(models[0].kernels.startswith("cuda-sm"))
        logits = [model.logits(TEXTS["text"][:4]).tolist() for model in models]
        for one, other in zip(*logits):
            self.assertLess(max(abs(a - b) for a, b in zip(one, other)), 1e-5)

    def test_cards(self):
        """A card by its number, which must be there"""
        with unittest.mock.patch.dict(os.environ, BRIM_FAKE_CARDS="2"):
            self.assertTrue(brim.Model(HERE / "model", labels=["no", "yes"], untrained=True, device="cuda:1").kernels.startswith("cuda-sm"))
            with self.assertRaisesRegex(brim.errors.UnsupportedError, "no GPU cuda:2: the driver shows 2"):
                brim.Model(HERE / "model", labels=["no", "yes"], untrained=True, device="cuda:2")

    def test_tf32(self):
        """TF32 is of a card that has cuBLASLt, and part of what computes"""
        with unittest.mock.patch.dict(os.environ, BRIM_CUBLASLT=str(LIBRARY)):
            self.assertRegex(brim.Model(HERE / "model", labels=["no", "yes"], untrained=True, device="cuda", tf32=True).kernels, r"-cublaslt\d+x\d+-tf32$")
            result = brim.train(HERE / "model", TEXTS, max_steps=1, batch_size=4, device="cuda", tf32=True)
            self.assertTrue(result.model.kernels.endswith("-tf32"))
        with self.assertRaisesRegex(brim.errors.UnsupportedError, "use the device cuda"):
            brim.Model(HERE / "model", labels=["no", "yes"], untrained=True, tf32=True)

    def test_logits_on_device(self):
        """Logits stay on the card: DLPack has their address there, nothing comes to the host, and they outlive the model"""
        driver = ctypes.CDLL(str(LIBRARY))
        driver.fake_cuda_left.restype = driver.fake_cuda_count.restype = ctypes.c_long
        driver.fake_cuda_has.restype = ctypes.c_bool
        transfers = lambda: sum(driver.fake_cuda_count(kind) for kind in (3, 4))  # FAKE_PINNED, FAKE_PAGEABLE
        before = driver.fake_cuda_left()
        model = brim.Model(HERE / "model", labels=["no", "yes"], untrained=True, device="cuda")
        texts = ["a good film", "a bad one", "warm", "dull and slow and dull", "warm and funny"]
        model.logits(texts)
        counts = [transfers()]
        want = model.logits(texts, batch_size=5)
        counts.append(transfers())
        there = model.logits(texts, batch_size=5, on_device=True)
        counts.append(transfers())
        self.assertEqual(counts[2] - counts[1], counts[1] - counts[0] - 1)  # all but the answer
        self.assertEqual((there.__dlpack_device__(), there.shape), ((2, 0), (5, 2)))
        capsule = there.__dlpack__(stream=None)
        ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
        ctypes.pythonapi.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        address = ctypes.cast(ctypes.pythonapi.PyCapsule_GetPointer(capsule, b"dltensor"), ctypes.POINTER(ctypes.c_void_p))[0]
        self.assertTrue(driver.fake_cuda_has(ctypes.c_void_p(address), ctypes.c_ulong(5 * 2 * 4)))
        del model
        gc.collect()
        self.assertEqual(brim.to(there, "cpu").tolist(), want.tolist())
        small = brim.Model(HERE / "model", labels=["no", "yes"], untrained=True, device="cuda").logits(texts, batch_size=2, on_device=True)
        for one, other in zip(brim.to(small, "cpu").tolist(), want.tolist()):
            self.assertLess(max(abs(a - b) for a, b in zip(one, other)), 1e-5)
        del there, small, capsule
        gc.collect()
        self.assertEqual(driver.fake_cuda_left(), before)
        with self.assertRaisesRegex(brim.errors.UnsupportedError, "not on a GPU"):
            brim.Model(HERE / "model", labels=["no", "yes"], untrained=True).logits(texts, on_device=True)

    def test_dlpack(self):
        """Arrays on a card: DLPack names it, the host does not look into it, and its memory lives as long as somebody has it"""
        driver = ctypes.CDLL(str(LIBRARY))
        driver.fake_cuda_left.restype = ctypes.c_long
        model = brim.Model(HERE / "model", labels=["no", "yes"], untrained=True)
        logits = model.logits(["a good film", "a bad one"])
        driver.fake_cuda_be(90, 227 << 10, 2)
        self.addCleanup(driver.fake_cuda_be, 90, 227 << 10, 1)
        before = driver.fake_cuda_left()
        there = brim.to(logits, "cuda:1")
        self.assertEqual((there.__dlpack_device__(), logits.__dlpack_device__(), there.shape), ((2, 1), (1, 0), (2, 2)))
        for look in (memoryview, lambda array: array.tolist(), lambda array: array[0]):
            with self.assertRaisesRegex(BufferError, "on a GPU"):
                look(there)
        with self.assertRaisesRegex(TypeError, "pickled"):
            pickle.dumps(there)
        self.assertIn("cuda:1", repr(there))
        self.assertEqual(brim.to(there, "cpu").tolist(), logits.tolist())
        capsule = there.__dlpack__(stream=1)
        self.assertIn('"dltensor"', repr(capsule))
        del there
        self.assertGreater(driver.fake_cuda_left(), before)
        del capsule
        self.assertEqual(driver.fake_cuda_left(), before)
        with self.assertRaisesRegex(brim.errors.UnsupportedError, "no GPU cuda:2"):
            brim.to(logits, "cuda:2")

    def test_batch(self):
        """A batch on a card has the arrays that it has in memory"""
        rows = brim.Dataset.from_csv(HERE / "data" / "train.csv", brim.Tokenizer(HERE / "model"), max_length=20)
        batch = next(iter(rows.batches(batch_size=4)))
        there = batch.to("cuda")
        self.assertEqual(there.keys(), batch.arrays().keys())
        for name, array in batch.arrays().items():
            if hasattr(array, "__dlpack_device__"):
                self.assertEqual(there[name].__dlpack_device__(), (2, 0))
                self.assertEqual(brim.to(there[name], "cpu").tolist(), array.tolist())

    def test_parameters(self):
        """Weights of a card are copies, which written() sends back"""
        model = brim.Model(HERE / "model", labels=["no", "yes"], untrained=True, device="cuda")
        before = model.logits(["a good film"]).tolist()[0]
        bias = memoryview(model.parameters()["classifier.bias"])
        bias[0] += 2
        self.assertEqual(model.logits(["a good film"]).tolist()[0], before)
        model.written()
        after = model.logits(["a good film"]).tolist()[0]
        self.assertAlmostEqual(after[0], before[0] + 2, 5)
        self.assertEqual(after[1], before[1])
        self.assertEqual(memoryview(model.parameters()["classifier.bias"])[0], bias[0])


if __name__ == "__main__":
    case.main()
