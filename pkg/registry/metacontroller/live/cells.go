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

// controllerName names a controller as kubectl get takes it.
func controllerName(of v1alpha1.ControllerReference) string {
	if of.Kind == "DecoratorController" {
		return "dec/" + of.Name
	}
	return "cc/" + of.Name
}

// shortMessage returns the beginning of a message in one line.
func shortMessage(message string) string {
	return text.Shorten(text.OneLine(message), maxMessage)
}

// maxDurations bounds how many texts of durations are kept.
const maxDurations = 4096

// durationTexts writes durations as kubectl does. Thousands of rows share a few durations, so it caches their text.
type durationTexts struct {
	mu        sync.Mutex
	bySeconds map[int64]string
}

func (d *durationTexts) of(length time.Duration) string {
	seconds := int64(length / time.Second)
	d.mu.Lock()
	defer d.mu.Unlock()
	text, known := d.bySeconds[seconds]
	if !known {
		if len(d.bySeconds) >= maxDurations || d.bySeconds == nil {
			d.bySeconds = map[int64]string{}
		}
		text = duration.HumanDuration(length)
		d.bySeconds[seconds] = text
	}
	return text
}
