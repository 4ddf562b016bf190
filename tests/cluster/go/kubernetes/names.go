package main

// The cluster's DNS: A records of Services, of the pods behind headless Services, and nothing else.
// The format of names: https://github.com/kubernetes/dns/blob/master/docs/specification.md

import (
	"context"
	"errors"
	"net"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/clientcmd"
)

const domain = ".svc.cluster.local"

var errNoSuchName = errors.New("no such name")

type directory struct {
	services corelisters.ServiceLister
	slices   discoverylisters.EndpointSliceLister
}

// addresses looks a lower-case name without its final dot up.
func (d directory) addresses(name string) ([]string, error) {
	labelled, inside := strings.CutSuffix(name, domain)
	parts := strings.Split(labelled, ".")
	if !inside || len(parts) < 2 || len(parts) > 3 {
		return nil, errNoSuchName
	}
	host, rest := "", parts
	if len(parts) == 3 {
		host, rest = parts[0], parts[1:]
	}
	service, err := d.services.Services(rest[1]).Get(rest[0])
	if err != nil {
		return nil, errNoSuchName
	}
	if host == "" && service.Spec.ClusterIP != core.ClusterIPNone {
		return []string{service.Spec.ClusterIP}, nil
	}
	found, err := d.behind(service, host)
	if err == nil && host != "" && len(found) == 0 {
		err = errNoSuchName
	}
	return found, err
}

// behind lists the pods of a service: the ready ones, of one host name if it is given.
func (d directory) behind(service *core.Service, host string) (found []string, err error) {
	selector := labels.SelectorFromSet(labels.Set{discovery.LabelServiceName: service.Name})
	slices, err := d.slices.EndpointSlices(service.Namespace).List(selector)
	for _, slice := range slices {
		for _, endpoint := range slice.Endpoints {
			ready := endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready || service.Spec.PublishNotReadyAddresses
			named := host == "" || (endpoint.Hostname != nil && *endpoint.Hostname == host)
			if ready && named {
				found = append(found, endpoint.Addresses...)
			}
		}
	}
	return found, err
}

// reply answers one packet; nil for one that is no question.
func (d directory) reply(packet []byte) []byte {
	var asked dnsmessage.Message
	if asked.Unpack(packet) != nil || len(asked.Questions) != 1 {
		return nil
	}
	question := asked.Questions[0]
	answer := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: asked.ID, Response: true, Authoritative: true, RecursionDesired: asked.RecursionDesired, RecursionAvailable: true},
		Questions: asked.Questions,
	}
	found, err := d.addresses(strings.ToLower(strings.TrimSuffix(question.Name.String(), ".")))
	if err != nil {
		answer.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range found {
		if v4 := net.ParseIP(text).To4(); v4 != nil && question.Type == dnsmessage.TypeA {
			header := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET, TTL: 5}
			answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: [4]byte(v4)}})
		}
	}
	packed, err := answer.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// serveNames answers on UDP until it cannot.
func serveNames(address, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	d := directory{services: factory.Core().V1().Services().Lister(), slices: factory.Discovery().V1().EndpointSlices().Lister()}
	factory.Start(context.Background().Done())
	factory.WaitForCacheSync(context.Background().Done())
	connection, err := net.ListenPacket("udp4", address)
	if err != nil {
		return err
	}
	packet := make([]byte, 4096)
	for {
		n, from, err := connection.ReadFrom(packet)
		if err != nil {
			return err
		}
		if answer := d.reply(packet[:n]); answer != nil {
			_, _ = connection.WriteTo(answer, from)
		}
	}
}
