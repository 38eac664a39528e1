package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

func TestTheKustomizationNamesWhatThereIs(t *testing.T) {
	k := readKustomization(t)
	for _, name := range append(k.Resources, k.ConfigMapGenerator[0].Files...) {
		readFile(t, filepath.Join(kubernetes, name))
	}
	optional := []string{"autoscale-hpa.yaml"} // the other way
	for _, o := range readObjects(t) {
		if !slices.Contains(k.Resources, o.file) && !slices.Contains(optional, o.file) {
			t.Errorf("%s is not applied", o.file)
		}
	}
	if readFile(t, kubernetes+"/users.conf") != readFile(t, "deploy/nats/users.conf") {
		t.Errorf("%s/users.conf is not deploy/nats/users.conf: cp deploy/nats/users.conf %s/", kubernetes, kubernetes)
	}
}

// versions are the kinds that we use.
func versions() map[string]string {
	return map[string]string{
		"Namespace": "v1", "Service": "v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "PodDisruptionBudget": "policy/v1",
		"NetworkPolicy": "networking.k8s.io/v1", "Ingress": "networking.k8s.io/v1", "HorizontalPodAutoscaler": "autoscaling/v2", "ScaledObject": "keda.sh/v1alpha1",
	}
}

func TestManifestsAreWhole(t *testing.T) {
	binaries, flags := binariesAndFlags(t)
	objects := readObjects(t)
	report(t, checkObjects(objects, readKustomization(t), binaries, flags))
}

// checkObjects finds what is wrong with manifests, and where they do not agree.
func checkObjects(objects []object, k kustomization, binaries, flags map[string]bool) (findings []string) {
	say := func(o object, format string, args ...any) {
		findings = append(findings, fmt.Sprintf("%s: %s %s: ", o.file, o.Kind, o.Metadata.Name)+fmt.Sprintf(format, args...))
	}
	workloads := map[string]object{}
	for _, o := range objects {
		if versions()[o.Kind] != o.APIVersion || o.Metadata.Name == "" {
			say(o, "%s is no kind that is known", o.APIVersion)
		}
		if o.Spec.Template != nil {
			workloads[o.Metadata.Name] = o
			findings = append(findings, checkPods(o, k, binaries, flags)...)
		}
	}
	for _, o := range objects {
		switch o.Kind {
		case "Service":
			for _, p := range o.Spec.Ports {
				if w, ok := workloads[selected(o)]; !ok || w.Spec.Template.Spec.Containers[0].port(p.TargetPort) == 0 {
					say(o, "it leads to the port %s of %q, which there is not", p.TargetPort, selected(o))
				}
			}
		case "PodDisruptionBudget":
			if _, ok := workloads[selected(o)]; !ok {
				say(o, "it is of no workload")
			}
		case "HorizontalPodAutoscaler", "ScaledObject":
			w, ok := workloads[o.Spec.ScaleTargetRef["name"]]
			if !ok || w.Spec.Replicas != 0 {
				say(o, "it scales %q, which there is not, or which fixes its replicas", o.Spec.ScaleTargetRef["name"])
			}
		case "Ingress":
			if len(o.Spec.TLS) == 0 || o.Spec.TLS[0].SecretName == "" {
				say(o, "it has no TLS")
			}
		case "NetworkPolicy":
			if o.Spec.PodSelector == nil || len(o.Spec.PolicyTypes) == 0 {
				say(o, "it selects nobody, or regulates nothing")
			}
		}
	}
	return findings
}

// selected is the app that an object selects.
func selected(o object) string {
	labels, _ := o.Spec.Selector.(map[string]any)
	if nested, ok := labels["matchLabels"].(map[string]any); ok {
		labels = nested
	}
	name, _ := labels["app.kubernetes.io/name"].(string)
	return name
}

