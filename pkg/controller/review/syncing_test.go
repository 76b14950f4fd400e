// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook"
)

func TestWhichAnswerIsGivenToACall(t *testing.T) {
	parent := &object.Object{TypeMeta: metav1.TypeMeta{APIVersion: "ctl.example/v1", Kind: "Web"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	call := func(name, revision string) hook.Call {
		about := &pipeline.Snapshot{Parent: parent, Revision: revision}
		if revision != "" {
			about.Present = parent
		}
		return hook.Call{Hook: name, Snapshot: about, Request: []byte("{}")}
	}
	all := &v1alpha1.SyncReviewSpec{
		Response: &runtime.RawExtension{Raw: []byte(`{"the":"response"}`)},
		Responses: []v1alpha1.SyncReviewResponse{
			{Hook: "customize", Response: runtime.RawExtension{Raw: []byte(`{"customize":1}`)}},
			{Hook: "customize", Response: runtime.RawExtension{Raw: []byte(`{"customize":2}`)}},
			{Hook: "sync", Revision: "r-1", Response: runtime.RawExtension{Raw: []byte(`{"revision":1}`)}},
			{Hook: "finalize", Parent: &v1alpha1.SyncReviewParent{Namespace: "default", Name: "b"}, Response: runtime.RawExtension{Raw: []byte(`{"parent":"b"}`)}},
			{Hook: "finalize", Parent: &v1alpha1.SyncReviewParent{Kind: "Web", Namespace: "default", Name: "a"}, Response: runtime.RawExtension{Raw: []byte(`{"parent":"a"}`)}},
		},
	}
	for name, test := range map[string]struct {
		spec *v1alpha1.SyncReviewSpec
		call hook.Call
		want string
	}{
		"response is for the parent as it is":                 {all, call("sync", ""), `{"the":"response"}`},
		"response is not for an earlier version":              {all, call("sync", "r-2"), ""},
		"responses may be for an earlier version":             {all, call("sync", "r-1"), `{"revision":1}`},
		"the first that fits is taken":                        {all, call("customize", ""), `{"customize":1}`},
		"responses may be for one parent, and come first":     {all, call("finalize", ""), `{"parent":"a"}`},
		"response is not for the customize hook":              {&v1alpha1.SyncReviewSpec{Response: all.Response}, call("customize", ""), ""},
		"response is for the finalize hook, if that decides":  {&v1alpha1.SyncReviewSpec{Response: all.Response}, call("finalize", ""), `{"the":"response"}`},
		"without answers, the hook is asked or it is missing": {&v1alpha1.SyncReviewSpec{}, call("sync", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := underReview()
			r.spec = test.spec
			if got, err := r.newSync(nil).answer(test.call); string(got) != test.want || err != nil {
				t.Errorf("the answer is %s, want %s; error is %v", got, test.want, err)
			}
		})
	}
}

// A digest is that of a request of this process. An answer with others would be planned as if they were values.
func TestAnAnswerToAnotherRequestIsNoAnswer(t *testing.T) {
	const request = `{"related":{"Secret.v1":{"s":{"apiVersion":"v1","data":{"password":"b3BlbiBzZXNhbWU="},"kind":"Secret"}}}}`
	call := hook.Call{Hook: "sync", Request: []byte(request), Snapshot: &pipeline.Snapshot{Parent: &object.Object{}}}
	here, elsewhere := underReview(), underReview()
	shown := string(here.newSync(nil).json([]byte(request)).Raw)
	for _, one := range []*reviewing{here, elsewhere} {
		one.spec = &v1alpha1.SyncReviewSpec{Response: &runtime.RawExtension{Raw: []byte(shown)}}
	}
	if answer, err := here.newSync(nil).answer(call); string(answer) != request || err != nil {
		t.Errorf("the answer is %s, error is %v", answer, err)
	}
	if answer, err := elsewhere.newSync(nil).answer(call); answer != nil || !errors.Is(err, errOldDigests) {
		t.Errorf("another replica takes the answer %s, error is %v", answer, err)
	}
}
