// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/faults/proxy"
)

// The variables of `make faults`.
const (
	durationVariable = "FAULTS_DURATION" // how long the random walk goes on
	seedVariable     = "FAULTS_SEED"     // the seed of one walk to repeat
)

// seedPrefix begins the name of a walk.
const seedPrefix = "seed="

// A random walk plays random scenarios with several random faults each, and stops at the first that
// fails. It is off unless the environment says how long it goes on, or which walk to repeat.
func TestRandomWalk(t *testing.T) {
	if seed := os.Getenv(seedVariable); seed != "" {
		parsed, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q: %v", seedVariable, seed, err)
		}
		walk(t, references{}, parsed)
		return
	}
	duration := os.Getenv(durationVariable)
	if duration == "" {
		return
	}
	long, err := time.ParseDuration(duration)
	if err != nil {
		t.Fatalf("%s=%q: %v", durationVariable, duration, err)
	}
	known := references{}
	for end := time.Now().Add(long); time.Now().Before(end) && !t.Failed(); {
		walk(t, known, rand.Uint64())
	}
}

// references are the states without faults, by scenario and engine.
type references map[string]*reference

// walk plays one scenario with the faults that a seed gives.
func walk(t *testing.T, known references, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	all := scenarios()
	s, engine := all[random.IntN(len(all))], engines()[random.IntN(2)]
	key := s.name + "/" + string(engine)
	if known[key] == nil {
		known[key] = &reference{}
		t.Run(key+"/"+noFaults, func(t *testing.T) { newRun(t, s, engine, pattern{}).play(known[key]) })
	}
	if !known[key].isComplete {
		return
	}
	t.Run(fmt.Sprintf("%s/%s%d", key, seedPrefix, seed), func(t *testing.T) {
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("repeat it with: %s=%d go test ./test/faults -count=1 -run 'TestRandomWalk'", seedVariable, seed)
			}
		})
		newRun(t, s, engine, randomPattern(s, random, known[key].writes)).play(known[key])
	})
}

// randomPattern returns up to five faults at random places: deaths, failing requests, late watches.
func randomPattern(s *scenario, random *rand.Rand, writes int) pattern {
	actions := failures()
	actions["refused"] = proxy.Fail(http.StatusForbidden, metav1.StatusReasonForbidden, "denied", 0)
	names := make([]string, 0, len(actions))
	for name := range actions {
		names = append(names, name)
	}
	slices.Sort(names)
	type fault struct {
		life, write int
		kill        int // 0 does not kill, 1 kills before the write, 2 after it
		action      string
	}
	faults := make([]fault, 1+random.IntN(5))
	for i := range faults {
		faults[i] = fault{life: random.IntN(2), write: 1 + random.IntN(writes), kill: random.IntN(3), action: names[random.IntN(len(names))]}
	}
	late := make([]int, len(s.steps)) // 0 is not, 1 late, 2 skipping, 3 ended, 4 broken
	for i := range late {
		late[i] = random.IntN(5)
	}
	kinds := []string{"parents", "children", "both"}
	resources := watched(s)[kinds[random.IntN(len(kinds))]]
	return pattern{
		prepare: func(r *run) {
			r.Logf("faults: %+v; watches of %v: %v", faults, resources, late)
			r.gates = []*proxy.Gate{proxy.NewGate(watches(resources))}
		},
		do: func(r *run, life int) func(proxy.Request) proxy.Action {
			return func(request proxy.Request) proxy.Action {
				for _, fault := range faults {
					if fault.life != life || fault.write != request.Write {
						continue
					}
					return []proxy.Action{actions[fault.action], proxy.KillBefore(r.died), proxy.KillAfter(r.died)}[fault.kill]
				}
				return nil
			}
		},
		before: func(r *run, i int) {
			if late[i] > 0 {
				r.gates[0].Close()
			}
		},
		after: func(r *run, i int) {
			if late[i] == 0 {
				return
			}
			wait(r, time.Duration(random.IntN(int(holdTime))))
			[]func(*proxy.Gate){nil, (*proxy.Gate).Open, (*proxy.Gate).Skip, (*proxy.Gate).End, (*proxy.Gate).Break}[late[i]](r.gates[0])
			r.gates[0].Open()
		},
	}
}
