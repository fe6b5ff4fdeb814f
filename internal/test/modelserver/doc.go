// Package modelserver is a language model that follows a script, for tests: an
// HTTP server that speaks to Claude Code, Codex, Copilot CLI, Gemini CLI and Qwen Code in their own
// languages and says what the prompt tells it to say.
//
// It answers Anthropic's Messages (POST /v1/messages, streamed or whole, and
// count_tokens), OpenAI's Responses (POST /v1/responses) and Chat Completions (POST
// /v1/chat/completions), and Gemini's
// :generateContent, :streamGenerateContent and :countTokens. So the real programs
// run without any account: ANTHROPIC_BASE_URL, a model_providers entry in Codex's
// configuration, or GOOGLE_GEMINI_BASE_URL lead to Server.URL, with any key.
//
// # The script
//
// A turn is scripted in the prompt, in double brackets; all other text in it
// means nothing. Steps are taken in their order:
//
//	[[delay 2s]]           wait
//	[[await /tmp/go]]      wait until that file exists
//	[[text hello]]         say "hello"
//	[[lines 90]]           say a list of that many lines
//	[[tool bash: echo hi]] call the program's own shell tool; what follows is
//	                       done once the tool's result has come back
//	[[tool ask: echo hi]]  the same, in a way that a person has to approve (of
//	                       Codex it asks to leave the sandbox)
//	[[tool Write {"file_path":"a","content":"b"}]]
//	                       call the tool of that name with these arguments
//	[[status 429]]         answer with that HTTP status, to every attempt
//	[[status 429 x2]]      only to the first two attempts; then go on
//	[[status 429 Usage limit reached, resets 3pm]]
//	                       with these words for a message
//	[[status 429 after 5s]]
//	                       and say that it may be tried again in that time
//	[[limit 2h]]           say that the account's limit is used up for that time
//	[[usage {"input":10,"cache_read":20,"output":30,"reasoning":5}]]
//	                       say that the answer takes so many tokens, as in Usage
//	[[stall]]              begin to answer, and never go on
//	[[hang]]               take the request and never answer
//	[[cut]]                begin to answer, and close the connection
//
// A script that says nothing, or a prompt without one, is answered with "ok". For
// example
//
//	fix it [[delay 1s]] [[text I look.]] [[tool bash: ls]] [[text Fixed.]]
//
// says "I look." and calls the shell after a second; when the result of that is
// handed in, it says "Fixed." and the turn is over.
//
// Which prompt is meant follows from the request alone: the last message of the
// user that the program did not make up by itself (those begin with "<"). How far
// its script has come is how many tool results stand after it. Only the attempts
// of [[status N xM]] are counted here, by prompt.
//
// # Usage
//
// Each answer says how many tokens it took, as the real APIs do: Anthropic counts
// what its cache had and took apart from the input, the others within it, and
// Gemini counts thoughts apart from the output. Server.Spent has the same numbers,
// for tests that compare. Of an answer that was not sent to its end it has what was
// told of it: Anthropic tells the input at the beginning.
//
// # Requests behind the scenes
//
// The programs also ask for titles, summaries and quotas. A request that offers
// the model no tools is taken for one of these: it is answered at once with an
// object that has every answer they look for, whatever the prompt in it says. It
// is recorded with Side set. Lists of models are empty; anything else (telemetry,
// updates, feature flags) is not found.
package modelserver
