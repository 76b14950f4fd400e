// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

var (
	now  = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	shop = key("Web", "default", "shop")

	fought = pipeline.WriteLoop{
		Parent: shop, Object: key("ConfigMap", "default", "b"), Path: "data.a", Writes: 5, Next: now.Add(987 * time.Millisecond),
	}
	deleted       = pipeline.WriteLoop{Parent: shop, Object: key("ConfigMap", "default", "c"), Writes: 7, Next: now.Add(2 * time.Second)}
	restless      = pipeline.WriteLoop{Parent: shop, Object: key("Namespace", "", "a"), Path: "metadata.labels.a", AnswerChanges: true, Writes: 20, Next: now.Add(time.Second)}
	created       = pipeline.WriteLoop{Parent: shop, Object: key("Namespace", "", "b"), AnswerChanges: true, Writes: 20, Next: now.Add(time.Second)}
	foughtStatus  = pipeline.WriteLoop{Parent: shop, Object: key("Web", "default", "shop"), OfParent: true, OfStatus: true, Path: "status.a", Writes: 5, Next: now.Add(time.Second)}
	clusterScoped = pipeline.WriteLoop{Parent: key("Fleet", "", "fleet"), Object: key("Namespace", "", "a"), Path: "spec", Writes: 5, Next: now.Add(time.Second)}
)

func key(kind, namespace, name string) object.Key {
	return object.Key{GroupKind: schema.GroupKind{Kind: kind}, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func foughtWith(rivals ...string) pipeline.WriteLoop {
	loop := fought
	loop.Rivals = rivals
	return loop
}

func withValues(loop pipeline.WriteLoop, has, wants string) pipeline.WriteLoop {
	loop.Has, loop.Wants = has, wants
	return loop
}

func deletedBy(rival string) pipeline.WriteLoop {
	loop := deleted
	loop.Rivals = []string{rival}
	return loop
}

func TestWhatIsDoneAgainAndAgain(t *testing.T) {
	of := key("ConfigMap", "default", "c")
	tests := map[string]struct {
		loop pipeline.WriteLoop
		want string
	}{
		"other names": {
			pipeline.WriteLoop{Object: of, OfNames: true, AnswerChanges: true},
			"a ConfigMap with a new name, such as ConfigMap default/c, is repeatedly created, and an earlier one deleted, " +
				"each time because the hook returns new names: it must give the same answer to the same request, so leave out " +
				"timestamps and random values",
		},
		"deleted": {
			pipeline.WriteLoop{Object: of, Op: pipeline.Delete},
			"ConfigMap default/c is repeatedly deleted, each time because the hook does not list it, and another writer " +
				"creates it again; make the hook list it, or give the objects of the other writer labels that the parent's selector does not match",
		},
		"adopted": {
			pipeline.WriteLoop{Object: of, Op: pipeline.Adopt},
			"ConfigMap default/c is repeatedly adopted, each time because another writer changes its owners or labels; make " +
				"sure that only one writer sets them",
		},
		"expired": {
			pipeline.WriteLoop{Object: of, Op: pipeline.Create, Expires: true},
			"ConfigMap default/c is repeatedly written, each time because it no longer exists: its ttlSecondsAfterFinished removes it " +
				"when it has finished; return it until it has finished, and then record that in the parent's status, or remove ttlSecondsAfterFinished",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := WriteLoopsOfParent([]pipeline.WriteLoop{test.loop}); got != test.want {
				t.Errorf("it says\n%s, want\n%s", got, test.want)
			}
		})
	}
}

func TestWhatAParentInAWriteLoopSays(t *testing.T) {
	want := "ConfigMap default/c is repeatedly written, each time because it no longer exists: CompositeController comp deletes " +
		"it; give the controllers labelSelectors (spec.parentResource.labelSelector) that do not overlap, or make one of " +
		"them a DecoratorController"
	if got := WriteLoopsOfParent([]pipeline.WriteLoop{deletedBy("CompositeController comp")}); got != want {
		t.Errorf("it says\n%s, want\n%s", got, want)
	}
}

func TestWhatAnEventSaysAboutLoops(t *testing.T) {
	tests := map[string]struct {
		loops []pipeline.WriteLoop
		want  string
	}{
		"a field that somebody else sets": {
			[]pipeline.WriteLoop{fought},
			"ConfigMap default/b was written 5 times in a row, each time because it differs at data.a: another writer " +
				"changes it; to find the writer, run kubectl get with --show-managed-fields -o yaml; let only one writer set it; the next " +
				"write waits 1s, and the wait doubles with each further write",
		},
		"a field that another controller sets": {
			[]pipeline.WriteLoop{foughtWith("DecoratorController deco")},
			"ConfigMap default/b was written 5 times in a row, each time because it differs at data.a: DecoratorController " +
				"deco, which also writes it, wants another value; let only one writer set it; the next write waits 1s, and the " +
				"wait doubles with each further write",
		},
		"a field that other controllers set": {
			[]pipeline.WriteLoop{foughtWith("CompositeController comp", "DecoratorController deco")},
			"ConfigMap default/b was written 5 times in a row, each time because it differs at data.a: CompositeController " +
				"comp and DecoratorController deco, which also write it, want other values; let only one writer set it; the " +
				"next write waits 1s, and the wait doubles with each further write",
		},
		"a field whose values are known": {
			[]pipeline.WriteLoop{withValues(fought, "2", "1")},
			"ConfigMap default/b was written 5 times in a row, each time because it differs at data.a: another writer " +
				"changes it (2 instead of 1); to find the writer, run kubectl get with --show-managed-fields -o yaml; let only one writer set it; the next write waits 1s, and the wait doubles with each further write",
		},
		"a child that another controller deletes": {
			[]pipeline.WriteLoop{deletedBy("CompositeController comp")},
			"ConfigMap default/c was written 7 times in a row, each time because it no longer exists: CompositeController comp " +
				"deletes it; give the controllers labelSelectors (spec.parentResource.labelSelector) that do not overlap, or " +
				"make one of them a DecoratorController; the next write waits 2s, and the wait doubles with each further write",
		},
		"a child that somebody else deletes": {
			[]pipeline.WriteLoop{deleted},
			"ConfigMap default/c was written 7 times in a row, each time because it no longer exists: another writer deletes it; find " +
				"that writer, and make sure that only one writer manages it; the next write waits 2s, and the wait doubles with " +
				"each further write",
		},
		"an answer that is never the same, and others alike": {
			[]pipeline.WriteLoop{restless, fought, deleted},
			"Namespace a was written 20 times in a row, each time because the hook returns a different value at " +
				"metadata.labels.a: it must give the same answer to the same request, so leave out timestamps and random " +
				"values; the " +
				"next write waits 1s, and the wait doubles with each further write (2 more alike)",
		},
		"a status that two controllers write": {
			[]pipeline.WriteLoop{foughtStatus},
			"the status of Web default/shop was written 5 times in a row, each time because it differs at status.a: another " +
				"writer changes it; to find the writer, run kubectl get with --show-managed-fields -o yaml; let only one writer set it; the " +
				"next write waits 1s, and the wait doubles with each further write",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e, sent := events(t, EventOptions{QPS: 1, Burst: 10})
			e.WriteLoop(parent(t, "shop"), test.loops, now)
			event := <-sent
			if event.Type != "Warning" || event.Reason != "WriteLoop" || event.InvolvedObject.Name != "shop" || event.Message != test.want {
				t.Errorf("the event is %s %s about %s: %s", event.Type, event.Reason, event.InvolvedObject.Name, event.Message)
			}
		})
	}
}

