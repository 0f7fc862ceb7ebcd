"""Objects in files: what `Client.apply_file` reads, returns and raises.

- `read_documents(*paths)` returns the objects of files, folders and streams with their locations, without a request.
- `AppliedObject` is the result for one object; its string is the line that kubectl prints.
- `ApplyFileError` is one report of everything that failed, with file, document and line.
"""

from __future__ import annotations

from kubewright.client.files._documents import MAX_FILES, Document, FilePath, read_documents
from kubewright.client.files._results import Action, AppliedObject, ApplyFileError, Failure, SourceLocation

__all__ = [
    "MAX_FILES",
    "Action",
    "AppliedObject",
    "ApplyFileError",
    "Document",
    "Failure",
    "FilePath",
    "SourceLocation",
    "read_documents",
]
