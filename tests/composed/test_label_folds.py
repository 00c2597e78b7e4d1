import numpy as np

from manyviews.composed.label_folds import label_folds
from manyviews.data import as_when


def codes_of(labels):
    """-1 / +1 by class; NaN for labels below zero."""
    labels = np.asarray(labels)
    codes = 2.0 * np.eye(labels.max() + 1)[labels] - 1.0
    codes[labels < 0] = np.nan
    return codes


def test_labelled_samples_are_left_out_once_class_by_class():
    labels = np.array([0, 1, -1] * 10)
    folds = list(label_folds(codes_of(labels), 5, None))
    assert (
        sorted(np.concatenate([fold.out for fold in folds])) == np.flatnonzero(labels >= 0).tolist()
    )
    assert all(np.bincount(labels[fold.out]).tolist() == [2, 2] for fold in folds)
    assert all(fold.sequence is None for fold in folds)


def test_sequences_are_left_out_whole():
    names = np.repeat(["a", "b", "c", "d", "none"], 4)
    labels = np.repeat([0, 1, 0, 1, -1], 4)
    labels[1] = -1  # goes with its sequence
    when = as_when(None, names, list(range(20)))
    folds = [set(names[fold.out]) for fold in label_folds(codes_of(labels), 2, when)]
    assert sorted(map(len, folds)) == [2, 2]
    assert set.union(*folds) == set("abcd")
    for fold in label_folds(codes_of(labels), 2, when):
        assert set(labels[fold.out]) - {-1} == {0, 1}
        assert np.isin(names, names[fold.out]).sum() == len(fold.out)


def test_one_sequence_is_cut_into_stretches_that_are_new_ones():
    times = np.random.default_rng(0).permutation(12)
    labels = np.where(np.arange(12) % 2, 0, 1)
    labels[times < 4] = -1
    folds = list(label_folds(codes_of(labels), 3, as_when(times, None, list(range(12)))))
    assert [sorted(times[fold.out]) for fold in folds] == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert {fold.sequence for fold in folds} == {"not None"}
