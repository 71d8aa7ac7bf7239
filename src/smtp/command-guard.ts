/**
 * The single choke point in front of the socket writer: nothing becomes an SMTP command line without passing here.
 * Given: the text of one command without its line end. Leaves behind: that text with CRLF, or null.
 * Refused: CR, LF, NUL and every other control character (a second command could hide behind them), anything outside
 * ASCII unless the transaction runs under SMTPUTF8 (RFC 6531), and lines over 2,048 characters.
 * The rest of the program checks addresses at its door already; this holds even when a door was forgotten.
 */

/** RFC 5321 §4.5.3.1.4 says 512, its extensions add several hundred more; nothing honest comes near this. */
export const MAX_COMMAND_CHARS = 2048;

/** Whether `text` may stand in a command line: no control character, and ASCII only unless `allowUtf8`. */
export function isCleanText(text: string, allowUtf8: boolean): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 32 || code === 127) return false;
    if (code > 127 && (!allowUtf8 || (code >= 0x80 && code <= 0x9f))) return false;
  }
  return allowUtf8 ? text.isWellFormed() : true;
}

/** The command with its CRLF, or null when it must not be sent. */
export function commandLine(command: string, allowUtf8: boolean): string | null {
  if (command.length === 0 || command.length > MAX_COMMAND_CHARS) return null;
  return isCleanText(command, allowUtf8) ? `${command}\r\n` : null;
}

/**
 * Whether an address can stand between `<` and `>` without ending the path early: outside a quoted local part no
 * blank, angle bracket or backslash, and every quote closed. Not a check of the address itself. '' (the null sender) passes.
 */
export function isSafePath(address: string): boolean {
  let quoted = false;
  for (let i = 0; i < address.length; i += 1) {
    const code = address.charCodeAt(i);
    if (quoted && code === 92) {
      i += 1;
      if (i >= address.length) return false;
    } else if (code === 34) quoted = !quoted;
    else if (!quoted && (code === 32 || code === 60 || code === 62 || code === 92)) return false;
  }
  return !quoted;
}
