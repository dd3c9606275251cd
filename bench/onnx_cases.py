"""The standard's own cases of ONNX: how many this package computes, family by family, and why the others are left.

    python bench/onnx_cases.py

The cases come with the package onnx: models of one node, some of them expanded into several, and models that PyTorch
wrote. Each is loaded and run on the CPU. Prints the tables and writes bench/results/onnx.md; fails where a case whose
operators are all known does not hold.
"""

import platform
import sys
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import lucid_nb as lnb  # noqa: E402
from lucid_nb.errors import LucidError  # noqa: E402
from lucid_nb.onnx.table import entries  # noqa: E402
from tests.onnx import cases  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "onnx.md"
KINDS = {"node": "one operator", "pytorch-converted": "layers that PyTorch wrote",
         "pytorch-operator": "operators that PyTorch wrote", "simple": "small models"}
NO_NUMBERS = "computes with strings, images in files, or trees"
REASONS = {
    "ai.onnx.ml": NO_NUMBERS, "String": NO_NUMBERS, "Regex": NO_NUMBERS, "TfIdf": NO_NUMBERS,
    "ImageDecoder": NO_NUMBERS, "Quantize": "quantised", "QLinear": "quantised", "Integer": "quantised",
    "Dequantize": "quantised",
    "preview": "in the standard's preview", "NonMaxSuppression": "not there", "BitCast": "not there",
    "MelWeightMatrix": "not there", "SequenceMap": "not there"}
DTYPE = "on dtypes that no tensor has: strings, 8 bits of floats, 4 and 2 bits"
DRAWS = "draws random numbers, which no seed makes another library's"


def families():
    """{operator: the file of its entry}."""
    modules = {entry.name: entry.handler.__module__.rsplit(".", 1)[-1] for entry in entries()}
    return {name: "functions of ours as they are" if module == "table" else module for name, module in modules.items()}


def named(case, known):
    """The operators of a case that are not known, or all of them."""
    words = {node.op_type for node in cases.nodes_of(cases.model_of(case).graph)}
    return ", ".join(sorted(words - {*known} or words))


def outcome(case):
    """"" for a case that holds, otherwise what is wrong."""
    try:
        found = lnb.onnx.load(cases.model_of(case))
        for inputs, outputs in cases.sets_of(case):
            with lnb.no_grad(), np.errstate(all="ignore"):
                results = found(*inputs)
            for mine, theirs in zip(results if isinstance(results, tuple) else (results,), outputs):
                cases.check(mine, theirs, case)
    except (LucidError, AssertionError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    return ""


def why(case):
    """Why a case is left out."""
    if cases.DRAWN in case.name:
        return DRAWS
    missing = [node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
               for node in cases.nodes_of(cases.model_of(case).graph) if node.op_type not in families()]
    for name in missing:
        for part, reason in REASONS.items():
            if part in name:
                return reason
    return "not there" if missing else DTYPE


def family_of(case, known):
    """The family of a case: that of its node, or "several nodes"."""
    words = {node.op_type for node in cases.model_of(case).graph.node}
    return known[words.pop()] if len(words) == 1 else "several nodes"


def table(head, rows):
    """A table of Markdown."""
    return "\n".join([f"| {' | '.join(head)} |", f"|---|{'--:|' * (len(head) - 1)}",
                      *[f"| {' | '.join(map(str, row))} |" for row in rows]])


def main():
    """Run all, print, write."""
    warnings.simplefilter("ignore")
    known, wrong, totals, left = families(), {}, [], defaultdict(list)
    by_family = defaultdict(Counter)
    for kind, words in KINDS.items():
        every = cases.every(kind)
        claimed = {name: case for name, case in every.items() if cases.claimed(case)}
        for name in every.keys() - claimed.keys():
            left[why(every[name])].append(named(every[name], known))
        failed = {name: text for name, case in claimed.items() if (text := outcome(case))}
        wrong |= failed
        totals.append((f"{words} (`{kind}`)", len(every), len(claimed), len(claimed) - len(failed)))
        for name, case in claimed.items() if kind == "node" else ():
            by_family[family_of(case, known)].update(["cases", *(["hold"] if name not in failed else [])])
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, onnx {onnx.__version__}"
    made = f"`python bench/onnx_cases.py`, {time.strftime('%Y-%m-%d')}, {platform.machine()}, {versions}."
    reasons = [(reason, len(names), ", ".join(sorted({word for name in names for word in name.split(", ")})))
               for reason, names in sorted(left.items())]
    text = "\n\n".join([
        "# The cases of the ONNX standard", made,
        "A case holds when every output has the shape, the dtype and, by the case's own tolerances (of half floats "
        f"1e-2), the values of the standard. {len({*known})} operators are known, in {len(list(entries()))} versions.",
        table(("cases", "there are", "with known operators", "hold"), totals),
        "Of one operator, by the file that it stands in (`lucid_nb/onnx/handlers`):",
        table(("family", "cases", "hold"), [(name, counts["cases"], counts["hold"])
                                            for name, counts in sorted(by_family.items())]),
        "Left out:", table(("why", "cases", "of"), reasons),
        *(["Wrong:", table(("case", "what"), wrong.items())] if wrong else ["None of the others fails."])])
    print(text)
    RESULTS.write_text(text + "\n", encoding="utf-8")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
