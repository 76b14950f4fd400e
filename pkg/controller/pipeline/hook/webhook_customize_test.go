// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// customizeHook is a customize hook of a version at a URL.
func customizeHook(t *testing.T, url string, version v1alpha1.HookVersion) *Webhook {
	t.Helper()
	made, err := New(Customize, &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
		Options{MaxResponseBytes: limit, MaxIdleConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func TestACustomizeRequestIsControllerAndParent(t *testing.T) {
	about := snapshot(t)
	about.Children = []pipeline.Group{{Type: typeOf("", "v1", "Pod")}}
	want := `{"controller":` + controller + `,"parent":` + string(about.Parent.JSON()) + `}`
	for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
		t.Run(string(version), func(t *testing.T) {
			sent := make(chan string, 1)
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				sent <- string(body)
				_, _ = io.WriteString(w, `{"relatedResources":[{"apiVersion":"v1","resource":"secrets"}]}`)
			})
			rules, _, err := customizeHook(t, address, version).Customize(t.Context(), about)
			if err != nil {
				t.Fatal(err)
			}
			if got := <-sent; got != want {
				t.Errorf("it was sent %s, want %s", got, want)
			}
			if len(rules) != 1 || rules[0].Resource != "secrets" {
				t.Errorf("the rules are %v", rules)
			}
		})
	}
}

func TestACustomizeHookThatCannotBeAsked(t *testing.T) {
	address := serve(t, answer(500, "no"))
	rules, _, err := customizeHook(t, address, v1alpha1.HookVersionV1).Customize(t.Context(), snapshot(t))
	want := "customize hook failed: " + address + ": unsupported status code: 500 body: no (200 is expected)"
	if rules != nil || err == nil || err.Error() != want {
		t.Errorf("rules %v and error\n%v\nwant\n%s", rules, err, want)
	}
	address = serve(t, answer(429, ""))
	_, _, err = customizeHook(t, address, v1alpha1.HookVersionV1).Customize(t.Context(), snapshot(t))
	if _, ok := errors.AsType[*ThrottledError](err); !ok {
		t.Errorf("error is %v, want it to be a wish to be asked later", err)
	}
}
