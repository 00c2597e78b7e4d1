"""
# One table

`BayesianGPLVM` finds the few causes of a table's many columns, and fills its holes with error bars.

178 Italian wines, 13 chemical measurements. The cultivar colours the map; the model does not see it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from manyviews import BayesianGPLVM, Search, plot

data = load_wine(as_frame=True)
wine, cultivar = data.data, data.target_names[data.target]
model = BayesianGPLVM(
    5, n_inducing=30, scaling="column", search=Search(max_iter=150), random_state=0
)
model.fit(wine)
f"{model.n_active_} of 5 dimensions are in use"

# %%
# ## A map of the samples
#
# Where the map is shaded the model has seen no data. On the right, the measurements that the most relevant dimension moves.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8))
plot.latent_map(model, labels=cultivar, ax=left)
plot.top_features(model, int(np.argmax(model.relevance_)), ax=right)

# %%
# ## Holes
#
# A tenth of the values are removed and filled again.

rng = np.random.default_rng(0)
gappy = wine.mask(rng.random(wine.shape) < 0.1)
filled, std = model.impute(gappy, return_std=True)
holes = gappy.isna().to_numpy()
z = ((filled - wine) / wine.std()).to_numpy()[holes]
inside = (np.abs(filled - wine) < 1.645 * std).to_numpy()[holes]
print(f"error {np.sqrt(np.mean(z**2)):.2f} standard deviations (the column's mean has about 1)")
print(f"90 % intervals hold {inside.mean():.0%} of the removed values")

# %%
# These wines are among the training rows, so that the error flatters the model a little. [One table](../bayesian-gplvm.md)
# explains the model, and how to predict rows it has not seen.
