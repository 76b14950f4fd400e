// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// actingAs sets the service account shop/websites.
func actingAs(spec *v1alpha1.CompositeControllerSpec) {
	spec.ServiceAccount = &v1alpha1.ServiceAccountReference{Namespace: "shop", Name: "websites"}
}

func TestControllersWithoutAServiceAccount(t *testing.T) {
	const warningText = "spec.serviceAccount: is not set, so the controller acts as the server, which requires a ServiceAccount when spec " +
		"is changed next (--require-service-account)"
	changed := composed(child("v1", "services"))
	root := &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	loopback := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	for name, test := range map[string]struct {
		optional        bool
		author          user.Info
		subresource     string
		updated, stored runtime.Object
		refused         bool
		warnings        []string
	}{
		"a new one is refused":                         {updated: composed(), refused: true},
		"a new decorator is refused":                   {updated: decorated("pages"), refused: true},
		"a new one of a superuser is refused":          {author: root, updated: composed(), refused: true},
		"a new one is accepted if that is not asked":   {optional: true, updated: composed()},
		"one with an account is accepted":              {updated: composed(actingAs)},
		"a change of the spec is refused":              {updated: changed, stored: composed(), refused: true},
		"taking the account away is refused":           {updated: composed(), stored: composed(actingAs), refused: true},
		"giving one is accepted":                       {updated: composed(actingAs), stored: composed()},
		"the spec may stay as it is, with a warning":   {updated: composed(), stored: composed(), warnings: []string{warningText}},
		"the server itself is not warned":              {author: loopback, updated: composed(), stored: composed()},
		"nobody is warned if an account is not needed": {optional: true, updated: composed(), stored: composed()},
		"the status may be written":                    {subresource: "status", updated: changed, stored: composed()},
		"a revision has none":                          {updated: &v1alpha1.ControllerRevision{}},
	} {
		t.Run(name, func(t *testing.T) {
			author := test.author
			if author == nil {
				author = jane()
			}
			var warnings recorder
			ctx := warning.WithWarningRecorder(t.Context(), &warnings)
			err := NewServiceAccounts(!test.optional).Validate(ctx, request(author, test.subresource, test.updated, test.stored), nil)
			if test.refused != apierrors.IsInvalid(err) || !test.refused && err != nil {
				t.Errorf("error is %v", err)
			}
			if !slices.Equal(warnings, test.warnings) {
				t.Errorf("warnings are %q, want %q", warnings, test.warnings)
			}
		})
	}
}
