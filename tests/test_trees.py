"""Trees, against what Python's own comparison of nested containers says."""

from collections import Counter, OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucid_nb import trees
from lucid_nb.errors import ShapeError

Pair = namedtuple("Pair", "first second")


@dataclass
class Layer:
    weight: object
    bias: object = None


@dataclass
class Scaled:
    value: object
    unit: str = field(default="m", metadata={"static": True})


def containers(inner):
    lists, dicts = st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    return (lists | lists.map(tuple) | st.tuples(inner, inner).map(lambda both: Pair(*both)) | st.none()
            | dicts | dicts.map(OrderedDict) | dicts.map(Counter) | dicts.map(lambda tree: defaultdict(list, tree))
            | st.builds(Layer, inner, inner) | st.builds(Scaled, inner, st.sampled_from(["m", "s"])))


TREES = st.recursive(st.integers(), containers, max_leaves=12)


@given(TREES)
def test_unflatten_gives_back_what_flatten_took_apart(tree):
    leaves, structure = trees.flatten(tree)
    again = trees.unflatten(structure, leaves)
    assert again == tree
    assert type(again) is type(tree) and getattr(again, "default_factory", 0) is getattr(tree, "default_factory", 0)
    assert trees.leaves_like("test", "tree", structure, tree) == leaves
    assert all(type(leaf) is int for leaf in leaves)


@given(TREES)
def test_paths_lead_to_the_leaves(tree):
    leaves, structure = trees.flatten(tree)
    assert [eval(f"tree{path}", {"tree": tree}) for path in structure.paths()] == leaves


@given(TREES)
def test_map_leaves_keeps_the_structure(tree):
    moved = trees.map_leaves(lambda x: x + 1, tree)
    assert trees.flatten(moved)[1] == trees.flatten(tree)[1]
    assert trees.map_leaves(lambda x: x - 1, moved) == tree


def test_structures_are_keys_and_tell_nesting_apart():
    same = [trees.flatten(tree)[1] for tree in ([1, (2, 3)], [7, (8, 9)])]
    assert same[0] == same[1] and hash(same[0]) == hash(same[1])
    assert trees.flatten([1, [2, 3]])[1] != same[0]
    assert trees.flatten({"a": 1})[1] != trees.flatten({"b": 1})[1]


def test_dicts_match_whatever_the_order_of_their_keys():
    structure = trees.flatten({"a": 1, "b": 2})[1]
    assert trees.leaves_like("jvp", "tangents", structure, {"b": 20, "a": 10}) == [10, 20]


def test_subclasses_of_dict_keep_their_type():
    leaves, structure = trees.flatten(OrderedDict(x=1))
    assert type(trees.unflatten(structure, leaves)) is OrderedDict


@pytest.mark.parametrize("other", [[1, 2], (1,), (1, (2,)), {"a": 1}, 1, None])
def test_another_nesting_is_refused_with_both(other):
    with pytest.raises(ShapeError, match=r"jvp: tangents is nested as .*.\(\*, \*\). was expected. Nest it the same"):
        trees.leaves_like("jvp", "tangents", trees.flatten((1, 2))[1], other if other != [1, 2] else [1, [2]])
