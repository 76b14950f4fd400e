// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// named is a hook that names its child otherwise with each answer, until its name is fixed.
type named struct {
	*world
	wants, has string
	calls      int
}

// answer is a sync: the child of another name is created, and the one before deleted.
func (n *named) answer() (taken []pipeline.Op) {
	n.calls++
	wants := n.wants
	if wants == "" {
		wants = fmt.Sprint("c-", n.calls)
	}
	var steps []pipeline.Step
	if wants != n.has {
		steps = append(steps, step(pipeline.Create, wants, 1))
		if n.has != "" {
			steps = append(steps, step(pipeline.Delete, n.has, 0))
		}
	} else {
		steps = append(steps, step(pipeline.Keep, wants, 1))
	}
	taken, _ = n.sync(steps...)
	if len(taken) > 0 {
		n.has = wants
	}
	return taken
}

// syncs are syncs in turn, until a time.
func (n *named) syncs(pause, until time.Duration) (written int) {
	for ; n.now < until; n.now += pause {
		written += len(n.answer())
	}
	return written
}

func (n *named) isLooping() bool {
	return len(n.guard.LoopsOf(object.KeyOf(n.snapshot().Parent), start.Add(n.now))) > 0
}

func TestRandomNamesAreSlowedDownAndRecover(t *testing.T) {
	n := &named{world: newWorld(t)}
	if written := n.syncs(20*time.Millisecond, time.Minute); written < 20 || written > 70 {
		t.Errorf("there were %d writes in a minute", written)
	}
	loops := n.loops()
	if len(loops) != 1 || !loops[0].OfNames || !loops[0].AnswerChanges || len(n.reported) != 1 {
		t.Fatalf("what is slowed down is %+v, and reported is %+v", loops, n.reported)
	}
	if n.has == "" || !n.isLooping() {
		t.Error("the child that is there stays, and the parent is in a loop")
	}
	n.wants = "c"
	fixed := n.now
	n.syncs(3*time.Second, fixed+12*time.Second)
	if n.has != "c" || n.isLooping() {
		t.Errorf("12 s after the hook was fixed the child is %s, and a loop goes on: %v", n.has, n.isLooping())
	}
}

// replaced is a hook that wants some children, and replaces them one after the other.
type replaced struct {
	*world
	// wants returns the names at a sync, seen what is to change of what the hook sees before it.
	wants func(sync int) []string
	seen  func()
}

// syncs are syncs in turn, with a pause between them.
func (r *replaced) syncs(count int, pause time.Duration) {
	for sync := range count {
		if r.seen != nil {
			r.seen()
		}
		wants := r.wants(sync)
		var steps []pipeline.Step
		for _, name := range wants {
			op := pipeline.Create
			if slices.Contains(r.others, name) {
				op = pipeline.Keep
			}
			steps = append(steps, step(op, name, 1))
		}
		for _, name := range r.others {
			if !slices.Contains(wants, name) {
				steps = append(steps, step(pipeline.Delete, name, 0))
			}
		}
		switch taken, next := r.sync(steps...); {
		case len(taken) == 0 && next != 0:
		case r.keeps:
			r.others = append(r.others, wants...)
		default:
			r.others = wants
		}
		r.loops()
		r.now += pause
	}
}

func TestWhichReplacementsAreALoop(t *testing.T) {
	name := func(n int) string { return fmt.Sprint("n-", n) }
	another := func(n int) []string { return []string{name(n)} }
	oneByOne := func(n int) []string { return replacedOneByOne(n, 90) }
	tests := map[string]struct {
		wants func(sync int) []string
		pause time.Duration
		sees  bool // something else in each sync
		keeps bool // every deletion fails
		want  bool
	}{
		"another name each time":                  {wants: another, pause: 20 * time.Millisecond, want: true},
		"another name each time, of many parents": {wants: another, pause: 2 * time.Second, want: true},
		"another name each time, of very many":    {wants: another, pause: 20 * time.Second, want: true},
		"another name each time, and the one before": {
			wants: func(n int) []string { return []string{name(n), name(n + 1)} }, pause: 2 * time.Second, want: true,
		},
		"some with another name each time": {
			wants: func(n int) []string { return []string{"a", name(n), "b"} }, pause: time.Second, want: true,
		},
		"another name each time, and no right to delete": {
			wants: another, pause: time.Second, keeps: true, want: true,
		},
		"none, and then another name": {wants: func(n int) []string {
			return []string{name(n)}[:n%2]
		}, pause: time.Second, want: true},
		"a Job by a schedule": {
			wants: func(n int) []string { return []string{name(n / 2)} }, pause: time.Second,
		},
		"a Job by a schedule, and the one before": {
			wants: func(n int) []string { return []string{name(n / 2), name(n/2 + 1)} }, pause: time.Second,
		},
		"names that follow related objects": {wants: another, pause: time.Second, sees: true},
		"blue and green, each for some syncs": {
			wants: func(n int) []string { return []string{name(n / 20 % 2)} }, pause: time.Second,
		},
		"the former children, one in each sync":         {wants: oneByOne, pause: 20 * time.Millisecond},
		"the former children, one in each, more slowly": {wants: oneByOne, pause: time.Second},
	}
	for of, test := range tests {
		t.Run(of, func(t *testing.T) {
			r := &replaced{world: newWorld(t), wants: test.wants}
			if test.sees {
				r.seen = func() { r.related++ }
			}
			r.keeps = test.keeps
			r.syncs(80, test.pause)
			if found := len(r.reported) > 0; found != test.want {
				t.Errorf("it is a loop: %v; reported is %+v", found, r.reported)
			}
		})
	}
}

