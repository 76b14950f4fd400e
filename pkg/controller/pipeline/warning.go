// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Warning is something that a sync accepts although it is probably not what the author of the hook
// means. It changes nothing in what the sync does.
type Warning struct {
	// Reason is that of the event about it.
	Reason WarningReason
	// About tells the warning from others of the same reason: warnings of later syncs about the same
	// have the same value. If it is empty, the message does that, and then has no times and no counts
	// that differ from sync to sync.
	About string
	// Message says what is wrong, of which object, what becomes of it and what to do.
	Message string
	// EachTime is true if each sync with this warning is worth an event, and not only the first one.
	EachTime bool
}

// Key identifies the warning among those about one parent, in this sync and in later ones.
func (w *Warning) Key() string { return string(w.Reason) + " " + cmp.Or(w.About, w.Message) }

// UnknownFieldWarning returns the warning that the host does not know a field of objects of a kind.
// Fields of different items of a list count as the same one.
func UnknownFieldWarning(kind schema.GroupKind, path, message string) Warning {
	return Warning{Reason: UnknownField, About: kind.String() + " " + withoutIndexes(path), Message: message}
}

// withoutIndexes returns the path of a field without the indexes of items.
func withoutIndexes(path string) string {
	var kept strings.Builder
	for {
		before, after, found := strings.Cut(path, "[")
		kept.WriteString(before)
		if !found {
			return kept.String()
		}
		kept.WriteString("[]")
		_, path, _ = strings.Cut(after, "]")
	}
}

// WarningReason is the reason of the event about a Warning.
type WarningReason string

const (
	// UnknownField: the cluster does not know a field of a child or of the parent, and drops it.
	UnknownField WarningReason = "UnknownField"
	// UnknownAnswerField: an answer has a field that is none of the protocol, so it is not read.
	UnknownAnswerField WarningReason = "UnknownAnswerField"
	// ClusterWarning: the cluster has accepted a write with a warning.
	ClusterWarning WarningReason = "ClusterWarning"
)