func checkPods(o object, k kustomization, binaries, flags map[string]bool) (findings []string) {
	say := func(format string, args ...any) {
		findings = append(findings, fmt.Sprintf("%s: %s %s: ", o.file, o.Kind, o.Metadata.Name)+fmt.Sprintf(format, args...))
	}
	pod := o.Spec.Template.Spec
	if o.Spec.Template.Metadata.Labels["app.kubernetes.io/name"] != selected(o) || selected(o) == "" {
		say("its selector finds other pods than its template makes")
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		say("its pods have a token of the cluster's API; set automountServiceAccountToken: false")
	}
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
		say("variables of all services of the namespace are in its environment, where BRAID_… would be settings; set enableServiceLinks: false")
	}
	if pod.SecurityContext["runAsNonRoot"] != true || pod.SecurityContext["runAsUser"] == 0 {
		say("it may run as root")
	}
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range pod.Containers {
		if c.SecurityContext["readOnlyRootFilesystem"] != true || c.SecurityContext["allowPrivilegeEscalation"] != false || fmt.Sprint(c.SecurityContext["capabilities"]) != "map[drop:[ALL]]" {
			say("%s: it may write its image, or has capabilities", c.Name)
		}
		if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
			say("%s: it asks for no CPU or memory, or has no bound of memory", c.Name)
		}
		for _, p := range []*probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if p == nil || c.port(p.HTTPGet.Port) == 0 {
				say("%s: a probe is missing, or asks a port that there is not", c.Name)
			}
		}
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] && len(o.Spec.VolumeClaimTemplates) == 0 {
				say("%s: it mounts %s, which there is not", c.Name, m.Name)
			}
		}
		if binary, ours := strings.CutPrefix(c.Image, "braid-"); ours {
			for _, finding := range checkOurs(o, c, binary, k, binaries, flags) {
				say("%s: %s", c.Name, finding)
			}
		} else if !strings.Contains(c.Image, ":") {
			say("%s: the image %s has no version", c.Name, c.Image)
		}
	}
	return findings
}

// checkOurs looks at a container of one of our binaries.
func checkOurs(o object, c container, binary string, k kustomization, binaries, flags map[string]bool) (findings []string) {
	say := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	if !binaries[binary] {
		say("there is no cmd/%s", binary)
	}
	if !slices.ContainsFunc(k.Images, func(i struct {
		Name    string `yaml:"name"`
		NewName string `yaml:"newName"`
		NewTag  string `yaml:"newTag"`
	},
	) bool {
		return i.Name == c.Image && i.NewTag != ""
	}) {
		say("the kustomization does not say where the image %s is", c.Image)
	}
	for _, e := range c.Env {
		flag, ours := strings.CutPrefix(e.Name, "BRAID_")
		if ours && !flags[strings.ReplaceAll(strings.ToLower(flag), "_", "-")] {
			say("%s is set, and no binary has that setting", e.Name)
		}
	}
	health := portOf(c.env("BRAID_HEALTH"))
	if c.port("health") != health || health == 0 || c.port("http") != portOf(c.env("BRAID_LISTEN")) {
		say("it listens on %s and %s; its ports are others", c.env("BRAID_LISTEN"), c.env("BRAID_HEALTH"))
	}
	if o.Spec.Template.Metadata.Annotations["prometheus.io/port"] != fmt.Sprint(health) {
		say("Prometheus asks another port than BRAID_HEALTH")
	}
	for _, p := range []*probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		if p != nil && p.HTTPGet.Port != "health" {
			say("a probe asks the port %s; health is at the port health", p.HTTPGet.Port)
		}
	}
	if c.env("BRAID_METRICS_OPEN") != "" {
		say("BRAID_METRICS_OPEN lets whoever comes through the ingress read the metrics; BRAID_HEALTH serves them for Prometheus")
	}
	grace := 10 * time.Second // of the API
	if text := c.env("BRAID_GRACE"); text != "" {
		var err error
		if grace, err = time.ParseDuration(text); err != nil {
			say("BRAID_GRACE: %v", err)
		}
	}
	if stop := seconds(o.Spec.Template.Spec.TerminationGracePeriodSeconds); stop < grace+10*time.Second {
		say("it is killed after %s, and needs %s to finish what is in hand", stop, grace)
	}
	if c.ReadinessProbe != nil && c.LivenessProbe != nil &&
		(c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.TimeoutSeconds < 4) {
		say("ready is asked at %s within %d s (it answers within 3 s), alive at %s", c.ReadinessProbe.HTTPGet.Path, c.ReadinessProbe.TimeoutSeconds, c.LivenessProbe.HTTPGet.Path)
	}
	return findings
}

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

