// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// waitForRow waits until kubectl get cc shows these values of READY, PARENTS and FAILING.
func (f *fixture) waitForRow(want ...string) {
	f.Helper()
	env.Eventually(f, func(context.Context) error {
		lines := strings.Split(strings.TrimSpace(env.Kubectl(f, "get", "cc", f.Controller.Name)), "\n")
		if len(lines) != 2 {
			return fmt.Errorf("kubectl says %q", lines)
		}
		cells := strings.Fields(lines[1])
		if got := []string{cells[2], cells[3], cells[4]}; !slices.Equal(got, want) {
			return fmt.Errorf("kubectl shows %q, want READY, PARENTS and FAILING to be %q", cells, want)
		}
		return nil
	})
}

func TestAHookThatIsDownIsShownAndBack(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	f.CreateParent("b", object{"value": "1"})
	f.waitForRow("True", "2", "0")

	f.Hook.Handle(answers(t, func(asked request) object {
		if asked.Parent.GetName() == "a" {
			panic(http.ErrAbortHandler)
		}
		return oneConfigMap(asked) // the other parent may not be done yet
	}))
	f.PatchParent("a", object{"spec": object{"value": "2"}})
	f.waitForRow("False", "2", "1")
	f.WaitForReady(metav1.ConditionFalse, "HookDown")
	reachable := env.Kubectl(t, "get", "cc", f.Controller.Name, "-o", `jsonpath={.status.conditions[?(@.type=="HooksReachable")].message}`)
	if want := "about Thing " + f.Namespace + "/a: sync hook failed: "; !strings.HasPrefix(reachable, want) {
		t.Errorf("HooksReachable says %q, want it to begin with %q", reachable, want)
	}

	f.Hook.Handle(answers(t, oneConfigMap))
	f.waitForRow("True", "2", "0")
	f.WaitForConfigMap("a", harness.HasData("value", "2"))
	f.WaitForCondition("HooksReachable", metav1.ConditionTrue)
	recovered := env.Kubectl(t, "get", "cc", f.Controller.Name, "-o", `jsonpath={.status.lastError.kind} {.status.lastError.recovered}`)
	if !strings.HasPrefix(recovered, "Thing 20") {
		t.Errorf("of the last error it says %q", recovered)
	}
}

func TestAParentThatLacksAChildIsFailing(t *testing.T) {
	t.Parallel()
	f := start(t, answers(t, oneConfigMap))
	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: f.Namespace}}
	if _, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(t.Context(), taken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.CreateParent("a", object{"value": "1"})
	f.CreateParent("b", object{"value": "1"})
	f.waitForRow("True", "2", "1")
	message := env.Kubectl(t, "get", "cc", f.Controller.Name, "-o", "jsonpath={.status.lastError.message}")
	want := "ConfigMap " + f.Namespace + "/a (of no controller) exists and is not this object's child, " +
		"so the server did not change it; "
	if !strings.HasPrefix(message, want) || strings.Contains(message, "delete") {
		t.Errorf("the last error is %q, want one that begins with %q", message, want)
	}
	f.DeleteConfigMap("a")
	f.waitForRow("True", "2", "0")
}

// A controller becomes ready soon after its first sync, and not only at the next periodic update of
// its status. A busy machine may cause a slow try.
func TestAControllerIsReadySoonAfterItsFirstSync(t *testing.T) {
	t.Parallel()
	const tries, soon = 5, 2 * time.Second
	var took []time.Duration
	for range tries {
		f := prepare(t, hook.Serve(t, answers(t, oneConfigMap)))
		f.CreateParent("a", object{"value": "1"})
		f.RunComposite(f.CompositeSpec())
		f.WaitForConfigMap("a", harness.HasData("value", "1"))
		synced := time.Now()
		f.WaitForReady(metav1.ConditionTrue, "Running")
		took = append(took, time.Since(synced))
		env.Kubectl(t, "wait", "--for=condition=Ready", "cc/"+f.Controller.Name, "--timeout=30s")
		if took[len(took)-1] <= soon {
			t.Logf("it was ready %s after its first sync", took)
			return
		}
	}
	t.Errorf("it was ready %s after its first sync, and not once within %s", took, soon)
}
