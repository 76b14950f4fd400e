// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

// Warning is something that a sync accepts although it is probably not what the author of the hook
// means. It changes nothing in what the sync does.
type Warning struct {
	// Reason is that of the event about it.
	Reason WarningReason
	// Message says what is wrong, of which object, what becomes of it and what to do. Equal
	// warnings have equal messages: it has no times and no counts that differ from sync to sync.
	Message string
	// EachTime is true if each sync with this warning is worth an event, and not only the first one.
	EachTime bool
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
