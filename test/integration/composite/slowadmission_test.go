// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// The writes of one controller hang in an admission webhook. Those of another one do not wait for
// them.
func TestAHangingAdmissionWebhookHoldsUpOneController(t *testing.T) {
	slow := start(t, answers(t, func(asked request) object {
		var children []object
		for i := range 30 {
			children = append(children, hook.ConfigMap(fmt.Sprint(asked.Parent.GetName(), "-", i), object{"value": "1"}))
		}
		return object{"children": children}
	}))
	other := start(t, answers(t, oneConfigMap))
	other.CreateParent("a", object{"value": "0"})
	other.WaitForConfigMap("a", harness.HasData("value", "0"))

	admission := hangAdmission(t, slow.Namespace)
	for i := range 5 { // as many as there are workers
		slow.CreateParent(fmt.Sprint("p", i), object{})
	}
	env.Eventually(t, func(context.Context) error {
		if hanging := admission.hanging.Load(); hanging < 32 { // half of --parallel-writes
			return fmt.Errorf("%d writes hang", hanging)
		}
		return nil
	})
	for i := range 10 {
		value := strconv.Itoa(i + 1)
		other.PatchParent("a", object{"spec": object{"value": value}})
		other.WaitForConfigMap("a", harness.HasData("value", value))
	}
	if admission.ended.Load() > 0 {
		t.Error("the other controller waited until writes that hang were given up")
	}
}

// A controller whose spec is changed begins anew only after its writes under way were answered. Otherwise the cluster
// could do an old write after a new one.
func TestAControllerThatIsChangedWaitsForItsWrites(t *testing.T) {
	f := start(t, answers(t, oneConfigMap))
	admission := hangAdmission(t, f.Namespace)
	from := env.AuditEnd(t)
	f.CreateParent("a", object{"value": "0"})
	env.Eventually(t, func(context.Context) error {
		if admission.hanging.Load() == 0 {
			return errors.New("no write hangs")
		}
		return nil
	})
	f.PatchController(object{"spec": object{"resyncPeriodSeconds": 3600}})
	env.WaitForEvent(t, "default", f.Controller.Name, "Stopping", "Stopping controller")
	admission.answer()
	f.WaitForConfigMap("a", harness.HasData("value", "0"))
	f.WaitForReady(metav1.ConditionTrue, "Running")
	if admission.overlapped.Load() {
		t.Error("the controller began again while its write was under way")
	}
	// The cache may not show the child yet when the controller begins again. The cluster then refuses another create.
	creates := f.RequestLines(from, hostcluster.Request{Verbs: []string{"create"}, Resource: "configmaps"})
	if len(creates) == 0 || !strings.Contains(creates[0], "201") {
		t.Errorf("the child was created by %q, want the first request to be answered", creates)
	}
}

// A Namespace takes long to create, because an admission webhook is slow. What is in it is created afterwards.
func TestWhatIsInANamespaceWaitsForASlowAdmissionWebhook(t *testing.T) {
	for _, engine := range harness.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			name := harness.Name("slow")
			f := &fixture{harness.NewFixture(t, env, harness.CRD{Kind: "Thing", ClusterScoped: true},
				hook.Serve(t, answers(t, func(request) object {
					inside := hook.ConfigMap("inside", object{"value": "1"})
					inside["metadata"].(object)["namespace"] = name
					place := object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}}
					return object{"children": []object{inside, place}}
				})))}
			f.Namespace = ""
			f.RunComposite(f.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) {
				spec.ChildResources = append(spec.ChildResources,
					harness.ChildRule("v1", "namespaces", v1alpha1.ChildUpdateInPlace))
			}, applied(engine)))
			admission := hangAdmissionOf(t, "namespaces", name, func(ctx context.Context) error {
				dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
				probe := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
				_, err := env.Kube.CoreV1().Namespaces().Create(ctx, probe, dryRun)
				return err
			})
			from := env.AuditEnd(t)
			f.CreateParent(name, object{})
			env.Eventually(t, func(context.Context) error {
				if admission.hanging.Load() == 0 {
					return errors.New("no write hangs")
				}
				return nil
			})
			<-time.After(300 * time.Millisecond) // the cluster itself waits 50 ms for a Namespace that it does not know yet
			admission.answer()
			env.WaitForConfigMap(t, name, "inside", harness.HasData("value", "1"))
			if lines := f.RequestLines(from, hostcluster.Request{
				Verbs: hostcluster.Writes(), Resource: "configmaps", Namespace: name,
			}); len(lines) != 1 {
				t.Errorf("what is in the Namespace was written by %q, want one request", lines)
			}
			f.DeleteParent(name)
		})
	}
}

// hangingAdmission counts the calls of an admission webhook that does not answer.
type hangingAdmission struct {
	hanging, ended atomic.Int32
	// overlapped is true once a call has come while another one hung.
	overlapped atomic.Bool
	// answer has the calls answered that hang.
	answer func()
	// inEffect is true once it has been called for a dry run, which does not hang.
	inEffect atomic.Bool
}

// hangAdmission lets new ConfigMaps of a namespace hang until the test ends, or until it is told to answer.
func hangAdmission(t *testing.T, namespace string) *hangingAdmission {
	t.Helper()
	return hangAdmissionOf(t, "configmaps", namespace, func(ctx context.Context) error {
		dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		_, err := env.Kube.CoreV1().ConfigMaps(namespace).Create(ctx, probe, dryRun)
		return err
	})
}

// hangAdmissionOf lets new objects of a resource in a namespace, or the Namespace itself, hang. The probe creates one
// as a dry run.
func hangAdmissionOf(t *testing.T, resource, namespace string, probe func(context.Context) error) *hangingAdmission {
	t.Helper()
	over := make(chan struct{})
	counted := &hangingAdmission{answer: sync.OnceFunc(func() { close(over) })}
	server, authority := hook.ServeGuarded(t, "", func(ctx context.Context, call hook.Call) hook.Answer {
		var review struct{ Request struct{ DryRun bool } }
		if err := call.Decode(&review); err != nil || review.Request.DryRun {
			counted.inEffect.Store(true)
			return hook.Text(http.StatusServiceUnavailable, "called")
		}
		if counted.hanging.Add(1)-counted.ended.Load() > 1 {
			counted.overlapped.Store(true)
		}
		select {
		case <-ctx.Done():
		case <-over:
		}
		counted.ended.Add(1)
		return hook.Text(http.StatusServiceUnavailable, "over")
	})
	configurations := env.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	name := harness.Name("slow")
	_, err := configurations.Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:         "slow.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: ptr.To(server.URL("/")), CABundle: authority},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource},
				},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			FailurePolicy:           ptr.To(admissionregistrationv1.Ignore),
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](30),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		counted.answer()
		if err := configurations.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	env.Eventually(t, func(ctx context.Context) error {
		err := probe(ctx)
		if err == nil && !counted.inEffect.Load() {
			err = errors.New("the cluster does not call the admission webhook yet")
		}
		return err
	})
	return counted
}
