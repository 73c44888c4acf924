#!/usr/bin/env python3
"""What the families can be configured to, beside what the fixtures in parity/ show: tiny checkpoints of random weights with logits, loss and
gradients as transformers and PyTorch's autograd compute them. Usage: make_variants.py OUT"""
import os
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import (AutoModelForCausalLM, Gemma3TextConfig, GemmaConfig, GPT2Config, GPTNeoXConfig, LlamaConfig, MistralConfig, Olmo2Config,
                          Phi3Config, Qwen2Config, SmolLM3Config)

HIDDEN, VOCABULARY = 16, 56
BASE = dict(vocab_size=VOCABULARY, hidden_size=HIDDEN, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=128, bos_token_id=1, eos_token_id=2, pad_token_id=0)


def make(cls, **keys): return cls(**{**BASE, **keys})


def rope(kind, **keys): return dict(rope_type=kind, rope_theta=10000.0, **keys)


VARIANTS = {
    "gemma": make(GemmaConfig, head_dim=8),
    "gemma3_linear": make(Gemma3TextConfig, head_dim=8, query_pre_attn_scalar=12, sliding_window=6,
                          layer_types=["sliding_attention", "full_attention"],
                          rope_parameters={"full_attention": dict(rope_type="linear", rope_theta=1e6, factor=8.0),
                                           "sliding_attention": dict(rope_type="default", rope_theta=1e4)}),
    "gpt2_unscaled": GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=HIDDEN, n_layer=2, n_head=4, n_inner=40, scale_attn_weights=False,
                                activation_function="gelu", tie_word_embeddings=False, bos_token_id=1, eos_token_id=2, resid_pdrop=0.0,
                                embd_pdrop=0.0, attn_pdrop=0.0),
    "gpt_neox_sequential": GPTNeoXConfig(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
                                         max_position_embeddings=128, use_parallel_residual=False, bos_token_id=1, eos_token_id=2,
                                         rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5)),
    "llama_biases": make(LlamaConfig, attention_bias=True, mlp_bias=True, head_dim=6),
    "llama_dynamic": make(LlamaConfig, rope_parameters=rope("dynamic", factor=2.0), hidden_act="gelu"),
    "mistral_full": make(MistralConfig, sliding_window=None, head_dim=8, num_key_value_heads=1, tie_word_embeddings=True),
    "olmo2_biases": make(Olmo2Config, attention_bias=True),
    "phi3_longrope": make(Phi3Config, sliding_window=9, original_max_position_embeddings=32,
                          rope_parameters=rope("longrope", short_factor=[1.0, 1.5], long_factor=[2.0, 4.0], original_max_position_embeddings=32)),
    "qwen2_yarn": make(Qwen2Config, use_sliding_window=True, sliding_window=5, max_window_layers=1, hidden_size=32,
                       rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=32)),
    "smollm3_window": make(SmolLM3Config, use_sliding_window=True, sliding_window=7, no_rope_layer_interval=2, mlp_bias=True),
}


def write(name, config, out):
    torch.manual_seed(len(name))
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).float().eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            deviation = 1 / p.shape[-1] ** 0.5 if p.dim() > 1 else 0.2
            p.copy_(torch.randn_like(p) * deviation + (1.0 if p.dim() == 1 and "norm" in key and "gemma" not in name else 0.0))
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    model.save_pretrained(folder, safe_serialization=True)
    os.remove(os.path.join(folder, "generation_config.json"))
    ids = np.random.default_rng(1).integers(3, VOCABULARY, size=(2, 24)).astype(np.int64)
    labels = ids.copy()
    labels[0, :7], labels[1, 15:] = -100, -100
    x, y = torch.from_numpy(ids), torch.from_numpy(labels)
    result = model(input_ids=x, labels=y)
    result.loss.backward()
    reference = {"input_ids": x, "labels": y, "logits": result.logits.detach(), "loss": result.loss.detach()}
    reference |= {"grad." + key: p.grad for key, p in model.named_parameters() if p.grad is not None}
    save_file({key: value.clone().contiguous() for key, value in reference.items()}, os.path.join(folder, "reference.safetensors"))


for name, config in VARIANTS.items():
    write(name, config, sys.argv[1])
