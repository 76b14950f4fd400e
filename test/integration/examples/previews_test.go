// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The hook of each example is edited, and previewed against live parents. Nothing happens meanwhile.
// Then the edited hook is used, and what was previewed is written, and nothing else before it. The tests
// of this file look at all that the server writes, so none of them runs beside another test.
func TestEditedHooksOfExamplesArePreviewed(t *testing.T) {
	apply := func(t *testing.T, example, file string) (namespace string) {
		namespace = env.Namespace(t)
		env.Kubectl(t, "apply", "-n", namespace, "-f", filepath.Join(example, file))
		return namespace
	}
	for name, test := range map[string]struct {
		port  string
		start func(t *testing.T, example string)
		// writes is false if the edited hook changes nothing because of the update methods.
		writes bool
	}{
		"helloworld": {"8080", func(t *testing.T, example string) {
			waitFor(t, apply(t, example, "hello.yaml"), "pod/your-name", "{.metadata.name}", "your-name")
		}, true},
		"bluegreen": {"8091", func(t *testing.T, example string) {
			namespace := apply(t, example, "my-bluegreen.yaml")
			scaled(t, namespace, "nginx-blue", 3)
			scaled(t, namespace, "nginx-green", 0)
			waitFor(t, namespace, "bluegreendeployment/nginx", "{.status.active.availableReplicas}", "3")
		}, true},
		"catset": {"8090", func(t *testing.T, example string) {
			k := startKubelet(t, apply(t, example, "my-catset.yaml"))
			waitFor(t, k.namespace, backend, readyReplicas, "3")
		}, true},
		"configmap-propagation": {"8084", func(t *testing.T, example string) {
			env.Kubectl(t, "apply", "-f", filepath.Join(example, "example-configmap.yaml"))
			waitFor(t, "", "configmappropagation/settings-propagation", "{.status.actual_copies}", "3")
		}, true},
		"secret-propagation": {"8085", func(t *testing.T, example string) {
			env.Kubectl(t, "apply", "-f", filepath.Join(example, "example-secret.yaml"))
			waitFor(t, "", "secretpropagation/secret-propagation", "{.status.copies}", "2")
		}, true},
		"globalconfigmap": {"8082", func(t *testing.T, example string) {
			copySettingsTo(t, env.Namespace(t))
			env.Kubectl(t, "apply", "-f", filepath.Join(example, "settings.yaml"))
			waitFor(t, "", "gcm/settings", "{.status.copies}", "1")
		}, true},
		"immortalcontainer": {"8081", func(t *testing.T, example string) {
			waitFor(t, apply(t, example, "forever.yaml"), "immortalcontainer/forever", "{.status.currentPod}", "forever-immortalpod")
		}, false},
		"python-lambda": {"8086", func(t *testing.T, example string) {
			namespace := apply(t, example, "greeter.yaml")
			waitFor(t, namespace, "pythonlambda/greeter", "{.status.readyReplicas}", "0")
		}, true},
		"service-per-pod": {"8083", func(t *testing.T, example string) {
			namespace := apply(t, example, "my-statefulset.yaml")
			waitFor(t, namespace, "service/web-2", "{.spec.selector.pod-name}", "web-2")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			example := startExample(t, name, test.port)
			test.start(t, example)
			previewEdit(t, controllerOf(t, example), test.writes)
		})
	}
}

// A Pod is a parent of pod-name-label only until it has its label. So it is previewed before there is one.
func TestTheLabelOfANewPodIsPreviewed(t *testing.T) {
	example := startExample(t, "service-per-pod", "8083")
	namespace := env.Namespace(t)
	env.Kubectl(t, "apply", "-n", namespace, "-f", filepath.Join(example, "my-statefulset.yaml"))
	waitFor(t, namespace, "service/web-2", "{.spec.selector.pod-name}", "web-2")

	pod := podOfSet(t, namespace, "web-2")
	pod.APIVersion, pod.Kind, pod.Namespace = "v1", "Pod", namespace
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	from := env.AuditEnd(t)
	announced := announcedBy(t, review(t, v1alpha1.SyncReviewSpec{
		Controller: v1alpha1.SyncReviewController{Kind: "DecoratorController", Name: "pod-name-label"}, Object: &runtime.RawExtension{Raw: text},
	}))
	if diff := cmp.Diff([]string{"update " + namespace + "/web-2"}, announced); diff != "" {
		t.Errorf("announced (-want +got):\n%s", diff)
	}
	if made := madeSince(t, from, true); len(made) > 0 {
		t.Errorf("the preview has written %q", made)
	}
	createPod(t, namespace, "web-2")
	waitFor(t, namespace, "pod/web-2", "{.metadata.labels.pod-name}", "web-2")
	if diff := cmp.Diff(announced, madeSince(t, from, false)); diff != "" {
		t.Errorf("writes (-announced +made):\n%s", diff)
	}
}

// controllerOf returns the first controller of an example.
func controllerOf(t *testing.T, example string) v1alpha1.SyncReviewController {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(example, "controller.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^kind: (\w+)\nmetadata:\n  name: (\S+)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no controller is in %s", example)
	}
	return v1alpha1.SyncReviewController{Kind: string(found[1]), Name: string(found[2])}
}

