package main

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

const (
	patience = 10 * time.Second
	manager  = "judge"
)

// Clientsets walks every resource of the generated clientsets, in both encodings.
func (j *Judge) clientsets(ctx context.Context) {
	for _, encoding := range []string{"json", "protobuf"} {
		config := rest.CopyConfig(j.config)
		config.ContentType = map[string]string{
			"json": "application/json", "protobuf": "application/vnd.kubernetes.protobuf",
		}[encoding]
		config.AcceptContentTypes = config.ContentType + ",application/json"
		builtin, err := kubernetes.NewForConfig(config)
		must(err)
		definitions, err := apiextensions.NewForConfig(config)
		must(err)
		services, err := aggregator.NewForConfig(config)
		must(err)
		for _, sample := range j.samples {
			found := false
			for _, clientset := range []any{builtin, definitions, services} {
				if client, ok := j.typedClient(clientset, sample); ok {
					j.walkTyped(ctx, "typed/"+encoding, encoding, sample, client)
					found = true
				}
			}
			if !found {
				j.print("typed/"+encoding, sample.gvr().String(), "client", "none", nil)
			}
		}
	}
}

// TypedClient returns the client of a resource, for example the result of clientset.AppsV1().Deployments(namespace).
func (j *Judge) typedClient(clientset any, sample Sample) (reflect.Value, bool) {
	value := reflect.ValueOf(clientset)
	wanted := schema.GroupVersion{Group: sample.Group, Version: sample.Version}
	for index := range value.NumMethod() {
		method := value.Method(index)
		if method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
			continue
		}
		group := method.Call(nil)[0]
		if served, ok := group.Interface().(interface{ RESTClient() rest.Interface }); !ok || served.RESTClient() == nil {
			continue
		} else if reflect.ValueOf(served.RESTClient()).IsNil() || served.RESTClient().APIVersion() != wanted {
			continue
		}
		for other := range group.NumMethod() {
			if strings.ToLower(group.Type().Method(other).Name) != sample.Resource {
				continue
			}
			getter := group.Method(other)
			if getter.Type().NumIn() == 1 {
				return getter.Call([]reflect.Value{reflect.ValueOf(j.namespace)})[0], true
			}
			return getter.Call(nil)[0], true
		}
	}
	return reflect.Value{}, false
}

// Call calls a method with a context, and returns its first result as JSON would show it.
func call(ctx context.Context, client reflect.Value, name string, arguments ...any) (map[string]any, error) {
	values := []reflect.Value{reflect.ValueOf(ctx)}
	for _, argument := range arguments {
		values = append(values, reflect.ValueOf(argument))
	}
	results := client.MethodByName(name).Call(values)
	err, _ := results[len(results)-1].Interface().(error)
	if err != nil || len(results) == 1 {
		return nil, err
	}
	return decoded(results[0].Interface()), nil
}

// Argument decodes an object into the type of a method's parameter.
func argument(client reflect.Value, name string, index int, object any) any {
	made := reflect.New(client.MethodByName(name).Type().In(index).Elem())
	data, err := json.Marshal(object)
	must(err)
	must(json.Unmarshal(data, made.Interface()))
	return made.Interface()
}

func (j *Judge) walkTyped(ctx context.Context, who, name string, sample Sample, client reflect.Value) {
	has := func(method string) bool { return client.MethodByName(method).IsValid() }
	resource := sample.gvr().String()
	object := sample.named(name)
	objectName := object["metadata"].(map[string]any)["name"].(string)
	print := func(step string, result any, err error) { j.print(who, resource, step, result, err) }
	created, err := call(ctx, client, "Create", argument(client, "Create", 1, object), metav1.CreateOptions{})
	print("create", created, err)
	if err != nil || !has("Get") {
		return
	}
	created = settled(created, func() (map[string]any, error) { return call(ctx, client, "Get", objectName, metav1.GetOptions{}) })
	only := metav1.ListOptions{LabelSelector: "judge=" + name}
	var events watch.Interface
	if has("Watch") {
		options := only
		options.ResourceVersion = revision(created)
		results := client.MethodByName("Watch").Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(options)})
		if err, _ := results[1].Interface().(error); err != nil {
			print("watch", nil, err)
		} else {
			events = results[0].Interface().(watch.Interface)
			defer events.Stop()
		}
	}
	got, err := call(ctx, client, "Get", objectName, metav1.GetOptions{})
	print("get", got, err)
	_, err = call(ctx, client, "Get", "missing", metav1.GetOptions{})
	print("get missing", nil, err)
	if has("List") {
		list, err := call(ctx, client, "List", only)
		print("list", list, err)
	}
	_, err = call(ctx, client, "Create", argument(client, "Create", 1, object), metav1.CreateOptions{})
	print("create again", nil, err)
	if has("Update") {
		changed := decoded(got)
		metadata := changed["metadata"].(map[string]any)
		metadata["annotations"] = map[string]any{"updated": "true"}
		updated, err := call(ctx, client, "Update", argument(client, "Update", 1, changed), metav1.UpdateOptions{})
		print("update", updated, err)
		metadata["resourceVersion"] = "1"
		_, err = call(ctx, client, "Update", argument(client, "Update", 1, changed), metav1.UpdateOptions{})
		print("update of an old version", nil, err)
	}
	if has("UpdateStatus") {
		current, err := call(ctx, client, "Get", objectName, metav1.GetOptions{})
		must(err)
		updated, err := call(ctx, client, "UpdateStatus", argument(client, "UpdateStatus", 1, current), metav1.UpdateOptions{})
		print("update status", updated, err)
	}
	if has("Patch") {
		for _, patch := range patches() {
			patched, err := callPatch(ctx, client, objectName, patch)
			print("patch "+patch.name, patched, err)
		}
	}
	if has("Apply") {
		configuration := map[string]any{
			"apiVersion": object["apiVersion"], "kind": object["kind"],
			"metadata": map[string]any{"name": objectName, "annotations": map[string]any{"applied": "true"}},
		}
		for _, method := range []string{"Apply", "ApplyStatus"} {
			if has(method) {
				applied, err := call(ctx, client, method, argument(client, method, 1, configuration),
					metav1.ApplyOptions{FieldManager: manager + method, Force: true})
				print(method, applied, err)
			}
		}
	}
	if has("GetScale") {
		scale, err := call(ctx, client, "GetScale", objectName, metav1.GetOptions{})
		print("get scale", scale, err)
		scale["spec"] = map[string]any{"replicas": 3}
		method := client.MethodByName("UpdateScale")
		made := reflect.New(method.Type().In(2).Elem())
		data, _ := json.Marshal(scale)
		must(json.Unmarshal(data, made.Interface()))
		scaled, err := call(ctx, client, "UpdateScale", objectName, made.Interface(), metav1.UpdateOptions{})
		print("update scale", scaled, err)
	}
	if has("Delete") {
		j.deleteTyped(ctx, print, client, has, objectName, only)
	}
	if events != nil {
		last, _ := call(ctx, client, "Get", objectName, metav1.GetOptions{})
		j.printEvents(who, resource, events, last)
	}
}

