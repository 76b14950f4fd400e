// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/alloctest"
)

func TestFramesAreThoseOfTheStockFramer(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"nothing":                         ``,
		"an event on a line":              `{"type":"ADDED","object":{"a":1}}` + "\n",
		"several":                         `{"type":"ADDED"}` + "\n" + `{"type":"DELETED"}` + "\n",
		"over several lines":              "{\n  \"type\": \"ADDED\"\n}\n{\n}\n",
		"without a space between them":    `{"a":1}{"b":2}`,
		"larger than any buffer":          fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 10_000)) + `{"b":2}`,
		"cut off":                         `{"type":"ADDED"}{"type":`,
		"the same member twice":           `{"a":1,"a":2}`,
		"what is no UTF-8":                "{\"a\":\"\xff\"}",
		"braces and quotes in a string":   `{"a":"}\"{"}{"b":1}`,
		"as long as the buffer of a read": fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 64-8)) + `{"b":2}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours := read(t, newFramer().NewFrameReader(io.NopCloser(iotest.OneByteReader(strings.NewReader(stream)))))
			stock := read(t, jsonserializer.Framer.NewFrameReader(io.NopCloser(strings.NewReader(stream))))
			if fmt.Sprint(ours) != fmt.Sprint(stock) {
				t.Errorf("read %q, the stock framer reads %q", ours, stock)
			}
		})
	}
}

// read reads all frames. The last one is the error at the end.
func read(t *testing.T, frames io.ReadCloser) []string {
	t.Helper()
	var all []string
	var frame strings.Builder
	for buffer := make([]byte, 64); ; {
		n, err := frames.Read(buffer)
		frame.Write(buffer[:n])
		switch {
		case errors.Is(err, io.ErrShortBuffer):
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return append(all, err.Error())
		case err != nil:
			t.Fatal(err)
		default:
			all = append(all, frame.String())
			frame.Reset()
		}
	}
}

func BenchmarkFrames(b *testing.B) {
	event := fmt.Sprintf(`{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"text":%q}}}`+"\n", strings.Repeat("x", 3000))
	const events = 1000
	stream := strings.Repeat(event, events)
	buffer := make([]byte, 2*len(event))
	for name, framer := range map[string]interface {
		NewFrameReader(io.ReadCloser) io.ReadCloser
	}{"ours": newFramer(), "stock": jsonserializer.Framer} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				frames := framer.NewFrameReader(io.NopCloser(strings.NewReader(stream)))
				for range events {
					if _, err := frames.Read(buffer); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// modified returns an event of a watch with a child of 1 KB, as the host sends it.
func modified() []byte {
	return fmt.Appendf(nil, `{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"shop-0","namespace":"default",`+
		`"uid":"8f6a0b1e-3c1f-4f6e-9a52-0d4f8f3b6a11","resourceVersion":"123456","creationTimestamp":"2026-03-04T05:06:07Z","labels":{"app":"shop","tier":"front"},`+
		`"annotations":{"metacontroller.k8s.io/last-applied-configuration":"{\"data\":{\"config\":\"%[1]s\"}}"},`+
		`"ownerReferences":[{"apiVersion":"ctl.example/v1","kind":"Web","name":"shop","uid":"d2c9","controller":true,"blockOwnerDeletion":true}],`+
		`"managedFields":[{"manager":"metacontroller","operation":"Update","apiVersion":"v1","time":"2026-03-04T05:06:07Z","fieldsType":"FieldsV1",`+
		`"fieldsV1":{"f:data":{".":{},"f:config":{}},"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}]},"data":{"config":"%[1]s"}}}`, strings.Repeat("key=value ", 80))
}

// decodeEvent does what a watch does with a frame that it has read into its buffer.
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

// Most allocations are those of encoding/json for the time, of reading who owns which fields, and of
// the decoder of the frame. What stays in memory is the object, its JSON and three strings: labels,
// owners, the owners of fields and the names of the type are shared with the event before.
func TestWhatAWatchEventAllocates(t *testing.T) {
	frame, objects := modified(), object.NewReader(object.FieldManager)
	buffer := make([]byte, len(frame))
	alloctest.AtMost(t, 21, func() { decodeEvent(t, objects, buffer, frame) })
}
