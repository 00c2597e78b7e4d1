"""What every fitted model of named views can be asked: the engine's protocol and its records."""

from . import records
from .engine import Engine, Tables
from .positions import Positions

__all__ = ["Engine", "Positions", "Tables", "records"]
