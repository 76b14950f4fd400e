// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/metacontroller/metacontroller-apiserver/pkg/rights"
)

// refusal says which rights an author lacks.
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
		fmt.Fprintf(&text, "a controller may act only as a service account that its author may impersonate, and %s may not\n", who)
	} else {
		fmt.Fprintf(&text, "a controller may do only what its author may do, and %s lacks rights that it uses\n", who)
	}
	text.WriteString(rights.Rules(r.missing))
	if r.needsDeclarations() {
		text.WriteString("# The customize hook may ask for objects of any type. Declare the types that it asks for in spec.relatedResources: then only these are required.\n")
	}
	fmt.Fprintf(&text, "# The verb %s on %s makes up for all of them.", escalate, r.kind)
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
