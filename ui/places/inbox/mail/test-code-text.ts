/** Test code that waits for such a mail as one that was captured, in several languages. Pure. */
import type { CaptureDetail, Me } from '../../../../src/client/api-types.ts';
import { commandOf, shellWord, tokenFileOf, tokenInShell } from '../../../api/me.ts';

export type Kind = 'cli' | 'curl' | 'node' | 'python';

/** `origin`: where this server is. */
export function testCode(kind: Kind, mail: CaptureDetail, origin: string, me: Me | undefined): string {
  const { EnvelopeTo: to, Subject: subject, Codes, Links } = mail;
  const find = Codes.length > 0 ? 'code' : Links.length > 0 ? 'link' : null;
  const tokenFile = tokenFileOf(me);
  const query = new URLSearchParams({ To: to, Subject: subject, Timeout: '30' });
  switch (kind) {
    case 'cli':
      return commandOf(
        me,
        `sandbox wait --to ${shellWord(to)} --subject ${shellWord(subject)}${find === null ? '' : ` --${find}`}`,
      );
    case 'curl':
      return [
        `curl -sS --fail-with-body ${shellWord(`${origin}/api/v1/sandbox/wait?${query}`)} \\`,
        `  -H "Authorization: Bearer ${tokenInShell(tokenFile)}"`,
      ].join('\n');
    case 'node':
      return [
        "import assert from 'node:assert/strict';",
        ...(tokenFile === null ? [] : ["import { readFileSync } from 'node:fs';"]),
        '',
        `const query = new URLSearchParams(${JSON.stringify({ To: to, Subject: subject, Timeout: '30' })});`,
        `const answer = await fetch(\`${origin}/api/v1/sandbox/wait?\${query}\`, {`,
        `  headers: { authorization: 'Bearer ' + ${tokenFile === null ? 'process.env.POSTRIDER_TOKEN' : `readFileSync(${JSON.stringify(tokenFile)}, 'utf8').trim()`} },`,
        '});',
        'assert.equal(answer.status, 200);',
        'const mail = await answer.json();',
        ...(find === null ? [] : [`assert.ok(mail.${find === 'code' ? 'Codes' : 'Links'}[0]);`]),
      ].join('\n');
    case 'python':
      return [
        `import json, ${tokenFile === null ? 'os' : 'pathlib'}, urllib.parse, urllib.request`,
        '',
        `query = urllib.parse.urlencode({"To": ${JSON.stringify(to)}, "Subject": ${JSON.stringify(subject)}, "Timeout": 30})`,
        `token = ${tokenFile === null ? 'os.environ["POSTRIDER_TOKEN"]' : `pathlib.Path(${JSON.stringify(tokenFile)}).read_text().strip()`}`,
        'request = urllib.request.Request(',
        `    "${origin}/api/v1/sandbox/wait?" + query, headers={"Authorization": "Bearer " + token}`,
        ')',
        'mail = json.load(urllib.request.urlopen(request, timeout=40))',
        ...(find === null ? [] : [`assert mail["${find === 'code' ? 'Codes' : 'Links'}"][0]`]),
      ].join('\n');
  }
}
