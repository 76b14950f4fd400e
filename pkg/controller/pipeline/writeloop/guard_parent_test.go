// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"slices"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// A parent that is being deleted does not need the labels of the loop: its finalizer goes at once.
func TestAParentIsLetGoInTheMidstOfALoop(t *testing.T) {
	w := newWorld(t)
	labels := step(pipeline.Metadata, "p", 1)
	w.fight(time.Millisecond, 10*time.Second, constantly(labels))
	w.sync(labels)
	w.now += time.Millisecond
	if taken, _ := w.sync(labels); len(taken) > 0 {
		t.Fatal("the labels should be held back")
	}
	labels.RemovesFinalizer = true
	if taken, _ := w.sync(labels); !slices.Equal(taken, []pipeline.Op{pipeline.Metadata}) {
		t.Errorf("the steps that are taken are %v", taken)
	}
}

// A target may be an attachment of another target. Its writes as one do not reset its history as
// the other.
func TestAnObjectThatIsTargetAndAttachmentIsWatchedAsBoth(t *testing.T) {
	w := newWorld(t)
	asTarget, asAttachment := step(pipeline.Metadata, "p", 1), step(pipeline.Update, "c", 2)
	asAttachment.Type, asAttachment.Namespace, asAttachment.Name = asTarget.Type, asTarget.Namespace, asTarget.Name
	for range maxUndone {
		for _, step := range []pipeline.Step{asTarget, asAttachment} {
			if taken, _ := w.sync(step); len(taken) != 1 {
				t.Fatalf("%s is held back early", step.Op)
			}
			w.now += time.Millisecond
		}
	}
	if taken, _ := w.sync(asAttachment); len(taken) > 0 {
		t.Error("the attachment should be held back")
	}
}

// Another controller that is slowed down too takes the finalizer off when its time has come.
func TestAFinalizerThatIsJustInTimeIsToldOf(t *testing.T) {
	w := newWorld(t)
	finalizer := step(pipeline.Metadata, "p", 0)
	finalizer.Op, finalizer.Path = pipeline.Finalizer, "metadata.finalizers"
	for range maxUndone {
		w.guard.Wrote(w.snapshot(), []pipeline.Outcome{{Step: finalizer, Result: observed("p", "2", 0)}}, start)
	}
	until, loops := w.guard.PostponeStep(w.snapshot(), &finalizer, start.Add(firstDelay+time.Millisecond))
	if !until.IsZero() || len(loops) != 1 {
		t.Errorf("it is held back until %s, reported is %+v", until, loops)
	}
}

// Another controller may take off every finalizer that is not its own.
func TestAFinalizerThatIsTakenOffEachTimeIsPutOnEverLater(t *testing.T) {
	w := newWorld(t)
	finalizer := step(pipeline.Metadata, "p", 0)
	finalizer.Op, finalizer.Path = pipeline.Finalizer, "metadata.finalizers"
	var pauses []time.Duration
	var loops []pipeline.WriteLoop
	for last := w.now; len(pauses) < 8; {
		now := start.Add(w.now)
		until, found := w.guard.PostponeStep(w.snapshot(), &finalizer, now)
		loops = append(loops, found...)
		if !until.IsZero() {
			w.now = until.Sub(start)
			continue
		}
		pauses = append(pauses, w.now-last)
		last = w.now
		outcome := pipeline.Outcome{Step: finalizer, Result: observed("p", "2", 0)}
		w.guard.Wrote(w.snapshot(), []pipeline.Outcome{outcome}, now)
		w.sync() // what comes after it, and finds nothing to write
		w.now += time.Millisecond
	}
	const ms, s = time.Millisecond, time.Second
	if want := []time.Duration{0, ms, ms, ms, ms, s, 2 * s, 4 * s}; !slices.Equal(pauses, want) {
		t.Errorf("the pauses are %v, want %v", pauses, want)
	}
	if len(loops) != 1 || !loops[0].OfParent || loops[0].AnswerChanges || loops[0].Path != "metadata.finalizers" {
		t.Errorf("the loops are %+v", loops)
	}
	last := finalizer
	if taken, _ := w.sync(last); len(taken) != 1 {
		t.Error("what lets go of the parent should not wait")
	}
}
