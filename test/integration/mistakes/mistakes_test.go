// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// leastMistakes is the least number of mistakes in the table.
const leastMistakes = 40

func TestMistakesAreSeen(t *testing.T) {
	mistakes := readMistakes(t)
	if len(mistakes) < leastMistakes {
		t.Errorf("there are %d mistakes, want at least %d", len(mistakes), leastMistakes)
	}
	installTypes(t)
	goldens := map[string]*golden{}
	for _, m := range mistakes {
		goldens[m.name] = readGolden(t, m)
	}
	t.Run("all", func(t *testing.T) {
		for _, m := range mistakes {
			makeInAllWays(t, m, goldens[m.name])
		}
	})

	if *update {
		writeAll(t, mistakes, goldens)
		return
	}
	for _, m := range mistakes {
		if soonest := goldens[m.name].soonest(); soonest > m.within() {
			t.Errorf("%s: it was seen after %s at the soonest, want %s at most", m.name, soonest, m.within())
		}
	}
}

func writeAll(t *testing.T, mistakes []mistake, goldens map[string]*golden) {
	for _, m := range mistakes {
		if err := goldens[m.name].write(); err != nil {
			t.Error(err)
		}
	}
}

// installTypes brings the types of parents into the cluster.
func installTypes(t *testing.T) {
	status := object{"type": "object", "properties": object{
		"observedGeneration": object{"type": "integer"},
		"phase":              object{"type": "string"},
		"replicas":           object{"type": "integer"},
		"conditions": object{"type": "array", "items": object{"type": "object", "properties": object{
			"type": object{"type": "string"}, "status": object{"type": "string"},
			"reason": object{"type": "string"}, "message": object{"type": "string"},
		}}},
	}}
	spec := object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	fields := object{"spec": spec, "status": status}
	env.Install(t, harness.CRD{Kind: "Website", Group: "example.com", Schema: fields})
	env.Install(t, harness.CRD{Kind: "Page", Group: "pages.example.com", Schema: fields, NoStatus: true})
}

// makeInAllWays makes a mistake with its engines and versions of the hook protocol.
func makeInAllWays(t *testing.T, m mistake, g *golden) {
	for _, engine := range m.engines() {
		for _, version := range versions {
			variant := variantOf(engine, version)
			if !*update && !g.isPlayed(variant) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", m.name, engine, version), func(t *testing.T) {
				t.Parallel()
				if m.Within == "" {
					quick <- struct{}{}
					defer func() { <-quick }()
				}
				makeMistake(newRun(t, m, engine, version), variant, g)
			})
		}
	}
}

func makeMistake(r *run, variant string, g *golden) {
	r.make()
	got := ""
	if *update {
		var err error
		if got, err = r.shownOnceUnchanged(g); err != nil {
			r.Fatal(err)
		}
		g.set(variant, got)
	} else {
		want := g.want(variant)
		shown, took, err := r.shown(g, want)
		if err != nil {
			r.Fatal(err)
		}
		g.seen(variant, took)
		r.Logf("it was seen after %s", took.Round(100*time.Millisecond))
		if got = shown; got != want {
			r.Errorf("kubectl shows something else than %s (-want +got):\n%s", g.path(), cmp.Diff(want, got))
		}
	}
	for _, word := range r.m.Seen {
		if !strings.Contains(got, word) {
			r.Errorf("kubectl does not show %q:\n%s", word, got)
		}
	}
	if healthy(got) {
		r.Errorf("everything seems healthy:\n%s", got)
	}
}
