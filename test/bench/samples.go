// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// samples are what rounds have measured, by what it is, such as "update wall floor".
type samples map[string][]float64

// by is what samples of something are called that were taken of somebody.
func by(what, who string) string { return what + " " + who }

func (s samples) add(what string, value float64) { s[what] = append(s[what], value) }

func (s samples) addTime(what string, value time.Duration) { s.add(what, inMilliseconds(value)) }

func inMilliseconds(value time.Duration) float64 { return value.Seconds() * 1000 }

// median of all rounds.
func (s samples) median(what string) float64 { return median(s[what]) }

// farthest is the round's value that is farthest from what it must be; NaN if there is none. Counts that must be
// exact, and bounds of memory, hold in every round or not at all.
func (s samples) farthest(what string, from float64) float64 {
	far := math.NaN()
	for _, value := range s[what] {
		if math.IsNaN(far) || math.Abs(value-from) > math.Abs(far-from) {
			far = value
		}
	}
	return far
}

// ratio is the median of the rounds' own ratios to the sum of others, so that a machine which is slower for a while
// slows both. It is NaN if a round has not measured all of them.
func (s samples) ratio(what string, to ...string) float64 {
	var ratios []float64
	for round, value := range s[what] {
		sum := 0.0
		for _, other := range to {
			if len(s[other]) != len(s[what]) {
				return math.NaN()
			}
			sum += s[other][round]
		}
		ratios = append(ratios, value/sum)
	}
	return median(ratios)
}

// median is the middle one of the values, or half-way between the middle two; NaN if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// quantile is the smallest value that this share of the values is not above; NaN if there are none.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// quantilesOfEdits are those that a round has of its edits, and that are compared.
func quantilesOfEdits() []namedQuantile { return []namedQuantile{{"p50", 0.5}, {"p99", 0.99}} }

type namedQuantile struct {
	name string
	q    float64
}

// addEdits adds the quantiles of a round's edits of somebody, or of as many round trips to the hook.
func (s samples) addEdits(pagesPerSite int, who string, took []time.Duration) {
	values := make([]float64, len(took))
	for i, value := range took {
		values[i] = inMilliseconds(value)
	}
	for _, of := range quantilesOfEdits() {
		s.add(by(editsOf(pagesPerSite, of), who), quantile(values, of.q))
	}
}

func editsOf(pagesPerSite int, of namedQuantile) string {
	return fmt.Sprintf("edit %d %s", pagesPerSite, of.name)
}
