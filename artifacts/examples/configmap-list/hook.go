// The hooks of ConfigMapList: the names of the ConfigMaps of another namespace that have some labels, in a ConfigMap.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
)

// Object is any object of the cluster.
type Object = map[string]any

// Request is as much of a request as the hooks look at.
type Request struct {
	Parent struct {
		Metadata struct{ Name string }
		Spec     struct {
			SourceNamespace string
			SourceLabels    map[string]string
		}
	}
	Related struct {
		// In version v2 the keys are "namespace/name".
		ConfigMaps map[string]Object `json:"ConfigMap.v1"`
	}
}

func customize(request Request) (Object, error) {
	spec := request.Parent.Spec
	if spec.SourceNamespace == "" {
		return nil, errors.New("the parent has no sourceNamespace")
	}
	return Object{"relatedResources": []Object{{
		"apiVersion":    "v1",
		"resource":      "configmaps",
		"namespace":     spec.SourceNamespace,
		"labelSelector": Object{"matchLabels": spec.SourceLabels},
	}}}, nil
}

func sync(request Request) (Object, error) {
	if request.Parent.Metadata.Name == "" {
		return nil, errors.New("the request has no parent")
	}
	names := slices.Sorted(maps.Keys(request.Related.ConfigMaps)) // the order of a map changes with each call
	list := Object{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   Object{"name": request.Parent.Metadata.Name},
		"data":       Object{"configmaps": strings.Join(names, "\n")},
	}
	return Object{"status": Object{"count": len(names)}, "children": []Object{list}}, nil
}

var hooks = map[string]func(Request) (Object, error){"/customize": customize, "/sync": sync}

// answer has the function for the path answer a request, or says what is wrong.
func answer(w http.ResponseWriter, r *http.Request) {
	hook, known := hooks[r.URL.Path]
	if !known {
		http.Error(w, fmt.Sprintf("there is no hook %s, only %s", r.URL.Path, strings.Join(slices.Sorted(maps.Keys(hooks)), ", ")), http.StatusNotFound)
		return
	}
	var request Request
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, "Error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	result, err := hook(request)
	if err != nil {
		http.Error(w, "Error: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(result); err != nil {
		log.Print(err)
	}
}

func main() {
	port, address := "8094", "127.0.0.1"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	if len(os.Args) > 2 {
		address = os.Args[2]
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(address, port))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("The hook listens on port %s.\n", port)
	log.Fatal(http.Serve(listener, http.HandlerFunc(answer)))
}
