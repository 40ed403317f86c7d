package main

// The documents of an OCI image (image-spec 1.1), as far as they are used here.
type (
	ociDescriptor struct {
		Type        string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *ociPlatform      `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	ociPlatform struct {
		Arch string `json:"architecture"`
		OS   string `json:"os"`
	}
	ociIndex struct {
		Schema    int             `json:"schemaVersion"`
		Type      string          `json:"mediaType"`
		Manifests []ociDescriptor `json:"manifests"`
	}
	ociManifest struct {
		Schema int             `json:"schemaVersion"`
		Type   string          `json:"mediaType"`
		Config ociDescriptor   `json:"config"`
		Layers []ociDescriptor `json:"layers"`
	}
	ociConfig struct {
		Created string `json:"created"`
		Arch    string `json:"architecture"`
		OS      string `json:"os"`
		Config  ociRun `json:"config"`
		Root    struct {
			Type  string   `json:"type"`
			Diffs []string `json:"diff_ids"`
		} `json:"rootfs"`
		History []ociHistory `json:"history"`
	}
	ociRun struct {
		User       string            `json:"User"`
		Entrypoint []string          `json:"Entrypoint"`
		Command    []string          `json:"Cmd"`
		Workdir    string            `json:"WorkingDir"`
		Labels     map[string]string `json:"Labels"`
	}
	ociHistory struct {
		Created string `json:"created"`
		By      string `json:"created_by"`
	}
)

// dockerImage is an element of manifest.json, which docker save writes.
type dockerImage struct {
	Config string   `json:"Config"`
	Tags   []string `json:"RepoTags"`
	Layers []string `json:"Layers"`
}
