package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "bench.example.com", Version: "v1"}

// Foo is the benchmark's custom resource; samples.py has its schema.
type Foo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FooSpec   `json:"spec,omitempty"`
	Status FooStatus `json:"status,omitempty"`
}

type FooSpec struct {
	DeploymentName string            `json:"deploymentName"`
	Replicas       *int32            `json:"replicas,omitempty"`
	Config         map[string]string `json:"config,omitempty"`
	Items          []FooItem         `json:"items,omitempty"`
}

type FooItem struct {
	Name  string   `json:"name"`
	Value int64    `json:"value"`
	Tags  []string `json:"tags,omitempty"`
}

type FooStatus struct {
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
}

type FooList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Foo `json:"items"`
}

// The copies below do what controller-gen would generate for these types.

func (foo *Foo) DeepCopyInto(copied *Foo) {
	*copied = *foo
	foo.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	foo.Spec.deepCopyInto(&copied.Spec)
}

func (foo *Foo) DeepCopyObject() runtime.Object {
	copied := new(Foo)
	foo.DeepCopyInto(copied)
	return copied
}

func (list *FooList) DeepCopyObject() runtime.Object {
	copied := &FooList{TypeMeta: list.TypeMeta}
	list.ListMeta.DeepCopyInto(&copied.ListMeta)
	if list.Items != nil {
		copied.Items = make([]Foo, len(list.Items))
		for i := range list.Items {
			list.Items[i].DeepCopyInto(&copied.Items[i])
		}
	}
	return copied
}

func (spec *FooSpec) deepCopyInto(copied *FooSpec) {
	*copied = *spec
	if spec.Replicas != nil {
		replicas := *spec.Replicas
		copied.Replicas = &replicas
	}
	if spec.Config != nil {
		copied.Config = make(map[string]string, len(spec.Config))
		for key, value := range spec.Config {
			copied.Config[key] = value
		}
	}
	if spec.Items != nil {
		copied.Items = make([]FooItem, len(spec.Items))
		for i := range spec.Items {
			copied.Items[i] = spec.Items[i]
			if tags := spec.Items[i].Tags; tags != nil {
				copied.Items[i].Tags = append(make([]string, 0, len(tags)), tags...)
			}
		}
	}
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &Foo{}, &FooList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}
