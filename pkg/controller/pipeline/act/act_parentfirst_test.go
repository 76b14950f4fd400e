// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// changed is the step that changes the parent's labels.
func changed(t *testing.T) pipeline.Step {
	s := lettingGo(t)
	s.Op = pipeline.Metadata
	return s
}

// ofDecorator is a plan with the steps about a target, after a creation and a deletion.
func ofDecorator(t *testing.T, target ...pipeline.Step) *pipeline.Plan {
	return &pipeline.Plan{ParentFirst: true, Steps: append([]pipeline.Step{step(t, pipeline.Create, "c"), step(t, pipeline.Delete, "d")}, target...)}
}

const (
	putShop    = "PUT " + shopURL + "?fieldManager=metacontroller"
	putStatus  = "PUT " + shopURL + "/status?fieldManager=metacontroller"
	deleteD    = "DELETE /api/v1/namespaces/default/configmaps/d"
	postChild  = "POST /api/v1/namespaces/default/configmaps?fieldManager=metacontroller"
	changedURL = shopURL + "?fieldManager=metacontroller"
)

func TestTheParentComesFirstWhereThePlanSaysSo(t *testing.T) {
	status := step(t, pipeline.Status, "shop")
	tests := map[string]struct {
		target []pipeline.Step
		want   []string
	}{
		"nothing":                       {nil, []string{deleteD, postChild}},
		"metadata":                      {[]pipeline.Step{changed(t)}, []string{putShop, deleteD, postChild}},
		"the status":                    {[]pipeline.Step{status}, []string{putStatus, deleteD, postChild}},
		"the status and metadata":       {[]pipeline.Step{changed(t), status}, []string{putStatus, putShop, deleteD, postChild}},
		"the finalizer goes last still": {[]pipeline.Step{lettingGo(t), status}, []string{putStatus, deleteD, postChild, putShop}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			api, actor := serve(t, nil)
			outcomes := actor.Act(t.Context(), snapshot(t), ofDecorator(t, test.target...))
			if diff := cmp.Diff(test.want, api.seen()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			for _, outcome := range outcomes {
				if outcome.Err != nil || outcome.Conflict {
					t.Errorf("outcome is %+v", outcome)
				}
			}
		})
	}
}

// A write that comes after that of the status starts from what it made of the parent, and
// so does not see its own change as one of others.
func TestMetadataIsWrittenUponTheStatus(t *testing.T) {
	for _, op := range []pipeline.Op{pipeline.Metadata, pipeline.Finalizer} {
		api, actor := serve(t, nil)
		after := changed(t)
		after.Op = op
		actor.Act(t.Context(), snapshot(t), &pipeline.Plan{ParentFirst: true, Steps: []pipeline.Step{step(t, pipeline.Status, "shop"), after}})
		want := []request{
			{"PUT", shopURL + "/status?fieldManager=metacontroller", "application/json", `{"a":"shop"}`},
			{"PUT", changedURL, "application/json", `{"metadata":{"name":"shop","resourceVersion":"9","finalizers":[]},"spec":{}}`},
		}
		if diff := cmp.Diff(want, api.requests, cmp.AllowUnexported(request{})); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", op, diff)
		}
	}
	api, actor := serve(t, nil)
	actor.Act(t.Context(), snapshot(t), &pipeline.Plan{ParentFirst: true, Steps: []pipeline.Step{changed(t)}})
	want := []request{{"PUT", changedURL, "application/json", string(changed(t).Body)}}
	if diff := cmp.Diff(want, api.requests, cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("alone: requests (-want +got):\n%s", diff)
	}
}

// What was decided about an object that is no longer so is not done to its attachments.
func TestQ37ChildrenAreLeftAloneWhenTheTargetCouldNotBeWritten(t *testing.T) {
	const no = "no"
	failures := map[string]struct {
		code   int
		reason metav1.StatusReason
		err    bool
	}{
		"it changed meanwhile":        {409, metav1.StatusReasonConflict, false},
		"it is gone":                  {404, metav1.StatusReasonNotFound, false},
		"the cluster refuses it":      {422, metav1.StatusReasonInvalid, true},
		"the cluster does not let us": {403, metav1.StatusReasonForbidden, true},
	}
	for name, test := range failures {
		for _, fails := range []pipeline.Op{pipeline.Status, pipeline.Metadata} {
			t.Run(name+", "+string(fails), func(t *testing.T) {
				api, actor := serve(t, func(asked request) (int, string) {
					if strings.Contains(asked.url, "/status") == (fails == pipeline.Status) {
						return test.code, failure(test.code, test.reason, no)
					}
					return succeed(asked)
				})
				outcomes := actor.Act(t.Context(), snapshot(t), ofDecorator(t, changed(t), step(t, pipeline.Status, "shop")))
				want := []string{putStatus, putShop}
				if fails == pipeline.Status {
					want = want[:1]
				}
				writes := slices.DeleteFunc(api.seen(), func(made string) bool { return strings.HasPrefix(made, "GET ") })
				if diff := cmp.Diff(want, slices.Compact(writes)); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				last := outcomes[len(outcomes)-1]
				if len(outcomes) != len(want) || last.Op != fails || last.Conflict == test.err || (last.Err != nil) != test.err || last.Result != nil {
					t.Errorf("outcomes are %+v", outcomes)
				}
				wantErr := map[pipeline.Op]string{pipeline.Status: "can't update status for Web default/shop: no", pipeline.Metadata: "can't update Web default/shop: no"}[fails]
				if test.err && errorText(last.Err) != wantErr {
					t.Errorf("error is %q, want %q", errorText(last.Err), wantErr)
				}
			})
		}
	}
}

// A target that is not being deleted keeps the finalizer while an attachment could not be deleted.
func TestATargetIsLetGoAfterItsAttachments(t *testing.T) {
	api, actor := serve(t, func(asked request) (int, string) {
		if asked.method == "DELETE" {
			return 500, failure(500, metav1.StatusReasonInternalError, "no")
		}
		return succeed(asked)
	})
	actor.Act(t.Context(), snapshot(t), ofDecorator(t, lettingGo(t), step(t, pipeline.Status, "shop")))
	if diff := cmp.Diff([]string{putStatus, deleteD, postChild}, api.seen()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
