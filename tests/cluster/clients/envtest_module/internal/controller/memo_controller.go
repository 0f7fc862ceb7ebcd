// Package controller contains the controller of Memos.
package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	notesv1 "kubewright/envtest/api/v1"
)

// MemoReconciler creates a ConfigMap for each copy of a Memo.
type MemoReconciler struct {
	client.Client
}

// Reconcile creates the ConfigMaps of a Memo and reports that in its status.
func (r *MemoReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var memo notesv1.Memo
	if err := r.Get(ctx, req.NamespacedName, &memo); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	for i := range memo.Spec.Copies {
		copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", memo.Name, i), Namespace: memo.Namespace,
		}}
		if _, err := controllerutil.CreateOrUpdate(ctx, r.Client, copied, func() error {
			copied.Data = map[string]string{"text": memo.Spec.Text}
			return ctrl.SetControllerReference(&memo, copied, r.Scheme())
		}); err != nil {
			return ctrl.Result{}, err
		}
	}
	if meta.SetStatusCondition(&memo.Status.Conditions, metav1.Condition{
		Type: "Copied", Status: metav1.ConditionTrue, Reason: "Done",
		Message: fmt.Sprintf("%d copies", memo.Spec.Copies), ObservedGeneration: memo.Generation,
	}) {
		return ctrl.Result{}, r.Status().Update(ctx, &memo)
	}
	return ctrl.Result{}, nil
}

// SetupWithManager registers the controller.
func (r *MemoReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&notesv1.Memo{}).Owns(&corev1.ConfigMap{}).Complete(r)
}
