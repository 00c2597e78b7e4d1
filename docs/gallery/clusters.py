"""
# Clusters, each with a relation of its own

`MixturePCCA` relates tables linearly, but differently in every cluster, and gives whole densities as answers.

Two tables of 300 samples depend on one hidden angle: an arc and a spiral. The data are simulated.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from manyviews import MixturePCCA, plot

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 300)
noise = 0.05 * rng.normal(size=(300, 4))
views = {
    "arc": np.stack([np.cos(angle), np.abs(np.sin(angle))], 1) + noise[:, :2],
    "spiral": np.stack([angle * np.cos(angle), angle * np.sin(angle)], 1) / 4 + noise[:, 2:],
}
model = MixturePCCA(n_clusters=10, n_components=1, random_state=0).fit(views)

# %%
# ## A density for an answer
#
# The arc does not tell the upper half of the circle from the lower. Given one point of it, the spiral has two possible
# places, and the density shows both.

given = {"arc": [[0.5, 0.87]]}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
left.scatter(*views["arc"].T, s=6, c=model.predict_cluster(views), cmap="tab10")
left.plot(*given["arc"][0], "k*", markersize=14)
left.set(title="arc: clusters, and what is given", aspect="equal")
plot.predictive_density(model, "spiral", given, ax=right)
right.scatter(*views["spiral"].T, s=4, color="0.6", zorder=0)
right.set(title="spiral: where it may be", aspect="equal")

# %%
modes = model.predict_modes(given, "spiral")
for weight, place in zip(modes.weights[0], modes.means[0]):
    if weight > 0.05:
        print(f"weight {weight:.2f} at ({place[0]:.2f}, {place[1]:.2f})")

# %%
# [Mixtures](../mixtures.md) is the guide.
