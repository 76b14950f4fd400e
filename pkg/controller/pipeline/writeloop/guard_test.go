// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestWhatIsUndoneEachTimeIsWrittenEverLater(t *testing.T) {
	const pause, s = 10 * time.Millisecond, time.Second
	for _, op := range []pipeline.Op{pipeline.Create, pipeline.Update, pipeline.Apply, pipeline.ToServerSideApply, pipeline.ToDynamicApply, pipeline.Recreate, pipeline.Status, pipeline.Metadata} {
		t.Run(string(op), func(t *testing.T) {
			w := newWorld(t)
			w.fight(pause, time.Hour, constantly(step(op, "c", 1)))
			want := []time.Duration{pause, pause, pause, pause, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 64 * s, 128 * s, 256 * s, 300 * s, 300 * s}
			if got := w.pauses(); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
				t.Errorf("pauses between writes are %v, want %v and so on", got, want)
			}
			if len(w.written) > 30 {
				t.Errorf("there were %d writes in an hour", len(w.written))
			}
			loops := w.loops()
			if len(loops) != 1 || loops[0].AnswerChanges || loops[0].Writes < 20 || loops[0].Path != step(op, "c", 1).Path ||
				loops[0].Parent.Name != "p" || loops[0].OfStatus != (op == pipeline.Status) || loops[0].OfParent != (loops[0].Object.Name == "p") {
				t.Errorf("what is slowed down is %+v", loops)
			}
		})
	}
}

func TestAChildThatIsRecreatedForEverIsSlowedDown(t *testing.T) {
	w := newWorld(t)
	recreates := 0
	for w.now < time.Hour {
		taken, next := w.sync(step(pipeline.Recreate, "c", 1))
		if next != 0 {
			w.now = next
			continue
		}
		recreates += len(taken)
		w.now += time.Second
		if taken, next := w.sync(step(pipeline.Create, "c", 1)); len(taken) != 1 || next != 0 {
			t.Fatalf("after %d deletions the child was not created again at once", recreates)
		}
		w.now += time.Second
	}
	if recreates < 10 || recreates > 30 {
		t.Errorf("the child was recreated %d times in an hour", recreates)
	}
}

func TestAnAnswerThatChangesWithEveryCallIsWrittenEverLater(t *testing.T) {
	for _, op := range []pipeline.Op{pipeline.Create, pipeline.Update, pipeline.Apply, pipeline.ToServerSideApply, pipeline.ToDynamicApply, pipeline.Recreate, pipeline.Status, pipeline.Metadata} {
		t.Run(string(op), func(t *testing.T) {
			w := newWorld(t)
			w.fight(time.Millisecond, time.Hour, restlessly(step(op, "c", 1)))
			fast := slices.IndexFunc(w.pauses(), func(pause time.Duration) bool { return pause > time.Millisecond })
			if fast+1 != 20 || len(w.written) > 45 {
				t.Errorf("there were %d writes without a delay, and %d in all in an hour", fast+1, len(w.written))
			}
			if loops := w.loops(); len(loops) != 1 || !loops[0].AnswerChanges {
				t.Errorf("what is slowed down is %+v", loops)
			}
		})
	}
}

// The write changes the target itself. The labels must not count as something that they are made
// from.
func TestLabelsThatChangeWithEveryCallAreWrittenEverLater(t *testing.T) {
	w := newWorld(t)
	next := restlessly(step(pipeline.Metadata, "p", 1))
	w.fight(time.Millisecond, time.Hour, func() []pipeline.Step {
		w.parent++
		return next()
	})
	if len(w.written) > 45 {
		t.Errorf("there were %d writes in an hour", len(w.written))
	}
}

// The labels of a target may describe its attachments, which change often.
func TestLabelsThatFollowAttachmentsAreWrittenAtOnce(t *testing.T) {
	w := newWorld(t)
	next := restlessly(step(pipeline.Metadata, "p", 1))
	w.fight(100*time.Millisecond, time.Minute, func() []pipeline.Step {
		w.child++
		return next()
	})
	if len(w.written) < 590 || len(w.reported) > 0 {
		t.Errorf("there were %d writes in a minute, and %d loops were reported", len(w.written), len(w.reported))
	}
}

func TestALoopOnABusyMachineIsSlowedDown(t *testing.T) {
	w := newWorld(t)
	next := restlessly(step(pipeline.Update, "c", 1))
	for i := 0; w.now < time.Hour; i++ {
		pause := 100 * time.Millisecond
		if i%10 == 0 {
			pause = 3 * soon
		}
		w.fight(pause, w.now+1, next)
	}
	if len(w.written) > 150 {
		t.Errorf("there were %d writes in an hour", len(w.written))
	}
}

