// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/corpus"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
)

// applyAll applies the objects of cases with one run of kubectl and returns its output. kubectl
// continues after an error.
func applyAll(t *testing.T, cases []corpus.Case, flags ...string) string {
	t.Helper()
	var manifest strings.Builder
	for _, c := range cases {
		text, err := c.Object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		manifest.WriteString("---\n" + string(text))
	}
	cmd := env.Host.KubectlCommand(t.Context(), append([]string{"apply", "-f", "-"}, flags...)...)
	cmd.Stdin = strings.NewReader(manifest.String())
	output, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return string(output)
}

// refusal returns what kubectl prints about an object that is refused when it applies several
// objects.
func refusal(c corpus.Case) string {
	what := strings.Join(c.Errors, ", ")
	if len(c.Errors) > 1 {
		what = "[" + what + "]"
	}
	return fmt.Sprintf("%s.metacontroller.k8s.io %q is invalid: %s\n", c.Object.GetKind(), c.Object.GetName(), what)
}

// published waits until the host publishes the schemas of the group, and kubectl has read its resources. Until then,
// kubectl cannot validate on the server, and its cache may not have the short names.
func published(t *testing.T) {
	t.Helper()
	env.Eventually(t, func(context.Context) error {
		if !strings.Contains(env.Kubectl(t, "get", "--raw", "/openapi/v3"), `"apis/`+v1alpha1.SchemeGroupVersion.String()+`"`) {
			return errors.New("the cluster has not published the schemas")
		}
		if !strings.Contains(env.Kubectl(t, "api-resources", "--api-group="+v1alpha1.GroupName), "compositecontrollers") {
			return errors.New("the cluster does not list the resources of the group")
		}
		return nil
	})
}

func TestBrokenObjectsAreRefusedByTheirFields(t *testing.T) {
	published(t)
	cases := corpus.Refused(t)
	output := applyAll(t, cases)
	for _, c := range cases {
		if want := refusal(c); !strings.Contains(output, want) {
			t.Errorf("%s: kubectl did not say %q", c.Name, want)
		}
	}
	notStored(t, cases)
	if t.Failed() {
		t.Logf("kubectl said:\n%s", output)
	}
}

// notStored fails the test if an object is there.
func notStored(t *testing.T, cases []corpus.Case) {
	t.Helper()
	there := strings.Fields(env.Kubectl(t, "get", "cc,dec", "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name}{"\n"}{end}`))
	for _, c := range cases {
		if slices.Contains(there, c.Object.GetKind()+"/"+c.Object.GetName()) {
			t.Errorf("%s: the object was stored", c.Name)
		}
	}
}

// kubectl prints the same warning only once, so all cases are checked together. There may be more
// warnings: those that depend on the cluster are not in the cases.
func TestOddObjectsAreAcceptedWithWarnings(t *testing.T) {
	published(t)
	cases := corpus.Accepted(t)
	output := applyAll(t, cases, "--server-side", "--dry-run=server")
	for _, c := range cases {
		contains(t, output, "/"+c.Object.GetName()+" serverside-applied (server dry run)\n")
		for _, warning := range c.Warnings {
			contains(t, output, "Warning: "+warning+"\n")
		}
	}
}

// An object that is too large for the storage is refused with a clear message.
func TestObjectsThatAreTooLargeAreRefused(t *testing.T) {
	published(t)
	rules := make([]string, 30_000)
	for i := range rules {
		rules[i] = fmt.Sprintf("    - {apiVersion: v1, resource: resources-%030d}", i)
	}
	text := strings.Replace(manifest(harness.Name("test")), "  childResources:\n", "  childResources:\n"+strings.Join(rules, "\n")+"\n", 1)
	cmd := env.Host.KubectlCommand(t.Context(), "apply", "--server-side", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	output, err := cmd.CombinedOutput()
	if err == nil || len(output) > 10_000 {
		t.Errorf("error = %v, and kubectl says %d bytes", err, len(output))
	}
	contains(t, string(output), "spec: Too long: the object has ")
	contains(t, string(output), "spec.childResources: Too many: 30001: must have at most 256 items")
}
