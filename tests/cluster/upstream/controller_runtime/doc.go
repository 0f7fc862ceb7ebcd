// Package upstream has the modules that the suites of controller-runtime need.
package upstream

import (
	_ "sigs.k8s.io/controller-runtime"
)
