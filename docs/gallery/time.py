"""
# Time

With `times`, latent points follow a Gaussian process: forecasts, gaps, and missing columns follow.

Two noisy oscillations, seen through eight curved sensors; the last fifth is kept back. The data are simulated.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from manyviews import BayesianGPLVM, Search, plot

rng = np.random.default_rng(0)
t = np.linspace(0, 15, 150)
swing = np.stack([np.cos(t), np.sin(2 * t)], axis=1) @ rng.normal(size=(2, 8))
clean = np.tanh(swing)
Y = clean + 0.1 * rng.normal(size=clean.shape)
seen = (t < 12) & ~((t > 5) & (t < 6))

model = BayesianGPLVM(3, n_inducing=25, search=Search(max_iter=150), random_state=0)
model.fit(Y[seen], times=t[seen])

# %%
# ## Latent paths

figure, ax = plt.subplots(figsize=(9, 3))
plot.latent_paths(model, ahead=0.25, ax=ax)

# %%
# ## Gap and forecast of one sensor
#
# The band holds 95 % of what a sensor would read. It is narrow where there are data, wider in the gap, and wider still
# the further the forecast goes.

mean, std = model.forecast(t, return_std=True)
figure, ax = plt.subplots(figsize=(9, 3))
ax.fill_between(t, mean[:, 0] - 1.96 * std[:, 0], mean[:, 0] + 1.96 * std[:, 0], alpha=0.25)
ax.plot(t, mean[:, 0], label="model")
ax.plot(t[seen], Y[seen, 0], ".", markersize=4, label="seen")
ax.plot(t[~seen], Y[~seen, 0], "x", markersize=5, label="not seen")
ax.set(xlabel="time", ylabel="sensor 0")
ax.legend(ncols=3)

# %%
inside = np.abs(Y - mean)[~seen] < 1.96 * std[~seen]
f"95 % intervals hold {inside.mean():.0%} of the values not seen"

# %%
# [Time](../dynamics.md) is the guide.
