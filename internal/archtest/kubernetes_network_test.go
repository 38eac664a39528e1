package archtest

import (
	"fmt"
	"strings"
	"testing"
)

func TestCoordinatorsReachNoServiceAndWorkersNothingOfTheCluster(t *testing.T) {
	policies := map[string]object{}
	for _, o := range readObjects(t) {
		if o.Kind == "NetworkPolicy" {
			policies[o.Metadata.Name] = o
		}
	}
	if nobody := policies["nobody"]; len(nobody.Spec.PodSelector.MatchLabels) != 0 || len(nobody.Spec.PolicyTypes) != 2 || len(nobody.Spec.Ingress)+len(nobody.Spec.Egress) != 0 {
		t.Error("there is no policy that closes all doors first")
	}
	for _, rule := range policies["braid-coordinator"].Spec.Egress {
		for _, to := range rule.To {
			if to.IPBlock != nil {
				t.Errorf("the coordinator may reach %v", to.IPBlock)
			}
		}
	}
	kept := false
	for _, rule := range policies["braid-worker"].Spec.Egress {
		for _, to := range rule.To {
			if to.IPBlock != nil && to.IPBlock["cidr"] == "0.0.0.0/0" {
				kept = strings.Contains(fmt.Sprint(to.IPBlock["except"]), "169.254.0.0/16") && strings.Contains(fmt.Sprint(to.IPBlock["except"]), "10.0.0.0/8")
			}
		}
	}
	if !kept {
		t.Error("workers may reach the cloud's metadata, or addresses of the cluster")
	}
}

// What a session of the dashboard is of is one coordinator's memory: who comes back is led to the same one.
func TestSessionsComeBackToTheirCoordinator(t *testing.T) {
	ingresses, affine := 0, map[string]bool{}
	objects := readObjects(t)
	for _, o := range objects {
		if o.Kind == "Service" && o.Spec.SessionAffinity == "ClientIP" {
			affine[o.Metadata.Name] = true
		}
	}
	for _, o := range objects {
		if o.Kind != "Ingress" {
			continue
		}
		ingresses++
		for key, want := range map[string]string{
			"affinity": "cookie", "affinity-mode": "persistent", "session-cookie-secure": "true", "session-cookie-samesite": "Strict",
		} {
			if got := o.Metadata.Annotations["nginx.ingress.kubernetes.io/"+key]; got != want {
				t.Errorf("%s: the annotation %s is %q, want %q", o.file, key, got, want)
			}
		}
		for _, rule := range o.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				if to := path.Backend.Service.Name; !affine[to] {
					t.Errorf("%s leads to the service %s, which has no sessionAffinity: ClientIP", o.file, to)
				}
			}
		}
	}
	if ingresses == 0 {
		t.Error("there is no ingress")
	}
}

// The port of health and metrics asks for no token.
func TestTheIngressReachesNoPortOfHealthAndPrometheusNothingElse(t *testing.T) {
	health := map[int]bool{} // ports
	objects := readObjects(t)
	for _, o := range objects {
		if o.Spec.Template != nil {
			for _, c := range o.Spec.Template.Spec.Containers {
				if port := c.port("health"); strings.HasPrefix(c.Image, "braid-") && port != 0 {
					health[port] = true
				}
			}
		}
	}
	opened := map[string]bool{}
	for _, o := range objects {
		for _, p := range o.Spec.Ports {
			if o.Kind == "Service" && strings.HasPrefix(o.Metadata.Name, "braid") && (p.TargetPort == "health" || health[p.Port]) {
				t.Errorf("%s: the service %s leads to the port of health, so that an ingress may", o.file, o.Metadata.Name)
			}
		}
		if o.Kind != "NetworkPolicy" || !strings.HasPrefix(o.Metadata.Name, "braid-") {
			continue
		}
		for _, rule := range o.Spec.Ingress {
			for _, finding := range checkDoor(rule, health) {
				t.Errorf("%s: %s %s", o.file, o.Metadata.Name, finding)
			}
			for _, p := range rule.Ports {
				opened[o.Metadata.Name] = opened[o.Metadata.Name] || health[p.Port]
			}
		}
	}
	if len(health) == 0 || !opened["braid-coordinator"] || !opened["braid-worker"] {
		t.Errorf("ports of health: %v; Prometheus reaches those of %v", health, opened)
	}
}

// checkDoor finds who else than Prometheus reaches a port of health, and where else Prometheus is let in.
func checkDoor(rule policyRule, health map[int]bool) (findings []string) {
	if len(rule.Ports) == 0 || len(rule.From) == 0 {
		return []string{"opens all ports, or one to everybody"}
	}
	for _, p := range rule.Ports {
		for _, from := range rule.From {
			monitoring := from.NamespaceSelector != nil && from.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] == "monitoring"
			if monitoring != health[p.Port] {
				findings = append(findings, fmt.Sprintf("opens port %d to %+v", p.Port, from.NamespaceSelector))
			}
		}
	}
	return findings
}
