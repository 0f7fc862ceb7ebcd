"""Records facts about built-in kinds from the real server, for the embedded cluster and for printer columns.

- `src/kubewright/cluster/data/resources.json`: discovery of each resource;
- `src/kubewright/cluster/data/types.json`: how Go decodes and encodes the API's structs (`types.go`);
- `src/kubewright/cluster/data/roles.json`: the roles and bindings that the server creates at its first start;
- `src/kubewright/cluster/data/api_services.json`: the priorities of group versions;
- `src/kubewright/cluster/data/openapi.bin`: the OpenAPI documents (`openapi.py`);
- `src/kubewright/columns/builtin.json`: the columns of each resource's Table.

It records facts only, no descriptions.

    python -m tools.generate_cluster            # needs Go and the control plane
"""
