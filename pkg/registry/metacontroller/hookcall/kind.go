// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookcall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// Resource is the name of the resource.
const Resource = "hookcalls"

// NewStore returns an empty store of HookCalls.
func NewStore() *memory.Store[*v1alpha1.HookCall] {
	return memory.New(memory.Kind[*v1alpha1.HookCall]{
		Resource: v1alpha1.Resource(Resource),
		Copy: func(of *v1alpha1.HookCall) *v1alpha1.HookCall {
			clone := *of
			return &clone
		},
		New:    newCall,
		Fields: fieldsOf,
	}, time.Now())
}

// NewREST returns the storage of HookCalls. A call is read from the source with its bodies, if the reviews
// say that its reader may see them.
func NewREST(rows *live.Rows[*v1alpha1.HookCall], source Source, reviews rights.Reviews) rest.Storage {
	return &storage{source: source, reviews: reviews, REST: live.NewREST(live.Kind[*v1alpha1.HookCall]{
		Resource: v1alpha1.Resource(Resource), Singular: "hookcall", New: newCall, NewList: newList, Table: newTable(),
	}, rows)}
}

func newCall() *v1alpha1.HookCall { return &v1alpha1.HookCall{} }

func newList(meta metav1.ListMeta, items []*v1alpha1.HookCall) runtime.Object {
	list := &v1alpha1.HookCallList{ListMeta: meta, Items: make([]v1alpha1.HookCall, len(items))}
	for i, item := range items {
		list.Items[i] = *item
	}
	return list
}

func fieldsOf(of *v1alpha1.HookCall) fields.Set {
	return fields.Set{
		v1alpha1.FieldController: of.Spec.Controller.Name, v1alpha1.FieldKind: of.Spec.Controller.Kind,
		v1alpha1.FieldParent: of.Spec.Parent.Name, v1alpha1.FieldHook: of.Spec.Hook, v1alpha1.FieldResult: string(of.Status.Result),
	}
}

// newTable returns the table of HookCalls.
func newTable() rest.TableConvertor {
	columns := []metav1.TableColumnDefinition{
		{Name: "Controller", Type: "string", Description: "The controller, by its short name."},
		{Name: "Hook", Type: "string", Description: "The hook that was called: sync, finalize or customize."},
		{Name: "Parent", Type: "string", Description: "The parent, or target, for which the hook was called."},
		{Name: "Code", Type: "string", Description: "The HTTP status code of the answer."},
		{Name: "Took", Type: "string", Description: "Duration of the call."},
		{Name: "Result", Type: "string", Description: "Succeeded, Failed or Throttled."},
		{Name: "Age", Type: "string", Description: "Time since the start of the call."},
		{Name: "Message", Type: "string", Description: "Why the call failed."},
	}
	wide := []metav1.TableColumnDefinition{
		{Name: "Sent", Type: "integer", Description: "The size of the request in bytes."},
		{Name: "Received", Type: "string", Description: "The size of the answer in bytes."},
		{Name: "URL", Type: "string", Description: "Where the hook was called."},
	}
	return resource.NewTableWithoutAge(columns, wide, func(of *v1alpha1.HookCall) ([]any, []any) {
		spec, status := &of.Spec, &of.Status
		code, received := resource.None, resource.None
		if status.Code != 0 {
			code = strconv.Itoa(int(status.Code))
		}
		if status.Response != nil {
			received = strconv.FormatInt(status.Response.Bytes, 10)
		}
		sent := int64(0)
		if status.Request != nil {
			sent = status.Request.Bytes
		}
		return []any{
				live.ControllerName(spec.Controller), spec.Hook, spec.Parent.Kind + "/" + spec.Parent.Name, code,
				status.Duration.Round(time.Millisecond).String(), string(status.Result),
				duration.HumanDuration(time.Since(status.StartTime.Time)), live.ShortMessage(status.Message),
			},
			[]any{sent, received, spec.URL}
	})
}

// reviewTimeout bounds how long the host may take to say what a reader may see.
const reviewTimeout = 10 * time.Second

// Source returns a call with its bodies, and the permissions that a user needs to see it. It returns nil if the call
// is no longer kept.
type Source func(ctx context.Context, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error)

// storage serves HookCalls.
type storage struct {
	*live.REST[*v1alpha1.HookCall]
	source  Source
	reviews rights.Reviews
}

var _ rest.Getter = &storage{}

// Get returns a call with its bodies.
func (s *storage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	row, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	found, required, err := s.source(ctx, types.NamespacedName{Namespace: row.Namespace, Name: row.Name})
	switch {
	case err != nil:
		return nil, live.Unavailable(err)
	case found == nil:
		return nil, apierrors.NewNotFound(v1alpha1.Resource(Resource), name)
	}
	if err := s.permit(ctx, name, required); err != nil {
		return nil, err
	}
	found.ResourceVersion = row.ResourceVersion
	return found, nil
}

// permit returns an error unless the user of a request has the required rights.
func (s *storage) permit(ctx context.Context, name string, required []rights.Required) error {
	reader, ok := request.UserFrom(ctx)
	if !ok {
		return apierrors.NewForbidden(v1alpha1.Resource(Resource), name, errors.New("the request has no user"))
	}
	if slices.Contains(reader.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reviewTimeout,
		fmt.Errorf("the cluster did not answer within %s", reviewTimeout))
	defer cancel()
	of := rights.User{Name: reader.GetName(), UID: reader.GetUID(), Groups: reader.GetGroups(), Extra: reader.GetExtra()}
	missing, err := rights.NewReviewer(s.reviews, of).Missing(ctx, required)
	if err != nil {
		return live.Unavailable(fmt.Errorf("cannot check what user %q may see: %w", reader.GetName(), err))
	}
	if len(missing) == 0 {
		return nil
	}
	return apierrors.NewForbidden(v1alpha1.Resource(Resource), name, fmt.Errorf(
		"the call shows objects that user %q may not get; lists show calls without them\n%s", reader.GetName(), strings.TrimSpace(rights.Rules(missing))))
}
