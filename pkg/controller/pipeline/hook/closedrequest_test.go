// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hook

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// The requests of Metacontroller 4.17. Each field must be there, and no other may.
type (
	compositeRequest struct {
		Controller *json.RawMessage                       `json:"controller"`
		Parent     *json.RawMessage                       `json:"parent"`
		Children   *map[string]map[string]json.RawMessage `json:"children"`
		Related    *map[string]map[string]json.RawMessage `json:"related"`
		Finalizing *bool                                  `json:"finalizing"`
	}
	decoratorRequest struct {
		Controller  *json.RawMessage                       `json:"controller"`
		Object      *json.RawMessage                       `json:"object"`
		Attachments *map[string]map[string]json.RawMessage `json:"attachments"`
		Related     *map[string]map[string]json.RawMessage `json:"related"`
		Finalizing  *bool                                  `json:"finalizing"`
	}
	customizeRequest struct {
		Controller *json.RawMessage `json:"controller"`
		Parent     *json.RawMessage `json:"parent"`
	}
)

// Hooks of Metacontroller may refuse fields that they do not know. What is more to be said is in headers.
func TestHooksWithClosedTypesAcceptAllRequests(t *testing.T) {
	composite := func(w *Webhook, about *pipeline.Snapshot) error {
		_, err := w.SyncComposite(t.Context(), about)
		return err
	}
	decorator := func(w *Webhook, about *pipeline.Snapshot) error {
		_, err := w.SyncDecorator(t.Context(), about)
		return err
	}
	customize := func(w *Webhook, about *pipeline.Snapshot) error {
		_, _, err := w.Customize(t.Context(), about)
		return err
	}
	for _, test := range []struct {
		title, hook string
		call        func(w *Webhook, about *pipeline.Snapshot) error
		closed      func() any
	}{
		{"composite sync", Sync, composite, func() any { return &compositeRequest{} }},
		{"composite finalize", Finalize, composite, func() any { return &compositeRequest{} }},
		{"decorator sync", Sync, decorator, func() any { return &decoratorRequest{} }},
		{"decorator finalize", Finalize, decorator, func() any { return &decoratorRequest{} }},
		{"customize", Customize, customize, func() any { return &customizeRequest{} }},
	} {
		for _, version := range []v1alpha1.HookVersion{v1alpha1.HookVersionV1, v1alpha1.HookVersionV2} {
			for _, isPreview := range []bool{false, true} {
				title := test.title + " " + string(version)
				if isPreview {
					title += ", for a preview"
				}
				t.Run(title, func(t *testing.T) {
					trigger := ""
					url := serve(t, func(w http.ResponseWriter, r *http.Request) {
						trigger = r.Header.Get("X-Metacontroller-Trigger")
						if err := decodeClosed(r.Body, test.closed()); err != nil {
							w.WriteHeader(http.StatusBadRequest)
							_, _ = io.WriteString(w, err.Error())
							return
						}
						_, _ = io.WriteString(w, `{}`)
					})
					made, err := New(test.hook, &v1alpha1.Hook{Version: &version, Webhook: &v1alpha1.Webhook{URL: &url}}, nil,
						Options{MaxResponseBytes: limit})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(made.Close)
					if isPreview {
						made = previewOf(made, asked, &[]Call{})
					}
					about := snapshot(t)
					about.Trigger, about.Finalizing = pipeline.TriggerChild, test.hook == Finalize
					pod := parsed(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"default"}}`)
					about.Children = []pipeline.Group{{Type: object.Type{Kind: "Pod"}, Claimed: []*object.Object{pod}}}
					about.Related = []pipeline.Related{{Type: object.Type{Kind: "Pod"}, Objects: []*object.Object{pod}}}
					if err := test.call(made, about); err != nil {
						t.Error(err)
					}
					if trigger != "child" {
						t.Errorf("the header says that the trigger is %q", trigger)
					}
				})
			}
		}
	}
}

// decodeClosed decodes a request whose fields are all pointers.
func decodeClosed(body io.Reader, into any) error {
	decoder := json.NewDecoder(body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	again, err := json.Marshal(into)
	if err != nil {
		return err
	}
	return object.Members(again, func(name string, value []byte) error {
		if string(value) == "null" {
			return &json.UnmarshalTypeError{Value: "null", Field: name}
		}
		return nil
	})
}
