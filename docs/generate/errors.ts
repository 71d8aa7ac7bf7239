/** errors.md: the registry of src/lib/errors.ts, and whether this version has a place that raises each. */
import { ERRORS } from '../../src/lib/errors.ts';
import { page, sources, table } from './markdown.ts';

export function errorsPage(): string {
  const raised = namesInCode();
  const rows = Object.entries(ERRORS).map(([name, { code, status, text }]) => [
    String(code),
    `\`${name}\``,
    String(status),
    text,
    raised.has(name) ? 'yes' : 'reserved',
  ]);
  return page('Errors', INTRODUCTION, table(['Code', 'Name', 'HTTP', 'Sentence', 'Raised'], rows));
}

/** Names that stand in quotes anywhere outside the registry. */
function namesInCode(): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [file, text] of sources()) {
    if (file === 'src/lib/errors.ts') continue;
    for (const name of Object.keys(ERRORS)) if (text.includes(`'${name}'`)) found.add(name);
  }
  return found;
}

const INTRODUCTION = `Every refusal is \`application/problem+json\` (RFC 9457) with two members more: \`Errors\`, one item per problem,
and \`Error\`, the first problem's sentence. Codes and names are stable for v1; sentences are not.

\`\`\`json
{ "type": "https://mail.example.com/api/v1/problems/subject-required",
  "title": "Subject is required", "status": 422,
  "detail": "1 problem in the request body.", "instance": "urn:uuid:019ab0c1-7d3e-7000-8000-000000000000",
  "Error": "Subject is required",
  "Errors": [ { "Code": 8, "Name": "subject-required", "Message": "Subject is required", "Field": "/Subject" } ] }
\`\`\`

\`Field\` is a JSON Pointer in the documented spelling. At most 25 problems of a request are listed. \`type\` leads to a
page of the running server. 401 carries \`WWW-Authenticate\`; 429 and 503 carry \`Retry-After\`. "Reserved" codes belong to
parts that this version does not have.`;
