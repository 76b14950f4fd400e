// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// decorating answers attachments of these names with a value, and a label and an annotation of the target with it.
func decorating(t *testing.T, value string, names ...string) hook.Handler {
	return hook.Answering(t, func(asked hook.DecoratorRequest) object {
		if asked.Finalizing {
			return object{"finalized": true, "attachments": []object{}}
		}
		answer := object{"labels": object{"value": value}, "annotations": object{"value": value}, "status": object{"value": value}}
		attachments := []object{}
		for _, name := range names {
			attachments = append(attachments, hook.ConfigMap(asked.Object.GetName()+"-"+name, object{"value": value}))
		}
		answer["attachments"] = attachments
		return answer
	})
}

func TestTheWritesOfADecoratorAreThePreviewedOnes(t *testing.T) {
	t.Parallel()
	f := prepare(t, decorating(t, "1", "changes", "goes"), decorating(t, "2", "changes", "comes"))
	f.RunDecorator(f.DecoratorSpec())
	f.CreateParent("a", object{})
	f.WaitForConfigMap("a-goes", harness.Exists)
	f.Settle("a")

	from := env.AuditEnd(t)
	want := []string{"create ConfigMap a-comes", "delete ConfigMap a-goes", "update ConfigMap a-changes", "update Thing a", "update status Thing a"}
	f.expectPreviews(want, "a")
	f.expectNothing(from, "a")
	f.change()
	f.Touch("a", "changed")
	f.expectWrites(from, want, "a")
}
