package controller

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	notesv1 "kubewright/envtest/api/v1"
)

var k8sClient client.Client

// TestMain starts envtest as kubebuilder's suites do. With USE_EXISTING_CLUSTER=true it uses the cluster of KUBECONFIG.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	environment := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	config, err := environment.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		return 1
	}
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop:", err)
		}
	}()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		panic(err)
	}
	if err := notesv1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		return 1
	}
	if err := (&MemoReconciler{Client: manager.GetClient()}).SetupWithManager(manager); err != nil {
		fmt.Fprintln(os.Stderr, "setup:", err)
		return 1
	}
	stopped := make(chan error, 1)
	go func() { stopped <- manager.Start(ctx) }()
	if k8sClient, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		return 1
	}
	code := m.Run()
	cancel()
	if err := <-stopped; err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		return 1
	}
	return code
}

func namespace(t *testing.T) string {
	t.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "memos-"}}
	if err := k8sClient.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	return made.Name
}

func eventually(t *testing.T, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, condition); err != nil {
		t.Fatal(err)
	}
}

func TestCopiesTheText(t *testing.T) {
	where := namespace(t)
	memo := &notesv1.Memo{
		ObjectMeta: metav1.ObjectMeta{Name: "hello", Namespace: where},
		Spec:       notesv1.MemoSpec{Text: "hello", Copies: 2},
	}
	if err := k8sClient.Create(t.Context(), memo); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) (bool, error) {
		err := k8sClient.Get(ctx, client.ObjectKeyFromObject(memo), memo)
		return err == nil && meta.IsStatusConditionTrue(memo.Status.Conditions, "Copied"), err
	})
	var copies corev1.ConfigMapList
	if err := k8sClient.List(t.Context(), &copies, client.InNamespace(where)); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, each := range copies.Items {
		if metav1.IsControlledBy(&each, memo) && each.Data["text"] == "hello" {
			found++
		}
	}
	if found != 2 {
		t.Fatalf("%d copies, not 2", found)
	}
}

func TestRestoresADeletedCopy(t *testing.T) {
	where := namespace(t)
	memo := &notesv1.Memo{
		ObjectMeta: metav1.ObjectMeta{Name: "again", Namespace: where}, Spec: notesv1.MemoSpec{Text: "again"},
	}
	if err := k8sClient.Create(t.Context(), memo); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKey{Namespace: where, Name: "again-0"}
	var first corev1.ConfigMap
	eventually(t, func(ctx context.Context) (bool, error) {
		err := k8sClient.Get(ctx, key, &first)
		return err == nil, client.IgnoreNotFound(err)
	})
	if err := k8sClient.Delete(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) (bool, error) {
		var second corev1.ConfigMap
		err := k8sClient.Get(ctx, key, &second)
		return err == nil && second.UID != first.UID, client.IgnoreNotFound(err)
	})
}

func TestRejectsAnEmptyText(t *testing.T) {
	memo := &notesv1.Memo{ObjectMeta: metav1.ObjectMeta{Name: "empty", Namespace: namespace(t)}}
	if err := k8sClient.Create(t.Context(), memo); !apierrors.IsInvalid(err) {
		t.Fatalf("not rejected as invalid: %v", err)
	}
}
