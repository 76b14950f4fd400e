// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/openapi"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// warnOfChild adds the fields of a desired child that the host does not know, what the host warned of when it was
// written, and owners that cannot own it to the warnings. The child is compared again if the host knows fields by now
// that it did not know before.
func (c *children) warnOfChild(group pipeline.Group, strategy Strategy, observed, desired *object.Object) {
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

// isBelowStatus reports whether a field is in the status of a child. That is not written anyway.
func isBelowStatus(field openapi.UnknownField) bool { return strings.HasPrefix(field.Path, "status.") }

// warnOfStatus adds the fields of the desired status that the host does not know to the warnings. The
// status is JSON and has that hash. It is compared again if the host knows fields by now that it did not
// know before.
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

// anyBecameKnown reports whether the host knows a field that it did not know before. As many others may have become
// unknown.
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

// isGenerated reports whether a field of the parent that the host does not know comes from us alone, and
// not from the hook. Many types of parents have no status.observedGeneration, or no status at all.
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

// toldUnknown returns the paths of the fields that the host called unknown when it answered a write, and
// its other warnings.
func toldUnknown(outcome *pipeline.Outcome) (paths, others []string) {
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
