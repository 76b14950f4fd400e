// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"fmt"
	"maps"
	"testing"
)

func TestAssign(t *testing.T) {
	for name, c := range map[string]struct {
		alive  []string
		takers []string // all who are alive if it is nil
		units  []Unit
		want   map[string]string
	}{
		"nobody is alive": {units: []Unit{{"u", 1, "a"}}, want: map[string]string{}},
		"one replica runs all": {
			alive: []string{"a"}, units: []Unit{{"u", 1, ""}, {"v", 9, "gone"}}, want: map[string]string{"u": "a", "v": "a"},
		},
		"the heaviest go first, to the one with the least load": {
			alive: []string{"a", "b"}, units: []Unit{{"u", 5, ""}, {"v", 4, ""}, {"w", 3, ""}, {"x", 2, ""}},
			want: map[string]string{"u": "a", "v": "b", "w": "b", "x": "a"},
		},
		"who runs something keeps it while others wait for a replica": {
			alive: []string{"a", "b"}, units: []Unit{{"u", 5, "a"}, {"v", 5, "a"}, {"w", 1, ""}},
			want: map[string]string{"u": "a", "v": "a", "w": "b"},
		},
		"a new replica gets its share": {
			alive: []string{"a", "b"}, units: []Unit{{"u", 5, "a"}, {"v", 5, "a"}, {"w", 2, "a"}},
			want: map[string]string{"u": "b", "v": "a", "w": "a"},
		},
		"what cannot be more even stays": {
			alive: []string{"a", "b"}, units: []Unit{{"u", 1, "a"}, {"v", 1, "a"}, {"w", 1, "b"}},
			want: map[string]string{"u": "a", "v": "a", "w": "b"},
		},
		"one large controller stays where it is": {
			alive: []string{"a", "b"}, units: []Unit{{"u", 100, "a"}}, want: map[string]string{"u": "a"},
		},
		"a small difference moves nothing": {
			alive: []string{"a", "b"}, units: []Unit{{"u", 100, "a"}, {"v", 2, "a"}, {"w", 95, "b"}},
			want: map[string]string{"u": "a", "v": "a", "w": "b"},
		},
		"who takes nothing keeps what it runs": {
			alive: []string{"a", "b", "c"}, takers: []string{"b", "c"}, units: []Unit{{"u", 5, "a"}, {"v", 5, ""}, {"w", 1, ""}},
			want: map[string]string{"u": "a", "v": "b", "w": "c"},
		},
		"nothing moves to or from who takes nothing": {
			alive: []string{"a", "b"}, takers: []string{"b"}, units: []Unit{{"u", 5, "b"}, {"v", 5, "b"}, {"w", 1, "a"}},
			want: map[string]string{"u": "b", "v": "b", "w": "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			takers := c.takers
			if takers == nil {
				takers = c.alive
			}
			if got := Assign(c.alive, takers, c.units); !maps.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Each replica carries out what Assign says, as often as that changes.
func TestAssignEndsEven(t *testing.T) {
	var units []Unit
	for i := range 30 {
		units = append(units, Unit{fmt.Sprint(i), 1 + 100*(i%7), "a"})
	}
	alive, rounds := []string{"a", "b", "c"}, 0
	for ; ; rounds++ {
		moved := 0
		for id, to := range Assign(alive, alive, units) {
			for i := range units {
				if units[i].ID == id && units[i].Runner != to {
					units[i].Runner = to
					moved++
				}
			}
		}
		if moved > movesAtOnce {
			t.Fatalf("%d controllers move at once", moved)
		}
		if moved == 0 {
			break
		}
	}
	load := map[string]int{}
	for _, unit := range units {
		load[unit.Runner] += unit.Weight
	}
	if load[most(load)]-load[least(load)] > 700 || len(load) != 3 || rounds > 10 {
		t.Errorf("the loads are %v after %d rounds", load, rounds)
	}
}
