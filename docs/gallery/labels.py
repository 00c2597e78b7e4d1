"""
# Labels

`MRDClassifier` takes labels as one more table: samples may lack their label, or a whole table.

200 handwritten digits come as two halves, and only 60 of them have labels.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from manyviews import MRD, MRDClassifier, Search

digits = load_digits(n_class=4)
views = {"upper": digits.data[:, :32], "lower": digits.data[:, 32:]}
train = {name: view[:200] for name, view in views.items()}
new = {name: view[200:400] for name, view in views.items()}
y = digits.target[:200].astype(float)
y[60:] = np.nan

model = MRD(
    6, n_inducing=30, scaling="view", search=Search(n_restarts=1, max_iter=150), random_state=0
)
classifier = MRDClassifier(model).fit(train, y)

# %%
truth = digits.target[200:400]
linear = LogisticRegression(max_iter=1000).fit(digits.data[:60] / 16, digits.target[:60])
print(f"MRDClassifier        {np.mean(classifier.predict(new) == truth):.1%}")
print(f"logistic regression  {linear.score(digits.data[200:400] / 16, truth):.1%}")

# %%
# With complete tables a discriminative classifier such as logistic regression is hard to beat, as here; fit it, too, before
# you decide. It cannot take the next step.
#
# ## Probabilities
#
# Both halves of a digit may be given, or only one of them.

shown = {"both halves": new, "upper half only": {"upper": new["upper"]}}
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
for ax, (name, known) in zip(axes, shown.items()):
    proba = classifier.predict_proba(known)
    certain = proba.max(axis=1)
    right = classifier.classes_[proba.argmax(axis=1)] == truth
    ax.hist([certain[right], certain[~right]], bins=12, stacked=True, label=["right", "wrong"])
    ax.set(title=f"{name}: {right.mean():.0%} right", xlabel="probability of the answer")
axes[0].set_ylabel("digits")
axes[0].legend()

# %%
# [Several views](../mrd.md) says more on labels.
