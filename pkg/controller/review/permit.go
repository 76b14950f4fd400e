// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// permit decides which objects the author of a review may see. Each right is reviewed once. Its methods may be called
// concurrently.
type permit struct {
	author     rights.User
	controller v1alpha1.SyncReviewController
	reviewer   *rights.Reviewer

	mu      sync.Mutex
	granted sets.Set[rights.Right]
	// asked has, for a type, the namespaces in which a right to it was reviewed.
	asked map[schema.GroupResource]sets.Set[string]
}

func newPermit(reviews rights.Reviews, author rights.User, controller v1alpha1.SyncReviewController) *permit {
	return &permit{
		author: author, controller: controller, reviewer: rights.NewReviewer(reviews, author),
		granted: sets.New[rights.Right](), asked: map[schema.GroupResource]sets.Set[string]{},
	}
}

// privileged is the group whose users the host allows everything without a check.
const privileged = "system:masters"

// check returns an error unless the author has all of the rights. The error names the missing rights.
func (p *permit) check(ctx context.Context, required []rights.Required) error {
	if slices.Contains(p.author.Groups, privileged) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var open []rights.Required
	for _, one := range required {
		if !p.isGranted(one.Right) {
			open = append(open, one)
		}
	}
	if len(open) == 0 {
		return nil
	}
	if err := p.askEverywhere(ctx, open); err != nil {
		return p.unavailable(err)
	}
	open = slices.DeleteFunc(open, func(one rights.Required) bool { return p.isGranted(one.Right) })
	missing, err := p.reviewer.Missing(ctx, open)
	if err != nil {
		return p.unavailable(err)
	}
	if len(missing) > 0 {
		return p.refusal(missing)
	}
	for _, one := range open {
		p.granted.Insert(one.Right)
	}
	return nil
}

// isGranted reports whether a right is known to be there, in its namespace or in all.
func (p *permit) isGranted(right rights.Right) bool {
	everywhere := right
	everywhere.Namespace = ""
	return p.granted.Has(right) || right.Name == "" && p.granted.Has(everywhere)
}

// askEverywhere reviews rights in all namespaces at once that were reviewed in one namespace before: objects of many
// namespaces would need as many reviews.
func (p *permit) askEverywhere(ctx context.Context, open []rights.Required) error {
	for _, one := range open {
		if one.Namespace == "" || one.Name != "" {
			continue
		}
		before := p.asked[one.GroupResource]
		if before == nil {
			p.asked[one.GroupResource] = sets.New(one.Namespace)
			continue
		}
		if before.Len() != 1 || before.Has(one.Namespace) {
			continue
		}
		before.Insert(one.Namespace) // and not again
		everywhere := one.Right
		everywhere.Namespace = ""
		allowed, err := p.reviewer.Allows(ctx, everywhere)
		if err != nil {
			return err
		}
		if allowed {
			p.granted.Insert(everywhere)
		}
	}
	return nil
}

// refusal returns the error that names the missing rights, as rules to paste.
func (p *permit) refusal(missing []rights.Required) error {
	var text strings.Builder
	fmt.Fprintf(&text, "a review shows only objects that its author may read, and user %q (groups=%q) lacks "+
		"permissions to read some of them\n", p.author.Name, p.author.Groups)
	text.WriteString(rights.Rules(missing))
	if troubles := p.reviewer.Troubles(); len(troubles) > 0 {
		fmt.Fprintf(&text, "# The cluster could not evaluate everything: %s", strings.Join(troubles, "; "))
	}
	return apierrors.NewForbidden(v1alpha1.Resource("syncreviews"), p.controller.Name,
		errors.New(strings.TrimSuffix(text.String(), "\n")))
}

func (p *permit) unavailable(err error) error {
	return unavailable(fmt.Sprintf("cannot check whether user %q may see the review "+
		"of %s %s: %v; try again", p.author.Name, p.controller.Kind, p.controller.Name, err))
}
