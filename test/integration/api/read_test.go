// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// columns splits a line of a kubectl table.
func columns(line string) []string { return strings.Fields(line) }

func TestGetShowsATable(t *testing.T) {
	name := created(t, "  resyncPeriodSeconds: 60")
	for flags, want := range map[string][]string{
		"": {"NAME", "PARENT", "READY", "PARENTS", "FAILING", "WARNED", "AGE"},
		"-o wide": {
			"NAME", "PARENT", "READY", "PARENTS", "FAILING", "WARNED", "AGE",
			"CHILDREN", "SYNCED", "OUTDATED", "HOOK", "REASON", "RESYNC",
		},
	} {
		t.Run("get cc "+flags, func(t *testing.T) {
			table := strings.Split(env.Kubectl(t, append([]string{"get", "cc", name}, strings.Fields(flags)...)...), "\n")
			if got := columns(table[0]); !slices.Equal(got, want) {
				t.Errorf("columns are %q, want %q", got, want)
			}
			row := columns(table[1])
			if row[0] != name || !strings.Contains(row[1], "nothings") ||
				flags != "" && !strings.Contains(row[7], "pods") {
				t.Errorf("row is %q, want the name, its parent type and its child types", row)
			}
		})
	}
}

func TestGetYAMLCanBeAppliedAgain(t *testing.T) {
	name := created(t)
	for _, line := range []string{"kind: CompositeController", "version: v1", "generation: 1", "resource: nothings"} {
		if yaml := env.Kubectl(t, "get", "cc", name, "-o", "yaml"); !strings.Contains(yaml, line) {
			t.Errorf("no %q in:\n%s", line, yaml)
		}
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

func TestGetWatchShowsChanges(t *testing.T) {
	name := created(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := env.Host.KubectlCommand(ctx, "get", "cc", name, "-w", "-o", "jsonpath={.metadata.generation}{'\\n'}")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // it was killed
	}()
	lines := bufio.NewScanner(out)
	waitForLine := func(want string) {
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Fatalf("the watch ended before it showed generation %s: %v", want, lines.Err())
	}
	waitForLine("1")
	env.Kubectl(t, "patch", "cc", name, "--type=merge", "-p", `{"spec":{"resyncPeriodSeconds":5}}`)
	waitForLine("2")
}

func TestWaitForReady(t *testing.T) {
	parents := env.Install(t, harness.CRD{Kind: "Thing"})
	server := hook.Serve(t, func(context.Context, hook.Call) hook.Answer { return hook.Text(http.StatusOK, "{}") })
	name := harness.Name("test")
	text := strings.NewReplacer("nothing.example.com", parents.Group, "nothings", parents.Resource,
		"http://127.0.0.1:1/sync", server.URL("/sync")).Replace(manifest(name))
	env.Apply(t, text)
	env.Kubectl(t, "wait", "--for=condition=Ready", "cc/"+name, "--timeout=120s")
}

func TestExplainReadsTheFields(t *testing.T) {
	published(t)
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"cc.spec.parentResource", "--recursive"},
			[]string{"labelSelector", "matchExpressions", "revisionHistory", "fieldPaths", "ignoreStatusChanges", "-required-"}},
		{[]string{"cc.spec.hooks"}, []string{"DESCRIPTION", "sync", "finalize", "customize"}},
		{[]string{"cc.spec.hooks.sync.webhook.timeout"}, []string{"connecting to the last byte", `"30s"`, "Default: 10s"}},
		{[]string{"dec.spec"}, []string{"attachments", "resources", "Default: absent, no periodic sync"}},
		{[]string{"controllerrevisions", "--api-version=metacontroller.k8s.io/v1alpha1"}, []string{"parentPatch", "children"}},
		{[]string{"syncreviews"}, []string{"previews syncs of a controller", "kubectl create -f review.yaml -o yaml", "needs the right to get"}},
		{[]string{"syncreviews.spec"}, []string{"candidate", "enum: DryRun, Plan, Request, Response", "Default: Plan.", "Exactly one of parent, parents and object must be set", "-required-"}},
		{[]string{"syncreviews.spec.parents.limit"}, []string{"from 1 to 100", "Default: 20."}},
		{[]string{"syncreviews.status.syncs.steps"}, []string{"operation", "why", "changes", "dryRun"}},
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

func TestKindsHaveACategory(t *testing.T) {
	name := created(t)
	if out := env.Kubectl(t, "get", "metacontroller", "-o", "name"); !strings.Contains(out, "/"+name) {
		t.Errorf("`kubectl get metacontroller` has no %s:\n%s", name, out)
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

func TestConditionsMergeByType(t *testing.T) {
	published(t)
	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]map[string]any `json:"properties"`
			} `json:"schemas"`
		} `json:"components"`
	}
	out := env.Kubectl(t, "get", "--raw", "/openapi/v3/apis/metacontroller.k8s.io/v1alpha1")
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatal(err)
	}
	err := errors.New("no schema of ControllerStatus")
	for name, schema := range document.Components.Schemas {
		if strings.HasSuffix(name, ".ControllerStatus") {
			err = nil
			if got := schema.Properties["conditions"]["x-kubernetes-list-type"]; got != "map" {
				t.Errorf("conditions are a list of type %v, want map", got)
			}
		}
	}
	if err != nil {
		t.Error(err)
	}
}