// slowedDown is the health of a controller with these write loops.
func slowedDown(loops ...pipeline.WriteLoop) *Health {
	health := &Health{}
	health.SetWriteLoops(loops)
	return health
}

func TestWriteLoopsAreWarnings(t *testing.T) {
	tests := map[string]struct {
		health *Health
		want   string
	}{
		"no controller runs":     {nil, "Unknown NotRunning: no controller runs"},
		"nothing is slowed down": {&Health{}, "False NoWarnings: no warnings"},
		"a child is slowed down": {slowedDown(fought), "True WriteLoop: ConfigMap " +
			"default/b is repeatedly written, each time because it differs at data.a: another writer changes it; to find the writer, run kubectl get with --show-managed-fields -o yaml; let only one writer set it (its parent is default/shop)"},
		"a status is slowed down": {slowedDown(foughtStatus), "True WriteLoop: the status " +
			"of Web default/shop is repeatedly written, each time because it differs at status.a: another writer changes it; " +
			"to find the writer, run kubectl get with --show-managed-fields -o yaml; let only one writer set it"},
		"more than can be named, in the order of their names": {
			slowedDown(clusterScoped, created, restless, deleted, fought),
			"True WriteLoop: Namespace a is repeatedly written, each time because it differs at spec: another writer changes " +
				"it; to find the writer, run kubectl get with --show-managed-fields -o yaml; let only one writer set it (its parent is " +
				"fleet); ConfigMap default/b is repeatedly written, each time because it differs at data.a: another writer " +
				"changes it; to find the writer, run kubectl get with --show-managed-fields -o yaml; let only one writer set it (its parent " +
				"is default/shop); ConfigMap default/c is repeatedly written, each time because it no longer exists: another writer " +
				"deletes it; find that writer, and make sure that only one writer manages it (its parent is default/shop); and " +
				"2 more",
		},
		"a child that the hook has created for ever": {
			slowedDown(created),
			"True WriteLoop: Namespace b is repeatedly written, each time because the hook returns a different answer: it " +
				"must give the same answer to the same request, so leave out timestamps and random values " +
				"(its parent is default/shop)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := Status(v1alpha1.ControllerStatus{}, 1, test.health, nil)
			condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionWarnings)
			if condition == nil {
				condition = &metav1.Condition{}
			}
			if got := string(condition.Status) + " " + condition.Reason + ": " + condition.Message; got != test.want {
				t.Errorf("the condition is\n%s, want\n%s", got, test.want)
			}
		})
	}
}
