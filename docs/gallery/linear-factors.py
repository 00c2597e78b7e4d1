"""
# Linear factors

`GroupFactorAnalysis` answers the same questions with straight lines, in a second.

Ten properties of the cell nuclei of 569 tumours: their mean over an image, their standard error, and the worst cells.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from manyviews import plot
from manyviews.linear import GroupFactorAnalysis

data = load_breast_cancer(as_frame=True)
log = np.log(data.data + 0.01)
views = {}
for kind in ("mean", "error", "worst"):
    views[kind] = log[[column for column in log if kind in column]]
    views[kind].columns = [column.replace(kind, "").strip() for column in views[kind]]
model = GroupFactorAnalysis(8, scaling="column", random_state=0).fit(views)
model.variance_explained()

# %%
# ## Factors, samples, features
#
# The diagnosis colours the map; the model does not see it.

diagnosis = data.target_names[data.target]
main = int(model.variance_explained().drop(columns="total").mean().idxmax())
figure, axes = plt.subplots(1, 3, figsize=(12, 3.8))
plot.relevance_map(model.variance_explained(), ax=axes[0], label="variance explained")
plot.latent_map(model, labels=diagnosis, ax=axes[1])
plot.top_features(model, main, "mean", ax=axes[2])

# %%
# [Linear models](../linear.md) is the guide.
