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
)

// answerLasts is how long an answer is good for.
const answerLasts = 20 * time.Minute

// Answer is the last answer about a parent, kept as long as it is not to be asked for
// again. The zero value is none. It is not safe for concurrent use.
type Answer struct {
	about   version
	given   time.Time
	written []pipeline.RelatedRule
	// found and rules are what was written with the types the host had last.
	found []typed
	rules []*rule
}

// lasts tells whether the answer is good for the parent as it is.
func (a *Answer) lasts(parent *object.Object, now time.Time) bool {
	return !a.given.IsZero() && now.Sub(a.given) < answerLasts && a.about == versionOf(parent)
}

// version is what of a parent an answer may depend on: its spec, its labels and its
// annotations.
type version struct {
	uid        types.UID
	generation int64
	hash       uint64
}

// versionOf takes the whole content of a parent without a generation, which does not
// tell by itself when its spec changes.
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

// addToHash adds each key and value with a byte behind it that is in no text, and
// another one behind them all.
func addToHash(digest *xxhash.Digest, texts map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		for _, text := range []string{key, texts[key]} {
			_, _ = digest.WriteString(text)
			_, _ = digest.Write([]byte{0xff})
		}
	}
	_, _ = digest.Write([]byte{0xfe})
}
