"""
# Several tables

`MRD` finds what several tables about the same samples share, and what each has for itself.

The upper and the lower half of 250 handwritten digits are two tables. The model is not told which digit is which.
"""

# %%
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from manyviews import MRD, Search, plot

digits = load_digits(n_class=5)
upper, lower = digits.data[:, :32], digits.data[:, 32:]
train, new = slice(0, 250), slice(250, 300)

model = MRD(
    6, n_inducing=30, scaling="view", search=Search(n_restarts=1, max_iter=150), random_state=0
)
model.fit({"upper": upper[train], "lower": lower[train]})

# %%
# ## What is shared, what is private
#
# Each cell is the share of a table's variance that is lost without a dimension. A dimension that matters to both tables is
# shared. On the right, the samples in the two dimensions that matter most; the digits only colour them.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
plot.relevance_map(model.variance_explained(), ax=left, label="variance explained")
plot.latent_map(model, labels=digits.target[train].astype(str), ax=right)

# %%
# ## A walk along a dimension
#
# The tables that the model generates along the dimension that both use most.

shared = int(model.variance_explained().drop(columns="total").min().idxmax())
figure, axes = plt.subplots(2, 1, figsize=(9, 2.6))
for ax, view in zip(axes, ("upper", "lower")):
    plot.traversal(model, shared, view, shape="4x8", steps=11, ax=ax)

# %%
# ## One table from the other
#
# Upper halves of new digits are given, and the lower halves are predicted, with a standard deviation for every pixel.

mean, std = model.predict({"upper": upper[new]}, "lower", return_std=True)
rows = {"given": upper[new], "predicted": mean, "std": std, "true": lower[new]}
figure, axes = plt.subplots(4, 10, figsize=(9, 2.4))
for (name, values), line in zip(rows.items(), axes):
    for value, ax in zip(values, line):
        ax.imshow(value.reshape(4, 8), cmap="Oranges" if name == "std" else "Greys", vmin=0)
        ax.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")

# %%
error = ((mean - lower[new]) ** 2).mean() ** 0.5
inside = (abs(mean - lower[new]) < 1.645 * std).mean()

# %%
# The error is {{ f"{error:.1f}" }} grey levels (of 16), and {{ f"{inside:.0%}" }} of the true pixels are inside the 90 % intervals.
# [Several views](../mrd.md) explains the model and its options.
