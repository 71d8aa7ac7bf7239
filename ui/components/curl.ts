/** A command that sends a mail, as it can be pasted into a shell. Pure. */
import { shellWord } from '../api/me.ts';

/** `token`: as the shell finds it. */
export function curlCommand(origin: string, body: object, token = '$TOKEN'): string {
  // A terminal takes DEL from what is pasted for its key, and deletes the quote; C1 controls mean something to some, too.
  const json = JSON.stringify(body).replace(
    /[\u007f-\u009f]/g,
    (char) => `\\u00${char.charCodeAt(0).toString(16)}`,
  );
  return [
    `curl -sS ${origin}/api/v1/email \\`,
    `  -H "Authorization: Bearer ${token}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${shellWord(json)}`,
  ].join('\n');
}
