// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// The APIService leads to another Service than the flags say, so this server may not be the one that acts. It
// says so on each controller, and calls no hook.
func TestTheAPIServiceLeadsToAnotherService(t *testing.T) {
	pki := filepath.Join(env.Server.DataDir, "pki")
	args := env.Server.Args
	restart := func(args []string) {
		env.StopServer(t)
		env.Server.Args = args
		env.StartServer(t)
	}
	// The Service stays, so the certificate has to.
	restart(append(slices.Clone(args), "--service-namespace=not-there", "--leader-election-namespace=metacontroller",
		"--tls-cert-file="+filepath.Join(pki, "serving.crt"), "--tls-private-key-file="+filepath.Join(pki, "serving.key")))
	defer restart(args)

	s := scenario.New(t, env)
	s.Define(harness.CRD{Kind: "Thing"})
	s.Answers(scenario.Answers{
		"/sync": func(scenario.Object) scenario.Object { return scenario.Object{"children": []scenario.Object{}} },
	})
	s.Create(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME, labels: {run: here}}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Thing, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {webhook: {url: $HOOK/sync}}}
`)
	s.Create(`{apiVersion: $Thing, kind: Thing, metadata: {name: $NAME, namespace: $NAMESPACE}}`)
	env.WaitForController(t, harness.Composite(s.Unique), func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != v1alpha1.ReasonHeld || !strings.Contains(ready.Message, "leads to the Service metacontroller/metacontroller-apiserver, "+
			"not to not-there/metacontroller-apiserver of this server (--service-namespace, --service-name)") {
			return fmt.Errorf("Ready is %+v", ready)
		}
		return nil
	})
	if calls := s.Calls("/sync"); calls > 0 {
		t.Errorf("the hook was called %d times", calls)
	}
}
