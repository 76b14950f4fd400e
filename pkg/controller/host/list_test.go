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

// An object that a list shows again after a watch is unchanged.
func TestAnObjectOfAListHasTheHashOfThatOfAWatch(t *testing.T) {
	client, err := NewClient(&rest.Config{Host: "http://127.0.0.1:1"}, FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	const rest = `"metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"1"},"spec":{}}`
	list, err := client.parseList(pods, []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{`+rest+`]}`), func(item []byte) []byte { return item })
	if err != nil {
		t.Fatal(err)
	}
	watched, err := client.objects.Parse([]byte(`{"kind":"Pod","apiVersion":"v1",` + rest))
	if err != nil {
		t.Fatal(err)
	}
	if listed := list.Items[0]; listed.Hash != watched.Hash {
		t.Errorf("the hashes are %x of the list and %x of the watch", listed.Hash, watched.Hash)
	}
}
