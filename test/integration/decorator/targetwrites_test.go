// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	hostobject "github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// The host stores objects of these types in different ways. For some, an update of a missing object creates it.
func TestWritesOfATarget(t *testing.T) {
	t.Parallel()
	things := env.Install(t, harness.CRD{Kind: "Thing"})
	plain := env.Install(t, harness.CRD{Kind: "Plain", NoStatus: true, ClusterScoped: true})
	for of, manifest := range map[hostobject.Type]string{
		typeOf("", "v1", "configmaps", "ConfigMap", true, false):                               marked + "\ndata: {a: b}",
		typeOf("", "v1", "namespaces", "Namespace", false, true):                               marked,
		typeOf("apps", "v1", "deployments", "Deployment", true, true):                          marked + "\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: none}]}}}",
		typeOf("", "v1", "services", "Service", true, true):                                    marked + "\nspec: {ports: [{port: 80}]}",
		typeOf("", "v1", "limitranges", "LimitRange", true, false):                             marked + "\nspec: {limits: [{type: Container, max: {cpu: 1000m}}]}",
		typeOf("coordination.k8s.io", "v1", "leases", "Lease", true, false):                    marked + "\nspec: {holderIdentity: a}",
		typeOf("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false, false): marked + "\nrules: [{apiGroups: [''], resources: [pods], verbs: [get]}]",
		typeOf(things.Group, things.Version, things.Resource, "Thing", true, true):             marked + "\nspec: {a: 1.50, big: 123456789012345}",
		typeOf(plain.Group, plain.Version, plain.Resource, "Plain", false, false):              marked + "\nspec: {a: null, b: 1}",
	} {
		t.Run(of.Kind, func(t *testing.T) {
			t.Parallel()
			w := newWrites(t, of, manifest)
			w.changeOnlyWhatTheHookSays()
			w.writeUponTheEditsOfOthers()
			w.createNothingThatHasVanished()
		})
	}
}

func (w *writes) changeOnlyWhatTheHookSays() {
	w.Helper()
	before := w.get()
	if diff := cmp.Diff([]string{"metadata"}, describe(w.sync(w.observe(), marking()))); diff != "" {
		w.Errorf("writes (-want +got):\n%s", diff)
	}
	after := w.get()
	if diff := cmp.Diff(map[string]string{"kept": "1", "added": "yes"}, withoutHosts(after.GetLabels())); diff != "" {
		w.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"example.com/kept": "1", "example.com/added": "yes\n"}, withoutHosts(after.GetAnnotations())); diff != "" {
		w.Errorf("annotations (-want +got):\n%s", diff)
	}
	if managers := managersOf(after); !managers["creator"] || !managers["metacontroller"] {
		w.Errorf("the fields are owned by %v", managers)
	}
	for _, o := range []*unstructured.Unstructured{before, after} {
		for _, field := range []string{"labels", "annotations", "managedFields", "resourceVersion", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		delete(o.Object, "status") // other controllers write it
	}
	if diff := cmp.Diff(before.Object, after.Object); diff != "" {
		w.Errorf("something else changed (-before +after):\n%s", diff)
	}
	if outcomes := w.sync(w.observe(), marking()); len(outcomes) > 0 {
		w.Errorf("the next sync takes %v", describe(outcomes))
	}
}

// What was answered about the target as it was before is written upon what others have made of it.
func (w *writes) writeUponTheEditsOfOthers() {
	w.Helper()
	seen := w.observe()
	const edit = `{"metadata":{"labels":{"kept":"2","theirs":"1"}}}`
	if _, err := w.live().Patch(w.Context(), w.target.Name, types.MergePatchType, []byte(edit), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
	response := &pipeline.Response{Labels: map[string]*string{"ours": ptr.To("1")}}
	if outcomes := w.sync(seen, response); len(outcomes) != 1 || outcomes[0].Conflict || outcomes[0].Err != nil || outcomes[0].Result == nil {
		w.Errorf("outcomes are %v", describe(outcomes))
	}
	want := map[string]string{"kept": "2", "theirs": "1", "added": "yes", "ours": "1"}
	if diff := cmp.Diff(want, withoutHosts(w.get().GetLabels())); diff != "" {
		w.Errorf("labels (-want +got):\n%s", diff)
	}
}

// A write that comes too late creates no object, whatever the type.
func (w *writes) createNothingThatHasVanished() {
	w.Helper()
	seen := w.observe()
	w.delete()
	for _, answer := range []*pipeline.Response{
		{Labels: map[string]*string{"late": ptr.To("1")}}, {Status: []byte(`{"a":1}`)},
	} {
		outcomes := w.sync(seen, answer)
		if len(outcomes) != 1 || !outcomes[0].Conflict || outcomes[0].Err != nil {
			w.Errorf("the sync takes %v", describe(outcomes))
		}
	}
	if found, err := w.live().Get(w.Context(), w.target.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.Errorf("it came back: %v %v", found, err)
	}
}

func withoutHosts(of map[string]string) map[string]string {
	kept := map[string]string{}
	for name, value := range of {
		if !strings.Contains(name, "kubernetes.io/") {
			kept[name] = value
		}
	}
	return kept
}

func managersOf(o *unstructured.Unstructured) map[string]bool {
	managers := map[string]bool{}
	for _, entry := range o.GetManagedFields() {
		managers[entry.Manager] = true
	}
	return managers
}
