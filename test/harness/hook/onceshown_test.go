// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

func TestCallsArePutOffUntilTheyHaveShownWhatIsThere(t *testing.T) {
	child := func(parent, version string) unstructured.Unstructured {
		var child unstructured.Unstructured
		controller := true
		child.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(parent), Controller: &controller}})
		child.SetResourceVersion(version)
		return child
	}
	handler := OnceShown([]unstructured.Unstructured{child("p", "10"), child("p", "11"), child("q", "12")},
		func(context.Context, Call) Answer { return Text(http.StatusOK, "") })
	for _, call := range []struct {
		name, parent string
		versions     []string
		putOff       bool
	}{
		{"shows nothing", "p", nil, true},
		{"shows one of two", "p", []string{"10"}, true},
		{"shows one as it was before", "p", []string{"10", "1"}, true},
		{"is about a parent of none", "r", nil, false},
		{"shows both", "p", []string{"10", "11"}, false},
		{"shows them as they became later", "p", []string{"20", "21"}, false},
		{"is about another, which has not been shown its own", "q", nil, true},
		{"is about another, which is shown it", "q", []string{"12"}, false},
	} {
		var children []string
		for _, version := range call.versions {
			children = append(children, fmt.Sprintf(`{"metadata":{"resourceVersion":%q}}`, version))
		}
		body := fmt.Sprintf(`{"parent":{"metadata":{"uid":%q}},"children":[%s]}`, call.parent, strings.Join(children, ","))
		if putOff := handler(t.Context(), Call{Body: []byte(body)}).Status == http.StatusTooManyRequests; putOff != call.putOff {
			t.Errorf("a call that %s: put off is %v, want %v", call.name, putOff, call.putOff)
		}
	}
}
