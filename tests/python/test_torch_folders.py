"""Folders of tokenizers beside transformers: the folder as it is edited, and what brim saves of it. Skipped without transformers."""
import itertools
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

import case

try:
    import torch
    import transformers
except ImportError:
    print("1..0 # SKIP transformers is not installed")
    sys.exit(0)
import tokenizer_classes as classes
import tokenizer_folders as folders
import tokenizer_roles as roles

import brim

transformers.logging.set_verbosity_error()
STEP = 1 if os.environ.get("BRIM_TEST_ALL") == "1" else 5  # make test-everything has all


class Folders(unittest.TestCase):
    def test_ids(self):
        """AutoTokenizer gives the same ids for the folder, and for what brim saves of it"""
        equal = saved = 0
        with tempfile.TemporaryDirectory() as place:
            for number, (name, files) in enumerate(folders.cases()):
                if number % STEP:
                    continue
                folder = folders.write(pathlib.Path(place, str(number)), files)
                ours, theirs = folders.of_brim(folder), folders.of_transformers(folder)
                if "refused" in ours or "refused" in theirs:
                    continue
                self.assertEqual(folders.compare(ours, theirs), [], name)
                equal += 1
                ours["tokenizer"].save(pathlib.Path(place, f"saved-{number}"))
                again = folders.of_transformers(pathlib.Path(place, f"saved-{number}"))
                self.assertNotIn("refused", again, name)
                self.assertEqual([key for key in again if again[key] != ours[key]], [], f"{name}, saved")
                saved += 1
        print(f"# transformers {transformers.__version__}: {equal} folders equal, and {saved} of what was saved")
        self.assertGreater(equal, 450 // STEP)

    def test_classes(self):
        """every class of transformers, named for every kind of file: the same ids, or a refusal that names the class"""
        every, equal, refused = list(classes.cases()), 0, set()
        with tempfile.TemporaryDirectory() as place:
            for number, (name, files) in enumerate(every if STEP == 1 else random.Random(7).sample(every, len(every) // 60)):
                title = name.split(",")[0]
                if title in refused and not title.startswith("Llama"):  # whatever the files are
                    continue
                folder = folders.write(pathlib.Path(place, str(number)), files)
                try:
                    tokenizer = brim.Tokenizer(folder)
                except brim.Error as failure:
                    self.assertIn("tokenizer_config.json", str(failure), name)
                    refused.update([title] * ("does not build" in str(failure)))
                    continue
                try:
                    theirs = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
                    want = classes.of(lambda *texts, how=theirs: how(*texts)["input_ids"])
                except Exception:  # nobody can train with such a folder there
                    continue
                self.assertEqual(classes.of(lambda *texts, how=tokenizer: list(how.encode(*texts).ids)), want, name)
                equal += 1
        print(f"# {equal} folders equal, {len(refused)} classes refused")
        self.assertGreater(equal, 2000 if STEP == 1 else 20)

    def same(self, cases, texts, also_saved):
        """Holds each folder, and also what is saved of it, against AutoTokenizer; how many there were that both take."""
        equal = 0
        with tempfile.TemporaryDirectory() as place:
            for number, (name, files) in enumerate(cases):
                folder, saved = folders.write(pathlib.Path(place, str(number)), files), pathlib.Path(place, f"saved-{number}")
                try:
                    theirs = transformers.AutoTokenizer.from_pretrained(folder)
                    want = [theirs(*text)["input_ids"] for text in texts]
                except Exception:  # nobody can train with such a folder there
                    continue
                try:
                    ours = brim.Tokenizer(folder)
                except brim.Error as failure:
                    self.assertRegex(str(failure), "lacks the ", name)
                    continue
                self.assertEqual([list(ours.encode(*text).ids) for text in texts], want, name)
                equal += 1
                if also_saved:
                    ours.save(saved)
                    again = transformers.AutoTokenizer.from_pretrained(saved)
                    self.assertEqual([again(*text)["input_ids"] for text in texts], want, f"{name}, saved")
                    self.assertEqual(again.get_added_vocab(), theirs.get_added_vocab(), f"{name}, saved")
        return equal

    def test_ties(self):
        """pieces whose scores add up to the same but for the last bit: as the class reads numbers, and as tokenizer.json alone does"""
        pieces = [(f"<{name}>", 0.0) for name in ("s", "pad", "/s", "unk", "mask")] + [("[CLS]", 0.0), ("[SEP]", 0.0), ("\u2581", -2.0)]
        draw = random.Random(5)
        with tempfile.TemporaryDirectory() as place:
            for number in range(20):
                # the last bit of how its numbers are read decides the first pair
                first, second = (-7.5034181044456165, -6.316874093978059) if number == 0 else (-draw.uniform(5, 12) for _ in range(2))
                vocabulary = [*pieces, ("x", first), ("z", first), ("xy", second), ("yz", second), ("y", -20.0)]
                made = {"version": "1.0", "truncation": None, "padding": None, "post_processor": None, "decoder": None, "normalizer": None,
                        "added_tokens": [{"id": at, "content": piece, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                                         for at, (piece, _) in enumerate(vocabulary[:7])],
                        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
                        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": False}}
                for name in ("XLMRobertaTokenizer", "CamembertTokenizer", "AlbertTokenizer", "DebertaV2Tokenizer", "PreTrainedTokenizerFast"):
                    folder = folders.write(pathlib.Path(place, f"{number}-{name}"), {
                        "tokenizer.json": json.dumps(made), "tokenizer_config.json": json.dumps({"tokenizer_class": name, "unk_token": "<unk>", "pad_token": "<pad>"})})
                    theirs, ours = transformers.AutoTokenizer.from_pretrained(str(folder)), brim.Tokenizer(folder)
                    ours.save(pathlib.Path(place, "saved"))
                    for text in ("xyz", "x xyz xyz xyzxyz"):
                        want = theirs(text, add_special_tokens=False)["input_ids"]
                        for one in (ours, brim.Tokenizer(pathlib.Path(place, "saved"))):
                            self.assertEqual(list(one.encode(text, special_tokens=False).ids), want, (name, first, second, text))

    def test_side(self):
        """a tokenizer of transformers cuts on the side that it is set to now, whatever its last call cut or padded"""
        text, calls = "good bad film story", ({}, {"truncation": True, "max_length": 4}, {"padding": "max_length", "max_length": 9}, {"truncation": True, "max_length": 5, "stride": 1})
        for first in ("left", "right"):
            for now in ("left", "right"):
                for call in calls:
                    theirs = transformers.AutoTokenizer.from_pretrained(str(case.folder() / "model"))
                    theirs.truncation_side = first
                    theirs(text, **call)
                    theirs.truncation_side = now
                    ours = brim.Dataset.from_texts([text], theirs, max_length=4)
                    self.assertEqual(ours[0]["input_ids"], theirs(text, truncation=True, max_length=4)["input_ids"], (first, now, call))
                    self.assertEqual(len(brim.Dataset.from_texts([text], theirs)[0]["input_ids"]), 6)

    def test_roles(self):
        """roles with flags in both files, tokens of other names, and extra ones: the same ids"""
        seed, count = (0, 1500) if STEP == 1 else (case.drawn(), 60)
        equal = self.same(roles.cases(seed, count), [*([text] for text in roles.TEXTS), folders.PAIR], True)
        print(f"# {equal} of {count} folders equal, seed {seed}: TAP_SEED={seed} repeats them")
        self.assertGreater(equal, count // 2)

    def test_extra(self):
        """extra tokens whose flags differ between the lists of both files, and inside one: the same ids"""
        seed, count = (0, 1500) if STEP == 1 else (int(os.environ.get("TAP_SEED") or 7), 60)
        equal = self.same(roles.extra_cases(seed, count), [*([text] for text in roles.TEXTS), folders.PAIR], True)
        print(f"# {equal} of {count} folders equal, seed {seed}: TAP_SEED={seed} repeats them")
        self.assertGreater(equal, count // 3)

    def test_herbert(self):
        """the folders of its class that transformers writes, and each edit of them: the same ids"""
        pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *"abcdefghijklmnopqrstuvwxyz", *(letter + "</w>" for letter in "aeilmnory.,!"), "fi", "fil", "film</w>"]
        made = transformers.HerbertTokenizer(vocab={piece: at for at, piece in enumerate(pieces)}, merges=[("f", "i"), ("fi", "l"), ("fil", "m</w>")])
        with tempfile.TemporaryDirectory() as place:
            made.save_pretrained(place)
            texts_of = {file: pathlib.Path(place, file).read_text() for file in ("tokenizer.json", "tokenizer_config.json")}
        saved = {**texts_of, "tokenizer_config.json": json.loads(texts_of["tokenizer_config.json"]), "config.json": {"model_type": "bert"}}
        texts = [*([text] for text in roles.TEXTS), folders.PAIR, ("A film, a zebra!",), ("ΩΩ ΩΩaΩΩ",)]
        self.assertGreater(self.same(roles.herbert(saved), texts, True), 25)

    def test_file(self):
        """a tokenizer.json that is named itself is saved so that AutoTokenizer takes it as it stands, whatever the model is"""
        for tokenizer in sorted(folders.TOKENIZERS.iterdir()):
            for kind in ("bert", "roberta", "xlm-roberta", "deberta-v2", "mpnet", "modernbert"):
                with tempfile.TemporaryDirectory() as place:
                    ours = brim.Tokenizer(tokenizer / "tokenizer.json")
                    ours.save(place)
                    pathlib.Path(place, "config.json").write_text(f'{{"model_type": "{kind}"}}', encoding="utf-8")
                    theirs = transformers.AutoTokenizer.from_pretrained(place)
                    for text in folders.TEXTS:
                        self.assertEqual(theirs(text)["input_ids"], list(ours.encode(text).ids), (tokenizer.name, kind, text))
                    theirs(["a", "longer text"], padding=True)

    def test_types(self):
        """types of a pair are what AutoTokenizer gives the model: none where no file asks for them; what is trained so keeps them"""
        pairs, names = [("good film", "bad"), ("a", "good film good")], ["input_ids", "token_type_ids", "attention_mask"]
        for said, typed in (({"tokenizer_class": "BertTokenizer"}, True), ({"tokenizer_class": "PreTrainedTokenizerFast"}, False), ({"tokenizer_class": "TokenizersBackend"}, False),
                            ({}, True), ({"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": names}, True), ({"model_input_names": names[::2]}, False),
                            ({"model_input_names": "token_type_ids"}, False), ({"tokenizer_class": "DistilBertTokenizer"}, False)):
            with tempfile.TemporaryDirectory() as place:
                folder, rows = pathlib.Path(place, "model"), [(*pair, label) for pair, label in zip(pairs, "xy")]
                brim.train(str(case.folder() / "model"), rows, max_steps=1, output=folder, progress=False)
                (folder / "tokenizer_config.json").write_text(json.dumps({"pad_token": "[PAD]", **said}), encoding="utf-8")
                run = pathlib.Path(place, "run")
                brim.train(str(folder), rows, max_steps=1, output=run, progress=False)
                tokenizer = brim.Tokenizer(folder)
                self.assertEqual((tokenizer.uses_type_ids, 1 in list(tokenizer.encode(*pairs[0]).type_ids)), (typed, typed), said)
                for at in (folder, run):
                    tokenizer, model = transformers.AutoTokenizer.from_pretrained(at), transformers.AutoModelForSequenceClassification.from_pretrained(at).eval()
                    batch = tokenizer(pairs, padding="longest", return_tensors="pt") if "input_ids" in tokenizer.model_input_names else None
                    for number, pair in enumerate(pairs):
                        row = tokenizer(*pair, return_tensors="pt")
                        self.assertEqual(1 in row.get("token_type_ids", []), typed, (said, at.name))
                        with torch.no_grad():
                            want = [model(**row).logits[0], *([model(**batch).logits[number]] if batch else ())]
                        for logits in want:
                            self.assertLess(abs(brim.Model(at).logits([pair])[0] - logits.numpy()).max(), 1e-4, (said, at.name))

    def test_decode(self):
        """added tokens that are special or normalized, or both, and clean_up_tokenization_spaces: the decoded text"""
        draw, said = random.Random(case.drawn()), 0
        for base in folders.BASES:
            for tidy in (True, False, None):
                files, first = folders.base_files(base), folders.next_id(folders.base_files(base))
                folders.own(files)["added_tokens"] += [{"id": first + at, **folders.token(f"[New {at}]", special=at % 2 > 0, normalized=at > 1)} for at in range(4)]
                files["tokenizer_config.json"].update(clean_up_tokenization_spaces=tidy)
                with tempfile.TemporaryDirectory() as place:
                    folder = folders.write(pathlib.Path(place, "given"), files)
                    theirs, ours = transformers.AutoTokenizer.from_pretrained(folder), brim.Tokenizer(folder)
                for ids in (theirs("it 's , do not . I 've n't ' ok ' ?")["input_ids"], *([draw.choice([*range(first + 4), *range(first, first + 4)]) for _ in range(9)] for _ in range(20))):
                    for skip in (True, False):
                        self.assertEqual(ours.decode(ids, skip_special_tokens=skip), theirs.decode(ids, skip_special_tokens=skip), (base[0], tidy, ids, skip))
                        said += 1
        self.assertEqual(said, len(folders.BASES) * 3 * 42)

    def test_objects(self):
        """a tokenizer of transformers with a role that its vocabulary lacks, or with none: the same ids, also of what is saved"""
        cases = list(itertools.product(folders.BASES, ("sep_token", "cls_token", "unk_token", "pad_token"), ("<new>", None), (False, True)))
        for base, role, new, added in (cases[at] for at in case.takes(len(cases), 64)):
            with tempfile.TemporaryDirectory() as place:
                folder = folders.write(pathlib.Path(place, "given"), folders.base_files(base))
                theirs = transformers.AutoTokenizer.from_pretrained(folder)
                if added and new:
                    theirs.add_special_tokens({role: new})
                else:
                    setattr(theirs, role, new)
                ours = brim.tokenizer._tokenizer(theirs, None)
                ours.save(pathlib.Path(place, "saved"))
                again = transformers.AutoTokenizer.from_pretrained(pathlib.Path(place, "saved"))
                for text in (*([text] for text in folders.TEXTS), folders.PAIR, ("a <new> b", "<new>c")):
                    want = theirs(*text)["input_ids"]
                    self.assertEqual([list(ours.encode(*text).ids), again(*text)["input_ids"]], [want, want], (base[0], role, new, added, text))

    def test_albert(self):
        """its class looks for the ends of texts among its pieces: with others, what is saved names no class"""
        pieces = [("<pad>", 0.0), ("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0), ("\u2581a", -1.0), ("b", -2.0)]
        for role in ("sep_token", "cls_token"):
            theirs = transformers.AlbertTokenizer(vocab=pieces, **{role: "b"})
            theirs.add_special_tokens({role: "<new>"})
            with tempfile.TemporaryDirectory() as place:
                brim.tokenizer._tokenizer(theirs, None).save(place)
                pathlib.Path(place, "config.json").write_text('{"model_type": "albert"}', encoding="utf-8")
                again = transformers.AutoTokenizer.from_pretrained(place)
                for text in (("ab <new>a",), ("a", "b b")):
                    self.assertEqual([again(*text)["input_ids"], list(brim.Tokenizer(place).encode(*text).ids)], [theirs(*text)["input_ids"]] * 2, role)

    def test_words(self):
        """words in AutoTokenizer of what a run of words saves"""
        words = ["The", "film", "lives", "(", "<mask>", "well", "café's"]
        for tokenizer in sorted(folders.TOKENIZERS.iterdir()):
            with tempfile.TemporaryDirectory() as place:
                ours = brim.Tokenizer(tokenizer / "tokenizer.json")
                ours._core.save(place, True)
                theirs = transformers.AutoTokenizer.from_pretrained(place)(words, is_split_into_words=True)
                row = brim.Dataset.of([words], ours, task="tokens", labelled=False).row(0)
                self.assertEqual((theirs["input_ids"], theirs.word_ids()), (row["ids"].tolist(), row["word_ids"]), tokenizer.name)


if __name__ == "__main__":
    case.main()
