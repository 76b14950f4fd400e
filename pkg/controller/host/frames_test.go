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

	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
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

// read reads frames to their end, which is told as a last one.
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
