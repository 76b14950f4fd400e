// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Whoever deploys the definitions may create one again as soon as it is gone.
func TestADefinitionThatIsCreatedAgainIsNotGone(t *testing.T) {
	of := kinds()[0]
	created, err := original(of)
	if err != nil {
		t.Fatal(err)
	}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{definitions(): "CustomResourceDefinitionList"}, created.Unstructured)
	client.PrependReactor("delete", definitions().Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, nil // it is deleted, and created again at once
	})
	m := &Migration{dynamic: client, config: Config{Timeout: time.Minute}}
	if err := m.deleteDefinition(t.Context(), of, "1"); err == nil || !strings.Contains(err.Error(), "has been created again") {
		t.Errorf("error is %v", err)
	}
}

// The cluster of this test deletes a definition only when it is changed once more.
func TestAClusterThatForgetsADefinitionIsReminded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := kinds()[0]
		forgotten, err := original(of)
		if err != nil {
			t.Fatal(err)
		}
		forgotten.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
		client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{definitions(): "CustomResourceDefinitionList"}, forgotten.Unstructured)
		client.PrependReactor("update", definitions().Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
			changed := action.(clienttesting.UpdateAction).GetObject()
			return true, changed, client.Tracker().Delete(definitions(), "", of.definition())
		})
		m := &Migration{dynamic: client, config: Config{Timeout: time.Minute}}

		began := time.Now()
		if err := m.untilDeleted(t.Context(), of); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < reminderInterval || took > 2*reminderInterval {
			t.Errorf("the cluster was reminded after %s, not after %s", took, reminderInterval)
		}
	})
}
