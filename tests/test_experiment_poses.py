"""What pose-mc decides and draws."""

import numpy as np
from experiments.pose_mc import KINDS, POWERS, TREATMENTS, choose
from experiments.pose_picture import N_JOINTS, bones


def scored(kind, seed, values):
    """A kind's answer: the values of one power and treatment, and poor ones of the others."""
    scores = [
        (power, private, {"joint-distance": 9.0, "NLPD": 9.0})
        for power in POWERS
        for private in TREATMENTS
    ]
    scores[0] = (
        POWERS[0],
        TREATMENTS[0],
        dict(zip(("joint-distance", "NLPD"), values, strict=True)),
    )
    return {("kind", *kind, seed): {"scores": scores, "seconds": 1.0}}


def test_density_decides_between_answers_whose_mean_distances_are_alike():
    values = {
        KINDS[0]: [(3.0, 8.0), (3.0, 8.0)],
        KINDS[1]: [(3.3, 2.0), (3.5, 2.0)],  # 3.4: too far from the nearest
        KINDS[2]: [(3.1, 3.0), (3.5, 3.0)],  # 3.3
        KINDS[3]: [(3.2, 4.0), (3.3, 4.0)],  # 3.25: nearest
    }
    found = {}
    for kind, several in values.items():
        for seed, one in enumerate(several):
            found |= scored(kind, seed, one)
    (held, learnt), rows = choose(found)
    assert held.sharing == "held"
    assert learnt[:3] == KINDS[2]
    assert (learnt.power, learnt.private) == (POWERS[0], TREATMENTS[0])
    row = next(r for r in rows if r.method == f"McGPDS, {learnt}" and "distance" in r.measure)
    assert row.values == [3.1, 3.5]


def test_bones_are_the_distances_that_stay(rng):
    """Joint k hangs on joint k // 2 by a rod that turns."""
    above = np.maximum(np.arange(N_JOINTS) - 1, 0) // 2
    poses = np.zeros((200, N_JOINTS, 3))
    for joint in range(1, N_JOINTS):
        rod = rng.normal(size=(200, 3))
        rod *= (1 + joint / 10) / np.linalg.norm(rod, axis=1, keepdims=True)
        poses[:, joint] = poses[:, above[joint]] + rod
    tree = {frozenset(pair) for pair in bones(poses.reshape(200, -1)).tolist()}
    assert tree == {frozenset((joint, int(above[joint]))) for joint in range(1, N_JOINTS)}
