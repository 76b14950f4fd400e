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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/pipeline"
)

// listWatch lists and watches objects of a type: all, those that a selector selects, or
// the one of a name.
type listWatch struct {
	client *Client
	of     pipeline.Type
	only   types.NamespacedName
	labels string
	// consistent has also a host without streaming lists asked for what there is now, not
	// for what it happens to remember.
	consistent bool
	// refused is called when the host does not list, and asks before it is asked anything.
	refused func(error)
	asks    func()
	// watches is called with how the request for a watch ended.
	watches func(error)
}

func (l *listWatch) listWatch() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: l.listOrTell, WatchFuncWithContext: l.watchOn}
}

// watchOn watches for a reflector, which begins with a streaming list if it can.
func (l *listWatch) watchOn(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	l.asks()
	stream, err := l.watch(ctx, options)
	if ctx.Err() == nil {
		l.watches(err)
	}
	if err != nil && ctx.Err() != nil {
		// The reflector is to end. Of an error of this sort it makes no fuss.
		return nil, apierrors.NewResourceExpired("the watch is over")
	}
	return stream, err
}

// listOrTell lists for a reflector where there are no streaming lists.
func (l *listWatch) listOrTell(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if l.consistent && options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
	list, err := l.list(ctx, options)
	if err != nil && ctx.Err() == nil {
		l.refused(err)
	}
	return list, err
}

// optionsVersion is the version that list options are encoded in. With another one
// the host would not understand that the list is to be streamed.
var optionsVersion = metav1.Unversioned

// request is the request for the objects. The right to read one object is enough for
// the request that names it.
func (l *listWatch) request(options metav1.ListOptions) *rest.Request {
	if l.only.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, l.only.Name).String()
	}
	options.LabelSelector = l.labels
	return l.client.rest.Get().
		AbsPath(path(l.of.GroupVersionResource, l.only.Namespace)...).
		SpecificallyVersionedParams(&options, metav1.ParameterCodec, optionsVersion).
		MaxRetries(0)
}

// watch starts a watch, which with the streaming list's options is also the list.
func (l *listWatch) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	var stream watch.Interface
	err := retryUntilServed(ctx, func() (err error) {
		stream, err = l.request(options).Watch(ctx)
		return err
	})
	return stream, err
}

// list is what a host without streaming lists is asked for. It reads a stream since
// the client logs, at its highest verbosity, what it reads otherwise, Secrets included.
func (l *listWatch) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	var body bytes.Buffer
	if err := l.readList(ctx, options, &body); err != nil {
		return nil, err
	}
	return l.parseList(body.Bytes(), func(item []byte) []byte { return item })
}

func (l *listWatch) readList(ctx context.Context, options metav1.ListOptions, body *bytes.Buffer) error {
	return retryUntilServed(ctx, func() error {
		stream, err := l.request(options).Stream(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = stream.Close() }()
		body.Reset()
		_, err = body.ReadFrom(stream)
		return err
	})
}

// retryUntilServed bridges the moments in which the host already announces a new
// type and does not yet serve it, or has not yet filled its own cache of it. The
// host's wish to be asked again after a whole second is not heeded in these moments.
func retryUntilServed(ctx context.Context, request func() error) error {
	moments := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Steps: 6}
	var err error
	ended := wait.ExponentialBackoffWithContext(ctx, moments, func(context.Context) (bool, error) {
		err = request()
		return !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err), nil
	})
	if err == nil {
		return ended // without a request, if ctx ended before
	}
	return err
}

// objectList is a list of host objects.
type objectList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*object.Object
}

func (l *objectList) DeepCopyObject() runtime.Object { return l }

// parseList reads a list. Of each item, choose returns what is to be parsed; nil passes it
// over.
func (l *listWatch) parseList(body []byte, choose func(item []byte) []byte) (*objectList, error) {
	list := &objectList{}
	if err := json.Unmarshal(object.Lookup(body, "metadata"), &list.ListMeta); err != nil {
		return nil, fmt.Errorf("list of %s: metadata: %w", l.of, err)
	}
	err := object.Elements(object.Lookup(body, "items"), func(_ int, element []byte) error {
		if element = choose(element); element == nil {
			return nil
		}
		item, err := l.client.objects.Parse(l.withType(element))
		if err != nil {
			return err
		}
		list.Items = append(list.Items, item)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", l.of, err)
	}
	return list, nil
}

// withType adds apiVersion and kind, which built-in types leave out of the items of
// a list.
func (l *listWatch) withType(item []byte) []byte {
	if object.Lookup(item, "kind") != nil {
		return item
	}
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,`, l.of.GroupVersion(), l.of.Kind)
	return append([]byte(head), bytes.TrimPrefix(item, []byte("{"))...)
}
