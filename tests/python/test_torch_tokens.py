"""Labels of tokens beside transformers: ids and labels of words by its documented recipe, and the logits of every family's head.
Skipped without torch."""
import pathlib
import random
import sys
import unittest

import case

try:
    import tokenizers
    import torch
    import transformers
except ImportError:
    print("1..0 # SKIP torch and transformers are not installed")
    sys.exit(0)

import brim

transformers.logging.set_verbosity_error()
HERE = case.folder()
TOKENIZERS = pathlib.Path(__file__).resolve().parent.parent / "golden" / "tokenizers"
WORDS = ["film", "U.N.", "don't", "Über", "naïve", "北京市", "😀", "", " ", "a b", "x" * 40, "1,000", "<s>", "[SEP]", "\u200b", "e\u0301te", "(", "New-York's"]


def align(tokenizer, words, tags, length):
    """tokenize_and_align_labels of transformers' course on token classification."""
    found = tokenizer(words, is_split_into_words=True, truncation=True, max_length=length)
    labels, before = [], None
    for word in found.word_ids():
        labels.append(-100 if word is None or word == before else tags[word])
        before = word
    return found["input_ids"], labels, found.word_ids()


class Words(unittest.TestCase):
    def test_recipe(self):
        """ids, word_ids and labels of the tokenizers' files are those of is_split_into_words and word_ids(); bytes with add_prefix_space"""
        draw, tried = random.Random(3), 0
        for path in sorted(TOKENIZERS.rglob("tokenizer.json")):
            theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(path))
            if isinstance(theirs.backend_tokenizer.pre_tokenizer, tokenizers.pre_tokenizers.ByteLevel):
                theirs.backend_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
            ours = brim.Tokenizer(path)
            for _ in range(60):
                words = [draw.choice(WORDS) for _ in range(draw.randint(1, 12))]
                tags = [draw.randrange(3) for _ in words]
                length = draw.choice([4, 9, 16, 64])
                ids, labels, numbers = align(theirs, words, tags, length)
                if not ids:
                    continue
                row = brim.Dataset.of([(words, tags)], ours, task="tokens", labels=["a", "b", "c"], max_length=length).row(0)
                self.assertEqual((row["ids"].tolist(), row["word_ids"], row["labels"]), (ids, numbers, labels), (path, words, length))
            tried += 1
        self.assertGreater(tried, 2)

    def test_objects(self):
        """a tokenizer that was changed after it was made is taken as it is now, whatever it was called with before"""
        text = "Good bad film story warm slow dull great"
        edits = [lambda one: setattr(one, "truncation_side", "left"), lambda one: setattr(one, "do_lower_case", False), lambda one: setattr(one, "cls_token", "film"),
                 lambda one: setattr(one.backend_tokenizer, "normalizer", tokenizers.normalizers.Replace("film", "good")),
                 lambda one: setattr(one.backend_tokenizer, "post_processor", tokenizers.processors.TemplateProcessing("[SEP] $A", "[SEP] $A $B", [("[SEP]", 3)]))]
        for number, edit in enumerate(edits):
            for called in (False, True):
                theirs = transformers.AutoTokenizer.from_pretrained(HERE / "model")
                if called:
                    theirs(text, truncation=True, max_length=4, padding="max_length")
                edit(theirs)
                ours = brim.Dataset.from_texts([text], theirs, max_length=6)[0]["input_ids"]
                self.assertEqual(list(ours), theirs(text, truncation=True, max_length=6)["input_ids"], (number, called))


SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
         "max_position_embeddings": 40, "num_labels": 5, "pad_token_id": 0}
FAMILIES = {
    "bert": {}, "roberta": {"max_position_embeddings": 42, "pad_token_id": 1}, "camembert": {"max_position_embeddings": 42, "pad_token_id": 1},
    "xlm-roberta": {"max_position_embeddings": 42, "pad_token_id": 1}, "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
    "electra": {"embedding_size": 24}, "albert": {"embedding_size": 24, "inner_group_num": 1}, "mpnet": {"pad_token_id": 1, "max_position_embeddings": 42},
    "deberta-v2": {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"], "share_att_key": True, "norm_rel_ebd": "layer_norm",
                   "position_biased_input": False, "max_relative_positions": -1},
    "modernbert": {"local_attention": 8, "global_attn_every_n_layers": 2, "cls_token_id": 1, "sep_token_id": 2, "bos_token_id": 1, "eos_token_id": 2,
                   "classifier_bias": True},
    "eurobert": {"num_key_value_heads": 2, "head_dim": 8},
}


def model_of(kind, own):
    config = transformers.AutoConfig.for_model(kind, **{**SMALL, **own})
    torch.manual_seed(5)
    model = transformers.AutoModelForTokenClassification.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, values in model.named_parameters():
            values.add_(0.05 * torch.randn(values.shape))
    return model


class Heads(unittest.TestCase):
    def test_logits(self):
        """logits of small random models, row by row; what is saved opens in transformers with the same ones"""
        draw, tried = random.Random(4), []
        for kind, own in FAMILIES.items():
            try:
                theirs = model_of(kind, own)
            except (ValueError, KeyError, AttributeError):  # transformers has no such head
                continue
            folder = HERE / f"tokens-{kind}"
            theirs.save_pretrained(folder)
            ours = brim.Model(folder, tokenizer=brim.Tokenizer(HERE / "model"))
            self.assertEqual(ours.task, "tokens", kind)
            ids = [[draw.randrange(5, 99) for _ in range(n)] for n in (7, 1, 23, 12)]
            got = torch.tensor(memoryview(ours.logits(brim.Dataset.from_ids(ids))).tolist())
            with torch.no_grad():
                expected = torch.cat([theirs(input_ids=torch.tensor([row])).logits[0] for row in ids])
            self.assertLess(float((got - expected).abs().max()), 2e-5, kind)
            ours.save(HERE / f"again-{kind}")
            again = transformers.AutoModelForTokenClassification.from_pretrained(HERE / f"again-{kind}", attn_implementation="eager").eval()
            with torch.no_grad():
                same = torch.cat([again(input_ids=torch.tensor([row])).logits[0] for row in ids])
            self.assertLess(float((same - expected).abs().max()), 1e-6, kind)
            tried.append(kind)
        print("# heads of", ", ".join(tried))
        self.assertGreater(len(tried), 8)


if __name__ == "__main__":
    case.main()
