"""Folders of tokenizers whose roles, tokens of other names and extra tokens are said twice over, and HerBERT's folders with edits."""
import copy
import random

import tokenizer_folders as folders

TEXTS = [*folders.TEXTS, "a <s> x </s> y <s>b", "q <u1> r <u2> s <img>  t [u3]x", "A [SEP] b [CLS]  c [MASK] d", "the [sep] <IMG> <Mask> <U1>"]
NEW = ["<u1>", "<u2>", "<img>", "[u3]", "the"]
NAMES = ["image_token", "boi_token", "x_token", "eot_token"]


def some(pick, said, kind):
    """A token as a file has it: a text, or an object (of a type, as transformers saves it in tokenizer_config.json)."""
    if pick.random() < 0.45:
        return said
    flags = {flag: pick.random() < 0.3 for flag in ("lstrip", "rstrip", "single_word", "normalized")}
    return {"content": said, **flags, **({"special": pick.random() < 0.8, "__type": "AddedToken"} if kind == "typed" else {})}


def edit(files, roles, pick):
    """Roles, names and lists of both files, and sometimes one of the lists by id."""
    texts = [*NEW, *roles.values()]
    for name, kind in (("tokenizer_config.json", "typed"), ("special_tokens_map.json", "plain")):
        file = files[name]
        for role in roles:
            if pick.random() < 0.35:
                file[role] = some(pick, roles[role] if pick.random() < 0.85 else pick.choice(texts), kind)
        for own in pick.sample(NAMES, pick.choice([0, 0, 1, 2, 3])):
            file[own] = some(pick, pick.choice(texts), "plain" if pick.random() < 0.1 else kind)
        if pick.random() < 0.25:
            file["extra_special_tokens"] = {own: pick.choice(texts) for own in pick.sample(["image_token", "z_token", "plain"], 2)}
        elif pick.random() < 0.25:
            file["extra_special_tokens"] = [some(pick, pick.choice(texts), kind) for _ in range(pick.choice([0, 1, 2, 3]))]
        if pick.random() < 0.25:
            file["additional_special_tokens"] = [some(pick, pick.choice(texts), "typed") for _ in range(pick.choice([0, 1, 2, 3]))]
    if pick.random() < 0.2:
        first = folders.next_id(files)
        files["added_tokens.json"] = {text: first + i for i, text in enumerate(pick.sample(NEW[:3], pick.choice([1, 2])))}
    if pick.random() < 0.15:
        folders.decoder(files, folders.token(pick.choice(NEW[:3]), special=pick.random() < 0.5))
    files["tokenizer_config.json"]["split_special_tokens"] = pick.random() < 0.2


def cases(seed, count):
    """(name, files) of so many."""
    for number in range(count):
        pick = random.Random(f"{seed} {number}")
        base = pick.choice(folders.BASES)
        files = folders.base_files(base)
        edit(files, base[4], pick)
        older = pick.random() < 0.6 and base[1] != "unigram" and folders.older(files)
        yield f"{base[0]}, {'older' if older else 'json'}, seed {seed}, {number}", files


def extra_cases(seed, count):
    """(name, files) of so many whose extra tokens are said several times, with flags that often differ in `special` alone."""
    for number in range(count):
        pick = random.Random(f"extra {seed} {number}")
        base = pick.choice(folders.BASES)
        files, first = folders.base_files(base), folders.next_id(folders.base_files(base))
        texts = pick.sample(NEW, 2)
        flags = {text: {flag: pick.random() < 0.3 for flag in ("lstrip", "rstrip", "single_word", "normalized")} for text in texts}

        def said(text, typed, pick=pick, flags=flags):
            if pick.random() < 0.3:
                return text
            return {"content": text, **flags[text], **({"special": pick.random() < 0.5, "__type": "AddedToken"} if typed else {})}

        for name, typed in (("tokenizer_config.json", True), ("special_tokens_map.json", False)):
            if typed or pick.random() < 0.3:
                key = "additional_special_tokens" if not typed or pick.random() < 0.5 else "extra_special_tokens"
                files[name][key] = [said(pick.choice(texts), typed) for _ in range(pick.choice([1, 2, 3]))]
            if pick.random() < 0.3:
                files[name][pick.choice(["image_token", "cls_token"])] = said(pick.choice(texts), typed)
        if pick.random() < 0.4:
            files["added_tokens.json"] = {text: first + i for i, text in enumerate(text for text in texts if text != "the")}
        older = pick.random() < 0.4 and base[1] != "unigram" and folders.older(files)
        files["tokenizer_config.json"]["split_special_tokens"] = pick.random() < 0.8
        yield f"{base[0]}, {'older' if older else 'json'}, seed {seed}, {number}", files


# ---- HerBERT ----

MODEL = {"fuse_unk": True, "byte_fallback": True, "ignore_merges": True, "unk_token": "<pad>", "continuing_subword_prefix": "##",
         "dropout": 0.5, "end_of_word_suffix": None}
NORMALIZER = {"lowercase": True, "strip_accents": True, "clean_text": False, "handle_chinese_chars": False}
CONFIG = {"unk_token": "<pad>", "cls_token": "<mask>", "sep_token": "<pad>", "mask_token": "[x]", "bos_token": "<s>", "eos_token": "<e>",
          "do_lower_case": True, "strip_accents": True, "tokenize_chinese_chars": False, "additional_special_tokens": ["<u1>"],
          "split_special_tokens": True, "add_bos_token": True}


def herbert(saved):
    """(name, files) of each edit of the files that transformers saved."""
    edits = [("none", lambda files: None), ("older", folders.older), ("no added tokens", folders.own_lost), ("another split", folders.own_split),
             ("no ends", folders.own_ends), ("no roles", lambda files: files.update({"tokenizer_config.json": {"tokenizer_class": "HerbertTokenizer"}}))]
    for section, values in (("model", MODEL), ("normalizer", NORMALIZER)):
        edits += [(f"{section} {key}", lambda files, s=section, k=key, v=value: folders.own(files)[s].update({k: v})) for key, value in values.items()]
    edits += [(f"config {key}", folders.config(**{key: value})) for key, value in CONFIG.items()]
    edits += [("ends of other ids", lambda files: folders.own(files)["post_processor"].update(sep=["</s>", 1]))]
    for name, change in edits:
        files = copy.deepcopy(saved)
        change(files)
        yield name, files
