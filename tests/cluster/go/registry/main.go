// Command registry is a container registry in memory, for tests: pulls by digest are as real as they get, and one that refuses says so with the
// status that it is told to.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address and port; the port is printed")
	status := flag.Int("status", 0, "answer every request with this HTTP status")
	flag.Parse()
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	handler := registry.New(registry.Logger(log.New(log.Writer(), "", 0)))
	if *status != 0 {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(*status)
			fmt.Fprintf(w, `{"errors": [{"code": "UNKNOWN", "message": "this registry answers %d"}]}`, *status)
		})
	}
	log.Fatal(http.Serve(listener, handler))
}
