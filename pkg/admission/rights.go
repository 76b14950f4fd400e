// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// RightsPlugin is the name of the plugin Rights.
const RightsPlugin = "ControllerRights"

// rightsTimeout bounds how long the host may take for all reviews. It is shorter than the deadline
// of a request so that the user gets an error that names the reason.
const rightsTimeout = 10 * time.Second

// retryAfterSeconds is the delay before a client retries a request that failed because the host did not answer a
// review.
const retryAfterSeconds = 1

// Rights rejects a controller that has rights that its author does not have. A user who changes the spec of a
// controller in any way becomes its author.
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

// Validate returns an error if the author of a spec lacks a permission that the spec uses, or if the host does not
// answer the review.
func (r *Rights) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated := controllerOf(request.GetObject())
	if updated == nil || request.GetSubresource() != "" {
		return nil
	}
	author := request.GetUserInfo()
	if updated.hasSpecOf(controllerOf(request.GetOldObject())) {
		if author.GetName() != user.APIServerUser && updated.readsAnything() {
			warning.AddWarning(ctx, "", fmt.Sprintf("%s: may select objects of any type, so the next user who changes spec "+
				"needs permission to read all types; declare the types in spec.relatedResources", customizePath()))
		}
		return nil
	}
	if mayDoAnything(author) {
		return nil
	}
	reviewer := newReviewer(r.host.Reviews, author)
	missing, err := askHost(ctx, request, "has the rights that the controller uses",
		func(ctx context.Context) ([]rights.Required, error) {
			return r.missing(ctx, reviewer, request, updated)
		})
	if err != nil || len(missing) == 0 {
		return err
	}
	refusal := refusal{author: author, kind: request.GetResource().GroupResource(), of: updated, missing: missing,
		troubles: reviewer.Troubles()}
	return admission.NewForbidden(request, refusal.err())
}

// mayDoAnything reports whether the host allows a user everything without a check. The server itself is
// such a user.
func mayDoAnything(author user.Info) bool {
	return slices.Contains(author.GetGroups(), user.SystemPrivilegedGroup)
}

// askHost returns the result of ask. If ask fails or takes too long, the error names the check of the author that
// failed, and asks to try again.
func askHost[T any](
	ctx context.Context, request admission.Attributes, what string, ask func(context.Context) (T, error),
) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, rightsTimeout,
		fmt.Errorf("the cluster did not answer within %s", rightsTimeout))
	defer cancel()
	answer, err := ask(ctx)
	if err == nil {
		return answer, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf(
		"%s %q: cannot check whether user %q %s: %v; try again",
		request.GetResource().GroupResource(), request.GetName(), request.GetUserInfo().GetName(), what, err))
	unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return answer, unavailable
}

// missing returns the rights that a controller requires and its author does not have. It returns none
// if the author may escalate.
func (r *Rights) missing(
	ctx context.Context, reviewer *rights.Reviewer, request admission.Attributes, updated *controller,
) ([]rights.Required, error) {
	exemption := rights.Right{Object: rights.Object{GroupResource: request.GetResource().GroupResource(),
		Name: request.GetName()}, Verb: escalate}
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
	return rights.NewReviewer(reviews, rights.User{Name: author.GetName(), UID: author.GetUID(),
		Groups: author.GetGroups(), Extra: author.GetExtra()})
}

// refusal has the rights that an author lacks.
type refusal struct {
	author   user.Info
	kind     schema.GroupResource
	of       *controller
	missing  []rights.Required
	troubles []string
}

// err returns the error, with the missing rights as rules to paste into a Role.
func (r refusal) err() error {
	var text strings.Builder
	who := fmt.Sprintf("user %q (groups=%q)", r.author.GetName(), r.author.GetGroups())
	if r.of.access.ServiceAccount != nil {
		fmt.Fprintf(&text, "a controller may act only as a service account that its author may impersonate, and %s may not\n",
			who)
	} else {
		fmt.Fprintf(&text, "a controller may do only what its author may do, and %s lacks permissions that the controller "+
			"uses\n", who)
	}
	text.WriteString(rights.Rules(r.missing))
	if r.needsDeclarations() {
		text.WriteString("# The customize hook may select objects of any type. Declare the types that it selects in " +
			"spec.relatedResources: then the author needs permissions only for these types.\n")
	}
	fmt.Fprintf(&text, "# The verb %s on %s replaces all of them.", escalate, r.kind)
	if len(r.troubles) > 0 {
		fmt.Fprintf(&text, "\n# The cluster could not evaluate everything: %s", strings.Join(r.troubles, "; "))
	}
	return errors.New(text.String())
}

