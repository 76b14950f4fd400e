// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// warn adds the warnings about the desired objects to the plan.
func (p *parent) warn(plan *pipeline.Plan, upToDate *UpToDateCache, duplicates []string, desired []*object.Object) {
	plan.Warnings = append(p.unknown.warnings(), duplicateWarnings(duplicates)...)
	plan.Warnings = append(plan.Warnings, p.warned.warnings()...)
	plan.Warnings = append(append(plan.Warnings, p.kept...), p.ownerWarnings...)
	if plan.Warnings == nil {
		plan.Warnings = p.outdated
	} else {
		plan.Warnings = append(plan.Warnings, p.outdated...)
	}
	upToDate.unknown.prune(p.schemasVersion, desired)
	upToDate.hostWarnings = keepDesired(upToDate.hostWarnings, upToDate.unknown.status, desired)
}

// warnOfChild adds warnings about fields of a desired child that the host does not know, the warnings of the host about
// the last write of the child, and warnings about owners that cannot own it. If the host now knows a field that it did
// not know before, the child is compared again.
func (c *children) warnOfChild(group pipeline.Group, strategy Strategy, observed, desired *object.Object) {
	if observed == desired {
		return // a rollout leaves it as it is
	}
	cache := &c.upToDate.unknown
	fields, current := cache.get(desired.Hash, c.parent.schemasVersion)
	if !current && group.Schema != nil {
		before := fields
		fields = slices.DeleteFunc(group.Schema.UnknownFields(desired.JSON()), isBelowStatus)
		cache.put(desired.Hash, c.parent.schemasVersion, fields)
		if observed != nil && anyBecameKnown(before, fields) {
			c.upToDate.forget(observed.UID)
		}
	}
	texts := c.upToDate.hostWarnings[desired.Hash]
	if len(fields) == 0 && len(texts) == 0 && len(desired.OwnerReferences) == 0 {
		return
	}
	of := object.Key{GroupKind: group.Type.GroupKind(), NamespacedName: types.NamespacedName{Name: desired.Name}}
	if group.Type.Namespaced {
		of.Namespace = c.parent.namespaceOf(desired)
	}
	c.parent.unknown.add(of, fields, consequenceFor(strategy, group, observed), adviceForChild)
	c.parent.warned.add(of, texts)
	c.parent.warnOfOwners(of, desired)
}

// isBelowStatus reports whether a field is in the status of a child, which is not written.
func isBelowStatus(field openapi.UnknownField) bool { return strings.HasPrefix(field.Path, "status.") }

// warnOfStatus warns of fields of the desired status that the host does not know. The status is JSON and has that
// hash. If the host now knows a field that it did not know before, the status is compared again.
func (p *parent) warnOfStatus(upToDate *UpToDateCache, hash uint64, status []byte) {
	cache := &upToDate.unknown
	fields, current := cache.get(hash, p.schemasVersion)
	if !current && p.schema != nil {
		before := fields
		fields = p.schema.UnknownFields(slices.Concat([]byte(`{"status":`), status, []byte("}")))
		fields = slices.DeleteFunc(fields, func(field openapi.UnknownField) bool { return isGenerated(field.Path, status) })
		cache.put(hash, p.schemasVersion, fields)
		if anyBecameKnown(before, fields) {
			upToDate.forget(p.UID)
		}
	}
	cache.status = hash
	p.warned.add(p.key(), upToDate.hostWarnings[hash])
	p.unknown.add(p.key(), fields, isDropped, adviceForStatus(p.foreignStatus))
}

// anyBecameKnown reports whether the host now knows a field that it did not know before. The lengths do not show it,
// because other fields may have become unknown.
func anyBecameKnown(before, now []openapi.UnknownField) bool {
	if len(before) == 0 {
		return false
	}
	unknown := make(sets.Set[string], len(now))
	for _, field := range now {
		unknown.Insert(field.Path)
	}
	return slices.ContainsFunc(before, func(field openapi.UnknownField) bool { return !unknown.Has(field.Path) })
}

// isGenerated reports whether an unknown field of the parent comes from us and not from the hook. Many types of
// parents have no status.observedGeneration, or no status at all.
func isGenerated(path string, status []byte) bool {
	switch path {
	case "status.observedGeneration":
		return true
	case "status":
		answered := false
		err := object.Members(status, func(name string, _ []byte) error {
			answered = answered || name != "observedGeneration"
			return nil
		})
		return err == nil && !answered
	}
	return false
}

// splitWarnings returns the paths of the unknown fields that the host warned of in its response to a write, and its
// other warnings.
func splitWarnings(outcome *pipeline.Outcome) (paths, others []string) {
	for _, text := range outcome.Warnings {
		path, isUnknown := strings.CutPrefix(text, `unknown field "`)
		path = strings.TrimSuffix(path, `"`)
		switch {
		case !isUnknown:
			others = append(others, text)
		case !outcome.Op.OnParent() || !isGenerated(path, object.Lookup(outcome.Body, "status")):
			paths = append(paths, path)
		}
	}
	return paths, others
}

// fieldWarnings collects warnings about unknown fields: one for each field of a kind, regardless of how many objects
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

