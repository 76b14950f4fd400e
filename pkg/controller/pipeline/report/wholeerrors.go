// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "strings"

// maxMessage is the maximum length, in bytes, of the message of a condition.
const maxMessage = 32768

// message returns a text of the controller's health as the status shows it: its beginning or, with
// WholeErrors, as much of it as a condition can have.
func (h *Health) message(text string) string {
	switch {
	case !h.WholeErrors:
		return truncate(text)
	case len(text) > maxMessage:
		const ellipsis = "…"
		return strings.ToValidUTF8(text[:maxMessage-len(ellipsis)], "") + ellipsis
	default:
		return text
	}
}
