package session

import "time"

// Agent is the adapter of one coding agent. It is pure: it computes command lines and
// reads evidence.
type Agent interface {
	// Start returns how a run is started.
	Start(in StartInput) Start
	// Ready reports whether the screen shows that a prompt can be typed.
	Ready(screen string) bool
	// Detect returns the agent's activity according to the evidence.
	Detect(e Evidence) Detection
	// Files returns absolute patterns (path/filepath.Match) of the agent's own session
	// files of a run, each for one file: of those that match, the one written last.
	Files(of Lookup) []string
	// Reader returns a reader of the agent's session files of a run.
	Reader() TranscriptReader
	// Entries returns the readable entries in a line of the session file.
	Entries(line []byte) []Entry
}

// TranscriptReader reads an agent's session files of a run.
type TranscriptReader interface {
	// Add reads the next line, file by file in the order of Files. It ignores lines that it
	// does not know. Those of a short file that was rewritten come again behind the others.
	Add(line []byte)
	// Transcript returns what the lines so far say. It shares nothing with the reader.
	Transcript() Transcript
}

// ReadTranscript returns what lines of an agent's session files say.
func ReadTranscript(a Agent, lines [][]byte) Transcript {
	r := a.Reader()
	for _, line := range lines {
		r.Add(line)
	}
	return r.Transcript()
}

// ConversationReporter is an Agent whose hooks report which conversation it is in. Others are
// followed by the files that they have open.
type ConversationReporter interface {
	// HookConversation returns the conversation that a signal of a hook is from; empty: it
	// does not tell.
	HookConversation(signal []byte) string
}

// Fileless is for an Agent that keeps no session file: embed it.
type Fileless struct{}

// Files returns none.
func (Fileless) Files(Lookup) []string { return nil }

// Reader reads nothing.
func (Fileless) Reader() TranscriptReader { return fileless{} }

type fileless struct{}

func (fileless) Add([]byte)             {}
func (fileless) Transcript() Transcript { return Transcript{} }

// Entries returns none.
func (Fileless) Entries([]byte) []Entry { return nil }

// StartInput is what a run is to be started with.
type StartInput struct {
	Spec   Spec
	Prompt string // to be delivered; empty: nothing
	// Conversation is the agent's own conversation to resume; empty: a new one.
	Conversation string
	Fresh        string // a UUID for a new conversation, which the agent may use
	// Notify is the command that the agent's hooks call with JSON on standard input or
	// as one more argument, which becomes Evidence.Signals. Empty: no hooks.
	Notify  []string
	Private string // the run's own directory (0700) for Start.Files
	Root    bool   // the agent will run as root
	Sandbox bool   // the agent runs in a container
}

// Start is how an agent is started.
type Start struct {
	Argv  []string
	Env   map[string]string
	Paste string // the prompt, when it has to be typed once the agent is ready
	// Files are settings of this run alone, by name, written (0600) to
	// StartInput.Private before the agent starts.
	Files map[string]string
	// Conversation is the id of this run's conversation, if it is known in advance.
	Conversation string
}

// HomeInside is Lookup.Home of an agent whose home is inside its container: the directory of
// its copy below Lookup.Root.
const HomeInside = "/~"

// Lookup is what an agent finds the session file of a run by.
type Lookup struct {
	Dir          string            // the workspace
	Home         string            // the agent's HOME
	Root         string            // the directory with copies of the agent's files; empty: they are here
	Env          map[string]string // of the agent
	Process      Process           // of the agent
	Conversation string            // empty: not known yet
	StartedAt    time.Time
}

// Evidence is everything observed of an agent.
type Evidence struct {
	Liveness Liveness
	Exit     *Exit
	Title    string
	Screen   string // empty: not captured, unless Blank
	Blank    bool   // the screen was captured and is empty
	Typed    []Span // where Screen shows what was typed into it, from the top
	OneShot  bool
	Now      time.Time // when it was looked; zero: time plays no part
	MovedAt  time.Time // when it last put something out; zero: not known
	// Replayed marks a run that resumes a conversation without input yet, so that its screen shows
	// earlier runs.
	Replayed   bool
	StartedAt  time.Time   // of the run; zero: not known
	Prompted   bool        // the run was given a prompt
	Transcript *Transcript // what the agent's own session file says; nil: not found, not looked for
	Signals    []Signal    // the reports of its hooks in this run, oldest first
}

