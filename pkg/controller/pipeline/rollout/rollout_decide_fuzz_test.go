// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// FuzzRollout edits and scales a parent, makes its children unhealthy, healthy and deleted, loses revisions, and lets
// the server die between any two writes. It checks after each sync that
//   - no more children are set in motion than may be,
//   - each child is at a revision that is stored,
//   - children before the partition do not move.
//
// In the end all children become healthy, and the rollout must finish.
func FuzzRollout(f *testing.F) {
	random := rand.New(rand.NewPCG(6, 6))
	for range 100 {
		events := make([]byte, 120)
		for i := range events {
			events[i] = byte(random.UintN(256))
		}
		f.Add(events)
	}
	f.Fuzz(func(t *testing.T, events []byte) {
		s := newSimulation(t, events)
		for len(s.events) > 0 {
			s.event()
			s.sync()
		}
		s.settle()
	})
}

// claimed are the versions at which the children are by the stored revisions: the latest
// one's claims count before all others, and those of a newer one before an older one's.
func (s *simulation) claimed() map[string]string {
	at := map[string]string{}
	latest := s.open().Revisions[0].Name
	for _, of := range slices.SortedFunc(slices.Values(s.stored), func(a, b *record) int {
		switch {
		case a.Name == latest:
			return -1
		case b.Name == latest:
			return 1
		}
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	}) {
		for _, name := range namesOf(of) {
			if _, claimed := at[name]; !claimed {
				at[name] = versionOf(of)
			}
		}
	}
	return at
}

func versionOf(of *record) string {
	return strings.Trim(string(object.Lookup(of.ParentPatch.Raw, "spec", "version")), `"`)
}

func namesOf(of *record) []string {
	var names []string
	for _, claims := range of.Children {
		names = append(names, claims.Names...)
	}
	return names
}

// checkMotion checks that the decision sets no more children in motion than may be, and some
// if all is well and some are behind. A child that is not what its revision wants is in motion
// already.
func (s *simulation) checkMotion(before, wanted map[string]string, decision *Decision) {
	moving, started, behind := 0, 0, 0
	for name, version := range wanted {
		switch there := s.pods[name]; {
		case there == nil || there.deleting || there.unready:
			moving++
		case there.version == version:
			if version != fmt.Sprint("v", s.version) {
				behind++
			}
		case there.version == before[name], before[name] == "":
			started++
		default:
			moving++
		}
	}
	if moving+started > max(moving, s.limit) {
		s.t.Errorf("%d children are set in motion beside %d: %s", started, moving, s.describe(before, wanted, decision))
	}
	if moving+started == 0 && behind > 0 && s.rules.Kinds[0].Partition == 0 {
		s.t.Errorf("all children are healthy and none moves: %s", s.describe(before, wanted, decision))
	}
}

// checkPartition checks that children before the partition stay what they are.
func (s *simulation) checkPartition(before, wanted map[string]string) {
	for i := range min(s.size, s.rules.Kinds[0].Partition) {
		name := fmt.Sprint("p", i)
		claim, claimed := before[name]
		asItIs := s.pods[name] != nil && s.pods[name].version == wanted[name]
		if !asItIs && (claimed && wanted[name] != claim || !claimed && s.pods[name] != nil) {
			s.t.Errorf("%s moves from %s to %s before partition %d", name, claim, wanted[name], s.rules.Kinds[0].Partition)
		}
	}
}

// checkNothingIsLost checks that a child that was claimed still is, and by the version that is
// wanted of it if that is an older one.
func (s *simulation) checkNothingIsLost(before, wanted map[string]string) {
	for name, version := range wanted {
		isClaimed := slices.ContainsFunc(s.stored, func(of *record) bool {
			return slices.Contains(namesOf(of), name) && (versionOf(of) == version || version == fmt.Sprint("v", s.version))
		})
		if _, wasClaimed := before[name]; wasClaimed && !isClaimed {
			s.t.Errorf("%s, which is to be at %s, is lost: the revisions are %q", name, version, s.remembered())
		}
	}
}

func (s *simulation) describe(before, wanted map[string]string, decision *Decision) string {
	text := conditionText(decision.Updated)
	for name, version := range wanted {
		text += fmt.Sprintf("; %s at %q is %+v and to be %s", name, before[name], s.pods[name], version)
	}
	return text
}
