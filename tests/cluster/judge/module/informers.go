package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sort"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Recorder keeps the requests of a client.
type recorder struct {
	next http.RoundTripper
	lock sync.Mutex
	seen map[string]int
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	verb := "list"
	if query.Get("watch") != "" {
		verb = "watch"
		if query.Get("sendInitialEvents") == "true" {
			verb = "watchlist"
		}
	}
	r.lock.Lock()
	r.seen[verb]++
	r.lock.Unlock()
	return r.next.RoundTrip(request)
}

// Informers starts an informer of every resource and follows the life of a ConfigMap. KUBE_FEATURE_WatchListClient
// decides whether lists are streamed.
func (j *Judge) informers(ctx context.Context) {
	mode := "WatchListClient=" + os.Getenv("KUBE_FEATURE_WatchListClient")
	seen := &recorder{seen: map[string]int{}}
	config := rest.CopyConfig(j.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	})
	client, err := kubernetes.NewForConfig(config)
	must(err)
	objects, err := dynamic.NewForConfig(config)
	must(err)
	headers, err := metadata.NewForConfig(config)
	must(err)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	typed := informers.NewSharedInformerFactoryWithOptions(client, 0)
	untyped := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0)
	partial := metadatainformer.NewSharedInformerFactory(headers, 0)
	watched := []Sample{}
	for _, sample := range j.samples {
		if informer, err := typed.ForResource(sample.gvr()); err == nil {
			informer.Informer()
			untyped.ForResource(sample.gvr())
			partial.ForResource(sample.gvr())
			watched = append(watched, sample)
		}
	}
	life := make(chan string, 1000)
	handler := func(who string) cache.ResourceEventHandlerDetailedFuncs {
		tell := func(kind string, object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if named := object.(metav1.Object); named.GetNamespace() == j.namespace && named.GetName() == "followed" {
				life <- fmt.Sprint(who, " ", kind, " ", named.GetLabels()["step"])
			}
		}
		return cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(object any, initial bool) { tell(fmt.Sprint("add initial=", initial), object) },
			UpdateFunc: func(_, object any) { tell("update", object) },
			DeleteFunc: func(object any) { tell("delete", object) },
		}
	}
	maps := corev1.SchemeGroupVersion.WithResource("configmaps")
	followed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "followed", Labels: map[string]string{"step": "0"}}}
	followed, err = client.CoreV1().ConfigMaps(j.namespace).Create(ctx, followed, metav1.CreateOptions{})
	must(err)
	generic, err := typed.ForResource(maps)
	must(err)
	for who, informer := range map[string]cache.SharedIndexInformer{
		"typed": generic.Informer(), "dynamic": untyped.ForResource(maps).Informer(),
		"metadata": partial.ForResource(maps).Informer(),
	} {
		_, err := informer.AddEventHandler(handler(who))
		must(err)
	}
	typed.Start(ctx.Done())
	untyped.Start(ctx.Done())
	partial.Start(ctx.Done())
	limited, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	typedSynced := typed.WaitForCacheSync(limited.Done())
	j.print("informers", mode, "typed types", len(typedSynced), nil)
	for kind, synced := range typedSynced {
		j.print("informers", kind.String(), "synced", synced, nil)
	}
	for resource, synced := range untyped.WaitForCacheSync(limited.Done()) {
		j.print("informers", resource.String(), "dynamic synced", synced, nil)
	}
	for resource, synced := range partial.WaitForCacheSync(limited.Done()) {
		j.print("informers", resource.String(), "metadata synced", synced, nil)
	}
	events := collect(life, 3)
	followed.Labels["step"] = "1"
	_, err = client.CoreV1().ConfigMaps(j.namespace).Update(ctx, followed, metav1.UpdateOptions{})
	must(err)
	events = append(events, collect(life, 3)...)
	must(client.CoreV1().ConfigMaps(j.namespace).Delete(ctx, "followed", metav1.DeleteOptions{}))
	events = append(events, collect(life, 3)...)
	j.print("informers", mode, "life", events, nil)
	for _, sample := range watched {
		informer, _ := typed.ForResource(sample.gvr())
		_, err := untyped.ForResource(sample.gvr()).Lister().List(everything())
		j.print("informers", sample.gvr().String(), "lister", informer.Informer().HasSynced(), err)
	}
	seen.lock.Lock()
	defer seen.lock.Unlock()
	// Watches may be repeated; the kinds of requests may not differ.
	verbs := []string{}
	for verb := range seen.seen {
		verbs = append(verbs, verb)
	}
	sort.Strings(verbs)
	j.print("informers", mode, "requests", verbs, nil)
}

func collect(life <-chan string, count int) []string {
	found := []string{}
	deadline := time.After(patience)
	for len(found) < count {
		select {
		case event := <-life:
			found = append(found, event)
		case <-deadline:
			return append(found, "no further event")
		}
	}
	sort.Strings(found)
	return found
}

// Election lets two candidates lead one after the other.
func (j *Judge) election(ctx context.Context) {
	client, err := kubernetes.NewForConfig(j.config)
	must(err)
	happened := make(chan string, 100)
	start := func(identity string) context.CancelFunc {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, j.namespace, "leader", client.CoreV1(),
			client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
		must(err)
		ctx, cancel := context.WithCancel(ctx)
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 200 * time.Millisecond,
			ReleaseOnCancel: true, Name: identity,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { happened <- identity + " leads" },
				OnStoppedLeading: func() { happened <- identity + " stopped" },
				OnNewLeader:      func(string) {},
			},
		})
		must(err)
		go elector.Run(ctx)
		return cancel
	}
	next := func() string {
		select {
		case event := <-happened:
			return event
		case <-time.After(30 * time.Second):
			return "nothing"
		}
	}
	stopFirst := start("first")
	j.print("election", "leases", "first", next(), nil)
	stopSecond := start("second")
	stopFirst()
	changes := []string{next(), next()}
	sort.Strings(changes)
	j.print("election", "leases", "change", changes, nil)
	stopSecond()
	j.print("election", "leases", "end", next(), nil)
	lease, err := client.CoordinationV1().Leases(j.namespace).Get(ctx, "leader", metav1.GetOptions{})
	must(err)
	j.print("election", "leases", "transitions", lease.Spec.LeaseTransitions, nil)
}
