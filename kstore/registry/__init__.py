"""The one door to stored records: open a registry, get, put and list what it holds."""

from kstore.registry.registry import Bulk, Registry

__all__ = ["Bulk", "Registry"]
