// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package related

import (
	"maps"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"k8s.io/apimachinery/pkg/types"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// answerLasts is the time for which an answer is used before the hook is called again.
const answerLasts = 20 * time.Minute

// Answer is the last answer of the customize hook for a parent. The zero value has no rules and is not valid.
// It is not safe for concurrent use.
type Answer struct {
	about   version
	given   time.Time
	written []pipeline.RelatedRule
	// warnings are about the written rules, and notShown about rules whose objects some hooks do not see, according to
	// the types that the host had last.
	warnings, notShown []pipeline.Warning
	// found has the written rules with their types, and rules what they select, according to the types that the host
	// had last.
	found []typed
	rules []*rule
	// reads are the rights that reading the selected objects needs.
	reads []rights.Required
}

// lasts reports whether the answer is still valid for the parent.
func (a *Answer) lasts(parent *object.Object, now time.Time) bool {
	return !a.given.IsZero() && now.Sub(a.given) < answerLasts && a.about == versionOf(parent)
}

// Warnings returns the warnings about the answer. A nil answer has none.
func (a *Answer) Warnings() []pipeline.Warning {
	switch {
	case a == nil:
		return nil
	case len(a.notShown) == 0:
		return a.warnings
	default:
		return slices.Concat(a.warnings, a.notShown)
	}
}

// WarningsHash returns the hash of the warnings; zero if there are none.
func (a *Answer) WarningsHash() uint64 {
	warnings := a.Warnings()
	if len(warnings) == 0 {
		return 0
	}
	digest := xxhash.New()
	for _, warning := range warnings {
		_, _ = digest.WriteString(warning.Message)
		_, _ = digest.Write([]byte{0xff})
	}
	return digest.Sum64()
}

// version identifies the parts of a parent that an answer may depend on: the spec, the labels and the annotations.
type version struct {
	uid        types.UID
	generation int64
	hash       uint64
}

// versionOf returns the version of a parent. If the parent has no generation to show changes of its spec, the version
// covers its entire content.
func versionOf(parent *object.Object) version {
	v := version{uid: parent.UID, generation: parent.Generation, hash: parent.Hash}
	if parent.Generation > 0 {
		digest := xxhash.New()
		addToHash(digest, parent.Labels)
		addToHash(digest, parent.Annotations)
		v.hash = digest.Sum64()
	}
	return v
}

// addToHash adds each key and value, followed by a byte that no text contains, and another such byte after the last.
func addToHash(digest *xxhash.Digest, texts map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		for _, text := range []string{key, texts[key]} {
			_, _ = digest.WriteString(text)
			_, _ = digest.Write([]byte{0xff})
		}
	}
	_, _ = digest.Write([]byte{0xfe})
}
