// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// A CustomResourceDefinition has two versions, and each has a controller. Each object is of both versions, so labels
// have to divide the objects. Each hook is sent its objects in its own version.
func TestTwoControllersForTwoVersionsOfTheirParents(t *testing.T) {
	t.Parallel()
	first := prepare(t, hook.Serve(t, answers(t, func(asked request) object {
		child := hook.ConfigMap(asked.Parent.GetName(), object{"version": asked.Parent.GetAPIVersion()})
		return object{"children": []object{child}}
	})))
	second := *first
	second.Parents = first.addVersion("v2")

	for _, f := range []*fixture{first, &second} {
		labels := map[string]string{"version": f.Parents.Version}
		f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
			spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: labels}
		}))
		f.CreateParentWith(f.Parents.Version, object{"labels": labels}, object{})
	}
	for _, f := range []*fixture{first, &second} {
		version := f.Parents.GroupVersion().String()
		f.WaitForConfigMap(f.Parents.Version, func(child *corev1.ConfigMap) error {
			owner := metav1.GetControllerOf(child)
			if owner == nil || owner.APIVersion != version {
				return fmt.Errorf("the child is owned by %v, want one of %s", owner, version)
			}
			return harness.HasData("version", version)(child)
		})
	}
	warned := env.Apply(t, fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s, resource: things}
  hooks: {sync: {webhook: {url: "%s"}}}
`, harness.Name("all"), second.Parents.GroupVersion(), first.Hook.URL(harness.SyncPath)), "--dry-run=server")
	want := fmt.Sprintf(`and 1 more may handle the same parents (%s and %s are versions of the same objects)`,
		second.Parents.GroupVersion(), first.Parents.GroupVersion())
	if !strings.Contains(warned, want) {
		t.Errorf("kubectl says:\n%s\nwant:\n%s", warned, want)
	}
}

// addVersion has the cluster serve the parents in another version, too.
func (f *fixture) addVersion(version string) schema.GroupVersionResource {
	f.Helper()
	definitions := env.Dynamic.Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	patch := fmt.Sprintf(`[{"op":"copy","from":"/spec/versions/0","path":"/spec/versions/1"},
		{"op":"replace","path":"/spec/versions/1/name","value":%q},
		{"op":"replace","path":"/spec/versions/1/storage","value":false}]`, version)
	if _, err := definitions.Patch(f.Context(), f.Parents.GroupResource().String(), types.JSONPatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		f.Fatal(err)
	}
	added := f.Parents.GroupResource().WithVersion(version)
	env.WaitUntilServed(f, added)
	return added
}
