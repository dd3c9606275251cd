"""Drawings of graphs: well-formed, complete, nothing on top of anything else, written whole or not at all."""

import importlib.util
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lucid_nb as lnb
from lucid_nb import nn
from lucid_nb.errors import BackendError, ConfigError, DTypeError, ShapeError
from lucid_nb.visual import draw_graph
from lucid_nb.visual.layout import layered

SPACE = "{http://www.w3.org/2000/svg}"


def boxes(drawing):
    """(classes, name, note, detail, tip) of each box."""
    found = []
    for group in ElementTree.fromstring(drawing).iter(f"{SPACE}g"):
        if "box" in group.get("class", "").split():
            words = [text.text for text in group.iter(f"{SPACE}text")]
            found.append((group.get("class").split()[1:], *words, group.find(f"{SPACE}title").text))
    return found


def arrows(drawing):
    """(name, name) of each arrow."""
    names = [box[1] for box in boxes(drawing)]
    return sorted((names[int(path.get("data-from"))], names[int(path.get("data-to"))])
                  for path in ElementTree.fromstring(drawing).iter(f"{SPACE}path") if path.get("class") == "arrow")


def words(drawing):
    """What is said of the whole."""
    return [text.text for text in ElementTree.fromstring(drawing).iter(f"{SPACE}text") if text.get("class") == "word"]


def perceptron():
    """A loss and its parameters."""
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    x = lnb.ones((5, 4), dtype="float32")
    return net(x).sum(), dict(net.named_parameters())


# ------------------------------------------------------------------------------------------------- what is told
def test_every_call_leaf_and_arrow_is_there():
    loss, params = perceptron()
    drawing = draw_graph(loss, params=params)
    assert sorted(box[1] for box in boxes(drawing)) == [
        "0.bias", "0.weight", "2.bias", "2.weight", "linear", "linear", "no gradient", "relu", "sum"]
    assert arrows(drawing) == sorted([
        ("no gradient", "linear"), ("0.weight", "linear"), ("0.bias", "linear"), ("linear", "relu"),
        ("relu", "linear"), ("2.weight", "linear"), ("2.bias", "linear"), ("linear", "sum")])
    flops = 5 * 3 * 4 + 5 * 3 + 5 * 2 * 3 + 5 * 2 + 9         # the choice of relu is none
    assert words(drawing)[-1] == f"4 calls · results of 164 B · 4 leaves of 92 B · {flops} flops"


def test_boxes_tell_shape_dtype_and_bytes():
    x = lnb.tensor(np.ones((64, 32)), requires_grad=True)
    by_name = {name: (kind, note, detail, tip) for kind, name, note, detail, tip in boxes(draw_graph((x * 2).T @ x))}
    assert by_name["leaf"][:3] == (["leaf"], "16 KiB", "(64, 32) float64")
    assert by_name["permute"][:3] == (["movement"], "16 KiB", "(32, 64) float64")
    assert by_name["matmul"][:3] == (["product", "result"], "8 KiB", "(32, 32) float64")
    assert by_name["multiply"][0] == ["elementwise"] and "2,048 flops\ntest_visual.py:" in by_name["multiply"][3]


def test_operand_used_twice_has_two_arrows():
    x = lnb.tensor([1.0, 2.0], requires_grad=True)
    assert arrows(draw_graph(x * x, params={"x": x})) == [("x", "multiply"), ("x", "multiply")]


def test_results_of_one_call_share_its_box():
    x = lnb.tensor(np.ones((1, 2, 6)), requires_grad=True)
    values, _ = nn.functional.max_pool1d(x, 2, return_indices=True)
    fraction, _ = lnb.modf(values)
    assert arrows(draw_graph(fraction + values)) == [
        ("leaf", "max_pool"), ("max_pool", "add"), ("max_pool", "modf"), ("modf", "add")]


@pytest.mark.parametrize("wants", [True, False])
def test_tensor_without_history_is_one_box(wants):
    x = lnb.tensor(np.ones((2, 3), np.float32), requires_grad=wants)
    (kind, name, note, detail, _), = boxes(draw_graph(x, params={"given": x}))
    assert (kind[0], name) == (("leaf", "given") if wants else ("constant", "tensor"))
    assert (note, detail) == ("24 B", "(2, 3) float32")


