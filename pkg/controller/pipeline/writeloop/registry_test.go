// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"slices"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// at is a step because of a field.
func at(step pipeline.Step, path string) pipeline.Step {
	step.Path = path
	return step
}

func TestWhoTakesPartInALoop(t *testing.T) {
	child := step(pipeline.Update, "p", 1)
	child.Type = webs
	target, status := step(pipeline.Metadata, "p", 2), step(pipeline.Status, "p", 3)
	elsewhere := step(pipeline.Update, "other", 1)
	elsewhere.Type = webs
	tests := map[string]struct {
		ours, theirs pipeline.Step
		writes       int
		want         []string
	}{
		"a decorator of a composite's child, and a label":     {at(child, "metadata.labels.a"), at(target, "metadata.labels[a]"), 5, []string{"theirs"}},
		"another label than the one that is seen first":       {at(child, "metadata.labels.a"), at(target, "metadata.labels[b]"), 5, []string{"theirs"}},
		"who changes labels, where annotations are at stake":  {at(child, "metadata.annotations.a"), at(target, "metadata.labels[a]"), 5, nil},
		"who changes labels, where the content is at stake":   {at(child, "data.a"), at(target, "metadata.labels[a]"), 5, nil},
		"two that write a status":                             {at(status, "status.a"), at(status, "status.b"), 5, []string{"theirs"}},
		"items of lists":                                      {at(child, "spec[0].a"), at(target, "spec[1].a"), 5, []string{"theirs"}},
		"who writes another object":                           {at(child, "data.a"), at(elsewhere, "data.a"), 5, nil},
		"who wrote it once or twice":                          {at(child, "metadata.labels.a"), at(target, "metadata.labels[a]"), 2, nil},
		"who wrote it, where it is gone and no field differs": {at(child, ""), at(target, ""), 5, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ours, theirs, registry := newWorld(t), newWorld(t), NewRegistry()
			registry.Add(ours.guard, "ours")
			remove := registry.Add(theirs.guard, "theirs")
			for range test.writes {
				theirs.sync(test.theirs)
				theirs.now += time.Millisecond
			}
			ours.fight(time.Millisecond, time.Second, constantly(test.ours))
			if len(ours.reported) != 1 {
				t.Fatalf("the loops are %v", ours.reported)
			}
			if rivals := registry.Rivals(ours.guard, ours.reported[0]); !slices.Equal(rivals, test.want) {
				t.Errorf("the rivals are %v, want %v", rivals, test.want)
			}
			if remove(); len(registry.Rivals(ours.guard, ours.reported[0])) > 0 {
				t.Error("a controller that has stopped is named")
			}
		})
	}
}

// In the end one side of a loop waits for minutes. The other side then seldom has anything to write.
func TestARivalThatHasBecomeCalmIsStillNamed(t *testing.T) {
	ours, theirs, registry := newWorld(t), newWorld(t), NewRegistry()
	registry.Add(ours.guard, "ours")
	remove := registry.Add(theirs.guard, "theirs")
	update := step(pipeline.Update, "c", 1)
	for range minRivalWrites {
		theirs.sync(update)
	}
	ours.fight(time.Millisecond, time.Second, constantly(update))
	named := func() []string { return registry.Rivals(ours.guard, ours.loops()[0]) }
	if rivals := named(); !slices.Equal(rivals, []string{"theirs"}) {
		t.Fatalf("the rivals are %v", rivals)
	}
	theirs.now += 2 * calm
	if theirs.loops(); len(theirs.guard.histories) > 0 {
		t.Fatal("they are not calm yet")
	}
	if rivals := named(); !slices.Equal(rivals, []string{"theirs"}) {
		t.Errorf("the rivals are %v then", rivals)
	}
	if remove(); len(named()) > 0 {
		t.Error("a controller that has stopped is named")
	}
}

func TestWhoDeletesAChildTakesPartInItsLoop(t *testing.T) {
	for name, test := range map[string]struct {
		deletions int
		want      []string
	}{
		"again and again": {minRivalWrites, []string{"theirs"}},
		"now and then":    {minRivalWrites - 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, registry := newWorld(t), newWorld(t), NewRegistry()
			registry.Add(ours.guard, "ours")
			registry.Add(theirs.guard, "theirs")
			deleted := pipeline.Outcome{Step: step(pipeline.Delete, "c", 0)}
			for range test.deletions {
				theirs.guard.Wrote(theirs.snapshot(), []pipeline.Outcome{deleted}, start)
			}
			ours.fight(time.Millisecond, time.Second, constantly(step(pipeline.Create, "c", 1)))
			if rivals := registry.Rivals(ours.guard, ours.reported[0]); !slices.Equal(rivals, test.want) {
				t.Errorf("the rivals are %v, want %v", rivals, test.want)
			}
			theirs.guard.Loops(start.Add(2 * calm))
			if left := len(theirs.guard.deletions); left > 0 {
				t.Errorf("%d deletions are remembered for ever", left)
			}
		})
	}
}
