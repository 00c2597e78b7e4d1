from io import StringIO

import numpy as np
from rich.console import Console

from manyviews.inference.progress import ProgressBar
from manyviews.inference.search import Stage


def test_the_bar_says_that_it_compiles_until_there_is_a_bound():
    bar = ProgressBar((Stage("adam", 5),), 2, ["a", "b"])
    bar.bar.live.console = Console(file=StringIO(), width=200)
    text = "".join(str(column.render(bar.bar.tasks[0])) for column in bar.bar.columns[:3])
    assert "compiling" in text
    assert "nan" not in text
    bar.update(1, 0, -12.5, 0.25, np.array([3.0, 4.0]))
    text = "".join(str(column.render(bar.bar.tasks[0])) for column in bar.bar.columns[:3])
    assert "bound -12.5  |grad| 2.5e-01  S/N a 3 b 4" in text
    assert "fitting 2/2" in text
