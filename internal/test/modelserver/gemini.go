package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// gemini is POST /v1beta/models/MODEL:CALL.
func (s *Server) gemini(w http.ResponseWriter, hr *http.Request) {
	body, ok := read(w, hr)
	if !ok {
		return
	}
	model, call, _ := strings.Cut(hr.PathValue("call"), ":")
	to := &geminiSpeaker{w: w, model: model, stream: call == "streamGenerateContent"}
	switch call {
	case "countTokens":
		writeJSON(w, object{"totalTokens": plainUsage.Input})
		return
	case "generateContent", "streamGenerateContent":
	default:
		to.fail(http.StatusNotFound, "no such call: "+call, 0)
		return
	}
	type part struct {
		Text             string          `json:"text"`
		FunctionResponse json.RawMessage `json:"functionResponse"`
	}
	var in struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []part `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		to.fail(http.StatusBadRequest, err.Error(), 0)
		return
	}
	r := Request{At: time.Now(), API: "gemini", Path: hr.URL.Path, Model: model, Body: body}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			r.Tools = append(r.Tools, f.Name)
		}
	}
	r.Side = len(r.Tools) == 0
	for _, c := range in.Contents {
		if c.Role != "user" {
			continue
		}
		for _, p := range c.Parts {
			if len(p.FunctionResponse) > 0 {
				r.Results++
			}
			r.asked(p.Text)
		}
	}
	s.play(hr.Context(), r, to)
}

// geminiSpeaker answers as Gemini's generateContent, streamed or whole.
type geminiSpeaker struct {
	w      http.ResponseWriter
	model  string
	stream bool
	parts  []object
	usage  Usage
}

func (g *geminiSpeaker) uses(u Usage) { g.usage = u }

func (g *geminiSpeaker) partly() Usage { return Usage{} }

func (g *geminiSpeaker) chunk(finish string, parts ...object) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	c := object{"candidates": []object{candidate}, "modelVersion": g.model}
	if finish != "" {
		candidate["finishReason"] = finish
		u := g.usage
		c["usageMetadata"] = object{
			"promptTokenCount": u.prompt(), "cachedContentTokenCount": u.CacheRead,
			"candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.all(),
		}
	}
	return c
}

func (g *geminiSpeaker) begin() {
	if g.stream {
		events{g.w}.begin()
	}
}

func (g *geminiSpeaker) text(s string) {
	g.parts = append(g.parts, object{"text": s})
	if g.stream {
		for _, p := range pieces(s) {
			events{g.w}.send("", g.chunk("", object{"text": p}))
		}
	}
}

func (g *geminiSpeaker) tool(name, args string) {
	part := object{"functionCall": object{"name": name, "args": json.RawMessage(args)}}
	g.parts = append(g.parts, part)
	if g.stream {
		events{g.w}.send("", g.chunk("", part))
	}
}

func (g *geminiSpeaker) end() {
	if !g.stream {
		writeJSON(g.w, g.chunk("STOP", g.parts...))
		return
	}
	events{g.w}.send("", g.chunk("STOP", object{"text": ""}))
}

// geminiErrors are Google's names of HTTP statuses.
var geminiErrors = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
}

// limit is the quota of a day.
func (g *geminiSpeaker) limit(end time.Time) {
	refuse(g.w, http.StatusTooManyRequests, 0)
	_ = json.NewEncoder(g.w).Encode(object{"error": object{
		"code": http.StatusTooManyRequests, "status": geminiErrors[http.StatusTooManyRequests],
		"message": "You exceeded your current quota",
		"details": []object{
			{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []object{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel", "quotaMetric": "requests"}}},
			{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%ds", int(time.Until(end).Seconds()))},
		},
	}})
}

func (g *geminiSpeaker) fail(code int, text string, after time.Duration) {
	refuse(g.w, code, after)
	_ = json.NewEncoder(g.w).Encode(object{"error": object{"code": code, "message": message(code, text), "status": geminiErrors[code]}})
}