// Span is a range of a screen's lines, counted from 0.
type Span struct{ First, Last int }

// Signal is one report of an agent's hook.
type Signal struct {
	At   time.Time `json:"at"`
	Data []byte    `json:"data"` // JSON as the agent gave it, at most 64 KiB
}

// Transcript is the content of an agent's session file.
type Transcript struct {
	Path         string // set by who read it
	Conversation string // the agent's own id
	Dir          string // its working directory, according to the file
	StartedAt    time.Time
	Activity     Activity  // as of its last line; empty: it does not tell
	Detail       string    // for people: the question, the limit, the failure
	Until        time.Time // of Activity BlockedAPI: when the limit ends, if it says
	RefusedAt    time.Time // of Activity Failed: when the provider refused the credential; zero: it did not
	AnsweredAt   time.Time // when the model last answered; zero: it has not, or the file does not say
	At           time.Time // of its last line
	FirstTurnAt  time.Time // when the first turn ended without a limit, a failure or an interruption; zero: none has
	TurnAt       time.Time // when the last turn ended that has; zero: none has
	Prompts      int       // messages of the user
	PromptAt     time.Time // when the last of them was taken up; zero: none was
	TakenAt      time.Time // when it last took up one that had waited; zero: never
	Turns        int       // turns that have ended
	Interrupted  bool      // a person interrupted the last turn, and no other has begun since
	Unsettled    bool      // whether the last turn has ended is not known; it counts as ended
	Tokens       int64     // in and out, as far as the file counts them; 0: it does not
	// Limits is what is used of the account's limits, the shortest first; nil: it does not say.
	Limits      []LimitWindow
	LastPrompt  string    // the user's last message
	LastMessage string    // the agent's last message
	Messages    []Message // the user's last ones that it has taken up, oldest first
	Queued      []Message // those that it has not taken up yet, oldest first
	Truncated   bool      // lines in the middle are missing
}

// Message is a user's message to an agent.
type Message struct {
	At   time.Time // when the agent took it up, or when it was queued
	Text string
}

// messagesKept is how many messages of the user a Transcript has.
const messagesKept = 16

// Take adds a message of the user that the agent has taken up, unless it is empty.
func (n *Transcript) Take(m Message) {
	n.Interrupted = false
	if m.Text == "" {
		return
	}
	n.Messages = append(n.Messages[max(0, len(n.Messages)-messagesKept+1):], m)
}

// Begun reports whether the conversation has any message. Agents refuse to resume one
// that has none: Gemini CLI 0.61.0 writes a file at its start and then removes it.
func (n *Transcript) Begun() bool { return n.Prompts > 0 || n.Turns > 0 }

// Answered reports whether the file, which may lag behind hooks and screen, has the
// answer to what the agent was given at the time.
func (n *Transcript) Answered(given time.Time) bool {
	return n.Turns > 0 && n.Activity != Working && !n.TurnAt.Before(given)
}

// Entry is one line of an agent's session for people.
type Entry struct {
	At   time.Time `json:"at,omitzero"`
	Kind string    `json:"kind"` // user, agent, tool, result, error, usage, info
	Text string    `json:"text"`
}

// Detection is the result of reading the evidence.
type Detection struct {
	Activity Activity
	Detail   string    // for people: the question, the limit, the failure
	Until    time.Time // of BlockedAPI: when the limit ends, if said
	Refused  bool      // of Failed: the provider refused the credential
	Source   string    // the signal it comes from: native, hook, title, screen, exit
	PR       string    // URL of a pull request seen on the screen
	Question *Question // the dialog on the screen, if its answers are known; nil: none
}
