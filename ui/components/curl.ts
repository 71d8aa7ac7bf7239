/** A command that sends a mail, as it can be pasted into a shell that has a token in `TOKEN`. Pure. */
export function curlCommand(origin: string, body: object): string {
  return [
    `curl -sS ${origin}/api/v1/email \\`,
    '  -H "Authorization: Bearer $TOKEN" \\',
    "  -H 'Content-Type: application/json' \\",
    // A quote ends the text of a shell, is given by itself, and the text goes on.
    `  -d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`,
  ].join('\n');
}
