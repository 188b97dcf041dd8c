"""Folders of tokenizers, edited in forty ways: the ids that transformers gave, also of what is saved. Words of byte-level tokenizers."""
import json
import pathlib
import tempfile
import unittest

import case
import tokenizer_folders as folders
import tokenizer_roles as roles

import brim

REFUSED = {  # and what a refusal must name
    "an id of its own": ("added_tokens.json", "tokenizer.json"),
    "nothing beside": ("tokenizer.json", "config.json"),
    "older files alone": ("vocab.", "tokenizer_config.json"),
}


def names_files(name, why):
    return any(name.endswith(edit) and all(file in why for file in files) for edit, files in REFUSED.items())


class Folders(unittest.TestCase):
    def test_ids(self):
        """the ids of transformers, or a line that names two files; what is saved is the same tokenizer"""
        expected, equal, refused = folders.expected(), 0, 0
        taken = set(case.takes(len(expected)))
        with tempfile.TemporaryDirectory() as place:
            for number, (name, files) in enumerate(folders.cases()):
                if number not in taken:
                    continue
                found = folders.of_brim(folders.write(pathlib.Path(place, str(number)), files))
                if "refused" in found:
                    self.assertTrue(names_files(name, found["refused"]), f"{name}: {found['refused']}")
                    refused += 1
                    continue
                if "refused" not in expected[name]:
                    self.assertEqual(folders.compare(found, expected[name]), [], name)
                    equal += 1
                one_type = files.get("config.json", {}).get("model_type") in ("distilbert", "mpnet") and "model_input_names" not in files.get("tokenizer_config.json", {})
                self.assertEqual(found["tokenizer"].uses_type_ids, 1 in found["pair"][1] and not one_type, name)
                tokenizer, saved = found.pop("tokenizer"), pathlib.Path(place, f"saved-{number}")
                if number % 5:  # test_torch_folders.py looks at all that is saved
                    continue
                tokenizer.save(saved)
                again = folders.of_brim(saved)
                self.assertEqual(again.pop("tokenizer").fingerprint, tokenizer.fingerprint, name)
                self.assertEqual(again, found, f"{name}, saved")
        print(f"# {equal} folders equal, {refused} refused")
        self.assertEqual({name for name, _ in folders.cases()}, set(expected))
        self.assertGreater(equal, 450 - (len(expected) - len(taken)))
        self.assertLess(refused, 20)

    def test_saved_names(self):
        """what is saved names the tokens that there are, and no others, whichever of the files said them"""
        count = 0
        with tempfile.TemporaryDirectory() as place:
            for number, (name, files) in enumerate(roles.cases(3, 100)):
                try:
                    tokenizer = brim.Tokenizer(folders.write(pathlib.Path(place, str(number)), files))
                except brim.Error:
                    continue
                tokenizer.save(pathlib.Path(place, f"saved-{number}"))
                again = brim.Tokenizer(pathlib.Path(place, f"saved-{number}"))
                self.assertEqual([list(again.encode(text).ids) for text in roles.TEXTS], [list(tokenizer.encode(text).ids) for text in roles.TEXTS], name)
                self.assertEqual(len(again), len(tokenizer), name)
                said = json.loads(pathlib.Path(place, f"saved-{number}/tokenizer_config.json").read_text(encoding="utf-8"))
                tokens = {token["content"] for token in said["added_tokens_decoder"].values()}
                self.assertLessEqual({value for key, value in said.items() if key.endswith("_token") and value}, tokens, name)
                count += 1
        self.assertGreater(count, 50)

    def test_padding_side(self):
        """what is saved is padded at the right, where a folder says another side, in whichever file"""
        padding = {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
        for number, edit in enumerate((folders.config(padding_side="left"), lambda files: folders.own(files).update(padding=padding))):
            for base in (folders.BASES[0], folders.BASES[6]):  # of a class, and of none
                files = folders.base_files(base)
                edit(files)
                with tempfile.TemporaryDirectory() as place:
                    brim.Tokenizer(folders.write(pathlib.Path(place, "given"), files)).save(pathlib.Path(place, "saved"))
                    said = json.loads(pathlib.Path(place, "saved/tokenizer_config.json").read_text(encoding="utf-8"))
                    self.assertEqual(said["padding_side"], "right", (base[0], number))

    def test_flag(self):
        """extra tokens that differ in `special` alone are two: with split_special_tokens a special one is text"""
        one = lambda special: {**folders.token("[E1]", special=special), "__type": "AddedToken"}
        first = folders.next_id(folders.base_files(folders.BASES[0]))
        for lists, added, whole in (([one(False)], None, True), ([one(True)], None, False), ([one(False), one(True)], None, False), ([one(True), one(False)], None, False),
                                    (["[E1]", one(False)], {"[E1]": first}, False), ([one(False), "[E1]"], {"[E1]": first}, False), ([one(False)], {"[E1]": first}, True)):
            files = folders.base_files(folders.BASES[0])
            files["tokenizer_config.json"].update(extra_special_tokens=lists, split_special_tokens=True)
            files.update({"added_tokens.json": added} if added else {})
            with tempfile.TemporaryDirectory() as place:
                ids = list(brim.Tokenizer(folders.write(pathlib.Path(place, "given"), files)).encode("a [E1] b").ids)
            self.assertEqual(first in ids, whole, (lists, added))

    def test_decode(self):
        """a special token that normalizing changes is no special token's text, and stays; clean_up_tokenization_spaces is for whole texts"""
        files = folders.base_files(folders.BASES[1])
        first = folders.next_id(files)
        folders.own(files)["added_tokens"] += [{"id": first + at, **folders.token(text, special=special, normalized=normalized)}
                                               for at, (text, special, normalized) in enumerate((("ABC", True, True), ("abd", True, True), ("ABE", True, False), ("ABF", False, True)))]
        for tidy, want in ((False, "abc abf film 's"), (True, "abc abf film's")):
            files["tokenizer_config.json"].update(clean_up_tokenization_spaces=tidy)
            with tempfile.TemporaryDirectory() as place:
                tokenizer = brim.Tokenizer(folders.write(pathlib.Path(place, "given"), files))
                ids = [*range(first, first + 4), *(tokenizer.token_to_id(word) for word in ("film", "'", "##s"))]
                self.assertEqual(tokenizer.decode(ids), want)

    def test_types(self):
        """a tokenizer.json alone gives its own types; with other files, those that a file or a class asks for; what is saved keeps them"""
        for others, typed in (({}, True), ({"config.json": {"model_type": "bert"}}, True), ({"config.json": {}}, False), ({"tokenizer_config.json": {}}, False),
                              ({"tokenizer_config.json": {"model_input_names": None}}, False), ({"tokenizer_config.json": {"model_input_names": ["token_type_ids"]}}, True),
                              ({"tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_input_names": []}}, False), ({"special_tokens_map.json": {}}, False)):
            with tempfile.TemporaryDirectory() as place:
                folder = folders.write(pathlib.Path(place, "given"), {"tokenizer.json": folders.text_of("wordpiece-cased"), **others})
                brim.Tokenizer(folder).save(pathlib.Path(place, "saved"))
                for at in (folder, pathlib.Path(place, "saved")):
                    tokenizer = brim.Tokenizer(at)
                    self.assertEqual((tokenizer.uses_type_ids, 1 in list(tokenizer.encode(*folders.PAIR).type_ids)), (typed, typed), others)

    def test_file(self):
        """a tokenizer.json that is named itself is taken as it stands, and saved so that nothing else can be meant"""
        with tempfile.TemporaryDirectory() as place:
            name, files = next(folders.cases())
            files["tokenizer_config.json"].update(do_lower_case=True)
            folder = folders.write(pathlib.Path(place, "given"), files)
            file, whole = brim.Tokenizer(folder / "tokenizer.json"), brim.Tokenizer(folder)
            self.assertNotEqual(list(file.encode("HELLO").ids), list(whole.encode("HELLO").ids))
            for tokenizer in (file, whole):
                tokenizer.save(pathlib.Path(place, "saved"))
                again = brim.Tokenizer(pathlib.Path(place, "saved"))
                self.assertEqual(list(again.encode("HELLO").ids), list(tokenizer.encode("HELLO").ids))


class Words(unittest.TestCase):
    def test_spaces(self):
        """words of a byte-level tokenizer begin with their space, and what a run of them saves puts it there too"""
        path = folders.TOKENIZERS / "byte-bpe" / "tokenizer.json"
        text = brim.Tokenizer(path)
        with tempfile.TemporaryDirectory() as place:
            text._core.save(f"{place}/saved", True)
            saved = brim.Tokenizer(f"{place}/saved")
        words = ["The", "film", "lives", "<mask>", "well"]
        rows = [brim.Dataset.of([words], tokenizer, task="tokens", labelled=False).row(0)["ids"].tolist() for tokenizer in (text, saved)]
        self.assertEqual(rows[0], list(text.encode(" The film lives<mask> well").ids))
        self.assertEqual(rows[1], rows[0])
        self.assertEqual(list(saved.encode("The film").ids), list(text.encode(" The film").ids))


if __name__ == "__main__":
    case.main()
