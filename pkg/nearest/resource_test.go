// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package nearest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestResource(t *testing.T) {
	served := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", SingularName: "pod", Kind: "Pod", ShortNames: []string{"po"}},
			{Name: "pods/status", Kind: "Pod"},
			{Name: "configmaps", SingularName: "configmap", Kind: "ConfigMap", ShortNames: []string{"cm"}},
		}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{
			{Name: "deployments/status", Kind: "Deployment"},
			{Name: "deployments", SingularName: "deployment", Kind: "Deployment", ShortNames: []string{"deploy"}},
			{Name: "daemonsets", SingularName: "daemonset", Kind: "DaemonSet", ShortNames: []string{"ds"}},
		}},
		{GroupVersion: "example.com/v2", APIResources: []metav1.APIResource{{Name: "pages", Kind: "Page"}}},
	}
	for name, test := range map[string]struct {
		apiVersion, resource, want string
	}{
		"the singular":                          {"apps/v1", "deployment", `"deployments"`},
		"the kind":                              {"apps/v1", "Deployment", `"deployments"`},
		"a short name":                          {"apps/v1", "deploy", `"deployments"`},
		"a slip of the pen":                     {"apps/v1", "deploymnets", `"deployments"`},
		"a version that there is no longer":     {"apps/v1beta1", "deployments", `"deployments" in apps/v1`},
		"such a version, and the singular":      {"apps/v1beta1", "deployment", `"deployments" in apps/v1`},
		"such a version, and a slip of the pen": {"apps/v1beta1", "deploymnts", `"deployments" in apps/v1`},
		"another group":                         {"v1", "deployments", `"deployments" in apps/v1`},
		"another group, and the kind":           {"v1", "Deployment", `"deployments" in apps/v1`},
		"what the cluster serves meanwhile":     {"apps/v1", "deployments", ""},
		"a group that there is not":             {"app/v1", "deployments", `"deployments" in apps/v1`},
		"a near name in another group":          {"example.com/v2", "podds", ""},
		"a type of nobody":                      {"example.com/v1", "gadgets", ""},
		"a version that is yet to come":         {"example.com/v1", "pages", `"pages" in example.com/v2`},
	} {
		t.Run(name, func(t *testing.T) {
			version, err := schema.ParseGroupVersion(test.apiVersion)
			if err != nil {
				t.Fatal(err)
			}
			if got := Resource(version.WithResource(test.resource), served); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
