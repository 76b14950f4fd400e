// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
)

// maxWarnings limits the warnings about one answer.
const maxWarnings = 5

// warnings returns a warning about each field of an answer that the protocol does not have. Deleted is
// the name of the field without which children are deleted; empty if none are.
func (w *Webhook) warnings(d *protocol.Decoder, deleted string) []pipeline.Warning {
	unknown := d.UnknownFields()
	if len(unknown) == 0 {
		return nil
	}
	costsChildren := func(field *protocol.UnknownField) bool {
		return deleted != "" && field.Meant == deleted && field.MeantIsAbsent
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
	unknown = slices.CompactFunc(unknown, func(a, b *protocol.UnknownField) bool { return *a == *b })
	warnings := make([]pipeline.Warning, 0, min(len(unknown), maxWarnings))
	for _, field := range unknown[:cap(warnings)] {
		warning := pipeline.Warning{Reason: pipeline.UnknownAnswerField, Message: w.unknownField(field)}
		if costsChildren(field) {
			warning.EachTime = true
			warning.Message = fmt.Sprintf("All %[1]s of this object are deleted, because the answer of the %[2]s hook (%[3]s) has no field %[1]q. "+
				"It has the field %[4]q, which is not read: did you mean %[1]q? "+
				"With responseUnMarshallMode: strict, such an answer is an error and deletes nothing.", deleted, w.name, w.shown, field.Path)
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

func (w *Webhook) unknownField(field *protocol.UnknownField) string {
	text := fmt.Sprintf("The answer of the %s hook (%s) has the field %q, which is not read, because the hook protocol has no such field", w.name, w.shown, field.Path)
	if field.Meant == "" {
		return text + ": leave it out."
	}
	return fmt.Sprintf("%s: did you mean %q?", text, field.Meant)
}

// losesChildren reports whether an answer about the snapshot without children deletes some. The answer
// about an earlier version of a parent deletes none.
func losesChildren(snapshot *pipeline.Snapshot) bool {
	return snapshot.Managed && snapshot.Present == nil && slices.ContainsFunc(snapshot.Children, func(group pipeline.Group) bool {
		return slices.ContainsFunc(group.Claimed, func(child *object.Object) bool { return child.DeletionTimestamp == nil })
	})
}
