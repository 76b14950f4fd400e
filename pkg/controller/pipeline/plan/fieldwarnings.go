// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// fieldWarnings makes warnings of unknown fields: one for each field of a kind, however many objects
// have it.
type fieldWarnings struct{ fields []warnedField }

type warnedField struct {
	openapi.UnknownField
	objects warnedObjects
	advice  fieldAdvice
}

// fieldAdvice is what to do about an unknown field if no known one is near.
type fieldAdvice string

const (
	adviceForChild    fieldAdvice = "check its spelling and its place"
	adviceForDeclared fieldAdvice = "add it to the schema in the CustomResourceDefinition, or leave it out of the status"
)

// adviceForStatus returns the advice about a field of a parent's status. A foreign status is not
// described by a CustomResourceDefinition.
func adviceForStatus(foreign bool) fieldAdvice {
	if foreign {
		return adviceForChild
	}
	return adviceForDeclared
}

// add adds the unknown fields of an object.
func (w *fieldWarnings) add(of object.Key, fields []openapi.UnknownField, advice fieldAdvice) {
	for _, field := range fields {
		same := func(other warnedField) bool { return other.Path == field.Path && other.objects.kind == of.GroupKind }
		if i := slices.IndexFunc(w.fields, same); i >= 0 {
			w.fields[i].objects.more++
			continue
		}
		w.fields = append(w.fields, warnedField{UnknownField: field, objects: newWarnedObjects(of), advice: advice})
	}
}

// maxUnknownFields is the maximum number of unknown fields of one plan that have a warning each.
const maxUnknownFields = 10

// warnings returns the warnings in the order of kinds and paths.
func (w *fieldWarnings) warnings() []pipeline.Warning {
	if len(w.fields) == 0 {
		return nil
	}
	slices.SortStableFunc(w.fields, func(a, b warnedField) int {
		return cmp.Or(cmp.Compare(a.objects.kind.String(), b.objects.kind.String()), cmp.Compare(a.Path, b.Path))
	})
	var warnings []pipeline.Warning
	for i := range w.fields {
		warning := w.fields[i].warning()
		if !slices.ContainsFunc(warnings, func(other pipeline.Warning) bool { return other.About == warning.About }) {
			warnings = append(warnings, warning)
		}
	}
	if more := len(warnings) - maxUnknownFields; more > 0 {
		warnings = append(warnings[:maxUnknownFields], pipeline.Warning{Reason: pipeline.UnknownField, About: "more fields",
			Message: fmt.Sprintf("the cluster does not know %d more fields and drops them", more)})
	}
	return warnings
}

// warning says of which objects the field is, what becomes of it and what to do.
func (f *warnedField) warning() pipeline.Warning {
	advice := string(f.advice)
	if f.Meant != "" {
		advice = fmt.Sprintf("did you mean %s?", f.Meant)
		if f.advice == adviceForDeclared {
			advice += " If not, " + string(f.advice)
		}
	}
	return pipeline.UnknownFieldWarning(f.objects.kind, f.Path,
		fmt.Sprintf("%s: the cluster does not know the field %s and drops it; %s", f.objects, f.Path, advice))
}

// warnedObjects are objects of one kind that have the same warning.
type warnedObjects struct {
	kind schema.GroupKind
	// first is the first of them; more is the number of the others.
	first string
	more  int
}

func newWarnedObjects(first object.Key) warnedObjects {
	return warnedObjects{kind: first.GroupKind, first: first.String()}
}

func (o warnedObjects) String() string {
	if o.more == 0 {
		return o.first
	}
	return fmt.Sprintf("%s and %d more", o.first, o.more)
}
