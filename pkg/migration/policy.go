// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

const (
	// policyName is the name of the policy that freezes the objects, and of the binding that denies writes. warningName is
	// the name of the binding that warns.
	policyName  = "metacontroller-apiserver-migration"
	warningName = policyName + "-warning"
	// manager is the field manager of the requests that the policy lets pass.
	manager = "metacontroller-apiserver-migrate"
)

// policy refuses writes of the objects unless they come from the servers themselves, or from this user with the field
// manager of this package. A deletion has no field manager, but deletions by this package have a precondition, and
// those by kubectl have none.
const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: metacontroller-apiserver-migration}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [metacontroller.k8s.io]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE, DELETE]
      resources: [compositecontrollers, decoratorcontrollers, controllerrevisions]
  validations:
  - expression: >-
      request.userInfo.username == 'system:apiserver' || request.userInfo.username == %q &&
      (request.operation == 'DELETE' ? has(request.options.preconditions) :
      has(request.options.fieldManager) && request.options.fieldManager == 'metacontroller-apiserver-migrate')
    message: >-
      metacontroller-apiserver migrate is moving these objects, so nobody else can write them for some seconds: try
      again. If this lasts, a step was interrupted: run 'metacontroller-apiserver migrate switch' or 'back' again
`

// binding is a binding of the policy. If several policies deny a request, the response names only one of them. It has
// all warnings, though, so the second binding shows that the policy is in effect.
const binding = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %s}
spec: {policyName: metacontroller-apiserver-migration, validationActions: [%s]}
`

// probe is an object that both sides would accept.
const probe = `{"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "DecoratorController",
  "metadata": {"name": "migration-probe"},
  "spec": {"resources": [{"apiVersion": "v1", "resource": "configmaps"}],
    "hooks": {"sync": {"webhook": {"url": "http://migration-probe.invalid"}}}}}`

func policies() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingadmissionpolicies"}
}

func bindings() schema.GroupVersionResource {
	return policies().GroupVersion().WithResource("validatingadmissionpolicybindings")
}

// freezer prevents others from writing the objects, by a policy.
type freezer struct{ *cluster }

// freeze rejects writes by other users, regardless of which side serves the API.
func (f *freezer) freeze(ctx context.Context) error {
	wasFrozen := f.frozen(ctx) == nil
	self, err := f.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("get the name of the user from the cluster: %w", err)
	}
	err = errors.Join(
		f.apply(ctx, policies(), policyName, fmt.Sprintf(policy, self.Status.UserInfo.Username)),
		f.apply(ctx, bindings(), policyName, fmt.Sprintf(binding, policyName, "Deny")),
	)
	if err == nil { // last, so that it implies the other one
		err = f.apply(ctx, bindings(), warningName, fmt.Sprintf(binding, warningName, "Warn"))
	}
	if err != nil {
		return fmt.Errorf("apply the ValidatingAdmissionPolicy %s and its bindings: %w", policyName, err)
	}
	if err := f.untilFrozen(ctx); err != nil || wasFrozen {
		return err
	}
	f.say("the cluster now rejects writes to the API")
	return f.propagate(ctx)
}

func (f *freezer) apply(ctx context.Context, resource schema.GroupVersionResource, name, text string) error {
	wanted := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &wanted.Object); err != nil {
		return err
	}
	_, err := f.dynamic.Resource(resource).Apply(ctx, name, wanted,
		metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// untilFrozen waits until the side that serves the API refuses writes.
func (f *freezer) untilFrozen(ctx context.Context) error {
	return f.until(ctx, "the API to reject writes", f.frozen)
}

// frozen returns nil if the side that serves the API refuses writes.
func (f *freezer) frozen(ctx context.Context) error {
	warned := &warnings{}
	err := f.own.RESTClient().Post().Resource(kinds()[1].resource).Param("dryRun", metav1.DryRunAll).
		Param("fieldManager", policyName+"-probe").WarningHandler(warned).Body([]byte(probe)).Do(ctx).Error()
	switch {
	case warned.ofPolicy:
		return nil
	case err == nil:
		return errors.New("they are accepted")
	}
	return err
}

// warnings records whether the policy has warned.
type warnings struct{ ofPolicy bool }

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.ofPolicy = w.ofPolicy || strings.Contains(text, warningName)
}

// thaw removes the policy and its bindings.
func (f *freezer) thaw(ctx context.Context) error {
	for _, of := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{{bindings(), policyName}, {bindings(), warningName}, {policies(), policyName}} {
		err := f.dynamic.Resource(of.resource).Delete(ctx, of.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the %s %s: %w", of.resource.Resource, of.name, err)
		}
	}
	err := f.until(ctx, "the API to accept writes", func(ctx context.Context) error {
		if f.frozen(ctx) == nil {
			return errors.New("they are still rejected")
		}
		return nil
	})
	if err == nil {
		f.say("the cluster accepts writes to the API again")
	}
	return err
}
