// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package metacontroller

import "time"

// Hook is a place where the controller asks a webhook what to do.
type Hook struct {
	Version *HookVersion
	Webhook *Webhook
}

// HookVersion is a version of the protocol spoken with a hook.
type HookVersion string

const (
	// HookVersionV1 is the protocol of all Metacontroller releases.
	HookVersionV1 HookVersion = "v1"
	// HookVersionV2 keys objects by namespace and name, and decodes answers strictly.
	HookVersionV2 HookVersion = "v2"
)

// Webhook is an HTTP endpoint that is sent a POST request with a JSON body and answers with status
// 200 and a JSON body. It is given either by url, or by service and path.
type Webhook struct {
	URL                    *string
	Timeout                *Duration
	Etag                   *WebhookEtagConfig
	Path                   *string
	Service                *ServiceReference
	ResponseUnmarshallMode *ResponseUnmarshallMode
	CABundle               *CABundle
	ClientTLS              *ClientTLS
	Authorization          *Authorization
	BasicAuth              *BasicAuth
}

// Duration is a length of time written as a number with a unit (ns, us, ms, s, m, h), or several of
// them in a row, for instance "300ms", "10s" or "1m30s".
//
// It is kept as text so that an object with an invalid one, stored before it was validated, can
// still be read, listed and repaired.
type Duration string

// Parse returns the length of time, or an error that says why the text is none.
func (d Duration) Parse() (time.Duration, error) {
	return time.ParseDuration(string(d))
}

// ServiceReference names a Service of the host cluster.
type ServiceReference struct {
	Name      string
	Namespace string
	Port      *int32
	Protocol  *string
}

// WebhookEtagConfig says whether answers are remembered by their ETag. An answer that came with an
// ETag header is kept; the next request for the same parent carries it in If-None-Match; if the
// webhook answers 304 or 412, the kept answer is used.
type WebhookEtagConfig struct {
	Enabled             *bool
	CacheTimeoutSeconds *int32
	CacheCleanupSeconds *int32
}

// ResponseUnmarshallMode is how strictly the answer of a webhook is decoded.
type ResponseUnmarshallMode string

const (
	// ResponseUnmarshallModeLoose ignores unknown and repeated fields.
	ResponseUnmarshallModeLoose ResponseUnmarshallMode = "loose"
	// ResponseUnmarshallModeStrict makes unknown and repeated fields errors.
	ResponseUnmarshallModeStrict ResponseUnmarshallMode = "strict"
)
