// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package observing

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/test/harness"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hook"
)

// secret is what no output may have.
const secret = "very-hidden-value"

// answer is a hook whose answer is decided by the spec of the parent:
//
//	children: 2        that many ConfigMaps
//	secrets: 1         that many Secrets
//	fails: true        status 500
//	throttles: true    status 429 for an hour
func answer(_ context.Context, call hook.Call) hook.Answer {
	var asked hook.CompositeRequest
	if err := call.Decode(&asked); err != nil {
		return hook.Text(400, err.Error())
	}
	spec, _, _ := unstructured.NestedMap(asked.Parent.Object, "spec")
	if spec["fails"] == true {
		return hook.Text(500, "no such thing")
	}
	if spec["throttles"] == true {
		answer := hook.Text(429, "later")
		answer.Header = http.Header{"Retry-After": {"20"}}
		return answer
	}
	children := []any{}
	for i := range int(number(spec["children"])) {
		children = append(children, hook.ConfigMap(fmt.Sprint(asked.Parent.GetName(), "-", i), harness.Object{"text": fmt.Sprint(spec["text"])}))
	}
	for i := range int(number(spec["secrets"])) {
		children = append(children, harness.Object{
			"apiVersion": "v1", "kind": "Secret", "metadata": harness.Object{"name": fmt.Sprint(asked.Parent.GetName(), "-", i)}, "stringData": harness.Object{"key": secret},
		})
	}
	return hook.JSON(harness.Object{"status": harness.Object{"seen": spec["text"]}, "children": children, "finalized": spec["stays"] != true})
}

func number(value any) float64 {
	switch value := value.(type) {
	case float64:
		return value
	case int64:
		return float64(value)
	}
	return 0
}

// newFixture runs a CompositeController of that name, with changes.
func newFixture(t *testing.T, name string, changes ...harness.CompositeChange) harness.Fixture {
	t.Helper()
	f := harness.NewFixture(t, env, harness.CRD{Kind: "Thing"}, hook.Serve(t, answer))
	spec := f.CompositeSpec(append([]harness.CompositeChange{func(spec *v1alpha1.CompositeControllerSpec) {
		spec.ChildResources = append(spec.ChildResources, harness.ChildRule("v1", "secrets", v1alpha1.ChildUpdateInPlace))
	}}, changes...)...)
	f.Controller = harness.Composite(f.CreateComposite(name, spec).Name)
	return f
}

// rowOf returns the name of the row of a parent.
func rowOf(f *harness.Fixture, parent string) string { return "cc:" + f.Controller.Name + ":" + parent }

// waitForState waits until the row of a parent has a state, and returns it.
func waitForState(f *harness.Fixture, parent string, state v1alpha1.SyncState) *v1alpha1.Sync {
	f.Helper()
	var row *v1alpha1.Sync
	env.Eventually(f, func(ctx context.Context) (err error) {
		if row, err = env.Metacontroller.MetacontrollerV1alpha1().Syncs(f.Namespace).Get(ctx, rowOf(f, parent), metav1.GetOptions{}); err != nil {
			return err
		}
		if row.Status.State != state {
			return fmt.Errorf("the state is %s: %s", row.Status.State, row.Status.Message)
		}
		return nil
	})
	return row
}

// These differ from run to run.
var (
	agePattern  = `(?:\d+(?:ms|s|m|h|d|y))+`
	callName    = regexp.MustCompile(`\d{8}-\d{6}-\d{6}-[0-9a-z]{4}`)
	timestamp   = regexp.MustCompile(`"?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"?`)
	uid         = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	version     = regexp.MustCompile(`resourceVersion: ".*"`)
	took        = regexp.MustCompile(`([dD]uration): \S+`)
	size        = regexp.MustCompile(`bytes: \d+`)
	sizes       = regexp.MustCompile(`\d+  \d+  http://HOOK`)
	age         = regexp.MustCompile(`(^|\s)` + agePattern + `(\s|$)`)
	hookAddress = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	spaces      = regexp.MustCompile(`  +`)
)

// masked returns an output of kubectl with words in the place of what differs from run to run, and tables with two
// spaces between columns.
func masked(f *harness.Fixture, output string, isTable bool) string {
	for word, pattern := range map[string]*regexp.Regexp{
		"NAME-OF-CALL": callName, "TIME": timestamp, "UID": uid, `resourceVersion: VERSION`: version, "$1: AGE": took, "bytes: SIZE": size, "http://HOOK": hookAddress,
	} {
		output = pattern.ReplaceAllString(output, word)
	}
	output = strings.ReplaceAll(output, f.Parents.Group, "GROUP")
	if f.Namespace != "" {
		output = strings.ReplaceAll(output, f.Namespace, "NAMESPACE")
	}
	if !isTable {
		return output
	}
	var lines []string
	for line := range strings.Lines(output) {
		line = spaces.ReplaceAllString(strings.TrimSpace(line), "  ")
		for age.MatchString(line) {
			line = age.ReplaceAllString(line, "${1}AGE${2}")
		}
		lines = append(lines, sizes.ReplaceAllString(line, "SIZE  SIZE  http://HOOK"))
	}
	return strings.Join(lines, "\n") + "\n"
}

// expectGolden compares outputs with those in a file, each behind its command.
func expectGolden(f *harness.Fixture, file string, commands ...string) {
	f.Helper()
	var text strings.Builder
	for _, command := range commands {
		args := append(strings.Fields(strings.ReplaceAll(command, "NAMESPACE", f.Namespace)), "--warnings-as-errors=false")
		output := env.Kubectl(f, args...)
		if strings.Contains(output, secret) {
			f.Errorf("kubectl %s shows what is secret:\n%s", command, output)
		}
		isTable := !strings.Contains(command, "-o yaml")
		fmt.Fprintf(&text, "$ kubectl %s\n%s\n", callName.ReplaceAllString(strings.ReplaceAll(command, f.Parents.Group, "GROUP"), "NAME-OF-CALL"), masked(f, output, isTable))
	}
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			f.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text.String()); diff != "" {
		f.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
