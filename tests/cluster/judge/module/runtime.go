package main

import (
	"context"
	"fmt"
	"net"
	"sort"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func everything() labels.Selector { return labels.Everything() }

var widgets = schema.GroupVersionKind{Group: "judge.example.com", Version: "v1", Kind: "Widget"}

func definition() *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.judge.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgets.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "Widget", Plural: "widgets"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &preserve,
				}},
			}},
		},
	}
}

// ControllerRuntime runs envtest with an existing cluster: definitions, webhooks, a manager, its cache and its client.
func (j *Judge) controllerRuntime(ctx context.Context) {
	existing := true
	fail, none := admissionv1.Fail, admissionv1.SideEffectClassNone
	path := "/refuse"
	environment := &envtest.Environment{
		UseExistingCluster: &existing,
		Config:             j.config,
		CRDInstallOptions:  envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{definition()}, CleanUpAfterUse: true},
		WebhookInstallOptions: envtest.WebhookInstallOptions{
			LocalServingHost: "127.0.0.1",
			ValidatingWebhooks: []*admissionv1.ValidatingWebhookConfiguration{{
				ObjectMeta: metav1.ObjectMeta{Name: "judge.example.com"},
				Webhooks: []admissionv1.ValidatingWebhook{{
					Name: "refuse.judge.example.com", SideEffects: &none, FailurePolicy: &fail,
					AdmissionReviewVersions: []string{"v1"},
					ClientConfig: admissionv1.WebhookClientConfig{
						Service: &admissionv1.ServiceReference{Name: "judge", Namespace: "default", Path: &path},
					},
					Rules: []admissionv1.RuleWithOperations{{
						Operations: []admissionv1.OperationType{admissionv1.Create},
						Rule:       admissionv1.Rule{APIGroups: []string{widgets.Group}, APIVersions: []string{"v1"}, Resources: []string{"widgets"}},
					}},
				}},
			}},
		},
	}
	config, err := environment.Start()
	must(err)
	defer func() { j.print("envtest", "environment", "stop", nil, environment.Stop()) }()
	j.print("envtest", "environment", "start", nil, nil)
	hooks := environment.WebhookInstallOptions
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics:          server.Options{BindAddress: "0"},
		LeaderElection:   true,
		LeaderElectionID: "judge", LeaderElectionNamespace: j.namespace, LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{j.namespace: {}}},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir,
		}),
	})
	must(err)
	must(manager.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, "data.color", func(object client.Object) []string {
		return []string{object.(*corev1.ConfigMap).Data["color"]}
	}))
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(widgets)
	reconciler := reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		return reconciled(ctx, manager.GetClient(), request)
	})
	must(ctrl.NewControllerManagedBy(manager).Named("widgets").For(widget).Owns(&corev1.ConfigMap{}).Complete(reconciler))
	manager.GetWebhookServer().Register(path, &webhook.Admission{Handler: admission.HandlerFunc(
		func(_ context.Context, request admission.Request) admission.Response {
			if request.Name == "bad" {
				return admission.Denied("it is bad").WithWarnings("be good")
			}
			return admission.Allowed("")
		},
	)})
	running, cancel := context.WithCancel(ctx)
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(running) }()
	j.print("manager", "cache", "synced", manager.GetCache().WaitForCacheSync(ctx), nil)
	must(wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		connection, err := net.DialTimeout("tcp", fmt.Sprintf("%s:%d", hooks.LocalServingHost, hooks.LocalServingPort), time.Second)
		if err != nil {
			return false, nil
		}
		return true, connection.Close()
	}))
	direct, err := client.New(config, client.Options{})
	must(err)
	j.throughTheManager(ctx, manager, direct)
	j.runtimeClient(ctx, direct)
	cancel()
	j.print("manager", "manager", "stopped", nil, <-stopped)
}

func reconciled(ctx context.Context, c client.Client, request reconcile.Request) (reconcile.Result, error) {
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(widgets)
	if err := c.Get(ctx, request.NamespacedName, widget); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !widget.GetDeletionTimestamp().IsZero() {
		controllerutil.RemoveFinalizer(widget, "judge.example.com/f")
		return reconcile.Result{}, c.Update(ctx, widget)
	}
	if controllerutil.AddFinalizer(widget, "judge.example.com/f") {
		return reconcile.Result{}, c.Update(ctx, widget)
	}
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: widget.GetName(), Namespace: widget.GetNamespace()}}
	_, err := controllerutil.CreateOrUpdate(ctx, c, owned, func() error {
		owned.Data = map[string]string{"color": "blue"}
		return controllerutil.SetControllerReference(widget, owned, c.Scheme())
	})
	if err != nil {
		return reconcile.Result{}, err
	}
	if ready, _, _ := unstructured.NestedBool(widget.Object, "status", "ready"); ready {
		return reconcile.Result{}, nil
	}
	must(unstructured.SetNestedField(widget.Object, true, "status", "ready"))
	return reconcile.Result{}, c.Status().Update(ctx, widget)
}

