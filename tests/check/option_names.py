#!/usr/bin/env python3
"""Names of options in messages: the library writes them as Python has them (max_length), and the command as its own (--max-length). A name
that no command has would reach people as the name of a member in C. Where a literal has --max-length itself, some command must have it,
too; what the command at hand lacks is said with one that has it (cli/advice.c): option_names.py ROOT"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
SAYS = re.compile(r"brim_(?:error_(?!text)\w+|row_error|json_reader_error|reader_fault)\s*\(|\b(?:refuse\w*|damaged|bad|FAIL\w*)\(")
NAME = re.compile(r"(?<![\w./\"\\{'-])[a-z]+(?:_[a-z]+)+(?![\w./\"(])")
OPTION = re.compile(r"\b(?:CHOICE|FLAG|INTEGER|SEED|REAL|TEXT|LIST|NAMES|COUNT|BYTES|SIZE)\w*\(\s*\"([a-z0-9-]+)\"")
#: Members of files of models and tokenizers, in the words of their folders.
FILES = """add_bos_token add_eos_token attention_head_size conv_kernel_size hidden_size layer_norm norm_rel_ebd only_second pooler_hidden_size pos_att_type
position_embedding_type precompiled_charsmap relative_attention tie_word_embeddings tokenizer_class unk_token""".split()
#: What only programs can get wrong, and in how many messages: the command checks its own options, or never gives these.
PROGRAMS = {"chosen_share": 1, "compute_metrics": 1, "cost_linear": 1, "cost_square": 1, "eval_when": 1, "least_columns": 1, "most_texts": 2,
            "need_label": 2, "no_values": 1, "on_device": 1, "rows_for": 1, "save_when": 1, "sum_double": 1, "text_columns": 3,
            "window_overlap": 1}
GIVEN = re.compile(r"(?:^|(?<=[\s(`,]))--([a-z][a-z0-9-]*)(?![\w-])")
#: Options of other programs that literals name, and examples of names.
OTHERS = """fmad gpu-architecture long option revision std ultra version""".split()


def literals(text):
    """All literals of a source, those that follow each other as one."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for found in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', text):
        yield "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found[0]))


def messages(text):
    """The literals of each call that makes a message."""
    for call in SAYS.finditer(text):
        yield from re.findall(r'"((?:[^"\\\n]|\\.)*)"', text[call.end():text.find(";", call.end())])


def main():
    sources = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "src").rglob("*.c"))}
    cli = {path: path.read_text(encoding="utf-8") for path in sorted((ROOT / "cli").glob("*.c"))}
    commands = "".join(cli.values())
    options = set(OPTION.findall(commands)) | {name for names in re.findall(r'\.aliases = "([^"]+)"', commands) for name in names.split()}
    found = [(name, path.relative_to(ROOT)) for path, text in sources.items() for message in messages(text) for name in NAME.findall(message)]
    times = collections.Counter(name for name, _ in found)
    wrong = sorted(f"{path}: {name} is the name of no option of a command: say it in words" for name, path in found
                   if name.replace("_", "-") not in options and name not in FILES and name not in PROGRAMS and not name.startswith("brim_"))
    given = [(name, path.relative_to(ROOT)) for path, text in (sources | cli).items() if path.name != "style.c" for literal in literals(text) for name in GIVEN.findall(literal)]
    wrong += sorted({f"{path}: --{name} is an option of no command" for name, path in given if name not in options and name not in OTHERS})
    wrong += [f"--{name} is in no message" for name in OTHERS if name not in dict(given)]
    wrong += [f"{name} is in {times[name]} messages, and {count} were looked at" for name, count in PROGRAMS.items() if times[name] != count]
    print(f"1..1\n{'not ok' if wrong or len(times) < 40 or len(given) < 150 else 'ok'} 1 - {len(times)} names in messages, {len(given)} options as they are given")
    print("".join(f"# {line}\n" for line in wrong), end="")
    return 1 if wrong else 0


sys.exit(main())
