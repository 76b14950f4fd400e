// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// Error is why a requirement is not met.
type Error struct {
	Account v1alpha1.ServiceAccountReference
	// Missing are rights that the account does not have.
	Missing []rights.Required
	// Troubles are what the cluster could not evaluate. That may be why it refused a right.
	Troubles []string
	// Unanswered is why the cluster cannot be asked for other rights; nil if it has answered.
	Unanswered error
}

// IsForbidden reports whether the account is known to lack rights. Otherwise the cluster cannot be
// asked whether it does.
func (e *Error) IsForbidden() bool { return len(e.Missing) > 0 }

// Error returns the missing rights as rules to paste into a role.
func (e *Error) Error() string {
	if !e.IsForbidden() {
		return fmt.Sprintf("the cluster cannot be asked what service account %s/%s may read, so nothing is shown to the hooks: %v",
			e.Account.Namespace, e.Account.Name, e.Unanswered)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s; bind a role with these rules to it, and the controller goes on within a minute\n", e.lack())
	text.WriteString(strings.TrimSuffix(rights.Rules(e.Missing), "\n"))
	if len(e.Troubles) > 0 {
		fmt.Fprintf(&text, "\n# The cluster could not evaluate everything: %s", strings.Join(e.Troubles, "; "))
	}
	return text.String()
}

// Equal reports whether two errors say the same. Nil says nothing.
func (e *Error) Equal(other *Error) bool {
	if e == nil || other == nil {
		return e == other
	}
	return e.Account == other.Account && slices.Equal(e.Missing, other.Missing) && slices.Equal(e.Troubles, other.Troubles) &&
		(e.Unanswered == nil) == (other.Unanswered == nil) && (e.Unanswered == nil || e.Unanswered.Error() == other.Unanswered.Error())
}

// Summary returns the error without the rules, and says where they are.
func (e *Error) Summary() string {
	if !e.IsForbidden() {
		return e.Error()
	}
	return e.lack() + "; the condition Ready of the controller has the rules to bind to it"
}

func (e *Error) lack() string {
	return fmt.Sprintf("service account %s/%s lacks rights to read what the controller needs", e.Account.Namespace, e.Account.Name)
}

// Unwrap returns why the cluster cannot be asked.
func (e *Error) Unwrap() error { return e.Unanswered }

func (e *Error) addTrouble(trouble string) {
	if trouble != "" && !slices.Contains(e.Troubles, trouble) {
		e.Troubles = append(e.Troubles, trouble)
	}
}

// Join returns one error for all errors about an account, the same for any order; nil for none.
func Join(errs []*Error) *Error {
	if len(errs) == 0 {
		return nil
	}
	joined := &Error{Account: errs[0].Account}
	for _, err := range errs {
		joined.Missing = append(joined.Missing, err.Missing...)
		for _, trouble := range err.Troubles {
			joined.addTrouble(trouble)
		}
		joined.Unanswered = cmp.Or(joined.Unanswered, err.Unanswered)
	}
	slices.SortFunc(joined.Missing, compare)
	joined.Missing = slices.Compact(joined.Missing)
	slices.Sort(joined.Troubles)
	return joined
}

func compare(a, b rights.Required) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.Subresource, b.Subresource), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.For, b.For))
}
