"""Writes `src/kubewright/cluster/schema/builtin.bin`: the schemas of the built-in kinds, for the embedded cluster.

`python -m tools.generate_schemas` rewrites the file. With `--check` it writes nothing, and fails if the committed file
differs from the generated one.

Only facts are used: the OpenAPI v3 documents of the Go module `k8s.io/kubernetes`, and from the
Go types which fields are encoded when they are empty. Descriptions are not copied.

- `_documents` reads the OpenAPI documents.
- `_gotypes` reads the Go types.
- `_pack` packs everything into one file.
- `__main__` is the command line.
"""
