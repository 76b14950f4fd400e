// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observing

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// request asks for syncs, and returns the answer. The spec is JSON.
func request(f *harness.Fixture, spec string, query ...string) v1alpha1.ResyncRequest {
	f.Helper()
	path := fmt.Sprintf("/apis/metacontroller.k8s.io/v1alpha1/%s/%s/resync%s", f.Controller.Resource, f.Controller.Name, strings.Join(query, ""))
	command := env.Host.KubectlCommand(f.Context(), "create", "--raw", path, "-f", "-")
	command.Stdin = strings.NewReader(`{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"ResyncRequest","spec":` + spec + `}`)
	output, err := command.CombinedOutput()
	var answer v1alpha1.ResyncRequest
	if err == nil {
		err = json.Unmarshal(output, &answer)
	}
	if err != nil {
		f.Fatalf("%s, %v", output, err)
	}
	return answer
}

// callsAbout returns how often the hook was called about a parent, and the trigger of the last call.
func callsAbout(f *harness.Fixture, parent string) (calls int, trigger string) {
	f.Helper()
	for _, call := range f.Hook.Calls() {
		var asked hook.CompositeRequest
		if err := call.Decode(&asked); err != nil {
			f.Fatal(err)
		}
		if asked.Parent.GetName() == parent {
			calls, trigger = calls+1, asked.Trigger
		}
	}
	return calls, trigger
}

// settleAll creates parents and waits until no more syncs of them follow.
func settleAll(f *harness.Fixture, parents ...string) {
	f.Helper()
	for _, parent := range parents {
		f.CreateParentWith(parent, harness.Object{"labels": harness.Object{"half": parent[:1]}}, harness.Object{"children": 1})
		waitForState(f, parent, v1alpha1.SyncStateSynced)
		f.Settle(parent)
	}
}

func TestParentsAreSyncedOnRequest(t *testing.T) {
	f := newFixture(t, "resync")
	all := []string{"a1", "a2", "b1"}
	settleAll(&f, all...)
	for name, test := range map[string]struct {
		spec   string
		synced []string
	}{
		"those with a label": {`{"parents":{"labelSelector":{"matchLabels":{"half":"a"}}}}`, []string{"a1", "a2"}},
		"one that there is not": {
			fmt.Sprintf(`{"parent":{"namespace":%q,"name":"c"}}`, f.Namespace), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := map[string]int{}
			for _, parent := range all {
				before[parent], _ = callsAbout(&f, parent)
			}
			if answer := request(&f, test.spec, "?dryRun=All"); int(answer.Status.Parents) != len(test.synced) {
				t.Errorf("without having them synced, it is answered %+v", answer.Status)
			}
			if answer := request(&f, test.spec); int(answer.Status.Parents) != len(test.synced) || (len(answer.Status.Notes) > 0) != (len(test.synced) == 0) {
				t.Errorf("it is answered %+v", answer.Status)
			}
			env.Eventually(t, func(context.Context) error {
				for _, parent := range test.synced {
					if calls, trigger := callsAbout(&f, parent); calls <= before[parent] || trigger != "request" {
						return fmt.Errorf("the hook was called %d times about %s after %d, because of %q", calls, parent, before[parent], trigger)
					}
				}
				return nil
			})
		})
	}
	const path = "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/"
	for name, test := range map[string]struct{ of, kind, says string }{
		"of no controller": {"nobody", "ResyncRequest", `"nobody" not found`},
		"of another kind":  {f.Controller.Name, "SyncReview", "ResyncRequest"},
	} {
		t.Run(name, func(t *testing.T) {
			command := env.Host.KubectlCommand(t.Context(), "create", "--raw", path+test.of+"/resync", "-f", "-")
			command.Stdin = strings.NewReader(`{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"` + test.kind + `","spec":{"parents":{}}}`)
			if output, err := command.CombinedOutput(); err == nil || !strings.Contains(string(output), test.says) {
				t.Errorf("it is answered %s, %v", output, err)
			}
		})
	}
}

