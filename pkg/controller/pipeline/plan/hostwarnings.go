// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// hostWarnings makes warnings of what the host itself warned of: one for each text about a kind, however
// many objects have it.
type hostWarnings struct {
	texts  []*hostWarning
	byText map[textOfKind]*hostWarning
}

type textOfKind struct {
	kind schema.GroupKind
	text string
}

type hostWarning struct {
	objects warnedObjects
	text    string
}

// add adds the warnings about an object.
func (w *hostWarnings) add(of object.Key, texts []string) {
	for _, text := range texts {
		same := textOfKind{of.GroupKind, text}
		if known := w.byText[same]; known != nil {
			known.objects.more++
			continue
		}
		if w.byText == nil {
			w.byText = map[textOfKind]*hostWarning{}
		}
		w.byText[same] = &hostWarning{newWarnedObjects(of), text}
		w.texts = append(w.texts, w.byText[same])
	}
}

// maxHostWarnings is the maximum number of texts of one plan that have a warning each.
const maxHostWarnings = 10

// warnings returns the warnings in the order in which they were added.
func (w *hostWarnings) warnings() (warnings []pipeline.Warning) {
	for _, warned := range w.texts[:min(len(w.texts), maxHostWarnings)] {
		warnings = append(warnings, warned.warning())
	}
	if more := len(w.texts) - maxHostWarnings; more > 0 {
		warnings = append(warnings, pipeline.Warning{Reason: pipeline.ClusterWarning, About: "more warnings",
			Message: fmt.Sprintf("the cluster gives %d more warnings; they are shown when others are resolved", more)})
	}
	return warnings
}

func (w *hostWarning) warning() pipeline.Warning {
	return pipeline.Warning{Reason: pipeline.ClusterWarning, About: w.objects.kind.String() + " " + w.text,
		Message: w.objects.String() + ": the cluster warns: " + w.text}
}

// hostWarningsCache has the warnings with which the host answered the last writes of what is desired
// for one parent, by the hash of that. They hold as long as the same is desired. The zero value is empty.
type hostWarningsCache map[uint64][]string

// put notes the warnings with which the host answered a write of what is desired; none if there were
// none.
func (c *hostWarningsCache) put(desired uint64, texts []string) {
	switch {
	case len(texts) == 0:
		delete(*c, desired)
	case *c == nil:
		*c = hostWarningsCache{desired: texts}
	default:
		(*c)[desired] = texts
	}
}
