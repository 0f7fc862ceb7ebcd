"""A Postgres operator: highly available PostgreSQL clusters, run by Patroni.

| module | content |
|---|---|
| `kinds` | the custom resources, and what is wrong with one |
| `children` | pure functions: the objects of a cluster |
| `patroni` | Patroni's REST API, and the configuration of a pod |
| `database` | what is in the database: roles, databases, extensions |
| `steps` | the steps of a reconcile, one module each |
| `operator` | the reconciler, its states and its finalizer: read it first |
| `rest` | the operator's REST API |
"""