func (j *Judge) throughTheManager(ctx context.Context, manager ctrl.Manager, direct client.Client) {
	print := func(step string, result any, err error) { j.print("manager", "widgets", step, result, err) }
	named := func(name string) *unstructured.Unstructured {
		made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(1)}}}
		made.SetGroupVersionKind(widgets)
		made.SetNamespace(j.namespace)
		made.SetName(name)
		return made
	}
	eventually := func(condition func(context.Context) (bool, error)) error {
		return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, condition)
	}
	print("refused by the webhook", nil, direct.Create(ctx, named("bad")))
	good := named("good")
	print("create", nil, direct.Create(ctx, good))
	key := client.ObjectKeyFromObject(good)
	print("ready", nil, eventually(func(ctx context.Context) (bool, error) {
		err := direct.Get(ctx, key, good)
		ready, _, _ := unstructured.NestedBool(good.Object, "status", "ready")
		return ready, err
	}))
	print("object", good.Object, nil)
	var owned corev1.ConfigMapList
	print("indexed", nil, eventually(func(ctx context.Context) (bool, error) {
		err := manager.GetClient().List(ctx, &owned, client.InNamespace(j.namespace), client.MatchingFields{"data.color": "blue"})
		return len(owned.Items) == 1, err
	}))
	print("delete the owned one", nil, direct.Delete(ctx, &owned.Items[0]))
	print("again", nil, eventually(func(ctx context.Context) (bool, error) {
		var again corev1.ConfigMap
		err := direct.Get(ctx, key, &again)
		return err == nil && again.UID != owned.Items[0].UID, client.IgnoreNotFound(err)
	}))
	print("delete", nil, direct.Delete(ctx, good))
	print("gone", nil, eventually(func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(direct.Get(ctx, key, good)), nil
	}))
}

func (j *Judge) runtimeClient(ctx context.Context, c client.Client) {
	print := func(step string, result any, err error) { j.print("client", "configmaps", step, result, err) }
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cr", Namespace: j.namespace}, Data: map[string]string{"a": "1"}}
	print("create", made, c.Create(ctx, made))
	old := made.DeepCopy()
	made.Data["b"] = "2"
	print("merge", made, c.Patch(ctx, made, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})))
	print("stale merge", nil, c.Patch(ctx, old.DeepCopy(), client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})))
	strategic := made.DeepCopy()
	strategic.Labels = map[string]string{"x": "y"}
	print("strategic", strategic, c.Patch(ctx, strategic, client.StrategicMergeFrom(made), client.FieldOwner("other")))
	print("dry run", nil, client.NewDryRunClient(c).Delete(ctx, made))
	configuration := applycorev1.ConfigMap("cr", j.namespace).WithData(map[string]string{"a": "3"})
	print("apply conflict", nil, c.Apply(ctx, configuration, client.FieldOwner("applier")))
	configuration = applycorev1.ConfigMap("cr", j.namespace).WithData(map[string]string{"a": "3"})
	print("apply", configuration, c.Apply(ctx, configuration, client.FieldOwner("applier"), client.ForceOwnership))
	var list corev1.ConfigMapList
	print("by name", nil, c.List(ctx, &list, client.InNamespace(j.namespace), client.MatchingFields{"metadata.name": "cr"}))
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	err := c.List(ctx, partial, client.InNamespace(j.namespace))
	names := []string{}
	for _, each := range partial.Items {
		names = append(names, each.Name)
	}
	sort.Strings(names)
	print("partial", names, err)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: j.namespace}}
	print("account", account, c.Create(ctx, account))
	deployment := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "nothing", Namespace: j.namespace}}
	print("invalid", nil, c.Create(ctx, deployment))
	print("delete all", nil, c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(j.namespace), client.MatchingLabels{"x": "y"}))
	print("gone", nil, c.Get(ctx, client.ObjectKeyFromObject(made), made))
}
