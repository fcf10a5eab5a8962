"""From a file's bytes to documents as plain JSON values, with every limit enforced and every fault located."""

from kstore.reading.documents import Document, Reading, read_document, read_documents
from kstore.reading.files import read_file
from kstore.reading.values import read_value

__all__ = ["Document", "Reading", "read_document", "read_documents", "read_file", "read_value"]