// fieldConsequence is the reaction of the host to an unknown field.
type fieldConsequence string

const (
	isDropped    fieldConsequence = " and drops it"
	isNotCreated fieldConsequence = " and rejects the creation of a child with it"
	isNotChanged fieldConsequence = " and rejects a change with it, so the child stays as it is"
	isNotSent    fieldConsequence = ""
)

// consequenceFor returns the reaction of the host to an unknown field of a child of that group; the observed child is
// nil if it does not exist. Server-side apply refuses the entire child. If the type has no schema, the host itself has
// warned of the field, so it has accepted the child.
func consequenceFor(strategy Strategy, group pipeline.Group, observed *object.Object) fieldConsequence {
	switch {
	case strategy.Engine != ServerSideApply || group.Schema == nil:
		return isDropped
	case observed == nil:
		return isNotCreated
	case strategy.Method.leavesAlone():
		return isNotSent
	}
	return isNotChanged
}

// fieldAdvice is the advice about an unknown field that no known field resembles.
type fieldAdvice string

const (
	adviceForChild    fieldAdvice = "check its spelling and its place"
	adviceForForeign  fieldAdvice = "check its spelling; to keep a value of your own, use a label or an annotation"
	adviceForDeclared fieldAdvice = "add it to the schema in the CustomResourceDefinition, or leave it out of the status"
)

// adviceForStatus returns the advice about a field of a parent's status. A status with another writer is not in a
// CustomResourceDefinition.
func adviceForStatus(foreign bool) fieldAdvice {
	if foreign {
		return adviceForForeign
	}
	return adviceForDeclared
}

// add adds the unknown fields of an object.
func (w *fieldWarnings) add(
	of object.Key, fields []openapi.UnknownField, consequence fieldConsequence, advice fieldAdvice,
) {
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
		w.byName[name] = &warnedField{field, newWarnedObjects(of), consequence, advice}
		w.fields = append(w.fields, w.byName[name])
	}
}

const (
	// maxUnknownFields is the maximum number of unknown fields in a plan that get a warning each.
	maxUnknownFields = 10
	// maxKeptFields is the maximum number of unknown fields that are counted.
	maxKeptFields = 1000
)

// warnings returns the warnings in the order of kinds and paths.
func (w *fieldWarnings) warnings() []pipeline.Warning {
	if len(w.fields) == 0 {
		return nil
	}
	slices.SortFunc(w.fields, func(a, b *warnedField) int {
		of, other := a.objects.kind, b.objects.kind
		return cmp.Or(cmp.Compare(of.Kind, other.Kind), cmp.Compare(of.Group, other.Group), cmp.Compare(a.Path, b.Path))
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
		warnings = append(warnings, pipeline.Warning{Reason: v1alpha1.ReasonUnknownField, About: "more fields",
			Message: fmt.Sprintf("the cluster does not know %s more fields", count)})
	}
	return warnings
}

// warning returns the warning: the objects with the field, the reaction of the host, and the advice.
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

// hostWarnings collects the host's own warnings: one for each text about a kind, regardless of the number of objects.
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

// maxHostWarnings is the maximum number of texts in a plan that get a warning each.
const maxHostWarnings = 10

// warnings returns the warnings in the order in which they were added.
func (w *hostWarnings) warnings() (warnings []pipeline.Warning) {
	for _, warned := range w.texts[:min(len(w.texts), maxHostWarnings)] {
		warnings = append(warnings, warned.warning())
	}
	if more := len(w.texts) - maxHostWarnings; more > 0 {
		warnings = append(warnings, pipeline.Warning{Reason: v1alpha1.ReasonClusterWarning, About: "more warnings",
			Message: fmt.Sprintf("the cluster returns %d more warnings, which appear after the others are resolved", more)})
	}
	return warnings
}

func (w *hostWarning) warning() pipeline.Warning {
	return pipeline.Warning{Reason: v1alpha1.ReasonClusterWarning, About: w.objects.kind.String() + " " + w.text,
		Message: w.objects.String() + ": the cluster warns: " + w.text}
}

// WriteWarnings returns the host's warnings about the writes of a plan, each once, except for those that the plan has
// already.
func WriteWarnings(snapshot *pipeline.Snapshot, plan *pipeline.Plan, outcomes []pipeline.Outcome) []pipeline.Warning {
	var unknown fieldWarnings
	var others hostWarnings
	for i := range outcomes {
		outcome := &outcomes[i]
		advice := adviceForChild
		if outcome.Op.OnParent() {
			advice = adviceForStatus(snapshot.ForeignStatus)
		}
		paths, texts := splitWarnings(outcome)
		for _, path := range paths {
			field := openapi.UnknownField{Path: path, Meant: outcome.Schema.Meant(path)}
			unknown.add(outcome.Key(), []openapi.UnknownField{field}, isDropped, advice)
		}
		others.add(outcome.Key(), texts)
	}
	warnings := append(unknown.warnings(), others.warnings()...)
	return slices.DeleteFunc(warnings, func(warning pipeline.Warning) bool {
		return slices.ContainsFunc(plan.Warnings, func(planned pipeline.Warning) bool {
			return planned.Key() == warning.Key()
		})
	})
}
