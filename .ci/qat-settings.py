#!/usr/bin/env python3
"""The training of `dibit qat` in PyTorch on a GPU, to try settings on: a million tokens take ten seconds there and half an hour on two cores.

    pip install torch safetensors tokenizers
    dibit convert CHECKPOINT --bits 16 --output floats
    .ci/qat-settings.py floats MODEL [RUN...] --data TEXT... [--test TEXT...]

MODEL is what `dibit convert --calibrate` made of CHECKPOINT, a llama whose head is its embedding. A RUN is a name and settings, such as
`large:steps=500,batch=16,rate=6e-3`; see RUN below for all and their defaults, which are those of `dibit qat`. Prints for each run the divergence from
the floats on what is held out of the text, and for each test text the perplexity over the floats' and the divergence. Text and offsets differ from
those of `dibit qat`, and nothing is written: what has won is to be run there.

Beside the settings of `dibit qat` there are: `pull`, how far, in scales, floats on a trellis lie from their levels at most to begin with; `scales=1`, which
trains scales and norms alone; `rank`, a recovery in floats that is trained beside what else is, `rank_rate` in units of the scales of its matrix. For
trellises nvcc is needed, too.
"""
import argparse
import ctypes
import functools
import glob
import json
import math
import os
import subprocess
import tempfile
import time

import numpy
import torch
import torch.nn.functional as functional
from safetensors import safe_open
from tokenizers import Tokenizer

RUN = dict(
    steps=250, batch=16, tokens=256, rate=6e-3, scale_rate=5e-4, norm_rate=5e-4, embedding_rate=2e-3, beta1=0.9, beta2=0.95, warmup=0.03, end=0.05,
    cosine=0, clip=1.0, seed=0, pull=0.3, scales=0, rank=0, rank_rate=4e-3)
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


@functools.cache
def trellis():
    """The function of trellis.cu."""
    library = f"{tempfile.mkdtemp()}/trellis.so"
    on_device = ["nvcc", "-arch=native", "-Xcompiler", "-fPIC"]
    tool = on_device if DEVICE == "cuda" else ["c++", "-x", "c++", "-march=native", "-fopenmp", "-fPIC"]
    subprocess.run([*tool, "-O3", "-shared", "-o", library, os.path.join(os.path.dirname(__file__), "trellis.cu")], check=True)
    return ctypes.CDLL(library).choose


def choose(weights, scales, levels):
    """Overwrites `levels: [chunks, 64]` with those of the best codes of `weights` at `scales: [chunks, 1]`."""
    pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (weights, scales, levels)]
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream if DEVICE == "cuda" else None)
    if failure := trellis()(*pointers, ctypes.c_longlong(2 * len(levels)), stream):
        raise SystemExit(f"trellis.cu: CUDA says {failure}")


