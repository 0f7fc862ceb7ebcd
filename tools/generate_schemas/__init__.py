"""Writes `src/kubewright/cluster/schema/builtin.bin`: the schemas of the built-in kinds, for the embedded cluster.

`python -m tools.generate_schemas` writes the file anew; with `--check` it writes nothing, and fails when the committed
file holds something else.

Only facts are taken: the OpenAPI v3 documents of the Go module `k8s.io/kubernetes` without their descriptions, where
each kind is served, and from the Go types which fields are written when they are empty. Descriptions are not copied.

- `_documents` reads the OpenAPI documents.
- `_gotypes` reads the Go types.
- `_pack` makes one file of it.
- `__main__` is the command line.
"""