func (j *Judge) deleteTyped(
	ctx context.Context, print func(string, any, error), client reflect.Value, has func(string) bool,
	name string, only metav1.ListOptions,
) {
	wrong := types.UID("other")
	_, err := call(ctx, client, "Delete", name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
	print("delete of another uid", nil, err)
	if has("DeleteCollection") {
		_, err = call(ctx, client, "DeleteCollection", metav1.DeleteOptions{DryRun: []string{"All"}}, only)
		print("dry run of deletecollection", nil, err)
		_, err = call(ctx, client, "DeleteCollection", metav1.DeleteOptions{}, only)
		print("deletecollection", nil, err)
	} else {
		_, err = call(ctx, client, "Delete", name, metav1.DeleteOptions{})
		print("delete", nil, err)
	}
	// Without controllers, finalizers that admission added stay.
	if left, err := call(ctx, client, "Get", name, metav1.GetOptions{}); err == nil {
		print("left", left, nil)
		callPatch(ctx, client, name, Patch{"merge", types.MergePatchType, `{"metadata":{"finalizers":null}}`})
	}
	zero := int64(0)
	_, err = call(ctx, client, "Delete", name, metav1.DeleteOptions{GracePeriodSeconds: &zero})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		print("last delete", nil, err)
	}
}

// Settled returns a new object after the server has set its status. Only definitions have one that the server sets.
func settled(created map[string]any, get func() (map[string]any, error)) map[string]any {
	spec, _ := created["spec"].(map[string]any)
	if _, ok := spec["versions"]; !ok {
		return created
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if created, err := get(); err == nil {
			status, _ := created["status"].(map[string]any)
			conditions, _ := status["conditions"].([]any)
			for _, condition := range conditions {
				if each := condition.(map[string]any); each["type"] == "Established" && each["status"] == "True" {
					return created
				}
			}
		}
	}
	return created
}

// Patch is a change of every patch type.
type Patch struct {
	name string
	kind types.PatchType
	body string
}

func patches() []Patch {
	return []Patch{
		{"json", types.JSONPatchType, `[{"op":"add","path":"/metadata/labels/json","value":"1"}]`},
		{"merge", types.MergePatchType, `{"metadata":{"labels":{"merge":"1"}}}`},
		{"strategic", types.StrategicMergePatchType, `{"metadata":{"labels":{"strategic":"1"}}}`},
		{"malformed", types.MergePatchType, `{"metadata":`},
	}
}

func callPatch(ctx context.Context, client reflect.Value, name string, patch Patch) (map[string]any, error) {
	return call(ctx, client, "Patch", name, patch.kind, []byte(patch.body), metav1.PatchOptions{FieldManager: manager})
}

func (j *Judge) printEvents(who, resource string, events watch.Interface, last map[string]any) {
	deadline := time.After(patience)
	for {
		select {
		case event, open := <-events.ResultChan():
			if !open {
				j.print(who, resource, "watch", nil, errors.New("the watch ended"))
				return
			}
			object := decoded(event.Object)
			j.print(who, resource, "watch "+string(event.Type), object, nil)
			if event.Type == watch.Deleted || event.Type == watch.Error {
				return
			}
			if last != nil && revision(object) == revision(last) {
				return
			}
		case <-deadline:
			j.print(who, resource, "watch", nil, errors.New("no further event"))
			return
		}
	}
}

func revision(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	return version
}

func described(err error) any {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return decoded(status.Status())
	}
	return err.Error()
}
