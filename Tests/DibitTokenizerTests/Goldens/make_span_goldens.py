"""Makes `spans.json` and the `span-*.json` files of this folder: 300 random texts and the ids that other libraries give for them.

Needs the Python libraries `tokenizers` (0.23.3) and `sentencepiece` (0.2.3), and for `span-llama2c.json` the files of the model
stories260K and a build of llama2.c's encoder: a program that reads texts (32-bit length, UTF-8) from its first argument and writes ids
(32-bit count, 32-bit ids; with the start of the text) to its second. Without it that file is left as it is.

The texts come from a seeded generator, so the same library versions write the same files.
Run it in this folder: `python3 make_span_goldens.py [ENCODER]`.
"""

import base64
import io
import json
import random
import struct
import subprocess
import sys
import tempfile

import sentencepiece
from make_goldens import PROBES, SENTENCES
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

RANGES = [
    (0x20, 0x7E, 20), (0xA0, 0xFF, 4), (0x100, 0x24F, 3), (0x300, 0x36F, 2), (0x370, 0x3FF, 2), (0x400, 0x4FF, 3), (0x590, 0x6FF, 3),
    (0x900, 0xDFF, 3), (0xE00, 0xE7F, 2), (0x1100, 0x11FF, 1), (0x1E00, 0x1FFF, 2), (0x2000, 0x206F, 3), (0x2070, 0x2BFF, 3),
    (0x3000, 0x30FF, 3), (0x4E00, 0x9FFF, 3), (0xAC00, 0xD7A3, 2), (0xF900, 0xFDFF, 2), (0xFF00, 0xFFEF, 2), (0x1F1E6, 0x1FAFF, 3),
    (0x1, 0x1F, 2), (0x7F, 0x9F, 1), (0x1D400, 0x1D7FF, 1), (0x10000, 0x2A6DF, 1), (0xE0000, 0x10FFFF, 1), (0x2581, 0x2581, 2),
]
LITERALS = [
    "  ", " " * 9, "\n", "\n\n", "\r\n", "\t", "\u3000", "\u00a0", "▁", "▁▁", "'s", "'LL", "'re", "IT'S", "123", "1,234.5", "٣٤٥", "½",
    "<|end|>", " <|pad|> ", "mask", " mask ", "NORM", "<unk>", "</s>", "<0x41>", "<0x-1>", "<sep>", "@@", "👩‍👩‍👧", "👍🏽", "🇩🇪🇫🇷",
    "e\u0301", "a\u0323\u0302", "\u1112\u1161\u11ab", "ﬁ", "Ⅷ", "İ", "ß", "Σς", "``", "''", "...", "//", "camelCase", "\u200d", "\u0085",
    "the", " the", "....", "!!!!", "0" * 9, "x" * 12,
]


def text(random):
    parts = []
    for _ in range(random.choice([1, 1, 2, 3, 4, 6, 9])):
        kind = random.random()
        if kind < 0.35:
            sentence = random.choice(SENTENCES)
            start = random.randrange(len(sentence))
            parts.append(sentence[start : start + random.randrange(1, 25)])
        elif kind < 0.65:
            parts.append(random.choice(LITERALS))
        else:
            low, high, _ = random.choices(RANGES, [weight for _, _, weight in RANGES])[0]
            parts += [chr(random.randint(low, high)) for _ in range(random.randrange(1, 5))]
        if random.random() < 0.3:
            parts.append(" ")
    return "".join(parts)


def texts():
    source = random.Random(20)
    return PROBES + [text(source) for _ in range(300 - len(PROBES))]


TEXTS = texts()
MARK = "▁"
CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN35 = CONTRACTION + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + SPACES
TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
    + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + SPACES
)
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
DEEPSEEK = [
    r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*" + SPACES,
]


def cut(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def add_tokens(tokenizer):
    tokenizer.add_special_tokens(["<|end|>", AddedToken("<|pad|>", lstrip=True, rstrip=True, special=True)])
    tokenizer.add_tokens([AddedToken("mask", single_word=True), AddedToken("NORM", normalized=True)])
    return tokenizer


def byte_level(*steps, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*steps, last])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=alphabet))
    return add_tokens(tokenizer)


def words(pre_tokenizer, normalizer):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, special_tokens=["<unk>"])
    tokenizer.train_from_iterator(SENTENCES, trainer)
    return add_tokens(tokenizer)


def rules():
    """A small normalisation rule file for SentencePiece: what a few texts become."""
    table = {
        "\u3000": " ", "\u00a0": " ", "\t": " ", "\n": " ", "\r": " ", "▁": " ", "\u200d": "", "ﬁ": "fi", "½": "1⁄2", "Ⅷ": "VIII",
        "e\u0301": "é", "a\u0323\u0302": "ậ", "\u1112\u1161\u11ab": "한", "İ": "i", "ß": "ss", "...": "…", "Σ": "σ", "\u0085": " ",
    }
    return "".join(
        " ".join(f"{ord(c):X}" for c in key) + "\t" + " ".join(f"{ord(c):X}" for c in value) + "\n" for key, value in table.items()
    )


