// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

func TestATargetIsChangedOnlyAsTheHookSays(t *testing.T) {
	eachType(t, func(w *writes) {
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
	})
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

// A write that comes too late creates no object, whatever the type.
func TestATargetThatVanishesBeforeItIsWritten(t *testing.T) {
	eachType(t, func(w *writes) {
		seen := w.observe()
		w.delete()
		for _, answer := range []*pipeline.Response{marking(), {Status: []byte(`{"a":1}`)}} {
			outcomes := w.sync(seen, answer)
			if len(outcomes) != 1 || !outcomes[0].Conflict || outcomes[0].Err != nil {
				w.Errorf("the sync takes %v", describe(outcomes))
			}
		}
		if found, err := w.live().Get(w.Context(), w.target.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			w.Errorf("it came back: %v %v", found, err)
		}
	})
}

// What was answered about the target as it was before is written upon what others have made of it.
func TestATargetThatOthersEditBeforeItIsWritten(t *testing.T) {
	eachType(t, func(w *writes) {
		seen := w.observe()
		if _, err := w.live().Patch(w.Context(), w.target.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"kept":"2","theirs":"1"}}}`), metav1.PatchOptions{}); err != nil {
			w.Fatal(err)
		}
		if outcomes := w.sync(seen, marking()); len(outcomes) != 1 || outcomes[0].Conflict || outcomes[0].Err != nil || outcomes[0].Result == nil {
			w.Errorf("outcomes are %v", describe(outcomes))
		}
		if diff := cmp.Diff(map[string]string{"kept": "2", "theirs": "1", "added": "yes"}, withoutHosts(w.get().GetLabels())); diff != "" {
			w.Errorf("labels (-want +got):\n%s", diff)
		}
	})
}

// Status and the rest are written one after the other. The second write is based on the version of
// the first.
func TestAStatusIsWrittenBesideTheRest(t *testing.T) {
	t.Parallel()
	for _, crd := range []harness.CRD{{Kind: "Thing"}, {Kind: "Plain", NoStatus: true}} {
		t.Run(crd.Kind, func(t *testing.T) {
			t.Parallel()
			crd.Schema = map[string]any{
				"spec":   map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}},
				"status": map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}},
			}
			things := env.Install(t, crd)
			w := newWrites(t, typeOf(things.Group, things.Version, things.Resource, crd.Kind, true, !crd.NoStatus), "spec: {a: x}\n"+marked)
			response := marking()
			// The schema drops a field, so the stored status never equals the answered one.
			response.Status = []byte(`{"a":"1","dropped":"1"}`)
			want := []string{"status", "metadata"}
			if crd.NoStatus {
				want = want[1:]
			}
			if diff := cmp.Diff(want, describe(w.sync(w.observe(), response))); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			after := w.get()
			if got := fmt.Sprint(after.Object["status"], after.GetLabels()); got != "map[a:1] map[added:yes kept:1]" {
				t.Errorf("it is %s", got)
			}
			if outcomes := w.sync(w.observe(), response); len(outcomes) > 0 {
				t.Errorf("the next sync takes %v", describe(outcomes))
			}
		})
	}
}

// Two hundred clients write a label each in the same seconds. All labels are there at the end.
func TestNoWriteOfOthersIsLost(t *testing.T) {
	t.Parallel()
	const writers, atOnce = 200, 10 // of more, the host itself would give some up
	things := env.Install(t, harness.CRD{Kind: "Thing"})
	w := newWrites(t, typeOf(things.Group, things.Version, things.Resource, "Thing", true, true), "spec: {}")
	var others sync.WaitGroup
	done, slots := make(chan struct{}), make(chan struct{}, atOnce)
	for i := range writers {
		others.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			patch := fmt.Sprintf(`{"metadata":{"labels":{"writer-%d":"1"}}}`, i)
			if _, err := w.live().Patch(t.Context(), w.target.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	go func() {
		defer close(done)
		others.Wait()
	}()
	wrote, overtaken := 0, 0
	for round, last := 0, false; !last; round++ {
		select {
		case <-done:
			last = true // one more round, without other writers
		default:
		}
		value := fmt.Sprint(round)
		outcomes := w.sync(w.observe(), &pipeline.Response{Labels: map[string]*string{"ours": &value}, Status: []byte(`{"round":` + value + `}`)})
		for _, outcome := range outcomes {
			switch {
			case outcome.Err != nil:
				t.Fatal(outcome.Err)
			case outcome.Conflict:
				overtaken++
			default:
				wrote++
			}
		}
		if last && fmt.Sprint(w.get().Object["status"]) != "map[round:"+value+"]" {
			t.Errorf("after round %d it is %v", round, w.get())
		}
	}
	found := w.get().GetLabels()
	if len(found) != writers+1 {
		t.Errorf("%d labels are there, want %d", len(found), writers+1)
	}
	t.Logf("%d writes of ours, %d were overtaken", wrote, overtaken)
}
