// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

const (
	// policyName is the name of the policy that freezes the objects, and of the binding that denies. The one that warns
	// is called warningName.
	policyName  = "metacontroller-apiserver-migration"
	warningName = policyName + "-warning"
	// countsAnnotation on the policy says which side has the objects that count.
	countsAnnotation = group + "/counts"
	// manager is the field manager of the requests that the policy lets pass.
	manager = "metacontroller-apiserver-migrate"
	// settlePeriod is how long a change of the policy or of the APIService may take until all kube-apiservers know it.
	settlePeriod = 2 * time.Second
)

// policy refuses writes to the objects by everybody but the servers themselves, and a user with the field manager of
// this package. A deletion has no field manager: that of this package has a precondition, and kubectl's has none.
const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: metacontroller-apiserver-migration
  annotations: {metacontroller.k8s.io/counts: %s}
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
      request.userInfo.username == 'system:apiserver' || request.userInfo.username == %s &&
      (request.operation == 'DELETE' ? has(request.options.preconditions) :
      has(request.options.fieldManager) && request.options.fieldManager == 'metacontroller-apiserver-migrate')
    message: >-
      metacontroller-apiserver migrate is moving these objects, so nobody else can write them for some seconds: try
      again. If this lasts, a step was interrupted: do 'metacontroller-apiserver migrate switch' or 'back' again
`

// binding is a binding of the policy. Of the policies that deny a request, an answer names only one, which may be
// another than ours. It has all warnings, so the second binding shows that the policy is known.
const binding = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %s}
spec: {policyName: metacontroller-apiserver-migration, validationActions: [%s]}
`

// probe is an object that both sides would take.
const probe = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: migration-probe}
spec:
  resources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {webhook: {url: "http://migration-probe.invalid"}}}
`

func policies() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingadmissionpolicies"}
}

func bindings() schema.GroupVersionResource {
	return policies().GroupVersion().WithResource("validatingadmissionpolicybindings")
}

func (m *Migration) getPolicy(ctx context.Context) (*unstructured.Unstructured, error) {
	found, err := m.dynamic.Resource(policies()).Get(ctx, policyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ValidatingAdmissionPolicy %s: %w", policyName, err)
	}
	return found, nil
}

// setCounts has the policy say which side has the objects that count. It makes the policy if there is none.
func (m *Migration) setCounts(ctx context.Context, counts side) error {
	self, err := m.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask the cluster for the name of the user: %w", err)
	}
	err = m.apply(ctx, policies(), policyName, fmt.Sprintf(policy, counts, strconv.Quote(self.Status.UserInfo.Username)))
	if err == nil {
		err = m.apply(ctx, bindings(), policyName, fmt.Sprintf(binding, policyName, "Deny"))
	}
	if err == nil { // after the other one, so that who knows it knows both
		err = m.apply(ctx, bindings(), warningName, fmt.Sprintf(binding, warningName, "Warn"))
	}
	if err != nil {
		return fmt.Errorf("apply the ValidatingAdmissionPolicy %s and its bindings: %w", policyName, err)
	}
	return nil
}

func (m *Migration) apply(ctx context.Context, resource schema.GroupVersionResource, name, text string) error {
	wanted := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &wanted.Object); err != nil {
		return err
	}
	_, err := m.dynamic.Resource(resource).Apply(ctx, name, wanted,
		metav1.ApplyOptions{FieldManager: manager, Force: true})
	return err
}

// freeze has the objects written by nobody else, on whichever side serves the API, and notes which side counts.
func (m *Migration) freeze(ctx context.Context, counts side) error {
	wasFrozen := m.frozen(ctx) == nil
	if err := m.setCounts(ctx, counts); err != nil {
		return err
	}
	if err := m.untilFrozen(ctx); err != nil || wasFrozen {
		return err
	}
	m.say("writes to the API are refused from here on")
	return pause(ctx, settlePeriod)
}

// untilFrozen waits until who serves the API refuses writes.
func (m *Migration) untilFrozen(ctx context.Context) error {
	return m.until(ctx, "that writes to the API are refused", m.frozen)
}

// frozen returns nil if who serves the API refuses writes.
func (m *Migration) frozen(ctx context.Context) error {
	written := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(probe), &written.Object); err != nil {
		return err
	}
	warned := &warnings{}
	host := rest.CopyConfig(m.config.Host)
	host.WarningHandler = warned
	client, err := dynamic.NewForConfig(host)
	if err != nil {
		return err
	}
	_, err = client.Resource(kinds()[1].in(servedVersion)).Create(ctx, written,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: policyName + "-probe"})
	switch {
	case warned.ofPolicy:
		return nil
	case err == nil:
		return errors.New("they are accepted")
	}
	return err
}

// warnings notes whether the policy has warned.
type warnings struct{ ofPolicy bool }

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.ofPolicy = w.ofPolicy || strings.Contains(text, warningName)
}

// thaw removes the policy. The policy goes last, because it says which side counts.
func (m *Migration) thaw(ctx context.Context) error {
	for _, of := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{{bindings(), policyName}, {bindings(), warningName}, {policies(), policyName}} {
		err := m.dynamic.Resource(of.resource).Delete(ctx, of.name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the %s %s: %w", of.resource.Resource, of.name, err)
		}
	}
	err := m.until(ctx, "that writes to the API are accepted", func(ctx context.Context) error {
		if m.frozen(ctx) == nil {
			return errors.New("they are still refused")
		}
		return nil
	})
	if err == nil {
		m.say("writes to the API are accepted again")
	}
	return err
}
