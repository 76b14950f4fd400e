// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// List returns the objects of a type in a namespace, in all namespaces if it is empty. The options
// select the objects and name the resource version.
func (c *Client) List(ctx context.Context, of object.Type, namespace string, options metav1.ListOptions) (*ObjectList, error) {
	var body bytes.Buffer
	if err := c.readList(ctx, of, namespace, jsonMediaType, options, &body); err != nil {
		return nil, err
	}
	return c.parseList(of, body.Bytes(), func(item []byte) []byte { return item })
}

// Watch returns the changes of the objects that List would return. With the options of a streaming
// list, the objects come first.
func (c *Client) Watch(ctx context.Context, of object.Type, namespace string, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	var stream watch.Interface
	err := retryUntilServed(ctx, func() (err error) {
		stream, err = c.listRequest(of, namespace, options).Watch(ctx)
		return err
	})
	return stream, err
}

// optionsVersion is the version that list options are encoded in. With another version the host
// does not see that the list is to be streamed.
var optionsVersion = metav1.Unversioned

func (c *Client) listRequest(of object.Type, namespace string, options metav1.ListOptions) *rest.Request {
	return at(c.rest.Get(), of.GroupVersionResource, namespace).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, optionsVersion).
		MaxRetries(0)
}

// readList reads a list, in the form that accept names, into body. It reads a stream, because
// client-go logs every other body at its highest verbosity: Secrets, and annotations that repeat them.
func (c *Client) readList(ctx context.Context, of object.Type, namespace, accept string, options metav1.ListOptions, body *bytes.Buffer) error {
	return retryUntilServed(ctx, func() error {
		stream, err := c.listRequest(of, namespace, options).SetHeader("Accept", accept).Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		body.Reset()
		_, err = body.ReadFrom(stream)
		return err
	})
}

// retryUntilServed repeats a request that fails with NotFound or TooManyRequests, for about a
// second. For a moment the host announces a new type that it does not serve yet, or whose cache it
// has not filled yet. The Retry-After of such an answer is a whole second and is ignored.
func retryUntilServed(ctx context.Context, request func() error) error {
	backoff := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Steps: 6}
	var err error
	ended := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		err = request()
		return !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err), nil
	})
	if err == nil {
		return ended // ctx had ended before the first request
	}
	return err
}

// ObjectList is a list of objects of the host.
type ObjectList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*object.Object
}

// DeepCopyObject implements runtime.Object. Nothing changes a list, so it returns the list itself.
func (l *ObjectList) DeepCopyObject() runtime.Object { return l }

// parseList reads a list. For each item, choose returns the bytes to parse, nil to leave it out.
func (c *Client) parseList(of object.Type, body []byte, choose func(item []byte) []byte) (*ObjectList, error) {
	list := &ObjectList{}
	if err := json.Unmarshal(object.Lookup(body, "metadata"), &list.ListMeta); err != nil {
		return nil, fmt.Errorf("list of %s: metadata: %w", of, err)
	}
	err := object.Elements(object.Lookup(body, "items"), func(_ int, element []byte) error {
		if element = choose(element); element == nil {
			return nil
		}
		item, err := c.objects.Parse(withType(of, element))
		if err != nil {
			return err
		}
		list.Items = append(list.Items, item)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", of, err)
	}
	return list, nil
}

// withType adds kind and apiVersion to the item of a list. Built-in types leave them out. Events of watches have them in this
// order, on which the hash of an object depends.
func withType(of object.Type, item []byte) []byte {
	if object.Lookup(item, "kind") != nil {
		return item
	}
	head := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, of.Kind, of.GroupVersion())
	return append([]byte(head), bytes.TrimPrefix(item, []byte("{"))...)
}
