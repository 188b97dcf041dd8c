"""Devices: what is refused, and training on the emulated card where `make test-cuda` has built it."""
import os
import pathlib
import tempfile
import unittest
import unittest.mock

import brim
import case

HERE = case.folder()
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = ROOT / "build" / "tests" / "cuda" / "libfake_cuda.so"
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
