"""Saved states of which a part is gone. Oracle: the optimizer as it was before loading."""

import pytest

import lucid_nb as lnb

KINDS = ["Adam", "NAdam", "RAdam", "Adamax", "Adadelta", "RMSprop", "Rprop", "ASGD", "Adagrad"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_state_that_lacks_a_part_is_refused_and_nothing_changes(kind):
    param = lnb.tensor([1.0, -2.0], requires_grad=True)
    optimizer = getattr(lnb.optim, kind)([param], lr=0.1)
    (param * param).sum().backward()
    optimizer.step()
    before = optimizer.state_dict()
    for name in [name for name, value in before["state"][0].items() if getattr(value, "ndim", 0)]:
        saved = optimizer.state_dict()
        saved["param_groups"][0]["lr"] = 0.5
        saved["state"] = {0: {key: value for key, value in saved["state"][0].items() if key != name}}
        with pytest.raises(lnb.errors.StateError, match=f"lacks {name}, and has"):
            optimizer.load_state_dict(saved)
        assert optimizer.param_groups[0]["lr"] == 0.1
        assert optimizer.state_dict()["state"][0].keys() == before["state"][0].keys()
    optimizer.load_state_dict(before)
