// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhichWarningsAreReported(t *testing.T) {
	unknown := func(path, message string) pipeline.Warning {
		return pipeline.UnknownFieldWarning(pods.GroupKind(), path, message)
	}
	replica, inOtherWords, image := unknown("spec.replica", "a"), unknown("spec.replica", "b"), unknown("spec.imag", "c")
	each := pipeline.Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "all are deleted", EachTime: true}
	old := pipeline.Warning{Reason: v1alpha1.ReasonClusterWarning, About: "old", Message: "it is old"}
	type round struct{ planned, ofWrites []pipeline.Warning }
	list := func(warnings ...pipeline.Warning) []pipeline.Warning { return warnings }
	tests := map[string]struct {
		syncs []round
		want  []string
	}{
		"none":                                {[]round{{}, {}}, nil},
		"one while it lasts":                  {[]round{{planned: list(replica)}, {planned: list(inOtherWords)}}, []string{"UnknownField: a"}},
		"one that comes back":                 {[]round{{planned: list(replica)}, {}, {planned: list(inOtherWords)}}, []string{"UnknownField: a", "UnknownField: b"}},
		"a second one":                        {[]round{{planned: list(replica)}, {planned: list(replica, image)}}, []string{"UnknownField: a", "UnknownField: c"}},
		"one that is worth an event a sync":   {[]round{{planned: list(each)}, {planned: list(each)}}, []string{"UnknownAnswerField: all are deleted", "UnknownAnswerField: all are deleted"}},
		"one of a write":                      {[]round{{ofWrites: list(old)}, {}, {ofWrites: list(old)}}, []string{"ClusterWarning: it is old"}},
		"one of a write that is planned":      {[]round{{planned: list(replica), ofWrites: list(inOtherWords)}}, []string{"UnknownField: a"}},
		"one of a write, which is then known": {[]round{{ofWrites: list(replica)}, {planned: list(inOtherWords)}}, []string{"UnknownField: a"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			events, sent := eventsOf(t)
			r := &Reporter{Tracker: NewTracker(), Events: events}
			reported, parent := &Reported{}, withUpdated(t, "")
			for _, round := range test.syncs {
				r.Findings(reported, parent, round.planned, 0)
				r.WriteWarnings(reported, parent, round.planned, round.ofWrites, 0)
			}
			events.SyncError(parent, errors.New("the end"))
			var written []string
			for event := range sent {
				if event.Reason == "SyncError" {
					break
				}
				written = append(written, event.Reason+": "+event.Message)
			}
			if diff := cmp.Diff(test.want, written); diff != "" {
				t.Errorf("reported (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWarningsOfWritesAreFindings(t *testing.T) {
	r := &Reporter{Tracker: NewTracker()}
	reported := &Reported{warnings: reportedWarnings{ofWrites: sets.New[string]()}}
	unknown := pipeline.UnknownFieldWarning(pods.GroupKind(), "spec.x", "no x")
	old := pipeline.Warning{Reason: v1alpha1.ReasonClusterWarning, Message: "old"}
	for _, warning := range []pipeline.Warning{unknown, old} {
		reported.warnings.ofWrites.Insert(warning.Key()) // as if the event had been written
	}
	planned := []pipeline.Warning{{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "no y"}}
	r.WriteWarnings(reported, withUpdated(t, ""), planned, []pipeline.Warning{old, unknown}, 3)
	if got := r.warning(); got.Message != "old; no y; no x" || got.Reason != v1alpha1.ReasonClusterWarning || r.outdated != 3 ||
		r.warned != 1 {
		t.Errorf("the warning is %+v, %d are warned, %d outdated", got, r.warned, r.outdated)
	}
}

// When the children are gone, the same answer has another warning, which sounds harmless.
func TestThatChildrenWereDeletedIsSaidUntilTheAnswerIsCorrected(t *testing.T) {
	misspelt := pipeline.Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "Children is not read"}
	deleted := pipeline.Warning{Reason: v1alpha1.ReasonChildrenDeleted, About: misspelt.Message, Message: "all are deleted", EachTime: true}
	other := pipeline.Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "comment is not read"}
	events, sent := eventsOf(t)
	r := &Reporter{Tracker: NewTracker(), Events: events}
	reported, parent := &Reported{}, withUpdated(t, "")
	for i, round := range []struct {
		findings []pipeline.Warning
		want     string
	}{
		{[]pipeline.Warning{misspelt}, "UnknownAnswerField Children is not read"},
		{[]pipeline.Warning{deleted, other}, "ChildrenDeleted all are deleted; comment is not read"},
		{[]pipeline.Warning{misspelt, other}, "ChildrenDeleted all are deleted; comment is not read"},
		{[]pipeline.Warning{misspelt}, "ChildrenDeleted all are deleted"},
		{nil, ""},
		{[]pipeline.Warning{misspelt}, "UnknownAnswerField Children is not read"},
	} {
		r.Findings(reported, parent, reported.RecallDeletion(round.findings), 0)
		got := ""
		if warning := r.warning(); warning.Reason != "" {
			got = string(warning.Reason) + " " + warning.Message
		}
		if got != round.want {
			t.Errorf("after sync %d it says %q, want %q", i, got, round.want)
		}
	}
	events.SyncError(parent, errors.New("the end"))
	var written []string
	for event := range sent {
		if event.Reason == "SyncError" {
			break
		}
		written = append(written, event.Message)
	}
	if want := []string{misspelt.Message, deleted.Message, other.Message, misspelt.Message}; !slices.Equal(written, want) {
		t.Errorf("reported was %q, want %q", written, want)
	}
}

func TestWarningsOfWritesDoNotGrow(t *testing.T) {
	events, _ := eventsOf(t)
	r, reported := &Reporter{Tracker: NewTracker(), Events: events}, &Reported{}
	for i := range 5 * maxReportedOfWrites {
		one := pipeline.Warning{Reason: v1alpha1.ReasonClusterWarning, Message: fmt.Sprint(i)}
		r.WriteWarnings(reported, withUpdated(t, ""), nil, []pipeline.Warning{one}, 0)
		if known := len(reported.warnings.ofWrites); known > maxReportedOfWrites {
			t.Fatalf("%d are remembered", known)
		}
	}
}

// A hook that is not shown what it expects often fails, so that there is no answer with the warning.
func TestThatRelatedObjectsAreNotShownIsSaidAlthoughTheHookFails(t *testing.T) {
	events, sent := eventsOf(t)
	r := &Reporter{Tracker: NewTracker(), Events: events}
	warning := pipeline.Warning{Reason: v1alpha1.ReasonRelatedNotShown, About: "0", Message: "the hook is shown none"}
	reported, parent := &Reported{}, withUpdated(t, "")
	for range 2 {
		r.CustomizeWarnings(reported, parent, []pipeline.Warning{warning})
	}
	r.Findings(reported, parent, []pipeline.Warning{warning}, 0)
	events.SyncError(parent, errors.New("the end"))
	var written []string
	for event := range sent {
		written = append(written, event.Reason)
		if event.Reason == "SyncError" {
			break
		}
	}
	if want := []string{"RelatedNotShown", "SyncError"}; !slices.Equal(written, want) {
		t.Errorf("reported was %q, want %q", written, want)
	}
}
