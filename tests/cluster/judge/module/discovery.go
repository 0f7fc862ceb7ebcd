package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sort"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Discovery compares the groups and resources, the mapper and the scale client that depend on them.
func (j *Judge) discovery(ctx context.Context) {
	client, err := discovery.NewDiscoveryClientForConfig(j.config)
	must(err)
	version, err := client.ServerVersion()
	must(err)
	j.print("discovery", "version", "get", version.Major+"."+version.Minor, nil)
	for _, legacy := range []bool{false, true} {
		client.UseLegacyDiscovery = legacy
		who := fmt.Sprintf("discovery, legacy %t", legacy)
		groups, resources, err := client.ServerGroupsAndResources()
		j.print(who, "groups", "list", len(groups), err)
		for _, group := range groups {
			j.print(who, group.Name, "group", group, nil)
		}
		for _, list := range resources {
			j.print(who, list.GroupVersion, "resources", list, nil)
		}
		preferred, err := client.ServerPreferredResources()
		names := []string{}
		for _, list := range preferred {
			for _, resource := range list.APIResources {
				names = append(names, list.GroupVersion+"/"+resource.Name)
			}
		}
		sort.Strings(names)
		j.print(who, "preferred resources", "list", names, err)
	}
	client.UseLegacyDiscovery = false
	document, err := client.OpenAPISchema()
	must(err)
	paths := []string{}
	for _, path := range document.GetPaths().GetPath() {
		paths = append(paths, path.GetName())
	}
	sort.Strings(paths)
	j.print("openapi v2", "paths", "list", paths, nil)
	roots, err := client.OpenAPIV3().Paths()
	must(err)
	for root, part := range roots {
		_, err := part.Schema("application/com.github.proto-openapi.spec.v3@v1.0+protobuf")
		j.print("openapi v3", root, "schema", nil, err)
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	for _, sample := range j.samples {
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: sample.Group, Kind: sample.Kind}, sample.Version)
		if err != nil {
			j.print("mapper", sample.gvr().String(), "map", nil, err)
			continue
		}
		j.print("mapper", sample.gvr().String(), "map", mapping.Resource.String()+" "+string(mapping.Scope.Name()), nil)
	}
	short := restmapper.NewShortcutExpander(mapper, cached, func(string) {})
	for _, name := range []string{"deploy", "po", "svc", "cm", "ing", "hpa", "pdb", "crd", "sa", "ns", "all", "nothing"} {
		found, err := short.ResourceFor(schema.GroupVersionResource{Resource: name})
		j.print("mapper", name, "short name", found.String(), err)
	}
	all, _ := restmapper.NewDiscoveryCategoryExpander(cached).Expand("all")
	found := []string{}
	for _, each := range all {
		found = append(found, each.String())
	}
	sort.Strings(found)
	j.print("mapper", "all", "category", found, nil)
	for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz?verbose", "/nothing"} {
		var status int
		err := client.RESTClient().Get().RequestURI(path).Do(ctx).StatusCode(&status).Error()
		if status == http.StatusOK {
			err = nil
		}
		j.print("discovery", path, "get", status, err)
	}
	j.scales(ctx, mapper, client)
}

func (j *Judge) scales(ctx context.Context, mapper *restmapper.DeferredDiscoveryRESTMapper, client discovery.DiscoveryInterface) {
	kinds := scale.NewDiscoveryScaleKindResolver(client)
	scales, err := scale.NewForConfig(j.config, mapper, dynamic.LegacyAPIPathResolverFunc, kinds)
	must(err)
	objects, err := dynamic.NewForConfig(j.config)
	must(err)
	for _, sample := range j.samples {
		resource := sample.gvr()
		if _, err := kinds.ScaleForResource(resource); err != nil {
			continue
		}
		object := &unstructured.Unstructured{Object: sample.named("scale")}
		_, err := objects.Resource(resource).Namespace(j.namespace).Create(ctx, object, metav1.CreateOptions{})
		j.print("scale", resource.String(), "create", nil, err)
		current, err := scales.Scales(j.namespace).Get(ctx, resource.GroupResource(), object.GetName(), metav1.GetOptions{})
		j.print("scale", resource.String(), "get", current, err)
		if err == nil {
			current.Spec.Replicas = 5
			updated, err := scales.Scales(j.namespace).Update(ctx, resource.GroupResource(), current, metav1.UpdateOptions{})
			j.print("scale", resource.String(), "update", updated, err)
			stale := autoscalingv1.Scale{}
			data, _ := json.Marshal(current)
			must(json.Unmarshal(data, &stale))
			j.print("scale", resource.String(), "kind", stale.Spec.Replicas, nil)
		}
		err = objects.Resource(resource).Namespace(j.namespace).Delete(ctx, object.GetName(), metav1.DeleteOptions{})
		j.print("scale", resource.String(), "delete", nil, err)
	}
}
