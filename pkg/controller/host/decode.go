// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

const jsonMediaType = runtime.ContentTypeJSON

// newNegotiatedSerializer makes client-go's watches decode into *object.Object and
// its errors into metav1.Status.
func newNegotiatedSerializer(objects *object.Reader) runtime.NegotiatedSerializer {
	return runtime.NewSimpleNegotiatedSerializer(runtime.SerializerInfo{
		MediaType:        jsonMediaType,
		MediaTypeType:    "application",
		MediaTypeSubType: "json",
		EncodesAsText:    true,
		Serializer:       objectCodec{objects: objects},
		StreamSerializer: &runtime.StreamSerializerInfo{
			EncodesAsText: true,
			Serializer:    watchEventCodec{},
			Framer:        newFramer(),
		},
	})
}

// decodeOnly is the half of a serializer that a client which sends bytes never uses.
type decodeOnly struct{ identifier runtime.Identifier }

func (decodeOnly) Encode(runtime.Object, io.Writer) error {
	return errors.New("host objects are sent as bytes, not encoded")
}

func (d decodeOnly) Identifier() runtime.Identifier { return d.identifier }

// objectCodec decodes an object of any type, and the Status that stands for an error.
type objectCodec struct {
	decodeOnly
	objects *object.Reader
}

func (c objectCodec) Decode(data []byte, _ *schema.GroupVersionKind, _ runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	parsed, err := c.objects.Take(data)
	if err != nil {
		return nil, nil, err
	}
	kind := schema.FromAPIVersionAndKind(parsed.APIVersion, parsed.Kind)
	if kind != (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
		c.objects.Keep(parsed) // it is one of a watch, whose buffer has the next one soon
		return parsed, &kind, nil
	}
	status := &metav1.Status{}
	if err := json.Unmarshal(parsed.JSON(), status); err != nil {
		return nil, nil, err
	}
	return status, &kind, nil
}

// watchEventCodec decodes the frames of a watch without looking into the objects.
type watchEventCodec struct{ decodeOnly }

func (watchEventCodec) Decode(data []byte, _ *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return nil, nil, fmt.Errorf("a watch sends events, not %T", into)
	}
	err := object.Members(data, func(name string, value []byte) error {
		switch name {
		case "type":
			return json.Unmarshal(value, &event.Type)
		case "object":
			event.Object.Raw = value
		}
		return nil
	})
	return event, nil, err
}

// framer cuts the stream of a watch into its events. It does what the stock one does, which takes several times as
// long to find the end of an event.
type framer struct{ runtime.Framer }

func newFramer() framer { return framer{Framer: jsonserializer.Framer} }

// NewFrameReader implements runtime.Framer.
func (framer) NewFrameReader(stream io.ReadCloser) io.ReadCloser {
	// What is wrong inside of an object is for those to find who read it.
	return &frames{Closer: stream, decoder: jsontext.NewDecoder(stream, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))}
}

// frames reads one frame after the other.
type frames struct {
	io.Closer
	decoder *jsontext.Decoder
	rest    []byte // of the frame that did not fit; it belongs to the decoder
}

// Read reads a frame. If it does not fit into the buffer, it fills that and returns
// io.ErrShortBuffer, and goes on with the frame at the next call.
func (f *frames) Read(buffer []byte) (int, error) {
	if len(f.rest) == 0 {
		frame, err := f.decoder.ReadValue()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, io.ErrUnexpectedEOF // as the stock one says it, which watches know
		case err != nil:
			return 0, err
		}
		f.rest = frame
	}
	n := copy(buffer, f.rest)
	f.rest = f.rest[n:]
	if len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}
