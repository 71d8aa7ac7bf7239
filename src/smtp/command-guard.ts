/**
 * Every SMTP command line passes through here before it is written. Takes one command without its line end; returns it
 * with CRLF, or null. Refused are CR, LF, NUL and all other control characters (which could start a second command),
 * text outside ASCII unless the transaction uses SMTPUTF8 (RFC 6531), and lines over 2,048 characters. Addresses are
 * also checked where they enter the program; this check holds even if one of those is missing.
 */

/** RFC 5321 §4.5.3.1.4 says 512 and extensions add several hundred; legitimate commands are far shorter. */
const MAX_COMMAND_CHARS = 2048;

/** Whether `text` may be part of a command line: no control character, and only ASCII unless `allowUtf8`. */
export function isCleanText(text: string, allowUtf8: boolean): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 32 || code === 127) return false;
    if (code > 127 && (!allowUtf8 || (code >= 0x80 && code <= 0x9f))) return false;
  }
  return allowUtf8 ? text.isWellFormed() : true;
}

/** The command with CRLF, or null if it must not be sent. */
export function commandLine(command: string, allowUtf8: boolean): string | null {
  if (command.length === 0 || command.length > MAX_COMMAND_CHARS) return null;
  return isCleanText(command, allowUtf8) ? `${command}\r\n` : null;
}

/**
 * Whether an address between `<` and `>` cannot end the path early: outside a quoted local part it has no blank, angle
 * bracket or backslash, and every quote is closed. Not a check of the address itself. '' (the null sender) passes.
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
