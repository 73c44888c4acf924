#!/usr/bin/env python3
"""The speed of quantisation-aware training in PyTorch on the CPU, to be set beside `dibit qat`. Random weights: only time and memory mean something.

    pip install torch transformers
    .ci/qat-peer.py [--batch 4] [--tokens 256] [--steps 4] [--compile]

A llama in the shape of SmolLM2-135M whose linear layers run on 2-bit levels and whose embedding, which is the head as well, on 4-bit levels, in groups
of 64 with trained scales; gradients go straight through. What is minimised is the divergence from the same model in floats, which runs beside it.
AdamW moves float32 masters; products are in bfloat16. Prints the median step's tokens/s and the most memory that the process has held.
"""
import argparse
import resource
import time

import torch
import torch.nn.functional as functional
from transformers import LlamaConfig, LlamaForCausalLM

GROUP = 64


class Round(torch.autograd.Function):
    """The nearest of the levels `q + 1/2`, times the group's scale."""

    @staticmethod
    def forward(context, weight, log_scale, low, high):
        scale = log_scale.exp().unsqueeze(-1)
        ratio = weight.view(weight.shape[0], -1, GROUP) / scale
        level = torch.clamp(torch.floor(ratio), low, high) + 0.5
        context.save_for_backward(ratio, level, scale)
        context.low, context.high = low, high + 1
        return (level * scale).view_as(weight).bfloat16()

    @staticmethod
    def backward(context, gradient):
        ratio, level, scale = context.saved_tensors
        inside = ((ratio > context.low) & (ratio < context.high)).float()
        gradient = gradient.float().view_as(ratio)
        weight = (gradient * inside).view(ratio.shape[0], -1)
        return weight, (gradient * (level - ratio * inside)).sum(-1) * scale.squeeze(-1), None, None


def log_scales(weight):
    return torch.nn.Parameter(weight.detach().view(weight.shape[0], -1, GROUP).abs().mean(-1).log())


class RoundedLinear(torch.nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.weight = torch.nn.Parameter(linear.weight.detach().float().clone())
        self.log_scale = log_scales(self.weight)

    def forward(self, x):
        return functional.linear(x, Round.apply(self.weight, self.log_scale, -2, 1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    shape = LlamaConfig(
        hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
        tie_word_embeddings=True, attn_implementation="sdpa")
    teacher = LlamaForCausalLM(shape).bfloat16().eval()
    student = LlamaForCausalLM(shape)
    student.load_state_dict({name: value.float() for name, value in teacher.state_dict().items()})
    for layer in student.model.layers:
        for part, names in [(layer.self_attn, ("q_proj", "k_proj", "v_proj", "o_proj")), (layer.mlp, ("gate_proj", "up_proj", "down_proj"))]:
            for name in names:
                setattr(part, name, RoundedLinear(getattr(part, name)))
    embedding = student.model.embed_tokens.weight
    embedding_scale = log_scales(embedding)

    def divergence(tokens):
        rounded = Round.apply(embedding, embedding_scale, -8, 7)
        hidden = student.model(inputs_embeds=functional.embedding(tokens, rounded)).last_hidden_state
        own = functional.linear(hidden.bfloat16(), rounded).float().log_softmax(-1)
        with torch.no_grad():
            target = teacher(input_ids=tokens).logits.float().log_softmax(-1)
        return functional.kl_div(own.flatten(0, 1), target.flatten(0, 1), log_target=True, reduction="batchmean")

    if arguments.compile:
        divergence = torch.compile(divergence)
    parameters = [*student.parameters(), embedding_scale]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0)
    tokens = torch.randint(0, shape.vocab_size, (arguments.batch, arguments.tokens))
    seconds = []
    for _ in range(arguments.steps + 1):
        start = time.monotonic()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = divergence(tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.monotonic() - start)
    seconds = sorted(seconds[1:])
    rate = arguments.batch * arguments.tokens / seconds[len(seconds) // 2]
    print(f"{rate:.0f} tokens/s, {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")


main()