def on_trellis(codes):
    """The levels of codes of two bits, [rows, columns]; see docs/formats/model.md#trellis."""
    order = numpy.array([p // 16 * 16 + p % 4 * 4 + p % 16 // 4 for p in range(32)])
    sets = numpy.array([[-7, -2, 4, 1], [0, 7, -3, 2], [-2, 3, 0, -5], [1, 4, -4, -1]], numpy.int8)
    c = codes.reshape(codes.shape[0], -1, 32)[:, :, order]
    a, b = numpy.roll(c, 2, -1), numpy.roll(c, 1, -1)
    levels = numpy.empty(c.shape, numpy.int8)
    levels[:, :, order] = sets[b, a ^ c]
    return levels.reshape(codes.shape)


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
        bits_of = {name: form["tensor_bits"].get(name) or form["embedding_bits" if "embed" in name else "bits"] for name in network.matrices}
        chained = {name for name in bits_of if form.get("trellis", False) and bits_of[name] == 2}
        for name in sorted(network.matrices, key=lambda name: ("embed" in name, name not in chained)):
            weight, own, (rows, columns) = network.matrices[name], bits_of[name], network.matrices[name].shape
            scale = tensors[name + ".scales"].transpose(0, 2, 1)
            scale = scale.reshape(-1, scale.shape[-1])[:rows].astype(numpy.float32)
            length = columns if form["group_size"] == "row" else form["group_size"]
            codes = unpacked(tensors[name], own)[:rows, :columns]
            levels.append((on_trellis(codes) if name in chained else codes.astype(numpy.int8) - (1 << own - 1)).reshape(-1, CHUNK))
            weights.append(weight.float().view(-1, CHUNK))
            group = numpy.arange(rows)[:, None] * scale.shape[1] + numpy.arange(columns // CHUNK)[None] * CHUNK // length
            groups.append(count + group.reshape(-1))
            scales.append(scale.reshape(-1))
            bits.append(numpy.full(group.size, 4 if name in chained else own))
            spacing = numpy.exp(numpy.log(numpy.maximum(numpy.abs(scale), LEAST)).mean()) * (3 if name in chained else 1)
            units.append(numpy.full(group.size, spacing, numpy.float32))
            self.ranges[name] = (chunks, group.size, rows, columns)
            chunks, count = chunks + group.size, count + scale.size

        def on_device(arrays):
            return torch.from_numpy(numpy.concatenate(arrays)).to(DEVICE)

        self.embedding = self.ranges["model.embed_tokens.weight"][0]
        self.embedding_scales = count - scales[-1].size
        self.chained = sum(self.ranges[name][1] for name in chained)  # the first chunks lie on a trellis
        self.levels = on_device(levels)
        self.weights, levels, scales = torch.cat(weights), self.levels.float(), on_device(scales)
        self.groups, bits, self.units = on_device(groups), on_device(bits).float(), on_device(units)[:, None]
        self.sign, self.logarithms = torch.where(scales < 0, -1.0, 1.0), scales.abs().clamp_min(LEAST).log()
        self.low, self.high = -(2 ** (bits - 1))[:, None], (2 ** (bits - 1) - 1)[:, None]
        # Floats of other codes begin a fifth of a scale from their level.
        self.scale = (self.sign * self.logarithms.exp())[self.groups][:, None]
        ratio = self.weights / self.scale
        nearest = ratio.round().clamp(self.low, self.high)
        kept = (nearest == levels) | (torch.arange(len(levels), device=DEVICE) < self.chained)[:, None]
        self.weights = torch.where(kept, self.weights, self.scale * (levels + torch.where(ratio > levels, 0.2, -0.2)))

    def pulled(self, limit):
        """The floats, those on a trellis as near to their levels as it takes to have these."""
        n = self.chained
        scale, floats = self.scale[:n].contiguous(), self.weights[:n].clone()
        middle, found = self.levels[:n].float() * scale, torch.zeros_like(self.levels[:n])
        for limit in (*(limit / 2 ** attempt for attempt in range(7)), 0) if n else ():
            choose(floats, scale, found)
            other = (found != self.levels[:n]).view(-1, 32).any(1).repeat_interleave(32).view(-1, CHUNK)
            if not other.any():
                break
            floats = torch.where(other, middle + torch.maximum(torch.minimum(floats - middle, limit * scale), -limit * scale), floats)
        return torch.cat([floats, self.weights[n:]])


# --- a step ----------------------------------------------------------------


def divergence_gradient(own, target):
    """The gradient of the mean divergence by the logits."""
    return ((own.float().softmax(-1) - target.float().softmax(-1)) / own.shape[0]).bfloat16()


def rounded(weights, scale, low, high):
    return torch.where(scale != 0, weights / scale, 0.0).round().clamp(low, high)


def through(weights, packed, gradient, scale, low, high):
    """Gradients of the floats, and chunk by chunk of the logarithms of scales; the sum of the former's squares."""
    ratio = torch.where(scale != 0, weights / scale, 0.0)
    inside = ((ratio < high + 0.5) & (ratio > low - 0.5)).float()
    gradient = gradient.float()
    of_scale = (gradient * packed.float()).sum(-1)
    gradient = gradient * inside
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


def fill_levels(packed, levels, scale):
    packed.copy_(levels.float() * scale)


FAST = {function.__name__: compiled(function) for function in (layer_of, head_of, divergence_gradient, through, adam, fill, fill_levels)}


class Recovery:
    """Matrices of a low rank over all but the embedding, in units of the scales of theirs."""

    def __init__(self, start, rank):
        ranges = [own for own in start.ranges.values() if own[0] < start.embedding]
        sizes = [size * rank for _, _, rows, columns in ranges for size in (rows, columns)]
        self.values, self.gradient = (torch.zeros(sum(sizes), device=DEVICE) for _ in range(2))
        self.sum = torch.zeros(start.embedding, CHUNK, device=DEVICE)
        parts = list(zip(self.values.split(sizes), self.gradient.split(sizes)))
        self.parts = [(slice(first, first + count), rows, columns, float(start.units[first]) / math.sqrt(rank), b, a)
                      for (first, count, rows, columns), b, a in zip(ranges, parts[0::2], parts[1::2])]
        generator = torch.Generator().manual_seed(1)
        for _, _, columns, _, _, (a, _) in self.parts:
            a.copy_(torch.randn(a.shape, generator=generator))

    def add(self, packed):
        for chunks, rows, columns, unit, (b, _), (a, _) in self.parts:
            torch.mm(b.view(rows, -1) * unit, a.view(-1, columns), out=self.sum[chunks].view(rows, columns))
        packed[:len(self.sum)] += self.sum

    def take(self, gradient):
        for chunks, rows, columns, unit, (b, db), (a, da) in self.parts:
            dense = gradient[chunks].view(rows, columns)
            db.view(rows, -1).copy_(dense @ a.view(-1, columns).T.bfloat16() * unit)
            da.view(-1, columns).copy_(b.view(rows, -1).T.bfloat16() @ dense * unit)


class Training:
    def __init__(self, start, teacher, text, settings):
        self.start, self.teacher, self.text, self.settings = start, teacher, text, settings
        self.weights, self.logarithms, self.norms = start.pulled(settings["pull"]), start.logarithms.clone(), start.norms.clone()
        self.levels = start.levels.clone()
        self.recovery = Recovery(start, settings["rank"]) if settings["rank"] else None
        self.trained = [self.weights, self.logarithms, self.norms] + ([self.recovery.values] if self.recovery else [])
        self.moments = [(torch.zeros_like(value, dtype=torch.bfloat16 if value is self.weights else None), torch.zeros_like(value))
                        for value in self.trained]
        self.packed = torch.zeros_like(self.weights, dtype=torch.bfloat16)
        self.gradient, self.norm_gradient = torch.zeros_like(self.packed), torch.zeros_like(self.norms)
        self.scale = torch.zeros_like(start.units)
        self.rates = settings["rate"] * start.units
        self.rates[start.embedding:] *= settings["embedding_rate"] / settings["rate"]
        self.scale_rates = torch.full_like(self.logarithms, settings["scale_rate"])
        if settings["scales"]:
            self.scale_rates[start.embedding_scales:] = 0

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
        self.round()

    def round(self):
        start = self.start
        scales = self.logarithms.exp().half() * start.sign
        self.scale.copy_(scales[start.groups][:, None])
        n, packed = start.chained, self.packed
        if self.settings["scales"]:
            FAST["fill_levels"](packed, self.levels, self.scale)
        else:
            FAST["fill"](packed[n:], self.weights[n:], self.scale[n:], start.low[n:], start.high[n:])
            if n:
                choose(self.weights[:n], self.scale[:n], self.levels[:n])
                FAST["fill_levels"](packed[:n], self.levels[:n], self.scale[:n])
        if self.recovery:
            self.recovery.add(self.packed)

    def step(self):
        settings, start = self.settings, self.start
        self.gradient.zero_()
        self.norm_gradient.zero_()
        embedding = self.network.matrices["model.embed_tokens.weight"]
        stream = functional.embedding(self.tokens, embedding.detach()).float().requires_grad_()
        with torch.no_grad():
            target = self.teacher.logits(self.tokens, False, None, FAST["layer_of"], FAST["head_of"])
        own = self.network.logits(self.tokens, True, stream, FAST["layer_of"], FAST["head_of"]).flatten(0, 1)
        own.backward(FAST["divergence_gradient"](own.detach(), target.flatten(0, 1)))
        with torch.no_grad():
            embedding.grad.index_add_(0, self.tokens.flatten(), stream.grad.flatten(0, 1).bfloat16())
            if self.recovery:
                self.recovery.take(self.gradient)
                self.packed[:start.embedding] -= self.recovery.sum
            gradient, chunks, squares = FAST["through"](self.weights, self.packed, self.gradient, self.scale, start.low, start.high)
            of_scales = torch.zeros_like(self.logarithms).index_add_(0, start.groups, chunks) * (self.scale_rates > 0)
            gradients = [gradient, of_scales, self.norm_gradient] + ([self.recovery.gradient] if self.recovery else [])
            squares = 0 if settings["scales"] else squares
            norm = (squares + sum(own.pow(2).sum() for own in gradients[1:])).sqrt()
            rest = ((settings["clip"] / norm).clamp(max=1.0), self.now[1], self.now[2], settings["beta1"], settings["beta2"])
            rates = [self.rates, self.scale_rates, settings["norm_rate"], settings["rank_rate"]]
            for index, (values, own, moments) in enumerate(zip(self.trained, gradients, self.moments)):
                if index or not settings["scales"]:
                    (adam if index else FAST["adam"])(values, own, *moments, rates[index] * self.now[0], *rest)
            self.round()

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
        kept = [value.clone() for value in self.trained]
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
        for value, before in zip(self.trained, kept):
            value.copy_(before)
        for moments in self.moments:
            for moment in moments:
                moment.zero_()
        self.round()
        return graph.replay

    def run(self, look):
        """Yields the number of every step after which is looked at what is held out."""
        step = self.recorded()
        for number in range(1, self.settings["steps"] + 1):
            self.prepare(number)
            step()
            if look and number % look == 0:
                yield number


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
    parser.add_argument("--look", type=int, default=0, metavar="STEPS", help="also print the divergence on what is held out after so many steps each")
    arguments = parser.parse_args()
    runs = [settings_of(run) for run in arguments.runs]
    tokenizer = Tokenizer.from_file(f"{arguments.model}/tokenizer.json")

    def ids(path, limit=None):
        with open(path, encoding="utf-8") as file:
            text = file.read(limit)
        parts = tokenizer.encode_batch([text[first:first + 200_000] for first in range(0, len(text), 200_000)], add_special_tokens=False)
        return torch.tensor([token for part in parts for token in part.ids], device=DEVICE)

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
        for number in training.run(arguments.look):
            print(f"  {name} {number}: {measured(training.network, teacher, windows[held], True)[0]:.4f}", flush=True)
        print(f"{name}: held out {measured(training.network, teacher, windows[held], True)[0]:.4f}", end="")
        for path, parts in tests.items():
            total, own, other = measured(training.network, teacher, parts, True)
            print(f"; {os.path.basename(path)} {math.exp(own - other):.3f}, {total:.4f}", end="")
        print(f"; {settings['steps'] * settings['batch'] * settings['tokens']} tokens in {time.monotonic() - begin:.0f} s", flush=True)


main()
