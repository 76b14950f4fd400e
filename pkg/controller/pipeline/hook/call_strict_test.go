// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/klog/v2"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// ofMode is a hook of a version that is read in a mode, which may be empty.
func ofMode(t *testing.T, name, url string, version v1alpha1.HookVersion, mode v1alpha1.ResponseUnmarshallMode) *Webhook {
	t.Helper()
	spec := &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{URL: &url}}
	if mode != "" {
		spec.Webhook.ResponseUnmarshallMode = &mode
	}
	made, err := New(name, spec, nil, Options{MaxResponseBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func TestHowStrictlyAnswersAreRead(t *testing.T) {
	const v1, v2, loose, strict = v1alpha1.HookVersionV1, v1alpha1.HookVersionV2, v1alpha1.ResponseUnmarshallModeLoose, v1alpha1.ResponseUnmarshallModeStrict
	for name, test := range map[string]struct {
		version v1alpha1.HookVersion
		mode    v1alpha1.ResponseUnmarshallMode
		strict  string // what in the spec makes it strict; empty if it is loose
	}{
		"v1 is loose":             {v1, "", ""},
		"v2 is strict":            {v2, "", "version: v2"},
		"v1 that asks for loose":  {v1, loose, ""},
		"v1 that asks for strict": {v1, strict, "responseUnMarshallMode: strict"},
		"v2 that asks for loose":  {v2, loose, ""},
		"v2 that asks for strict": {v2, strict, "version: v2"},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, answer(200, `{"status":{"a":1},"comment":"hello"}`))
			response, err := ofMode(t, Sync, address, test.version, test.mode).SyncComposite(t.Context(), snapshot(t))
			if test.strict == "" {
				if err != nil || string(response.Status) != `{"a":1}` || response.Strict {
					t.Errorf("response %+v with error %v", response, err)
				}
				return
			}
			want := "sync hook failed: " + address + `: the hook's answer cannot be read: unknown field "comment" (leave it out); with ` + test.strict +
				", unknown and duplicate fields are errors"
			if response != nil || err == nil || err.Error() != want || !errors.Is(err, ErrUnreadable) {
				t.Errorf("response %v with error\n%v\nwant\n%s", response, err, want)
			}
		})
	}
	t.Run("the plan is told", func(t *testing.T) {
		response, err := ofMode(t, Sync, serve(t, answer(200, `{}`)), v2, "").SyncComposite(t.Context(), snapshot(t))
		if err != nil || !response.Strict {
			t.Errorf("response %+v with error %v", response, err)
		}
	})
}

func TestWhatStrictReadersObjectToInRules(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"an unknown field":           {`{"related":[]}`, `unknown field "related" (did you mean "relatedResources"?)`},
		"one in a rule":              {`{"relatedResources":[{"apiVersion":"v1","resource":"pods"},{"apiVersion":"v1","resource":"pods","Names":["a"]}]}`, `unknown field "relatedResources[1].Names" (did you mean "names"?)`},
		"one in a selector":          {`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"labels":{}}}]}`, `unknown field "relatedResources[0].labelSelector.labels" (did you mean "matchLabels"?)`},
		"a name twice in a rule":     {`{"relatedResources":[{"apiVersion":"v1","resource":"pods","resource":"pods"}]}`, `duplicate field "relatedResources[0].resource"`},
		"a name twice among labels":  {`{"relatedResources":[{"apiVersion":"v1","resource":"pods","labelSelector":{"matchLabels":{"a":"1","a":"2"}}}]}`, `duplicate field "relatedResources[0].labelSelector.matchLabels.a"`},
		"a name twice in the answer": {`{"relatedResources":[],"relatedResources":null}`, `duplicate field "relatedResources"`},
	} {
		t.Run(name, func(t *testing.T) {
			address := serve(t, answer(200, test.body))
			rules, _, err := ofMode(t, Customize, address, v1alpha1.HookVersionV2, "").Customize(t.Context(), snapshot(t))
			want := "customize hook failed: " + address + ": the hook's answer cannot be read: " + test.want + "; with version: v2, unknown and duplicate fields are errors"
			if rules != nil || err == nil || err.Error() != want {
				t.Errorf("rules %v and error\n%v\nwant\n%s", rules, err, want)
			}
			if _, _, err := ofMode(t, Customize, address, v1alpha1.HookVersionV1, "").Customize(t.Context(), snapshot(t)); err != nil {
				t.Errorf("a loose reader does not overlook it: %v", err)
			}
		})
	}
}

func TestWhatLooseReadersOverlookIsLogged(t *testing.T) {
	address := serve(t, answer(200, `{"chlidren":[],"status":{"a":1,"a":2}}`))
	for verbosity, want := range map[int]string{
		4: `"fields"="[unknown field \"chlidren\" (did you mean \"children\"?), duplicate field \"status.a\"]"`,
		3: "",
	} {
		var logged strings.Builder
		logger := funcr.New(func(_, line string) { logged.WriteString(line + "\n") }, funcr.Options{Verbosity: verbosity})
		if _, err := ofMode(t, Sync, address, v1alpha1.HookVersionV1, "").SyncComposite(klog.NewContext(t.Context(), logger), snapshot(t)); err != nil {
			t.Fatal(err)
		}
		if got := logged.String(); !strings.Contains(got, want) || (want == "") != (got == "") {
			t.Errorf("at level %d is logged %q, want %q", verbosity, got, want)
		}
	}
}
