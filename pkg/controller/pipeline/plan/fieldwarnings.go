// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// fieldWarnings makes warnings of unknown fields: one for each field of a kind, however many objects
// have it.
type fieldWarnings struct {
	fields []*warnedField
	byName map[fieldOfKind]*warnedField
	// isCut is true if there are more fields.
	isCut bool
}

type fieldOfKind struct {
	kind schema.GroupKind
	path string
}

type warnedField struct {
	openapi.UnknownField
	objects     warnedObjects
	consequence fieldConsequence
	advice      fieldAdvice
}

// fieldConsequence is what the host does because of an unknown field.
type fieldConsequence string

const (
	isDropped    fieldConsequence = " and drops it"
	isNotCreated fieldConsequence = " and refuses to create a child with it"
	isNotChanged fieldConsequence = " and refuses a change with it, so that the child stays as it is"
	isNotSent    fieldConsequence = ""
)

// consequenceFor returns what the host does because of an unknown field of a child of that group; the
// child is nil if it is new. Server-side apply refuses the child as a whole. Of a type without a schema,
// only the host can have told the field, and then it has accepted the child.
func consequenceFor(strategy Strategy, group pipeline.Group, observed *object.Object) fieldConsequence {
	switch {
	case strategy.Engine != ServerSideApply || group.Schema == nil:
		return isDropped
	case observed == nil:
		return isNotCreated
	case strategy.Method != Recreate && strategy.Method != InPlace:
		return isNotSent
	}
	return isNotChanged
}

// fieldAdvice is what to do about an unknown field if no known one is near.
type fieldAdvice string

const (
	adviceForChild    fieldAdvice = "check its spelling and its place"
	adviceForForeign  fieldAdvice = "check its spelling; to keep a value of your own, use a label or an annotation"
	adviceForDeclared fieldAdvice = "add it to the schema in the CustomResourceDefinition, or leave it out of the status"
)

// adviceForStatus returns the advice about a field of a parent's status. A foreign status is not
// described by a CustomResourceDefinition.
func adviceForStatus(foreign bool) fieldAdvice {
	if foreign {
		return adviceForForeign
	}
	return adviceForDeclared
}

// add adds the unknown fields of an object.
func (w *fieldWarnings) add(of object.Key, fields []openapi.UnknownField, consequence fieldConsequence, advice fieldAdvice) {
	for _, field := range fields {
		name := fieldOfKind{of.GroupKind, field.Path}
		if known := w.byName[name]; known != nil {
			known.objects.more++
			continue
		}
		if len(w.fields) >= maxKeptFields {
			w.isCut = true
			continue
		}
		if w.byName == nil {
			w.byName = map[fieldOfKind]*warnedField{}
		}
		w.byName[name] = &warnedField{UnknownField: field, objects: newWarnedObjects(of), consequence: consequence, advice: advice}
		w.fields = append(w.fields, w.byName[name])
	}
}

const (
	// maxUnknownFields is the maximum number of unknown fields of one plan that have a warning each.
	maxUnknownFields = 10
	// maxKeptFields is how many are counted.
	maxKeptFields = 1000
)

// warnings returns the warnings in the order of kinds and paths.
func (w *fieldWarnings) warnings() []pipeline.Warning {
	if len(w.fields) == 0 {
		return nil
	}
	slices.SortFunc(w.fields, func(a, b *warnedField) int {
		return cmp.Or(cmp.Compare(a.objects.kind.Kind, b.objects.kind.Kind), cmp.Compare(a.objects.kind.Group, b.objects.kind.Group), cmp.Compare(a.Path, b.Path))
	})
	var warnings []pipeline.Warning
	warned := sets.New[string]()
	for _, field := range w.fields {
		warning := field.warning()
		if !warned.Has(warning.About) && len(warned) < maxUnknownFields {
			warnings = append(warnings, warning)
		}
		warned.Insert(warning.About)
	}
	if more := len(warned) - maxUnknownFields; more > 0 {
		count := strconv.Itoa(more)
		if w.isCut {
			count = "over " + count
		}
		warnings = append(warnings, pipeline.Warning{Reason: pipeline.UnknownField, About: "more fields",
			Message: fmt.Sprintf("the cluster does not know %s more fields", count)})
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
		fmt.Sprintf("%s: the cluster does not know the field %s%s; %s", f.objects, f.Path, f.consequence, advice))
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
