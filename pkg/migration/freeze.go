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

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

const (
	// policyName is the name of the policy that freezes the objects, and of its binding.
	policyName = "metacontroller-apiserver-migration"
	// countsAnnotation on the policy says which side has the objects that count.
	countsAnnotation = group + "/counts"
	// manager is the field manager of the requests that the policy lets pass.
	manager = "metacontroller-apiserver-migrate"
	// settlePeriod is how long a change of the policy may take until all kube-apiservers know it.
	settlePeriod = 2 * time.Second

	frozenMessage = "metacontroller-apiserver migrate is moving these objects, so nobody else can write them for some " +
		"seconds: try again. If this lasts, a step was interrupted: do 'metacontroller-apiserver migrate switch' or " +
		"'back' again"
)

// policy refuses writes to the objects by everybody but this user with the field manager of this package, and the
// servers themselves.
func policy(user string, counts side) *admissionv1.ValidatingAdmissionPolicy {
	var resources []string
	for _, kind := range kinds() {
		resources = append(resources, kind.resource)
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: policyName, Annotations: map[string]string{countsAnnotation: string(counts)}},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
					Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources},
				},
			}}},
			Validations: []admissionv1.Validation{{
				// A deletion has no field manager. That of this package has a precondition, and kubectl's has none.
				Expression: fmt.Sprintf("request.userInfo.username == 'system:apiserver' || request.userInfo.username == %s && "+
					"(request.operation == 'DELETE' ? has(request.options.preconditions) : has(request.options.fieldManager) && "+
					"request.options.fieldManager == '%s')", strconv.Quote(user), manager),
				Message: frozenMessage,
			}},
		},
	}
}

func (m *Migration) getPolicy(ctx context.Context) (*admissionv1.ValidatingAdmissionPolicy, error) {
	found, err := m.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, policyName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the ValidatingAdmissionPolicy %s: %w", policyName, err)
	}
	return found, nil
}

// freeze has the objects written by nobody else, on whichever side serves the API. It notes which side counts, unless
// an interrupted step has done so.
func (m *Migration) freeze(ctx context.Context, counts side) error {
	self, err := m.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
		metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask the cluster for the name of the user: %w", err)
	}
	wanted := policy(self.Status.UserInfo.Username, counts)
	policies := m.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	_, err = policies.Create(ctx, wanted, metav1.CreateOptions{})
	isNew := err == nil
	if apierrors.IsAlreadyExists(err) { // of an interrupted step, maybe of another user
		err = m.changePolicy(ctx, func(of *admissionv1.ValidatingAdmissionPolicy) { of.Spec = wanted.Spec })
	}
	if err != nil {
		return fmt.Errorf("create the ValidatingAdmissionPolicy %s: %w", policyName, err)
	}
	_, err = m.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(ctx,
		&admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: policyName},
			Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policyName,
				ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		}, metav1.CreateOptions{})
	isBound := apierrors.IsAlreadyExists(err)
	if err != nil && !isBound {
		return fmt.Errorf("create the ValidatingAdmissionPolicyBinding %s: %w", policyName, err)
	}
	if err := m.untilFrozen(ctx); err != nil {
		return err
	}
	if !isNew && isBound {
		return nil
	}
	m.say("writes to the API are refused from here on")
	return pause(ctx, settlePeriod)
}

// untilFrozen waits until who serves the API refuses writes.
func (m *Migration) untilFrozen(ctx context.Context) error {
	return m.until(ctx, "that writes to the API are refused", func(ctx context.Context) error {
		err := m.probe(ctx)
		switch {
		case err == nil:
			return errors.New("they are not yet")
		case !strings.Contains(err.Error(), policyName):
			return err
		}
		return nil
	})
}

// probe returns the error of a write that is not stored.
func (m *Migration) probe(ctx context.Context) error {
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/" + servedVersion, "kind": "DecoratorController", "metadata": map[string]any{"name": "migration-probe"},
		"spec": map[string]any{"resources": []any{map[string]any{"apiVersion": "v1", "resource": "configmaps"}},
			"hooks": map[string]any{
				"sync": map[string]any{"webhook": map[string]any{"url": "http://migration-probe.invalid"}},
			}},
	}}
	_, err := m.dynamic.Resource(kinds()[1].in(servedVersion)).Create(ctx, probe,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: policyName + "-probe"})
	return err
}

func (m *Migration) changePolicy(ctx context.Context, change func(*admissionv1.ValidatingAdmissionPolicy)) error {
	policies := m.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		found, err := policies.Get(ctx, policyName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(found)
		_, err = policies.Update(ctx, found, metav1.UpdateOptions{})
		return err
	})
}

// setCounts notes which side has the objects that count.
func (m *Migration) setCounts(ctx context.Context, counts side) error {
	err := m.changePolicy(ctx, func(of *admissionv1.ValidatingAdmissionPolicy) {
		of.Annotations = orEmpty(of.Annotations)
		of.Annotations[countsAnnotation] = string(counts)
	})
	if err != nil {
		return fmt.Errorf("note in the ValidatingAdmissionPolicy %s which side counts: %w", policyName, err)
	}
	return nil
}

// thaw removes the policy. The policy goes last, because it says which side counts.
func (m *Migration) thaw(ctx context.Context) error {
	if err := pause(ctx, settlePeriod); err != nil { // until all kube-apiservers know where the API leads to
		return err
	}
	admission := m.kube.AdmissionregistrationV1()
	err := admission.ValidatingAdmissionPolicyBindings().Delete(ctx, policyName, metav1.DeleteOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		err = admission.ValidatingAdmissionPolicies().Delete(ctx, policyName, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the ValidatingAdmissionPolicy %s and its binding: %w", policyName, err)
	}
	err = m.until(ctx, "that writes to the API are accepted", func(ctx context.Context) error {
		if err := m.probe(ctx); err != nil && strings.Contains(err.Error(), policyName) {
			return err
		}
		return nil
	})
	if err == nil {
		m.say("writes to the API are accepted again")
	}
	return err
}
