"""Writes `src/kubewright/api/<group>/<version>.py` from the OpenAPI document of Kubernetes.

`python -m tools.generate_api` writes the modules anew; with `--check` it writes nothing, and fails when the committed
modules differ from what it would write, or when a module is there that it would not write.

Only facts are taken: names, types, what is required, list types and merge keys, where a kind is served. Descriptions
are not copied.

- `_document` reads the document into definitions and properties, and its paths into where kinds are served.
- `_names` turns names on the wire into names in Python.
- `_fields` decides type and default of each attribute.
- `_render` writes modules and packages as text.
- `__main__` is the command line.
"""
