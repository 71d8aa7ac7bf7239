/** The test code to copy holds whatever a subject says: nothing in it ends a quotation. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import type { CaptureDetail, Me } from '../../../../src/client/api-types.ts';
import { testCode } from './test-code-text.ts';

const HOSTILE = `It's "new" $(id) \`id\` \\ %s`;

const DEVELOPER = { Mode: 'dev', Command: './bin/postrider', DataFolder: "/srv/it's mail" } as Me;

function mail(more: Partial<CaptureDetail> = {}): CaptureDetail {
  return {
    EnvelopeTo: 'ada+1@example.net',
    Subject: HOSTILE,
    Codes: ['482913'],
    Links: [],
    ...more,
  } as CaptureDetail;
}

it('is one word for a shell', () => {
  const command = testCode('cli', mail(), 'http://127.0.0.1:8025', DEVELOPER).replace(
    /^\.\/bin\/postrider/,
    'printf "%s\\n"',
  );
  const words = execFileSync('sh', ['-c', command], { encoding: 'utf8' }).trimEnd().split('\n');
  expect(words).toEqual(['sandbox', 'wait', '--to', 'ada+1@example.net', '--subject', HOSTILE, '--code']);
});

it('asks the same for every language', () => {
  for (const kind of ['curl', 'node', 'python'] as const)
    expect(testCode(kind, mail({ Subject: 'Hello' }), 'http://127.0.0.1:8025', DEVELOPER)).toMatch(
      /http:\/\/127\.0\.0\.1:8025\/api\/v1\/sandbox\/wait\?/,
    );
  expect(testCode('node', mail({ Codes: [], Links: ['https://example.com'] }), '', DEVELOPER)).toContain(
    'mail.Links[0]',
  );
});

it('reads the token of a development server from its file, and elsewhere from a variable', () => {
  const codes = (me: Me) =>
    (['curl', 'node', 'python'] as const).map((kind) => testCode(kind, mail(), '', me));
  const [curl, ...programs] = codes(DEVELOPER);
  expect(curl).toContain(`$(cat '/srv/it'\\''s mail/admin-token')`);
  for (const program of programs) expect(program).toContain(`"/srv/it's mail/admin-token"`);
  for (const me of [
    { ...DEVELOPER, DataFolder: null },
    { ...DEVELOPER, Mode: 'serve' as const },
  ])
    for (const code of codes(me)) {
      expect(code).toContain('POSTRIDER_TOKEN');
      expect(code).not.toMatch(/admin-token|readFileSync|pathlib/);
    }
});
