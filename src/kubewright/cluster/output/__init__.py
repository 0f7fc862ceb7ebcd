"""Output: the representation that a client negotiated.

Objects are returned in full, as PartialObjectMetadata, or as the rows of a Table.
"""

from __future__ import annotations