// needsDeclarations reports whether the author may not read everything that the customize hook may ask
// for.
func (r refusal) needsDeclarations() bool {
	return slices.ContainsFunc(r.missing, func(req rights.Required) bool { return req.For == customizePath().String() })
}

// RevisionsPlugin is the name of the plugin Revisions.
const RevisionsPlugin = "ControllerRevisions"

// restore is the verb of those who may write ControllerRevisions, such as a tool that restores a
// backup.
const restore = "restore"

// Revisions refuses ControllerRevisions that are not written by the server itself, unless the user may restore them.
// The server sends their content to hooks as the parent.
type Revisions struct {
	*admission.Handler
	hostUser
}

var (
	_ admission.ValidationInterface = &Revisions{}
	_ WantsHost                     = &Revisions{}
)

// NewRevisions returns the plugin. It takes no configuration.
func NewRevisions(io.Reader) (admission.Interface, error) {
	return &Revisions{Handler: admission.NewHandler(admission.Create, admission.Update)}, nil
}

// Validate returns an error if the user may not write the ControllerRevision, or if the host does not respond.
func (r *Revisions) Validate(ctx context.Context, request admission.Attributes, _ admission.ObjectInterfaces) error {
	updated, ok := request.GetObject().(*v1alpha1.ControllerRevision)
	if !ok || onlyTakesAway(updated, request.GetOldObject()) {
		return nil
	}
	author := request.GetUserInfo()
	if mayDoAnything(author) {
		return nil
	}
	of := rights.Right{Object: rights.Object{GroupResource: request.GetResource().GroupResource(),
		Namespace: request.GetNamespace(), Name: request.GetName()}, Verb: restore}
	allowed, err := askHost(ctx, request, "may "+restore+" it", func(ctx context.Context) (bool, error) {
		return newReviewer(r.host.Reviews, author).Allows(ctx, of)
	})
	if err != nil || allowed {
		return err
	}
	return admission.NewForbidden(request, fmt.Errorf("hooks get the content of ControllerRevisions, so only the "+
		"server writes them; "+
		"to restore a backup, user %q needs the verb %s on %s in the namespace %q",
		author.GetName(), restore, of.GroupResource, of.Namespace))
}

// onlyTakesAway reports whether an update changes nothing but that finalizers and owner references are gone or no
// longer block. The host's garbage collector makes such updates.
func onlyTakesAway(updated *v1alpha1.ControllerRevision, old runtime.Object) bool {
	stored, ok := old.(*v1alpha1.ControllerRevision)
	if !ok {
		return false
	}
	for _, finalizer := range updated.Finalizers {
		if !slices.Contains(stored.Finalizers, finalizer) {
			return false
		}
	}
	for _, owner := range updated.OwnerReferences {
		if !slices.ContainsFunc(stored.OwnerReferences,
			func(before metav1.OwnerReference) bool { return isSameOrWeaker(owner, before) }) {
			return false
		}
	}
	without := func(revision *v1alpha1.ControllerRevision) *v1alpha1.ControllerRevision {
		rest := *revision
		rest.TypeMeta = metav1.TypeMeta{}
		rest.Finalizers, rest.OwnerReferences, rest.ManagedFields = nil, nil, nil
		rest.ResourceVersion, rest.Generation = "", 0
		return &rest
	}
	return apiequality.Semantic.DeepEqual(without(updated), without(stored))
}

// isSameOrWeaker reports whether an owner reference is as it was before, or only no longer blocks the
// deletion of the owner.
func isSameOrWeaker(owner, before metav1.OwnerReference) bool {
	if owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		before.BlockOwnerDeletion = owner.BlockOwnerDeletion
	}
	return apiequality.Semantic.DeepEqual(owner, before)
}
