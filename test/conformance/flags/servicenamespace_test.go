// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package flags

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// rollingController rolls its children. Its revisions are in the namespace of --service-namespace,
// because its parents have none.
const rollingController = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: $NAME, labels: {run: here}}
spec:
  generateSelector: true
  parentResource: {apiVersion: $Wide, resource: wides}
  childResources:
  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: RollingInPlace}}
  hooks: {sync: {webhook: {url: $HOOK/sync}}, finalize: {webhook: {url: $HOOK/finalize}}}
`

// Without their namespace no revision can be made, and so no child. That is an error that names the
// namespace and the flag. A parent still goes.
func TestTheNamespaceOfRevisionsIsMissing(t *testing.T) {
	const missing = "not-there"
	pki := filepath.Join(env.Server.DataDir, "pki")
	args := env.Server.Args
	env.StopServer(t)
	// The Service stays, so the certificate has to.
	env.Server.Args = append(slices.Clone(args), "--service-namespace="+missing,
		"--tls-cert-file="+filepath.Join(pki, "serving.crt"), "--tls-private-key-file="+filepath.Join(pki, "serving.key"))
	defer func() {
		env.StopServer(t)
		env.Server.Args = args
		env.StartServer(t)
	}()
	env.StartServer(t)

	s := scenario.New(t, env)
	s.Define(harness.CRD{Kind: "Wide", ClusterScoped: true})
	s.Answers(scenario.Answers{
		"/sync": func(scenario.Object) scenario.Object {
			child := hook.ConfigMap("a", nil)
			child["metadata"].(scenario.Object)["namespace"] = s.Namespace
			return scenario.Object{"children": []scenario.Object{child}}
		},
		"/finalize": func(scenario.Object) scenario.Object { return scenario.Object{"finalized": true} },
	})
	s.Create(rollingController)
	parent := scenario.Ref{APIVersion: "$Wide", Kind: "Wide", Name: "$NAME"}
	s.Create(`{apiVersion: $Wide, kind: Wide, metadata: {name: $NAME}}`)
	s.Event(parent, "SyncError", "namespace "+missing+", as the flag --service-namespace says")
	env.WaitForController(t, harness.Composite(s.Unique), func(_ metav1.ObjectMeta, status v1alpha1.ControllerStatus) error {
		if status.Parents == nil || status.Parents.Failing != 1 {
			return fmt.Errorf("one parent should be failing, but the status is %+v", status.Parents)
		}
		return nil
	})
	s.Absent(scenario.ConfigMap("a"))
	s.Delete(parent)
	s.Gone(parent)
}
