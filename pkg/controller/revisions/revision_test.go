// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

var webs = object.Type{
	GroupVersionResource: schema.GroupVersionResource{Group: "ctl.example", Version: "v1", Resource: "webs"}, Kind: "Web", Namespaced: true,
}

func TestRevisionName(t *testing.T) {
	hash := fmt.Sprintf("%x", sha1.Sum([]byte(`2b6f6b6e-uid{"spec":{"a":1}}`)))
	tests := map[string]struct{ group, resource, want string }{
		"a type of a group":          {"ctl.example", "webs", "webs.ctl.example-" + hash},
		"a type of the core group":   {"", "pods", "pods.core-" + hash},
		"a name of the length there": {strings.Repeat("g", 207), "webs", "webs." + strings.Repeat("g", 207) + "-" + hash},
		"a longer name is cut":       {strings.Repeat("g", 300), "webs", "webs." + strings.Repeat("g", 207) + "-" + hash},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			of := object.Type{GroupVersionResource: schema.GroupVersionResource{Group: test.group, Version: "v1", Resource: test.resource}, Kind: "Web"}
			if got := Name(of, "2b6f6b6e-uid", []byte(`{"spec":{"a":1}}`)); got != test.want {
				t.Errorf("name is %s, want %s", got, test.want)
			}
		})
	}
}

func parse(t testing.TB, text string) *object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	parsed, err := object.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return parsed
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error: %v", err)
	case want != "" && err == nil:
		t.Errorf("there is no error, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("error is %q, want it to say %q", err, want)
	}
}
