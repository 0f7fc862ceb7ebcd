// The benchmark's operator on controller-runtime: the counterpart of kubewright_operator.py.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type reconciler struct {
	client.Client
	work     bool
	progress *progress
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.progress.began()
	var foo Foo
	if err := r.Get(ctx, request.NamespacedName, &foo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if r.work {
		if err := r.makeChild(ctx, &foo); err != nil {
			return ctrl.Result{}, err
		}
		if err := r.writeStatus(ctx, &foo); err != nil {
			return ctrl.Result{}, err
		}
	}
	r.progress.reconciled(request.NamespacedName, &foo)
	return ctrl.Result{}, nil
}

func (r *reconciler) makeChild(ctx context.Context, foo *Foo) error {
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: foo.Name, Namespace: foo.Namespace}}
	err := r.Get(ctx, client.ObjectKeyFromObject(child), child)
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := controllerutil.SetControllerReference(foo, child, r.Scheme()); err != nil {
		return err
	}
	child.Data = map[string]string{"deploymentName": foo.Spec.DeploymentName}
	err = r.Create(ctx, child)
	if apierrors.IsAlreadyExists(err) { // the cache does not know yet what this very operator made
		return nil
	}
	return err
}

func (r *reconciler) writeStatus(ctx context.Context, foo *Foo) error {
	if foo.Status.AvailableReplicas == 1 {
		return nil
	}
	foo.Status.AvailableReplicas = 1
	return r.Status().Update(ctx, foo)
}

func run() error {
	namespace := flag.String("namespace", "default", "the only namespace to look at")
	objects := flag.Int("objects", 0, "how many objects to reconcile")
	writes := flag.Int("writes", 0, "how many latencies to report")
	workers := flag.Int("workers", 10, "reconciles at a time")
	work := flag.Bool("work", false, "make a child and write the status of each object")
	flag.Parse() // --kubeconfig is among the flags too: controller-runtime adds it
	progress := newProgress(*objects, *writes)

	ctrl.SetLogger(zap.New(zap.UseDevMode(false), zap.WriteTo(os.Stderr)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit of its own: the others have none either
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	addToScheme(scheme)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}},
		// The shape of a deployed operator: probes, metrics and leader election are on.
		Metrics:                 metricsserver.Options{BindAddress: "127.0.0.1:0"},
		HealthProbeBindAddress:  "127.0.0.1:0",
		LeaderElection:          true,
		LeaderElectionID:        fmt.Sprintf("benchmark-%d", os.Getpid()),
		LeaderElectionNamespace: *namespace,
	})
	if err != nil {
		return err
	}
	if err := manager.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	builder := ctrl.NewControllerManagedBy(manager).For(&Foo{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers})
	if *work {
		builder = builder.Owns(&corev1.ConfigMap{})
	}
	if err := builder.Complete(&reconciler{Client: manager.GetClient(), work: *work, progress: progress}); err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		ctrl.Log.Error(err, "the operator has failed")
		os.Exit(1)
	}
}
