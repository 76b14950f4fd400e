// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package hookcall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/registry/metacontroller/live"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// reviewTimeout bounds how long the host may take to say what a reader may see.
const reviewTimeout = 10 * time.Second

// Source returns a call with its bodies, and the rights that one needs who sees it. It returns nil if the call is not
// kept any more.
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
	ctx, cancel := context.WithTimeoutCause(ctx, reviewTimeout, fmt.Errorf("the cluster did not answer within %s", reviewTimeout))
	defer cancel()
	of := rights.User{Name: reader.GetName(), UID: reader.GetUID(), Groups: reader.GetGroups(), Extra: reader.GetExtra()}
	missing, err := rights.NewReviewer(s.reviews, of).Missing(ctx, required)
	if err != nil {
		return live.Unavailable(fmt.Errorf("the cluster cannot be asked what user %q may see: %w", reader.GetName(), err))
	}
	if len(missing) == 0 {
		return nil
	}
	return apierrors.NewForbidden(v1alpha1.Resource(Resource), name, fmt.Errorf(
		"the call shows objects that user %q may not get; lists show calls without them\n%s", reader.GetName(), strings.TrimSpace(rights.Rules(missing))))
}