// replacedOneByOne returns children of which as many have the new name as there were syncs.
func replacedOneByOne(syncs, children int) (names []string) {
	for i := range children {
		if i < syncs {
			names = append(names, fmt.Sprint("new-", i))
		} else {
			names = append(names, fmt.Sprint("old-", i))
		}
	}
	return names
}

func TestARequestedSyncEndsALoop(t *testing.T) {
	n := &named{world: newWorld(t)}
	n.syncs(20*time.Millisecond, time.Minute)
	n.wants = "c"
	n.guard.Forgive(object.KeyOf(n.snapshot().Parent))
	if taken := n.answer(); len(taken) != 2 || n.isLooping() {
		t.Errorf("%v were taken, and a loop goes on: %v", taken, n.isLooping())
	}
}

func TestARandomValueRecovers(t *testing.T) {
	w := newWorld(t)
	random := restlessly(step(pipeline.Update, "c", 1))
	for ; w.now < time.Minute; w.now += 20 * time.Millisecond {
		w.sync(random()...)
	}
	written := len(w.written)
	for range 4 { // after the hook was fixed
		w.now += 3 * time.Second
		if taken, _ := w.sync(step(pipeline.Update, "c", 1)); len(taken) > 0 {
			break
		}
	}
	w.now += 3 * time.Second
	w.sync(step(pipeline.Keep, "c", 1))
	if loops := w.loops(); len(w.written) != written+1 || len(loops) > 0 {
		t.Errorf("%d writes were made, and slowed down is %+v", len(w.written)-written, loops)
	}
}

// The answer is made from what the child has, and so stays the same while a write waits.
func TestAnAnswerThatFollowsTheWriteDoesNotRecover(t *testing.T) {
	w := newWorld(t)
	for ; w.now < time.Hour; w.now += 3 * time.Second {
		for taken := []pipeline.Op{""}; len(taken) > 0; w.now += time.Millisecond {
			taken, _ = w.sync(step(pipeline.Update, "c", uint64(w.child)))
			w.child += len(taken)
		}
	}
	if len(w.written) > 60 {
		t.Errorf("there were %d writes", len(w.written))
	}
}

// Another controller makes an object with the labels of the children each time that it was deleted.
func TestAdoptingAndDeletingIsSlowedDown(t *testing.T) {
	both := []pipeline.Op{pipeline.Adopt, pipeline.Delete}
	for _, ops := range [][]pipeline.Op{both, {pipeline.Delete}, {pipeline.Adopt}, {pipeline.Release}} {
		t.Run(fmt.Sprint(ops), func(t *testing.T) {
			w := newWorld(t)
			for w.now < 10*time.Minute {
				for _, op := range ops {
					w.sync(step(op, "c", 0))
					w.now += time.Second
				}
			}
			if rounds := len(w.written) / len(ops); rounds > 20 || len(w.loops()) == 0 || len(w.reported) == 0 {
				t.Errorf("there were %d rounds, slowed down is %+v, reported is %+v", rounds, w.loops(), w.reported)
			}
		})
	}
}

// Something removes a child minutes after it was created: a cleaner, or its own ttlSecondsAfterFinished.
func TestAChildThatVanishesAfterMinutesIsALoop(t *testing.T) {
	tests := map[string]struct {
		ttl   string
		pause time.Duration
		loops int // after so many creations; 0 is never
	}{
		"after minutes":                       {pause: 3 * time.Minute, loops: 6},
		"after an hour":                       {pause: time.Hour},
		"of its own, after minutes":           {ttl: "100", pause: 2 * time.Minute, loops: 3},
		"of its own, after half a minute":     {ttl: "10", pause: 30 * time.Second, loops: 3},
		"of its own, after more than an hour": {ttl: "3600", pause: 70 * time.Minute, loops: 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			create := step(pipeline.Create, "c", 1)
			create.Body = []byte(`{"spec":{}}`)
			if test.ttl != "" {
				create.Body = []byte(`{"spec":{"ttlSecondsAfterFinished":` + test.ttl + `}}`)
			}
			found := 0
			for round := 1; round <= 8; round++ {
				w.sync(create)
				if found == 0 && len(w.loops()) > 0 {
					found = round
				}
				for at := w.now; w.now < at+test.pause; w.now += time.Second {
					w.child++ // its status changes
					w.sync(step(pipeline.Keep, "c", 1))
					w.loops()
				}
			}
			if found != test.loops || (len(w.reported) > 0) != (found > 0) {
				t.Fatalf("it is a loop after %d creations, want %d; reported is %+v", found, test.loops, w.reported)
			}
			w.sync() // the hook was fixed, and does not list it any more
			w.now += 3 * time.Second
			w.sync()
			if loops := w.loops(); len(loops) > 0 {
				t.Errorf("after the hook was fixed slowed down is %+v", loops)
			}
		})
	}
}
