// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/metacontroller/metacontroller-apiserver/pkg/text"

// The maximum lengths, in bytes, of the message of a condition and of the last error. With WholeErrors, it
// is the maximum that a condition can have.
const (
	MaxMessage      = 4096
	MaxWholeMessage = 32768
)

// message returns a text of the controller's health as the status shows it.
func (h *Health) message(message string) string {
	if h.WholeErrors {
		return text.Shorten(message, MaxWholeMessage)
	}
	return text.Shorten(message, MaxMessage)
}

// inCondition returns the text of an error as a condition shows it.
func inCondition(err error) string { return text.Shorten(Summary(err), MaxMessage) }
