// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package object

// IsRemoved reports whether the host removes an object that it stored in this form, because only
// the finalizer kept it.
func (o *Object) IsRemoved() bool {
	grace := o.DeletionGracePeriodSeconds
	return o.DeletionTimestamp != nil && len(o.Finalizers) == 0 && (grace == nil || *grace == 0)
}
