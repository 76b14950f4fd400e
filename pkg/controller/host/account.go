// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/metacontroller/metacontroller-apiserver/pkg/apis/metacontroller/v1alpha1"
)

// Account is a ServiceAccount of the host that requests are made as. The zero value is the server
// itself.
type Account struct {
	Namespace, Name string
}

// username returns the name of the account as a user of the host; empty for the server itself.
func (a Account) username() string {
	if a == (Account{}) {
		return ""
	}
	return v1alpha1.ServiceAccountReference(a).Username()
}

// impersonate makes a request that of a user; empty is the server itself. The host adds the groups
// of a service account. A header of each request does it, and not a client of each account, so that
// all accounts share the connections of one client.
func impersonate(request *rest.Request, user string) *rest.Request {
	if user == "" {
		return request
	}
	return request.SetHeader(authenticationv1.ImpersonateUserHeader, user)
}
