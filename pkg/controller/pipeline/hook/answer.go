// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/text"
)

// checkStrict returns the strict errors of an answer as one error if answers of the hook are read strictly. Otherwise
// it logs them.
func (w *Webhook) checkStrict(ctx context.Context, d *protocol.Decoder) error {
	found := d.StrictErrors()
	if len(found) == 0 || !w.strict() && !w.logsStrictErrors(ctx) {
		return nil
	}
	if w.strict() {
		texts := make([]string, len(found))
		for i, err := range found {
			texts[i] = err.Error()
		}
		return fmt.Errorf("%w: %s; %s, unknown and duplicate fields are errors",
			ErrMalformed, d.Redactor.Values(strings.Join(texts, ", ")), w.whyStrict())
	}
	all := d.Redactor.Values(utilerrors.NewAggregate(found).Error())
	klog.FromContext(ctx).Info("Hook answer has fields that are ignored", "hook", w.name, "url", w.shown, "fields", all)
	return nil
}

// strict reports whether an answer with strict errors is an error as a whole.
func (w *Webhook) strict() bool { return w.mode == v1alpha1.ResponseUnmarshallModeStrict }

// whyStrict says which field of the spec makes answers be read strictly.
func (w *Webhook) whyStrict() string {
	if w.version == v1alpha1.HookVersionV2 {
		return "with version: v2"
	}
	return "with responseUnMarshallMode: strict"
}

// logsStrictErrors reports whether strict errors are logged.
func (w *Webhook) logsStrictErrors(ctx context.Context) bool {
	return w.developerMode || klog.FromContext(ctx).V(strictErrorVerbosity).Enabled()
}

// forgottenAnswer returns the error of a strictly read hook that answers null, as functions that end without a result
// do. nothing is the answer that wants nothing to exist.
func (w *Webhook) forgottenAnswer(nothing string) error {
	return fmt.Errorf("%w: it is null, as if a return statement were missing in the hook; if nothing should "+
		"exist, return %s (%s, null is an error)", ErrMalformed, nothing, w.whyStrict())
}

// checkForgotten returns an error if a strictly read sync hook answers without the field of children, and this would
// delete children of the parent. An unknown field may be the misspelt field of children, and is an error of its own.
// Finalize hooks often answer only that they have finished.
func (w *Webhook) checkForgotten(d *protocol.Decoder, response *pipeline.Response, field string,
	about *pipeline.Snapshot,
) error {
	if !w.strict() || response.SaysChildren || about.Finalizing || len(d.StrictErrors()) > 0 {
		return nil
	}
	lost := w.childrenToLose(about)
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it has no field %q, and %s of this object exist (%s); list the ones to keep, "+
		"or return %q: [] to delete all of them (%s, the field is required)",
		ErrMalformed, field, field, text.JoinFirst(maxListed, lost), field, w.whyStrict())
}

// maxWarnings limits the warnings about one answer.
const maxWarnings = 5

// maxListed limits how many children a message names.
const maxListed = 5

// warnings returns a warning about each field of an answer that the protocol does not define. The snapshot has the
// children that an answer without the field of children deletes; it is nil for answers that cannot have that field.
func (w *Webhook) warnings(d *protocol.Decoder, childrenField string, snapshot *pipeline.Snapshot) []pipeline.Warning {
	unknown := d.UnknownFields()
	if len(unknown) == 0 {
		return nil
	}
	lost := w.childrenToLose(snapshot)
	costsChildren := func(field *protocol.UnknownField) bool {
		isMisspelt := field.Meant == childrenField && field.MeantIsAbsent
		return len(lost) > 0 && (isMisspelt || slices.Contains(field.Wraps, childrenField))
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
		warning := pipeline.Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: w.unknownField(field)}
		if costsChildren(field) {
			warning = w.childrenDeleted(field, childrenField, lost)
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// childrenDeleted returns the warning that an answer deletes all children, because their field is misspelt or inside
// another field.
func (w *Webhook) childrenDeleted(field *protocol.UnknownField, childrenField string, lost []string) pipeline.Warning {
	message := fmt.Sprintf(
		"The server deletes all %[1]s of this object (%[2]s), because the answer of the %[3]s hook (%[4]s) has no field "+
			"%[1]q. The server ignores its field %[5]q: %[6]s Hooks of version v2, or with responseUnMarshallMode: strict, "+
			"reject such an answer and delete nothing.",
		childrenField, text.JoinFirst(maxListed, lost), w.name, w.shown, field.Path, advice(field))
	return pipeline.Warning{
		Reason: v1alpha1.ReasonChildrenDeleted, About: w.unknownField(field), EachTime: true, Message: message,
	}
}

func (w *Webhook) unknownField(field *protocol.UnknownField) string {
	return fmt.Sprintf("The answer of the %s hook (%s) has the field %q, which the server ignores, because the hook "+
		"protocol has no such field: %s",
		w.name, w.shown, field.Path, advice(field))
}

// advice returns what to do about a field as the end of a sentence.
func advice(field *protocol.UnknownField) string {
	if advice := field.Advice(); strings.HasSuffix(advice, "?") {
		return advice
	}
	return field.Advice() + "."
}

// childrenToLose returns the children that an answer without children deletes. An answer about an earlier version of a
// parent deletes none.
func (w *Webhook) childrenToLose(snapshot *pipeline.Snapshot) (lost []string) {
	if snapshot == nil || w.deletable == nil || !snapshot.Managed || snapshot.Present != nil {
		return nil
	}
	for _, child := range w.deletable(snapshot) {
		lost = append(lost, child.String())
	}
	return lost
}
