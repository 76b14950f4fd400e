// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	migration "github.com/metacontroller/metacontroller-apiserver/pkg/apis/migration/v1alpha1"
)

// need is what whoever migrates must be allowed to do.
type need struct {
	group, resource string
	verbs           []string
}

func (m *Migration) needs() []need {
	needs := []need{
		{definitions().Group, definitions().Resource, []string{"get", "list", "create", "update", "delete"}},
		{apiServices().Group, apiServices().Resource, []string{"get", "create", "update", "delete"}},
		{migration.GroupName, importsResource, []string{"create", "get", "list", "deletecollection"}},
		{"apps", "statefulsets", []string{"list"}},
		{"apps", "deployments", []string{"list"}},
		{"", "pods", []string{"list"}},
		{"", "services", []string{"get"}},
	}
	for _, kind := range kinds() {
		needs = append(needs, need{group, kind.resource, []string{"get", "list", "create", "update", "patch", "delete"}})
	}
	if m.config.StopOriginal {
		needs = append(needs, need{"apps", "statefulsets", []string{"patch"}}, need{"apps", "deployments", []string{"patch"}})
	}
	return needs
}

// ensureRights returns a *BlockedError if rights are missing, and says which. Without them, nothing else could be found out.
func (m *Migration) ensureRights(ctx context.Context) error {
	found := &findings{}
	if err := m.findRights(ctx, found); err != nil {
		return err
	}
	m.sayFindings(found)
	return found.blocked()
}

// findRights asks the cluster which rights are missing.
func (m *Migration) findRights(ctx context.Context, found *findings) error {
	reviews := m.kube.AuthorizationV1().SelfSubjectAccessReviews()
	for _, need := range m.needs() {
		for _, verb := range need.verbs {
			answer, err := reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Group: need.group, Version: "*", Resource: need.resource, Verb: verb},
			}}, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("ask the cluster which rights there are: %w", err)
			}
			if !answer.Status.Allowed {
				found.add(blocks, "you", "lack the right to %s %s", verb, describeResource(need))
			}
		}
	}
	return nil
}

func describeResource(of need) string {
	if of.group == "" {
		return of.resource
	}
	return of.resource + "." + of.group
}
