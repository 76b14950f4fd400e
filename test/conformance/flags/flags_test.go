// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/conformance/decorators"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

const controller = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $CONTROLLER, labels: $LABELS}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Thing, resource: things}
  childResources:
  - {apiVersion: v1, resource: configmaps, $STRATEGY}
  hooks: {sync: {webhook: {url: $URL}}}
`

// decorator gives each thing a label if it runs.
const decorator = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: $CONTROLLER, labels: $LABELS}
spec:
  resources: [{apiVersion: $Thing, resource: things}]
  hooks: {sync: {webhook: {url: $URL}}}
`

const thing = `
apiVersion: $Thing
kind: Thing
metadata: {name: a, namespace: $NAMESPACE}
`

var (
	child         = scenario.ConfigMap("a")
	theController = scenario.Ref{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "CompositeController", Name: "$NAME"}
)

// start runs a controller with these labels that gives each thing a ConfigMap. Rule adds to the
// child rule.
func start(t *testing.T, labels string, rule ...string) *scenario.Scenario {
	t.Helper()
	s := scenario.New(t, env)
	s.Define(harness.CRD{Kind: "Thing"})
	s.Say("$LABELS", labels)
	s.Say("$STRATEGY", strings.Join(rule, ""))
	s.Say("$CONTROLLER", s.Unique)
	s.Say("$URL", s.Hook.URL("/sync"))
	s.Answers(scenario.Answers{
		"/sync": func(scenario.Object) scenario.Object {
			return scenario.Object{"children": []scenario.Object{
				hook.ConfigMap("a", nil),
			}}
		},
	})
	s.Create(controller)
	return s
}

// The flags of the process say how decorators write their attachments.
func TestDecorators(t *testing.T) { decorators.Run(t, env) }

func TestWithMatchingController(t *testing.T) {
	t.Parallel()
	s := start(t, `{run: here}`)
	s.Create(thing)
	s.Exists(child)
}

// Of two decorators that differ only in their labels, one runs.
func TestDecoratorsWithAndWithoutMatchingLabels(t *testing.T) {
	t.Parallel()
	s := scenario.New(t, env)
	s.Define(harness.CRD{Kind: "Thing"})
	marks := func(label string) func(scenario.Object) scenario.Object {
		return func(scenario.Object) scenario.Object { return scenario.Object{"labels": scenario.Object{label: "yes"}} }
	}
	s.Answers(scenario.Answers{"/sync": marks("here"), "/elsewhere": marks("elsewhere")})
	for path, labels := range map[string]string{"/elsewhere": "{run: elsewhere}", "/sync": "{run: here}"} {
		s.Say("$LABELS", labels)
		s.Say("$CONTROLLER", s.Unique+strings.ReplaceAll(path, "/", "-"))
		s.Say("$URL", s.Hook.URL(path))
		s.Create(decorator)
	}
	s.Create(thing)
	s.Called("/sync", 3)
	s.Exists(scenario.Ref{APIVersion: "$Thing", Kind: "Thing", Namespace: "$NAMESPACE", Name: "a"},
		scenario.Has("metadata.labels.here", "yes"), scenario.Has("metadata.labels.elsewhere", nil))
	if calls := s.Calls("/elsewhere"); calls > 0 {
		t.Errorf("the hook of a controller that is not selected was called %d times", calls)
	}
}

func TestWithNonMatchingController(t *testing.T) {
	t.Parallel()
	s := start(t, `{run: elsewhere}`)
	s.Create(thing)

	// Another controller of the same parents shows that they could have been synced.
	s.Say("$LABELS", `{run: here}`)
	s.Say("$CONTROLLER", s.Unique+"-here")
	s.Say("$URL", s.Hook.URL("/here"))
	s.Answers(scenario.Answers{
		"/here": func(scenario.Object) scenario.Object { return scenario.Object{} },
	})
	s.Create(controller)
	s.Called("/here", 3)
	s.Absent(child)
	if calls := s.Calls("/sync"); calls > 0 {
		t.Errorf("the hook of a controller that is not selected was called %d times", calls)
	}
}

func TestParentsAreSyncedAgainEveryCacheFlushInterval(t *testing.T) {
	t.Parallel()
	s := start(t, `{run: here}`)
	s.Create(thing)
	s.Called("/sync", 5)
}

func TestMetricsAreServedByPlainHTTP(t *testing.T) {
	t.Parallel()
	s := start(t, `{run: here}`)
	name := "CompositeController-" + s.Unique
	want := `workqueue_depth{controller="` + name + `",name="` + name + `"}`
	env.Eventually(t, func(ctx context.Context) error { // a controller shows them once its watches have been filled
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metricsAddress+"/metrics", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err == nil && !strings.Contains(string(body), want) {
			err = fmt.Errorf("no series %s among the metrics (%s)", want, response.Status)
		}
		return err
	})
}

func TestApplyStrategyHoldsWhereTheTypeOfTheChildSaysNothing(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[string]string{"": "Apply by flagged", "updateStrategy: {apply: DynamicApply}": "Update by metacontroller"} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := start(t, `{run: here}`, strategy)
			s.Create(thing)
			entry := s.Exists(child).GetManagedFields()[0]
			if got := string(entry.Operation) + " by " + entry.Manager; got != want {
				t.Errorf("the child was written as %s, want %s", got, want)
			}
		})
	}
}

// When the process stops, events report that its controllers have stopped.
func TestStoppingTheProcessIsToldByEvents(t *testing.T) {
	s := start(t, `{run: here}`)
	s.Event(theController, "Started", "Started controller: $NAME")
	env.StopServer(t)
	// No more events follow once the process has stopped.
	events, err := env.Kube.CoreV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + s.Unique,
	})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, event := range events.Items {
		told[event.Reason] = event.Message
	}
	for _, reason := range []string{"Starting", "Started", "Stopping", "Stopped"} {
		if want := reason + " controller: " + s.Unique; told[reason] != want {
			t.Errorf("the event %s says %q, want %q", reason, told[reason], want)
		}
	}
	env.StartServer(t)
}
