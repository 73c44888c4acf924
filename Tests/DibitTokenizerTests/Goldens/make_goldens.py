"""Makes the golden files of this folder with the Python library `tokenizers` (0.23.3).

Trains tiny tokenizers on the sentences below and records the ids and texts that the library gives for the probes below.
Nothing is random: the same library version writes the same files. Run it in this folder: `python3 make_goldens.py`.
"""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = [
    "The cat sat on the mat, and the mat was flat; it's a fact that they've seen before.",
    "She'll say that he'd go if we're late, but I'm sure the train won't leave at 10:45.",
    "In 2024 there were 1234567 readers of 'Numbers, numbers and more numbers' (vol. 12).",
    "def add(first, second):\n    return first + second\n\nprint(add(1, 22))\n",
    "Der Käse schmeckt süß; die Straße ist naß. L'été, la forêt était déjà brûlée.",
    "Привет, мир! Как дела? Сегодня хорошая погода, правда?",
    "你好，世界。今天天气很好，我们去公园走走吧。",
    "日本語の文章も少しだけ入れておきます。カタカナとひらがな。",
    "नमस्ते दुनिया, आप कैसे हैं? ภาษาไทยไม่มีช่องว่าง",
    "Emoji: 😀 😀 👩‍👩‍👧 🇩🇪 👍🏽 and signs: €5, £7, ½ + ¼ = ¾.",
    "HTTPServer camelCase XMLHttpRequest iPhone McDonald DON'T SHOUT, WE'LL LISTEN.",
    "path/to/file.txt https://example.com/a/b/c?d=e&f=g#h",
] * 3

PROBES = [
    "",
    " ",
    "a",
    "Hello, world!",
    "The cat sat on the mat.",
    " leading and trailing ",
    "two  spaces   three    four",
    "it's they've he'd I'm we're she'll won't IT'S THEY'VE HE'D I'M WE'RE SHE'LL o'ſ",
    "x'sy 'tis 'llama 'RElated ''s '",
    "1 12 123 1234 12345 1234567 3.14159 1,000,000 ٣٤٥ Ⅷ² ½",
    "tabs\tand\nnewlines\r\n\r\n  mixed \n \n\t\n  end  ",
    "\n\n\nstart",
    "symbols !!! ??? --- === /// \n// comment\n/* x */\r\n",
    "a/b//c\n/d !/\n/ .\r\n/",
    "Käse süß été forêt",
    "e\u0301 vs \u00e9, a\u0323\u0302 vs \u1ead, \u1112\u1161\u11ab vs \ud55c, \u212b \u2126",
    "\u0301lone mark \u0301\u0301X a\u0301B A\u0301b AB\u0301",
    "Привет мир",
    "你好世界 日本語 한국어",
    "नमस्ते ภาษาไทย العربية עברית",
    "😀👩‍👩‍👧🇩🇪👍🏽 ❤️",
    "\u0000\u0001\u001f\u007f\u0085\u00a0\u200b\u2028\u3000\ufeff",
    "HTTPServer camelCase XMLHttpRequest iPhone McDonaldS ǅabc ǅ ʰa ªB",
    "<s>not <unk> text</s>",
    "<|end|>hello<|end|> <|pad|> world <|pad|>x y<|pad|>z",
    "word mask mask! masked unmask mask",
    "NORM norm  NORM",
    "def add(a, b):\n    return a + b\n",
    "▁▁ ▁a ▁",
    "x" * 70,
    " " * 33 + "x",
    "\U000e0001\U0010ffff\u0378",
]

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
FOLD = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = FOLD + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = FOLD + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)


def split(pattern, **options):
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=options.get("prefix", False), use_regex=False),
        ]
    )


def byte_level(pre_tokenizer, normalizer=None, ignore_merges=False, size=420):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end|>"]
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.add_special_tokens([AddedToken("<|pad|>", lstrip=True, rstrip=True)])
    tokenizer.add_tokens([AddedToken("mask", single_word=True), AddedToken("NORM", normalized=True)])
    return tokenizer


def gpt2():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    return tokenizer


def llama3():
    tokenizer = byte_level(split(LLAMA3), ignore_merges=True)
    template = processors.TemplateProcessing(single="<|end|> $A", special_tokens=[("<|end|>", 0)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


def sentencepiece(first=True, size=480, fuse=True, fallback=True, metaspace=None, decoder=None):
    specials = ["<unk>", "<s>", "</s>"] + ([f"<0x{byte:02X}>" for byte in range(256)] if fallback else [])
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=fallback))
    mark = normalizers.Replace(" ", "▁")
    if metaspace:
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=metaspace[0], split=metaspace[1])
    else:
        tokenizer.normalizer = normalizers.Sequence(([normalizers.Prepend("▁")] if first else []) + [mark])
    tokenizer.decoder = decoder or decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()] + ([decoders.Strip(" ", 1, 0)] if first else [])
    )
    # Training cuts at spaces, or whole sentences would become tokens; the model itself is used without cutting.
    kept = tokenizer.pre_tokenizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    latin = [sentence for sentence in SENTENCES if sentence.isascii()]
    tokenizer.train_from_iterator(latin, trainers.BpeTrainer(vocab_size=size, show_progress=False, special_tokens=specials))
    data = json.loads(tokenizer.to_str())
    data["pre_tokenizer"] = json.loads(Tokenizer.to_str(_with(kept)))["pre_tokenizer"]
    # Bytes are model tokens only.
    data["added_tokens"] = [token for token in data["added_tokens"] if not token["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>" if not first else "<s> $A", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return tokenizer


def _with(pre_tokenizer):
    tokenizer = Tokenizer(models.BPE())
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    return tokenizer


KINDS = {
    "gpt2": gpt2,
    "llama3": llama3,
    "qwen2": lambda: byte_level(split(QWEN2), normalizers.NFC()),
    "o200k": lambda: byte_level(split(O200K)),
    "digits": lambda: byte_level(
        pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    ),
    "sentencepiece": sentencepiece,
    "gemma": lambda: sentencepiece(first=False),
    "unknown": lambda: sentencepiece(fallback=False, fuse=False, size=230),
    "metaspace": lambda: sentencepiece(
        fallback=False, size=230, metaspace=("always", True), decoder=decoders.Metaspace(prepend_scheme="always")
    ),
    "metaspace-first": lambda: sentencepiece(metaspace=("first", False), size=440),
}


def golden(tokenizer):
    cases = []
    for probe in PROBES:
        ids = tokenizer.encode(probe).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(probe, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        cases.append(
            {
                "text": probe,
                "ids": ids,
                "plain": plain,
                "decoded": tokenizer.decode(ids),
                "full": tokenizer.decode(ids, skip_special_tokens=False),
            }
        )
    return {"tokenizer": json.loads(tokenizer.to_str()), "cases": cases}


if __name__ == "__main__":
    for name, make in KINDS.items():
        with open(f"{name}.json", "w", encoding="utf-8") as file:
            json.dump(golden(make()), file, ensure_ascii=False, separators=(",", ":"))
            file.write("\n")
