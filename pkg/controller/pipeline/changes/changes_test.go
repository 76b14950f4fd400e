// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

func parse(t *testing.T, text string) *object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := object.NewReader("metacontroller").Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// said is a change as text: what is missing is "-".
func said(t *testing.T, changes []Change) (lines []string) {
	t.Helper()
	text := func(value any) string {
		if value == nil {
			return "-"
		}
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for _, change := range changes {
		lines = append(lines, fmt.Sprintf("%s: %s > %s", change.Path, text(change.From), text(change.To)))
	}
	return lines
}

func asItIs(content map[string]any) map[string]any { return content }

const observed = `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ns, uid: u, resourceVersion: "7", generation: 2, labels: {app: web}},
  spec: {replicas: 1, containers: [{name: web, image: a, ports: [80]}, {name: log, image: l}]}, status: {ready: 1}}`

func TestWhatStepsChange(t *testing.T) {
	const record = object.LastAppliedAnnotation
	for name, test := range map[string]struct {
		step     pipeline.Step
		observed string
		body     string
		want     []string
	}{
		"a new object is one change": {
			pipeline.Step{Op: pipeline.Create}, "", `{kind: Pod, metadata: {name: a, annotations: {` + record + `: "{}"}}, spec: {x: 1}}`,
			[]string{`: - > {"kind":"Pod","metadata":{"name":"a"},"spec":{"x":1}}`},
		},
		"one that is applied, too": {
			pipeline.Step{Op: pipeline.Apply}, "", `{kind: Pod, metadata: {name: a, resourceVersion: "1"}}`,
			[]string{`: - > {"kind":"Pod","metadata":{"name":"a"}}`},
		},
		"an update changes fields": {
			pipeline.Step{Op: pipeline.Update}, observed,
			`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ns, uid: u, resourceVersion: "7", generation: 2, labels: {app: web, "x.y/z": b}, annotations: {` + record + `: "{}"}},
			  spec: {replicas: 2, containers: [{name: web, image: b, ports: [80, 81]}], paused: true}}`,
			[]string{
				`metadata.labels[x.y/z]: - > "b"`, `spec.containers[name=web].image: "a" > "b"`, `spec.containers[name=web].ports: [80] > [80,81]`,
				`spec.containers[name=log]: {"image":"l","name":"log"} > -`, `spec.paused: - > true`, `spec.replicas: 1 > 2`,
			},
		},
		"an update of the record alone": {
			pipeline.Step{Op: pipeline.Update}, `{kind: Pod, metadata: {name: a, annotations: {` + record + `: "{}"}}}`,
			`{kind: Pod, metadata: {name: a, annotations: {` + record + `: "{\"a\":1}"}}}`,
			[]string{`metadata.annotations[` + record + `]: "{}" > "{\"a\":1}"`},
		},
		"numbers are compared by their values": {
			pipeline.Step{Op: pipeline.Update}, `{kind: Pod, spec: {a: 1.0, b: null}}`, `{kind: Pod, spec: {a: 1}}`, nil,
		},
		"a list of as many items": {
			pipeline.Step{Op: pipeline.Update}, `{kind: Pod, spec: {a: [1, {b: 2}]}}`, `{kind: Pod, spec: {a: [1, {b: 3}]}}`, []string{`spec.a[1].b: 2 > 3`},
		},
		"a list in another order": {
			pipeline.Step{Op: pipeline.Update}, `{kind: Pod, spec: {a: [{name: a}, {name: b}]}}`, `{kind: Pod, spec: {a: [{name: b}, {name: a}]}}`,
			[]string{`spec.a[0].name: "a" > "b"`, `spec.a[1].name: "b" > "a"`},
		},
		"a status": {
			pipeline.Step{Op: pipeline.Status}, observed, `{kind: Pod, metadata: {name: a}, status: {ready: 2}}`, []string{`status.ready: 1 > 2`},
		},
		"owners": {
			pipeline.Step{Op: pipeline.Adopt}, observed, `{metadata: {uid: u, resourceVersion: "7", ownerReferences: [{name: p, uid: v}]}}`,
			[]string{`metadata.ownerReferences: - > [{"name":"p","uid":"v"}]`},
		},
		"a deletion": {pipeline.Step{Op: pipeline.Delete}, observed, "", nil},
		"who owns fields": {
			pipeline.Step{Op: pipeline.ToServerSideApply}, observed, `{spec: {replicas: 5}}`, nil,
		},
		"what is created after a deletion": {
			pipeline.Step{Op: pipeline.Recreate, Successor: func() ([]byte, error) { return []byte(`{"kind":"Pod","spec":{"x":2}}`), nil }},
			`{kind: Pod, spec: {x: 1}}`, "", []string{`spec.x: 1 > 2`},
		},
		"what is applied is merged": {
			pipeline.Step{Op: pipeline.Apply},
			`{kind: Pod, metadata: {name: a, managedFields: [{manager: metacontroller, operation: Apply, apiVersion: v1, fieldsType: FieldsV1,
			  fieldsV1: {"f:spec": {"f:a": {}, "f:gone": {}, "f:list": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}}}}}}]},
			  spec: {a: 1, gone: true, default: 5, list: [{name: x}, {name: theirs}]}}`,
			`{kind: Pod, metadata: {name: a, uid: u}, spec: {a: 2, list: [{name: z}]}}`,
			[]string{`spec.a: 1 > 2`, `spec.gone: true > -`, `spec.list[name=x]: {"name":"x"} > -`, `spec.list[name=z]: - > {"name":"z"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			step := test.step
			if test.observed != "" {
				step.Observed = parse(t, test.observed)
			}
			if test.body != "" {
				raw, err := yaml.YAMLToJSON([]byte(test.body))
				if err != nil {
					t.Fatal(err)
				}
				step.Body = raw
			}
			found, err := OfStep(&step, asItIs)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, said(t, found)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatTheHostMakesOfAStep(t *testing.T) {
	step := pipeline.Step{Op: pipeline.Update, Observed: parse(t, observed), Body: []byte(`{}`)}
	result := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: ns, uid: u, resourceVersion: "7", generation: 3, labels: {app: web}},
	  spec: {replicas: 1, policy: Always, containers: [{name: web, image: a, ports: [80]}, {name: log, image: l}]}, status: {ready: 5}}`)
	found, err := OfResult(&step, result, asItIs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`spec.policy: - > "Always"`}, said(t, found)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	step = pipeline.Step{Op: pipeline.Create}
	found, err = OfResult(&step, parse(t, `{kind: Pod, metadata: {name: a, uid: x, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {policy: Always}, status: {phase: Pending}}`), asItIs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`: - > {"kind":"Pod","metadata":{"name":"a"},"spec":{"policy":"Always"}}`}, said(t, found)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestSecretsAreConcealedBeforeTheyAreCompared(t *testing.T) {
	conceal := func(content map[string]any) map[string]any {
		content["data"] = map[string]any{"a": fmt.Sprint("digest of ", content["data"].(map[string]any)["a"])}
		return content
	}
	step := pipeline.Step{Op: pipeline.Update, Observed: parse(t, `{kind: Secret, data: {a: x}}`), Body: []byte(`{"kind":"Secret","data":{"a":"y"}}`)}
	found, err := OfStep(&step, conceal)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`data.a: "digest of x" > "digest of y"`}, said(t, found)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// A new Op changes something that this package has to know.
func TestEveryOpIsKnown(t *testing.T) {
	for _, op := range pipeline.Ops() {
		step := pipeline.Step{Op: op, Observed: parse(t, observed), Body: []byte(`{"kind":"Pod"}`)}
		if _, err := OfStep(&step, asItIs); err != nil {
			t.Errorf("%s: %v", op, err)
		}
	}
}