func TestWhatIsNotSlowedDown(t *testing.T) {
	tests := map[string]func(*world){
		"a field that somebody else sets every other minute": func(w *world) {
			w.fight(2*time.Minute, 10*time.Hour, constantly(step(pipeline.Update, "c", 1)))
		},
		"a hook that wants something else every second": func(w *world) {
			w.fight(time.Second, time.Hour, restlessly(step(pipeline.Update, "c", 1), step(pipeline.Status, "p", 1)))
		},
		"a hook that wants something else twice every other second": func(w *world) {
			next := restlessly(step(pipeline.Update, "c", 1))
			for range 1000 {
				w.fight(2*time.Second, w.now+1, next)
				w.fight(100*time.Millisecond, w.now+1, next)
			}
		},
		"a parent that changes all the time": func(w *world) {
			next := restlessly(step(pipeline.Update, "c", 1), step(pipeline.Status, "p", 1))
			w.fight(time.Millisecond, 10*time.Second, func() []pipeline.Step {
				w.parent++
				return next()
			})
		},
		"a status that follows what happens to the children": func(w *world) {
			next := restlessly(step(pipeline.Status, "p", 1))
			w.fight(time.Millisecond, 10*time.Second, func() []pipeline.Step {
				w.child++
				return next()
			})
		},
		"a child that is created and deleted again as the hook says": func(w *world) {
			for range 100 {
				w.sync(step(pipeline.Create, "c", 1))
				w.sync(step(pipeline.Keep, "c", 1))
				w.now += 5 * time.Second
				w.sync(step(pipeline.Delete, "c", 0))
				w.sync()
				w.now += 5 * time.Second
			}
		},
		"a parent that is deleted and created again, and its children": func(w *world) {
			for range 100 {
				finalizer := pipeline.Step{Op: pipeline.Finalizer, Type: webs, Namespace: "ns", Name: "p", Observed: observed("p", "1", 0)}
				if until, _ := w.guard.PostponeStep(w.snapshot(), &finalizer, start.Add(w.now)); !until.IsZero() {
					w.Error("the finalizer is not put on it at once")
				}
				w.guard.Wrote(w.snapshot(), []pipeline.Outcome{{Step: finalizer, Result: observed("p", "2", 0)}}, start.Add(w.now))
				if taken, _ := w.sync(step(pipeline.Create, "c", 1), step(pipeline.Status, "p", 1)); len(taken) != 2 {
					w.Errorf("only %v were taken", taken)
				}
				w.now += 5 * time.Second
				w.uid++
			}
		},
		"a child that is replaced by one of another name again and again, but slowly": func(w *world) {
			for i := range 100 {
				w.sync(step(pipeline.Delete, fmt.Sprint("run-", i), 0), step(pipeline.Create, fmt.Sprint("run-", i+1), 1))
				w.sync(step(pipeline.Keep, fmt.Sprint("run-", i+1), 1)) // because it sees what it has written
				w.now += 2 * time.Second
			}
		},
		"children that are created one after the other": func(w *world) {
			for i := range 100 {
				w.sync(step(pipeline.Create, fmt.Sprint("c-", i), 1))
				w.now += time.Millisecond
			}
		},
		"children that are created or deleted when the parent changes": func(w *world) {
			for i := range 100 {
				w.sync(step(pipeline.Delete, fmt.Sprint("c-", i), 0), step(pipeline.Create, fmt.Sprint("c-", i+1), 1))
				w.now += time.Millisecond
				w.parent++
			}
		},
		"many children": func(w *world) {
			var steps []pipeline.Step
			for i := range 1000 {
				steps = append(steps, step(pipeline.Create, fmt.Sprint(i), uint64(i)))
			}
			w.sync(steps...)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test(w)
			if loops := w.loops(); len(w.reported) > 0 || len(loops) > 0 {
				t.Errorf("slowed down is %+v, reported is %+v", loops, w.reported)
			}
		})
	}
}

func TestALoopOfOneChildDelaysNoOther(t *testing.T) {
	w := newWorld(t)
	bad := step(pipeline.Update, "bad", 1)
	for range 5 {
		w.sync(bad)
		w.now += time.Millisecond
	}
	taken, next := w.sync(bad, step(pipeline.Create, "new", 2), step(pipeline.Update, "good", 3), step(pipeline.Delete, "old", 0), step(pipeline.Status, "p", 4))
	want := []pipeline.Op{pipeline.Create, pipeline.Update, pipeline.Delete, pipeline.Status}
	if diff := cmp.Diff(want, taken); diff != "" || next == 0 {
		t.Errorf("steps taken (-want +got):\n%s\nnext is %s", diff, next)
	}
}

