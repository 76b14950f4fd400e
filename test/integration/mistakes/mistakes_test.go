// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
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
	composites, decorators := split(mistakes)
	t.Run("all", func(t *testing.T) {
		makeAll(t, v1alpha1.ChildApplyDynamic, mistakes, goldens)
		makeAll(t, v1alpha1.ChildApplyServerSide, composites, goldens)
	})
	// The engine of attachments is set by a flag alone.
	serveWith(t, "--apply-strategy=server-side-apply")
	t.Run("decorators", func(t *testing.T) { makeAll(t, v1alpha1.ChildApplyServerSide, decorators, goldens) })

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

// serveWith restarts the server with one more flag.
func serveWith(t *testing.T, flag string) {
	t.Helper()
	env.StopServer(t)
	before := env.Server.Args
	env.Server.Args = append([]string{flag}, before...)
	env.StartServer(t)
	t.Cleanup(func() {
		env.Server.Args = before
		if err := errors.Join(env.Server.Stop(), env.Server.Start(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
}

// split returns the mistakes with CompositeControllers and those with DecoratorControllers.
func split(mistakes []mistake) (composites, decorators []mistake) {
	for _, m := range mistakes {
		if m.Decorator == nil {
			composites = append(composites, m)
		} else {
			decorators = append(decorators, m)
		}
	}
	return composites, decorators
}

// makeAll makes mistakes with one engine.
func makeAll(t *testing.T, engine v1alpha1.ChildApplyStrategy, mistakes []mistake, goldens map[string]*golden) {
	for _, m := range mistakes {
		for _, version := range []string{"v1", "v2"} {
			variant := fmt.Sprint(engine, " ", version)
			if !*update && !goldens[m.name].isPlayed(variant) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", m.name, engine, version), func(t *testing.T) {
				t.Parallel()
				if m.Within == "" {
					quick <- struct{}{}
					defer func() { <-quick }()
				}
				makeMistake(newRun(t, m, engine, version), variant, goldens[m.name])
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
