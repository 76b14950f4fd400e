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
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// RightsPlugin is the name of the plugin Rights.
const RightsPlugin = "ControllerRights"

// rightsTimeout bounds how long the host may take for all reviews. It is shorter than the deadline
// of a request, so that the user gets an error that names the reason.
const rightsTimeout = 10 * time.Second

// Rights refuses to create a controller that may do what its author may not, or to change one so
// that it may.
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

// Validate returns an error if the author of a controller lacks a right that the change adds, or if
// the host cannot be asked.
func (r *Rights) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated := controllerOf(request.GetObject())
	if updated == nil || request.GetSubresource() != "" {
		return nil
	}
	// The host allows this group everything without a check. The server itself belongs to it.
	author := request.GetUserInfo()
	if slices.Contains(author.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	required := updated.addedRights(controllerOf(request.GetOldObject()))
	if len(required) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rightsTimeout, fmt.Errorf("it did not answer within %s", rightsTimeout))
	defer cancel()
	reviewer := newReviewer(r.host.Reviews, author)
	missing, err := r.missing(ctx, reviewer, request, required)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return apierrors.NewServiceUnavailable(fmt.Sprintf("%s %q: the cluster cannot be asked whether user %q has the rights that the controller uses: %v; try again",
			request.GetResource().GroupResource(), request.GetName(), author.GetName(), err))
	}
	if len(missing) == 0 {
		return nil
	}
	return admission.NewForbidden(request, refusal(author, request.GetResource().GroupResource(), missing, reviewer.troubles))
}

// missing returns the required rights that the author does not have. It returns none if the author
// may escalate.
func (r *Rights) missing(ctx context.Context, reviewer *reviewer, request admission.Attributes, required []requiredRight) ([]requiredRight, error) {
	exemption := right{object{GroupResource: request.GetResource().GroupResource(), name: request.GetName()}, escalate}
	exempt, err := reviewer.allowed(ctx, []right{exemption})
	if err != nil || exempt.Has(exemption) {
		return nil, err
	}
	required, err = r.host.withoutMissingStatus(ctx, controllerOf(request.GetObject()), required)
	if err != nil {
		return nil, err
	}
	return reviewer.missing(ctx, required)
}
