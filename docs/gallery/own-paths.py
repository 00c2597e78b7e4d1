"""
# Paths of their own

In `McGPDS` every table follows a path of its own through time, and all follow one that they share.

Two recordings share a slow wave; each has a fast one for itself. The data are simulated.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from manyviews import McGPDS, Search

rng = np.random.default_rng(0)
t = np.linspace(0, 6, 60)
waves = {"left": np.cos(5 * t), "right": np.cos(3.3 * t)}
views = {
    name: np.stack([np.sin(2 * t), wave], axis=1) @ rng.normal(size=(2, 6))
    + 0.05 * rng.normal(size=(60, 6))
    for name, wave in waves.items()
}
model = McGPDS(
    2, 8, n_local=0, kernel="linear", sharing="dimension", search=Search(max_iter=60), random_state=0
).fit(views, times=t)  # fmt: skip

# %%
# ## How far each path follows the shared one
#
# The share of the variance of a view's path that is that of the shared path, by dimension.

model.following()

# %%
# ## The paths

figure, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True)
for ax, name in zip(axes, ("left", "right", None)):
    mean, std = model.path(name) if name else model.path()
    for q in range(2):
        ax.fill_between(t, mean[:, q] - 2 * std[:, q], mean[:, q] + 2 * std[:, q], alpha=0.25)
        ax.plot(t, mean[:, q], label=f"dimension {q}")
    ax.set(title=name or "shared", xlabel="time")
axes[0].legend()

# %%
# [Views with paths of their own](../mcgpds.md) is the guide.
