// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// requestTimeout bounds each request to the host, and what the start waits for it.
const requestTimeout = 5 * time.Second

// secretCheckInterval is the interval at which a replica checks whether time alone requires a change. The check asks
// the host nothing.
const secretCheckInterval = 10 * time.Minute

// Bounds of what one replica does when the host fails, or when something else writes the same objects.
const (
	minRetryDelay = 50 * time.Millisecond
	maxRetryDelay = 10 * time.Second
	writeBurst    = 20
	writePause    = 10 * time.Second
)

// SecretConfig is the configuration of a SecretProvider.
type SecretConfig struct {
	// Namespace and Name identify the Secret.
	Namespace, Name string
	// APIService is the name of the APIService whose caBundle the provider maintains if it refers to Service in
	// Namespace.
	APIService, Service string
	// DNSNames and IPs are the names and addresses that clients reach the server by.
	DNSNames []string
	IPs      []net.IP
	// Kube and Dynamic are clients of the host.
	Kube    kubernetes.Interface
	Dynamic dynamic.Interface
	// Clock is the clock to renew by; nil means the real one.
	Clock clock.WithTicker
}

// SecretProvider provides a serving certificate that is kept in a Secret of the host, where replicas share it. It
// maintains the caBundle of the APIService, which makes the host trust the served certificate. The API server runs it,
// gets the certificate from it, and listens for new ones.
type SecretProvider struct {
	config SecretConfig
	who    subjects
	writes flowcontrol.PassiveRateLimiter

	mu            sync.RWMutex
	held          *content
	isProvisional bool
	problem       error // of the last try to agree with the Secret
	pausedUntil   time.Time
	listeners     []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CertKeyContentProvider = &SecretProvider{}
	_ dynamiccertificates.ControllerRunner       = &SecretProvider{}
)

// NewSecretProvider returns a provider with a certificate that no client trusts yet. The provider contacts the host
// only when it runs.
func NewSecretProvider(config SecretConfig) (*SecretProvider, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	p := &SecretProvider{
		config: config, who: subjects{dnsNames: config.DNSNames, ips: config.IPs}, isProvisional: true,
		problem: errors.New("it has not been read yet"),
		writes: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/writePause.Seconds()), writeBurst,
			config.Clock),
	}
	var err error
	p.held, _, err = situation{who: p.who, now: config.Clock.Now()}.next()
	return p, err
}

// RunOnce makes the Secret, the APIService and the served certificate agree. If the host is unreachable, the server
// keeps serving the previous certificate.
func (p *SecretProvider) RunOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := p.agree(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problem = err
	return err
}

// Run keeps the certificate valid and the host's trust in it, until the context ends. It runs one worker and ignores
// the given number.
func (p *SecretProvider) Run(ctx context.Context, _ int) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetryDelay,
		maxRetryDelay))
	enqueue := func() { queue.Add(p.config.Name) }
	var running sync.WaitGroup
	defer running.Wait()
	defer queue.ShutDown()
	defer p.watch(ctx, enqueue)()
	running.Go(func() {
		ticker := p.config.Clock.NewTicker(secretCheckInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				queue.ShutDown()
				return
			case <-ticker.C():
				if p.isDue() {
					enqueue()
				}
			}
		}
	})
	enqueue()
	logged := ""
	for {
		key, isOver := queue.Get()
		if isOver {
			return
		}
		switch err := p.RunOnce(ctx); {
		case err == nil, ctx.Err() != nil:
			logged = ""
			queue.Forget(key)
		default:
			// It is not a failure if another replica wrote first. A failure that persists is logged once.
			if err.Error() != logged && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
				klog.FromContext(ctx).Error(err, "Failed to maintain the serving certificate", "secret", p.secretRef())
				p.writeEvent(ctx, err)
				logged = err.Error()
			}
			queue.AddRateLimited(key)
		}
		queue.Done(key)
	}
}

// watch enqueues when the Secret or the APIService changes. It returns the function that stops watching and
// waits for the end of that.
func (p *SecretProvider) watch(ctx context.Context, enqueue func()) (stop func()) {
	changed := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { enqueue() },
		UpdateFunc: func(any, any) { enqueue() },
		DeleteFunc: func(any) { enqueue() },
	}
	only := func(name string) func(*metav1.ListOptions) {
		return func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	secrets := informers.NewSharedInformerFactoryWithOptions(p.config.Kube, 0,
		informers.WithNamespace(p.config.Namespace), informers.WithTweakListOptions(only(p.config.Name)))
	services := dynamicinformer.NewFilteredDynamicSharedInformerFactory(
		p.config.Dynamic, 0, metav1.NamespaceAll, only(p.config.APIService))
	for _, informer := range []cache.SharedIndexInformer{
		secrets.Core().V1().Secrets().Informer(),
		services.ForResource(apiServicesResource()).Informer(),
	} {
		if _, err := informer.AddEventHandler(changed); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Failed to watch the Secret of the serving certificate")
		}
	}
	secrets.StartWithContext(ctx)
	services.Start(ctx.Done())
	return func() {
		secrets.Shutdown()
		services.Shutdown()
	}
}

