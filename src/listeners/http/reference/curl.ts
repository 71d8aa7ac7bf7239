/** Commands to copy, and an operation as one: the server's own address, the example's values, the token from `$TOKEN`. */
import { escapeHtml } from '../../../lib/escape-html.ts';
import { object, type PageOperation, text } from './spec.ts';

/** One command over several lines. */
export function curlOf(operation: PageOperation): string {
  const { method, path, base, open, body } = operation;
  const media = Object.keys(object(object(operation.responses['200']).content))[0];
  const filled = operation.parameters.reduce<string>(
    (at, parameter) =>
      parameter.in === 'path'
        ? at.replace(`{${text(parameter.name)}}`, encodeURIComponent(String(parameter.example ?? '')))
        : at,
    path,
  );
  const lines = [
    `curl${media === 'text/event-stream' ? ' -N' : ''}${method === 'GET' ? '' : ` -X ${method}`} ${quoted(base + filled)}`,
  ];
  if (!open) lines.push('-H "Authorization: Bearer $TOKEN"');
  if (body !== null) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body.example, null, 2))}`);
  }
  if (media === 'message/rfc822') lines.push('-o message.eml');
  return lines.join(' \\\n  ');
}

/** A command as HTML, with a button that copies it. */
export function command(line: string): string {
  return `<div class="curl"><button class="js copy" type="button">Copy</button><pre tabindex="0"><code>${escapeHtml(line)}</code></pre></div>`;
}

/** For a POSIX shell. */
function quoted(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}
