"""The one door to stored records: open a registry, get, put and list what it holds."""

from kstore.registry.bulk import Bulk
from kstore.registry.registry import Registry

__all__ = ["Bulk", "Registry"]
