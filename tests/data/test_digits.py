"""The digits. Oracle: the file itself, and facts that its authors state."""

import numpy as np
import pytest

import lucid_nb as lnb
from lucid_nb.data.digits import FILE


def test_digits_are_the_file_scaled():
    images, labels = lnb.data.digits()
    with np.load(FILE) as stored:
        assert np.array_equal(images.numpy()[:, 0] * 16, stored["images"])
        assert np.array_equal(labels.numpy(), stored["labels"])
    assert images.shape == (1797, 1, 8, 8) and images.dtype == np.float32 and labels.dtype == np.int64
    assert images.numpy().min() == 0 and images.numpy().max() == 1


def test_digits_splits_are_disjoint_complete_and_stratified():
    (train, train_labels), (test, test_labels) = lnb.data.digits("train"), lnb.data.digits("test")
    everything = lnb.data.digits()[0].numpy().reshape(1797, 64)
    both = np.concatenate([train.numpy(), test.numpy()]).reshape(-1, 64)
    for found, expected in zip(*(np.unique(rows, axis=0, return_counts=True) for rows in (both, everything))):
        assert np.array_equal(found, expected)
    counts = np.bincount(lnb.data.digits()[1].numpy())
    assert np.array_equal(np.bincount(test_labels.numpy()), counts // 5)
    assert len(train_labels) == 1442 and len(test_labels) == 355


def test_digits_refuses_unknown_split():
    with pytest.raises(lnb.ConfigError, match="'validation'"):
        lnb.data.digits("validation")


def test_digits_notice_names_source_and_licence():
    notice = FILE.with_name("DIGITS.md").read_text()
    assert "10.24432/C50P49" in notice and "CC BY 4.0" in notice
