// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package previews

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// update is true if the answers are to be written into testdata:
//
//	go test ./test/integration/previews -run TestWhatKubectlShows -update
var update = flag.Bool("update", false, "write what kubectl shows into testdata")

// People review with kubectl create -o yaml. What they see is in testdata.
func TestWhatKubectlShows(t *testing.T) {
	t.Parallel()
	f := prepare(t, before(t), after(t))
	f.RunComposite(f.CompositeSpec())
	f.CreateParent("web", object{"size": 3})
	f.WaitForConfigMap("web-goes", harness.Exists)
	f.Settle("web")
	candidate := f.of("web")
	candidate.Candidate = f.candidate()
	plan, request := candidate, candidate
	plan.Details, request.Until = v1alpha1.SyncReviewDetailsSteps, v1alpha1.SyncReviewUntilRequest
	request.Candidate = nil
	absent := v1alpha1.SyncReviewSpec{
		Controller: f.reviewed(), Object: f.thing("other", object{"size": 1}), Until: v1alpha1.SyncReviewUntilDryRun, Details: v1alpha1.SyncReviewDetailsSteps,
	}
	for name, spec := range map[string]v1alpha1.SyncReviewSpec{"candidate": plan, "request": request, "object": absent} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "review.yaml")
			text, err := yaml.Marshal(object{"apiVersion": v1alpha1.SchemeGroupVersion.String(), "kind": "SyncReview", "spec": spec})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			f.expectShown(t, name, env.Kubectl(t, "create", "-f", file, "-o", "yaml"))
		})
	}
}

// accidental is what is different each time: UIDs, times, versions, and a mark of the fixture.
var accidental = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|creationTimestamp: .*|resourceVersion: .*|touched-\S+: .*`)

// expectShown compares what kubectl shows with a file of testdata.
func (f *fixture) expectShown(t *testing.T, name, shown string) {
	t.Helper()
	shown = strings.NewReplacer(f.Namespace, "shop", f.Controller.Name, "things", f.Parents.Group, "ctl.example.com", f.Parents.Resource, "things",
		f.Hook.URL(""), "http://hook.example").Replace(shown)
	shown = accidental.ReplaceAllStringFunc(shown, func(found string) string {
		if strings.HasPrefix(found, "00000000-") {
			return found // stands for the UID of a parent that does not exist
		}
		name, _, isField := strings.Cut(found, ": ")
		if isField {
			return name + ": ACCIDENTAL"
		}
		return "ACCIDENTAL"
	})
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, []byte(shown), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), shown); diff != "" {
		t.Errorf("%s is not what kubectl shows; write it with -update (-want +got):\n%s", path, diff)
	}
}

// A review whose time is over has the parents that it has come to, and says how to go on.
func TestAReviewIsBoundedInTime(t *testing.T) {
	t.Parallel()
	slow := func(t *testing.T) hook.Handler {
		answer := before(t)
		return func(ctx context.Context, call hook.Call) hook.Answer {
			if strings.Contains(string(call.Body), `"name":"p2"`) && call.Header.Get("X-Metacontroller-Preview") != "" {
				<-ctx.Done() // until nobody waits for the answer any more
			}
			return answer(ctx, call)
		}
	}
	f := prepare(t, slow(t), slow(t))
	f.RunComposite(f.CompositeSpec())
	for i := range 4 {
		f.CreateParent(fmt.Sprintf("p%d", i), object{})
	}
	for i := range 4 {
		f.WaitForConfigMap(fmt.Sprintf("p%d-goes", i), harness.Exists)
	}
	second := int32(1)
	review := v1alpha1.SyncReviewSpec{Controller: f.reviewed(), Parents: &v1alpha1.SyncReviewParents{Namespace: f.Namespace}, TimeoutSeconds: &second}
	status := f.review(review)
	if len(status.Syncs) != 2 || status.Continue == "" || len(status.Notes) != 1 ||
		status.Notes[0] != "the review is not complete: spec.timeoutSeconds (1s) has elapsed; to review the other parents, set spec.parents.continue to status.continue" {
		t.Errorf("%d parents are reviewed, continue is %q, notes are %q", len(status.Syncs), status.Continue, status.Notes)
	}
	review.Parents.Continue = status.Continue
	status = f.review(review)
	if len(status.Syncs) != 1 || status.Syncs[0].Parent.Name != "p2" || !strings.Contains(status.Syncs[0].Error,
		"spec.timeoutSeconds (") || status.Continue == "" {
		t.Errorf("then, reviewed are %+v, continue is %q", status.Syncs, status.Continue)
	}
	review.Parents.Continue = status.Continue
	if status = f.review(review); len(status.Syncs) != 1 || status.Syncs[0].Parent.Name != "p3" || status.Syncs[0].Error != "" || status.Continue != "" {
		t.Errorf("at last, reviewed are %+v, continue is %q", status.Syncs, status.Continue)
	}
}
