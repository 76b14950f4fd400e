// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// columns splits a line of a kubectl table.
func columns(line string) []string { return strings.Fields(line) }

func TestGetYAMLCanBeAppliedAgain(t *testing.T) {
	name := created(t)
	yaml := env.Kubectl(t, "get", "cc", name, "-o", "yaml")
	for _, line := range []string{"kind: CompositeController", "version: v1", "generation: 1", "resource: nothings"} {
		contains(t, yaml, line)
	}
	// The server may write the status in between.
	env.Eventually(t, func(ctx context.Context) error {
		apply := env.Host.KubectlCommand(ctx, "apply", "-f", "-")
		apply.Stdin = strings.NewReader(env.Kubectl(t, "get", "cc", name, "-o", "yaml"))
		if out, err := apply.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl apply: %w\n%s", err, out)
		}
		return nil
	})
	if got := env.Kubectl(t, "get", "cc", name, "-o", "jsonpath={.metadata.generation}"); got != "1" {
		t.Errorf("the generation is %s after applying what was read, want 1", got)
	}
}

func TestExplainReadsTheFields(t *testing.T) {
	published(t)
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"cc.spec.parentResource", "--recursive"},
			[]string{"labelSelector", "matchExpressions", "revisionHistory", "fieldPaths", "ignoreStatusChanges", "-required-"}},
		{[]string{"syncreviews.spec"}, []string{"candidate", "enum: DryRun, Plan, Request, Response", "Default: Plan.", "Exactly one of parent, parents and object must be set", "-required-"}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			text := strings.Join(strings.Fields(env.Kubectl(t, append([]string{"explain"}, test.args...)...)), " ")
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
		})
	}
}

func TestAPIResources(t *testing.T) {
	type row struct{ name, shortNames, namespaced, kind string }
	want := []row{
		{"compositecontrollers", "cc,cctl", "false", "CompositeController"},
		{"controllerrevisions", "mcrev", "true", "ControllerRevision"},
		{"decoratorcontrollers", "dec,decorators", "false", "DecoratorController"},
		{"hookcalls", "", "true", "HookCall"},
		{"syncreviews", "", "false", "SyncReview"},
		{"syncs", "", "true", "Sync"},
	}
	var got []row
	table := env.Kubectl(t, "api-resources", "--api-group=metacontroller.k8s.io", "--no-headers", "--sort-by=name")
	for line := range strings.Lines(table) {
		fields := columns(line)
		if len(fields) == 4 {
			fields = slices.Insert(fields, 1, "")
		}
		got = append(got, row{fields[0], fields[1], fields[3], fields[4]})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestOpenAPIIsMergedIntoTheHosts(t *testing.T) {
	// The host fetches it in the background.
	env.Eventually(t, func(ctx context.Context) error {
		for path, want := range map[string]string{
			"/openapi/v3/apis/metacontroller.k8s.io/v1alpha1": "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/{name}/status",
			"/openapi/v2": "/apis/metacontroller.k8s.io/v1alpha1/compositecontrollers/{name}/status",
		} {
			out, err := env.Host.RunKubectl(ctx, "get", "--raw", path)
			if err != nil {
				return err
			}
			var document struct {
				Paths map[string]any `json:"paths"`
			}
			if err := json.Unmarshal([]byte(out), &document); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if document.Paths[want] == nil {
				return fmt.Errorf("%s has no %s", path, want)
			}
		}
		return nil
	})
}
