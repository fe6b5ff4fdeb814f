package notify

import (
	"encoding/json"
	"errors"
	"mime"
	"strings"
)

// The presets of targets.
const (
	Desktop  = "desktop"
	Slack    = "slack"
	Discord  = "discord"
	Ntfy     = "ntfy"
	Telegram = "telegram"
)

// presets write a message as a service takes it.
var presets = map[string]func(*request, message) error{
	Slack: slack, Discord: discord, Ntfy: ntfy, Telegram: telegram,
}

func (r *request) json(v any) (err error) {
	r.body, err = json.Marshal(v)
	return err
}

// Slack cuts texts at 40,000 characters and recommends at most 4,000. Its control
// characters are & < >, which begin entities, mentions (<!channel>) and links; the rest of
// its markup is switched off.
//
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
// https://docs.slack.dev/messaging/formatting-message-text#escaping
const slackText = 4000

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func slack(r *request, m message) error {
	limit := slackText - len(entities.Replace(m.title+m.notes+m.link)) - 3
	text := lines(m.title, fit(m.text, limit, func(c rune) int { return len(entities.Replace(string(c))) }), m.notes, m.link)
	return r.json(map[string]any{"text": entities.Replace(text), "mrkdwn": false})
}

// Discord refuses contents of more than 2,000 characters. What the agent says stands in a
// code block, in which only the end of the block is markup; the rest is escaped. Nobody is
// mentioned, and links have no preview.
//
// https://discord.com/developers/docs/resources/webhook#execute-webhook
// https://discord.com/developers/docs/resources/message#allowed-mentions-object
const (
	discordContent        = 2000
	discordSuppressEmbeds = 1 << 2
)

func discord(r *request, m message) error {
	link := m.link
	if link != "" {
		link = "<" + link + ">"
	}
	head, foot := "**"+discordEscape(m.title)+"**", lines(discordEscape(m.notes), link)
	const open, end = "```\n", "\n```"
	text := strings.ReplaceAll(m.text, "```", "`\u200b`\u200b`")
	if text = fit(text, discordContent-utf16Len(head+open+end+foot)-2, inUTF16); text != "" {
		text = open + text + end
	}
	return r.json(map[string]any{
		"content":          lines(head, text, foot),
		"allowed_mentions": map[string]any{"parse": []string{}},
		"flags":            discordSuppressEmbeds,
	})
}

// discordEscape puts a backslash before what can be markup, which Discord shows without it.
func discordEscape(s string) string {
	var b strings.Builder
	for _, c := range s {
		if strings.ContainsRune("\\*_~`|>#[]()<@:-", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// ntfy makes a file of a message of more than 4,096 bytes, and shows "triggered" for one
// without a body. Since version 2.4 its headers may be encoded as RFC 2047 says; HTTP has
// no other encoding for them. Its error answers are JSON and name no time to wait for.
//
// https://docs.ntfy.sh/publish/#message-title
// https://docs.ntfy.sh/publish/#message-priority
// https://docs.ntfy.sh/publish/#limitations
const ntfyBody = 4096

func ntfy(r *request, m message) error {
	if strings.Trim(r.to.Path, "/") == "" {
		return errors.New("its address has no topic: https://ntfy.sh/TOPIC")
	}
	r.header.Set("Content-Type", "text/plain; charset=utf-8")
	r.header.Set("Title", mime.BEncoding.Encode("utf-8", m.title))
	if m.urgent {
		r.header.Set("Priority", "high")
	}
	if m.link != "" {
		r.header.Set("Click", m.link)
	}
	text := lines(fit(m.text, ntfyBody-len(m.notes+m.link)-2, inBytes), m.notes, m.link)
	if text == "" {
		text = m.title
	}
	r.body = []byte(text)
	return nil
}

// Telegram refuses texts of more than 4,096 characters, counted in UTF-16 without markup,
// and markup that it cannot parse. Its HTML has few tags, and & < > as entities. What the
// agent says stands in <pre>, so that names in it mention nobody.
//
// https://core.telegram.org/bots/api#sendmessage
// https://core.telegram.org/bots/api#html-style
const telegramText = 4096

func telegram(r *request, m message) error {
	parameters := map[string]any{}
	for name, values := range r.to.Query() {
		parameters[name] = values[0]
	}
	if parameters["chat_id"] == nil {
		return errors.New("its address names no chat: https://api.telegram.org/botTOKEN/sendMessage?chat_id=CHAT")
	}
	to := *r.to
	to.RawQuery = ""
	r.to = &to
	text := fit(m.text, telegramText-utf16Len(m.title+m.notes+m.link)-3, inUTF16)
	if text != "" {
		text = "<pre>" + entities.Replace(text) + "</pre>"
	}
	parameters["text"] = lines("<b>"+entities.Replace(m.title)+"</b>", text, entities.Replace(lines(m.notes, m.link)))
	parameters["parse_mode"] = "HTML"
	parameters["link_preview_options"] = map[string]bool{"is_disabled": true}
	return r.json(parameters)
}

const desktopBody = 600 // characters; notifications show a few lines

// desktopCommand returns the command that shows a message on the desktop of a system.
//
// The body of a desktop notification can have markup like HTML's, and notify-send reads
// backslash escapes in it (g_strcompress). Neither can be switched off.
//
// https://specifications.freedesktop.org/notification-spec/latest/markup.html
// https://developer.apple.com/library/archive/documentation/LanguagesUtilities/Conceptual/MacAutomationScriptingGuide/DisplayNotifications.html
func desktopCommand(system string, m message) []string {
	body := lines(fit(m.text, desktopBody, oneRune), m.notes, m.link)
	if system == "darwin" {
		return []string{"osascript", "-e", "display notification " + appleScript(body) + " with title " + appleScript(m.title)}
	}
	body = strings.ReplaceAll(entities.Replace(body), `\`, `\\`)
	return []string{"notify-send", "--app-name=agentform", "--", m.title, body}
}

// appleScript returns a text as a literal of AppleScript.
func appleScript(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
