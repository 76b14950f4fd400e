// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// load is clients that write all the time.
type load struct {
	*world
	running sync.WaitGroup

	mu sync.Mutex
	// keys are annotations that were written, each by one write, by the object. There are objects that were created, and
	// not deleted.
	keys    map[string][]string
	deleted map[string]bool
	// refused counts writes that the policy refused, and acknowledged those that were accepted.
	refused, acknowledged int
}

// write does one write, and notes whether it was accepted.
func (l *load) write(do func() error, note func()) {
	err := do()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.acknowledged++
		note()
	case strings.Contains(err.Error(), "metacontroller-apiserver migrate is moving these objects"):
		l.refused++
	}
}

// work annotates objects, and creates and deletes others, until ctx ends.
func (l *load) work(ctx context.Context, worker, objects int) {
	client := env.Dynamic.Resource(compositeControllers)
	sent := context.WithoutCancel(ctx) // so that it is known of each write whether it was accepted
	for turn := 0; ctx.Err() == nil; turn++ {
		name, key := fmt.Sprintf("c-%d", turn%objects), fmt.Sprintf("key-%d-%d", worker, turn)
		l.write(func() error {
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:""}}}`, key)
			_, err := client.Patch(sent, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "load"})
			return err
		}, func() { l.keys[name] = append(l.keys[name], key) })
		if made := fmt.Sprintf("made-%d-%d", worker, turn); turn%10 == 0 {
			l.write(func() error {
				_, err := client.Create(sent, controller(made), metav1.CreateOptions{FieldManager: "load"})
				return err
			}, func() { l.keys[made] = nil })
		}
		if gone := fmt.Sprintf("made-%d-%d", worker, turn-25); turn%10 == 5 && turn > 25 {
			l.write(func() error { return client.Delete(sent, gone, metav1.DeleteOptions{}) }, func() {
				delete(l.keys, gone)
				l.deleted[gone] = true
			})
		}
		pause(ctx, 40*time.Millisecond)
	}
}

func controller(name string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, plain, name, "http://127.0.0.1:1"), &made.Object); err != nil {
		panic(err)
	}
	return made
}

// refuseProbes has somebody else's policy refuse what the steps try in order to see whether writes are refused.
func refuseProbes(w *world) (end func()) {
	for _, manifest := range []string{`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: needs-a-team}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [metacontroller.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [decoratorcontrollers]}
  validations: [{expression: "has(object.metadata.labels)", message: 'which team is it?'}]
`, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: needs-a-team}
spec: {policyName: needs-a-team, validationActions: [Deny]}
`} {
		env.Apply(w, manifest)
	}
	return func() {
		env.Kubectl(w, "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "needs-a-team")
	}
}

// edited names the controller that the load test edits between the steps.
const edited = "edited"

// edit edits a controller at the server, also fields that Metacontroller does not know.
func (w *world) edit() {
	w.Helper()
	for _, patch := range []string{
		`{"spec":{"resyncPeriodSeconds":10}}`, `{"spec":{"resyncPeriodSeconds":20}}`,
		`{"spec":{"paused":true,"childResources":[{"apiVersion":"v1","resource":"configmaps",` +
			`"updateStrategy":{"method":"RollingInPlace","maxUnavailable":3}}]}}`,
	} {
		if _, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Patch(w.Context(), edited,
			types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

// expectEdited fails the test if the edits are not in the definitions, without the fields that Metacontroller does not
// know, or if back does not name these.
func (w *world) expectEdited(said string) {
	w.Helper()
	if !strings.Contains(said, "CompositeController edited has fields that Metacontroller does not know: "+
		"spec.childResources, spec.paused") {
		w.Error("it does not name the fields")
	}
	there, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(w.Context(), edited,
		metav1.GetOptions{})
	if err != nil || *there.Spec.ResyncPeriodSeconds != 20 || ptr.Deref(there.Spec.Paused, false) {
		w.Errorf("in the definitions it is %v, error %v", there, err)
	}
}

// expectEditedAgain fails the test if the server has not got back the fields that Metacontroller does not know, or an
// edit of the definitions.
func (w *world) expectEditedAgain() {
	w.Helper()
	here, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(w.Context(), edited,
		metav1.GetOptions{})
	if err != nil || !ptr.Deref(here.Spec.Paused, false) || here.Labels["edited"] != "there" ||
		here.Spec.ChildResources[0].UpdateStrategy.MaxUnavailable.IntValue() != 3 || len(here.Annotations) > 0 {
		w.Errorf("it comes back as %v, error %v", here, err)
	}
}

// step does a step under load. Some writes must be refused meanwhile.
func (l *load) step(name string) (said string) {
	l.Helper()
	pause(l.Context(), 300*time.Millisecond) // so that something is written between the steps
	l.mu.Lock()
	acknowledged, refused := l.acknowledged, l.refused
	l.mu.Unlock()
	// A busy kube-apiserver may store a write more than 100 ms after it admitted it.
	said = l.migrate(name, "--original=none", "--accept-writes", "--propagation=1s")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Logf("%d writes were accepted before %s, %d during it; %d were refused", acknowledged, name,
		l.acknowledged-acknowledged, l.refused-refused)
	if l.refused == refused || acknowledged == 0 {
		l.Errorf("nothing was refused during %s, or nothing accepted before it", name)
	}
	return said
}

// No write that was accepted is lost, and nothing that was deleted is back. Edits at the server move back, with the
// fields that Metacontroller does not know and the owners of fields, and there again.
func TestNoWriteIsLost(t *testing.T) {
	const objects, workers = 30, 3
	w := newWorld(t)
	l := &load{world: w, keys: map[string][]string{}, deleted: map[string]bool{}}
	var manifests strings.Builder
	for i := range objects {
		fmt.Fprintf(&manifests, plain+"---", fmt.Sprintf("c-%d", i), "http://127.0.0.1:1")
	}
	env.Apply(t, strings.TrimSuffix(manifests.String(), "---"))
	manifest := fmt.Sprintf(plain, edited, "http://127.0.0.1:1")
	env.Apply(t, manifest, "--server-side", "--field-manager=gitops")
	defer refuseProbes(w)()
	ctx, stop := context.WithCancel(t.Context())
	defer l.running.Wait()
	defer stop()
	for i := range workers {
		l.running.Go(func() { l.work(ctx, i, objects) })
	}
	l.step("switch")
	w.edit()
	w.expectEdited(l.step("back"))
	env.Kubectl(t, "label", "cc", edited, "edited=there")
	l.step("switch")
	w.expectEditedAgain()
	env.Apply(t, manifest, "--server-side", "--field-manager=gitops") // no conflict
	stop()
	l.running.Wait()
	l.expectAll()
}

// expectAll fails the test if a write is lost, or an object is back.
func (l *load) expectAll() {
	l.Helper()
	list, err := env.Dynamic.Resource(compositeControllers).List(l.Context(), metav1.ListOptions{})
	if err != nil {
		l.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, of := range list.Items {
		found[of.GetName()] = of.GetAnnotations()
		if l.deleted[of.GetName()] {
			l.Errorf("%s was deleted, and is back", of.GetName())
		}
	}
	for name, keys := range l.keys {
		annotations, exists := found[name]
		if !exists {
			l.Errorf("%s is lost", name)
		}
		for _, key := range keys {
			if _, written := annotations[key]; !written {
				l.Errorf("%s has lost %s", name, key)
			}
		}
	}
}
