package fakeagent

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Main runs the agent with the process's arguments and returns its exit code.
// What stands after the flags is the prompt it was started with.
func Main() int {
	flags := flag.NewFlagSet("fakeagent", flag.ContinueOnError)
	exit := flags.Int("exit", -1, "leave at once with this code")
	ignoreTerm := flags.Bool("ignore-term", false, "take no notice of SIGTERM, SIGINT and SIGHUP")
	daemonize := flags.String("daemonize", "", "leave a sleep of its own session behind; its pid goes to this file")
	killServer := flags.Bool("kill-server", false, "run tmux kill-server")
	crashAfter := flags.Duration("crash-after", 0, "leave with 1 after so long")
	writeEnv := flags.String("write-env", "", "write the environment to this file")
	countRuns := flags.String("count-runs", "", "append a line to this file")
	alone := flags.String("alone", "", "hold a lock on this file; where another holds it, say so in FILE.doubled and leave with 3")
	asClaude := flags.Bool("as-claude", false, "behave as Claude Code does: composer, transcript, state file, hooks")
	boot := flags.Duration("boot", 0, "with -as-claude: take so long until there is a composer")
	// What agentform tells Claude Code.
	id := flags.String("session-id", "", "of the conversation")
	resume := flags.String("resume", "", "the conversation to go on with")
	settings := flags.String("settings", "", "the file with the hooks")
	flags.String("permission-mode", "", "taken, and without effect")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return 2
	}
	if *ignoreTerm {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	}
	if err := prepare(*writeEnv, *countRuns, *daemonize); err != nil {
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		return 1
	}
	if *alone != "" {
		lock, err := lockAlone(*alone)
		if err != nil {
			fmt.Fprintln(os.Stderr, "fakeagent:", err)
			return 3
		}
		defer lock.Close()
	}
	if *asClaude {
		as, err := newClaude(cmp.Or(*id, *resume), *settings)
		if err != nil {
			fmt.Fprintln(os.Stderr, "fakeagent:", err)
			return 1
		}
		if _, err := os.Stat(as.transcript); *resume != "" && err != nil {
			fmt.Fprintln(os.Stderr, "No conversation found with session ID:", *resume)
			return 1
		}
		return converse(as, strings.Join(flags.Args(), " "), *boot)
	}
	fmt.Println("fakeagent 1.0, at your service")
	if prompt := strings.Join(flags.Args(), " "); prompt != "" {
		fmt.Println("task:", prompt)
	}
	if *killServer {
		out, err := exec.Command("tmux", "kill-server").CombinedOutput()
		fmt.Printf("tmux kill-server: %v %s\n", err, out)
	}
	if *exit >= 0 {
		return *exit
	}
	if *crashAfter > 0 {
		time.AfterFunc(*crashAfter, func() { os.Exit(1) })
	}
	return talk(os.Stdin)
}

// prepare does what the flags want done before the agent greets. An empty name
// asks for nothing.
func prepare(writeEnv, countRuns, daemonize string) error {
	if writeEnv != "" {
		env := os.Environ()
		slices.Sort(env)
		if err := os.WriteFile(writeEnv, []byte(strings.Join(env, "\n")+"\n"), 0o600); err != nil {
			return err
		}
	}
	if countRuns != "" {
		f, err := os.OpenFile(countRuns, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := fmt.Fprintf(f, "run %d\n", os.Getpid()); err != nil {
			return err
		}
	}
	if daemonize != "" {
		return daemon(daemonize)
	}
	return nil
}

// lockAlone takes the lock that the kernel holds for as long as this process lives.
// Where another agent has it, that is proof that there are two, and is written down.
func lockAlone(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		said := fmt.Sprintf("%s: agent %d of run %s finds another one alive\n", time.Now().Format(time.StampMilli), os.Getpid(), os.Getenv("AGENTFORM_RUN"))
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), os.WriteFile(path+".doubled", []byte(said), 0o600))
	}
	return f, nil
}

// daemon leaves a sleep behind as a real daemon does: a child in a session of
// its own starts it in yet another one, and is gone.
func daemon(pidFile string) error {
	c := exec.Command("sh", "-c", `setsid sleep 300 </dev/null >/dev/null 2>&1 & echo $! >"$0"`, pidFile)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return c.Run()
}

// talk reads lines until there are no more, or one says exit N. What the first word of a
// line asks for:
//
//	turn until FILE       a turn, shown in the title, that ends when the file exists
//	work until FILE TEXT  the same shown on the screen; then it prints TEXT
//	title TEXT            sets the title
//	block                 prints a question
//	ask TEXT              prints a question and reads its answer
//	say TEXT              prints TEXT
//	commit FILE           writes the file and commits it
//	exit N                exits with status N
func talk(in io.Reader) int {
	lines := bufio.NewScanner(in)
	for {
		fmt.Print("ready> ")
		if !lines.Scan() {
			fmt.Println()
			return 0
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		switch word {
		case "":
		case "exit":
			code, err := strconv.Atoi(rest)
			if err != nil {
				code = 2
			}
			return code
		case "commit":
			commit(rest)
		case "turn":
			turn(rest)
		case "title":
			fmt.Printf("\x1b]2;%s\x07", rest)
		case "block":
			fmt.Println("Do you want to proceed? (y/n)")
		case "ask":
			fmt.Print(rest, " ")
			if !lines.Scan() {
				return 0
			}
			fmt.Println("the answer was", lines.Text())
		case "say":
			fmt.Println(rest)
		case "work":
			work(rest)
		default:
			fmt.Println("you said:", lines.Text())
		}
	}
}

// turn works until a file exists, and its title says so the way real agents' do.
func turn(how string) {
	fmt.Print("\x1b]2;⠋ thinking\x07")
	until(how)
	fmt.Printf("%s done\n\x1b]2;✳ resting\x07", strings.TrimSpace("turn "+how))
}

// work prints that it works until a file exists, then a text.
func work(how string) {
	fmt.Println("Working on it... (esc to interrupt)")
	if text := until(how); text != "" {
		fmt.Println(text)
	}
}

// until reads "until FILE TEXT" and returns once the file exists. Anything else is a text,
// and is returned at once.
func until(how string) (text string) {
	rest, held := strings.CutPrefix(how, "until ")
	if !held {
		return how
	}
	file, text, _ := strings.Cut(rest, " ")
	for _, err := os.Stat(file); err != nil; _, err = os.Stat(file) {
		time.Sleep(20 * time.Millisecond)
	}
	return text
}

// commit writes a file and commits it in the folder that the agent works in.
func commit(file string) {
	if err := os.WriteFile(file, []byte(time.Now().String()+"\n"), 0o600); err != nil {
		fmt.Println("commit:", err)
		return
	}
	for _, args := range [][]string{{"add", "--", file}, {"commit", "-q", "-m", "add " + file, "--", file}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			fmt.Printf("git %s: %v %s\n", args[0], err, out)
			return
		}
	}
	fmt.Println("committed", file)
}
