// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/pki"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/scenario"
)

// run is one mistake made once, in a namespace and with a hook of its own.
type run struct {
	*scenario.Scenario
	m          mistake
	controller object
	parent     object
	applied    string // what kubectl said when the mistake was applied; empty if it was not
	refused    bool   // whether that was an error
}

// newRun prepares everything that is there before the mistake. Words of the mistake's file are those
// of a Scenario, and
//
//	$VERSION   the version of the hook protocol
//	$HOST      the address of the hook without the scheme
//	$CA        the authority of the hook's certificate, and $OTHERCA another one
//	$MEGABYTE  a megabyte of text
//
// Answers have more of them: see handler.
func newRun(t *testing.T, m mistake, engine v1alpha1.ChildApplyStrategy, version string) *run {
	t.Helper()
	r := &run{Scenario: scenario.New(t, env), m: m}
	r.Say("$VERSION", version)
	r.Say("$MEGABYTE", strings.Repeat("x", 1<<20))
	if m.HTTPS {
		r.serveHTTPS()
	}
	_, host, _ := strings.Cut(r.Hook.URL(""), "://")
	r.Say("$HOST", host)

	controller, err := m.controller()
	if err != nil {
		t.Fatal(err)
	}
	parent, err := patched("parent", m.Parent)
	if err != nil {
		t.Fatal(err)
	}
	setEngine(controller, engine)
	r.controller, r.parent = controller, r.Parse(r.json(parent))
	if m.Namespace != nil {
		r.Patch(scenario.Ref{APIVersion: "v1", Kind: "Namespace", Name: r.Namespace}, r.json(m.Namespace))
	}
	for _, more := range m.Objects {
		r.Create(r.json(more))
	}
	return r
}

// setEngine sets the engine of all child types of a CompositeController. That of a DecoratorController
// is set by a flag of the server.
func setEngine(controller object, engine v1alpha1.ChildApplyStrategy) {
	rules, _, _ := unstructured.NestedSlice(controller, "spec", "childResources")
	if rules == nil {
		return
	}
	for _, rule := range rules {
		rule := rule.(object)
		strategy, _ := rule["updateStrategy"].(object)
		rule["updateStrategy"], _ = merged(object{"apply": string(engine)}, strategy)
	}
	_ = unstructured.SetNestedSlice(controller, rules, "spec", "childResources")
}

// serveHTTPS replaces the hook by one that is called by https.
func (r *run) serveHTTPS() {
	r.Helper()
	var authorities [2]*pki.Authority
	for i, word := range []string{"$CA", "$OTHERCA"} {
		authority, err := pki.NewAuthority("hooks")
		if err != nil {
			r.Fatal(err)
		}
		r.Say(word, strings.ReplaceAll(string(authority.Cert), "\n", `\n`)) // in JSON
		authorities[i] = authority
	}
	pair, err := authorities[0].Serving(net.IPv4(127, 0, 0, 1), "hooks.example")
	if err != nil {
		r.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		r.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{certificate}}
	r.Hook = hook.ServeTLS(r, func() *tls.Config { return config }, nil)
	r.Say("$HOOK", r.Hook.URL(""))
}

// json returns a value with its words.
func (r *run) json(value any) string {
	r.Helper()
	document, err := json.Marshal(value)
	if err != nil {
		r.Fatal(err)
	}
	return string(document)
}

// make makes the mistake.
func (r *run) make() {
	r.Helper()
	if r.m.Before == nil {
		r.Hook.Handle(handler(r.m.Answers, r.Text))
		if r.apply(r.controller); !r.refused {
			r.create(r.parent)
		}
		return
	}
	r.Hook.Handle(handler(r.m.Before, r.Text))
	if r.m.Change == nil {
		r.create(r.controller) // kubectl costs much
	} else {
		r.apply(r.controller)
		r.applied = ""
	}
	r.create(r.parent)
	r.waitUntilHealthy()

	if r.m.Answers != nil {
		r.Hook.Handle(handler(r.m.Answers, r.Text))
	}
	if r.m.Change != nil {
		changed, err := merged(r.controller, r.m.Change)
		if err != nil {
			r.Fatal(err)
		}
		r.apply(changed)
	}
	if r.m.ParentChange != nil {
		r.Patch(r.parentRef(), r.json(r.m.ParentChange))
	}
	if r.m.Delete {
		r.Delete(r.parentRef())
	} else {
		r.Patch(r.parentRef(), `{metadata: {annotations: {touched: "yes"}}}`)
	}
}

func (r *run) parentRef() scenario.Ref {
	parent := unstructured.Unstructured{Object: r.parent}
	return scenario.Ref{APIVersion: parent.GetAPIVersion(), Kind: parent.GetKind(), Namespace: parent.GetNamespace(), Name: parent.GetName()}
}

func (r *run) create(object object) { r.Create(r.json(object)) }

