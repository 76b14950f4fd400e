// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package replicas

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/generated/clientset/versioned"
	"github.com/metacontroller/metacontroller-apiserver/test/harness/aggregation"
)

// What is said of a controller does not depend on which replica is asked, and which one runs it.
func TestAllReplicasGiveTheSameAnswers(t *testing.T) {
	f := newFleet(t, 3)
	f.run(t, 6, 2)
	f.waitForEven(f.replicas...)
	f.eventually(func(ctx context.Context) error {
		var first *metav1.Table
		for _, replica := range f.replicas {
			table, err := f.tableOf(ctx, replica)
			if err != nil {
				return err
			}
			if len(table.Rows) != len(f.fixtures) {
				return fmt.Errorf("%s shows %d controllers", replica.name, len(table.Rows))
			}
			if first == nil {
				first = table
			}
			if diff := cmp.Diff(first.Rows, table.Rows); diff != "" {
				return fmt.Errorf("%s and %s give different answers: %s", f.replicas[0].name, replica.name, diff)
			}
		}
		return nil
	})
}

// tableOf returns what `kubectl get compositecontrollers -o wide` prints if it asks a replica, without ages.
func (f *fleet) tableOf(ctx context.Context, replica *replica) (*metav1.Table, error) {
	client, err := versioned.NewForConfig(f.configOf(replica))
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	err = client.MetacontrollerV1alpha1().RESTClient().Get().Resource("compositecontrollers").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(ctx).Into(table)
	if err != nil {
		return nil, err
	}
	age := slices.IndexFunc(table.ColumnDefinitions, func(column metav1.TableColumnDefinition) bool { return column.Name == "Age" })
	for i := range table.Rows {
		table.Rows[i].Cells = slices.Delete(table.Rows[i].Cells, age, age+1)
	}
	return table, nil
}

// configOf reaches a replica directly, as a user who may do everything.
func (f *fleet) configOf(replica *replica) *rest.Config {
	f.Helper()
	bundle := env.Kubectl(f, "get", "apiservice", aggregation.APIServiceName, "-o", "jsonpath={.spec.caBundle}")
	authority, err := base64.StdEncoding.DecodeString(bundle)
	if err != nil {
		f.Fatal(err)
	}
	config := rest.CopyConfig(env.Config)
	config.Host = fmt.Sprintf("https://127.0.0.1:%d", replica.port)
	config.ServerName = aggregation.ServiceName + "." + aggregation.Namespace + ".svc"
	config.CAFile, config.CAData = "", authority
	return config
}
