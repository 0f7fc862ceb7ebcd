// Package v1 contains the API of the group notes.example.com.
// +kubebuilder:object:generate=true
// +groupName=notes.example.com
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group version of the objects.
var GroupVersion = schema.GroupVersion{Group: "notes.example.com", Version: "v1"}

// AddToScheme adds the types to a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Memo{}, &MemoList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// MemoSpec is the desired state of a Memo.
type MemoSpec struct {
	// +kubebuilder:validation:MinLength=1
	Text string `json:"text"`
	// +kubebuilder:default=1
	Copies int32 `json:"copies,omitempty"`
}

// MemoStatus is the observed state of a Memo.
type MemoStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Memo is a text that is copied into ConfigMaps.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
type Memo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MemoSpec   `json:"spec"`
	Status MemoStatus `json:"status,omitempty"`
}

// MemoList is a list of Memos.
// +kubebuilder:object:root=true
type MemoList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Memo `json:"items"`
}
