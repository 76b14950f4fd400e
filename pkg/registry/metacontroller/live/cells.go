// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// maxMessage bounds the bytes of a message in a table.
const maxMessage = 120

// ControllerName names a controller as kubectl get takes it.
func ControllerName(of v1alpha1.ControllerReference) string {
	if of.Kind == "DecoratorController" {
		return "dec/" + of.Name
	}
	return "cc/" + of.Name
}

// ShortMessage returns the beginning of a message in one line.
func ShortMessage(message string) string {
	return text.Shorten(text.OneLine(message), maxMessage)
}

// maxDurations bounds how many texts of durations are kept.
const maxDurations = 4096

// Durations writes durations as kubectl does. Thousands of rows share a few durations, so it caches their text.
type Durations struct {
	mu    sync.Mutex
	texts map[int64]string // by seconds
}

// Text returns the text of a duration.
func (d *Durations) Text(of time.Duration) string {
	seconds := int64(of / time.Second)
	d.mu.Lock()
	defer d.mu.Unlock()
	text, known := d.texts[seconds]
	if !known {
		if len(d.texts) >= maxDurations || d.texts == nil {
			d.texts = map[int64]string{}
		}
		text = duration.HumanDuration(of)
		d.texts[seconds] = text
	}
	return text
}
