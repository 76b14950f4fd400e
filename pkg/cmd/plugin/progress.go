// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
)

// progress says on a terminal how many parents have been previewed. It is a line at the end of the output, which the next
// output replaces.
type progress struct {
	to   io.Writer
	of   int32
	done int
}

// newProgress returns the progress of a subject. Without a terminal nothing is printed.
func (p *preview) newProgress(of subject) *progress {
	if of.parent != nil || of.object != nil || !isTerminal(p.streams.ErrOut) {
		return &progress{to: io.Discard}
	}
	shown := &progress{to: p.streams.ErrOut}
	if status := of.controller.GetStatus(); p.labels == nil && p.namespaceOrAll() == "" && status.Parents != nil {
		shown.of = status.Parents.Total
	}
	return shown
}

// add says that more parents have been previewed.
func (p *progress) add(more int) {
	p.done += more
	if p.of >= int32(p.done) {
		_, _ = fmt.Fprintf(p.to, "%d of %d parents ...", p.done, p.of)
	} else {
		_, _ = fmt.Fprintf(p.to, "%d parents ...", p.done)
	}
}

// end removes the line.
func (p *progress) end() { _, _ = fmt.Fprint(p.to, "\r\x1b[K") }
