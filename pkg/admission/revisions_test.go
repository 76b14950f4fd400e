// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/ptr"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

func revisionsPlugin(t *testing.T, host *fakeHost) *Revisions {
	t.Helper()
	made, err := NewRevisions(nil)
	if err != nil {
		t.Fatal(err)
	}
	NewInitializer(host.asHost()).Initialize(made)
	return made.(*Revisions)
}

func revision(changes ...func(*v1alpha1.ControllerRevision)) *v1alpha1.ControllerRevision {
	made := &v1alpha1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "now", Namespace: "shops", ResourceVersion: "7", Labels: map[string]string{"app": "shop"},
			Annotations: map[string]string{"metacontroller.k8s.io/field-paths": `["spec"]`}, Finalizers: []string{"orphan", "foregroundDeletion"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Web", Name: "shop", UID: "u", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}},
		},
		ParentPatch: runtime.RawExtension{Raw: []byte(`{"spec":{}}`)},
		Children:    []v1alpha1.ControllerRevisionChildren{{Kind: "Pod", Names: []string{"a"}}},
	}
	for _, change := range changes {
		change(made)
	}
	return made
}

func writeOf(author user.Info, subresource string, updated, stored *v1alpha1.ControllerRevision) admission.Attributes {
	resource := v1alpha1.SchemeGroupVersion.WithResource("controllerrevisions")
	if stored == nil {
		return admission.NewAttributesRecord(updated, nil, schema.GroupVersionKind{}, "shops", "now", resource, subresource, admission.Create, &metav1.CreateOptions{}, false, author)
	}
	return admission.NewAttributesRecord(updated, stored, schema.GroupVersionKind{}, "shops", "now", resource, subresource, admission.Update, &metav1.UpdateOptions{}, false, author)
}

func TestWhoMayCreateARevision(t *testing.T) {
	for name, test := range map[string]struct {
		author  user.Info
		rules   []string
		reviews int
		refused bool
	}{
		"the server itself":                       {author: &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.AllAuthenticated, user.SystemPrivilegedGroup}}},
		"its name alone makes nobody the server":  {author: &user.DefaultInfo{Name: user.APIServerUser}, reviews: 1, refused: true},
		"a cluster administrator":                 {author: jane(), rules: []string{"*"}, reviews: 1},
		"who may restore":                         {author: jane(), rules: []string{"restore controllerrevisions.metacontroller.k8s.io shops/now"}, reviews: 1},
		"who may restore in another namespace":    {author: jane(), rules: []string{"restore controllerrevisions.metacontroller.k8s.io cafes/now"}, reviews: 1, refused: true},
		"who may create revisions and no more":    {author: jane(), rules: []string{"create controllerrevisions.metacontroller.k8s.io shops/now"}, reviews: 1, refused: true},
		"who may restore the cluster's revisions": {author: jane(), rules: []string{"restore controllerrevisions.apps shops/now"}, reviews: 1, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			host := &fakeHost{rules: test.rules}
			err := revisionsPlugin(t, host).Validate(t.Context(), writeOf(test.author, "", revision(), nil), nil)
			if test.refused != apierrors.IsForbidden(err) || !test.refused && err != nil {
				t.Errorf("error is %v", err)
			}
			if asked := host.questions(); len(asked) != test.reviews {
				t.Errorf("%d reviews, want %d: %q", len(asked), test.reviews, asked)
			}
		})
	}
}

func TestARefusedRevisionIsExplained(t *testing.T) {
	err := revisionsPlugin(t, &fakeHost{}).Validate(t.Context(), writeOf(jane(), "", revision(), nil), nil)
	want := `controllerrevisions.metacontroller.k8s.io "now" is forbidden: ControllerRevisions are the memory of controllers, and only the server writes them; ` +
		`to restore a backup, user "jane" needs the verb restore on controllerrevisions.metacontroller.k8s.io in the namespace "shops"`
	if err == nil || err.Error() != want {
		t.Errorf("error is\n%v\nwant\n%s", err, want)
	}
}

func TestARevisionIsNotWrittenIfTheHostCannotBeAsked(t *testing.T) {
	err := revisionsPlugin(t, &fakeHost{err: errGone}).Validate(t.Context(), writeOf(jane(), "", revision(), nil), nil)
	_, triesAgain := apierrors.SuggestsClientDelay(err)
	if !apierrors.IsServiceUnavailable(err) || !triesAgain || !strings.Contains(err.Error(), errGone.Error()) {
		t.Errorf("error is %v, want status %d", err, http.StatusServiceUnavailable)
	}
}

func TestWhichUpdatesOfARevisionNeedTheRightToRestore(t *testing.T) {
	type change = func(*v1alpha1.ControllerRevision)
	for name, test := range map[string]struct {
		change  change
		refused bool
	}{
		"none":                          {func(*v1alpha1.ControllerRevision) {}, false},
		"a finalizer that goes":         {func(r *v1alpha1.ControllerRevision) { r.Finalizers = r.Finalizers[:1] }, false},
		"an owner that goes":            {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences = nil }, false},
		"an owner that no longer waits": {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences[0].BlockOwnerDeletion = ptr.To(false) }, false},
		"who manages what": {func(r *v1alpha1.ControllerRevision) {
			r.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "gc"}}
		}, false},
		"another resource version":                   {func(r *v1alpha1.ControllerRevision) { r.ResourceVersion = "8" }, false},
		"the fields of the parent":                   {func(r *v1alpha1.ControllerRevision) { r.ParentPatch.Raw = []byte(`{}`) }, true},
		"the children":                               {func(r *v1alpha1.ControllerRevision) { r.Children = nil }, true},
		"a label, by which a parent may adopt it":    {func(r *v1alpha1.ControllerRevision) { r.Labels = map[string]string{"app": "cafe"} }, true},
		"an annotation, such as the recorded paths":  {func(r *v1alpha1.ControllerRevision) { r.Annotations = nil }, true},
		"another owner":                              {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences[0].UID = "v" }, true},
		"an owner that becomes no controller":        {func(r *v1alpha1.ControllerRevision) { r.OwnerReferences[0].Controller = nil }, true},
		"a new finalizer":                            {func(r *v1alpha1.ControllerRevision) { r.Finalizers = append(r.Finalizers, "stuck") }, true},
		"a finalizer that goes, with something else": {func(r *v1alpha1.ControllerRevision) { r.Finalizers, r.Children = nil, nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, subresource := range []string{"", "status"} {
				err := revisionsPlugin(t, &fakeHost{}).Validate(t.Context(), writeOf(jane(), subresource, revision(test.change), revision()), nil)
				if test.refused != apierrors.IsForbidden(err) || !test.refused && err != nil {
					t.Errorf("error is %v", err)
				}
				if err := revisionsPlugin(t, &fakeHost{rules: []string{"restore controllerrevisions.metacontroller.k8s.io shops/now"}}).Validate(t.Context(), writeOf(jane(), subresource, revision(test.change), revision()), nil); err != nil {
					t.Errorf("who may restore is refused: %v", err)
				}
			}
		})
	}
}

func TestThePluginLeavesOtherKindsAlone(t *testing.T) {
	host := &fakeHost{}
	if err := revisionsPlugin(t, host).Validate(t.Context(), request(jane(), "", composed(), nil), nil); err != nil || len(host.questions()) > 0 {
		t.Errorf("error is %v after %q", err, host.questions())
	}
}
