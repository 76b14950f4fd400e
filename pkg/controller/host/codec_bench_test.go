// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/alloctest"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// modified is the frame of a watch that tells of a child of 1 KB, as the host sends it.
func modified() []byte {
	return fmt.Appendf(nil, `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"shop-0","namespace":"default",`+
		`"uid":"8f6a0b1e-3c1f-4f6e-9a52-0d4f8f3b6a11","resourceVersion":"123456","creationTimestamp":"2026-03-04T05:06:07Z","labels":{"app":"shop","tier":"front"},`+
		`"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{\"data\":{\"config\":\"%[1]s\"}}"},`+
		`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"d2c9","controller":true,"blockOwnerDeletion":true}],`+
		`"managedFields":[{"manager":"metacontroller","operation":"Update","apiVersion":"v1","time":"2026-03-04T05:06:07Z","fieldsType":"FieldsV1",`+
		`"fieldsV1":{"f:data":{".":{},"f:config":{}},"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}]},"data":{"config":"%[1]s"}}}`, strings.Repeat("key=value ", 80))
}

// decodeEvent is what a watch does with a frame that it has read into its buffer.
func decodeEvent(t testing.TB, objects *object.Reader, buffer, frame []byte) {
	var event metav1.WatchEvent
	if _, _, err := (watchEventCodec{}).Decode(append(buffer[:0], frame...), nil, &event); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (objectCodec{objects: objects}).Decode(event.Object.Raw, nil, nil); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkWatchEvent(b *testing.B) {
	frame, objects := modified(), object.NewReader(object.FieldManager)
	buffer := make([]byte, len(frame))
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		decodeEvent(b, objects, buffer, frame)
	}
}

// Most are what encoding/json takes for the time, what others own of the fields, and the
// decoder of the frame. Of what is kept there are the object, its JSON and
// four strings: labels, owners and the names of the type are those of the event before.
func TestWhatAWatchEventAllocates(t *testing.T) {
	frame, objects := modified(), object.NewReader(object.FieldManager)
	buffer := make([]byte, len(frame))
	alloctest.Exactly(t, 28, func() { decodeEvent(t, objects, buffer, frame) })
}
