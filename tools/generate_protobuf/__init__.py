"""The facts by which the embedded cluster reads protobuf: see `messages.go` and `kubewright.cluster.protobuf`."""
