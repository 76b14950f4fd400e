// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	of "github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline/hook/protocol"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookschema"
	"github.com/metacontroller/metacontroller-apiserver/pkg/inline"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/hostcluster"
)

// docs/schemas has the schemas, and nothing else.
func TestTheSchemasInTheDocumentationAreUpToDate(t *testing.T) {
	folder := filepath.Join(hostcluster.RepositoryRoot(), "docs", "schemas")
	want := map[string]string{}
	for name, document := range hookschema.Documents() {
		text, err := document.Format()
		if err != nil {
			t.Fatal(err)
		}
		want[name+".json"] = string(text)
	}
	if *updateReference {
		for name, text := range want {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[file.Name()] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/schemas is not what the code says: run `make docs-reference` (-want +got):\n%s", diff)
	}
}

// invalid returns what is wrong with an instance of a schema.
func invalid(schema *hookschema.Schema, instance string) error {
	formatted, err := schema.Format()
	if err != nil {
		return err
	}
	document, err := validator.UnmarshalJSON(bytes.NewReader(formatted))
	if err != nil {
		return err
	}
	compiler := validator.NewCompiler()
	if err := compiler.AddResource("schema.json", document); err != nil {
		return err
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		return err
	}
	value, err := validator.UnmarshalJSON(strings.NewReader(instance))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

func parsedObject(t *testing.T, raw string) *of.Object {
	t.Helper()
	object, err := of.Parse([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func typeOf(group, version, kind string) of.Type {
	return of.Type{GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version}, Kind: kind}
}

var kinds = map[string]struct {
	kind   hookschema.Kind
	format protocol.Format
}{
	"composite": {hookschema.Composite(), protocol.Composite()},
	"decorator": {hookschema.Decorator(), protocol.Decorator()},
}

func TestRequestsAreAsTheSchemasSay(t *testing.T) {
	const controller = `{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"webs"},"spec":{}}`
	pod := parsedObject(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"}}`)
	node := parsedObject(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`)
	for name, test := range kinds {
		for _, parent := range []string{
			`{"apiVersion":"ctl.example/v1","kind":"Web","metadata":{"name":"shop","namespace":"default"}}`,
			`{"apiVersion":"ctl.example/v1","kind":"Fleet","metadata":{"name":"shop"}}`,
		} {
			snapshot := &pipeline.Snapshot{
				Controller: []byte(controller), Parent: parsedObject(t, parent),
				Children: []pipeline.Group{{Type: typeOf("", "v1", "Pod"), Claimed: []*of.Object{pod}}, {Type: typeOf("apps", "v1", "StatefulSet")}},
				Related:  []pipeline.Related{{Type: typeOf("", "v1", "Node"), Objects: []*of.Object{node}}},
			}
			for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
				request := string(test.format.AppendRequest(nil, version, snapshot))
				if err := invalid(hookschema.Request(test.kind, version), request); err != nil {
					t.Errorf("%s %s: %v\n%s", name, version, err, request)
				}
				if err := invalid(hookschema.Request(test.kind, version), strings.Replace(request, `"finalizing"`, `"finalising"`, 1)); err == nil {
					t.Errorf("%s %s: another field passes", name, version)
				}
			}
			if err := invalid(hookschema.CustomizeRequest(), string(protocol.AppendCustomizeRequest(nil, snapshot))); err != nil {
				t.Errorf("customize: %v", err)
			}
		}
	}
}

// The schemas of version v2 accept what is read without an error.
func TestAnswersAreReadAsTheSchemasSay(t *testing.T) {
	for name, test := range kinds {
		for answer, isRight := range map[string]bool{
			`{}`: true,
			`{"status":{"a":1},"CHILDREN":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"x":null}}],"resyncAfterSeconds":1.5,"finalized":true}`: true,
			`{"status":null,"CHILDREN":null,"resyncAfterSeconds":null,"finalized":null,"events":null}`:                                                             true,
			`{"CHILDREN":[null]}`:        false,
			`{"CHILDREN":{}}`:            false,
			`{"CHILDREN":[{"a":"b"}]}`:   false,
			`{"Children":[]}`:            false,
			`{"status":[]}`:              false,
			`{"resyncAfterSeconds":"1"}`: false,
			`{"finalized":"yes"}`:        false,
			`{"events":[{"type":"Warning","reason":"BackupFailed","message":"disk full"}]}`:                                            true,
			`{"events":[{"reason":"Resized","message":"x","child":{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"data"}}]}`: true,
			`{"events":[{"reason":"Resized","message":"x","child":{"apiVersion":"v1","kind":"PersistentVolumeClaim"}}]}`:               false,
			`{"events":[{"type":"Error","reason":"BackupFailed","message":"disk full"}]}`:                                              false,
			`{"events":[{"reason":"backup failed","message":"disk full"}]}`:                                                            false,
			`{"events":[{"reason":"BackupFailed"}]}`:                                                                                   false,
			`{"events":[` + strings.Repeat(`{"reason":"A","message":"b"},`, 10) + `{"reason":"A","message":"b"}]}`:                     false,
			`{"labels":{"a":"b","c":null},"annotations":{}}`:                                                                           name == "decorator",
			`{"labels":{"a":1}}`: false,
		} {
			answer = strings.Replace(answer, "CHILDREN", test.format.ChildrenField(), 1)
			decoder := protocol.Decoder{FindDuplicates: true}
			_, err := decoder.Response(test.format, []byte(answer))
			if isRead := err == nil && len(decoder.StrictErrors()) == 0; isRead != isRight {
				t.Errorf("%s: %s is read: %v, error %v, %v", name, answer, isRead, err, decoder.StrictErrors())
			}
			if err := invalid(hookschema.Answer(test.kind, v1alpha1.HookVersionV2), answer); (err == nil) != isRight {
				t.Errorf("%s: %s should be right: %v, and the schema says %v", name, answer, isRight, err)
			}
		}
		if err := invalid(hookschema.Answer(test.kind, v1alpha1.HookVersionV1), `{"Children":[]}`); err != nil {
			t.Errorf("%s: v1 ignores unknown fields, and the schema says %v", name, err)
		}
	}
}

func TestRulesAreReadAsTheSchemaSays(t *testing.T) {
	for answer, isRight := range map[string]bool{
		`{}`:                        true,
		`{"relatedResources":null}`: true,
		`{"relatedResources":[{"apiVersion":"v1","resource":"configmaps"}]}`:                                                                  true,
		`{"relatedResources":[{"apiVersion":"v1","resource":"configmaps","namespace":"a","names":["b"]}]}`:                                    true,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"matchExpressions":[{"key":"a","operator":"Exists"}]}}]}`: true,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"matchLabels":{"a":"b"}},"namespaceSelector":{}}]}`:       true,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","names":[],"labelSelector":{}}]}`:                                          true,
		`{"relatedResources":[{"resource":"configmaps"}]}`:                                                                                    false,
		`{"relatedResources":[{"apiVersion":"v1"}]}`:                                                                                          false,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","names":["a"],"labelSelector":{}}]}`:                                       false,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","names":["a"],"namespaceSelector":{}}]}`:                                   false,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","namespace":"a","namespaceSelector":{}}]}`:                                 false,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","label":{}}]}`:                                                             false,
		`{"relatedResources":{}}`: false,
		`{"relatedResource":[]}`:  false,
		`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}]}`: false,
	} {
		decoder := protocol.Decoder{}
		_, err := decoder.RelatedRules([]byte(answer))
		if isRead := err == nil && len(decoder.StrictErrors()) == 0; isRead != isRight {
			t.Errorf("%s is read: %v, error %v, %v", answer, isRead, err, decoder.StrictErrors())
		}
		if err := invalid(hookschema.CustomizeAnswer(v1alpha1.HookVersionV2), answer); (err == nil) != isRight {
			t.Errorf("%s should be right: %v, and the schema says %v", answer, isRight, err)
		}
	}
}

