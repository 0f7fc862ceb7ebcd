// Prints how Go writes and reads the API's objects, as JSON: for each struct its fields with their names on the wire,
// their types, and whether empty values are left out. The server's answers depend on it, and no OpenAPI document says
// it. Facts of the types alone; run by `python -m tools.generate_cluster`.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var structs = map[string][][]string{}

// Types that marshal themselves; their form on the wire is known by name.
var special = map[string]string{
	"meta/v1.Time": "time", "meta/v1.MicroTime": "microTime", "meta/v1.Duration": "duration",
	"resource.Quantity": "quantity", "intstr.IntOrString": "intOrString", "runtime.RawExtension": "raw",
	"meta/v1.FieldsV1": "raw", "apiextensions/v1.JSON": "any", "apiextensions/v1.JSONSchemaPropsOrBool": "any",
	"apiextensions/v1.JSONSchemaPropsOrArray": "any", "apiextensions/v1.JSONSchemaPropsOrStringArray": "any",
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

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeName(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + typeName(t.Elem())
	case reflect.Map:
		return "map:" + typeName(t.Elem())
	case reflect.Struct:
		n := name(t)
		if s, ok := special[n]; ok {
			return s
		}
		walk(t)
		return n
	case reflect.Interface:
		return "any"
	}
	return t.Kind().String()
}

func fields(t reflect.Type, into *[][]string) {
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		if !field.IsExported() {
			continue
		}
		tag := field.Tag.Get("json")
		parts := strings.Split(tag, ",")
		options := map[string]bool{}
		for _, option := range parts[1:] {
			options[option] = true
		}
		inner := field.Type
		if (options["inline"] || (field.Anonymous && parts[0] == "")) && inner.Kind() == reflect.Struct {
			fields(inner, into)
			continue
		}
		if parts[0] == "-" || parts[0] == "" && tag == "" {
			continue
		}
		flags := ""
		if options["omitempty"] {
			flags += "e"
		}
		if options["omitzero"] {
			flags += "z"
		}
		*into = append(*into, []string{parts[0], typeName(inner), flags, field.Name})
	}
}

func walk(t reflect.Type) {
	n := name(t)
	if _, done := structs[n]; done {
		return
	}
	structs[n] = [][]string{}
	list := [][]string{}
	fields(t, &list)
	structs[n] = list
}

func main() {
	for _, add := range []any{&apiextensions.CustomResourceDefinition{}, &apiregistration.APIService{},
		&metav1.DeleteOptions{}} {
		walk(reflect.TypeOf(add).Elem())
	}
	for kind, t := range scheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(kind.Kind, "List") || strings.HasSuffix(kind.Kind, "Options") ||
			kind.Version == "__internal" || strings.Contains(kind.Version, "beta") || strings.Contains(kind.Version, "alpha") {
			continue
		}
		walk(t)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.Encode(structs)
}
