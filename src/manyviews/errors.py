"""Every error and warning the library raises on purpose, by name."""


class ManyviewsError(Exception):
    """Base of all errors raised by manyviews."""


class DataError(ManyviewsError, ValueError):
    """The data cannot be used as given; the message names view, row and column."""


class OptionError(ManyviewsError, ValueError):
    """An option has a value that cannot work with this model or this data."""


class ProcessLostError(ManyviewsError, RuntimeError):
    """One of several processes that fit a model together is gone."""


class FactorisationError(ManyviewsError, ArithmeticError):
    """A covariance matrix stayed indefinite at the top of the jitter ladder."""


class LowSignalError(ManyviewsError, RuntimeError):
    """The fitted model explains the data as noise (signal-to-noise below the limit)."""


class FileFormatError(ManyviewsError, ValueError):
    """The file is truncated, altered, of a foreign format or of an unknown version."""


class FileWriteError(ManyviewsError, OSError):
    """A file cannot be written; the message names the path and says what to do."""


class CheckpointMismatchError(FileFormatError):
    """The checkpoint was written for other data or other options."""


class CheckpointInUseError(ManyviewsError, RuntimeError):
    """Another fit is writing to this checkpoint."""


class ForkError(ManyviewsError, RuntimeError):
    """A process forked from one that runs JAX would wait for ever; start it another way."""


class MissingExtraError(ManyviewsError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""


class ManyviewsWarning(UserWarning):
    """Base of all warnings issued by manyviews."""


class LowSignalWarning(ManyviewsWarning):
    """The fitted model has a low signal-to-noise ratio."""


class CheckpointWarning(ManyviewsWarning):
    """The checkpoint could not be written; the fit goes on without."""


class ConvergenceWarning(ManyviewsWarning):
    """Optimisation ended before its convergence test was met."""


class KindWarning(ManyviewsWarning):
    """A view is fitted as another kind of data than it looks like."""


class ConstantColumnWarning(ManyviewsWarning):
    """Some columns are constant: allowed, but they tell the model nothing."""


class OverlapWarning(ManyviewsWarning):
    """Views have few samples in common: their names may differ without need."""


class IdentifierWarning(ManyviewsWarning):
    """A column of the data looks like the names of samples."""


class ExpectationErrorWarning(ManyviewsWarning):
    """The quadrature behind a kernel without closed-form statistics is coarse."""


class SegmentationWarning(ManyviewsWarning):
    """The views share no latent dimension where an option needs one that is shared."""


class ExposedWarning(ManyviewsWarning):
    """A page with the data is served to other machines."""


class DegenerateCovarianceWarning(ManyviewsWarning):
    """A covariance of columns is held up by its prior alone."""


class NothingSharedWarning(ManyviewsWarning):
    """A view does not use the latent dimensions that it was to share."""


class MemberLeftOutWarning(ManyviewsWarning):
    """A member of a stack could not be fitted, and takes no part in it."""
