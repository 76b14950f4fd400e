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

// newNegotiatedSerializer returns a serializer with which client-go decodes the objects of watches
// into *object.Object and errors into *metav1.Status.
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

// decodeOnly implements the half of a serializer that is not used, because the client sends bytes.
type decodeOnly struct{ identifier runtime.Identifier }

func (decodeOnly) Encode(runtime.Object, io.Writer) error {
	return errors.New("host objects are sent as bytes, not encoded")
}

func (d decodeOnly) Identifier() runtime.Identifier { return d.identifier }

// objectCodec decodes an object of any type, or the Status of an error.
type objectCodec struct {
	decodeOnly
	objects *object.Reader
}

func (c objectCodec) Decode(
	data []byte, _ *schema.GroupVersionKind, _ runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	parsed, err := c.objects.Take(data)
	if err != nil {
		return nil, nil, err
	}
	kind := schema.FromAPIVersionAndKind(parsed.APIVersion, parsed.Kind)
	if kind != (schema.GroupVersionKind{Version: "v1", Kind: "Status"}) {
		c.objects.Keep(parsed) // the watch will reuse its buffer for the next object
		return parsed, &kind, nil
	}
	status := &metav1.Status{}
	if err := json.Unmarshal(parsed.JSON(), status); err != nil {
		return nil, nil, err
	}
	return status, &kind, nil
}

// watchEventCodec decodes the events of a watch and leaves their objects as bytes.
type watchEventCodec struct{ decodeOnly }

func (watchEventCodec) Decode(
	data []byte, _ *schema.GroupVersionKind, into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
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

// framer cuts the stream of a watch into its events. It does the same as the framer of
// apimachinery, which takes several times as long to find the end of an event.
type framer struct{ runtime.Framer }

func newFramer() framer { return framer{Framer: jsonserializer.Framer} }

// NewFrameReader implements runtime.Framer.
func (framer) NewFrameReader(stream io.ReadCloser) io.ReadCloser {
	// Errors within an object are found when the object is parsed.
	decoder := jsontext.NewDecoder(stream, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &frames{Closer: stream, decoder: decoder}
}

// frames reads one frame after the other.
type frames struct {
	io.Closer
	decoder *jsontext.Decoder
	rest    []byte // of a frame that did not fit into the buffer; it belongs to the decoder
}

// Read reads a frame. If the frame does not fit into the buffer, Read fills the buffer and returns
// io.ErrShortBuffer. The next call continues with the same frame.
func (f *frames) Read(buffer []byte) (int, error) {
	if len(f.rest) == 0 {
		frame, err := f.decoder.ReadValue()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return 0, io.ErrUnexpectedEOF // watches expect the bare error
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
