// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package decorator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// Events report the start and stop of a controller, and kubectl can wait for its condition.
func TestLifeOfAControllerIsToldByEvents(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	name := f.Controller.Name
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
	other.Parents = env.Install(t, harness.CRD{Kind: "Thing"})
	f.RunDecorator(f.DecoratorSpec(selecting, func(spec *v1alpha1.DecoratorControllerSpec) {
		spec.Resources = append(spec.Resources, other.DecoratorSpec().Resources...)
	}))
	f.CreateParentWith("good", selected(), object{})
	f.CreateParent("unselected", object{})
	other.CreateParent("good", object{})
	other.CreateParent("bad", object{})
	f.WaitForController(func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		counts := ptr.Deref(status.Parents, v1alpha1.ParentCounts{})
		if want := (v1alpha1.ParentCounts{Total: 3, Synced: 2, Failing: 1}); counts != want {
			return fmt.Errorf("the counts are %+v, want %+v", counts, want)
		}
		if status.LastError == nil || !strings.Contains(status.LastError.Message, `labels must be a JSON object`) {
			return fmt.Errorf("the last error is %+v", status.LastError)
		}
		return nil
	})
	env.WaitForEvent(t, f.Namespace, "bad", "SyncError", "Sync error: ")
	f.WaitForReady(metav1.ConditionTrue, "Running")
	if table := env.Kubectl(t, "get", "dec", f.Controller.Name); !strings.Contains(table, "True") {
		t.Errorf("kubectl get dec shows\n%s", table)
	}
}

func TestQ23BrokenSpecLeavesTheOldOneRunning(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	f.WaitForConfigMap("a", harness.HasData("value", "1"))
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
		f.PatchController(object{"spec": test.spec})
		f.WaitForReady(metav1.ConditionFalse, "UnknownType")
		env.WaitForEvent(t, metav1.NamespaceDefault, f.Controller.Name, "CreateError", "Cannot create new controller: "+test.says)
		f.PatchParent("a", object{"spec": object{"value": test.says}})
		f.WaitForConfigMap("a", harness.HasData("value", test.says))
	}
	next := hook.Serve(t, answers(t, marks))
	f.PatchController(object{"spec": object{
		"resources": []object{{"apiVersion": f.Parents.GroupVersion().String(), "resource": f.Parents.Resource}},
		"hooks":     object{"sync": object{"webhook": object{"url": next.URL("/")}}},
	}})
	f.WaitForReady(metav1.ConditionTrue, "Running")
	f.waitForLabel("a", "marked", "yes")
}

// Hooks are sent changed labels and annotations of the controller without a restart.
func TestQ43HooksAreSentTheControllersMetadataAsItIs(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, marks))
	f.CreateParent("a", object{})
	f.waitForLabel("a", "marked", "yes")
	f.PatchController(object{"metadata": object{"annotations": object{"note": "new"}}})
	env.Eventually(t, func(context.Context) error {
		f.touch(harness.SyncPath, "a")
		calls := hook.Requests[request](f, f.Hook, harness.SyncPath, "a")
		annotations, _ := calls[len(calls)-1].Controller["metadata"].(object)["annotations"].(object)
		if annotations["note"] != "new" {
			return fmt.Errorf("the hook was last sent a controller with the annotations %v", annotations)
		}
		return nil
	})
}

// The metrics of a controller have the names and labels that dashboards use. They are removed with
// the controller.
func TestQ46MetricsOfAControllerLastAsLongAsIt(t *testing.T) {
	t.Parallel()
	f := start(t, byPath(t, map[string]func(request) object{
		harness.SyncPath: marks, harness.CustomizePath: relating, harness.FinalizePath: func(request) object { return object{"finalized": true} },
	}), withFinalize, withCustomize)
	name, queue := f.Controller.Name, "DecoratorController-"+f.Controller.Name
	f.CreateParentWith("a", object{"finalizers": []any{harness.OtherFinalizer}}, object{})
	f.waitForLabel("a", "marked", "yes")
	f.DeleteParent("a")
	f.WaitForFinalizers("a", harness.OtherFinalizer)
	f.PatchParent("a", object{"metadata": object{"finalizers": nil}})

	series := map[string][]string{"workqueue_depth": {"name", queue, "controller", queue}, "workqueue_adds_total": {"name", queue, "controller", queue}}
	series["metacontroller_controller_ready"] = []string{"controller_name", name, "controller_type", "DecoratorController"}
	series["metacontroller_parents"] = append(slices.Clone(series["metacontroller_controller_ready"]), "state", "synced")
	for _, hook := range []string{"sync", "finalize", "customize"} {
		labels := []string{"controller_name", name, "controller_type", "DecoratorController", "url", f.Hook.URL("/" + hook)}
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
	f.DeleteController()
	expect(0)
}
