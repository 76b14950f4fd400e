// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// metricsServer registers a metrics-server that there is not.
const metricsServer = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec:
  group: metrics.k8s.io
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {namespace: kube-system, name: metrics-server}
`

// While the server is down, the cluster does what it does while metrics-server is down: it deletes all but namespaces.
// docs/troubleshooting.md says so. The parent has a ControllerRevision.
func TestWhileAnAggregatedServerIsDown(t *testing.T) {
	namespace := env.Namespace(t)
	answer := func(asked request) object {
		return object{"children": []object{hook.ConfigMap(asked.Parent.GetName()+"-child", object{"a": "1"})}}
	}
	f := &fixture{harness.Fixture{
		T: t, Env: env, Namespace: namespace, Hook: hook.Serve(t, answers(t, answer)),
		Parents: corev1.SchemeGroupVersion.WithResource("configmaps"), // which the garbage collector knows at once
	}}
	f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ParentResource.LabelSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]string{"test": namespace}}
		spec.ParentResource.RevisionHistory = &v1alpha1.CompositeControllerRevisionHistory{FieldPaths: []string{"data"}}
		spec.ChildResources[0] = harness.ChildRule("v1", "configmaps", v1alpha1.ChildUpdateRollingRecreate)
	}))
	for _, down := range []struct {
		server     string
		begin, end func()
	}{
		{
			"metrics-server",
			func() { env.Apply(t, metricsServer) },
			func() { env.Kubectl(t, "delete", "apiservice", "v1beta1.metrics.k8s.io") },
		},
		{"ours", func() { env.StopServer(t) }, func() { env.StartServer(t) }},
	} {
		t.Run(down.server, func(t *testing.T) {
			f := f.in(t)
			parent := harness.Name("parent")
			f.makeConfigMap(parent, map[string]string{"test": namespace})
			f.WaitForConfigMap(parent+"-child", isControlled)
			f.waitForRevisionOf(parent)
			down.begin()

			begun := time.Now()
			doomed := env.Namespace(t)
			env.Kubectl(t, "delete", "namespace", doomed, "--wait=false")
			env.Eventually(t, func(ctx context.Context) error {
				left, err := env.Kube.CoreV1().Namespaces().Get(ctx, doomed, metav1.GetOptions{})
				if err != nil {
					t.Fatalf("the namespace should stay: %v", err)
				}
				if !slices.ContainsFunc(left.Status.Conditions, isDeletionFailure) {
					return fmt.Errorf("the namespace does not say why it stays: %v", left.Status)
				}
				return nil
			})
			f.DeleteParent(parent, metav1.DeletePropagationForeground)
			f.WaitUntilConfigMapIsGone(parent)
			if f.HasConfigMap(parent + "-child") {
				t.Error("the child has outlived its parent")
			}
			t.Logf("the parent and its child were gone after %s", time.Since(begun))

			down.end()
			begun = time.Now()
			env.Eventually(t, func(ctx context.Context) error {
				left, err := env.Kube.CoreV1().Namespaces().Get(ctx, doomed, metav1.GetOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return fmt.Errorf("the namespace should be gone, but is %v: %w", left, err)
			})
			t.Logf("the namespace was gone %s after the outage", time.Since(begun))
		})
	}
}

// isDeletionFailure reports whether a condition of a namespace says why its deletion does not end.
func isDeletionFailure(of corev1.NamespaceCondition) bool {
	return of.Status == corev1.ConditionTrue &&
		(of.Type == corev1.NamespaceDeletionDiscoveryFailure || of.Type == corev1.NamespaceDeletionContentFailure)
}

func (f *fixture) makeConfigMap(name string, labels map[string]string) {
	f.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Data: map[string]string{"a": "1"}}
	if _, err := env.Kube.CoreV1().ConfigMaps(f.Namespace).Create(f.Context(), made, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}

// waitForRevisionOf waits until a parent owns a ControllerRevision.
func (f *fixture) waitForRevisionOf(parent string) {
	f.Helper()
	env.Eventually(f, func(ctx context.Context) error {
		revisions := env.Metacontroller.MetacontrollerV1alpha1().ControllerRevisions(f.Namespace)
		all, err := revisions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, revision := range all.Items {
			if owner := metav1.GetControllerOf(&revision); owner != nil && owner.Name == parent {
				return nil
			}
		}
		return fmt.Errorf("%s has none of the revisions %v", parent, all.Items)
	})
}
