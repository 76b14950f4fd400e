// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"cmp"
	"maps"
	"slices"
)

// Unit is a controller that one replica runs.
type Unit struct {
	// ID names the unit. No other has it.
	ID string
	// Weight is how much work it is, compared with others. At least 1.
	Weight int
	// Runner is the replica that runs it; empty if none does.
	Runner string
}

const (
	// movesAtOnce is how many units change their replica at once at most, so that a new replica does
	// not read everything at the same time.
	movesAtOnce = 4
	// worthwhile is by how much of the mean load of a replica a move must relieve the one that gives.
	// Otherwise units would move to and fro while parents come and go.
	worthwhile = 0.1
)

// Assign returns the replica that is to run each unit, by ID. It is the same in each replica that knows
// the same. Who is alive keeps what it runs, and only takers get more.
//
// Units that none of the replicas runs go to the takers with the least load, the heaviest first. Only if there
// are no such units, some are moved from the taker with the highest load to that with the least.
func Assign(alive, takers []string, units []Unit) map[string]string {
	assigned := make(map[string]string, len(units))
	if len(takers) == 0 {
		return assigned
	}
	load := make(map[string]int, len(takers))
	for _, replica := range takers {
		load[replica] = 0
	}
	var free, run []Unit
	for _, unit := range units {
		if !slices.Contains(alive, unit.Runner) {
			free = append(free, unit)
			continue
		}
		assigned[unit.ID] = unit.Runner
		if _, takes := load[unit.Runner]; takes {
			load[unit.Runner] += unit.Weight
			run = append(run, unit)
		}
	}
	if len(free) > 0 {
		spread(free, load, assigned)
		return assigned
	}
	even(run, load, assigned)
	return assigned
}

// spread assigns units that nobody runs.
func spread(free []Unit, load map[string]int, assigned map[string]string) {
	slices.SortFunc(free, func(a, b Unit) int { return cmp.Or(-cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.ID, b.ID)) })
	for _, unit := range free {
		to := least(load)
		assigned[unit.ID] = to
		load[to] += unit.Weight
	}
}

// even moves some units from the replica with the highest load to that with the least.
func even(run []Unit, load map[string]int, assigned map[string]string) {
	slices.SortFunc(run, func(a, b Unit) int { return cmp.Or(-cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.ID, b.ID)) })
	total := 0
	for _, of := range load {
		total += of
	}
	enough := worthwhile * float64(total) / float64(len(load))
	for range movesAtOnce {
		from, to := most(load), least(load)
		best, relief := -1, 0
		for i, unit := range run {
			if assigned[unit.ID] != from {
				continue
			}
			if now := load[from] - max(load[from]-unit.Weight, load[to]+unit.Weight); now > relief {
				best, relief = i, now
			}
		}
		if best < 0 || float64(relief) < enough {
			return
		}
		moved := run[best]
		assigned[moved.ID] = to
		load[from] -= moved.Weight
		load[to] += moved.Weight
	}
}

// least returns the replica with the least load, most the one with the highest. Of several, it is the
// one whose name comes first.
func least(load map[string]int) string {
	return slices.MinFunc(slices.Sorted(maps.Keys(load)), func(a, b string) int { return cmp.Compare(load[a], load[b]) })
}

func most(load map[string]int) string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(load)), func(a, b string) int { return cmp.Compare(load[a], load[b]) })
}
