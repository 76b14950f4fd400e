// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hooktest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/lookup"
	"github.com/metacontroller/metacontroller-apiserver/pkg/cmd/plugin/reviews"
	"github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"
)

// Record writes a case for a call of a sync or finalize hook to the folder of the cases, and returns its path. The
// objects come from the request. The expected result is the response and the writes that follow.
func (s *Suite) Record(ctx context.Context, call *v1alpha1.HookCall, name string) (path string, err error) {
	recorded, err := s.read(call)
	if err != nil {
		return "", err
	}
	path = filepath.Join(s.Folder, casesFolder, name+".yaml")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s already exists", path)
	}
	text, err := formatted(recorded.given(call))
	if err != nil {
		return "", err
	}
	header := fmt.Sprintf("# Recorded from the call %s.\n", call.Name)
	if recorded.hasSecrets {
		header += "# Values of Secrets are placeholders. Therefore, the case has no expectations for these Secrets and " +
			"for the steps.\n"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // it is for a repository
		return "", err
	}
	if err := os.WriteFile(path, append([]byte(header), text...), 0o644); err != nil { //nolint:gosec // it is for a repository
		return "", err
	}
	of, err := readCase(path)
	if err != nil {
		return path, err
	}
	result := s.Run(ctx, of, recorded.hooks)
	if result.Outcome == nil {
		return path, result.Err
	}
	delete(result.Outcome.fields, "related") // the rules are made up of what they selected
	if recorded.hasSecrets {
		result.Outcome.forgetSecrets()
	}
	_, err = result.Update()
	return path, err
}

// recording has the objects of a call.
type recording struct {
	parent           map[string]any
	children, others []any
	// answer is the response of the hook, and rules select the related objects.
	answer []byte
	rules  []any
	// hasSecrets is true if there are Secrets among the observed or desired children.
	hasSecrets bool
}

// read reads a call.
func (s *Suite) read(call *v1alpha1.HookCall) (*recording, error) {
	var request struct {
		Parent      map[string]any `json:"parent"`
		Object      map[string]any `json:"object"`
		Children    groups         `json:"children"`
		Attachments groups         `json:"attachments"`
		Related     groups         `json:"related"`
	}
	if call.Status.Request == nil || call.Status.Request.Object == nil || call.Status.Response == nil ||
		call.Status.Response.Object == nil {
		return nil, errors.New("the request or the response of the call was not recorded completely, or is not a JSON object")
	}
	if err := utiljson.Unmarshal(call.Status.Request.Object.Raw, &request); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	r := &recording{parent: request.Parent, answer: call.Status.Response.Object.Raw}
	if request.Object != nil {
		r.parent = request.Object
	}
	if r.parent == nil {
		return nil, errors.New("the request has no parent")
	}
	clean(r.parent)
	r.children = append(objectsOf(request.Children), objectsOf(request.Attachments)...)
	r.others = objectsOf(request.Related)
	var answer struct {
		Children    []any `json:"children"`
		Attachments []any `json:"attachments"`
	}
	_ = utiljson.Unmarshal(r.answer, &answer) // what is malformed has no children
	r.hasSecrets = slices.ContainsFunc(slices.Concat(r.children, answer.Children, answer.Attachments), isSecret)
	var err error
	r.rules, err = s.rulesOf(request.Related)
	return r, err
}

// rulesOf returns rules that select exactly the related objects.
func (s *Suite) rulesOf(related groups) (rules []any, err error) {
	for _, group := range slices.Sorted(maps.Keys(related)) {
		kind, apiVersion, _ := strings.Cut(group, ".")
		of, err := s.types.Of(schema.FromAPIVersionAndKind(apiVersion, kind))
		if err != nil {
			return nil, fmt.Errorf("related objects of type %s: %w", group, err)
		}
		names := map[string][]string{} // by namespaces
		for _, one := range related[group] {
			object := unstructured.Unstructured{Object: one}
			names[object.GetNamespace()] = append(names[object.GetNamespace()], object.GetName())
		}
		if len(names) == 0 {
			names[""] = []string{"-"} // not a valid name, so it selects nothing
		}
		for _, namespace := range slices.Sorted(maps.Keys(names)) {
			rule := map[string]any{"apiVersion": apiVersion, "resource": of.Name, "names": names[namespace]}
			if namespace != "" {
				rule["namespace"] = namespace
			}
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

// groups are objects in the form of requests: by type and by name.
type groups = map[string]map[string]map[string]any

// objectsOf returns the objects in the groups of a request, in order.
func objectsOf(groups groups) (all []any) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		for _, name := range slices.Sorted(maps.Keys(groups[group])) {
			clean(groups[group][name])
			all = append(all, groups[group][name])
		}
	}
	return all
}

// clean removes metadata that depends on the cluster, and the annotation of kubectl. Redacted values of Secrets become
// placeholders.
func clean(object map[string]any) {
	if isSecret(object) {
		fillBlanks(object)
	}
	metadata, _ := object["metadata"].(map[string]any)
	for _, name := range []string{"resourceVersion", "creationTimestamp", "managedFields", "selfLink"} {
		delete(metadata, name)
	}
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
}

// fillBlanks replaces redacted values of a Secret by placeholders that hooks can decode.
func fillBlanks(object map[string]any) {
	values, _ := object["data"].(map[string]any)
	for name, value := range values {
		if value == hookaddress.Blank {
			values[name] = base64.StdEncoding.EncodeToString([]byte(hookaddress.Blank))
		}
	}
}

func isSecret(value any) bool {
	object, _ := value.(map[string]any)
	return object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

// forgetSecrets removes the values of Secrets from an outcome, and the steps, which depend on them.
func (o *Outcome) forgetSecrets() {
	delete(o.fields, "steps")
	for _, child := range asList(o.fields["children"]) {
		if object, ok := child.(map[string]any); ok && isSecret(child) {
			delete(object, "data")
			delete(object, "stringData")
		}
	}
}

// given returns the fields of the case with the existing objects.
func (r *recording) given(call *v1alpha1.HookCall) map[string]any {
	given := map[string]any{"controller": call.Spec.Controller.Name, "parent": r.parent}
	if len(r.children) > 0 {
		given["children"] = r.children
	}
	if len(r.others) > 0 {
		given["others"] = r.others
	}
	return given
}

// hooks returns a Caller with the recorded responses.
func (r *recording) hooks(*lookup.Controller) reviews.Caller {
	return func(_ context.Context, hook string, _ []byte) ([]byte, error) {
		if hook != "customize" {
			return r.answer, nil
		}
		return json.Marshal(map[string]any{"relatedResources": r.rules})
	}
}
