"""Byte-level BPE in the released tokenizer's pre-tokenisation. Owns special tokens, splits and the files that hold them.

The three splits and the special tokens are those of src/model/pre-tokenizers.ts and native/model/synthetic_tokenizer.cc."""
import json
import os

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = [
    "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>", "<｜User｜>", "<｜Assistant｜>", "<｜System｜>", "<think>", "</think>",
    "<tool_result>", "</tool_result>", "｜DSML｜",
]  # fmt: skip
NOISE = "<｜dspark▁noise｜>"  # the last id
BOS, EOS = 0, 1
SPLITS = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+""",
)
GOLDEN = (
    "hello world", "Is it really 30 % faster, and does it still say the same?", "Fellow-Citizens of the Senate and House of Representatives:",
    "def median(values):\n    ordered = sorted(values)\n    return ordered[len(ordered) // 2]\n", "export function f(x) {\r\n\treturn x ** 2;\r\n}\n",
    "1234567 12 3.14159 1,000,000 2026-11-30", "你好，世界。こんにちは カタカナ 한국어", "关关雎鸠，在河之洲。窈窕淑女，君子好逑。",
    "emoji 👩‍👩‍👧‍👦 🏳️‍🌈 é e\u0301 ﬁ", " leading, trailing   ", "   \n\n  \t x\n", "__proto__ constructor.toString().length", "| id | name |\n| --- | --- |\n| 1 | pear |\n",
    "“quoted” — dash … “nested ‘quotes’”", "a\u00a0b\u2003c\u200bd", "¡Señor! Straße, naïve café, Ænima", "x=-1;y=+2;/* c */ // d", "...!!!???", "",
)  # fmt: skip


def train(texts, vocab):
    """texts: an iterable of strings. The result has exactly `vocab` ids."""
    tokenizer = Tokenizer(models.BPE())
    splits = [pre_tokenizers.Split(Regex(s), "isolated") for s in SPLITS]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab - 1, special_tokens=SPECIAL, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False,
        max_token_length=24,
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([NOISE])
    if tokenizer.get_vocab_size() != vocab or tokenizer.token_to_id(NOISE) != vocab - 1:
        raise SystemExit(f"the text gives {tokenizer.get_vocab_size()} tokens, {vocab} were asked for")
    return tokenizer


def save(tokenizer, folder):
    """tokenizer.json, tokenizer_config.json, and the ids that every reader must find for the golden strings."""
    os.makedirs(folder, exist_ok=True)
    tokenizer.save(os.path.join(folder, "tokenizer.json"), pretty=False)
    config = {"bos_token": SPECIAL[BOS], "eos_token": SPECIAL[EOS], "pad_token": SPECIAL[2], "add_bos_token": True, "tokenizer_class": "PreTrainedTokenizerFast"}
    for name, value in (("tokenizer_config.json", config), ("tokenizer_golden.json", golden(tokenizer))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=1 if name == "tokenizer_config.json" else None)
            file.write("\n")


def golden(tokenizer):
    return [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in GOLDEN]


def load(folder):
    return Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))


def byte_lengths(tokenizer):
    """Bytes of text that each id stands for; 0 for special tokens."""
    special = {*SPECIAL, NOISE}
    return [0 if (token := tokenizer.id_to_token(i)) in special else len(token) for i in range(tokenizer.get_vocab_size())]


def raw_and_decoded(tokenizer):
    """Every token as the vocabulary spells it and as text, for Engram's map."""
    raw = [tokenizer.id_to_token(i) for i in range(tokenizer.get_vocab_size())]
    special = {*SPECIAL, NOISE}
    return raw, [t if t in special else tokenizer.decode([i], skip_special_tokens=False) for i, t in enumerate(raw)]
