// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// RightsPlugin is the name of the plugin Rights.
const RightsPlugin = "ControllerRights"

// rightsTimeout bounds how long the host may take for all reviews. It is shorter than the deadline
// of a request, so that the user gets an error that names the reason.
const rightsTimeout = 10 * time.Second

// retryAfterSeconds is when a client tries a request again about which the host could not be asked.
const retryAfterSeconds = 1

// Rights refuses to create a controller that may do what its author may not. Who changes the spec of a
// controller is its author from then on, whatever the change is.
type Rights struct {
	*admission.Handler
	hostUser
}

var (
	_ admission.ValidationInterface = &Rights{}
	_ WantsHost                     = &Rights{}
)

// NewRights returns the plugin. It takes no configuration.
func NewRights(io.Reader) (admission.Interface, error) {
	return &Rights{Handler: admission.NewHandler(admission.Create, admission.Update)}, nil
}

// Validate returns an error if the author of a spec lacks a right that it uses, or if the host cannot
// be asked.
func (r *Rights) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated := controllerOf(request.GetObject())
	if updated == nil || request.GetSubresource() != "" {
		return nil
	}
	author := request.GetUserInfo()
	if updated.hasSpecOf(controllerOf(request.GetOldObject())) {
		if author.GetName() != user.APIServerUser && updated.readsAnything() {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s: may ask for objects of any type; who changes spec next must be allowed to read all of them, "+
				"so declare the types in spec.relatedResources", customizePath()))
		}
		return nil
	}
	if mayDoAnything(author) {
		return nil
	}
	reviewer := newReviewer(r.host.Reviews, author)
	missing, err := askHost(ctx, request, "has the rights that the controller uses", func(ctx context.Context) ([]rights.Required, error) {
		return r.missing(ctx, reviewer, request, updated)
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	refusal := refusal{author: author, kind: request.GetResource().GroupResource(), of: updated, missing: missing, troubles: reviewer.Troubles()}
	return admission.NewForbidden(request, refusal.err())
}

// mayDoAnything reports whether the host allows a user everything without a check. The server itself is
// such a user.
func mayDoAnything(author user.Info) bool {
	return slices.Contains(author.GetGroups(), user.SystemPrivilegedGroup)
}

// askHost returns what the host answers to ask. If the host does not answer in time, the error says what
// was asked of the author of the request, and to try again.
func askHost[T any](ctx context.Context, request admission.Attributes, what string, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rightsTimeout, fmt.Errorf("it did not answer within %s", rightsTimeout))
	defer cancel()
	answer, err := ask(ctx)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf(
		"%s %q: the cluster cannot be asked whether user %q %s: %v; try again",
		request.GetResource().GroupResource(), request.GetName(), request.GetUserInfo().GetName(), what, err))
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return answer, unavailable
}

// missing returns the rights that a controller requires and its author does not have. It returns none
// if the author may escalate.
func (r *Rights) missing(ctx context.Context, reviewer *rights.Reviewer, request admission.Attributes, updated *controller) ([]rights.Required, error) {
	exemption := rights.Right{Object: rights.Object{GroupResource: request.GetResource().GroupResource(), Name: request.GetName()}, Verb: escalate}
	if exempt, err := reviewer.Allows(ctx, exemption); err != nil || exempt {
		return nil, err
	}
	known, _, err := r.host.lookUpTypes(ctx, updated.typesToLookUp())
	if err != nil {
		return nil, err
	}
	return reviewer.Missing(ctx, updated.requiredRights(known))
}

// newReviewer returns a reviewer of the rights of an author.
func newReviewer(reviews rights.Reviews, author user.Info) *rights.Reviewer {
	return rights.NewReviewer(reviews, rights.User{Name: author.GetName(), UID: author.GetUID(), Groups: author.GetGroups(), Extra: author.GetExtra()})
}