// A request does not end a pause, and whoever makes it is told so.
func TestARequestSaysWhatStaysPaused(t *testing.T) {
	f := newFixture(t, "resyncpaused")
	settleAll(&f, "a", "b")
	const all = `{"parents":{}}`
	ask := func(spec string, parents, paused int32, note string) {
		t.Helper()
		for _, query := range []string{"?dryRun=All", ""} {
			answer := request(&f, spec, query).Status
			if answer.Parents != parents || answer.Paused != paused || strings.Join(answer.Notes, "; ") != note {
				t.Errorf("it is answered %+v, want %d parents, %d paused and %q", answer, parents, paused, note)
			}
		}
	}
	f.PatchParent("a", harness.Object{"metadata": harness.Object{"annotations": harness.Object{v1alpha1.PausedAnnotation: "true"}}})
	waitForState(&f, "a", v1alpha1.SyncStatePaused)
	before := len(f.Hook.Calls())
	note := "1 parent is paused, by its annotation metacontroller.k8s.io/paused or by the controller's spec.paused, and stays paused until you remove that"
	ask(fmt.Sprintf(`{"parent":{"namespace":%q,"name":"a"}}`, f.Namespace), 0, 1, note)
	ask(all, 1, 1, note)
	env.Eventually(t, func(context.Context) error {
		if calls := len(f.Hook.Calls()); calls == before {
			return fmt.Errorf("the hook was not called about the other parent")
		}
		return nil
	})
	if calls, trigger := callsAbout(&f, "a"); trigger == "request" {
		t.Errorf("the hook was called about the parent that is paused, call %d", calls)
	}

	env.Kubectl(t, "patch", "compositecontroller", f.Controller.Name, "--type=merge", "-p", `{"spec":{"paused":true}}`)
	waitForState(&f, "b", v1alpha1.SyncStatePaused)
	ask(all, 0, 2, "2 parents are paused, by their annotation metacontroller.k8s.io/paused or by the controller's spec.paused, and stay paused until you remove that")
}

// Who has mended a hook and asks for a sync does not wait until the server tries the hook again by itself.
func TestARequestHasAHookCalledThatHasFailed(t *testing.T) {
	f := newFixture(t, "resyncfailing")
	f.CreateParentWith("a", nil, harness.Object{"fails": true})
	const untilRarely = 7 // five calls, and two with pauses of 1 and 2 s: the next one would come after 4 s
	env.Eventually(t, func(context.Context) error {
		if calls, _ := callsAbout(&f, "a"); calls < untilRarely {
			return fmt.Errorf("the hook was called %d times", calls)
		}
		return nil
	})
	f.Hook.Handle(hook.Answering(t, func(hook.CompositeRequest) harness.Object { return harness.Object{"children": []any{}} }))
	before := len(f.Hook.Calls())
	request(&f, fmt.Sprintf(`{"parent":{"namespace":%q,"name":"a"}}`, f.Namespace))
	waitForState(&f, "a", v1alpha1.SyncStateSynced)
	if trigger := f.Hook.Calls()[before].Trigger(); trigger != "request" {
		t.Errorf("the repaired hook was called because of %q", trigger)
	}
}

// When the Deployment of a hook has rolled out, all parents are synced. Until then, none is.
func TestParentsAreSyncedWhenTheHookHasRolledOut(t *testing.T) {
	namespace := env.Namespace(t)
	env.Apply(t, deployment(namespace, "v1"))
	env.Kubectl(t, "create", "configmap", "settings", "-n", namespace, "--from-literal=a=1")
	finish := func(generation int) {
		t.Helper()
		env.Kubectl(t, "patch", "deployment", "my-hook", "-n", namespace, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
			`{"status":{"observedGeneration":%d,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}`, generation))
	}
	finish(1)
	f := newFixture(t, "resyncon", func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ResyncOn = []v1alpha1.WatchedObject{
			{ResourceRule: v1alpha1.ResourceRule{APIVersion: "apps/v1", Resource: "deployments"},
				Namespace: &namespace, Name: "my-hook"},
			{ResourceRule: v1alpha1.ResourceRule{APIVersion: "v1", Resource: "configmaps"}, Namespace: &namespace,
				Name: "settings"},
		}
	})
	all := []string{"a1", "b1"}
	settleAll(&f, all...)
	calls := func() (calls map[string]int) {
		calls = map[string]int{}
		for _, parent := range all {
			calls[parent], _ = callsAbout(&f, parent)
		}
		return calls
	}
	synced := func(before map[string]int) {
		t.Helper()
		env.Eventually(t, func(context.Context) error {
			for _, parent := range all {
				if calls, trigger := callsAbout(&f, parent); calls <= before[parent] || trigger != "resync" {
					return fmt.Errorf("the hook was called %d times about %s after %d, because of %q", calls, parent, before[parent], trigger)
				}
			}
			return nil
		})
	}
	before := calls()
	env.Apply(t, deployment(namespace, "v2"))
	for _, parent := range all {
		f.Settle(parent) // so the events of the Deployment have come, too
		before[parent], _ = callsAbout(&f, parent)
	}
	if now := calls(); fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("before the rollout has finished, the hook was called %v times, after %v", now, before)
	}
	finish(2)
	synced(before)

	before = calls()
	env.Kubectl(t, "patch", "configmap", "settings", "-n", namespace, "--type=merge", "-p", `{"data":{"a":"2"}}`)
	synced(before)
}

func deployment(namespace, image string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: my-hook, namespace: %s}
spec:
  replicas: 1
  selector: {matchLabels: {app: my-hook}}
  template:
    metadata: {labels: {app: my-hook}}
    spec: {containers: [{name: hook, image: "my-hook:%s"}]}
`, namespace, image)
}
