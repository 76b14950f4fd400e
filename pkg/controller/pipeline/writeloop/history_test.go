// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package writeloop

import (
	"testing"
	"time"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestALoopIsToldAtFirstAndThenNowAndThen(t *testing.T) {
	w := newWorld(t)
	w.fight(time.Millisecond, time.Hour, constantly(step(pipeline.Update, "c", 1)))
	if count := len(w.reported); count < 10 || count > 13 {
		t.Errorf("in an hour it was reported %d times, want once in about five minutes", count)
	}
	if first := w.reported[0]; first.Writes != 5 || !first.Next.Equal(start.Add(w.written[5])) {
		t.Errorf("at first %+v was reported", first)
	}
}

// Two sides undo each other's writes. The side that was slowed down first writes when its time
// comes. By then the last write of the other side is just as long ago.
func TestTheSideOfALoopThatIsJustInTimeIsToldOfIt(t *testing.T) {
	const behind = 5 * time.Millisecond
	w := newWorld(t)
	for range 5 {
		w.sync(step(pipeline.Update, "c", 1))
		w.now += behind
	}
	w.now += firstDelay
	if taken, next := w.sync(step(pipeline.Update, "c", 1)); len(taken) != 1 || next != 0 {
		t.Fatalf("taken is %v, the next is due at %s", taken, next)
	}
	if loops := w.loops(); len(w.reported) != 1 || len(loops) != 1 || w.reported[0].Writes != 6 || !w.reported[0].Next.Equal(start.Add(w.now+2*firstDelay)) {
		t.Errorf("reported is %+v, slowed down is %+v", w.reported, loops)
	}
	w.now += 2*firstDelay + behind
	if taken, _ := w.sync(step(pipeline.Update, "c", 1)); len(taken) != 1 || len(w.reported) != 1 || len(w.loops()) != 1 {
		t.Errorf("then taken is %v, reported is %+v, slowed down is %+v", taken, w.reported, w.loops())
	}
}

// A side that undoes writes slowly sets the pace for a long time.
func TestWhatIsUndoneSlowlyIsALoopWhenItsPauseIsAsLong(t *testing.T) {
	w := newWorld(t)
	for writes := 1; len(w.reported) == 0; writes++ {
		w.sync(step(pipeline.Update, "c", 1))
		w.now += 30 * time.Second
		if writes > 20 {
			t.Fatal("it is never reported")
		}
	}
	if first := w.reported[0]; first.Writes != 10 {
		t.Errorf("at first %+v was reported", first)
	}
}

func TestWhatIsUndoneAfterTwiceItsPauseIsNotSlowedDown(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.sync(step(pipeline.Update, "c", 1))
	}
	w.now += 2 * firstDelay
	if taken, _ := w.sync(step(pipeline.Update, "c", 1)); len(taken) != 1 || len(w.reported) > 0 || len(w.loops()) > 0 {
		t.Errorf("taken is %v, reported is %+v, slowed down is %+v", taken, w.reported, w.loops())
	}
}

// The delay of the next write does not matter then.
func TestALoopWhoseLastWriteIsNotMadeIsOverAfterAMinute(t *testing.T) {
	w := newWorld(t)
	w.fight(time.Millisecond, 10*time.Minute, constantly(step(pipeline.Update, "c", 1)))
	w.now = w.written[len(w.written)-1] + maxDelay
	now := start.Add(w.now)
	if next, _ := w.guard.Postpone(w.snapshot(), &pipeline.Plan{Steps: []pipeline.Step{step(pipeline.Update, "c", 1)}}, now); !next.IsZero() {
		t.Fatalf("it is held back until %s", next)
	}
	w.now += time.Second
	w.sync(step(pipeline.Keep, "c", 1))
	w.now += calm
	if loops := w.loops(); len(loops) != 0 {
		t.Errorf("slowed down is %+v", loops)
	}
}

func TestALoopIsOverAfterAMinute(t *testing.T) {
	w := newWorld(t)
	w.fight(time.Millisecond, 10*time.Minute, constantly(step(pipeline.Update, "c", 1)))
	w.sync(step(pipeline.Update, "c", 1))
	w.now += calm
	if loops := w.loops(); len(loops) != 1 {
		t.Errorf("a minute after the last write %d loops are reported, want one", len(loops))
	}
	w.now++
	if loops := w.loops(); len(loops) != 0 || len(w.guard.histories) != 0 {
		t.Errorf("after more than that there are %+v and %d histories", loops, len(w.guard.histories))
	}
}

func TestWhichValuesAlternate(t *testing.T) {
	tests := map[string]struct{ kind, path, observed, body, has, wants string }{
		"texts":                     {"ConfigMap", "data.a", `"data":{"a":"x"}`, `"data":{"a":"y"}`, "", ""},
		"booleans":                  {"Web", "spec.a", `"spec":{"a":true}`, `"spec":{"a":false}`, "true", "false"},
		"a number and a text":       {"Web", "spec.a", `"spec":{"a":1}`, `"spec":{"a":"1"}`, "", ""},
		"null":                      {"Web", "spec.a", `"spec":{"a":null}`, `"spec":{"a":1}`, "", ""},
		"numbers in a list":         {"Deployment", "spec.items[1].n", `"spec":{"items":[{"n":0},{"n":1}]}`, `"spec":{"items":[{"n":0},{"n":2}]}`, "1", "2"},
		"an item by name":           {"Web", "spec.limits[a]", `"spec":{"limits":{"a":1}}`, `"spec":{"limits":{"a":2}}`, "1", "2"},
		"a name with dots":          {"Web", "spec.limits.example.com/a", `"spec":{"limits":{"example.com/a":1}}`, `"spec":{"limits":{"example.com/a":2}}`, "1", "2"},
		"a value that is not there": {"Web", "spec.a", `"spec":{}`, `"spec":{"a":1}`, "", ""},
		"an item that is not there": {"ConfigMap", "list[3]", `"list":[1]`, `"list":[1,2,3,4]`, "", ""},
		"a whole object":            {"ConfigMap", "data", `"data":{"b":"x"}`, `"data":{"a":"y"}`, "", ""},
		"a Secret":                  {"Secret", "data.a", `"data":{"a":1}`, `"data":{"a":2}`, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			observed, err := object.Parse([]byte(`{"apiVersion":"v1","kind":"` + test.kind + `",` + test.observed + `}`))
			if err != nil {
				t.Fatal(err)
			}
			step := &pipeline.Step{Type: object.Type{Kind: test.kind}, Path: test.path, Observed: observed, Body: []byte(`{` + test.body + `}`)}
			if has, wants := alternating(step); has != test.has || wants != test.wants {
				t.Errorf("it has %s and wants %s", has, wants)
			}
			step.Body = nil
			if has, wants := alternating(step); has+wants != "" {
				t.Errorf("of a child that is deleted to be made again, it has %s and wants %s", has, wants)
			}
		})
	}
}
