// Package patterns has the types that the Go patterns of docs/migration/controller-runtime.md use.
package patterns

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type ShopSpec struct {
	Image    string
	Replicas int32
	Settings string
}

type ShopStatus struct {
	Available  int32
	Conditions []metav1.Condition
}

type Shop struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec   ShopSpec
	Status ShopStatus
}

func (s *Shop) DeepCopyObject() runtime.Object { copied := *s; return &copied }

type Reconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

type ShopValidator struct{}

const name = "shops.example.com/finalizer"

// Reconcile is here so that a controller can be completed.
func (r *Reconciler) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{}, nil
}

func desiredSpec(*Shop) appsv1.DeploymentSpec { return appsv1.DeploymentSpec{} }

func closeAccount(*Shop) error { return nil }

func (r *Reconciler) shopsOf(context.Context, client.Object) []reconcile.Request { return nil }
