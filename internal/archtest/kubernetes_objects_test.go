package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const kubernetes = "deploy/kubernetes"

// object is one manifest. The fields are those of the kinds that we use; a key that is not among them is a mistake of ours, or wants
// a line here.
type object struct {
	file       string
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       spec     `yaml:"spec"`
}

type metadata struct {
	Name        string            `yaml:"name"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type spec struct {
	// Workloads.
	Replicas             int            `yaml:"replicas"`
	ServiceName          string         `yaml:"serviceName"`
	PodManagementPolicy  string         `yaml:"podManagementPolicy"`
	Strategy             map[string]any `yaml:"strategy"`
	Selector             any            `yaml:"selector"` // labels, or a selector of them
	Template             *podTemplate   `yaml:"template"`
	VolumeClaimTemplates []any          `yaml:"volumeClaimTemplates"`
	// Services.
	ClusterIP                string        `yaml:"clusterIP"`
	PublishNotReadyAddresses bool          `yaml:"publishNotReadyAddresses"`
	SessionAffinity          string        `yaml:"sessionAffinity"`
	Ports                    []servicePort `yaml:"ports"`
	// Budgets.
	MinAvailable   any `yaml:"minAvailable"`
	MaxUnavailable any `yaml:"maxUnavailable"`
	// Network policies.
	PodSelector *labelSelector `yaml:"podSelector"`
	PolicyTypes []string       `yaml:"policyTypes"`
	Ingress     []policyRule   `yaml:"ingress"`
	Egress      []policyRule   `yaml:"egress"`
	// Ingresses.
	IngressClassName string        `yaml:"ingressClassName"`
	TLS              []ingressTLS  `yaml:"tls"`
	Rules            []ingressRule `yaml:"rules"`
	// Autoscalers.
	ScaleTargetRef  map[string]string `yaml:"scaleTargetRef"`
	MinReplicas     int               `yaml:"minReplicas"`
	MaxReplicas     int               `yaml:"maxReplicas"`
	MinReplicaCount int               `yaml:"minReplicaCount"`
	MaxReplicaCount int               `yaml:"maxReplicaCount"`
	PollingInterval int               `yaml:"pollingInterval"`
	CooldownPeriod  int               `yaml:"cooldownPeriod"`
	Fallback        map[string]any    `yaml:"fallback"`
	Advanced        map[string]any    `yaml:"advanced"`
	Triggers        []any             `yaml:"triggers"`
	Behavior        map[string]any    `yaml:"behavior"`
	Metrics         []any             `yaml:"metrics"`
}

type labelSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type servicePort struct {
	Name       string `yaml:"name"`
	Port       int    `yaml:"port"`
	TargetPort string `yaml:"targetPort"`
}

type policyRule struct {
	From  []peer `yaml:"from"`
	To    []peer `yaml:"to"`
	Ports []struct {
		Protocol string `yaml:"protocol"`
		Port     int    `yaml:"port"`
	} `yaml:"ports"`
}

type peer struct {
	PodSelector       *labelSelector `yaml:"podSelector"`
	NamespaceSelector *labelSelector `yaml:"namespaceSelector"`
	IPBlock           map[string]any `yaml:"ipBlock"`
}

type ingressTLS struct {
	Hosts      []string `yaml:"hosts"`
	SecretName string   `yaml:"secretName"`
}

type ingressRule struct {
	Host string `yaml:"host"`
	HTTP struct {
		Paths []struct {
			Path     string `yaml:"path"`
			PathType string `yaml:"pathType"`
			Backend  struct {
				Service struct {
					Name string      `yaml:"name"`
					Port servicePort `yaml:"port"`
				} `yaml:"service"`
			} `yaml:"backend"`
		} `yaml:"paths"`
	} `yaml:"http"`
}

type podTemplate struct {
	Metadata metadata `yaml:"metadata"`
	Spec     podSpec  `yaml:"spec"`
}

type podSpec struct {
	AutomountServiceAccountToken  *bool           `yaml:"automountServiceAccountToken"`
	EnableServiceLinks            *bool           `yaml:"enableServiceLinks"`
	TerminationGracePeriodSeconds int             `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               map[string]any  `yaml:"securityContext"`
	TopologySpreadConstraints     []any           `yaml:"topologySpreadConstraints"`
	Affinity                      map[string]any  `yaml:"affinity"`
	Containers                    []container     `yaml:"containers"`
	Volumes                       []volumeOfAPods `yaml:"volumes"`
}

type volumeOfAPods struct {
	Name      string         `yaml:"name"`
	ConfigMap map[string]any `yaml:"configMap"`
	Secret    map[string]any `yaml:"secret"`
	EmptyDir  map[string]any `yaml:"emptyDir"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`
	Ports []struct {
		Name          string `yaml:"name"`
		ContainerPort int    `yaml:"containerPort"`
	} `yaml:"ports"`
	Env []struct {
		Name      string         `yaml:"name"`
		Value     string         `yaml:"value"`
		ValueFrom map[string]any `yaml:"valueFrom"`
	} `yaml:"env"`
	EnvFrom         []map[string]any `yaml:"envFrom"`
	Lifecycle       map[string]any   `yaml:"lifecycle"`
	StartupProbe    *probe           `yaml:"startupProbe"`
	LivenessProbe   *probe           `yaml:"livenessProbe"`
	ReadinessProbe  *probe           `yaml:"readinessProbe"`
	Resources       resources        `yaml:"resources"`
	SecurityContext map[string]any   `yaml:"securityContext"`
	VolumeMounts    []struct {
		Name      string `yaml:"name"`
		MountPath string `yaml:"mountPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
	PeriodSeconds    int `yaml:"periodSeconds"`
	TimeoutSeconds   int `yaml:"timeoutSeconds"`
	FailureThreshold int `yaml:"failureThreshold"`
}

type resources struct {
	Requests map[string]string `yaml:"requests"`
	Limits   map[string]string `yaml:"limits"`
}

func (c container) env(name string) string {
	for _, e := range c.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}

func (c container) port(name string) int {
	for _, p := range c.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

// parseObjects reads the manifests of a file; a key that is not known is an error.
func parseObjects(file string, data []byte) (objects []object, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	for {
		o := object{file: file}
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, o)
	}
}

type kustomization struct {
	APIVersion         string   `yaml:"apiVersion"`
	Kind               string   `yaml:"kind"`
	Namespace          string   `yaml:"namespace"`
	Resources          []string `yaml:"resources"`
	ConfigMapGenerator []struct {
		Name  string   `yaml:"name"`
		Files []string `yaml:"files"`
	} `yaml:"configMapGenerator"`
	Images []struct {
		Name    string `yaml:"name"`
		NewName string `yaml:"newName"`
		NewTag  string `yaml:"newTag"`
	} `yaml:"images"`
}

func readKustomization(t *testing.T) (k kustomization) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(readFile(t, kubernetes+"/kustomization.yaml")))
	decoder.KnownFields(true)
	if err := decoder.Decode(&k); err != nil {
		t.Fatal(err)
	}
	return k
}

func readObjects(t *testing.T) []object {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, kubernetes, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []object
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects, err := parseObjects(filepath.Base(file), data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, objects...)
	}
	return all
}
