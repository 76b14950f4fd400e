// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// waitForCells waits until kubectl get cc -o wide would show these values in the columns. It reads the table that
// kubectl prints, because a process for each try would cost more than the rest of a test.
func (f *fixture) waitForCells(want map[string]string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		raw, err := env.Metacontroller.MetacontrollerV1alpha1().RESTClient().Get().
			Resource("compositecontrollers").Name(f.Controller.Name).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Raw()
		if err != nil {
			return err
		}
		var table metav1.Table
		if err := json.Unmarshal(raw, &table); err != nil {
			return err
		}
		cells := map[string]string{}
		for _, row := range table.Rows {
			for i, cell := range row.Cells {
				cells[strings.ToUpper(table.ColumnDefinitions[i].Name)] = fmt.Sprint(cell)
			}
		}
		for heading, value := range want {
			if cells[heading] != value {
				return fmt.Errorf("kubectl shows %q, want %s to be %s", cells, heading, value)
			}
		}
		return nil
	})
}

// waitForRow waits until kubectl get cc would show these values.
func (f *fixture) waitForRow(ready, parents, failing string) {
	f.Helper()
	f.waitForCells(map[string]string{"READY": ready, "PARENTS": parents, "FAILING": failing})
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
