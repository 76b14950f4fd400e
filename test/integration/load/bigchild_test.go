// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// megabyte returns as many of a letter as a ConfigMap can hold.
func megabyte(letter string) string { return strings.Repeat(letter, 1_000_000) }

// letterOf returns the value in the parent's spec.
func letterOf(asked request) string {
	letter, _, _ := unstructured.NestedString(asked.Parent.Object, "spec", "value")
	return letter
}

// A child of a megabyte is written once for each change with either engine, although the annotation
// with the last applied configuration may hold only a quarter of that.
func TestAChildOfAMegabyte(t *testing.T) {
	for engine, change := range map[v1alpha1.ChildApplyStrategy]string{v1alpha1.ChildApplyDynamic: "update", v1alpha1.ChildApplyServerSide: "patch"} {
		t.Run(string(engine), func(t *testing.T) {
			f := prepare(t, hook.Answering(t, func(asked request) object {
				return object{"children": []object{hook.ConfigMap("p", object{"value": megabyte(letterOf(asked))})}}
			}))
			f.start(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ChildResources[0].UpdateStrategy.Apply = new(engine)
			})
			f.CreateParent("p", object{"value": "a"})
			t.Logf("created after %s", f.timeUntilValue("p", megabyte("a")))
			calls := f.settle("p")

			from := env.AuditEnd(t)
			f.Touch("p", "1")
			f.WaitForCalls(calls + 1)
			if made := f.settle("p") - harness.SettleCalls - calls; made != 1 {
				t.Errorf("a touch leads to %d calls", made)
			}
			if writes := f.writes(from, configMaps); len(writes) > 0 {
				t.Errorf("a touch leads to the writes %v", writes)
			}
			f.set("p", "b")
			t.Logf("changed after %s", f.timeUntilValue("p", megabyte("b")))
			calls = f.settle("p")
			if writes := f.writes(from, configMaps); !slices.Equal(writes, []string{change}) {
				t.Errorf("a change leads to the writes %v", writes)
			}

			from = env.AuditEnd(t)
			if err := errors.Join(env.Server.Stop(), env.Server.Start(t.Context())); err != nil {
				t.Fatal(err)
			}
			f.WaitForCalls(calls + 1)
			f.settle("p")
			if writes := f.writes(from, configMaps); len(writes) > 0 {
				t.Errorf("a restart leads to the writes %v", writes)
			}
		})
	}
}

// The host's error about a refused child may quote all of it. The log does not.
func TestARefusedMegabyteIsNotInTheLog(t *testing.T) {
	parts := env.Install(t, harness.CRD{Kind: "Part", Schema: object{"text": object{"type": "string", "pattern": "^b*$"}}})
	f := prepare(t, hook.Answering(t, func(asked request) object {
		return object{"children": []object{{
			"apiVersion": parts.GroupVersion().String(), "kind": "Part", "metadata": object{"name": "p"}, "text": megabyte(letterOf(asked)),
		}}}
	}))
	f.start(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources[0].APIVersion, spec.ChildResources[0].Resource = parts.GroupVersion().String(), parts.Resource
	})
	f.CreateParent("p", object{"value": "z"})
	event := env.WaitForEvent(t, f.Namespace, "p", "SyncError", "can't create Part "+f.Namespace+"/p")
	if len(event.Message) > 1024 {
		t.Errorf("the event has %d bytes", len(event.Message))
	}
	log, err := os.ReadFile(env.Server.LogPath)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(log, []byte(strings.Repeat("z", 10_000))) {
		t.Error("what the hook wanted of the child is in the log")
	}
}
