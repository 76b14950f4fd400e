// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// relating answers customize requests with the rules in the target's spec.related.
func relating(asked request) object {
	related, _, _ := unstructured.NestedSlice(asked.Parent.Object, "spec", "related")
	return object{"relatedResources": related}
}

// A bad answer is the error of one target, whose attachments stay.
func TestQ1BadAnswersHarmOneTarget(t *testing.T) {
	t.Parallel()
	var bodies sync.Map // by the name of the target that they are answered about when its value is 2
	good := answers(t, oneConfigMap)
	f := start(t, func(ctx context.Context, call hook.Call) hook.Answer {
		var asked request
		if err := call.Decode(&asked); err != nil {
			t.Error(err)
		}
		value, _, _ := unstructured.NestedString(asked.Object.Object, "spec", "value")
		if body, bad := bodies.Load(asked.Object.GetName()); bad && value == "2" {
			return hook.Text(200, body.(string))
		}
		return good(ctx, call)
	})
	for name, test := range map[string]struct {
		body string
		says string
	}{
		"attachments with a null":            {`{"attachments":[null]}`, `attachments[0] is null`},
		"a label that the cluster refuses":   {`{"labels":{"a":"not a label"},"attachments":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":{"value":"1"}}]}`, "can't update Thing"},
		"an attachment in another namespace": {`{"attachments":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"$NAME","namespace":"default"}}]}`, "is not in the namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := harness.Name("bad")
			bodies.Store(bad, strings.ReplaceAll(test.body, "$NAME", bad))
			f := *f
			f.T = t
			f.CreateParent(bad, object{"value": "1"})
			kept := f.WaitForConfigMap(bad, harness.HasData("value", "1"))
			f.PatchParent(bad, object{"spec": object{"value": "2"}})
			env.WaitForEvent(t, f.Namespace, bad, "SyncError", test.says)
			good := harness.Name("good")
			f.CreateParent(good, object{"value": "2"})
			f.WaitForConfigMap(good, harness.HasData("value", "2"))
			if still := f.WaitForConfigMap(bad, harness.HasData("value", "1")); still.UID != kept.UID {
				t.Error("the attachment was made anew")
			}
		})
	}
}

// An answer without attachments deletes all.
func TestQ32NoAttachmentsMeansNone(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
	f.Hook.Handle(func(context.Context, hook.Call) hook.Answer { return hook.Text(200, "null") })
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.WaitUntilConfigMapIsGone("a")
}
