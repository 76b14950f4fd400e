// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package composite

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
)

// guarded is a fixture whose hook is called by https. The hook may require a credential.
type guarded struct {
	*fixture
	ca *pki.Authority
	// clients issues the client certificates that the hook requires, nil if it requires none.
	clients *pki.Authority
	serving atomic.Pointer[tls.Config]
	// accepted is the required header Authorization, empty if none is required.
	accepted atomic.Pointer[string]
	// seen is the header of the last call.
	seen atomic.Pointer[string]
}

// guard returns a fixture with a hook that answers oneConfigMap, without a controller.
func guard(t *testing.T, accepted string, clients *pki.Authority) *guarded {
	t.Helper()
	g := &guarded{ca: newAuthority(t, "hooks"), clients: clients}
	g.accepted.Store(&accepted)
	g.serve(t, g.ca)
	known := answers(t, oneConfigMap)
	g.fixture = prepare(t, hook.ServeTLS(t, g.serving.Load, func(ctx context.Context, call hook.Call) hook.Answer {
		header := call.Header.Get("Authorization")
		g.seen.Store(&header)
		if accepted := *g.accepted.Load(); accepted != "" && header != accepted {
			return hook.Text(http.StatusForbidden, "refused: "+header)
		}
		return known(ctx, call)
	}))
	return g
}

func newAuthority(t *testing.T, name string) *pki.Authority {
	t.Helper()
	made, err := pki.NewAuthority(name)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// serve replaces the serving certificate from the next handshake on by one of another authority.
func (g *guarded) serve(t *testing.T, by *pki.Authority) {
	t.Helper()
	made, err := by.Serving(net.IPv4(127, 0, 0, 1), "hooks.example")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(made.Cert, made.Key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if g.clients != nil {
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(g.clients.Cert)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	g.serving.Store(config)
}

// caBundle returns the hook's authority for a spec.
func (g *guarded) caBundle() *v1alpha1.CABundle {
	return &v1alpha1.CABundle{Inline: ptr.To(string(g.ca.Cert))}
}

// secret creates or changes a Secret. When the test ends, its values must not be in the server's
// log or in an event.
func (g *guarded) secret(name string, data map[string]string) {
	g.Helper()
	apply(g.T, env.Kube.CoreV1().Secrets(g.Namespace).Patch, name, object{
		"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": name}, "data": encoded(data),
	})
	g.Cleanup(func() {
		for key, value := range data {
			g.expectNotLeaked(key, value)
		}
	})
}

func encoded(data map[string]string) map[string][]byte {
	encoded := map[string][]byte{}
	for key, value := range data {
		encoded[key] = []byte(value)
	}
	return encoded
}

// expectNotLeaked fails the test if a value is in the server's log or in an event.
func (g *guarded) expectNotLeaked(key, value string) {
	log, err := os.ReadFile(env.Server.LogPath)
	if err != nil {
		g.Error(err)
		return
	}
	events, err := env.Kube.CoreV1().Events("").List(context.WithoutCancel(g.Context()), metav1.ListOptions{})
	if err != nil {
		g.Error(err)
		return
	}
	for _, value := range []string{value, base64.StdEncoding.EncodeToString([]byte(value))} {
		if bytes.Contains(log, []byte(value)) {
			g.Errorf("%s of a Secret is in the server's log", key)
		}
		for _, event := range events.Items {
			if strings.Contains(event.Message, value) {
				g.Errorf("%s of a Secret is in an event: %s", key, event.Message)
			}
		}
	}
}

func (g *guarded) configMap(name string, data map[string]string) {
	g.Helper()
	apply(g.T, env.Kube.CoreV1().ConfigMaps(g.Namespace).Patch, name, object{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": name}, "data": data,
	})
}

// apply creates or changes an object.
func apply[T any](t *testing.T, patch func(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error), name string, content object) {
	t.Helper()
	_, err := patch(t.Context(), name, types.ApplyPatchType, []byte(harness.JSON(t, content)), metav1.PatchOptions{FieldManager: "test"})
	if err != nil {
		t.Fatal(err)
	}
}

// run creates the controller.
func (g *guarded) run(change func(*v1alpha1.CompositeControllerSpec, *v1alpha1.Webhook)) {
	g.Helper()
	g.RunComposite(g.CompositeSpec(func(spec *v1alpha1.CompositeControllerSpec) { change(spec, spec.Hooks.Sync.Webhook) }))
}

// token returns a setting that refers to a key of a Secret.
func (g *guarded) token(name, key string) *v1alpha1.Authorization {
	return &v1alpha1.Authorization{SecretRef: v1alpha1.SecretKeyRef{Namespace: g.Namespace, Name: name, Key: key}}
}

// sync changes the parent and waits for the child.
func (g *guarded) sync(parent, value string) {
	g.Helper()
	g.PatchParent(parent, object{"spec": object{"value": value}})
	g.WaitForConfigMap(parent, harness.HasData("value", value))
}

// syncUntil syncs the parent until holds returns true.
func (g *guarded) syncUntil(parent, what string, holds func() bool) {
	g.Helper()
	for count := 0; !holds(); count++ {
		if count == 1000 {
			g.Fatalf("never happened: %s", what)
		}
		g.sync(parent, fmt.Sprintf("%s %d", what, count))
	}
}

// peer returns the address that the last call came from.
func (g *guarded) peer() string {
	calls := g.Hook.Calls()
	return calls[len(calls)-1].Peer
}

// expectNoFailedSync fails the test if a parent could not be synced.
func (g *guarded) expectNoFailedSync(parent string) {
	g.Helper()
	events, err := env.Kube.CoreV1().Events(g.Namespace).List(g.Context(), metav1.ListOptions{FieldSelector: "reason=SyncError,involvedObject.name=" + parent})
	if err != nil {
		g.Fatal(err)
	}
	for _, event := range events.Items {
		g.Errorf("a sync failed: %s", event.Message)
	}
}

// expectNotRestarted fails the test if the controller was started again.
func (g *guarded) expectNotRestarted() {
	g.Helper()
	events, err := env.Kube.CoreV1().Events(metav1.NamespaceDefault).List(g.Context(), metav1.ListOptions{FieldSelector: "reason=Stopping,involvedObject.name=" + g.Controller.Name})
	if err != nil {
		g.Fatal(err)
	}
	if len(events.Items) > 0 {
		g.Error("the controller was stopped and started again")
	}
}

// hooksReachable waits until the condition HooksReachable has a reason.
func (g *guarded) hooksReachable(reason string) {
	g.Helper()
	env.Eventually(g, func(ctx context.Context) error {
		controller, err := env.Metacontroller.MetacontrollerV1alpha1().CompositeControllers().Get(ctx, g.Controller.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		condition := meta.FindStatusCondition(controller.Status.Conditions, v1alpha1.ConditionHooksReachable)
		if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != reason {
			return fmt.Errorf("HooksReachable should be true with reason %s, but is %+v", reason, condition)
		}
		return nil
	})
}
