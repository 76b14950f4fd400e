// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/revisions"
)

// simulation is a host whose children take time to become healthy.
type simulation struct {
	*world
	events  []byte
	version int
	size    int
	limit   int
	// pods are the existing children, by name.
	pods map[string]*pod
}

type pod struct {
	version           string
	unready, deleting bool
}

func newSimulation(t testing.TB, events []byte) *simulation {
	s := &simulation{world: newWorld(t, "v0"), events: events[:min(len(events), 200)], pods: map[string]*pod{}}
	s.limit = 1 + s.choose(3)
	maxUnavailable := intstr.FromInt(s.limit)
	kind := recreated(pods)
	kind.InPlace, kind.MaxUnavailable = s.choose(2) == 0, &maxUnavailable
	s.rules.Kinds = []Kind{kind}
	s.size = 1 + s.choose(5)
	if s.choose(2) == 0 {
		s.rules.FieldPaths = nil // a change of the size makes a revision too
	}
	return s
}

// choose takes the next of the events as a choice among n.
func (s *simulation) choose(n int) int {
	if len(s.events) == 0 {
		return 0
	}
	chosen := int(s.events[0]) % n
	s.events = s.events[1:]
	return chosen
}

// event is one thing that happens.
func (s *simulation) event() {
	name := fmt.Sprint("p", s.choose(8))
	happensTo := s.pods[name]
	switch what := s.choose(11); {
	case what == 10:
		s.stored = s.stored[:min(len(s.stored), s.choose(2))] // the others are lost
	case what == 0:
		s.version++
	case what == 1:
		s.version = max(s.version-1-s.choose(2), 0)
	case what == 2:
		s.size = s.choose(7)
	case what == 3:
		s.rules.Kinds[0].Partition = s.choose(8)
	case what <= 5:
		s.timePasses()
	case happensTo == nil:
	case what == 6:
		happensTo.unready = true
	case what == 7:
		happensTo.deleting = true
	case happensTo.deleting:
		delete(s.pods, name)
	default:
		happensTo.unready = false
	}
}

// timePasses makes all children healthy, and removes those that are being deleted.
func (s *simulation) timePasses() {
	for name, pod := range s.pods {
		pod.unready = false
		if pod.deleting {
			delete(s.pods, name)
		}
	}
}

// look puts the present children into the snapshot of the next sync.
func (s *simulation) look() {
	var listed []string
	for i := range s.size {
		listed = append(listed, fmt.Sprint("Pod p", i))
	}
	s.parent(fmt.Sprint("v", s.version), listed...)
	s.snapshot.Children[0].Claimed = nil
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[name]
		text := "Pod " + name + " " + pod.version
		if pod.unready {
			text += " unready"
		}
		if pod.deleting {
			text += " deleting"
		}
		s.has(text)
	}
}

// sync is one sync. The server may die before any write of it.
func (s *simulation) sync() *Decision {
	s.look()
	left := 40 - s.choose(40)
	dies := func() bool { left--; return left == 0 }
	before := s.claimed()
	decision := s.decide()
	wanted := versions(decision)
	s.checkMotion(before, wanted, decision)
	s.checkPartition(before, wanted)
	for _, write := range decision.Writes {
		if dies() {
			return decision
		}
		s.write([]revisions.Write{write})
		s.checkNothingIsLost(before, wanted)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if dies() {
			return decision
		}
		s.apply(name, wanted[name])
	}
	for name, pod := range s.pods {
		if _, listed := wanted[name]; !listed {
			pod.deleting = true
		}
	}
	return decision
}

// apply makes a child what is wanted of it.
func (s *simulation) apply(name, version string) {
	switch there := s.pods[name]; {
	case there == nil:
		s.pods[name] = &pod{version: version, unready: true}
	case there.deleting || there.version == version:
	case s.rules.Kinds[0].InPlace:
		there.version, there.unready = version, true
	default:
		there.deleting = true
	}
}

// versions returns the versions that a decision wants of the children, by name.
func versions(decision *Decision) map[string]string {
	of := map[string]string{}
	for _, text := range wanted(decision.Response) {
		words := strings.Fields(text)
		of[strings.TrimPrefix(words[1], "default/")] = words[2]
	}
	return of
}

// settle has all children become healthy until nothing is left to do.
func (s *simulation) settle() {
	s.rules.Kinds[0].Partition = 0
	var decision *Decision
	for range 4*len(s.pods) + 4*s.size + 4 {
		s.timePasses()
		decision = s.sync()
		if s.isFinished(decision) {
			break
		}
	}
	if !s.isFinished(decision) || len(s.stored) != 1 {
		s.t.Errorf("the rollout comes to no end: %s; the revisions are %q, and there are %d children of %d",
			conditionText(decision.Updated), s.remembered(), len(s.pods), s.size)
	}
}

// isFinished reports whether nothing is left to do after a decision.
func (s *simulation) isFinished(decision *Decision) bool {
	done := decision.Updated.Reason == onLatestRevision && len(decision.Writes) == 0 && len(s.pods) == s.size
	for _, pod := range s.pods {
		done = done && !pod.deleting && pod.version == fmt.Sprint("v", s.version)
	}
	return done
}
