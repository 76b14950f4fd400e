// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

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
	// onRequest is called before each watch request, onWatch with the result of the request, and
	// onList with the result of a list.
	onRequest func()
	onWatch   func(error)
	onList    func(error)
	// onWarnings is called with what the host warned of when it answered a request.
	onWarnings func([]string)
	// observer is told how the watches fare, and running counts them.
	observer observer
	running  *sync.WaitGroup
}

// watch begins with a streaming list if the reflector asks for one.
func (l *listWatch) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	l.onRequest()
	withList := ptr.Deref(options.SendInitialEvents, false)
	collecting, warnings := host.CollectWarnings(ctx)
	watched, err := l.client.Watch(collecting, l.of, l.only.Namespace, l.selecting(options))
	if err == nil {
		l.onWarnings(warnings.Texts())
	}
	if err != nil && ctx.Err() != nil {
		// The reflector is about to end. It does not log an error of this kind.
		return nil, apierrors.NewResourceExpired("the watch is over")
	}
	if withList && apierrors.IsInvalid(err) {
		return nil, err // the host does not stream lists, so the reflector lists
	}
	l.onWatch(err)
	if err != nil {
		return nil, err
	}
	observed := newStream(watched, withList, l.observer)
	l.running.Go(observed.run)
	return observed, nil
}

// list is called only if the host has no streaming lists. It asks for the objects as they are, as a
// streaming list does. For any other version the host may answer with objects that are older than
// what the process that ran the controller before wrote; its children would then be deleted as unwanted, or
// created again.
func (l *listWatch) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion, options.ResourceVersionMatch = "", ""
	collecting, warnings := host.CollectWarnings(ctx)
	list, err := l.client.List(collecting, l.of, l.only.Namespace, l.selecting(options))
	if err == nil {
		l.onWarnings(warnings.Texts())
	}
	if ctx.Err() == nil {
		l.onList(err)
	}
	if err != nil {
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