// A field that requests get is seen by inline hooks, too.
func TestInlineHooksSeeEachFieldOfARequest(t *testing.T) {
	for _, test := range []struct {
		form    inline.Form
		request *hookschema.Schema
	}{
		{inline.FormOf("sync", false), hookschema.Request(hookschema.Composite(), v1alpha1.HookVersionV2)},
		{inline.FormOf("finalize", true), hookschema.Request(hookschema.Decorator(), v1alpha1.HookVersionV2)},
		{inline.FormOf("customize", false), hookschema.CustomizeRequest()},
	} {
		for name := range test.request.Properties {
			hook := &v1alpha1.InlineHook{Variables: []v1alpha1.InlineVariable{{Name: "it", Expression: name}}}
			if _, errs := inline.Compile(hook, test.form, field.NewPath("inline")); len(errs) > 0 {
				t.Errorf("%+v: %v", test.form, errs)
			}
		}
	}
}

// A field that the protocol gets has to be described here.
func TestTheSchemasHaveEachFieldOfAnAnswer(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(hostcluster.RepositoryRoot(), "pkg", "controller", "pipeline", "hook", "protocol", "response.go"))
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, match := range regexp.MustCompile(`(?m)^\t+(?:known\[)?"(\w+)"(?:\] =|:) func\(value`).FindAllSubmatch(source, -1) {
		read = append(read, string(match[1]))
	}
	read = append(read, protocol.Decorator().ChildrenField())
	slices.Sort(read)
	if described := slices.Sorted(maps.Keys(hookschema.Answer(hookschema.Decorator(), v1alpha1.HookVersionV2).Properties)); !slices.Equal(read, described) {
		t.Errorf("the fields of an answer are %v, and the schema has %v", read, described)
	}
}
