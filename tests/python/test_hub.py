"""Models by name: from the Hugging Face hub's cache, and through huggingface_hub from a hub, which is a small server here."""
import hashlib
import http.server
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import brim
import case

HERE = case.folder()
FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "tasks" / "folders" / "st-cls-dense"
MODEL, TRAIN = HERE / "model", HERE / "data" / "train.csv"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def cache(folder, name, leave_out=()):
    """A hub's cache with one model."""
    at = folder / "hub" / ("models--" + name.replace("/", "--"))
    snapshot = at / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (at / "refs").mkdir()
    (at / "refs" / "main").write_text(COMMIT)
    for file in MODEL.iterdir():
        if file.name not in leave_out:
            shutil.copy(file, snapshot)
    return snapshot


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of huggingface.co as is asked for: what a model has, and its files."""

    files = {**{p.name: p.read_bytes() for p in MODEL.iterdir()}, "README.md": b"none of brim's", "tf_model.h5": b"x" * 1000,
             "pytorch_model.bin": b"x" * 1000, "onnx/model.onnx": b"x" * 1000}

    def reply(self, status, content, headers=()):
        self.send_response(status)
        for name, value in (("Content-Length", str(len(content))), *headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.server.asked.append((self.command, path))
        if path in ("/api/models/owner/tiny", "/api/models/owner/tiny/revision/main", f"/api/models/owner/tiny/revision/{COMMIT}"):
            about = {"_id": "1", "id": "owner/tiny", "modelId": "owner/tiny", "sha": COMMIT, "private": False, "tags": [],
                     "siblings": [{"rfilename": name} for name in self.files]}
            self.reply(200, json.dumps(about).encode(), [("Content-Type", "application/json")])
        elif path.startswith("/api/models/owner/tiny/tree/"):
            tree = [{"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                    for name, content in self.files.items()]
            self.reply(200, json.dumps(tree).encode(), [("Content-Type", "application/json")])
        elif path.startswith("/owner/tiny/resolve/") and path.split("/", 5)[5] in self.files:
            content = self.files[path.split("/", 5)[5]]
            self.reply(200, content, [("ETag", f'"{hashlib.sha1(content).hexdigest()}"'), ("X-Repo-Commit", COMMIT)])
        else:
            self.reply(404, b'{"error":"Repository not found"}', [("X-Error-Code", "RepoNotFound"), ("X-Error-Message", "Repository not found")])

    do_HEAD = do_GET

    def log_message(self, *arguments):
        pass


class Names(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(dir=HERE))
        self.before = {name: os.environ.get(name) for name in ("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE")}
        os.environ.pop("HF_HUB_CACHE", None)
        os.environ |= {"HF_HOME": str(self.home), "HF_HUB_OFFLINE": "1"}

    def tearDown(self):
        for name, value in self.before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    def test_from_the_cache(self):
        snapshot = cache(self.home, "owner/tiny")
        model = brim.Model("owner/tiny", labels=["0", "1"])
        self.assertEqual(pathlib.Path(model.path), snapshot)
        self.assertEqual(brim.Tokenizer("owner/tiny", revision=COMMIT).fingerprint, brim.Tokenizer(MODEL).fingerprint)
        self.assertEqual(brim.Tokenizer(f"owner/tiny@{COMMIT}").fingerprint, brim.Tokenizer(MODEL).fingerprint)
        weights = [brim.train(name, TRAIN, max_steps=2).model.parameters()["classifier.weight"].tolist() for name in ("owner/tiny", str(MODEL))]
        self.assertEqual(*weights)
        self.assertEqual(len(brim.Dataset.from_csv(TRAIN, "owner/tiny")), 96)

    def test_what_is_said(self):
        cache(self.home, "owner/cut", leave_out=["model.safetensors"])
        for name, words in (("owner/cut", "incomplete: it has no model.safetensors; fetch the rest with `hf download owner/cut`"),
                            ("owner/none", "no model of that name.*`hf download owner/none`.*HF_HUB_OFFLINE is set"),
                            ("owner/none@v2", "revision v2.*--revision v2"), ("../owner", "cannot open"), ("a/../owner", "cannot open")):
            with self.assertRaisesRegex(brim.errors.FileError, words):
                brim.train(name, TRAIN)
        with self.assertRaises(brim.errors.UsageError):
            brim.Model("../owner", revision="main")

    def test_a_folder_comes_first(self):
        cache(self.home, "tiny")
        here = os.getcwd()
        try:
            os.chdir(HERE)
            shutil.copytree(MODEL, HERE / "tiny", dirs_exist_ok=True)
            self.assertEqual(brim.Model("tiny", labels=["0", "1"]).path, "tiny")
        finally:
            os.chdir(here)
            shutil.rmtree(HERE / "tiny")

    def test_the_program_agrees(self):
        cache(self.home, "owner/tiny")
        case.program("train", "-m", "owner/tiny", "--train", TRAIN, "--max-steps", "2", "-o", self.home / "run", "--quiet")
        model = brim.train("owner/tiny", TRAIN, max_steps=2).model
        self.assertEqual(brim.Model(self.home / "run").logits(["good"]).tolist(), model.logits(["good"]).tolist())


@unittest.skipUnless(importlib.util.find_spec("huggingface_hub"), "huggingface_hub is not installed: pip install huggingface_hub")
class Fetching(unittest.TestCase):
    """In processes of their own: huggingface_hub reads HF_ENDPOINT when it is imported."""

    @classmethod
    def setUpClass(cls):
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()

    def run_python(self, code, home, **more):
        self.server.asked = []
        env = {**os.environ, "HF_HOME": str(home), "HF_ENDPOINT": f"http://127.0.0.1:{self.server.server_port}", "NO_PROXY": "127.0.0.1",
               "HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1", **more}
        env.pop("HF_HUB_CACHE", None)
        if "HF_HUB_OFFLINE" not in more:
            env.pop("HF_HUB_OFFLINE", None)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=300)
        self.asked = [path for _, path in self.server.asked]
        return done

    def test_fetched_once(self):
        home = pathlib.Path(tempfile.mkdtemp(dir=HERE))
        code = (f"import brim; r = brim.train('owner/tiny', {str(TRAIN)!r}, max_steps=2); "
                "print(r.model.path, r.model.predict('a good film')[0].label)")
        done = self.run_python(code, home)
        self.assertIn(f"models--owner--tiny/snapshots/{COMMIT}", done.stdout, done.stderr)
        fetched = {path.split("/", 5)[5] for path in self.asked if "/resolve/" in path}
        self.assertEqual(fetched, {"config.json", "model.safetensors", "tokenizer_config.json", "vocab.txt"})
        again = self.run_python(code, home)
        self.assertEqual((again.stdout, self.asked), (done.stdout, []))
        again = self.run_python(code, home, HF_HUB_OFFLINE="1")
        self.assertEqual((again.stdout, self.asked), (done.stdout, []))

    def test_the_rest_of_an_incomplete_copy(self):
        home = pathlib.Path(tempfile.mkdtemp(dir=HERE))
        cache(home, "owner/tiny", leave_out=["model.safetensors"])
        done = self.run_python("import brim; print(brim.Model('owner/tiny', labels=['a', 'b']).outputs)", home)
        self.assertEqual(done.stdout, "2\n", done.stderr)

    def test_sentences(self):
        """the encoder where modules.json says, the modules after it, and an older name of what says where texts are cut; nothing of what lies near"""
        home = pathlib.Path(tempfile.mkdtemp(dir=HERE))
        folder = pathlib.Path(shutil.copytree(FOLDER, home / "folder"))
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        for module, path in zip(modules, ("inner/encoder", "pool", "dense")):
            (folder / path).mkdir(parents=True)
            for file in [*(folder / module["path"]).iterdir()] if module["path"] else [*folder.glob("tokenizer*"), folder / "config.json", folder / "model.safetensors"]:
                file.rename(folder / path / file.name)
            module["path"] = path
        (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
        (folder / "sentence_bert_config.json").unlink()
        (folder / "inner" / "encoder" / "sentence_distilbert_config.json").write_text('{"max_seq_length": 4}', encoding="utf-8")
        needed = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.name not in ("expected.safetensors", "texts.json")}
        code = "import sys, brim; print(brim.Model(sys.argv[1]).embed(['the old film was good and the acting bad']).tolist())"
        wanted = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True).stdout
        with unittest.mock.patch.object(Hub, "files", {**needed, "other/model.safetensors": b"x", "texts.json": b"[]"}):
            done = self.run_python(code.replace("sys.argv[1]", "'owner/tiny'"), home)
        self.assertEqual(done.stdout, wanted, done.stderr)
        self.assertEqual({path.split("/", 5)[5] for path in self.asked if "/resolve/" in path}, set(needed))

    def test_not_there(self):
        home = pathlib.Path(tempfile.mkdtemp(dir=HERE))
        done = self.run_python("import brim; brim.Model('owner/none')", home)
        self.assertIn("brim.errors.NotFoundError: owner/none: there is no such file or folder", done.stderr)
        self.assertIn("fetching it failed", done.stderr)
        done = self.run_python("import brim; brim.Model('owner/tiny')", home, HF_HUB_OFFLINE="1")
        self.assertIn("HF_HUB_OFFLINE is set", done.stderr)
        self.assertEqual(self.asked, [])


if __name__ == "__main__":
    case.main()