def test_graph_can_be_drawn_after_backward():
    loss, params = perceptron()
    before = draw_graph(loss, params=params)
    loss.backward()
    assert draw_graph(loss, params=params) == before


def test_written_tensors_show_their_writes():
    x = lnb.tensor(np.ones(4), requires_grad=True)
    y = x * 2
    y[1:3] = x[:2]
    assert {box[1] for box in boxes(draw_graph(y))} == {"leaf", "multiply", "slice", "write"}


# ------------------------------------------------------------------------------------------------ hostile names
def test_names_come_as_modules_give_them():
    layer = lnb.nn.Linear(2, 1)
    drawing = draw_graph(layer(lnb.ones((1, 2), dtype="float32")), params=layer.named_parameters())
    assert {"weight", "bias"} <= {box[1] for box in boxes(drawing)}


def test_names_and_titles_are_escaped():
    x = lnb.tensor([1.0], requires_grad=True)
    name, title = "<b a='1'>&\"\x00é→", "</svg><script>alert(1)</script>"
    drawing = draw_graph(x * 1.5, params={name: x}, title=title)
    root = ElementTree.fromstring(drawing)
    assert boxes(drawing)[0][1] == name.replace("\x00", "?")
    assert root.find(f"{SPACE}title").text == title and not list(root.iter(f"{SPACE}script"))


def test_long_names_are_shortened_but_told_whole():
    x = lnb.tensor([1.0], requires_grad=True)
    _, name, _, _, tip = boxes(draw_graph(x * 2, params={"layer." * 30: x}))[0]
    assert len(name) == 40 and name.endswith("…") and tip.startswith("layer." * 30)


# ---------------------------------------------------------------------------------------------------- geometry
def overlap(one, other):
    """Do two boxes share more than an edge?"""
    return (abs(one.x - other.x) < (one.width + other.width) / 2 - 1e-6
            and abs(one.y - other.y) < (one.height + other.height) / 2 - 1e-6)


@st.composite
def graphs(draw):
    """Sizes of boxes, and arrows from each to later ones, several between two among them."""
    count = draw(st.integers(1, 14))
    sizes = [(draw(st.integers(20, 200)), draw(st.integers(20, 60))) for _ in range(count)]
    ends = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=25))
    return sizes, [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]


@given(graphs())
def test_no_box_lies_on_another_or_on_an_arrow(graph):
    sizes, pairs = graph
    found = layered(sizes, pairs)
    for i, one in enumerate(found.places):
        assert (one.width, one.height) == sizes[i]
        assert one.x >= one.width / 2 - 1e-6 and one.x + one.width / 2 <= found.width + 1e-6
        assert one.y + one.height / 2 <= found.height + 1e-6
        assert not any(overlap(one, other) for other in found.places[i + 1:])
    for (source, target), route in zip(pairs, found.routes, strict=True):
        first, last = found.places[source], found.places[target]
        assert route[0] == (first.x, first.y + first.height / 2)
        assert route[-1][1] == last.y - last.height / 2 and abs(route[-1][0] - last.x) < last.width / 2
        assert all(y <= below for (_, y), (_, below) in pairwise(route))       # down, always
        for x, y in route[1:-1]:
            assert not any(abs(x - place.x) < place.width / 2 and abs(y - place.y) < place.height / 2 - 1e-6
                           for place in found.places)


def test_chain_stands_upright_beside_its_leaves():
    sizes, pairs = [(100, 40)] * 9, [(0, 2), (1, 2), (2, 4), (3, 4), (4, 6), (5, 6), (6, 8), (7, 8)]
    places = layered(sizes, pairs).places
    assert max(places[i].x for i in (2, 4, 6, 8)) - min(places[i].x for i in (2, 4, 6, 8)) < 5
    pairs = [arrow for layer in range(40) for arrow in ((3 * layer, 3 * layer + 3), (3 * layer + 1, 3 * layer + 3),
                                                        (3 * layer + 2, 3 * layer + 3))]
    assert layered([(100, 40)] * 121, pairs).width < 500             # however long it is
    assert places[7].y == places[6].y                  # a leaf stands in the layer before its reader


