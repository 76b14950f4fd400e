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
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
)

// RightsPlugin is the name of the plugin Rights.
const RightsPlugin = "ControllerRights"

// rightsTimeout is how long the host may take to say what a user may do. It is shorter than the time a request has, so
// that the user is told what took so long.
const rightsTimeout = 10 * time.Second

// Rights lets nobody create a controller that may do what its author may not, or turn one there.
type Rights struct {
	*admission.Handler
	host Host
}

var (
	_ admission.ValidationInterface     = &Rights{}
	_ admission.InitializationValidator = &Rights{}
	_ WantsHost                         = &Rights{}
)

// NewRights makes the plugin. It takes no configuration.
func NewRights(io.Reader) (admission.Interface, error) {
	return &Rights{Handler: admission.NewHandler(admission.Create, admission.Update)}, nil
}

// SetHost says how to ask the host.
func (r *Rights) SetHost(host Host) { r.host = host }

// ValidateInitialization tells whether the plugin has what it needs.
func (r *Rights) ValidateInitialization() error { return r.host.validate() }

// Validate returns an error if the author of a controller lacks rights that the controller adds, or if the host does not
// say whether that is so.
func (r *Rights) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated := controllerOf(request.GetObject())
	if updated == nil || request.GetSubresource() != "" {
		return nil
	}
	// The host lets these do everything as well, without asking anybody; the server itself is one of them.
	author := request.GetUserInfo()
	if slices.Contains(author.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	needs := updated.added(controllerOf(request.GetOldObject()))
	if len(needs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rightsTimeout, fmt.Errorf("it did not answer within %s", rightsTimeout))
	defer cancel()
	reviewer := &reviewer{reviews: r.host.Reviews, user: author, troubles: sets.New[string]()}
	missing, err := r.missing(ctx, reviewer, request, needs)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return apierrors.NewServiceUnavailable(fmt.Sprintf("%s %q: the host cannot be asked whether user %q has the rights that the controller uses: %v; try again",
			request.GetResource().GroupResource(), request.GetName(), author.GetName(), err))
	}
	if len(missing) == 0 {
		return nil
	}
	return admission.NewForbidden(request, refusal(author, request.GetResource().GroupResource(), missing, reviewer.troubles))
}

// missing returns the needs that the author has no right to, and is exempt from having.
func (r *Rights) missing(ctx context.Context, reviewer *reviewer, request admission.Attributes, needs []need) ([]need, error) {
	exemption := right{object{GroupResource: request.GetResource().GroupResource(), name: request.GetName()}, escalate}
	exempt, err := reviewer.allowed(ctx, []right{exemption})
	if err != nil || exempt.Has(exemption) {
		return nil, err
	}
	needs, err = r.host.whereStatusIs(ctx, controllerOf(request.GetObject()), needs)
	if err != nil {
		return nil, err
	}
	return reviewer.missing(ctx, needs)
}
