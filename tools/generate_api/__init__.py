"""Writes `src/kubewright/api/<group>/<version>.py` from the OpenAPI document of Kubernetes.

`python -m tools.generate_api` rewrites the modules. With `--check` it writes nothing, and fails if the committed
modules differ from the generated ones, or if one of them is no longer generated.

Only facts are used: names, types, required fields, list types and merge keys, and the paths of each kind. Descriptions
are not copied.

- `_document` parses the document: definitions, properties, and the paths of each kind.
- `_names` converts names of JSON to names of Python.
- `_fields` determines the type and default of each attribute.
- `_render` renders the source of modules and packages.
- `__main__` is the command line.
"""
