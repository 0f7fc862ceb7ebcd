// Command judge exercises an API server with Go's clients and prints one JSON line for each answer.
//
// The program of a test runs it on two servers and compares the lines.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// Sample is a valid object of a resource.
type Sample struct {
	Group      string          `json:"group"`
	Version    string          `json:"version"`
	Resource   string          `json:"resource"`
	Kind       string          `json:"kind"`
	Namespaced bool            `json:"namespaced"`
	Fixed      bool            `json:"fixed"` // whether its name cannot be changed
	Object     json.RawMessage `json:"object"`
}

func (s Sample) gvr() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: s.Group, Version: s.Version, Resource: s.Resource}
}

// Named returns the sample with a name, and with a label of this walk.
func (s Sample) named(name string) map[string]any {
	var object map[string]any
	must(json.Unmarshal(s.Object, &object))
	metadata := object["metadata"].(map[string]any)
	if !s.Fixed {
		metadata["name"] = metadata["name"].(string) + "-" + name
	}
	metadata["labels"] = map[string]any{"judge": name}
	return object
}

// Line is the answer to one request.
type Line struct {
	Client   string `json:"client"`
	Resource string `json:"resource"`
	Step     string `json:"step"`
	Error    any    `json:"error,omitempty"`
	Result   any    `json:"result,omitempty"`
}

// Judge has the server under test.
type Judge struct {
	config    *rest.Config
	namespace string
	samples   []Sample
	out       *json.Encoder
}

func (j *Judge) print(client, resource, step string, result any, err error) {
	line := Line{Client: client, Resource: resource, Step: step, Result: result}
	if err != nil {
		line.Error, line.Result = described(err), nil
	}
	must(j.out.Encode(line))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func decoded(value any) map[string]any {
	var object map[string]any
	data, err := json.Marshal(value)
	must(err)
	must(json.Unmarshal(data, &object))
	return object
}

func main() {
	parts := map[string]func(*Judge, context.Context){
		"clientsets": (*Judge).clientsets,
		"dynamic":    (*Judge).untyped,
		"discovery":  (*Judge).discovery,
		"informers":  (*Judge).informers,
		"election":   (*Judge).election,
		"runtime":    (*Judge).controllerRuntime,
	}
	kubeconfig := flag.String("cluster", "", "the kubeconfig of the server")
	namespace := flag.String("namespace", "default", "the namespace of all objects")
	samples := flag.String("samples", "", "a JSON file with valid objects")
	part := flag.String("part", "", "clientsets, dynamic, discovery, informers, election or runtime")
	flag.Parse()
	klog.SetOutput(os.Stderr)
	ctrl.SetLogger(klog.Background())
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	must(err)
	config.QPS, config.Burst, config.UserAgent = -1, -1, "judge/1"
	judge := &Judge{config: config, namespace: *namespace, out: json.NewEncoder(os.Stdout)}
	if *samples != "" {
		data, err := os.ReadFile(*samples)
		must(err)
		must(json.Unmarshal(data, &judge.samples))
	}
	run, ok := parts[*part]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown part:", *part)
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	run(judge, ctx)
}
