"""The one-line way in for other people's agents."""

from uflp.wrappers.local_access import LocalAccess
from uflp.wrappers.vector import LocalAccessVector

__all__ = ["LocalAccess", "LocalAccessVector"]
