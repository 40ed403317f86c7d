// Package kubernetes holds the manifests of deploy/kubernetes against the API's own
// types and its Pod Security Standards. It is a module of its own, so that isodetect's
// does not require Kubernetes.
package kubernetes

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/json"
	strict "sigs.k8s.io/yaml"
)

// objects decodes every document of a manifest: unknown and repeated keys are errors.
func objects(t *testing.T, name string) (all []any) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/kubernetes/" + name)
	if err != nil {
		t.Fatal(err)
	}
	docs := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %s", name, err)
		}
		var kind metav1.TypeMeta
		if err := strict.Unmarshal(doc, &kind); err != nil {
			t.Fatalf("%s: %s", name, err)
		}
		into := map[string]any{
			"v1/Namespace": &corev1.Namespace{}, "apps/v1/DaemonSet": &appsv1.DaemonSet{}, "apps/v1/Deployment": &appsv1.Deployment{},
		}[kind.APIVersion+"/"+kind.Kind]
		if into == nil {
			t.Fatalf("%s: there is no test for %s of %s", name, kind.Kind, kind.APIVersion)
		}
		text, err := strict.YAMLToJSONStrict(doc)
		if err != nil {
			t.Fatalf("%s: %s: %s", name, kind.Kind, err)
		}
		wrong, err := json.UnmarshalStrict(text, into) // which knows readonly from readOnly, as the API server does
		if err := errors.Join(append(wrong, err)...); err != nil {
			t.Errorf("%s: %s: %s", name, kind.Kind, err)
		}
		all = append(all, into)
	}
}

func TestDaemonSet(t *testing.T) {
	all := objects(t, "daemonset.yaml")
	if len(all) != 2 {
		t.Fatalf("%d objects", len(all))
	}
	ns, set := all[0].(*corev1.Namespace), all[1].(*appsv1.DaemonSet)
	if set.Namespace != ns.Name || ns.Labels[api.EnforceLevelLabel] != string(api.LevelPrivileged) {
		t.Errorf("hostPath is not allowed in the namespace %q", set.Namespace)
	}
	selects(t, set.Spec.Selector, set.Spec.Template)
	pod := &set.Spec.Template
	// hostPath is what it cannot do without; nothing else may go beyond "restricted"
	broken := breaks(t, pod)
	if len(broken) != 1 || broken[0] != "restricted volume types" {
		t.Errorf("it breaks the standard restricted by %q", broken)
	}
	runs(t, pod, &pod.Spec.Containers[0], "/var/log/pods")
	for _, v := range pod.Spec.Volumes {
		if v.HostPath != nil && v.HostPath.Path != "/var/log/pods" {
			t.Errorf("it takes %s of the node", v.HostPath.Path)
		}
	}
}

func TestSidecar(t *testing.T) {
	all := objects(t, "sidecar.yaml")
	if len(all) != 1 {
		t.Fatalf("%d objects", len(all))
	}
	d := all[0].(*appsv1.Deployment)
	selects(t, d.Spec.Selector, d.Spec.Template)
	pod := &d.Spec.Template
	if broken := breaks(t, pod); len(broken) != 0 {
		t.Errorf("it breaks the standard restricted by %q", broken)
	}
	c, server := &pod.Spec.InitContainers[0], &pod.Spec.Containers[0]
	if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("the server would wait for isodetect to end")
	}
	runs(t, pod, c, "/var/log/notes")
	if m := mount(server, "/var/log/notes"); m == nil || m.ReadOnly || m.Name != mount(c, "/var/log/notes").Name {
		t.Error("the server does not write where isodetect reads")
	}
	if c.ReadinessProbe != nil {
		t.Error("isodetect takes the server out of service")
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, pod corev1.PodTemplateSpec) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || s.Empty() || !s.Matches(labels.Set(pod.Labels)) {
		t.Errorf("the selector does not select its pods (%v)", err)
	}
}

// breaks names the rules of the Pod Security Standards that a pod breaks.
func breaks(t *testing.T, pod *corev1.PodTemplateSpec) (rules []string) {
	t.Helper()
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range e.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
		if !r.Allowed {
			rules = append(rules, r.ForbiddenReason)
		}
	}
	return rules
}

// runs checks that isodetect can do its work as the pod lets it: read the logs at dir,
// write its checkpoint and nothing else, and answer probes and Prometheus.
func runs(t *testing.T, pod *corev1.PodTemplateSpec, c *corev1.Container, dir string) {
	t.Helper()
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("there is no volume %s", m.Name)
		}
	}
	if m := mount(c, dir); m == nil || !m.ReadOnly {
		t.Errorf("%s is not there, or it may write it", dir)
	}
	checkpoint := path.Dir(flag(c, "checkpoint"))
	if m := mount(c, checkpoint); m == nil || m.ReadOnly {
		t.Errorf("it cannot write its checkpoint in %s", checkpoint)
	}
	if last := c.Args[len(c.Args)-1]; !strings.HasPrefix(last, dir+"/") {
		t.Errorf("it watches %s, which is not in %s", last, dir)
	}
	if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
		t.Error("it may write its image")
	}
	if a := pod.Spec.AutomountServiceAccountToken; a == nil || *a {
		t.Error("it gets a token that it has no use for")
	}
	if mem := c.Resources.Limits.Memory(); mem.IsZero() || mem.Cmp(*c.Resources.Requests.Memory()) < 0 {
		t.Error("memory has no limit")
	}
	serves(t, pod, c)
}

// serves checks the port of the metrics wherever it stands.
func serves(t *testing.T, pod *corev1.PodTemplateSpec, c *corev1.Container) {
	t.Helper()
	port := c.Ports[0]
	if listen := flag(c, "listen"); port.Name != "metrics" || listen != ":"+pod.Annotations["prometheus.io/port"] ||
		int(port.ContainerPort) != atoi(t, pod.Annotations["prometheus.io/port"]) {
		t.Errorf("it listens at %s, and others look for it elsewhere", listen)
	}
	f := func(p *corev1.Probe, at string) {
		t.Helper()
		if p.HTTPGet == nil || p.HTTPGet.Path != at || p.HTTPGet.Port.String() != port.Name {
			t.Errorf("the probe of %s asks for %+v", at, p.HTTPGet)
		}
	}
	f(c.LivenessProbe, "/healthz")
	if c.ReadinessProbe != nil {
		f(c.ReadinessProbe, "/readyz")
	}
}
