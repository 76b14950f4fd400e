// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/host"
	"github.com/metacontroller/metacontroller-apiserver/pkg/controller/object"
)

// listWatch lists and watches objects of a type for a reflector: all of them, the ones that a
// selector selects, or the one with a name.
type listWatch struct {
	client *host.Client
	of     object.Type
	only   types.NamespacedName
	labels string
	// consistent asks a host without streaming lists for the current objects, and not for the
	// ones in its cache.
	consistent bool
	// onRequest is called before each watch request, onWatch with the result of the request, and
	// onListError when the host refuses to list.
	onRequest   func()
	onWatch     func(error)
	onListError func(error)
}

// watch begins with a streaming list if the reflector asks for one.
func (l *listWatch) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	l.onRequest()
	stream, err := l.client.Watch(ctx, l.of, l.only.Namespace, l.selecting(options))
	if ctx.Err() == nil {
		l.onWatch(err)
	}
	if err != nil && ctx.Err() != nil {
		// The reflector is about to end. It does not log an error of this kind.
		return nil, apierrors.NewResourceExpired("the watch is over")
	}
	return stream, err
}

// list is called only if the host has no streaming lists.
func (l *listWatch) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if l.consistent && options.ResourceVersion == "0" {
		options.ResourceVersion = ""
	}
	list, err := l.client.List(ctx, l.of, l.only.Namespace, l.selecting(options))
	if err != nil {
		if ctx.Err() == nil {
			l.onListError(err)
		}
		return nil, err
	}
	return list, nil
}

// selecting adds the selectors. A request for a single object names it, because then the right to
// read that one object is enough.
func (l *listWatch) selecting(options metav1.ListOptions) metav1.ListOptions {
	if l.only.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, l.only.Name).String()
	}
	options.LabelSelector = l.labels
	return options
}
