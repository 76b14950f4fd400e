// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func TestEventsOfAnAnswerAreRead(t *testing.T) {
	tests := map[string]struct {
		answer string
		want   []pipeline.HookEvent
		err    string
	}{
		"none":        {answer: `[]`},
		"null":        {answer: `null`},
		"a plain one": {answer: `[{"reason":"Ready","message":"all is well"}]`, want: []pipeline.HookEvent{{Reason: "Ready", Message: "all is well"}}},
		"a warning": {answer: `[{"type":"Warning","reason":"BackupFailed","message":"the disk is full"}]`,
			want: []pipeline.HookEvent{{Warning: true, Reason: "BackupFailed", Message: "the disk is full"}}},
		"one about a child": {answer: `[{"type":"Normal","reason":"Moved","message":"m","child":{"apiVersion":"apps/v1","kind":"Deployment","name":"a"}}]`,
			want: []pipeline.HookEvent{{Reason: "Moved", Message: "m", Child: &pipeline.HookEventChild{Group: "apps", Kind: "Deployment", Name: "a"}}}},
		"no list":              {answer: `{"reason":"A"}`, err: "events must be a list of objects"},
		"a text in the list":   {answer: `["Ready"]`, err: "events must be a list of objects"},
		"an unknown type":      {answer: `[{"type":"Error","reason":"A","message":"m"}]`, err: `events[0].type must be Normal or Warning, not "Error"`},
		"no reason":            {answer: `[{"message":"m"}]`, err: "events[0].reason must be a word in CamelCase"},
		"a sentence as reason": {answer: `[{"reason":"A","message":"m"},{"reason":"it is full","message":"m"}]`, want: []pipeline.HookEvent{{Reason: "A", Message: "m"}}, err: `events[1].reason must be a word in CamelCase, such as BackupFailed, not "it is full"`},
		"no message":           {answer: `[{"reason":"A"}]`, err: "events[0].message must not be empty"},
		"a child without name": {answer: `[{"reason":"A","message":"m","child":{"apiVersion":"v1","kind":"Pod"}}]`, err: "events[0].child must have the apiVersion, kind and name"},
		"too many":             {want: slices.Repeat([]pipeline.HookEvent{{Reason: "A", Message: "m"}}, 10), answer: "[" + strings.Repeat(`{"reason":"A","message":"m"},`, 10) + `{"reason":"A","message":"m"}]`, err: "events has 11 entries; there may be 10"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for _, format := range []Format{Composite(), Decorator()} {
				decoder := &Decoder{}
				got, err := decoder.Response(format, []byte(`{"events":`+test.answer+`}`))
				if err != nil {
					t.Fatal(err)
				}
				if strict := errors.Join(decoder.StrictErrors()...); (strict != nil) != (test.err != "") || strict != nil && !strings.Contains(strict.Error(), test.err) {
					t.Errorf("the strict error is %v, want %q", strict, test.err)
				}
				if diff := cmp.Diff(test.want, got.Events); diff != "" {
					t.Errorf("read (-want +got):\n%s", diff)
				}
			}
		})
	}
}