func TestPlantedMistakesInManifestsAreFound(t *testing.T) {
	binaries, flags := map[string]bool{"worker": true}, map[string]bool{"grace": true, "health": true, "metrics-open": true}
	k := kustomization{Images: []struct {
		Name    string `yaml:"name"`
		NewName string `yaml:"newName"`
		NewTag  string `yaml:"newTag"`
	}{{"braid-worker", "x", "v1"}}}
	const good = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: braid-worker}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: braid-worker}}
  template:
    metadata: {labels: {app.kubernetes.io/name: braid-worker}, annotations: {prometheus.io/port: "8081"}}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 75
      securityContext: {runAsNonRoot: true, runAsUser: 65532}
      containers:
        - name: worker
          image: braid-worker
          ports: [{name: health, containerPort: 8081}]
          env: [{name: BRAID_HEALTH, value: "0.0.0.0:8081"}, {name: BRAID_GRACE, value: 45s}]
          startupProbe: {httpGet: {path: /healthz, port: health}}
          livenessProbe: {httpGet: {path: /healthz, port: health}}
          readinessProbe: {httpGet: {path: /readyz, port: health}, timeoutSeconds: 4}
          resources: {requests: {cpu: 1, memory: 1Mi}, limits: {memory: 1Gi}}
          securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`
	for name, c := range map[string]struct{ old, replacement, want string }{
		"nothing planted":    {"", "", ""},
		"an unknown kind":    {"apps/v1", "apps/v2", "apps/v2 is no kind"},
		"another port":       {"0.0.0.0:8081", "0.0.0.0:8082", "and 0.0.0.0:8082; its ports are others"},
		"no port of health":  {"{name: BRAID_HEALTH, value: \"0.0.0.0:8081\"}, ", "", "its ports are others"},
		"scraped elsewhere":  {"io/port: \"8081\"", "io/port: \"8080\"", "Prometheus asks another port"},
		"metrics for all":    {"{name: BRAID_GRACE,", "{name: BRAID_METRICS_OPEN, value: \"true\"}, {name: BRAID_GRACE,", "BRAID_METRICS_OPEN lets"},
		"no such setting":    {"BRAID_GRACE", "BRAID_GRASE", "BRAID_GRASE is set"},
		"killed too early":   {"Seconds: 75", "Seconds: 50", "it is killed after 50s"},
		"as root":            {"runAsNonRoot: true", "runAsNonRoot: false", "it may run as root"},
		"writes its image":   {"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "it may write its image"},
		"no probe":           {"livenessProbe", "x-livenessProbe", "field x-livenessProbe not found"},
		"spelt wrongly":      {"terminationGracePeriodSeconds", "terminationGracePeriod", "field terminationGracePeriod not found"},
		"other pods":         {"{labels: {app.kubernetes.io/name: braid-worker}", "{labels: {app.kubernetes.io/name: worker}", "its selector finds other pods"},
		"settings by chance": {"enableServiceLinks: false", "enableServiceLinks: true", "set enableServiceLinks: false"},
		"no memory":          {"limits: {memory: 1Gi}", "limits: {}", "no bound of memory"},
		"killed when slow":   {"path: /healthz, port: health}}\n          readinessProbe", "path: /readyz, port: health}}\n          readinessProbe", "alive at /readyz"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := parseObjects("planted.yaml", []byte(strings.Replace(good, c.old, c.replacement, 1)))
			findings := checkObjects(objects, k, binaries, flags)
			if err != nil {
				findings = append(findings, err.Error())
			}
			if got := strings.Join(findings, "\n"); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
