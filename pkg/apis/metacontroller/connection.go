// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import "github.com/metacontroller/metacontroller-apiserver/pkg/hookaddress"

// Address returns the fields of a webhook that give its address.
func (w *Webhook) Address() hookaddress.Address {
	return hookaddress.Address{URL: w.URL, Service: (*hookaddress.Service)(w.Service), Path: w.Path}
}
