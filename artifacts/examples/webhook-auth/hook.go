// The hook of Note, by https: it answers only clients that have a certificate of its authority and know the token.
package main

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Object is any object of the cluster.
type Object = map[string]any

// Request is as much of a request as the hook looks at.
type Request struct {
	Parent struct {
		Metadata struct{ Name string }
		Spec     struct{ Text string }
	}
}

func sync(request Request) (Object, error) {
	name := request.Parent.Metadata.Name
	if name == "" {
		return nil, errors.New("the request has no parent")
	}
	note := Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": Object{"name": name}, "data": Object{"text": request.Parent.Spec.Text}}
	return Object{"status": Object{}, "children": []Object{note}}, nil
}

// knows lets only those pass who send the token. The token is read each time, so that it can be replaced.
func knows(tokenFile string, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, err := os.ReadFile(tokenFile)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		want := "Bearer " + strings.TrimSpace(string(token))
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(want)) != 1 {
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next(w, r)
	}
}

func answer(w http.ResponseWriter, r *http.Request) {
	var request Request
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, "Error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	result, err := sync(request)
	if err != nil {
		http.Error(w, "Error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(result); err != nil {
		log.Print(err)
	}
}

// serve answers on an address, with the files of certificates.sh in a folder.
func serve(address, folder string) error {
	authority, err := os.ReadFile(filepath.Join(folder, "ca.crt"))
	if err != nil {
		return err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(authority) {
		return errors.New("there is no certificate in ca.crt")
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sync", knows(filepath.Join(folder, "token"), answer))
	server := &http.Server{Handler: mux, TLSConfig: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}}
	fmt.Printf("The hook listens on %s.\n", address)
	return server.ServeTLS(listener, filepath.Join(folder, "hook.crt"), filepath.Join(folder, "hook.key"))
}

func main() {
	port, address, folder := "8095", "127.0.0.1", "certificates"
	for i, argument := range os.Args[1:] {
		*[]*string{&port, &address, &folder}[i] = argument
	}
	log.Fatal(serve(net.JoinHostPort(address, port), folder))
}
