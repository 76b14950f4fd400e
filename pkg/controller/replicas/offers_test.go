// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"slices"
	"testing"
	"time"
)

func TestAReplicaThatTakesNothingIsPassedOver(t *testing.T) {
	alive, began := []string{"a", "b"}, time.Now()
	for name, test := range map[string]struct {
		offers map[time.Duration]map[string]string // free units, by when they are noted
		at     time.Duration
		takers []string
	}{
		"not at first": {
			offers: map[time.Duration]map[string]string{0: {"u": "a"}, 2 * time.Second: {"u": "a"}}, at: 2 * time.Second, takers: alive,
		},
		"after a while": {
			offers: map[time.Duration]map[string]string{0: {"u": "a"}, 3 * time.Second: {"u": "a"}}, at: 3 * time.Second, takers: []string{"b"},
		},
		"not if it has taken one, and gets another one": {
			offers: map[time.Duration]map[string]string{0: {"u": "a"}, 2 * time.Second: {"v": "a"}, 4 * time.Second: {"v": "a"}}, at: 4 * time.Second, takers: alive,
		},
		"not while it takes one after the other": {
			offers: map[time.Duration]map[string]string{0: {"u": "a", "v": "a", "w": "a"}, 2 * time.Second: {"v": "a", "w": "a"}, 4 * time.Second: {"w": "a"}}, at: 4 * time.Second, takers: alive,
		},
		"not if the unit was assigned to another one before": {
			offers: map[time.Duration]map[string]string{0: {"u": "b"}, 2 * time.Second: {"u": "a"}, 4 * time.Second: {"u": "a"}}, at: 4 * time.Second, takers: alive,
		},
		"not for ever": {
			offers: map[time.Duration]map[string]string{0: {"u": "a"}, 3 * time.Second: {"u": "a"}, 14 * time.Second: {}}, at: 14 * time.Second, takers: alive,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Offers{}
			for at := time.Duration(0); at <= test.at; at += time.Second {
				if free, noted := test.offers[at]; noted {
					o.Note(free, began.Add(at))
				}
			}
			if takers := o.Takers(alive, began.Add(test.at)); !slices.Equal(takers, test.takers) {
				t.Errorf("%v take units, want %v", takers, test.takers)
			}
		})
	}
}
