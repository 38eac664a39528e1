package archtest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

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
