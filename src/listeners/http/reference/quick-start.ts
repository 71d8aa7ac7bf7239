/**
 * The first three things a newcomer does: take a token, send one message, see what became of it. Commands that work as they
 * are pasted, on a fresh development server and on one in use: the recipient is one of the sandbox, so nothing leaves.
 */
import { command } from './curl.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: of the shell
const TOKEN = 'export TOKEN="$(cat "${POSTRIDER_DATA:-postrider-data}/admin-token")"';

const MESSAGE = `{
  "From": {"name": "Postrider", "email": "hello@example.com"},
  "To": [{"name": "You", "email": "delivered@simulator.test"}],
  "Subject": "It works",
  "ContentType": "Text",
  "PlainContent": "Sent by postrider."
}`;

/** The section, for a server whose API is at `base`. */
export function quickStart(base: string): string {
  const send = `curl -sS '${base}/email' \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '${MESSAGE}'`;
  const look = `curl -sS '${base}/email?Limit=1' \\
  -H "Authorization: Bearer $TOKEN"`;
  return `<section class="start" id="quick-start"><h2>Quick start</h2>
<p>Three commands to paste into a terminal that has <code>curl</code>.</p>
<ol>
<li><h3>Take a token</h3>
<p>On the machine of the server, in the folder where it was started:</p>
${command(TOKEN)}
<p>That is the administrator’s token. For a program make one of its own with <code>postrider token create</code>. Somebody else’s server?
Ask for a token, then: <code>export TOKEN='…'</code></p></li>
<li><h3>Send a message</h3>
<p>This one goes to the sandbox, which keeps it: nothing leaves the server. In production <code>From</code> must be an address of a
domain that you added.</p>
${command(send)}
<p>The answer is <code>{"MessageID":"…"}</code>: the message was checked and is on the disk.</p></li>
<li><h3>See what became of it</h3>
${command(look)}
<p><code>RecipientStatuses</code> says <code>Captured</code>; of mail that leaves it says Delivered, Deferred or Bounced. Everything about one
message: <a href="#getEmail">Show a message</a>. To be told instead of asking: <a href="#createWebhook">Add a webhook</a>.</p></li>
</ol></section>`;
}
