// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

const plain = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec: {parentResource: {apiVersion: example.com/v1, resource: things}, hooks: {sync: {webhook: {url: "%s"}}}}
`

// touched returns what a migration touches first, as it is.
func (w *world) touched() map[string]string {
	w.Helper()
	versions := map[string]string{}
	for _, kind := range kinds {
		of, err := env.Dynamic.Resource(definitions).Get(w.Context(), kind.GroupResource().String(), metav1.GetOptions{})
		if err != nil {
			w.Fatal(err)
		}
		versions[of.GetName()] = of.GetResourceVersion()
	}
	of, err := env.Dynamic.Resource(apiServices).Get(w.Context(), aggregation.APIServiceName, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	versions[of.GetName()] = of.GetResourceVersion()
	return versions
}

// Whatever stands in the way is said before anything is touched.
func TestWhatStandsInTheWay(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(w *world)
		says    []string
	}{
		"an object that validation refuses": {
			func(w *world) { env.Apply(w, fmt.Sprintf(plain, "odd", "ftp://hooks.example")) },
			[]string{"CompositeController odd: the server does not take it", "spec.hooks.sync.webhook.url"},
		},
		"a conversion webhook": {
			func(w *world) {
				w.patchDefinition("decoratorcontrollers.metacontroller.k8s.io", `{"spec":{"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}}}}`)
			},
			[]string{"decoratorcontrollers.metacontroller.k8s.io", "it has a conversion webhook"},
		},
		"a name that exists on both sides": {
			func(w *world) {
				w.migrate("switch")
				w.migrate("back") // the server keeps what it has
				env.Kubectl(w, "delete", "cc", "a")
				env.Apply(w, fmt.Sprintf(plain, "a", "http://127.0.0.1:2"))
			},
			nil, // it came from the definitions, and follows them
		},
		"a definition of somebody else in the group": {
			func(w *world) { w.installStranger() },
			[]string{"strangers.metacontroller.k8s.io", "nobody could read its objects any more"},
		},
		"Metacontroller that runs": {
			func(w *world) { w.installOriginal(1) },
			[]string{"Metacontroller still runs, as statefulset/metacontroller/metacontroller", "--stop-original"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			env.Apply(t, fmt.Sprintf(plain, "a", "http://127.0.0.1:1"))
			test.prepare(w)
			if test.says == nil {
				w.migrate("switch")
				return
			}
			before := w.touched()
			said, err := w.tryToMigrate("switch", "--timeout=5s")
			if err == nil {
				t.Fatal("it does not fail")
			}
			for _, part := range test.says {
				if !strings.Contains(said, part) {
					t.Errorf("it does not say %q", part)
				}
			}
			if strings.Contains(name, "that runs") { // by then, everything was copied
				delete(before, "compositecontrollers.metacontroller.k8s.io")
				delete(before, "decoratorcontrollers.metacontroller.k8s.io")
				delete(before, "controllerrevisions.metacontroller.k8s.io")
			}
			for name, version := range w.touched() {
				if known, was := before[name]; was && known != version {
					t.Errorf("%s was touched", name)
				}
			}
		})
	}
}

func (w *world) patchDefinition(name, patch string) {
	w.Helper()
	if _, err := env.Dynamic.Resource(definitions).Patch(w.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.Fatal(err)
	}
}

// installStranger installs a definition of the group that is none of Metacontroller.
func (w *world) installStranger() {
	w.Helper()
	env.Apply(w, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: strangers.metacontroller.k8s.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: metacontroller.k8s.io
  scope: Cluster
  names: {kind: Stranger, plural: strangers, singular: stranger}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)
	w.Cleanup(func() { env.Kubectl(detached{w.T}, "delete", "crd", "strangers.metacontroller.k8s.io") })
}

// An object that was made at the server, and never was in the definitions, would come alive.
func TestWhatTheServerHasAlready(t *testing.T) {
	w := newWorld(t)
	env.Apply(t, fmt.Sprintf(plain, "a", "http://127.0.0.1:1"))
	w.migrate("switch")
	env.Apply(t, fmt.Sprintf(plain, "made-here", "http://127.0.0.1:1"))
	if said := w.migrate("verify"); !strings.Contains(said, "CompositeController made-here: is only here (it was created here)") {
		t.Error("it does not say what was created here")
	}
	// Somebody gives the API back without migrate back.
	env.Kubectl(t, "delete", "apiservice", aggregation.APIServiceName)
	for _, kind := range kinds {
		w.patchServed(kind.GroupResource().String())
	}
	w.waitForDefinitions()
	said, err := w.tryToMigrate("switch")
	if err == nil || !strings.Contains(said, "1 object that the definitions do not have, and that would come alive: CompositeController made-here") {
		t.Error("it does not say what would come alive")
	}
	env.Apply(t, fmt.Sprintf(plain, "made-here", "http://127.0.0.1:2"))
	said, err = w.tryToMigrate("switch")
	if err == nil || !strings.Contains(said, "CompositeController made-here: the server does not take it") || !strings.Contains(said, "another object has its name here") {
		t.Error("it does not say that the name is taken")
	}
	w.migrate("switch", "--discard-others")
	of, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(t.Context(), "made-here", metav1.GetOptions{})
	if err != nil || *of.Spec.Hooks.Sync.Webhook.URL != "http://127.0.0.1:2" {
		t.Errorf("made-here is %v, error %v", of, err)
	}
}

