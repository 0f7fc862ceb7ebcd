"""OpenAPI documents of built-in and custom kinds: /openapi/v2 and /openapi/v3, as JSON and protobuf.

    documents = OpenApiDocuments(kinds, now)
    document = await documents.v3("apis/apps/v1")        # body, etag, modified

- `_structural` converts the schema of a definition (CRD) into the forms of both versions.
- `_custom` adds the definitions and paths of a custom kind.
- `_recorded` reads the documents of built-in kinds, which are recorded from the real server.
- `_documents` puts them together, and keeps the newest state of each.
- `protobuf` encodes them as gnostic's messages.

Documents have the structure of the real server's. Its descriptions of built-in fields and parameters are omitted.
"""

from __future__ import annotations

from kubewright.cluster.openapi._custom import CustomKind
from kubewright.cluster.openapi._documents import Document, OpenApiDocuments, address_of, http_time
from kubewright.cluster.openapi._recorded import pack, recorded_v3

__all__ = ["CustomKind", "Document", "OpenApiDocuments", "address_of", "http_time", "pack", "recorded_v3"]
