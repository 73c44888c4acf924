#!/usr/bin/env python3
"""The training of `dibit qat` in PyTorch on a GPU, to try settings on: a million tokens take ten seconds there and half an hour on two cores.

    pip install torch safetensors tokenizers
    dibit convert CHECKPOINT --bits 16 --output floats
    .ci/qat-settings.py floats MODEL [RUN...] --data TEXT... [--test TEXT...]

MODEL is what `dibit convert --calibrate` made of CHECKPOINT, a llama whose head is its embedding. A RUN is a name and settings, such as
`large:steps=500,batch=16,rate=6e-3`; see RUN below for all and their defaults, which are those of `dibit qat`. Prints for each run the divergence from
the floats on what is held out of the text, and for each test text the perplexity over the floats' and the divergence. Text and offsets differ from
those of `dibit qat`, and nothing is written: what has won is to be run there.

Beside the settings of `dibit qat` there are some that were tried and left out: `lsq`, the gradient of scales of Esser et al.; `labels`, a share of the
loss that is the text itself; `unmasked`, gradients of weights beyond the ends of the grid; `muon`, orthogonalised steps of that size.
"""
import argparse
import glob
import json
import math
import os
import time

import numpy
import torch
import torch.nn.functional as functional
from safetensors import safe_open
from tokenizers import Tokenizer

RUN = dict(
    steps=250, batch=16, tokens=256, rate=6e-3, scale_rate=5e-4, norm_rate=5e-4, embedding_rate=2e-3, beta1=0.9, beta2=0.95, warmup=0.03, end=0.05,
    cosine=0, clip=1.0, seed=0, lsq=0, labels=0.0, unmasked=0, muon=0.0)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LINEAR = ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"]
CHUNK = 64  # all groups are whole chunks, but for the last of a row
LEAST = 6.1e-5  # the least scale


def compiled(function):
    return torch.compile(function, dynamic=False) if DEVICE == "cuda" else function


# --- models ----------------------------------------------------------------


class Network:
    """Weights of a llama: matrices by name, two norms for each layer, the last norm, and the embedding."""

    def __init__(self, configuration, matrices, norms, last):
        self.configuration, self.matrices, self.norms, self.last = configuration, matrices, norms, last
        self.tables = {}

    def rope(self, tokens):
        if tokens not in self.tables:
            head = self.configuration["head_dim"]
            frequencies = 1 / self.configuration["rope_theta"] ** (torch.arange(0, head, 2, device=DEVICE).float() / head)
            angles = torch.outer(torch.arange(tokens, device=DEVICE).float(), frequencies).repeat(1, 2)
            self.tables[tokens] = (angles.cos(), angles.sin())
        return self.tables[tokens]

    def logits(self, tokens, in_bytes, stream=None, block=None, head=None):
        embedding = self.matrices["model.embed_tokens.weight"]
        x = functional.embedding(tokens, embedding).float() if stream is None else stream
        shape = tuple(self.configuration[key] for key in ("num_attention_heads", "num_key_value_heads", "head_dim"))
        for layer, norms in enumerate(self.norms):
            matrices = [self.matrices[f"model.layers.{layer}.{name}.weight"] for name in LINEAR]
            x = (block or layer_of)(x, *self.rope(tokens.shape[1]), *norms, *matrices, shape, in_bytes)
        return (head or head_of)(x, self.last, embedding, in_bytes)


def rotated(x, cosine, sine):
    x = x.float()
    half = x.shape[-1] // 2
    return (x * cosine + torch.cat([-x[..., half:], x[..., :half]], -1) * sine).bfloat16()


