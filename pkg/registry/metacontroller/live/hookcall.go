// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package live

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
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/resource"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
	"github.com/metacontroller/metacontroller-apiserver/pkg/storage/memory"
)

// HookCallsResource is the name of the resource.
const HookCallsResource = "hookcalls"

// NewHookCallRows returns the rows of HookCalls, as they are followed.
func NewHookCallRows(follow Follow[*v1alpha1.HookCall]) *Rows[*v1alpha1.HookCall] {
	return newRows(memory.New(memory.Kind[*v1alpha1.HookCall]{
		Resource: v1alpha1.Resource(HookCallsResource), Copy: copyOf[v1alpha1.HookCall], New: newHookCall,
		Fields: hookCallFields,
	}, time.Now()), follow)
}

// NewHookCalls returns the storage of HookCalls. A call is read from the source with its bodies, if the reviews
// say that its reader may see them.
func NewHookCalls(rows *Rows[*v1alpha1.HookCall], source HookCallSource, reviews rights.Reviews) rest.Storage {
	return &hookCallStorage{source: source, reviews: reviews, storage: newStorage(kind[*v1alpha1.HookCall]{
		resource: v1alpha1.Resource(HookCallsResource), singular: "hookcall", newObject: newHookCall,
		newList: func(meta metav1.ListMeta, items []*v1alpha1.HookCall) runtime.Object {
			return &v1alpha1.HookCallList{ListMeta: meta, Items: copiesOf(items)}
		},
		table: newHookCallTable(),
	}, rows)}
}

func newHookCall() *v1alpha1.HookCall { return &v1alpha1.HookCall{} }

func hookCallFields(of *v1alpha1.HookCall) fields.Set {
	return fields.Set{
		v1alpha1.FieldController: of.Spec.Controller.Name, v1alpha1.FieldKind: of.Spec.Controller.Kind,
		v1alpha1.FieldParent: of.Spec.Parent.Name, v1alpha1.FieldHook: of.Spec.Hook,
		v1alpha1.FieldResult: string(of.Status.Result),
	}
}

// newHookCallTable returns the table of HookCalls.
func newHookCallTable() rest.TableConvertor {
	type column = resource.Column[*v1alpha1.HookCall]
	return resource.NewTable(func(of *v1alpha1.HookCall) *v1alpha1.HookCall { return of },
		column{Name: "Controller", Description: "The controller, by its short name.",
			Cell: func(of *v1alpha1.HookCall) any { return controllerName(of.Spec.Controller) }},
		column{Name: "Hook", Description: "The hook that was called: sync, finalize or customize.",
			Cell: func(of *v1alpha1.HookCall) any { return of.Spec.Hook }},
		column{Name: "Parent", Description: "The parent, or target, for which the hook was called.",
			Cell: func(of *v1alpha1.HookCall) any { return of.Spec.Parent.Kind + "/" + of.Spec.Parent.Name }},
		column{Name: "Code", Description: "The HTTP status code of the answer.", Cell: code},
		column{Name: "Took", Description: "Duration of the call.",
			Cell: func(of *v1alpha1.HookCall) any { return of.Status.Duration.Round(time.Millisecond).String() }},
		column{Name: "Result", Description: "Succeeded, Failed or Throttled.",
			Cell: func(of *v1alpha1.HookCall) any { return string(of.Status.Result) }},
		column{Name: "Age", Description: "Time since the start of the call.",
			Cell: func(of *v1alpha1.HookCall) any { return duration.HumanDuration(time.Since(of.Status.StartTime.Time)) }},
		column{Name: "Message", Description: "Why the call failed.",
			Cell: func(of *v1alpha1.HookCall) any { return shortMessage(of.Status.Message) }},
		column{Name: "Sent", Type: "integer", Wide: true, Description: "The size of the request in bytes.", Cell: sent},
		column{Name: "Received", Wide: true, Description: "The size of the answer in bytes.", Cell: received},
		column{Name: "URL", Wide: true, Description: "The address of the call.",
			Cell: func(of *v1alpha1.HookCall) any { return of.Spec.URL }},
	)
}

func code(of *v1alpha1.HookCall) any {
	if of.Status.Code == 0 {
		return resource.None
	}
	return strconv.Itoa(int(of.Status.Code))
}

func sent(of *v1alpha1.HookCall) any {
	if of.Status.Request == nil {
		return int64(0)
	}
	return of.Status.Request.Bytes
}

func received(of *v1alpha1.HookCall) any {
	if of.Status.Response == nil {
		return resource.None
	}
	return strconv.FormatInt(of.Status.Response.Bytes, 10)
}

// reviewTimeout bounds how long the host may take to say what a reader may see.
const reviewTimeout = 10 * time.Second

// HookCallSource returns a call with its bodies, and the permissions that a user needs to see it. It returns nil if the
// call is no longer kept.
type HookCallSource func(ctx context.Context, name types.NamespacedName) (*v1alpha1.HookCall, []rights.Required, error)

// hookCallStorage serves HookCalls.
type hookCallStorage struct {
	*storage[*v1alpha1.HookCall]
	source  HookCallSource
	reviews rights.Reviews
}

var _ rest.Getter = &hookCallStorage{}

// Get returns a call with its bodies.
func (s *hookCallStorage) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	row, err := s.find(ctx, name)
	if err != nil {
		return nil, err
	}
	found, required, err := s.source(ctx, types.NamespacedName{Namespace: row.Namespace, Name: row.Name})
	switch {
	case err != nil:
		return nil, unavailable(err)
	case found == nil:
		return nil, apierrors.NewNotFound(v1alpha1.Resource(HookCallsResource), name)
	}
	if err := s.permit(ctx, name, required); err != nil {
		return nil, err
	}
	found.ResourceVersion = row.ResourceVersion
	return found, nil
}

// permit returns an error unless the user of a request has the required rights.
func (s *hookCallStorage) permit(ctx context.Context, name string, required []rights.Required) error {
	reader, ok := request.UserFrom(ctx)
	if !ok {
		return apierrors.NewForbidden(v1alpha1.Resource(HookCallsResource), name, errors.New("the request has no user"))
	}
	if slices.Contains(reader.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reviewTimeout,
		fmt.Errorf("the cluster did not answer within %s", reviewTimeout))
	defer cancel()
	missing, err := rights.NewReviewer(s.reviews, userOf(reader)).Missing(ctx, required)
	if err != nil {
		return unavailable(fmt.Errorf("cannot check which objects user %q may see: %w", reader.GetName(), err))
	}
	if len(missing) == 0 {
		return nil
	}
	return apierrors.NewForbidden(v1alpha1.Resource(HookCallsResource), name, fmt.Errorf(
		"the call shows objects that user %q may not get; lists show calls without them\n%s", reader.GetName(),
		strings.TrimSpace(rights.Rules(missing))))
}
