#!/usr/bin/env python3
"""Writes Tests/Fixtures/keras: KerasHub presets of random weights, and the same models as Hugging Face keeps them.

    pip install keras keras-hub h5py torch transformers safetensors
    .ci/make-keras-fixtures.py Tests/Fixtures/keras

For each family: config.json and model.weights.h5 as KerasHub saves them, translated.safetensors with the parameters under their Hugging
Face names. A family is written only if transformers computes the same logits from translated.safetensors as KerasHub does from the
preset, to 1e-5 of their standard deviation.
"""
import json, os, sys

os.environ["KERAS_BACKEND"] = "torch"
import numpy as np
import keras, torch
import keras_hub.models as km
from safetensors.numpy import save_file
from transformers import AutoConfig, AutoModelForCausalLM

out = sys.argv[1]
sizes = dict(vocabulary_size=10, num_layers=2, num_query_heads=4, num_key_value_heads=2, hidden_dim=8)
common = dict(vocab_size=10, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=8, max_position_embeddings=64)
norms = dict(use_post_ffw_norm=True, use_post_attention_norm=True)
caps = dict(attention_logit_soft_cap=5.0, final_logit_soft_cap=3.0, use_sliding_window_attention=True, sliding_window_size=6)
families = {
    "llama": (
        km.LlamaBackbone(
            **sizes, intermediate_dim=12, rope_max_wavelength=500000, rope_frequency_adjustment_factor=8.0, rope_low_freq_factor=1.0,
            rope_high_freq_factor=4.0, rope_pretraining_sequence_length=16, layer_norm_epsilon=1e-5),
        km.LlamaCausalLM,
        dict(intermediate_size=12, rms_norm_eps=1e-5, tie_word_embeddings=False, rope_parameters=dict(
            rope_type="llama3", rope_theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)),
    ),
    "mistral": (
        km.MistralBackbone(**sizes, intermediate_dim=12, head_dim=4, sliding_window=5),
        km.MistralCausalLM,
        dict(intermediate_size=12, head_dim=4, sliding_window=5, rms_norm_eps=1e-6, tie_word_embeddings=False),
    ),
    "gemma": (
        km.GemmaBackbone(**sizes, intermediate_dim=24, head_dim=4),
        km.GemmaCausalLM,
        dict(intermediate_size=12, head_dim=4, rms_norm_eps=1e-6),
    ),
    "gemma2": (
        km.GemmaBackbone(**sizes, intermediate_dim=24, head_dim=4, **norms, **caps),
        km.GemmaCausalLM,
        dict(intermediate_size=12, head_dim=4, rms_norm_eps=1e-6, query_pre_attn_scalar=4, sliding_window=6,
             attn_logit_softcapping=5.0, final_logit_softcapping=3.0),
    ),
}


def llama(backbone):
    e = backbone.token_embedding
    yield "model.embed_tokens", e.embeddings
    yield "lm_head", keras.ops.transpose(e.reverse_embeddings)
    yield "model.norm", backbone.layer_norm.scale
    for i, layer in enumerate(backbone.transformer_layers):
        p, a = f"model.layers.{i}.", layer._self_attention_layer
        yield p + "input_layernorm", layer._self_attention_layernorm.scale
        yield p + "post_attention_layernorm", layer._feedforward_layernorm.scale
        for name, dense in ("q", a._query_dense), ("k", a._key_dense), ("v", a._value_dense):
            yield p + f"self_attn.{name}_proj", np.einsum("cnh->nhc", dense.kernel.numpy()).reshape(-1, 8)
        yield p + "self_attn.o_proj", np.einsum("nhc->cnh", a._output_dense.kernel.numpy()).reshape(8, -1)
        yield p + "mlp.gate_proj", layer._feedforward_gate_dense.kernel.numpy().T
        yield p + "mlp.up_proj", layer._feedforward_intermediate_dense.kernel.numpy().T
        yield p + "mlp.down_proj", layer._feedforward_output_dense.kernel.numpy().T


def gemma(backbone):
    yield "model.embed_tokens", backbone.token_embedding.embeddings
    yield "model.norm", backbone.layer_norm.scale
    for i, layer in enumerate(backbone.transformer_layers):
        p, a = f"model.layers.{i}.", layer.attention
        yield p + "input_layernorm", layer.pre_attention_norm.scale
        yield p + ("pre_feedforward_layernorm" if layer.use_post_ffw_norm else "post_attention_layernorm"), layer.pre_ffw_norm.scale
        if layer.use_post_ffw_norm:
            yield p + "post_attention_layernorm", layer.post_attention_norm.scale
            yield p + "post_feedforward_layernorm", layer.post_ffw_norm.scale
        for name, dense in ("q", a.query_dense), ("k", a.key_dense), ("v", a.value_dense):
            yield p + f"self_attn.{name}_proj", np.einsum("nch->nhc", dense.kernel.numpy()).reshape(-1, 8)
        yield p + "self_attn.o_proj", np.einsum("nhc->cnh", a.output_dense.kernel.numpy()).reshape(8, -1)
        yield p + "mlp.gate_proj", layer.gating_ffw.kernel.numpy().T
        yield p + "mlp.up_proj", layer.gating_ffw_2.kernel.numpy().T
        yield p + "mlp.down_proj", layer.ffw_linear.kernel.numpy().T


def array(value):
    value = value if isinstance(value, np.ndarray) else keras.ops.convert_to_numpy(value)
    return np.ascontiguousarray(value.astype(np.float32))


for number, (name, (backbone, task, config)) in enumerate(families.items()):
    random = np.random.default_rng(number)
    model = task(backbone, preprocessor=None)
    for w in model.weights:
        center = 1.0 if len(w.shape) == 1 and "gemma" not in name else 0.0
        w.assign(random.standard_normal(w.shape).astype(np.float32) * (0.1 if len(w.shape) == 1 else 0.3) + center)
    folder = os.path.join(out, name)
    os.makedirs(folder, exist_ok=True)
    with torch.no_grad():
        state = {n + ".weight": array(v.detach() if hasattr(v, "detach") else v) for n, v in (gemma if "gemma" in name else llama)(backbone)}
    ids = random.integers(0, 10, size=(2, 24)).astype(np.int64)
    logits = keras.ops.convert_to_numpy(model({"token_ids": ids, "padding_mask": np.ones_like(ids)}))
    settings = AutoConfig.for_model(name, **common, **config)
    settings._attn_implementation = "eager"
    other = AutoModelForCausalLM.from_config(settings).float().eval()
    missing, unexpected = other.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()}, strict=False)
    assert not unexpected and set(missing) <= ({"lm_head.weight"} if "gemma" in name else set()), (missing, unexpected)
    other.tie_weights()
    with torch.no_grad():
        worst = np.abs(other(input_ids=torch.from_numpy(ids)).logits.numpy() - logits).max() / logits.std()
    assert worst < 1e-5, (name, worst)
    backbone.save_to_preset(folder)
    os.remove(os.path.join(folder, "metadata.json"))  # versions and the time
    save_file(state, os.path.join(folder, "translated.safetensors"))
    print(f"{name:8s} worst difference {worst:.1e} of the standard deviation")
