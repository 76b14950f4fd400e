// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

const groupPath = "/apis/metacontroller.k8s.io/v1alpha1"

func TestDiscovery(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(listen(t, newServer(t)))
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.ServerResourcesForGroupVersion(v1alpha1.SchemeGroupVersion.String())
	if err != nil {
		t.Fatal(err)
	}
	type resource struct {
		Name, SingularName, Kind string
		Namespaced               bool
		ShortNames, Categories   []string
		Verbs                    string
	}
	var got []resource
	for _, r := range list.APIResources {
		slices.Sort(r.Verbs)
		got = append(got, resource{r.Name, r.SingularName, r.Kind, r.Namespaced, r.ShortNames, r.Categories, strings.Join(r.Verbs, " ")})
	}
	const all, status = "create delete deletecollection get list patch update watch", "get patch update"
	metacontroller := []string{"metacontroller"}
	want := []resource{
		{"compositecontrollers", "compositecontroller", "CompositeController", false, []string{"cc", "cctl"}, metacontroller, all},
		{"compositecontrollers/status", "", "CompositeController", false, nil, nil, status},
		{"controllerrevisions", "controllerrevision", "ControllerRevision", true, []string{"mcrev"}, metacontroller, all},
		{"controllerrevisions/status", "", "ControllerRevision", true, nil, nil, status},
		{"decoratorcontrollers", "decoratorcontroller", "DecoratorController", false, []string{"dec", "decorators"}, metacontroller, all},
		{"decoratorcontrollers/status", "", "DecoratorController", false, nil, nil, status},
		{"syncreviews", "syncreview", "SyncReview", false, nil, nil, "create"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources differ (-want +got):\n%s", diff)
	}
}

func TestUnknownFields(t *testing.T) {
	const object = `{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"a"},"spec":{
		"parentResource":{"apiVersion":"v1","resource":"foos","lableSelector":{}},"hooks":{"sync":{"webhook":{"url":"http://a"}}}}}`
	const complaint = `unknown field \"spec.parentResource.lableSelector\"`
	tests := map[string]struct {
		wantCode    int
		wantBody    string
		wantWarning bool
	}{
		metav1.FieldValidationStrict: {wantCode: http.StatusBadRequest, wantBody: complaint},
		metav1.FieldValidationWarn:   {wantCode: http.StatusCreated, wantWarning: true},
		metav1.FieldValidationIgnore: {wantCode: http.StatusCreated},
	}
	server := newServer(t)
	for mode, test := range tests {
		t.Run(mode, func(t *testing.T) {
			response := send(t, server, http.MethodPost, groupPath+"/compositecontrollers?dryRun=All&fieldValidation="+mode, object, nil)
			if response.code != test.wantCode || !strings.Contains(response.body, test.wantBody) {
				t.Errorf("answer = %d %s, want %d and %q", response.code, response.body, test.wantCode, test.wantBody)
			}
			warned := strings.Contains(response.header.Get("Warning"), "lableSelector")
			if warned != test.wantWarning {
				t.Errorf("warned = %v, want %v", warned, test.wantWarning)
			}
			if response.code == http.StatusCreated && strings.Contains(response.body, "lableSelector") {
				t.Error("the unknown field was stored")
			}
		})
	}
}

func TestMediaTypes(t *testing.T) {
	const protobuf = "application/vnd.kubernetes.protobuf"
	tests := map[string]struct {
		accept   string
		wantCode int
		wantType string
	}{
		"JSON":                       {"application/json", http.StatusOK, "application/json"},
		"YAML":                       {"application/yaml", http.StatusOK, "application/yaml"},
		"protobuf, else JSON":        {protobuf + ",application/json", http.StatusOK, "application/json"},
		"protobuf, of metadata only": {protobuf + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", http.StatusOK, protobuf},
		"protobuf only":              {protobuf, http.StatusNotAcceptable, ""},
	}
	server := newServer(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			response := send(t, server, http.MethodGet, groupPath+"/compositecontrollers", "", http.Header{"Accept": {test.accept}})
			got, _, _ := strings.Cut(response.header.Get("Content-Type"), ";")
			if response.code != test.wantCode || test.wantType != "" && got != test.wantType {
				t.Errorf("answer = %d as %s, want %d as %s", response.code, got, test.wantCode, test.wantType)
			}
		})
	}
}

// The host's garbage collector and namespace controller work through this client.
func TestTheMetadataClientListsAndDeletes(t *testing.T) {
	config := listen(t, newServer(t))
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	createComposite(t, newTypedClient(t, config), "a")
	composites := client.Resource(v1alpha1.SchemeGroupVersion.WithResource("compositecontrollers"))
	list, err := composites.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "a" {
		t.Fatalf("list = %+v, error %v, want the one object", list, err)
	}
	background := metav1.DeletePropagationBackground
	if err := composites.Delete(t.Context(), "a", metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Errorf("delete: %v", err)
	}
}

func TestTablesAreServed(t *testing.T) {
	server := newServer(t)
	createComposite(t, newTypedClient(t, listen(t, server)), "a")
	for _, path := range []string{"/compositecontrollers", "/compositecontrollers/a", "/compositecontrollers/a/status"} {
		response := send(t, server, http.MethodGet, groupPath+path, "", http.Header{"Accept": {"application/json;as=Table;g=meta.k8s.io;v=v1"}})
		var table metav1.Table
		if err := json.Unmarshal([]byte(response.body), &table); err != nil {
			t.Fatalf("%s: reading the table: %v", path, err)
		}
		if table.Kind != "Table" || len(table.Rows) != 1 || table.Rows[0].Cells[0] != "a" ||
			len(table.ColumnDefinitions) != 13 {
			t.Errorf("%s: table = %s, want one row for the object, with thirteen columns", path, response.body)
		}
	}
}

func TestOpenAPINamesEveryKind(t *testing.T) {
	server := newServer(t)
	for _, path := range []string{"/openapi/v2", "/openapi/v3" + groupPath} {
		response := send(t, server, http.MethodGet, path, "", http.Header{"Accept": {"application/json"}})
		for _, kind := range []string{"CompositeController", "DecoratorController", "ControllerRevision"} {
			if !strings.Contains(response.body, `"io.k8s.metacontroller.v1alpha1.`+kind+`"`) {
				t.Errorf("%s does not define %s", path, kind)
			}
			if !strings.Contains(response.body, `"x-kubernetes-group-version-kind":[{"group":"metacontroller.k8s.io","kind":"`+kind+`","version":"v1alpha1"}]`) &&
				!strings.Contains(response.body, `"x-kubernetes-group-version-kind":[{"group":"metacontroller.k8s.io","version":"v1alpha1","kind":"`+kind+`"}]`) {
				t.Errorf("%s does not say which schema is that of %s", path, kind)
			}
		}
	}
}

type response struct {
	code   int
	header http.Header
	body   string
}

func send(t *testing.T, handler http.Handler, method, path, body string, header http.Header) response {
	t.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	if header != nil {
		request.Header = header
	}
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	result := recorder.Result()
	defer result.Body.Close()
	content, err := io.ReadAll(result.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{code: result.StatusCode, header: result.Header, body: string(content)}
}
