// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/offline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

var updateBuiltIn = flag.Bool("update-builtin", false, "write pkg/offline/builtin.json from the cluster")

// Tests of hooks run without a cluster, with the types that a cluster has.
func TestTheTypesOfTestsWithoutAClusterAreThoseOfACluster(t *testing.T) {
	path := filepath.Join(hostcluster.RepositoryRoot(), "pkg", "offline", "builtin.json")
	types := typesOfCluster(t)
	want, err := format(types)
	if err != nil {
		t.Fatal(err)
	}
	if *updateBuiltIn {
		if err := os.WriteFile(path, want, 0o644); err != nil { //nolint:gosec // it is no secret
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is out of date (%v): run go test ./test/integration/plugin -run %s -update-builtin", path, err, t.Name())
	}
}

// typesOfCluster returns the stable types of the cluster that can be watched and are neither ours nor custom.
func typesOfCluster(t *testing.T) *offline.Catalog {
	t.Helper()
	types := &offline.Catalog{Resources: map[string][]offline.Resource{}, Schemas: map[string]json.RawMessage{}}
	_, lists, err := env.Kube.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		if !isOfKubernetes(version) {
			continue
		}
		if resources := watched(list.APIResources); len(resources) > 0 {
			types.Resources[list.GroupVersion] = resources
			addSchemas(t, types, version)
		}
	}
	return types
}

var stable = regexp.MustCompile(`^v[0-9]+$`)

func isOfKubernetes(version schema.GroupVersion) bool {
	group := version.Group
	return stable.MatchString(version.Version) && group != "metacontroller.k8s.io" && (!strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"))
}

// watched returns the types that can be watched.
func watched(resources []metav1.APIResource) (all []offline.Resource) {
	for _, resource := range resources {
		if slices.Contains(resource.Verbs, "watch") {
			status := slices.ContainsFunc(resources, func(other metav1.APIResource) bool { return other.Name == resource.Name+"/status" })
			all = append(all, offline.Resource{Name: resource.Name, Kind: resource.Kind, Namespaced: resource.Namespaced, Status: status})
		}
	}
	slices.SortFunc(all, func(a, b offline.Resource) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// addSchemas adds the schemas of the types of a version, and those that they refer to.
func addSchemas(t *testing.T, types *offline.Catalog, version schema.GroupVersion) {
	t.Helper()
	path := "/openapi/v3/apis/" + version.String()
	if version.Group == "" {
		path = "/openapi/v3/api/" + version.Version
	}
	raw, err := env.Kube.Discovery().RESTClient().Get().AbsPath(path).DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	var add func(name string)
	add = func(name string) {
		if types.Schemas[name] != nil {
			return
		}
		kept, err := json.Marshal(essence(document.Components.Schemas[name]))
		if err != nil {
			t.Fatal(err)
		}
		types.Schemas[name] = kept
		for _, reference := range references.FindAllSubmatch(kept, -1) {
			add(string(reference[1]))
		}
	}
	for name, described := range document.Components.Schemas {
		for _, resource := range types.Resources[version.String()] {
			if strings.Contains(fmt.Sprint(described["x-kubernetes-group-version-kind"]), fmt.Sprintf("map[group:%s kind:%s version:%s]", version.Group, resource.Kind, version.Version)) {
				add(name)
			}
		}
	}
}

var references = regexp.MustCompile(`"\$ref":"#/components/schemas/([^"]+)"`)

// essence returns the part of a schema that merging needs.
func essence(of map[string]any) map[string]any {
	kept := map[string]any{}
	for name, value := range of {
		switch name {
		case "properties":
			properties := map[string]any{}
			for field, below := range value.(map[string]any) {
				properties[field] = essence(below.(map[string]any))
			}
			kept[name] = properties
		case "items", "additionalProperties":
			if below, ok := value.(map[string]any); ok {
				value = essence(below)
			}
			kept[name] = value
		case "allOf":
			var all []any
			for _, one := range value.([]any) {
				all = append(all, essence(one.(map[string]any)))
			}
			kept[name] = all
		case "$ref", "default", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
			"x-kubernetes-patch-merge-key", "x-kubernetes-patch-strategy", "x-kubernetes-group-version-kind":
			kept[name] = value
		}
	}
	return kept
}

// format returns types as JSON with a version or a schema on each line.
func format(types *offline.Catalog) ([]byte, error) {
	var text bytes.Buffer
	write := func(name string, value any, last bool) error {
		line, err := json.Marshal(value)
		fmt.Fprintf(&text, "%q:%s", name, line)
		if !last {
			text.WriteString(",")
		}
		text.WriteString("\n")
		return err
	}
	text.WriteString("{\"resources\":{\n")
	names := slices.Sorted(maps.Keys(types.Resources))
	for i, name := range names {
		if err := write(name, types.Resources[name], i == len(names)-1); err != nil {
			return nil, err
		}
	}
	text.WriteString("},\"schemas\":{\n")
	names = slices.Sorted(maps.Keys(types.Schemas))
	for i, name := range names {
		if err := write(name, types.Schemas[name], i == len(names)-1); err != nil {
			return nil, err
		}
	}
	text.WriteString("}}\n")
	return text.Bytes(), nil
}