def train(**options):
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as file:
        file.write(rules())
        file.flush()
        if options.pop("ruled", True):
            options["normalization_rule_tsv"] = file.name
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(SENTENCES), model_writer=model, minloglevel=2, num_threads=1, **options
        )
    return model.getvalue()


def pieces(model):
    proto = sentencepiece.sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model)
    return proto


def unigram(model, normalizer, pre_tokenizer, fallback=False):
    tokenizer = Tokenizer(models.Unigram([(piece.piece, piece.score) for piece in pieces(model).pieces], 0, fallback))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 1))
    return add_tokens(tokenizer)


def write(name, value):
    with open(f"span-{name}.json", "w") as file:
        json.dump(value, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


def main():
    from sentencepiece import sentencepiece_model_pb2

    sentencepiece.sentencepiece_model_pb2 = sentencepiece_model_pb2
    with open("spans.json", "w") as file:
        json.dump(TEXTS, file, ensure_ascii=True, separators=(",\n", ":"))
        file.write("\n")
    plain = {
        "unigram": train(model_type="unigram", vocab_size=420, hard_vocab_limit=False),
        "unigram-bytes": train(
            model_type="unigram", vocab_size=600, hard_vocab_limit=False, byte_fallback=True, remove_extra_whitespaces=False,
            user_defined_symbols=["<sep>", "@@"]
        ),
        "bpe": train(model_type="bpe", vocab_size=420),
        "bpe-bytes": train(
            model_type="bpe", vocab_size=600, ruled=False, normalization_rule_name="identity", byte_fallback=True,
            remove_extra_whitespaces=False, split_digits=True,
        ),
        "bpe-defined": train(
            model_type="bpe", vocab_size=600, byte_fallback=True, add_dummy_prefix=False, remove_extra_whitespaces=False,
            split_by_whitespace=False, allow_whitespace_only_pieces=True,
            user_defined_symbols=["<sep>", "@@", "\n", "\n\n", "▁▁", "▁▁▁▁"],
        ),
    }
    for name, model in plain.items():
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        ids = [processor.encode(text) for text in TEXTS]
        write(f"model-{name}", {"model": base64.b64encode(model).decode(), "ids": ids})

    charsmap = pieces(plain["unigram"]).normalizer_spec.precompiled_charsmap
    mapped = normalizers.Precompiled(charsmap)
    once = normalizers.Replace(Regex(" {2,}"), " ")
    lower = [normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), mapped, once]
    kinds = {
        "qwen35": byte_level(cut(QWEN35)),
        "tekken": byte_level(cut(TEKKEN), ignore_merges=True),
        "cl100k": byte_level(cut(CL100K, "removed", True)),
        "deepseek": byte_level(*[cut(pattern) for pattern in DEEPSEEK]),
        "t5": unigram(
            plain["unigram"], normalizers.Sequence([mapped, normalizers.Strip(left=False, right=True), once]),
            pre_tokenizers.Metaspace(prepend_scheme="always"),
        ),
        "xlmr": unigram(
            plain["unigram"], normalizers.Sequence([mapped, once]),
            pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]),
        ),
        "albert": unigram(plain["unigram"], normalizers.Sequence(lower), pre_tokenizers.Metaspace()),
        "unigram-whole": unigram(
            plain["unigram-bytes"], normalizers.Replace("<sep>", "@@"), pre_tokenizers.Metaspace(prepend_scheme="first", split=False), True
        ),
        "words": words(
            pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation()]),
            normalizers.Sequence([normalizers.NFKC(), normalizers.Nmt(), normalizers.Strip()]),
        ),
        "behaviors": words(
            pre_tokenizers.Sequence(
                [cut(r"[\p{P}\p{S}]", "contiguous"), cut(r"\s", "merged_with_next"), pre_tokenizers.Split("e", "merged_with_previous")]
            ),
            normalizers.Sequence([normalizers.NFD(), once, normalizers.Strip(left=True, right=False)]),
        ),
    }
    for name, tokenizer in kinds.items():
        ids = [tokenizer.encode(text).ids for text in TEXTS]
        decoded = [tokenizer.decode(row, skip_special_tokens=False) for row in ids]
        write(name, {"tokenizer": json.loads(tokenizer.to_str()), "ids": ids, "decoded": decoded})

    if len(sys.argv) > 1:
        with tempfile.NamedTemporaryFile() as source, tempfile.NamedTemporaryFile() as result:
            kept = [text.replace("\0", "") for text in TEXTS]
            for text in kept:
                source.write(struct.pack("<I", len(text.encode())) + text.encode())
            source.flush()
            subprocess.run([sys.argv[1], source.name, result.name], check=True)
            data, ids, offset = result.read(), [], 0
            while offset < len(data):
                (count,) = struct.unpack_from("<i", data, offset)
                ids.append(list(struct.unpack_from(f"<{count}i", data, offset + 4)))
                offset += 4 + 4 * count
        write("llama2c", {"ids": ids})


main()
