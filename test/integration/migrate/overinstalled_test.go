// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

// installOver applies the APIService of an installation without a migration.
func (w *world) installOver() {
	w.Helper()
	secret, err := env.Kube.CoreV1().Secrets(aggregation.Namespace).Get(w.Context(), "metacontroller-apiserver-certificates", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	env.Apply(w, fmt.Sprintf(`
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: %s, labels: {kube-aggregator.kubernetes.io/automanaged: null}}
spec:
  group: metacontroller.k8s.io
  version: v1alpha1
  groupPriorityMinimum: 1000
  versionPriority: 100
  service: {namespace: %s, name: %s, port: %d}
  caBundle: %s
`, aggregation.APIServiceName, aggregation.Namespace, aggregation.ServiceName, w.port, base64.StdEncoding.EncodeToString(secret.Data["ca.crt"])))
	w.eventually(func(ctx context.Context) error {
		list, err := env.Dynamic.Resource(compositeControllers).List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = errors.New("the definitions still serve the API")
		}
		return err
	})
}

// Who installs the server over Metacontroller's definitions sees no controllers any more. They are there, and both ways are open.
func TestTheServerIsInstalledOverTheDefinitions(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b"} {
		env.Apply(t, fmt.Sprintf(plain, name, "http://127.0.0.1:1"))
	}
	w.migrate("check") // it waits until the server has its certificate
	before := w.uids()
	w.installOver()
	if said := w.migrate("status"); !strings.Contains(said, "or the server was installed over them") {
		t.Error("it does not say what happened")
	}
	for _, step := range []string{"run", "finish"} {
		if said, err := w.tryToMigrate(step); err == nil || !strings.Contains(said, "the switch is not complete") {
			t.Errorf("%s goes on", step)
		}
	}
	if said := w.migrate("back"); !strings.Contains(said, "CompositeController b is only in its definition, for it was never copied; it stays there") {
		t.Error("it does not say what stays")
	}
	if now := w.uids(); now["a"] != before["a"] || now["b"] != before["b"] {
		t.Errorf("there were %v and are %v", before, now)
	}
	w.installOver()
	w.migrate("switch")
	w.expectPhase("Held")
	if now := w.uids(); now["a"] != before["a"] || now["b"] != before["b"] {
		t.Errorf("there were %v and are %v", before, now)
	}
}

// uids returns the UIDs of the CompositeControllers.
func (w *world) uids() map[string]string {
	w.Helper()
	list, err := env.Dynamic.Resource(compositeControllers).List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	uids := map[string]string{}
	for _, of := range list.Items {
		uids[of.GetName()] = string(of.GetUID())
	}
	return uids
}
