// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource returns which of the served resources was probably meant by one that is not served, as a
// phrase such as `"deployments" in apps/v1`. It returns "" if none was. A resource is found by its
// kind, its singular and its short names, and in its own API group by a near name. The version is in
// the phrase if it is not the wanted one. No other was meant if the list has the wanted one: the cluster has begun to
// serve it meanwhile.
func Resource(wanted schema.GroupVersionResource, served []*metav1.APIResourceList) string {
	if slices.ContainsFunc(served, func(list *metav1.APIResourceList) bool { return isIn(wanted, list) }) {
		return ""
	}
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

func isIn(wanted schema.GroupVersionResource, list *metav1.APIResourceList) bool {
	return list.GroupVersion == wanted.GroupVersion().String() && slices.ContainsFunc(list.APIResources,
		func(resource metav1.APIResource) bool { return resource.Name == wanted.Resource })
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

// Defines reports whether a CustomResourceDefinition, as JSON, has a version. The cluster serves that soon if it does
// not yet, unless conflict says why not: the names of the type are in use.
func Defines(definition []byte, version string) (defined bool, conflict string) {
	var of struct {
		Spec struct {
			Versions []struct {
				Name   string `json:"name"`
				Served bool   `json:"served"`
			} `json:"versions"`
		} `json:"spec"`
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(definition, &of); err != nil {
		return false, ""
	}
	for _, one := range of.Spec.Versions {
		defined = defined || one.Name == version && one.Served
	}
	accepted := meta.FindStatusCondition(of.Status.Conditions, "NamesAccepted")
	if defined && accepted != nil && accepted.Status == metav1.ConditionFalse &&
		!meta.IsStatusConditionTrue(of.Status.Conditions, "Established") {
		conflict = "the cluster does not accept the names in its CustomResourceDefinition: " + accepted.Message
	}
	return defined, conflict
}
