// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// A reflector uses the watch that it gets if there is no error.
func TestAWatchThatIsStoppedBeforeItBeginsIsAnError(t *testing.T) {
	server := httptest.NewServer(nil)
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if stream, err := client.Watch(ctx, pods, "", metav1.ListOptions{}); err == nil {
		t.Errorf("Watch returned %v and no error", stream)
	}
	if list, err := client.List(ctx, pods, "", metav1.ListOptions{}); err == nil {
		t.Errorf("List returned %v and no error", list)
	}
}

var pods = object.Type{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}
