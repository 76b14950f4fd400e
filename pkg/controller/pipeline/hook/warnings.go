// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/enumerate"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
)

// maxWarnings limits the warnings about one answer.
const maxWarnings = 5

// maxListed is how many children a message names at most.
const maxListed = 5

// warnings returns a warning about each field of an answer that the protocol does not have. An answer that
// lacks the field of children deletes those in the snapshot; it is nil if the answer has no such field.
func (w *Webhook) warnings(d *protocol.Decoder, childrenField string, snapshot *pipeline.Snapshot) []pipeline.Warning {
	unknown := d.UnknownFields()
	if len(unknown) == 0 {
		return nil
	}
	lost := childrenToLose(snapshot)
	costsChildren := func(field *protocol.UnknownField) bool {
		return len(lost) > 0 && (field.Meant == childrenField && field.MeantIsAbsent || slices.Contains(field.Wraps, childrenField))
	}
	slices.SortFunc(unknown, func(a, b *protocol.UnknownField) int {
		if costs := costsChildren(a); costs != costsChildren(b) {
			if costs {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Path, b.Path)
	})
	unknown = slices.CompactFunc(unknown, func(a, b *protocol.UnknownField) bool { return a.Path == b.Path })
	warnings := make([]pipeline.Warning, 0, min(len(unknown), maxWarnings))
	for _, field := range unknown[:cap(warnings)] {
		warning := pipeline.Warning{Reason: pipeline.UnknownAnswerField, Message: w.unknownField(field)}
		if costsChildren(field) {
			warning = w.childrenDeleted(field, childrenField, lost)
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// childrenDeleted returns the warning that an answer costs all children, because their
// field is misspelt or inside another one.
func (w *Webhook) childrenDeleted(field *protocol.UnknownField, childrenField string, lost []string) pipeline.Warning {
	return pipeline.Warning{Reason: pipeline.ChildrenDeleted, About: w.unknownField(field), EachTime: true, Message: fmt.Sprintf(
		"All %[1]s of this object are deleted (%[2]s), because the answer of the %[3]s hook (%[4]s) has no field %[1]q. "+
			"It has the field %[5]q, which is not read: %[6]s "+
			"Hooks of version v2, or with responseUnMarshallMode: strict, refuse such an answer and delete nothing.",
		childrenField, enumerate.First(maxListed, lost), w.name, w.shown, field.Path, advice(field))}
}

func (w *Webhook) unknownField(field *protocol.UnknownField) string {
	return fmt.Sprintf("The answer of the %s hook (%s) has the field %q, which is not read, because the hook protocol has no such field: %s",
		w.name, w.shown, field.Path, advice(field))
}

// advice returns what to do about a field as the end of a sentence.
func advice(field *protocol.UnknownField) string {
	if advice := field.Advice(); strings.HasSuffix(advice, "?") {
		return advice
	}
	return field.Advice() + "."
}

// childrenToLose returns the children that an answer about the snapshot without children deletes. The
// answer about an earlier version of a parent deletes none.
func childrenToLose(snapshot *pipeline.Snapshot) (lost []string) {
	if snapshot == nil || !snapshot.Managed || snapshot.Present != nil {
		return nil
	}
	for _, group := range snapshot.Children {
		for _, child := range group.Claimed {
			if child.DeletionTimestamp == nil {
				lost = append(lost, child.String())
			}
		}
	}
	return lost
}