// apply applies the manifest of the controller with kubectl, and deletes the controller in the end.
func (r *run) apply(manifest object) {
	r.Helper()
	command := env.Host.KubectlCommand(r.Context(), "apply", "-f", "-")
	command.Stdin = strings.NewReader(r.Text(r.json(manifest)))
	out, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		r.Fatal(err)
	}
	r.applied, r.refused = string(out), err != nil
	if r.refused {
		return
	}
	r.Cleanup(func() {
		err := env.Dynamic.Resource(r.controllerResource()).Delete(context.WithoutCancel(r.Context()), r.Unique, metav1.DeleteOptions{})
		if err != nil {
			r.Logf("delete the controller: %v", err) // the next one may have been deleted already
		}
	})
}

func (r *run) controllerResource() schema.GroupVersionResource {
	resource := "compositecontrollers"
	if r.m.Decorator != nil {
		resource = "decoratorcontrollers"
	}
	return v1alpha1.SchemeGroupVersion.WithResource(resource)
}

// waitUntilHealthy waits until the controller has synced its parent and nothing is wrong.
func (r *run) waitUntilHealthy() {
	r.Helper()
	env.Eventually(r, func(ctx context.Context) error {
		status, err := r.status(ctx)
		if err != nil {
			return err
		}
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionParentsSynced} {
			if !slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == kind && c.Status == metav1.ConditionTrue }) {
				return fmt.Errorf("before the mistake, %s is not True: %v", kind, status.Conditions)
			}
		}
		if status.Parents == nil || status.Parents.Synced == 0 || status.Parents.Failing > 0 {
			return fmt.Errorf("before the mistake, the parents are %v", status.Parents)
		}
		return nil
	})
}

func (r *run) status(ctx context.Context) (status v1alpha1.ControllerStatus, err error) {
	found, err := env.Dynamic.Resource(r.controllerResource()).Get(ctx, r.Unique, metav1.GetOptions{})
	if err != nil {
		return status, err
	}
	content, _, err := unstructured.NestedMap(found.Object, "status")
	if err != nil {
		return status, err
	}
	return status, runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status)
}

// state returns all that kubectl can show of the mistake, as text: the status of the controller and
// of the parent, and the events. It costs less than kubectl.
func (r *run) state(ctx context.Context) (string, error) {
	var parts []string
	for namespace, selector := range map[string]string{r.Namespace: "", metav1.NamespaceDefault: "involvedObject.name=" + r.Unique} {
		events, err := env.Kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector})
		if err != nil {
			return "", err
		}
		for _, event := range events.Items {
			parts = append(parts, r.normal(fmt.Sprint(event.Type, " ", event.Reason, " ", event.InvolvedObject.Kind, " ", event.Message)))
		}
	}
	controller, err := env.Dynamic.Resource(r.controllerResource()).Get(ctx, r.Unique, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	parent, err := r.Get(ctx, r.parentRef())
	if apierrors.IsNotFound(err) {
		parent, err = &unstructured.Unstructured{}, nil
	}
	if err != nil {
		return "", err
	}
	for _, object := range []*unstructured.Unstructured{controller, parent} {
		parts = append(parts, r.normal(r.json(object.Object["status"])))
	}
	slices.Sort(parts)
	return r.applied + strings.Join(slices.Compact(parts), "\n"), nil
}

// shown returns what kubectl shows as soon as it is want, or in the end. It returns how long that took,
// beginning now.
func (r *run) shown(g *golden, want string) (string, time.Duration, error) {
	start := time.Now()
	if r.refused {
		return r.show(), time.Since(start), nil
	}
	before, looked := "", ""
	for time.Since(start) < r.m.within()+patience {
		now, err := r.state(r.Context())
		if err != nil {
			return "", 0, err
		}
		// kubectl is started when something has changed and does not change any more.
		if before == now && looked != now {
			looked = now
			took := time.Since(start)
			if shown := g.shown(now, r.show); shown == want {
				return shown, took, nil
			}
		}
		before = now
		pause(r.Context())
	}
	return r.show(), time.Since(start), nil
}

// patience is for a busy machine. Only failing tests use it up.
const patience = 30 * time.Second

// shownOnceUnchanged returns what kubectl shows when the mistake must be seen and nothing has changed for a
// while.
func (r *run) shownOnceUnchanged(g *golden) (string, error) {
	if r.refused {
		return r.show(), nil
	}
	until := time.Now().Add(r.m.within())
	before := ""
	for {
		now, err := r.state(r.Context())
		if err != nil {
			return "", err
		}
		if before != now {
			before = now
			if later := time.Now().Add(r.m.settles()); later.After(until) {
				until = later
			}
		}
		if time.Now().Before(until) {
			pause(r.Context())
			continue
		}
		shown := g.shown(now, r.show)
		if now, err = r.state(r.Context()); err != nil || before == now {
			return shown, err
		}
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(250 * time.Millisecond):
	}
}
