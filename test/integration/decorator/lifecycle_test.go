// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// The life of a controller is told by events, and by a condition that kubectl waits for.
func TestLifeOfAControllerIsToldByEvents(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	name := f.controller.Name
	for _, reason := range []string{"Starting", "Started"} {
		env.WaitForEvent(t, metav1.NamespaceDefault, name, reason, reason+" controller: "+name)
	}
	env.Kubectl(t, "wait", "--for=condition=Ready", "dec/"+name, "--timeout=120s")
	env.Kubectl(t, "delete", "dec", name)
	for _, reason := range []string{"Stopping", "Stopped"} {
		env.WaitForEvent(t, metav1.NamespaceDefault, name, reason, reason+" controller: "+name)
	}
	events, err := env.Kube.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if event.InvolvedObject.Kind != "DecoratorController" || event.InvolvedObject.APIVersion != "metacontroller.k8s.io/v1alpha1" ||
			event.Type != "Normal" || event.Source.Component != "metacontroller" {
			t.Errorf("an event is %v", event)
		}
	}
}

// The status counts the targets of all types and shows the last error.
func TestStatusOfAController(t *testing.T) {
	t.Parallel()
	f := prepare(t, harness.CRD{Kind: "Thing"}, func(ctx context.Context, call hook.Call) hook.Answer {
		var asked request
		if err := call.Decode(&asked); err == nil && asked.Object.GetName() == "bad" {
			return hook.Text(200, `{"labels": "none"}`) // an answer, if a bad one
		}
		return answers(t, marks)(ctx, call)
	})
	other := *f
	other.targets = env.Install(t, harness.CRD{Kind: "Thing"})
	f.controller = f.create(f.spec(selecting, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Resources = append(spec.Resources, other.spec().Resources...)
	}))
	f.target("good", selected(), object{})
	f.target("unselected", nil, object{})
	other.target("good", nil, object{})
	other.target("bad", nil, object{})
	env.WaitForController(t, f.itself(), func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		counts := ptr.Deref(status.Parents, v1alpha1.ParentCounts{})
		if want := (v1alpha1.ParentCounts{Total: 3, Synced: 2, Failing: 1}); counts != want {
			return fmt.Errorf("the counts are %+v, want %+v", counts, want)
		}
		if status.LastError == nil || !strings.Contains(status.LastError.Message, `field "labels": must be a JSON object`) {
			return fmt.Errorf("the last error is %+v", status.LastError)
		}
		return nil
	})
	env.WaitForEvent(t, f.namespace, "bad", "SyncError", "Sync error: ")
	env.WaitForReady(t, f.itself(), metav1.ConditionTrue, "Running")
	if table := env.Kubectl(t, "get", "dec", f.controller.Name); !strings.Contains(table, "True") {
		t.Errorf("kubectl get dec shows\n%s", table)
	}
}

func TestQ23BrokenSpecLeavesTheOldOneRunning(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.target("a", nil, object{"value": "1"})
	env.WaitForConfigMap(t, f.namespace, "a", hasData("value", "1"))
	for _, test := range []struct {
		spec object
		says string
	}{
		{object{"attachments": []object{{"apiVersion": "v1", "resource": "nonsense"}}}, `child type: can't find resource "nonsense" in apiVersion "v1"`},
		{
			object{"attachments": nil, "resources": []object{{"apiVersion": "v1", "resource": "nothing"}}},
			`target type: can't find resource "nothing" in apiVersion "v1"`,
		},
	} {
		env.PatchController(t, f.itself(), object{"spec": test.spec})
		env.WaitForReady(t, f.itself(), metav1.ConditionFalse, "UnknownType")
		env.WaitForEvent(t, metav1.NamespaceDefault, f.controller.Name, "CreateError", "Cannot create new controller: "+test.says)
		f.patch("a", object{"spec": object{"value": test.says}})
		env.WaitForConfigMap(t, f.namespace, "a", hasData("value", test.says))
	}
	next := hook.Serve(t, answers(t, marks))
	env.PatchController(t, f.itself(), object{"spec": object{
		"resources": []object{{"apiVersion": f.targets.GroupVersion().String(), "resource": f.targets.Resource}},
		"hooks":     object{"sync": object{"webhook": object{"url": next.URL("/")}}},
	}})
	env.WaitForReady(t, f.itself(), metav1.ConditionTrue, "Running")
	f.waitForLabel("a", "marked", "yes")
}

// What is not told by an answer is the hooks' to be told of: edits of labels and
// annotations of the controller reach them without a restart.
func TestQ43HooksAreSentTheControllersMetadataAsItIs(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, marks))
	f.target("a", nil, object{})
	f.waitForLabel("a", "marked", "yes")
	env.PatchController(t, f.itself(), object{"metadata": object{"annotations": object{"note": "new"}}})
	env.Eventually(t, func(context.Context) error {
		f.touch(syncPath, "a")
		calls := f.calls(syncPath, "a")
		annotations, _ := calls[len(calls)-1].Controller["metadata"].(object)["annotations"].(object)
		if annotations["note"] != "new" {
			return fmt.Errorf("the hook was last sent a controller with the annotations %v", annotations)
		}
		return nil
	})
}

// The metrics of a controller have the names and labels that dashboards look for, and are
// gone when it is.
func TestQ46MetricsOfAControllerLastAsLongAsIt(t *testing.T) {
	t.Parallel()
	f := start(t, byPath(t, map[string]func(request) object{
		syncPath: marks, customizePath: relating, finalizePath: func(request) object { return object{"finalized": true} },
	}), withFinalize, withCustomize)
	name, queue := f.controller.Name, "DecoratorController-"+f.controller.Name
	f.target("a", object{"finalizers": []any{foreign}}, object{})
	f.waitForLabel("a", "marked", "yes")
	f.delete("a")
	f.waitForFinalizers("a", foreign)
	f.patch("a", object{"metadata": object{"finalizers": nil}})

	series := map[string][]string{"workqueue_depth": {"name", queue, "controller", queue}, "workqueue_adds_total": {"name", queue, "controller", queue}}
	for _, hook := range []string{"sync", "finalize", "customize"} {
		labels := []string{"controller_name", name, "controller_type", "DecoratorController", "url", f.hook.URL("/" + hook)}
		series["metacontroller_"+hook+"_requests_total"] = append(labels, "code", "200", "method", "post")
		series["metacontroller_"+hook+"_request_duration_histogram_seconds"] = append(labels, "method", "post")
		series["metacontroller_"+hook+"_in_flight_requests"] = labels
	}
	expect := func(count int) {
		t.Helper()
		env.Eventually(t, func(ctx context.Context) error {
			families, err := env.Metrics(ctx)
			if err != nil {
				return err
			}
			for family, labels := range series {
				if found := harness.Series(families[family], labels...); len(found) != count {
					return fmt.Errorf("%s with %v has %d series, want %d", family, labels, len(found), count)
				}
			}
			for _, family := range []string{"controller_runtime_reconcile_total", "controller_runtime_active_workers", "workqueue_adds_total"} {
				if len(harness.Series(families[family], "controller", "decorator-metacontroller")) == 0 {
					return fmt.Errorf("there is no %s of decorator-metacontroller", family)
				}
			}
			return nil
		})
	}
	expect(1)
	env.DeleteController(t, f.itself())
	expect(0)
}
