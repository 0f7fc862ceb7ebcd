package main

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// Untyped walks every resource with the dynamic client, and reads and deletes it with the metadata client.
func (j *Judge) untyped(ctx context.Context) {
	objects, err := dynamic.NewForConfig(j.config)
	must(err)
	headers, err := metadata.NewForConfig(j.config)
	must(err)
	for _, sample := range j.samples {
		var object dynamic.ResourceInterface = objects.Resource(sample.gvr())
		var header metadata.ResourceInterface = headers.Resource(sample.gvr())
		if sample.Namespaced {
			object = objects.Resource(sample.gvr()).Namespace(j.namespace)
			header = headers.Resource(sample.gvr()).Namespace(j.namespace)
		}
		j.walkUntyped(ctx, sample, object, header)
	}
}

func (j *Judge) walkUntyped(
	ctx context.Context, sample Sample, client dynamic.ResourceInterface, headers metadata.ResourceInterface,
) {
	resource := sample.gvr().String()
	print := func(step string, result any, err error) { j.print("dynamic", resource, step, result, err) }
	of := func(object *unstructured.Unstructured) any {
		if object == nil {
			return nil
		}
		return object.Object
	}
	object := &unstructured.Unstructured{Object: sample.named("dynamic")}
	name := object.GetName()
	created, err := client.Create(ctx, object, metav1.CreateOptions{FieldManager: manager, FieldValidation: "Strict"})
	print("create", of(created), err)
	if err == nil {
		created.Object = settled(created.Object, func() (map[string]any, error) {
			current, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return current.Object, nil
		})
	}
	got, err := client.Get(ctx, name, metav1.GetOptions{})
	print("get", of(got), err)
	if err != nil {
		return
	}
	options := metav1.ListOptions{LabelSelector: "judge=dynamic", ResourceVersion: created.GetResourceVersion()}
	events, err := headers.Watch(ctx, options)
	print("watch", nil, err)
	if err == nil {
		defer events.Stop()
	}
	full, err := client.Watch(ctx, options)
	print("watch", nil, err)
	if err == nil {
		defer full.Stop()
	}
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "judge=dynamic", Limit: 1})
	if err == nil {
		print("list", list.UnstructuredContent(), nil)
	} else {
		print("list", nil, err)
	}
	got.SetAnnotations(map[string]string{"updated": "true"})
	updated, err := client.Update(ctx, got, metav1.UpdateOptions{DryRun: []string{"All"}})
	print("dry run of update", of(updated), err)
	updated, err = client.Update(ctx, got, metav1.UpdateOptions{})
	print("update", of(updated), err)
	status, err := client.UpdateStatus(ctx, got, metav1.UpdateOptions{})
	print("update status of an old version", of(status), err)
	for _, patch := range patches() {
		patched, err := client.Patch(ctx, name, patch.kind, []byte(patch.body), metav1.PatchOptions{})
		print("patch "+patch.name, of(patched), err)
	}
	bare := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(),
		"metadata": map[string]any{"name": name, "labels": map[string]any{"applied": "true"}},
	}}
	applied, err := client.Apply(ctx, name, bare, metav1.ApplyOptions{FieldManager: "applier", Force: true})
	print("apply", of(applied), err)
	j.walkHeaders(ctx, resource, name, headers)
	if left, err := client.Get(ctx, name, metav1.GetOptions{}); err == nil {
		client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		zero := int64(0)
		err = client.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			print("last delete", of(left), err)
		}
	}
	var last map[string]any
	if left, err := client.Get(ctx, name, metav1.GetOptions{}); err == nil {
		last = left.Object
	}
	for who, stream := range map[string]watch.Interface{"dynamic": full, "metadata": events} {
		if stream != nil {
			j.printEvents(who, resource, stream, last)
		}
	}
}

func (j *Judge) walkHeaders(ctx context.Context, resource, name string, client metadata.ResourceInterface) {
	print := func(step string, result any, err error) { j.print("metadata", resource, step, result, err) }
	got, err := client.Get(ctx, name, metav1.GetOptions{})
	print("get", got, err)
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "judge=dynamic"})
	print("list", list, err)
	patched, err := client.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"m":"1"}}}`),
		metav1.PatchOptions{})
	print("patch", patched, err)
	err = client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "judge=dynamic"})
	print("deletecollection", nil, err)
}
