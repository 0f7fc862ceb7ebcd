// Prints how Kubernetes writes objects as protobuf, as JSON: for each Go struct the numbers of its fields, their names in
// JSON, and their types. The `generated.proto` files name neither the JSON fields nor what is inlined there; the tags of
// the structs do. Facts of the types alone; run by `python -m tools.generate_protobuf`.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsbeta "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// number, JSON name (empty: inlined), type
var messages = map[string][][3]any{}
var kinds = map[string]string{}

// Types that have a form of their own in JSON.
var special = map[string]string{
	"meta/v1.Time": "time", "meta/v1.MicroTime": "microTime", "meta/v1.Duration": "duration",
	"resource.Quantity": "quantity", "intstr.IntOrString": "intOrString", "runtime.RawExtension": "raw",
	"meta/v1.FieldsV1": "raw", "apiextensions/v1.JSON": "raw", "apiextensions/v1beta1.JSON": "raw",
	"apiextensions/v1.JSONSchemaPropsOrBool":             "schemaOrBool:apiextensions/v1.JSONSchemaProps",
	"apiextensions/v1.JSONSchemaPropsOrArray":            "schemaOrArray:apiextensions/v1.JSONSchemaProps",
	"apiextensions/v1.JSONSchemaPropsOrStringArray":      "schemaOrStrings:apiextensions/v1.JSONSchemaProps",
	"apiextensions/v1beta1.JSONSchemaPropsOrBool":        "schemaOrBool:apiextensions/v1beta1.JSONSchemaProps",
	"apiextensions/v1beta1.JSONSchemaPropsOrArray":       "schemaOrArray:apiextensions/v1beta1.JSONSchemaProps",
	"apiextensions/v1beta1.JSONSchemaPropsOrStringArray": "schemaOrStrings:apiextensions/v1beta1.JSONSchemaProps",
}

func name(t reflect.Type) string {
	path := t.PkgPath()
	for _, prefix := range []string{"k8s.io/api/", "k8s.io/apimachinery/pkg/apis/", "k8s.io/apimachinery/pkg/api/",
		"k8s.io/apimachinery/pkg/util/", "k8s.io/apimachinery/pkg/",
		"k8s.io/apiextensions-apiserver/pkg/apis/", "k8s.io/kube-aggregator/pkg/apis/"} {
		if strings.HasPrefix(path, prefix) {
			path = strings.TrimPrefix(path, prefix)
			break
		}
	}
	return path + "." + t.Name()
}

// A named slice with methods of its own is a message with one field, the items.
func isMessage(t reflect.Type) bool {
	_, found := reflect.PointerTo(t).MethodByName("Marshal")
	return found
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if isMessage(t) {
			return "items:" + typeName(t.Elem())
		}
		return "[]" + typeName(t.Elem())
	case reflect.Map:
		return "map:" + typeName(t.Elem())
	case reflect.Struct:
		n := name(t)
		if form, ok := special[n]; ok {
			if strings.Contains(form, ":") {
				walk(reflect.New(t).Elem().FieldByName("Schema").Type().Elem())
			}
			return form
		}
		walk(t)
		return n
	}
	return t.Kind().String()
}

func walk(t reflect.Type) {
	n := name(t)
	if _, done := messages[n]; done {
		return
	}
	messages[n] = nil
	list := [][3]any{}
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			continue
		}
		number, err := strconv.Atoi(tag[1])
		if err != nil {
			panic(err)
		}
		json := strings.Split(field.Tag.Get("json"), ",")[0]
		list = append(list, [3]any{number, json, typeName(field.Type)})
	}
	messages[n] = list
}

func main() {
	add := func(apiVersion string, kind string, t reflect.Type) {
		if t.Kind() != reflect.Struct || !isMessage(t) {
			return
		}
		walk(t)
		kinds[apiVersion+" "+kind] = name(t)
	}
	for version, t := range scheme.Scheme.AllKnownTypes() {
		if version.Version != "__internal" && !strings.HasSuffix(version.Kind, "List") {
			add(version.GroupVersion().String(), version.Kind, t)
		}
	}
	add("apiextensions.k8s.io/v1", "CustomResourceDefinition", reflect.TypeOf(apiextensions.CustomResourceDefinition{}))
	add("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition",
		reflect.TypeOf(apiextensionsbeta.CustomResourceDefinition{}))
	add("apiregistration.k8s.io/v1", "APIService", reflect.TypeOf(apiregistration.APIService{}))
	for _, t := range []any{metav1.DeleteOptions{}, metav1.Status{}} {
		add("v1", reflect.TypeOf(t).Name(), reflect.TypeOf(t))
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"messages": messages, "kinds": kinds})
}
