// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// golden is a file of testdata with what kubectl shows of a mistake. Variants that show the same
// stand together.
type golden struct {
	name, mistake string
	variants      []string

	// looks has what kubectl showed, by the state in which it was asked. Variants in the same state
	// show the same, and kubectl costs much.
	looks     map[string]string
	looksLock sync.Mutex

	mu    sync.Mutex
	texts map[string]string        // by variant
	took  map[string]time.Duration // by variant: how long it took until the mistake was seen
}

// variantLine begins the part of a golden file about some variants.
const variantLine = "=== "

func readGolden(t *testing.T, m mistake) *golden {
	t.Helper()
	g := &golden{
		name: m.name, mistake: m.Mistake, variants: m.variants(),
		looks: map[string]string{}, texts: map[string]string{}, took: map[string]time.Duration{},
	}
	content, err := os.ReadFile(g.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(content), "\n"+variantLine) {
		which, text, _ := strings.Cut(part, "\n")
		for variant := range strings.SplitSeq(which, ", ") {
			if slices.Contains(g.variants, variant) {
				g.texts[variant] = strings.TrimRight(text, "\n") + "\n"
			}
		}
	}
	return g
}

func (g *golden) path() string { return filepath.Join("testdata", g.name+".txt") }

func (g *golden) want(variant string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.texts[variant]
}

func (g *golden) set(variant, text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.texts[variant] = strings.TrimRight(text, "\n") + "\n"
}

// shown returns what kubectl shows in a state, which is asked by show once.
func (g *golden) shown(state string, show func() string) string {
	g.looksLock.Lock()
	defer g.looksLock.Unlock()
	if _, known := g.looks[state]; !known {
		g.looks[state] = show()
	}
	return g.looks[state]
}

// seen notes how long it took until a mistake was seen.
func (g *golden) seen(variant string, took time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.took[variant] = took
}

// soonest returns how long it took at best. A busy machine may cause slow runs.
func (g *golden) soonest() (soonest time.Duration) {
	for _, took := range g.took {
		if soonest == 0 || took < soonest {
			soonest = took
		}
	}
	return soonest
}

// isPlayed reports whether a variant is played without -update: the first, the last unless it shows the same refusal,
// and others that show what neither of them shows. The first and the last differ in all that variants differ in. Each run
// takes a second of a processor.
func (g *golden) isPlayed(variant string) bool {
	first, last := g.variants[0], g.variants[len(g.variants)-1]
	want := g.want(variant)
	switch variant {
	case first:
		return true
	case last:
		return want != g.want(first) || !isRefusal(want)
	}
	return want != g.want(first) && want != g.want(last)
}

// isRefusal reports whether a text is about a controller that is not stored, so that there is nothing more to show.
func isRefusal(text string) bool { return text != "" && !strings.Contains(text, "$ kubectl get ") }

// same returns the variants that show a text, in order.
func (g *golden) same(text string) (same []string) {
	for _, variant := range g.variants {
		if g.texts[variant] == text {
			same = append(same, variant)
		}
	}
	return same
}

// write writes the file if any variant is known.
func (g *golden) write() error {
	if len(g.texts) == 0 {
		return nil
	}
	content := fmt.Sprintf("# %s\n", g.mistake)
	written := map[string]bool{}
	for _, variant := range g.variants {
		text, known := g.texts[variant]
		if !known || written[variant] {
			continue
		}
		same := g.same(text)
		for _, other := range same {
			written[other] = true
		}
		content += "\n" + variantLine + strings.Join(same, ", ") + "\n" + text
	}
	return os.WriteFile(g.path(), []byte(content), 0o600)
}
