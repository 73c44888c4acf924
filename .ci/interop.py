#!/usr/bin/env python3
"""Loads everything that `dibit` writes in the libraries that it is written for, and compares ids, answers and log-probabilities.

    python3 -m venv venv
    venv/bin/pip install torch transformers peft gguf            # torch: the build for CPUs will do
    venv/bin/pip install "mlx[cpu]" mlx-lm llama-cpp-python      # left out where they are missing
    make interop PYTHON=venv/bin/python
    make interop PYTHON=venv/bin/python MODEL=SmolLM2-135M-Instruct.Q4_1.gguf

Works on a tiny llama that it makes, whose control tokens come first in the vocabulary, and on MODEL, any checkpoint of a llama with a chat
template. Prints a line for each comparison; the exit code is 1 if one fails. Nothing is fetched.
"""
import importlib.util, json, os, random, subprocess, sys, tempfile, warnings

os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false", CUDA_VISIBLE_DEVICES="")
warnings.simplefilter("ignore")
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging

logging.disable_progress_bar()

EXACT = ["--activations", "float", "--cache", "float32"]
TEXTS = ["the goal of the match", " two  spaces, a tab\tand\na line", "naïve café 123 🙂", "<|im_start|>user\nhello<|im_end|>\n"]
TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
QUESTION = "What is the goal of the match?"
failures = 0


def check(name, holds, found=""):
    global failures
    failures += not holds
    print(("ok      " if holds else "FAILED  ") + name + ("" if holds else f": {found}"), flush=True)


def has(module, name):
    if importlib.util.find_spec(module): return True
    print(f"skipped {name}: no module {module}")


