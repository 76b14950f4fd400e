// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/metacontroller/metacontroller-apiserver/test/harness/manual"
)

// documented are the manifests of docs/tenancy.md for a team, shop, whose Websites are of the group
// example.com.
type documented struct{ forAllTeams, forTheTeam, forItsAccount, controller string }

func readDocumented(t *testing.T) documented {
	t.Helper()
	page, err := manual.Read("docs/tenancy.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, block := range page.Blocks {
		if block.RunBy == "test/integration/tenancy/teams_test.go" {
			blocks = append(blocks, block.Text)
		}
	}
	if len(blocks) != 4 {
		t.Fatalf("docs/tenancy.md has %d manifests for teams, want 4", len(blocks))
	}
	return documented{blocks[0], blocks[1], blocks[2], blocks[3]}
}

// found founds teams as the documentation says: each with a namespace of its name and the account
// "websites". It waits until their rights are in effect.
func found(t *testing.T, group string, teams ...string) documented {
	t.Helper()
	manifests := readDocumented(t)
	env.Apply(t, manifests.forAllTeams)
	for _, team := range teams {
		env.Kubectl(t, "create", "namespace", team)
		env.Apply(t, strings.NewReplacer("shop", team, "example.com", group).Replace(manifests.forTheTeam+"---\n"+manifests.forItsAccount))
		waitUntilMay(t, team+"-team", authorizationv1.ResourceAttributes{Group: "metacontroller.k8s.io", Resource: "compositecontrollers", Verb: "deletecollection"})
		waitUntilMay(t, team+"-team", authorizationv1.ResourceAttributes{Namespace: team, Resource: "serviceaccounts", Name: "websites", Verb: "impersonate"})
	}
	return manifests
}

// waitUntilMay waits until a group has a right.
func waitUntilMay(t *testing.T, group string, right authorizationv1.ResourceAttributes) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "anybody", Groups: []string{group}, ResourceAttributes: &right}}
	env.Eventually(t, func(ctx context.Context) error {
		answer, err := env.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err == nil && !answer.Status.Allowed {
			err = fmt.Errorf("the cluster does not know yet that %s may %v", group, right)
		}
		return err
	})
}
