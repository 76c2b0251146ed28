"""The one-line way in for other people's agents."""

from uflp.wrappers.local_access import LocalAccess

__all__ = ["LocalAccess"]
