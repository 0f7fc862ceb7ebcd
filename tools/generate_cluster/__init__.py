"""Writes the embedded cluster's facts about built-in kinds, `src/kubewright/cluster/data/`, from the real server.

`resources.json`: what discovery says of each resource, and the columns of its table. `types.json`: how Go reads and
writes the API's structs (`types.go`). `roles.json`: the roles and bindings that the server makes at its first start.
Facts alone: no descriptions are taken over.

    python -m tools.generate_cluster            # needs Go and the control plane
"""