def dibit(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True)
    if done.returncode: sys.exit(f"dibit {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def answer(model, prompt, *arguments, tokens=12):
    """Ids and log-probabilities of the likeliest tokens behind a prompt."""
    made = json.loads(dibit("generate", model, "--prompt", prompt, "--max-tokens", str(tokens), "--json", "--logprobs", "0", *EXACT, *arguments))
    return made["tokens"], [one["logprob"] for one in made["logprobs"]], made["prompt_tokens"]


def tiny(path):
    """A llama of random weights with a byte-level tokenizer."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator([text for text, _ in examples(200)] + [QUESTION], trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=special[0], eos_token=special[2], chat_template=TEMPLATE).save_pretrained(path)
    torch.manual_seed(1)
    configuration = LlamaConfig(vocab_size=400, hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4,
                                num_key_value_heads=2, max_position_embeddings=256, initializer_range=0.2, tie_word_embeddings=True,
                                bos_token_id=0, eos_token_id=2)
    LlamaForCausalLM(configuration).save_pretrained(path)


def examples(count):
    words = {"sport": "goal match team player cup".split(), "food": "soup bread salt butter stir".split()}
    draw = random.Random(1)
    for index in range(count):
        label = ["sport", "food"][index % 2]
        yield "the " + " and the ".join(draw.choice(words[label]) for _ in range(4)), label


def data(path):
    with open(path, "w") as file:
        for text, label in examples(48): file.write(json.dumps({"text": text, "label": label}) + "\n")
    return path


def greedy(model, ids, count, adapted=True):
    """What `answer` gives, by transformers."""
    with torch.no_grad():
        made = model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=count, do_sample=False,
                              return_dict_in_generate=True, output_logits=True)
    tokens = made.sequences[0, len(ids):].tolist()
    return tokens, [torch.log_softmax(logits[0].double(), -1)[token].item() for logits, token in zip(made.logits, tokens)]


def compare(name, ours, theirs, ends, tolerance=2e-3):
    """Tokens up to the one that ends the answer, and their log-probabilities."""
    (tokens, logs), (others, other_logs) = ours[:2], theirs[:2]
    while others and others[-1] in ends: others = others[:-1]
    worst = max((abs(a - b) for a, b in zip(logs, other_logs)), default=0) if other_logs else 0
    check(f"{name}: {len(tokens)} tokens, log-probabilities within {worst:.1e}", tokens == others and worst < tolerance, f"{tokens} {others} {worst}")


def tokens(name, path, tokenizer):
    listed = {token["content"]: token["id"] for token in json.load(open(path + "/tokenizer.json"))["added_tokens"]}
    found = {text: tokenizer.convert_tokens_to_ids(text) for text in listed}
    check(f"{name}: ids of {len(listed)} added tokens", bool(listed) and found == listed, found)
    for text in TEXTS:
        ids = [int(id) for id in dibit("tokenize", path, "--text", text).split()]
        check(f"{name}: ids of {text!r}", tokenizer(text)["input_ids"] == ids, (tokenizer(text)["input_ids"], ids))


def run(source, folder, name):
    os.makedirs(folder)
    at = lambda file: os.path.join(folder, file)
    dibit("convert", source, "--bits", "4", "--group-size", "32", "--output", at("first"))
    dibit("export", at("first"), "--format", "gguf", "--output", at("first.gguf"))
    # Through a GGUF file and back: its tokens have no tokenizer.json.
    dibit("convert", at("first.gguf"), "--bits", "32", "--embedding-bits", "32", "--output", at("model"))
    dibit("export", at("model"), "--format", "safetensors", "--output", at("floats"))
    dibit("export", at("model"), "--format", "gguf", "--output", at("model.gguf"))
    dibit("train", at("model"), "--data", data(at("data.jsonl")), "--output", at("adapter"), "--rank", "4", "--epochs", "1", "--learning-rate", "1e-3")
    for form in ["peft", "mlx", "gguf"]:
        dibit("export", at("model"), "--adapter", at("adapter"), "--format", form, "--output", at("adapter." + form))
    dibit("export", at("model"), "--adapter", at("adapter"), "--format", "safetensors", "--output", at("merged"))

    tokenizer = AutoTokenizer.from_pretrained(at("floats"))
    tokens(f"{name}, transformers", at("floats"), tokenizer)
    chat = [{"role": "user", "content": QUESTION}]
    rendered = tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    chat_ids = tokenizer(rendered, add_special_tokens=False)["input_ids"]
    ids = tokenizer(QUESTION)["input_ids"]
    model = AutoModelForCausalLM.from_pretrained(at("floats"), dtype=torch.float32).eval()
    ends = model.generation_config.eos_token_id
    ends = set(ends if isinstance(ends, list) else [ends])
    check(f"{name}, transformers: generate stops at the end of a turn", tokenizer.eos_token_id in ends, (tokenizer.eos_token_id, ends))
    ours = answer(at("model"), QUESTION)
    check(f"{name}, transformers: the chat template gives {ours[2]} tokens", len(chat_ids) == ours[2], len(chat_ids))
    compare(f"{name}, transformers, chat", ours, greedy(model, chat_ids, 12), ends)
    compare(f"{name}, transformers, GGUF written from it", answer(at("first"), QUESTION), greedy(model, chat_ids, 12), ends)
    plain = answer(at("model"), QUESTION, "--raw")
    compare(f"{name}, transformers, text", plain, greedy(model, ids, 12), ends)
    adapted = answer(at("model"), QUESTION, "--raw", "--adapter", at("adapter"))
    check(f"{name}: the adapter changes the answer's log-probabilities", adapted[1] != plain[1])
    compare(f"{name}, transformers, merged", adapted, greedy(AutoModelForCausalLM.from_pretrained(at("merged"), dtype=torch.float32).eval(), ids, 12), ends)
    for form in ["adapter", "adapter.peft"]:
        base = AutoModelForCausalLM.from_pretrained(at("floats"), dtype=torch.float32)
        compare(f"{name}, PEFT, {form}", adapted, greedy(PeftModel.from_pretrained(base, at(form)).eval(), ids, 12), ends)
    check(f"{name}: labels in every form", all(json.loads(dibit("inspect", at("adapter." + form), "--json"))["labels"] == ["food", "sport"] for form in ["peft", "mlx", "gguf"]))

    if has("gguf", "gguf"):
        from gguf import GGUFReader
        check(f"{name}, gguf: reads the model", len(GGUFReader(at("model.gguf")).tensors) > 0)
        fields = GGUFReader(at("adapter.gguf")).fields
        check(f"{name}, gguf: reads the adapter", fields["general.type"].contents() == "adapter" and "dibit.manifest" in fields)
    if has("mlx_lm", "mlx-lm"):
        import mlx.core as mx
        from mlx_lm import load
        for form, expected in [(None, plain), (at("adapter.mlx"), adapted)]:
            other, _ = load(at("floats"), adapter_path=form)
            sequence, logs = list(ids), []
            for _ in range(12):
                logits = other(mx.array([sequence]))[0, -1].astype(mx.float32)
                logs.append((logits - mx.logsumexp(logits)).max().item())
                sequence.append(logits.argmax().item())
                if sequence[-1] in ends: break
            compare(f"{name}, mlx-lm{', adapter' if form else ''}", expected, (sequence[len(ids):], logs), ends)
    if has("llama_cpp", "llama.cpp"):
        from llama_cpp import Llama
        for form, expected in [(None, plain), (at("adapter.gguf"), adapted)]:
            # llama.cpp keeps keys and values as fp16 and rounds activations: the first tokens are compared, and no probabilities.
            other = Llama(at("model.gguf"), lora_path=form, n_ctx=256, logits_all=False, verbose=False)
            check(f"{name}, llama.cpp: ids of a chat", other.tokenize(rendered.encode(), add_bos=False, special=True) == chat_ids)
            other.eval(ids)
            sequence = []
            for _ in range(4):
                sequence.append(other.sample(temp=0.0))
                other.eval(sequence[-1:])
            compare(f"{name}, llama.cpp{', adapter' if form else ''}", (expected[0][:4], []), (sequence, []), ends)


with tempfile.TemporaryDirectory() as scratch:
    tiny(scratch + "/source")
    run(scratch + "/source", scratch + "/tiny", "tiny")
    for model in sys.argv[2:]: run(model, scratch + "/given", os.path.basename(model))
sys.exit(f"{failures} comparisons failed" if failures else 0)
