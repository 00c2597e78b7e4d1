"""Two shells around any engine: one for a table, one for named views."""

from .table import TableModel
from .views import ViewsModel

__all__ = ["TableModel", "ViewsModel"]