def normalised(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * weight


def activations(x, in_bytes):
    """One byte for each, with a scale for 64 of them; gradients go straight through."""
    if not in_bytes:
        return x.bfloat16()
    groups = x.float().unflatten(-1, (-1, 64))
    scale = (groups.abs().amax(-1, keepdim=True) / 127).clamp_min(1e-20)
    return (x + (((groups / scale).round() * scale).flatten(-2) - x).detach()).bfloat16()


def layer_of(x, cosine, sine, norm1, norm2, query, key, value, output, gate, up, down, shape, in_bytes):
    batch, tokens, _ = x.shape
    heads, own, size = shape
    y = activations(normalised(x, norm1), in_bytes)
    q, k, v = ((y @ w.T).view(batch, tokens, n, size).transpose(1, 2) for w, n in ((query, heads), (key, own), (value, own)))
    k, v = (rotated(k, cosine, sine).repeat_interleave(heads // own, 1), v.repeat_interleave(heads // own, 1))
    y = functional.scaled_dot_product_attention(rotated(q, cosine, sine), k, v, is_causal=True).transpose(1, 2).flatten(2)
    x = x + (activations(y, in_bytes) @ output.T).float()
    y = activations(normalised(x, norm2), in_bytes)
    y = activations(functional.silu((y @ gate.T).float()) * (y @ up.T).float(), in_bytes)
    return x + (y @ down.T).float()


def head_of(x, norm, embedding, in_bytes):
    return activations(normalised(x, norm), in_bytes) @ embedding.T


def floats(path):
    """The network of a model of 16 bits."""
    configuration = json.load(open(f"{path}/config.json"))
    if configuration["model_type"] != "llama" or not configuration["tie_word_embeddings"]:
        raise SystemExit(f"{path}: a llama whose head is its embedding is wanted")
    with safe_open(f"{path}/model.safetensors", "pt", DEVICE) as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
    norms = [tuple(tensors[f"model.layers.{layer}.{name}.weight"] for name in ("input_layernorm", "post_attention_layernorm"))
             for layer in range(configuration["num_hidden_layers"])]
    matrices = {name: value.bfloat16() for name, value in tensors.items() if value.dim() == 2}
    return Network(configuration, matrices, norms, tensors["model.norm.weight"])


def unpacked(panels, bits):
    """The codes of [panels, blocks, 64] bytes, [rows, columns]; see docs/formats/model.md."""
    if bits == 3:
        units = panels.reshape(panels.shape[0], -1, 3, 16, 4)
        codes = [[(units[:, :, half] >> 2 * f & 3) + 4 * (units[:, :, 2] >> (2 * f + 2) % 8 + half & 1) for f in range(4)] for half in (0, 1)]
        codes = numpy.stack([numpy.stack(fields, 2) for fields in codes], 2)  # panel, unit, half, field, row, input
        return codes.transpose(0, 4, 1, 2, 3, 5).reshape(panels.shape[0] * 16, -1)
    blocks = panels.reshape(panels.shape[0], -1, 16, 4)
    codes = numpy.stack([blocks >> bits * f & (1 << bits) - 1 for f in range(8 // bits)], 2)  # panel, block, field, row, input
    return codes.transpose(0, 3, 1, 2, 4).reshape(panels.shape[0] * 16, -1)


class Start:
    """A converted model in chunks of 64 weights: floats that round to its codes, scales of groups, and which chunk has which."""

    def __init__(self, path, network):
        form = json.load(open(f"{path}/config.json"))["quantization"]
        if not form.get("full_range"):
            raise SystemExit(f"{path}: levels of full range are wanted, as convert --calibrate chooses them")
        with safe_open(f"{path}/model.safetensors", "np") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        self.norms = torch.stack([torch.from_numpy(tensors[f"model.layers.{layer}.{name}.weight"]) for layer in range(len(network.norms))
                                  for name in ("input_layernorm", "post_attention_layernorm")]
                                 + [torch.from_numpy(tensors["model.norm.weight"])]).to(DEVICE)
        self.ranges, weights, levels, scales, groups, bits, units = {}, [], [], [], [], [], []
        chunks = count = 0
        for name, weight in sorted(network.matrices.items(), key=lambda pair: "embed" in pair[0]):
            rows, columns = weight.shape
            own = form["tensor_bits"].get(name) or form["embedding_bits" if "embed" in name else "bits"]
            scale = tensors[name + ".scales"].transpose(0, 2, 1)
            scale = scale.reshape(-1, scale.shape[-1])[:rows].astype(numpy.float32)
            length = columns if form["group_size"] == "row" else form["group_size"]
            levels.append(unpacked(tensors[name], own)[:rows, :columns].astype(numpy.int8).reshape(-1, CHUNK) - (1 << own - 1))
            weights.append(weight.float().view(-1, CHUNK))
            group = numpy.arange(rows)[:, None] * scale.shape[1] + numpy.arange(columns // CHUNK)[None] * CHUNK // length
            groups.append(count + group.reshape(-1))
            scales.append(scale.reshape(-1))
            bits.append(numpy.full(group.size, own))
            units.append(numpy.full(group.size, numpy.exp(numpy.log(numpy.maximum(numpy.abs(scale), LEAST)).mean()), numpy.float32))
            self.ranges[name] = (chunks, group.size, rows, columns)
            chunks, count = chunks + group.size, count + scale.size

        def on_device(arrays):
            return torch.from_numpy(numpy.concatenate(arrays)).to(DEVICE)

        self.embedding = self.ranges["model.embed_tokens.weight"][0]
        self.weights, levels, scales = torch.cat(weights), on_device(levels).float(), on_device(scales)
        self.groups, bits, self.units = on_device(groups), on_device(bits).float(), on_device(units)[:, None]
        self.sign, self.logarithms = torch.where(scales < 0, -1.0, 1.0), scales.abs().clamp_min(LEAST).log()
        self.low, self.high = -(2 ** (bits - 1))[:, None], (2 ** (bits - 1) - 1)[:, None]
        # Floats of other codes begin a fifth of a scale from their level.
        scale = (self.sign * self.logarithms.exp())[self.groups][:, None]
        ratio = self.weights / scale
        nearest = ratio.round().clamp(self.low, self.high)
        self.weights = torch.where(nearest == levels, self.weights, scale * (levels + torch.where(ratio > levels, 0.2, -0.2)))


# --- a step ----------------------------------------------------------------


def divergence(own, target, following, labels):
    """The mean divergence, and the gradient of the loss by the logits; `following` is the next token, -1 where there is none."""
    q, p = own.float().log_softmax(-1), target.float().log_softmax(-1)
    share = (following >= 0).float()[:, None] * labels
    truth = (torch.arange(own.shape[1], device=own.device)[None] == following[:, None]).float()
    return (p.exp() * (p - q)).sum(-1).mean(), ((q.exp() - (1 - share) * p.exp() - share * truth) / own.shape[0]).bfloat16()


def rounded(weights, scale, low, high):
    return torch.where(scale != 0, weights / scale, 0.0).round().clamp(low, high)


def through(weights, gradient, scale, low, high, lsq, unmasked):
    """Gradients of the floats, and chunk by chunk of the logarithms of scales; the sum of the former's squares."""
    ratio = torch.where(scale != 0, weights / scale, 0.0)
    inside = ((ratio < high + 0.5) & (ratio > low - 0.5)).float()
    gradient = gradient.float()
    of_scale = (gradient * (ratio.round().clamp(low, high) - lsq * ratio * inside)).sum(-1) * scale[:, 0]
    gradient = gradient * torch.maximum(inside, torch.full_like(inside, unmasked))
    return gradient.bfloat16(), of_scale, gradient.pow(2).sum()


def adam(values, gradient, mean, square, rate, factor, correction1, correction2, beta1, beta2):
    gradient = gradient.float() * factor
    new = beta1 * mean.float() + (1 - beta1) * gradient
    squared = beta2 * square + (1 - beta2) * gradient * gradient
    values.sub_(rate * (new / correction1) / ((squared / correction2).sqrt() + 1e-8))
    mean.copy_(new)
    square.copy_(squared)


def fill(packed, weights, scale, low, high):
    packed.copy_(rounded(weights, scale, low, high) * scale)


FAST = {function.__name__: compiled(function) for function in (layer_of, head_of, divergence, through, adam, fill)}


class Training:
    def __init__(self, start, teacher, text, settings):
        self.start, self.teacher, self.text, self.settings = start, teacher, text, settings
        self.weights, self.logarithms, self.norms = start.weights.clone(), start.logarithms.clone(), start.norms.clone()
        self.moments = [(torch.zeros_like(value, dtype=torch.bfloat16 if value is self.weights else None), torch.zeros_like(value))
                        for value in (self.weights, self.logarithms, self.norms)]
        self.packed = torch.zeros_like(self.weights, dtype=torch.bfloat16)
        self.gradient, self.norm_gradient = torch.zeros_like(self.packed), torch.zeros_like(self.norms)
        self.scale = torch.zeros_like(start.units)
        self.rates = settings["rate"] * start.units
        self.rates[start.embedding:] *= settings["embedding_rate"] / settings["rate"]

        def leaf(values, gradient):
            values = values.detach().requires_grad_()
            values.grad = gradient
            return values

        matrices = {name: leaf(self.packed[first:first + count].view(rows, columns), self.gradient[first:first + count].view(rows, columns))
                    for name, (first, count, rows, columns) in start.ranges.items()}
        norms = [leaf(own, gradient) for own, gradient in zip(self.norms, self.norm_gradient)]
        self.network = Network(teacher.configuration, matrices, list(zip(norms[0:-1:2], norms[1:-1:2])), norms[-1])
        self.tokens = torch.zeros(settings["batch"], settings["tokens"], dtype=torch.long, device=DEVICE)
        self.now = torch.zeros(3, device=DEVICE)  # the schedule's share of the rates, and Adam's corrections
        generator = torch.Generator().manual_seed(settings["seed"])
        self.offsets = torch.randint(0, len(text) - settings["tokens"], (settings["steps"], settings["batch"]), generator=generator).to(DEVICE)
        self.done = 0
        self.round()

    def round(self):
        scales = self.logarithms.exp().half() * self.start.sign
        self.scale.copy_(scales[self.start.groups][:, None])
        FAST["fill"](self.packed, self.weights, self.scale, self.start.low, self.start.high)

    def step(self):
        settings, start = self.settings, self.start
        self.gradient.zero_()
        self.norm_gradient.zero_()
        embedding = self.network.matrices["model.embed_tokens.weight"]
        stream = functional.embedding(self.tokens, embedding.detach()).float().requires_grad_()
        with torch.no_grad():
            target = self.teacher.logits(self.tokens, False, None, FAST["layer_of"], FAST["head_of"])
        own = self.network.logits(self.tokens, True, stream, FAST["layer_of"], FAST["head_of"]).flatten(0, 1)
        following = torch.cat([self.tokens[:, 1:], torch.full_like(self.tokens[:, :1], -1)], 1).flatten()
        _, gradient = FAST["divergence"](own.detach(), target.flatten(0, 1), following, settings["labels"])
        own.backward(gradient)
        with torch.no_grad():
            embedding.grad.index_add_(0, self.tokens.flatten(), stream.grad.flatten(0, 1).bfloat16())
            gradient, chunks, squares = FAST["through"](
                self.weights, self.gradient, self.scale, start.low, start.high, float(settings["lsq"]), float(settings["unmasked"]))
            of_scales = torch.zeros_like(self.logarithms).index_add_(0, start.groups, chunks)
            norm = (squares + of_scales.pow(2).sum() + self.norm_gradient.pow(2).sum()).sqrt()
            rest = ((settings["clip"] / norm).clamp(max=1.0), self.now[1], self.now[2], settings["beta1"], settings["beta2"])
            first = 0
            if settings["muon"]:
                self.orthogonal_step(gradient)
                first = start.embedding
            moved = [tensor[first:] for tensor in (self.weights, gradient, *self.moments[0])]
            FAST["adam"](*moved, self.rates[first:] * self.now[0], *rest)
            adam(self.logarithms, of_scales, *self.moments[1], settings["scale_rate"] * self.now[0], *rest)
            adam(self.norms, self.norm_gradient, *self.moments[2], settings["norm_rate"] * self.now[0], *rest)
            self.round()

    def orthogonal_step(self, gradient):
        """Muon (Jordan, 2024), for matrices of one shape at a time."""
        shapes = {}
        for name, (first, count, rows, columns) in self.start.ranges.items():
            if first < self.start.embedding:
                shapes.setdefault((rows, columns), []).append((first, count))
        for (rows, columns), ranges in shapes.items():
            steps = []
            for first, count in ranges:
                mean, own = self.moments[0][0][first:first + count], gradient[first:first + count]
                mean.mul_(0.95).add_(own)
                steps.append((mean * 0.95 + own).view(rows, columns))
            x = torch.stack(steps)
            x = x.transpose(1, 2) if rows > columns else x
            x = x / (x.float().norm(dim=(1, 2), keepdim=True) + 1e-7).bfloat16()
            for _ in range(5):
                square = x @ x.transpose(1, 2)
                x = 3.4445 * x + (-4.7750 * square + 2.0315 * (square @ square)) @ x
            x = x.transpose(1, 2) if rows > columns else x
            for (first, count), step in zip(ranges, x):
                size = self.settings["muon"] * math.sqrt(max(rows, columns)) * self.rates[first] * self.now[0]
                self.weights[first:first + count].view(rows, columns).sub_(step.float() * size)

    def share(self, step):
        """The schedule's share of the peak rates in a step, counted from 1."""
        warm = max(1, round(self.settings["warmup"] * self.settings["steps"]))
        if step <= warm:
            return step / warm
        progress = (step - warm) / max(1, self.settings["steps"] - warm)
        left = (1 + math.cos(math.pi * progress)) / 2 if self.settings["cosine"] else 1 - progress
        return self.settings["end"] + (1 - self.settings["end"]) * left

    def prepare(self, step):
        betas = self.settings["beta1"], self.settings["beta2"]
        self.now.copy_(torch.tensor([self.share(step), *(1 - beta ** step for beta in betas)]))
        self.tokens.copy_(self.text[self.offsets[step - 1][:, None] + torch.arange(self.settings["tokens"], device=DEVICE)])

    def recorded(self):
        """A step as one launch, recorded with rates of zero."""
        if DEVICE != "cuda":
            return self.step
        kept = [value.clone() for value in (self.weights, self.logarithms, self.norms)]
        self.prepare(1)
        self.now[0] = 0
        stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.step()
            self.step()
        stream.synchronize()
        with torch.cuda.graph(graph, stream=stream):
            self.step()
        torch.cuda.synchronize()
        for value, before in zip((self.weights, self.logarithms, self.norms), kept):
            value.copy_(before)
        for moments in self.moments:
            for moment in moments:
                moment.zero_()
        self.round()
        return graph.replay

    def run(self):
        step = self.recorded()
        for number in range(1, self.settings["steps"] + 1):
            self.prepare(number)
            step()


@torch.no_grad()
def measured(network, teacher, windows, in_bytes):
    """The mean divergence from the teacher, and the mean negative logarithms that both give the text."""
    total, count, own_loss, loss, predicted = 0.0, 0, 0.0, 0.0, 0
    for window in windows:
        q, p = (model.logits(window[None], of_bytes)[0].float().log_softmax(-1) for model, of_bytes in ((network, in_bytes), (teacher, False)))
        total, count = total + (p.exp() * (p - q)).sum().item(), count + len(window)
        following = window[1:, None]
        own_loss, loss = own_loss - q[:-1].gather(-1, following).sum().item(), loss - p[:-1].gather(-1, following).sum().item()
        predicted += len(following)
    return total / count, own_loss / predicted, loss / predicted


def settings_of(run):
    name, _, rest = run.partition(":")
    settings = dict(RUN)
    for pair in filter(None, rest.split(",")):
        key, _, value = pair.partition("=")
        if key not in RUN:
            raise SystemExit(f"{run}: no setting is called '{key}'; there are {', '.join(RUN)}")
        settings[key] = type(RUN[key])(value)
    return name, settings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("floats")
    parser.add_argument("model")
    parser.add_argument("runs", nargs="*", metavar="RUN", default=["defaults"])
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--test", nargs="*", default=[])
    arguments = parser.parse_args()
    runs = [settings_of(run) for run in arguments.runs]
    tokenizer = Tokenizer.from_file(f"{arguments.model}/tokenizer.json")

    def ids(path, limit=None):
        with open(path, encoding="utf-8") as file:
            text = file.read(limit)
        parts = [tokenizer.encode(text[first:first + 200_000], add_special_tokens=False).ids for first in range(0, len(text), 200_000)]
        return torch.tensor([token for part in parts for token in part], device=DEVICE)

    files = [file for path in arguments.data for file in (sorted(glob.glob(f"{path}/*.txt")) if os.path.isdir(path) else [path])]
    text = torch.cat([ids(file) for file in files])
    # One window in a few hundred is held out.
    windows = text[:len(text) // 256 * 256].view(-1, 256)
    held = torch.zeros(len(windows), dtype=torch.bool, device=DEVICE)
    held[::max(2, len(windows) // 64)] = True
    if len(windows) < 16:
        raise SystemExit(f"{len(text)} tokens of text; 4,096 are the least")
    tests = {path: ids(path, 80_000)[:8000].split(512) for path in arguments.test}
    teacher = floats(arguments.floats)
    start = Start(arguments.model, teacher)
    for name, settings in runs:
        begin = time.monotonic()
        training = Training(start, teacher, windows[~held].flatten(), settings)
        training.run()
        print(f"{name}: held out {measured(training.network, teacher, windows[held], True)[0]:.4f}", end="")
        for path, parts in tests.items():
            total, own, other = measured(training.network, teacher, parts, True)
            print(f"; {os.path.basename(path)} {math.exp(own - other):.3f}, {total:.4f}", end="")
        print(f"; {settings['steps'] * settings['batch'] * settings['tokens']} tokens in {time.monotonic() - begin:.0f} s", flush=True)


main()