// previewEdit edits the hook of a controller, and compares what is previewed with what then happens.
func previewEdit(t *testing.T, of v1alpha1.SyncReviewController, changes bool) {
	t.Helper()
	all := v1alpha1.SyncReviewSpec{Controller: of, Parents: &v1alpha1.SyncReviewParents{}, Details: v1alpha1.SyncReviewDetailsSteps}
	unchanged := func(context.Context) error {
		if status := review(t, all); status.Summary.Unchanged == 0 || status.Summary.Unchanged != status.Summary.Parents {
			return fmt.Errorf("the review of %s says %+v", of.Name, status)
		}
		return nil
	}
	env.Eventually(t, unchanged)

	from := env.AuditEnd(t)
	edited := all
	edited.Candidate = editedSpec(t, of)
	status := review(t, edited)
	announced := announcedBy(t, status)
	edited.Until = v1alpha1.SyncReviewUntilDryRun
	if diff := cmp.Diff(announced, announcedBy(t, review(t, edited))); diff != "" {
		t.Errorf("in a dry run, announced is something else (-plan +dry run):\n%s", diff)
	}
	if (len(announced) > 0) != changes {
		t.Errorf("announced are %q: %+v", announced, status.Syncs)
	}
	if made := madeSince(t, from, true); len(made) > 0 {
		t.Errorf("the previews of %s have written %q", of.Name, made)
	}

	env.Kubectl(t, "patch", of.Kind, of.Name, "--type=merge", "-p", fmt.Sprintf(`{"spec":%s}`, edited.Candidate.Raw))
	env.Eventually(t, func(context.Context) error {
		made := madeSince(t, from, false)
		made = made[:min(len(made), len(announced))] // later syncs see what this one has changed
		slices.Sort(made)
		if diff := cmp.Diff(announced, made); diff != "" {
			return fmt.Errorf("writes of %s (-announced +made):\n%s", of.Name, diff)
		}
		return nil
	})
	env.Eventually(t, unchanged)
	if made := madeSince(t, from, false); !changes && len(made) > 0 {
		t.Errorf("nothing was announced, and written was %q", made)
	}
}

func review(t *testing.T, spec v1alpha1.SyncReviewSpec) *v1alpha1.SyncReviewStatus {
	t.Helper()
	review, err := env.Metacontroller.MetacontrollerV1alpha1().SyncReviews().Create(t.Context(), &v1alpha1.SyncReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("the review is refused: %v", err)
	}
	return &review.Status
}

// announcedBy returns the requests to the host that a review announces, in order.
func announcedBy(t *testing.T, status *v1alpha1.SyncReviewStatus) []string {
	t.Helper()
	verbs := map[v1alpha1.ReviewedOperation]string{
		v1alpha1.ReviewedCreate: "create", v1alpha1.ReviewedUpdate: "update", v1alpha1.ReviewedDelete: "delete", v1alpha1.ReviewedRecreate: "delete",
		v1alpha1.ReviewedUpdateStatus: "update status", v1alpha1.ReviewedUpdateMetadata: "update",
	}
	lines := []string{}
	for _, sync := range status.Syncs {
		if sync.Error != "" {
			t.Errorf("the sync of %s would fail: %s", sync.Parent.Name, sync.Error)
		}
		for _, step := range sync.Steps {
			if step.Kind != "ControllerRevision" {
				lines = append(lines, fmt.Sprintf("%s %s/%s", verbs[step.Operation], step.Namespace, step.Name))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// madeSince returns the writes of the server to the host since a position, as they came.
func madeSince(t *testing.T, from hostcluster.Position, withEvents bool) []string {
	t.Helper()
	lines := []string{}
	for _, event := range env.AuditEvents(t, from, hostcluster.Request{Verbs: hostcluster.Writes()}) {
		of := event.ObjectRef.Resource
		if strings.Contains(event.RequestURI, "dryRun=All") || !withEvents && of == "events" ||
			slices.Contains([]string{"subjectaccessreviews", "tokenreviews", "leases"}, of) {
			continue
		}
		verb := event.Verb
		if event.ObjectRef.Subresource != "" {
			verb += " " + event.ObjectRef.Subresource
		}
		lines = append(lines, fmt.Sprintf("%s %s/%s", verb, event.ObjectRef.Namespace, event.ObjectRef.Name))
	}
	return lines
}

// editedSpec returns the spec of a controller with the hook of an edited example: it answers as before,
// and marks each child, and the target of a decorator.
func editedSpec(t *testing.T, of v1alpha1.SyncReviewController) *runtime.RawExtension {
	t.Helper()
	spec := env.Kubectl(t, "get", of.Kind, of.Name, "-o", "jsonpath={.spec}")
	base := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(spec)
	server := hook.Serve(t, func(ctx context.Context, call hook.Call) hook.Answer {
		var answer map[string]any
		if err := hook.Post(ctx, base+call.Path, call.Body, &answer); err != nil {
			return hook.Text(http.StatusBadGateway, err.Error())
		}
		for _, field := range []string{"children", "attachments"} {
			list, _ := answer[field].([]any)
			for _, child := range list {
				mark(child.(map[string]any)["metadata"].(map[string]any), "annotations")
			}
		}
		if of.Kind == "DecoratorController" {
			mark(answer, "labels")
		}
		return hook.JSON(answer)
	})
	return &runtime.RawExtension{Raw: []byte(strings.ReplaceAll(spec, base, server.URL("")))}
}

// mark marks some labels or annotations.
func mark(of map[string]any, field string) {
	texts, _ := of[field].(map[string]any)
	if texts == nil {
		texts = map[string]any{}
	}
	texts["edited"] = "yes"
	of[field] = texts
}
