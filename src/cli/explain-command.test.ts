import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { createProgram } from './program.ts';
import type { Terminal } from './terminal.ts';

async function run(
  args: readonly string[],
  input = '',
): Promise<{ code: number; out: string; error: string }> {
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  stdin.end(input);
  const program = createProgram({
    environment: {},
    calledAs: () => 'postrider',
    stdin,
    stdout,
    stderr,
  } as never as Terminal);
  const out = text(stdout);
  const error = text(stderr);
  const code = await program.run(args);
  stdout.end();
  stderr.end();
  return { code, out: await out, error: await error };
}

describe('postrider explain', () => {
  it('says what a reply means, whose fault it is, what happens next and who can mend it', async () => {
    const { code, out } = await run(['explain', '550 5.1.1 <a@example.net>: User unknown']);
    expect(code).toBe(0);
    expect(out).toContain('The mailbox does not exist');
    expect(out).toContain('It is not tried again, and the address is suppressed.');
    expect(out).toContain('recipient_invalid');
  });

  it('says of a temporary reply only what it says for now, and what is done at once', async () => {
    const pending = await run([
      'explain',
      '450 4.1.1 <a@example.net>: unverified address: Address verification in progress',
    ]);
    expect(pending.out).toContain('has not found out yet whether it exists');
    expect(pending.out).not.toContain('does not exist');
    const starttls = await run([
      'explain',
      '530 5.7.0 Must issue a STARTTLS command first',
      '--stage',
      'mail',
    ]);
    expect(starttls.out).toContain('It is sent again at once under TLS');
    const many = await run(['explain', '452 4.5.3 Too many recipients']);
    expect(many.out).toContain('The other recipients follow at once in further transactions');
  });

  it('admits it where the words are not known well', async () => {
    expect((await run(['explain', '550 nope'])).out).toContain('Not certain');
    const unquoted = ['550', '5.1.1', 'User', 'unknown'];
    expect((await run(['explain', ...unquoted])).out).not.toContain('Not certain');
  });

  it('takes a refused login for one, whatever it answered', async () => {
    const { out } = await run(['explain', '535 5.7.8 Authentication credentials invalid', '--json']);
    expect(JSON.parse(out)).toMatchObject({
      category: 'relay_login_failed',
      suppress: 'no',
      rule: 'code:535',
    });
  });

  it('does not read one provider’s phrase into everybody’s', async () => {
    const { out } = await run(['explain', '554 5.7.1 Rejected for policy reasons', '--json']);
    expect(JSON.parse(out)).toMatchObject({ category: 'policy_other' });
  });

  it('reads a JSON line whose text repeats its code as one whose text does not', async () => {
    const line = { id: 'a', stage: 'rcpt', code: 452, text: '4.5.3 Try again later' };
    const { out } = await run(
      ['explain'],
      `${JSON.stringify({ ...line, enhanced: '4.5.3' })}\n${JSON.stringify({ ...line, text: '452 4.5.3 Try again later' })}\n`,
    );
    const [without, repeated] = out.trim().split('\n');
    expect(repeated).toBe(without);
  });

  it('reads a reply of several lines', async () => {
    const { out } = await run([
      'explain',
      '--json',
      '550-5.7.1 Sorry\n550 5.7.1 Your IP 192.0.2.1 is blacklisted',
    ]);
    expect(JSON.parse(out)).toMatchObject({
      category: 'ip_blocklisted',
      scope: 'path',
      suppress: 'no',
      verdict: 'defer',
    });
  });

  it('takes the stage and the host into account', async () => {
    const { out } = await run(['explain', '554 no', '--stage', 'banner', '--json']);
    expect(JSON.parse(out)).toMatchObject({ scope: 'path', verdict: 'path' });
    const microsoft = await run([
      'explain',
      '550 5.4.1 Recipient address rejected: Access denied',
      '--mx',
      'x.mail.protection.outlook.com',
      '--json',
    ]);
    expect(JSON.parse(microsoft.out)).toMatchObject({ category: 'recipient_invalid', suppress: 'no' });
  });

  it('classifies JSON lines, each by its own stage and host', async () => {
    const lines = [
      { id: 1, stage: 'rcpt', code: 550, enhanced: '5.1.1', text: 'User unknown', mx: 'mx.example.net' },
      { id: 'b', stage: 'dot', code: 452, enhanced: null, text: '4.2.2 Mailbox full', mx: null },
      { id: 3, text: '421 4.7.0 Too many connections' },
    ];
    const { code, out } = await run(
      ['explain'],
      `${lines.map((line) => JSON.stringify(line)).join('\n')}\n\n`,
    );
    const answers = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(
      answers.map(({ id, category, scope, suppress, verdict }) => [id, category, scope, suppress, verdict]),
    ).toEqual([
      [1, 'recipient_invalid', 'recipient', 'hard', 'bounce'],
      ['b', 'mailbox_full', 'recipient', 'soft', 'retry'],
      [3, 'connection_limited', 'path', 'no', 'path'],
    ]);
    expect(Object.keys(answers[0])).toEqual(['id', 'category', 'scope', 'suppress', 'verdict', 'sentence']);
  });

  it('answers the other lines where one is bad, and fails in the end', async () => {
    const { code, out, error } = await run(
      ['explain'],
      '{"id":1,"code":550,"text":"x"}\nnot json\n{"id":2,"code":250}\n[]\n',
    );
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ id, error: why }) => [id, why]),
    ).toEqual([
      [1, undefined],
      [null, 'not JSON'],
      [2, 'code is a number from 400 to 599'],
      [null, 'not an object'],
    ]);
    expect(code).toBe(1);
    expect(error).toBe('postrider: 3 of 4 lines could not be read\n');
  });

  it('is wrong usage without a reply code or with an unknown stage', async () => {
    expect(await run(['explain', 'hello'])).toMatchObject({
      code: 2,
      error: expect.stringContaining('a reply begins with its code'),
    });
    expect((await run(['explain', 'bob@example.net'])).error).toContain(
      'see: postrider messages --to bob@example.net',
    );
    expect(await run(['explain', '550 x', '--stage', 'lunch'])).toMatchObject({
      code: 2,
      error: expect.stringContaining('--stage is one of'),
    });
  });
});
