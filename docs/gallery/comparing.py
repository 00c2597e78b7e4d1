"""
# Which model predicts best?

`compare` cross-validates several models on your tables, with standard errors of their differences, and says what to use.

Which of the three tables about 569 tumours can be predicted from the others, and how well? Here: the worst cells, by quick
models only.
"""

# %%
import numpy as np
from sklearn.datasets import load_breast_cancer

from manyviews import Stack, compare

data = load_breast_cancer(as_frame=True)
log = np.log(data.data.iloc[:250] + 0.01)
views = {kind: log[[c for c in log if kind in c]] for kind in ("mean", "error", "worst")}
found = compare(views, ["mean", "ridge", "pls", "knn", "gfa"], targets="worst", folds=5)
found.table[["method", "error", "log_density", "coverage"]].round(2)

# %%
print(found.sentence)
found.plot()

# %%
# ## Mix them
#
# A stack weighs its members by the density of held-out values.

stack = Stack(["mean", "ridge", "knn", "gfa"], targets="worst", random_state=0).fit(views)
stack.weights_.round(2)

# %%
# [Stacks and comparisons](../stacking.md) is the guide.
