// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/alloctest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestRequestsOfAllHooksEndWithTheTrigger(t *testing.T) {
	about := &pipeline.Snapshot{
		Controller: []byte(controller), Trigger: pipeline.TriggerChild,
		Parent: parsed(t, `{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default"}}`),
	}
	requests := map[string]func(to []byte) []byte{
		"customize": func(to []byte) []byte { return AppendCustomizeRequest(to, about) },
	}
	for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
		requests["composite "+string(version)] = func(to []byte) []byte { return Composite().AppendRequest(to, version, about) }
		requests["decorator "+string(version)] = func(to []byte) []byte { return Decorator().AppendRequest(to, version, about) }
	}
	for name, request := range requests {
		t.Run(name, func(t *testing.T) {
			if got := string(object.Lookup(request(nil), "trigger")); got != `"child"` {
				t.Errorf("the trigger is %s in %s", got, request(nil))
			}
			alloctest.Exactly(t, 1, func() { request(nil) })
		})
	}
}
