#!/usr/bin/env python3
"""Ten steps of training as PyTorch makes them, from the checkpoint in parity/llama: of all weights, and of its adapter by way of PEFT,
also with DoRA's magnitudes, which begin at the norms of the base's rows.

Usage: make_trajectories.py parity/llama OUT.json. Tokens, options and every step's loss, gradient norm and learning rate go into OUT.json."""
import json
import math
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM

STEPS, SEQUENCES, LENGTH, WARMUP = 10, 2, 24, 3
RATE, FINAL, CLIP, DECAY, BETAS, EPSILON = 1e-2, 1e-3, 1.0, 0.1, (0.9, 0.95), 1e-8


def tokens(step, vocabulary):
    """Each batch twice, so that the second time can be learnt from the first."""
    batch = (step - 1) % (STEPS // 2)
    return [[3 + (batch * 31 + row * 17 + i * i * 5 + i * 7) % (vocabulary - 3) for i in range(LENGTH)] for row in range(SEQUENCES)]


def rate(step):
    if step <= WARMUP:
        return RATE * step / WARMUP
    return FINAL + (RATE - FINAL) * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))


def run(model, parameters, vocabulary):
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
              {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)
    steps = []
    for step in range(1, STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        batch = torch.tensor(tokens(step, vocabulary))
        optimizer.zero_grad()
        loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        optimizer.step()
        steps.append({"loss": loss.item(), "gradient_norm": norm.item(), "learning_rate": rate(step)})
    return steps


def load(path):
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").train()


def main(path, out):
    torch.use_deterministic_algorithms(True)
    model = load(path)
    vocabulary = model.config.vocab_size
    weights = run(model, list(model.parameters()), vocabulary)
    adapted = PeftModel.from_pretrained(load(path), path + "/peft", is_trainable=True)
    adapter = run(adapted, [p for p in adapted.parameters() if p.requires_grad], vocabulary)
    parts = {name: p for name, p in PeftModel.from_pretrained(load(path), path + "/peft").named_parameters() if "lora_" in name}
    decomposed = get_peft_model(load(path), LoraConfig(r=4, lora_alpha=8, use_dora=True, target_modules="all-linear", task_type="CAUSAL_LM"))
    with torch.no_grad():
        for name, parameter in decomposed.named_parameters():
            if name in parts:
                parameter.copy_(parts[name])
    dora = run(decomposed, [p for p in decomposed.parameters() if p.requires_grad], vocabulary)
    with open(out, "w") as file:
        json.dump({"tokens": [tokens(step, vocabulary) for step in range(1, STEPS + 1)],
                   "options": {"learning_rate": RATE, "final_learning_rate": FINAL, "warmup_steps": WARMUP, "grad_clip": CLIP,
                               "weight_decay": DECAY}, "weights": weights, "adapter": adapter, "dora": dora}, file, indent=1)
        file.write("\n")


main(*sys.argv[1:])