func TestAHeldChildIsKept(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.sync(step(pipeline.Update, "c", 1), step(pipeline.Status, "p", 1))
	}
	plan := &pipeline.Plan{Steps: []pipeline.Step{step(pipeline.Update, "c", 1), step(pipeline.Status, "p", 1)}}
	next, _ := w.guard.Postpone(w.snapshot(), plan, start)
	if len(plan.Steps) != 1 || plan.Steps[0].Op != pipeline.Keep || plan.Steps[0].Why != "the server throttles its "+
		"writes: it differs at data.a" || plan.Steps[0].Observed == nil {
		t.Errorf("the plan is %+v, want the child kept and no status", plan.Steps)
	}
	if !next.Equal(start.Add(time.Second)) {
		t.Errorf("the next write is at %s, want a second later", next)
	}
	if end := w.guard.LoopsEnd(object.KeyOf(w.snapshot().Parent)); !end.Equal(next.Add(calm)) {
		t.Errorf("the loops end at %s, want that a minute after the next write", end)
	}
	w.sync(step(pipeline.Update, "c", 2), step(pipeline.Status, "p", 2))
	if end := w.guard.LoopsEnd(object.KeyOf(w.snapshot().Parent)); !end.IsZero() {
		t.Errorf("the loops end at %s although the hook wants something else", end)
	}
}

func TestWhatEndsAHold(t *testing.T) {
	tests := map[string]struct {
		then func(*world) []pipeline.Op
		want []pipeline.Op
	}{
		"the hook wants something else": {func(w *world) []pipeline.Op {
			taken, _ := w.sync(step(pipeline.Update, "c", 2))
			return taken
		}, []pipeline.Op{pipeline.Update}},
		"the time": {func(w *world) []pipeline.Op {
			w.now += time.Second
			taken, _ := w.sync(step(pipeline.Update, "c", 1))
			return taken
		}, []pipeline.Op{pipeline.Update}},
		"nothing": {func(w *world) []pipeline.Op {
			w.now += time.Second - 1
			taken, _ := w.sync(step(pipeline.Update, "c", 1))
			return taken
		}, nil},
		"a change of the parent does not, if the hook wants the same": {func(w *world) []pipeline.Op {
			w.parent++
			taken, _ := w.sync(step(pipeline.Update, "c", 1))
			return taken
		}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for range 5 {
				w.sync(step(pipeline.Update, "c", 1))
			}
			if diff := cmp.Diff(test.want, test.then(w)); diff != "" {
				t.Errorf("steps taken (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAChildThatWasAsItShouldBeForAMinuteStartsAnew(t *testing.T) {
	for rest, want := range map[time.Duration]int{calm + 2*time.Second: 1, calm / 2: 0} {
		w := newWorld(t)
		w.fight(time.Millisecond, 2*time.Minute, constantly(step(pipeline.Update, "c", 1)))
		w.now = w.written[len(w.written)-1]
		w.sync(step(pipeline.Keep, "c", 1))
		w.now += rest
		if taken, _ := w.sync(step(pipeline.Update, "c", 1)); len(taken) != want {
			t.Errorf("after %s of rest %d steps were taken, want %d", rest, len(taken), want)
		}
	}
}

func TestWhatChangesNothingIsNotCounted(t *testing.T) {
	w := newWorld(t)
	same := pipeline.Outcome{Step: step(pipeline.Apply, "c", 1), Result: observed("c", "1", 0)}
	failed := pipeline.Outcome{Step: step(pipeline.Update, "c", 1), Err: fmt.Errorf("no")}
	overtaken := pipeline.Outcome{Step: step(pipeline.Recreate, "c", 1), Conflict: true}
	taken := pipeline.Outcome{Step: step(pipeline.Create, "c", 1), NameConflict: true}
	kept := pipeline.Outcome{Step: step(pipeline.Keep, "c", 1), Result: observed("c", "2", 0)}
	w.guard.Wrote(w.snapshot(), []pipeline.Outcome{same, failed, overtaken, taken, kept}, start)
	if len(w.guard.histories) != 0 {
		t.Errorf("there are histories: %v", w.guard.histories)
	}
}

// A write that is postponed has to be made before the finalizer is removed.
func TestAParentIsNotLetGoWhileAWriteIsHeldBack(t *testing.T) {
	w := newWorld(t)
	fought := step(pipeline.Update, "c", 1)
	for {
		_, next := w.sync(fought)
		if next != 0 {
			break
		}
		w.now += 100 * time.Millisecond
	}
	letGo := step(pipeline.Status, "p", 0)
	letGo.Op = pipeline.Finalizer
	taken, next := w.sync(fought, letGo)
	if len(taken) > 0 || next == 0 {
		t.Errorf("taken are %v until %s", taken, next)
	}
	w.now = next
	if taken, _ := w.sync(fought, letGo); !slices.Contains(taken, pipeline.Finalizer) {
		t.Errorf("taken are %v when it is time", taken)
	}
}

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
