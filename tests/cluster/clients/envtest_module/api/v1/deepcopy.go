package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopyInto copies the receiver.
func (in *Memo) DeepCopyInto(out *Memo) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	if in.Status.Conditions != nil {
		out.Status.Conditions = make([]metav1.Condition, len(in.Status.Conditions))
		for i := range in.Status.Conditions {
			in.Status.Conditions[i].DeepCopyInto(&out.Status.Conditions[i])
		}
	}
}

// DeepCopyObject returns a copy.
func (in *Memo) DeepCopyObject() runtime.Object {
	out := new(Memo)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject returns a copy.
func (in *MemoList) DeepCopyObject() runtime.Object {
	out := new(MemoList)
	*out = *in
	out.Items = make([]Memo, len(in.Items))
	for i := range in.Items {
		in.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}
