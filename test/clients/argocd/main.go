// Copyright The metacontroller-apiserver Authors.
// SPDX-License-Identifier: Apache-2.0

// Command argocd does for tests what the application controller of Argo CD does, with its engine. It is a module of its
// own, because the engine needs an earlier Kubernetes than this repository. It serves POST requests on loopback, prints
// its URL, and ends with its standard input.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the kubeconfig of the cluster")
	health := flag.String("health", "", "the URL that answers the health of the CompositeController that it is sent")
	flag.Parse()
	klog.LogToStderr(false) // the libraries log what they try again
	klog.SetOutput(io.Discard)
	if err := serve(*kubeconfig, *health); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(kubeconfig, health string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	argo, err := newArgo(config, healthOf(health), logr.Discard())
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.Handle("POST /sync", answering(argo.sync))
	routes.Handle("POST /differences", answering(argo.differences))
	routes.Handle("POST /delete", answering(argo.delete))
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = listener.Close()
	}()
	fmt.Println("http://" + listener.Addr().String())
	_ = http.Serve(listener, routes) // until the listener is closed
	return nil
}

// application is an Application of Argo CD, and what is to be done with it.
type application struct {
	// Name marks its objects. Namespace is that of objects that name none.
	Name, Namespace string
	// Manifests are what Git has, as JSON.
	Manifests []json.RawMessage
	// ServerSide applies, and compares, on the server.
	ServerSide bool
	// Comparison is empty for the three-way one, or structured, or server.
	Comparison string
	// Policy is the propagation policy of a deletion.
	Policy string
}

// answering serves a function that returns texts about the objects of an application.
func answering(do func(context.Context, *application) ([]string, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var about application
		err := json.NewDecoder(r.Body).Decode(&about)
		var texts []string
		if err == nil {
			texts, err = do(r.Context(), &about)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(texts)
	})
}
