"""
# Noisy and missing inputs

`UncertainGPRegressor` is Gaussian process regression whose inputs may be noisy or missing.

A curve of two inputs; the second is missing for a third of the rows. The data are simulated.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from manyviews import UncertainGPRegressor

rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, size=(80, 2))
y = np.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] + 0.05 * rng.normal(size=80)
seen = x.copy()
seen[rng.random(80) < 0.33, 1] = np.nan
model = UncertainGPRegressor(20, random_state=0).fit(seen, y)

# %%
# ## Uncertain inputs make uncertain answers
#
# The same first input, with the second one known, known up to ± 0.5, and missing.

grid = np.linspace(-3, 3, 60)
cases = {
    "second input = 1": dict(X=np.stack([grid, np.ones(60)], 1)),
    "1 ± 0.5": dict(X=np.stack([grid, np.ones(60)], 1), X_std=[0.0, 0.5]),
    "missing": dict(X=np.stack([grid, np.full(60, np.nan)], 1)),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True)
for ax, (name, inputs) in zip(axes, cases.items()):
    mean, std = model.predict(**inputs, return_std=True)
    ax.fill_between(grid, mean - 1.96 * std, mean + 1.96 * std, alpha=0.25)
    ax.plot(grid, mean)
    ax.set(title=name, xlabel="first input")

# %%
# ## What the missing inputs must have been
#
# The outputs tell. Bars are ± 2 standard deviations.

filled, std = model.infer_inputs(return_std=True)
holes = np.isnan(seen[:, 1])
figure, ax = plt.subplots(figsize=(4.5, 3.6))
ax.plot([-3, 3], [-3, 3], color="0.7")
ax.errorbar(x[holes, 1], filled[holes, 1], yerr=2 * std[holes, 1], fmt=".", linewidth=0.8)
ax.set(xlabel="true input", ylabel="inferred input")

# %%
# [Uncertain inputs and forecasts](../uncertain-inputs.md) is the guide.
