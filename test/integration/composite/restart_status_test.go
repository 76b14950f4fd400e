// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// A server does not write the status of each controller when it starts. There may be thousands.
func TestARestartDoesNotWriteStatusesThatSayTheSame(t *testing.T) {
	f := start(t, answers(t, oneConfigMap))
	f.CreateParent("a", object{"value": "1"})
	f.waitForRow("True", "1", "0")
	f.WaitForCondition("HooksReachable", metav1.ConditionTrue)
	f.DeleteParent("a")
	f.waitForRow("True", "0", "0")
	waitForCounts(t, f.Controller.Name, 0, 0) // it is counted as synced until it has been found gone
	before, err := f.getController(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	env.StopServer(t)
	env.StartServer(t)
	afterRestart(f, func(ctx context.Context) error {
		_, err := f.getController(ctx)
		return err
	})

	// A later controller is handled after this one.
	later := *f
	later.Parents = env.Install(t, harness.CRD{Kind: "Thing"})
	later.RunComposite(later.CompositeSpec())
	later.WaitForReady(metav1.ConditionTrue, "Running")
	later.CreateParent("b", object{"value": "1"})
	later.waitForRow("True", "1", "0")
	after, err := f.getController(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the status was written: it was %+v, and is %+v", before.Status, after.Status)
	}
}
