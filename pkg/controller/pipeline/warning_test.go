// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func TestWhichWarningsAreTheSame(t *testing.T) {
	pods, jobs := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Group: "batch", Kind: "Job"}
	tests := map[string]struct {
		a, b Warning
		same bool
	}{
		"equal messages":                   {Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "a"}, Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "a"}, true},
		"other messages":                   {Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "a"}, Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "b"}, false},
		"other reasons":                    {Warning{Reason: v1alpha1.ReasonUnknownAnswerField, Message: "a"}, Warning{Reason: v1alpha1.ReasonUnknownField, Message: "a"}, false},
		"other messages about the same":    {Warning{About: "x", Message: "a"}, Warning{About: "x", Message: "b"}, true},
		"a field in other words":           {UnknownFieldWarning(pods, "spec.x", "a"), UnknownFieldWarning(pods, "spec.x", "b"), true},
		"a field of another kind":          {UnknownFieldWarning(pods, "spec.x", "a"), UnknownFieldWarning(jobs, "spec.x", "a"), false},
		"another field":                    {UnknownFieldWarning(pods, "spec.x", "a"), UnknownFieldWarning(pods, "spec.y", "a"), false},
		"a field of another item":          {UnknownFieldWarning(pods, "spec.c[0].e[1].x", "a"), UnknownFieldWarning(pods, "spec.c[12].e[0].x", "a"), true},
		"another field of the same item":   {UnknownFieldWarning(pods, "spec.c[0].x", "a"), UnknownFieldWarning(pods, "spec.c[0].y", "a"), false},
		"a field and one of a list's item": {UnknownFieldWarning(pods, "spec.c.x", "a"), UnknownFieldWarning(pods, "spec.c[0].x", "a"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.a.Key() == test.b.Key(); got != test.same {
				t.Errorf("%q and %q are the same: %v", test.a.Key(), test.b.Key(), got)
			}
		})
	}
}
