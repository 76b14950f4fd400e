// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

func TestRightsAreThoseOfTheUser(t *testing.T) {
	user := harness.Name("jane")
	config, err := env.Host.RESTConfig(user)
	if err != nil {
		t.Fatal(err)
	}
	client, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	controllers := client.MetacontrollerV1alpha1().CompositeControllers()

	_, err = controllers.List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), user) {
		t.Errorf("a user without rights gets %v, want a refusal that names the user", err)
	}

	env.Kubectl(t, "create", "clusterrole", user, "--verb=get,list", "--resource=compositecontrollers.metacontroller.k8s.io")
	env.Kubectl(t, "create", "clusterrolebinding", user, "--clusterrole="+user, "--user="+user)
	env.Eventually(t, func(ctx context.Context) error {
		_, err := controllers.List(ctx, metav1.ListOptions{})
		return err
	})
	if err := controllers.Delete(t.Context(), "any", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a user who may read deletes with %v, want a refusal", err)
	}
}

// The host's admission policies run in our server, so they see the user that our server sees.
func TestUsersAreSeenAsThemselves(t *testing.T) {
	user := harness.Name("jane")
	env.Apply(t, fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: %[1]s
spec:
  matchConstraints:
    resourceRules:
      - apiGroups: [metacontroller.k8s.io]
        apiVersions: ["*"]
        operations: [CREATE]
        resources: [compositecontrollers]
  validations:
    - expression: request.userInfo.username != "%[1]s"
      messageExpression: '"seen as " + request.userInfo.username + " of " + request.userInfo.groups.join(",")'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: %[1]s
spec:
  policyName: %[1]s
  validationActions: [Deny]
`, user))
	env.Kubectl(t, "create", "clusterrole", user, "--verb=create", "--resource=compositecontrollers.metacontroller.k8s.io")
	env.Kubectl(t, "create", "clusterrolebinding", user, "--clusterrole="+user, "--group=testers")

	file := filepath.Join(t.TempDir(), "cc.yaml")
	if err := os.WriteFile(file, []byte(manifest(harness.Name("test"))), 0o600); err != nil {
		t.Fatal(err)
	}
	create := []string{"create", "--dry-run=server", "-f", file, "--as=" + user, "--as-group=testers", "-o", "name"}
	want := "seen as " + user + " of testers"
	env.Eventually(t, func(ctx context.Context) error {
		out, err := env.Host.RunKubectl(ctx, create...)
		if err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("kubectl says %q, %v; want %q", out, err, want)
		}
		return nil
	})
}

func TestOnlyTheFrontProxyMaySayWhoTheUserIs(t *testing.T) {
	ca, err := os.ReadFile(filepath.Join(env.Server.DataDir, "pki", "serving.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: aggregation.ServiceName + "." + aggregation.Namespace + ".svc"}}
	defer transport.CloseIdleConnections()

	url := fmt.Sprintf("https://127.0.0.1:%d/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers", env.Server.Port)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Remote-User", "admin")
	request.Header.Set("X-Remote-Group", "system:masters")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusForbidden && response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a caller that only claims to be somebody gets %s, want a refusal", response.Status)
	}
}
