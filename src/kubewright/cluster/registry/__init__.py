"""The registry: what each verb does with the objects of a resource.

The generic code for get, list, create, update, patch, apply, delete and the subresources is here, one module per verb.
Kinds differ in their strategy (`strategies`) and in their validation (`validation`).
"""

from __future__ import annotations
