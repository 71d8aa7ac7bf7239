/** A command that sends a mail, as it can be pasted into a shell that has a token in `TOKEN`. Pure. */
export function curlCommand(origin: string, body: object): string {
  // A terminal takes DEL from what is pasted for its key, and deletes the quote; C1 controls mean something to some, too.
  const json = JSON.stringify(body).replace(
    /[\u007f-\u009f]/g,
    (char) => `\\u00${char.charCodeAt(0).toString(16)}`,
  );
  return [
    `curl -sS ${origin}/api/v1/email \\`,
    '  -H "Authorization: Bearer $TOKEN" \\',
    "  -H 'Content-Type: application/json' \\",
    // A quote ends the text of a shell, is given by itself, and the text goes on.
    `  -d '${json.replaceAll("'", `'\\''`)}'`,
  ].join('\n');
}