def test_drawing_has_no_boxes_on_top_of_each_other_and_fits_its_words():
    loss, params = perceptron()
    root = ElementTree.fromstring(draw_graph(loss, params=params))
    frames = []
    for group in root.iter(f"{SPACE}g"):
        if "box" in group.get("class", "").split():
            frame = group.find(f"{SPACE}rect")
            left, top, width, height = (float(frame.get(key)) for key in ("x", "y", "width", "height"))
            frames.append((left, top, left + width, top + height))
            name, note, detail = (text for text in group.iter(f"{SPACE}text"))
            least = 6.0                         # pixels a letter of 11 or 13 takes at least
            assert float(name.get("x")) + least * len(name.text) < float(note.get("x"))
            assert float(detail.get("x")) + 0.8 * least * len(detail.text) < left + width
    for i, (left, top, right, bottom) in enumerate(frames):
        assert all(right <= a or c <= left or bottom <= b or d <= top for a, b, c, d in frames[i + 1:])


# ----------------------------------------------------------------------------------------------- many boxes
def test_long_chains_become_one_box_and_say_so():
    x = lnb.tensor(np.ones(3), requires_grad=True)
    y = x
    for _ in range(150):
        y = lnb.sin(y)
    for _ in range(150):
        y = y + x
    drawing = draw_graph(y, params={"x": x}, max_nodes=160)
    assert [box[1:4] for box in boxes(drawing)] == [("sin × 150, add × 150", "300 ops, 1 leaf", "(3,) float64")]
    assert words(drawing)[-1] == "301 boxes are drawn as 1"


def test_what_does_not_collapse_is_cut_and_says_so():
    x = lnb.tensor(np.ones(3), requires_grad=True)
    y = x
    for _ in range(30):
        y = lnb.sin(y) * lnb.cos(y)
    found = boxes(draw_graph(y, max_nodes=20))
    assert len(found) == 20 and found[-1][:2] == (["elementwise", "result"], "multiply")
    assert words(draw_graph(y, max_nodes=20))[-1] == "91 boxes are drawn as 20; 71 of the earliest are left out"
    assert len(boxes(draw_graph(y))) == 91


def test_deep_graphs_are_drawn_without_recursion():
    x = y = lnb.tensor(1.0, requires_grad=True)
    for _ in range(3000):
        y = y * 1.01
    assert boxes(draw_graph(y))[0][2] == "3000 ops, 1 leaf"
    assert len(boxes(draw_graph(y, max_nodes=4000))) == 3001
    assert x.flops == 0


# ---------------------------------------------------------------------------------------------------- matplotlib
def test_figure_shows_the_same_words():
    pytest.importorskip("matplotlib")
    loss, params = perceptron()
    figure = draw_graph(loss, format="matplotlib", params=params, title="A $ title_")
    shown = [text.get_text() for text in figure.axes[0].texts]
    for _, name, note, detail, _ in boxes(draw_graph(loss, params=params)):
        assert {name, note, detail} <= set(shown)
    assert "A $ title_" in shown
    assert sum(type(patch).__name__ == "FancyArrowPatch" for patch in figure.axes[0].patches) == 8


def test_figure_has_no_words_beyond_its_edges():
    pytest.importorskip("matplotlib")
    x, w = lnb.tensor([[1.0]], requires_grad=True), lnb.ones((1, 1))
    figure = draw_graph((lnb.sin(x) @ w).reshape(-1).sum(), format="matplotlib", title="A title, " * 12)
    figure.draw_without_rendering()
    right = figure.bbox.width
    extents = [text.get_window_extent() for text in figure.axes[0].texts]
    assert all(extent.x0 > 0 and extent.x1 < right for extent in extents)
    assert {"requires grad", "elementwise", "products", "moves data"} <= {t.get_text() for t in figure.axes[0].texts}
    for one, other in combinations(extents, 2):
        assert not one.overlaps(other)


