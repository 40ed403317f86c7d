package report

// The part of SARIF 2.1.0 that is written (OASIS sarif-v2.1.0, section 3).

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	ColumnKind  string            `json:"columnKind"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	About   string      `json:"informationUri"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	Short      sarifText          `json:"shortDescription"`
	Full       sarifText          `json:"fullDescription"`
	Help       sarifText          `json:"help"`
	Default    sarifConfiguration `json:"defaultConfiguration"`
	Properties map[string]any     `json:"properties"`
}

type sarifConfiguration struct {
	Level string `json:"level"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Success  bool                `json:"executionSuccessful"`
	ExitCode int                 `json:"exitCode"`
	Notes    []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level   string        `json:"level"`
	Message sarifText     `json:"message"`
	Rule    *sarifRuleRef `json:"associatedRule,omitempty"`
}

type sarifRuleRef struct {
	ID string `json:"id"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations,omitempty"`
	Flows        []sarifFlow        `json:"codeFlows,omitempty"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Occurrences  int                `json:"occurrenceCount"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	Properties   map[string]any     `json:"properties"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

type sarifFlow struct {
	Threads []sarifThread `json:"threadFlows"`
}

type sarifThread struct {
	ID        string      `json:"id"`
	Message   sarifText   `json:"message"`
	Locations []sarifStep `json:"locations"`
}

type sarifStep struct {
	Location   sarifLocation `json:"location"`
	Order      int           `json:"executionOrder"`
	Time       string        `json:"executionTimeUtc,omitempty"`
	Importance string        `json:"importance"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
	Message *sarifText `json:"message,omitempty"`
}

type sarifRegion struct {
	Line    int64     `json:"startLine"`
	Snippet sarifText `json:"snippet"`
}
