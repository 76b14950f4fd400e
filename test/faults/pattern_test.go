// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller"
	"github.com/metacontroller/metacontroller-apiserver/test/faults/proxy"
)

// pattern is what goes wrong in a run.
type pattern struct {
	name string
	// prepare is called before the first process starts.
	prepare func(*run)
	// options changes the options of a life of the process.
	options func(r *run, life int, options *controller.Options)
	// do decides about the requests of a life of the process, from 0 on.
	do func(r *run, life int) func(proxy.Request) proxy.Action
	// before and after are called before and after what the user does in a step, quiet when the
	// host has what it has without faults.
	before, after, quiet func(r *run, step int)
	// called is called when the hook is, before it answers.
	called func(context.Context, *run, asked)
}

// holdTime is how long watches are held back. Without faults the controllers need some
// milliseconds.
const holdTime = 300 * time.Millisecond

func wait(r *run, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

// patterns returns what goes wrong in a scenario that makes so many writes. Server-side apply differs
// only in the writes, so that only the patterns about writes are played with it.
func patterns(s *scenario, engine controller.ApplyStrategy, writes int) []pattern {
	aboutWrites := append(failingWrites(s), busyParent())
	switch {
	case engine == controller.DynamicApply:
		return slices.Concat(aboutWrites, crashes(writes), stale(s), lagging(s), failingReads(), troubles(s),
			[]pattern{watchesEnd(), watchesBreak(), noDiscovery()})
	case s.crashesServerSide:
		return append(aboutWrites, diesAfter(writes)...)
	default:
		return aboutWrites
	}
}

// crashes: the process dies at each write, before it is sent, and after the host has stored it.
func crashes(writes int) []pattern {
	all := diesAfter(writes)
	for n := 1; n <= writes; n++ {
		all = append(all, crash(fmt.Sprintf("n=%d/unsent", n), n, proxy.KillBefore))
	}
	return all
}

// diesAfter is the half of crashes that finds the same: to the host, a process that dies before its
// next write is one that died after the write before.
func diesAfter(writes int) (all []pattern) {
	for n := 1; n <= writes; n++ {
		all = append(all, crash(fmt.Sprintf("n=%d/unanswered", n), n, proxy.KillAfter))
	}
	return all
}

// crash kills the first life of the process at its n-th write.
func crash(name string, n int, kill func(killed func()) proxy.Action) pattern {
	return pattern{
		name: "crash/" + name,
		do: func(r *run, life int) func(proxy.Request) proxy.Action {
			return func(request proxy.Request) proxy.Action {
				if life == 0 && request.Write == n {
					return kill(r.died)
				}
				return nil
			}
		},
	}
}

// watched are the types whose watches can be late, by what they are to a scenario.
func watched(s *scenario) map[string][]string {
	children := "items"
	if s.rolls {
		children = "parts"
	}
	of := map[string][]string{"parents": {"things"}, "children": {children}, "both": {"things", children}}
	if s.rolls {
		of["revisions"] = []string{"controllerrevisions"}
	}
	return of
}

func watches(resources []string) func(proxy.Request) bool {
	return func(request proxy.Request) bool { return request.Verb == "watch" && request.Is(resources...) }
}

// stale: the watches of a type are held back in each step. Then they go on, or begin anew and have
// missed what was between.
func stale(s *scenario) (all []pattern) {
	for what, resources := range watched(s) {
		for name, open := range map[string]func(*proxy.Gate){"late": (*proxy.Gate).Open, "skipping": (*proxy.Gate).Skip} {
			all = append(all, pattern{
				name:    fmt.Sprintf("stale/%s/%s", what, name),
				prepare: func(r *run) { r.gates = []*proxy.Gate{proxy.NewGate(watches(resources))} },
				before:  func(r *run, _ int) { r.gates[0].Close() },
				after: func(r *run, i int) {
					wait(r, holdTime)
					if i%2 == 0 { // each time the reflector waits twice as long before it lists anew
						open(r.gates[0])
					} else {
						r.gates[0].Open()
					}
				},
			})
		}
	}
	return all
}

// lagging: after each step the process begins anew, at a host without streaming lists whose cache
// shows the state from before the step for a while.
func lagging(s *scenario) (all []pattern) {
	for what, resources := range watched(s) {
		if what == "revisions" {
			continue // our own API server has streaming lists
		}
		var next *proxy.Lag
		all = append(all, pattern{
			name:    fmt.Sprintf("lagging/%s", what),
			prepare: func(r *run) { r.gates = []*proxy.Gate{proxy.NewGate(watches(resources))} },
			before: func(r *run, _ int) {
				lag, err := proxy.Record(upstream, resourcesOf(r, resources)...)
				if err != nil {
					r.Fatal(err)
				}
				next = lag
			},
			quiet: func(r *run, _ int) {
				r.gates[0].Close()
				before := len(r.Hook.Calls())
				r.restartAt(next)
				// Now it acts on the old state. If that has no parent, the hook is not called.
				for begin := time.Now(); len(r.Hook.Calls()) == before && time.Since(begin) < 5*holdTime; {
					wait(r, holdTime/10)
				}
				wait(r, holdTime/2)
				r.gates[0].Open()
			},
		})
	}
	return all
}

func resourcesOf(r *run, names []string) (of []schema.GroupVersionResource) {
	known := map[string]schema.GroupVersionResource{"things": sharedTypesOf(r).things, "parts": sharedTypesOf(r).parts, "items": sharedTypesOf(r).items}
	for _, name := range names {
		of = append(of, known[name])
	}
	return of
}

// failures are what can become of a request.
func failures() map[string]proxy.Action {
	return map[string]proxy.Action{
		"429":        proxy.Fail(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests", 0),
		"429 later":  proxy.Fail(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests", 1),
		"500":        proxy.Fail(http.StatusInternalServerError, metav1.StatusReasonInternalError, "internal error", 0),
		"503":        proxy.Fail(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "unavailable", 0),
		"unsent":     proxy.Drop(),
		"unanswered": proxy.Lose(),
		"truncated":  proxy.Truncate(),
	}
}

// failingWrites: writes fail, or an admission webhook is slow or refuses. In each sync of a rollout some
// would fail if every other one did, and the wait between syncs would double each time.
func failingWrites(s *scenario) (all []pattern) {
	actions := failures()
	actions["slow"] = proxy.Delay(holdTime/2, proxy.Pass())
	actions["refused"] = proxy.Fail(http.StatusForbidden, metav1.StatusReasonForbidden, `admission webhook "example.com" denied the request`, 0)
	for name, action := range actions {
		every := 2
		if s.rolls || name == "429 later" { // the latter makes the process wait for a second each time
			every = 5
		}
		all = append(all, pattern{
			name: "writes/" + name,
			do: func(*run, int) func(proxy.Request) proxy.Action {
				return func(request proxy.Request) proxy.Action {
					if request.Write%every == 1 {
						return action
					}
					return nil
				}
			},
		})
	}
	return all
}

// failingReads: the process begins anew in some steps, and each of its reads fails the first time.
func failingReads() (all []pattern) {
	for name, action := range failures() {
		if name == "unsent" {
			continue // the same as unanswered
		}
		all = append(all, pattern{
			name: "reads/" + name,
			do: func(*run, int) func(proxy.Request) proxy.Action {
				var mu sync.Mutex
				reads := map[string]int{}
				return func(request proxy.Request) proxy.Action {
					if request.IsResourceRequest && request.Verb != "list" && request.Verb != "watch" && request.Verb != "get" {
						return nil
					}
					mu.Lock()
					defer mu.Unlock()
					reads[request.String()]++
					if reads[request.String()] > 1 {
						return nil
					}
					return action
				}
			},
			after: func(r *run, i int) {
				if i == 0 || i == 2 {
					r.restart()
				}
			},
		})
	}
	return all
}

// watchesEnd: the host ends all watches in each step.
func watchesEnd() pattern {
	return pattern{
		name:    "watches/end",
		prepare: func(r *run) { r.gates = []*proxy.Gate{proxy.NewGate(watches(allTypes))} },
		before:  func(r *run, _ int) { r.gates[0].End() },
	}
}

// watchesBreak: the connections of all watches break in the middle of an event.
func watchesBreak() pattern {
	return pattern{
		name:    "watches/break",
		prepare: func(r *run) { r.gates = []*proxy.Gate{proxy.NewGate(watches(allTypes))} },
		after: func(r *run, i int) {
			if i%2 == 0 {
				r.gates[0].Break()
			}
		},
	}
}

var allTypes = []string{"things", "parts", "items", "controllerrevisions", "compositecontrollers", "decoratorcontrollers"}

// noDiscovery: the process begins anew while the host does not tell the types of a group.
func noDiscovery() pattern {
	return pattern{
		name: "no discovery",
		do: func(_ *run, life int) func(proxy.Request) proxy.Action {
			began := time.Now()
			return func(request proxy.Request) proxy.Action {
				if life > 0 && !request.IsResourceRequest && request.Path == "/apis/faults.example.com/v1" && time.Since(began) < holdTime {
					return failures()["503"]
				}
				return nil
			}
		},
		after: func(r *run, i int) {
			if i == 1 {
				r.restart()
			}
		},
	}
}

// busyAnnotation is what somebody writes into the parent all the time.
const busyAnnotation = "example.com/busy"

// busyParent: somebody changes the parent each time before the hook has answered.
func busyParent() pattern {
	return pattern{
		name: "busy parent",
		called: func(ctx context.Context, r *run, about asked) {
			patch := []byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, busyAnnotation, rand.String(8)))
			_, _ = r.ParentClient().Patch(ctx, about.parent().GetName(), "application/merge-patch+json", patch, metav1.PatchOptions{})
			wait(r, 20*time.Millisecond) // the watch shows it
		},
	}
}