// agree reads the Secret and the APIService, and corrects them: first the Secret, so that replicas agree, then the
// caBundle, and finally the served certificate.
func (p *SecretProvider) agree(ctx context.Context) error {
	secret, stored, err := p.readSecret(ctx)
	if err != nil {
		return err
	}
	service, err := p.readAPIService(ctx, p.config.APIService)
	if err != nil {
		return err
	}
	p.mu.RLock()
	state := situation{
		stored: stored, held: p.held, isProvisional: p.isProvisional, who: p.who, now: p.config.Clock.Now(),
	}
	p.mu.RUnlock()
	next, reason, err := state.next()
	if err != nil {
		return err
	}
	if reason != "" {
		if err := p.writeSecret(ctx, secret, next); err != nil {
			return err
		}
		klog.FromContext(ctx).Info("Wrote the Secret of the serving certificate", "secret", p.secretRef(), "reason", reason,
			"notAfter", next.serving.cert.NotAfter, "authorityNotAfter", next.authority.cert.NotAfter)
	}
	err = p.publish(ctx, service, next.authorities())
	if err == nil || !state.canWait() {
		p.hold(next)
	}
	return err
}

// isDue reports whether time alone asks for a change.
func (p *SecretProvider) isDue() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, reason, err := situation{stored: p.held, held: p.held, isProvisional: p.isProvisional, who: p.who,
		now: p.config.Clock.Now()}.next()
	return reason != "" || err != nil
}

// hold serves a content from now on.
func (p *SecretProvider) hold(served *content) {
	p.mu.Lock()
	isNew := !served.equals(p.held)
	p.held, p.isProvisional = served, false
	listeners := p.listeners
	p.mu.Unlock()
	if !isNew {
		return
	}
	for _, listener := range listeners {
		listener.Enqueue()
	}
}

// readSecret returns the Secret and its content; nil and nil if there is none, and only a content of nil if the
// Secret cannot be used.
func (p *SecretProvider) readSecret(ctx context.Context) (*corev1.Secret, *content, error) {
	secret, err := p.config.Kube.CoreV1().Secrets(p.config.Namespace).Get(ctx, p.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading Secret %s: %w", p.secretRef(), err)
	}
	stored, err := parseContent(secret)
	if err != nil {
		klog.FromContext(ctx).Error(err,
			"Replacing the Secret of the serving certificate, because it cannot be used", "secret",
			p.secretRef())
	}
	return secret, stored, nil
}

// writeSecret writes the content. It fails with a conflict if another replica was first, whose content then
// counts.
func (p *SecretProvider) writeSecret(ctx context.Context, secret *corev1.Secret, next *content) error {
	if !p.mayWrite() {
		return fmt.Errorf("the Secret %s keeps changing: find the other writer in its metadata.managedFields", p.secretRef())
	}
	client := p.config.Kube.CoreV1().Secrets(p.config.Namespace)
	var err error
	if secret == nil {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: p.config.Name}, Type: corev1.SecretTypeTLS}
		if err = next.fill(secret); err == nil {
			_, err = client.Create(ctx, secret, metav1.CreateOptions{})
		}
	} else {
		secret = secret.DeepCopy()
		if err = next.fill(secret); err == nil {
			_, err = client.Update(ctx, secret, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s: %w", p.secretRef(), err)
	}
	p.countWrite()
	return nil
}

// mayWrite reports whether the recent writes are few enough. Many mean that something else undoes them.
func (p *SecretProvider) mayWrite() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !p.config.Clock.Now().Before(p.pausedUntil)
}

// countWrite counts a write that has succeeded. A failed one says nothing about other writers.
func (p *SecretProvider) countWrite() {
	if p.writes.TryAccept() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pausedUntil = p.config.Clock.Now().Add(writePause)
}

func (p *SecretProvider) secretRef() klog.ObjectRef {
	return klog.KRef(p.config.Namespace, p.config.Name)
}

// Check returns why the Secret and the APIService do not agree with the served certificate; nil if they do.
func (p *SecretProvider) Check() error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.isProvisional {
		return fmt.Errorf("the server does not serve the certificate of Secret %s yet: %w", p.secretRef(), p.problem)
	}
	return nil
}

// AuthorityEnd returns when the authority that signs serving certificates expires.
func (p *SecretProvider) AuthorityEnd() time.Time {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.held.authority.cert.NotAfter
}

// Name identifies the provider in logs.
func (p *SecretProvider) Name() string {
	return "serving certificate of Secret " + p.secretRef().String()
}

// CurrentCertKeyContent returns the certificate and its private key in PEM format.
func (p *SecretProvider) CurrentCertKeyContent() (certPEM, keyPEM []byte) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.held.serving.certPEM, p.held.serving.keyPEM
}

// AddListener adds a listener that is called after each change of the certificate.
func (p *SecretProvider) AddListener(listener dynamiccertificates.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, listener)
}

const (
	eventReason    = "CertificateNotKept"
	eventComponent = "metacontroller"
)

// writeEvent writes an event about the Secret: the server cannot update it or the APIService. If this also fails, the
// error is only in the log.
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
		Message:             "The server cannot maintain the serving certificate: " + cause.Error(),
		Source:              corev1.EventSource{Component: eventComponent},
		ReportingController: eventComponent,
		FirstTimestamp:      now, LastTimestamp: now, Count: 1,
	}
	if _, err := p.config.Kube.CoreV1().Events(p.config.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		klog.FromContext(ctx).V(2).Info("Failed to write an event about the serving certificate", "err", err)
	}
}
