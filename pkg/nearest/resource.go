// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource returns which of the served resources was probably meant by one that is not served, as a
// phrase such as `"deployments" in apps/v1`. It returns "" if none was. A resource is found by its
// kind, its singular and its short names, and in its own API group by a near name. The version is in
// the phrase if it is not the wanted one.
func Resource(wanted schema.GroupVersionResource, served []*metav1.APIResourceList) string {
	for _, find := range []struct {
		in  func(of schema.GroupVersion) bool
		how func(word string, resources []metav1.APIResource) string
	}{
		{func(of schema.GroupVersion) bool { return of == wanted.GroupVersion() }, named},
		{func(of schema.GroupVersion) bool { return of == wanted.GroupVersion() }, near},
		{func(of schema.GroupVersion) bool { return of.Group == wanted.Group }, named},
		{func(of schema.GroupVersion) bool { return of.Group == wanted.Group }, near},
		{func(schema.GroupVersion) bool { return true }, named},
	} {
		for _, list := range served {
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			if err != nil || !find.in(version) {
				continue
			}
			if found := find.how(wanted.Resource, list.APIResources); found != "" {
				return phrase(found, version, wanted)
			}
		}
	}
	return ""
}

func phrase(found string, version schema.GroupVersion, wanted schema.GroupVersionResource) string {
	if version == wanted.GroupVersion() {
		return fmt.Sprintf("%q", found)
	}
	return fmt.Sprintf("%q in %s", found, version)
}

// named returns the resource that has the word as a name, in upper or lower case; "" if none has.
func named(word string, resources []metav1.APIResource) string {
	for _, resource := range resources {
		names := append([]string{resource.Name, resource.Kind, resource.SingularName}, resource.ShortNames...)
		isWord := func(name string) bool { return strings.EqualFold(name, word) }
		if !strings.Contains(resource.Name, "/") && slices.ContainsFunc(names, isWord) {
			return resource.Name
		}
	}
	return ""
}

// near returns the resource whose name is written most like the word; "" if there is none.
func near(word string, resources []metav1.APIResource) string {
	var names []string
	for _, resource := range resources {
		if !strings.Contains(resource.Name, "/") {
			names = append(names, resource.Name)
		}
	}
	return To(word, names)
}
