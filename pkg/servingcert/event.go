// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

const (
	eventReason    = "CertificateNotKept"
	eventComponent = "metacontroller"
)

// writeEvent writes an event about the Secret, that it or the APIService cannot be kept. The log has to do if that fails,
// too.
func (p *SecretProvider) writeEvent(ctx context.Context, cause error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := metav1.NewTime(p.config.Clock.Now())
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", p.config.Name, now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Secret", Namespace: p.config.Namespace, Name: p.config.Name,
		},
		Type: corev1.EventTypeWarning, Reason: eventReason,
		Message:             "The serving certificate cannot be kept: " + cause.Error(),
		Source:              corev1.EventSource{Component: eventComponent},
		ReportingController: eventComponent,
		FirstTimestamp:      now, LastTimestamp: now, Count: 1,
	}
	if _, err := p.config.Kube.CoreV1().Events(p.config.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to write an event about the serving certificate", "err", err)
	}
}