// What is written to both sides around the switch is merged, and later writes count. What was deleted on one side and changed on the
// other is left as it is, and listed.
func TestWhatIsWrittenToBothSides(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"both", "there", "here", "deleted-there", "deleted-here", "torn"} {
		env.Apply(t, fmt.Sprintf(plain, name, "http://127.0.0.1:1"))
	}
	w.migrate("switch")
	annotate := func(version, name string, values harness.Object) {
		t.Helper()
		resource := compositeControllers
		resource.Version = version
		_, err := env.Dynamic.Resource(resource).Patch(t.Context(), name, types.MergePatchType, []byte(harness.JSON(t, harness.Object{
			"metadata": harness.Object{"annotations": values}})), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	remove := func(version, name string) {
		t.Helper()
		resource := compositeControllers
		resource.Version = version
		if err := env.Dynamic.Resource(resource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// As if these had come between the last copy and the switch.
	annotate("v0migration", "both", harness.Object{"edited": "there", "only-there": "yes"})
	annotate("v0migration", "there", harness.Object{"edited": "there"})
	annotate("v0migration", "torn", harness.Object{"edited": "there"})
	remove("v0migration", "deleted-there")
	annotate("v1alpha1", "both", harness.Object{"edited": "here", "only-here": "yes"})
	annotate("v1alpha1", "here", harness.Object{"edited": "here"})
	remove("v1alpha1", "deleted-here")
	remove("v1alpha1", "torn")
	said, err := w.tryToMigrate("switch")
	if err == nil || !strings.Contains(said, "1 merged") || !strings.Contains(said, "1 object in conflict, left as it is here") || !strings.Contains(said, `"torn"`) ||
		!strings.Contains(said, "deleted here, and changed there") {
		t.Error("it does not list the conflict")
	}
	for name, want := range map[string]map[string]string{
		"both": {"edited": "here", "only-here": "yes", "only-there": "yes"}, "there": {"edited": "there"}, "here": {"edited": "here"},
	} {
		of, err := env.Dynamic.Resource(compositeControllers).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if of.GetAnnotations()[key] != value {
				t.Errorf("%s has the annotations %v, want %v", name, of.GetAnnotations(), want)
			}
		}
	}
	list, err := env.Dynamic.Resource(compositeControllers).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 {
		t.Errorf("%d are left, error %v", len(list.Items), err)
	}
	if said, err := w.tryToMigrate("run"); err == nil || !strings.Contains(said, "CompositeController torn: is not here (it was deleted here after it was copied)") {
		t.Error("it runs although there is a conflict")
	}
	// Who deletes it there, too, has solved it.
	remove("v0migration", "torn")
	w.migrate("switch")
	w.migrate("run")
}

// What the server knows and Metacontroller does not comes back when the objects do.
func TestFieldsThatMetacontrollerDoesNotKnow(t *testing.T) {
	w := newWorld(t)
	env.Apply(t, fmt.Sprintf(plain, "a", "http://127.0.0.1:1"))
	w.migrate("switch")
	controllers := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers()
	patch := `{"spec":{"paused":true,"childResources":[{"apiVersion":"v1","resource":"configmaps","updateStrategy":{"method":"RollingInPlace","maxUnavailable":3}}]}}`
	before, err := controllers.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := w.migrate("back")
	if !strings.Contains(said, "CompositeController a has fields that Metacontroller does not know") || !strings.Contains(said, "spec.childResources[0].updateStrategy.maxUnavailable, spec.paused") {
		t.Error("it does not list the fields")
	}
	there, err := controllers.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || there.UID != before.UID || there.Annotations["metacontroller.k8s.io/fields-of-metacontroller-apiserver"] == "" {
		t.Errorf("in the definition it is %v, error %v", there, err)
	}
	env.Kubectl(t, "label", "cc", "a", "edited=there")
	w.migrate("switch")
	after, err := controllers.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || !after.Spec.Paused || after.Spec.ChildResources[0].UpdateStrategy.MaxUnavailable.IntValue() != 3 || after.Labels["edited"] != "there" ||
		after.Annotations["metacontroller.k8s.io/fields-of-metacontroller-apiserver"] != "" {
		t.Errorf("it comes back as %v, error %v", after, err)
	}
}