def test_figure_has_no_words_beyond_their_boxes():
    pytest.importorskip("matplotlib")
    loss, params = perceptron()
    figure = draw_graph(loss, format="matplotlib", params=params)
    figure.draw_without_rendering()
    frames = [patch.get_window_extent() for patch in figure.axes[0].patches if type(patch).__name__ == "FancyBboxPatch"]
    texts = [text.get_window_extent() for text in figure.axes[0].texts[:3 * len(frames)]]
    for i, frame in enumerate(frames):
        name, note, detail = texts[3 * i:3 * i + 3]
        assert name.x1 < note.x0 and detail.x1 < frame.x1 and frame.x0 < name.x0 and note.x1 < frame.x1


@pytest.mark.serial
def test_drawing_does_not_touch_pyplot():
    pytest.importorskip("matplotlib")
    text = ("import sys, lucid_nb as lnb; x = lnb.tensor(1.0, requires_grad=True); lnb.visual.draw_graph(x * x); "
            "assert 'matplotlib' not in sys.modules; lnb.visual.draw_graph(x * x, format='matplotlib'); "
            "assert 'matplotlib.pyplot' not in sys.modules")
    subprocess.run([sys.executable, "-c", text], check=True, timeout=120)


def test_missing_matplotlib_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(BackendError, match=r"needs matplotlib. Install lucid_nb\[plot\]"):
        draw_graph(lnb.tensor(1.0, requires_grad=True) * 2, format="matplotlib")


# -------------------------------------------------------------------------------------------------------- files
@pytest.mark.parametrize("name, start", [("a.svg", b"<svg"), ("b.SVG", b"<svg"), ("graph", b"<svg"),
                                         ("c.png", b"\x89PNG"), ("d.pdf", b"%PDF")])
def test_suffix_decides_the_format(tmp_path, name, start):
    if name.endswith(("png", "pdf")):
        pytest.importorskip("matplotlib")
    path = tmp_path / name
    drawing = draw_graph(lnb.tensor(1.0, requires_grad=True) * 2, path)
    assert path.read_bytes().startswith(start) and [p.name for p in tmp_path.iterdir()] == [name]
    if start == b"<svg":
        assert path.read_text(encoding="utf-8") == drawing == drawing._repr_svg_()


def test_drawing_of_the_guide_is_of_today():
    folder = Path(__file__).resolve().parent.parent / "docs"
    spec = importlib.util.spec_from_file_location("drawings", folder / "drawings.py")
    drawings = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawings)
    result, params = drawings.block()
    committed, fresh = (folder / "guide" / "block.svg").read_text(encoding="utf-8"), draw_graph(result, params=params)
    assert arrows(committed) == arrows(fresh) and words(committed) == words(fresh)
    assert [box[:4] for box in boxes(committed)] == [box[:4] for box in boxes(fresh)]


def test_failed_write_leaves_what_was_there(tmp_path):
    pytest.importorskip("matplotlib")
    x = lnb.tensor(1.0, requires_grad=True)
    path = tmp_path / "drawing.nonsense"
    path.write_text("before")
    with pytest.raises(ConfigError, match=r"no drawing can be written as '\.nonsense'\. Use \.svg, or one of"):
        draw_graph(x * 2, path)
    with pytest.raises(FileNotFoundError, match=r"the folder '.*nowhere' is not there\. Make"):
        draw_graph(x * 2, tmp_path / "nowhere" / "a.svg")
    assert path.read_text() == "before" and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("arguments, error, text", [
    (dict(format="gif"), ConfigError, "format 'gif' is unknown. Use one of svg, matplotlib"),
    (dict(max_nodes=0), ConfigError, "max_nodes is 0. Use 1 or more"),
    (dict(params={"w": 3}), ShapeError, r"params\['w'\] is a int. Give tensors by name"),
    (dict(params=[lnb.ones(3)]), DTypeError, r"params is a list. Give tensors by name, as dict\(module.named_par"),
])
def test_bad_arguments_are_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        draw_graph(lnb.tensor(1.0, requires_grad=True) * 2, **arguments)


def test_only_tensors_are_drawn():
    with pytest.raises(DTypeError, match=r"got a ndarray\. Give the tensor"):
        draw_graph(np.ones(2))
