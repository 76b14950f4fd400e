// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"slices"
	"testing"
	"time"
)

func TestAReplicaThatTakesNothingIsPassedOver(t *testing.T) {
	const s = time.Second
	alive, began := []string{"a", "b"}, time.Now()
	type noted struct {
		at   time.Duration
		free map[string]string // who is to take them
		runs []string          // what runs in a
	}
	for name, test := range map[string]struct {
		noted  []noted
		at     time.Duration
		takers []string
	}{
		"not at first":  {[]noted{{0, map[string]string{"u": "a"}, nil}, {2 * s, map[string]string{"u": "a"}, nil}}, 2 * s, alive},
		"after a while": {[]noted{{0, map[string]string{"u": "a"}, nil}, {3 * s, map[string]string{"u": "a"}, nil}}, 3 * s, []string{"b"}},
		"not if it has taken one, and gets another one": {
			[]noted{{0, map[string]string{"u": "a"}, nil}, {2 * s, map[string]string{"v": "a"}, []string{"u"}}, {4 * s, map[string]string{"v": "a"}, []string{"u"}}}, 4 * s, alive,
		},
		"not while it takes one after the other": {
			[]noted{{0, map[string]string{"u": "a", "v": "a", "w": "a"}, nil}, {2 * s, map[string]string{"v": "a", "w": "a"}, []string{"u"}}, {4 * s, map[string]string{"w": "a"}, []string{"u", "v"}}}, 4 * s, alive,
		},
		"not if the unit was assigned to another one before": {
			[]noted{{0, map[string]string{"u": "b"}, nil}, {2 * s, map[string]string{"u": "a"}, nil}, {4 * s, map[string]string{"u": "a"}, nil}}, 4 * s, alive,
		},
		"not for ever": {[]noted{{0, map[string]string{"u": "a"}, nil}, {3 * s, map[string]string{"u": "a"}, nil}}, 13 * s, alive},
		"twice as long the next time": {
			[]noted{{0, map[string]string{"u": "a"}, nil}, {3 * s, map[string]string{"u": "a"}, nil}, {4 * s, nil, nil}, {13 * s, map[string]string{"u": "a"}, nil}, {16 * s, map[string]string{"u": "a"}, nil}},
			35 * s, []string{"b"},
		},
		"as long as at first if it has taken one in between": {
			[]noted{
				{0, map[string]string{"u": "a"}, nil}, {3 * s, map[string]string{"u": "a"}, nil}, {4 * s, nil, nil},
				{13 * s, map[string]string{"u": "a"}, nil}, {14 * s, map[string]string{"v": "a"}, []string{"u"}}, {17 * s, map[string]string{"v": "a"}, []string{"u"}},
			},
			27 * s, alive,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Offers{}
			for _, now := range test.noted {
				runnerOf := func(unit string) string {
					if slices.Contains(now.runs, unit) {
						return "a"
					}
					return ""
				}
				o.Takers(alive, began.Add(now.at))
				o.Note(now.free, runnerOf, began.Add(now.at))
			}
			if takers := o.Takers(alive, began.Add(test.at)); !slices.Equal(takers, test.takers) {
				t.Errorf("%v take units, want %v", takers, test.takers)
			}
		})
	}
}
