// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// Redacted replaces text that must not be in logs and errors.
const Redacted = "(not shown, there are Secrets in it)"

// InvolvesSecrets reports whether a sync or finalize request shows a Secret or could show one.
func InvolvesSecrets(snapshot *pipeline.Snapshot) bool {
	return IsSecret(snapshot.Parent) ||
		slices.ContainsFunc(snapshot.Children, func(group pipeline.Group) bool { return hasSecrets(group.Type, group.Claimed) }) ||
		slices.ContainsFunc(snapshot.Related, func(group pipeline.Related) bool { return hasSecrets(group.Type, group.Objects) })
}

func hasSecrets(of object.Type, objects []*object.Object) bool {
	return of.Kind == "Secret" && of.Group == "" || slices.ContainsFunc(objects, IsSecret)
}

// IsSecret reports whether an object is a Secret.
func IsSecret(o *object.Object) bool { return o.APIVersion == "v1" && o.Kind == "Secret" }

// MentionsSecrets reports whether there may be Secrets in an answer, which need not be JSON.
func MentionsSecrets(answer []byte) bool { return bytes.Contains(answer, []byte("Secret")) }

// maxExcerptBytes is the length of the text that errors quote.
const maxExcerptBytes = 120

// Excerpt returns the beginning of a text on one line, enough to recognise the text by, or
// Redacted.
func Excerpt(text []byte, redact bool) string {
	if redact {
		return Redacted
	}
	line := strings.Join(strings.Fields(string(text[:min(len(text), 2*maxExcerptBytes)])), " ")
	if len(line) <= maxExcerptBytes && len(text) <= 2*maxExcerptBytes {
		return line
	}
	return strings.ToValidUTF8(line[:min(len(line), maxExcerptBytes)], "") + "…"
}
