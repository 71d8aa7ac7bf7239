/** An operation as a command to copy: the server's own address, the example's values, the token from `$TOKEN`. */
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
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body.example))}`);
  }
  if (media === 'message/rfc822') lines.push('-o message.eml');
  return lines.join(' \\\n  ');
}

/** For a POSIX shell. */
function quoted(value: string): string {
  return `'${value.replaceAll("'", `'\\''`)}'`;
}
