import { describe, expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { MessageId, SandboxResult } from '../../model/message.ts';
import { type PersonalSettings, reachOf } from '../../model/personal.ts';
import {
  type Caller,
  type RawSubmission,
  SUBMISSION_DEFAULTS,
  type Submission,
  sendingCaller,
} from '../../model/submission.ts';
import { LANE_MAX_AGE } from '../queue/retry-schedule.ts';
import { chargedRecipients } from './commit-messages.ts';
import { newMessage, type SimulatedMail } from './new-message.ts';
import { createPersonalRules } from './personal-rules.ts';
import { quotaExceeded, requireQuota } from './quota.ts';
import { releasedMessage } from './release.ts';
import { MAGIC_RECIPIENTS, magicResult } from './simulator.ts';

const NOW = 1_800_000_000_000;
const ID = '01990000-0000-7000-8000-000000000001' as MessageId;
const random = createSystemRandom();

const CALLER = { ...sendingCaller('token'), owner: 'owner', domains: ['example.com'] };

const SUBMISSION: Submission = {
  ...SUBMISSION_DEFAULTS,
  from: { name: '', address: 'a@example.com' },
  fromDomain: 'example.com',
  recipients: [
    { name: 'B', address: 'b@example.net', domain: 'example.net', kind: 'To' },
    { name: '', address: 'bounced+x@simulator.test', domain: 'simulator.test', kind: 'BCC' },
    { name: '', address: 'suppressed@simulator.test', domain: 'simulator.test', kind: 'CC' },
  ],
  subject: 'S',
  body: { kind: 'text', text: 'x' },
  tags: ['t'],
};

const COMPOSED = { bytes: Buffer.from('Subject: S\r\n\r\nx\r\n'), bodyOffset: 14, needsSmtpUtf8: false };

function made(
  change: Partial<Submission> | Partial<RawSubmission> = {},
  more: { caller?: Partial<Caller>; maxAgeMs?: number; ruleMayApply?: (mail: SimulatedMail) => boolean } = {},
) {
  const { caller, maxAgeMs = null, ruleMayApply } = more;
  const deps = { clock: createVirtualClock(NOW), random, simulatorDomain: 'simulator.test', maxAgeMs };
  return newMessage(
    { ...deps, ...(ruleMayApply && { ruleMayApply }) },
    { caller: { ...CALLER, ...caller }, submission: { ...SUBMISSION, ...change } as Submission },
    'example.com',
    ID,
    NOW,
    COMPOSED,
  );
}

describe('a magic recipient', () => {
  it.each(Object.entries(MAGIC_RECIPIENTS))(
    '%s asks for %s, in any case and with any label',
    (name, result) => {
      for (const local of [name, name.toUpperCase(), `${name}+`, `${name}+a+b`])
        expect(magicResult(`${local}@simulator.test`)).toBe(result);
    },
  );

  it.each(['', 'other', '+bounced', 'bounced.', 'constructor', '__proto__', 'toString', '"bounced"'])(
    'of the unknown name %j is delivered',
    (local) => expect(magicResult(`${local}@simulator.test`)).toBe('deliver'),
  );

  it('is named by what stands before the last @', () => {
    expect(magicResult('"bounced@x"+y@simulator.test')).toBe('deliver');
    expect(magicResult('bounced+a@b@simulator.test')).toBe('bounce');
  });
});

describe('the rows of a new message', () => {
  const played = (message: ReturnType<typeof made>) => message.recipients.map(({ sandbox }) => sandbox);

  it('are played by the sandbox as their names say, and by nothing else', () => {
    const message = made();
    expect(played(message)).toEqual([null, 'bounce', 'suppress']);
    expect(message.recipients.map(({ state }) => state)).toEqual(['queued', 'queued', 'suppressed']);
    expect(message.recipients.map(({ events }) => events.map(({ kind }) => kind))).toEqual([
      ['accepted'],
      ['accepted'],
      ['suppressed'],
    ]);
    expect(message.sandbox).toBe(false);
  });

  it.each<[string, SandboxResult | null, boolean, (SandboxResult | null)[]]>([
    ['what the request says wins over names', 'defer', false, ['defer', 'defer', 'defer']],
    ['and over a sandbox token', 'defer', true, ['defer', 'defer', 'defer']],
    ['names win over a sandbox token', null, true, ['deliver', 'bounce', 'suppress']],
  ])('%s', (_, wanted, sandbox, results) => {
    const message = made({ sandbox: wanted }, { caller: { sandbox } });
    expect([played(message), message.sandbox]).toEqual([results, true]);
  });

  it('are a sandbox message where every recipient is played, whoever sent it', () => {
    expect(made({ recipients: SUBMISSION.recipients.slice(1) }).sandbox).toBe(true);
  });

  it('ask the rules of the sandbox only about recipients that nothing else sends there', () => {
    const asked: string[] = [];
    const ruleMayApply = ({ address }: SimulatedMail) => asked.push(address) > 0;
    expect(played(made({}, { ruleMayApply }))).toEqual(['deliver', 'bounce', 'suppress']);
    expect(asked).toEqual(['b@example.net']);
  });

  it('wait until they are to go, and are given up by their age from then on', () => {
    const sendAt = NOW + 5_000;
    const message = made({ sendAt });
    expect(message.expiresAt).toBe(sendAt + LANE_MAX_AGE.normal);
    expect(message.recipients[0]).toMatchObject({ dueAt: sendAt, waitReason: 'scheduled' });
    expect(message.recipients[0]?.events).toMatchObject([
      { kind: 'scheduled', detail: { nextAttemptAt: sendAt } },
    ]);
    expect(made({ sendAt }, { maxAgeMs: 9 }).expiresAt).toBe(sendAt + 9);
    expect(made({}, { maxAgeMs: 9 })).toMatchObject({ expiresAt: NOW + 9, expiryGiven: false });
    expect(made({ expiresAt: NOW + 7 }, { maxAgeMs: 9 })).toMatchObject({
      expiresAt: NOW + 7,
      expiryGiven: true,
    });
  });

  it('keep the three lists apart, with Bcc', () => {
    const { to, cc, bcc } = made().lists;
    expect([to, cc, bcc].map((list) => list.map(({ address }) => address))).toEqual([
      ['b@example.net'],
      ['suppressed@simulator.test'],
      ['bounced+x@simulator.test'],
    ]);
  });

  it('have the null sender, or a wish for notices, only where the mail came with an envelope', () => {
    const notice = { ret: null, envid: null } as never;
    expect(made()).not.toHaveProperty('nullSender');
    expect(made({ envelopeDomain: null, notice })).toMatchObject({ nullSender: true });
    expect(made({ envelopeDomain: null, notice })).not.toHaveProperty('notice');
    expect(made({ envelopeDomain: 'example.com', notice })).toMatchObject({ notice });
    expect(made({ envelopeDomain: 'example.com', notice: null })).not.toHaveProperty('notice');
  });

  it('use up a quota only for recipients that get mail', () => {
    expect(chargedRecipients(made())).toBe(1);
    expect(chargedRecipients(made({ sandbox: 'deliver' }))).toBe(0);
  });
});

describe('a quota', () => {
  const none = { minute: null, hour: null, day: null };
  const uses = [
    { period: 'minute' as const, used: 5, resetAt: NOW + 300 },
    { period: 'hour' as const, used: 5, resetAt: NOW + 90_500 },
  ];
  const store = { quotaUses: async () => [uses] } as never;

  it('lets through what just fits, and what has no limit', async () => {
    await requireQuota(store, made(), none);
    await requireQuota(store, made(), { ...none, minute: 6, hour: 6 });
    await requireQuota(store, made(), { ...none, day: 1 });
  });

  it('refuses what is one too many with what is left and when it starts anew', async () => {
    const refusal = requireQuota(store, made(), { ...none, hour: 5 });
    await expect(refusal).rejects.toMatchObject({
      problems: [expect.objectContaining({ name: 'quota-exceeded' })],
    });
    // A limit that was lowered below what is used leaves nothing, not less than that.
    await expect(requireQuota(store, made(), { ...none, hour: 2 })).rejects.toThrow(/ 0 are left until /);
  });

  it('asks for at least a second of patience, in whole seconds', () => {
    const at = (resetAt: number) =>
      quotaExceeded({ domain: 'd', period: 'minute', max: 1, left: 0, resetAt }, made()).limit?.resetSeconds;
    expect([at(NOW + 300), at(NOW - 1), at(NOW + 1_001)]).toEqual([1, 1, 2]);
  });
});

describe('personal links', () => {
  const settings: PersonalSettings = {
    tracking: { opens: true, clicks: false },
    listUnsubscribe: false,
    trackingHost: 'track.example.com',
  };
  const rules = createPersonalRules({
    publicUrl: () => 'https://mail.example',
    mailtoDomain: 'bounce.example',
    testLinks: false,
  });
  const mail = { fromDomain: 'example.com', lane: 'normal' as const };

  it('lead to the tracking host of the domain, else to the public URL', () => {
    expect(rules.optionsFor(mail, settings)).toMatchObject({
      base: 'https://track.example.com',
      reach: 'one-click',
      host: 'track.example.com',
      opens: true,
      mailtoDomain: 'bounce.example',
    });
    const without = { ...settings, trackingHost: null };
    expect(rules.optionsFor(mail, without)).toMatchObject({ base: 'https://mail.example', host: '' });
  });

  it('are none where nothing is wanted or nothing leads back', () => {
    expect(rules.optionsFor(mail, null)).toBeNull();
    const wish = { opens: false, clicks: null, listUnsubscribe: null };
    expect(rules.optionsFor({ ...mail, personal: wish }, settings)).toBeNull();
    const nowhere = createPersonalRules({ publicUrl: null, mailtoDomain: null, testLinks: false });
    expect(nowhere.optionsFor({ ...mail, lane: 'bulk' }, settings)).toBeNull();
  });

  it.each([
    ['http://127.0.0.1:8025', false, { reach: 'none', opens: false, clicks: false, unsubscribe: true }],
    ['http://mail.example', false, { reach: 'page', opens: true, clicks: true, unsubscribe: true }],
    ['http://127.0.0.1:8025', true, { reach: 'one-click', opens: true, clicks: true, unsubscribe: true }],
  ])('of %s lead where readers get, or, in tests (%s), to this machine', (base, testLinks, expected) => {
    const made = createPersonalRules({ publicUrl: () => base, mailtoDomain: null, testLinks });
    const wish = { opens: true, clicks: true, listUnsubscribe: true };
    expect(made.optionsFor({ ...mail, personal: wish }, null)).toMatchObject(expected);
    const only = made.optionsFor({ ...mail, personal: { ...wish, listUnsubscribe: false } }, null);
    expect(only === null).toBe(expected.reach === 'none');
  });

  it.each([
    ['https://mail.example', 'one-click'],
    ['https://mail.example:8443/post', 'one-click'],
    ['http://mail.example', 'page'],
    ['https://localhost', 'none'],
    ['https://mail.localhost.', 'none'],
    ['http://[::1]:8025', 'none'],
    ['https://127.1.2.3', 'none'],
    ['https://localhost.example', 'one-click'],
    ['nonsense', 'none'],
  ])('of %s are good for: %s', (base, reach) => {
    expect(reachOf(base)).toBe(reach);
  });

  it('do not stand beside an unsubscribe header of the sender', () => {
    const bulk = { ...mail, lane: 'bulk' as const };
    const wish = { opens: false, clicks: false, listUnsubscribe: null };
    expect(rules.optionsFor({ ...bulk, personal: wish, headers: [] }, null)).toMatchObject({
      unsubscribe: true,
    });
    for (const name of ['List-Unsubscribe', 'LIST-UNSUBSCRIBE']) {
      expect(rules.optionsFor({ ...bulk, personal: wish, headers: [[name, '<x>']] }, null)).toBeNull();
    }
    for (const name of ['X-List-Unsubscribe', 'List-Unsubscribe-Post']) {
      const other = { ...bulk, personal: wish, headers: [[name, '<x>']] as const };
      expect(rules.optionsFor(other, null)).toMatchObject({ unsubscribe: true });
    }
  });
});

describe('a captured message that is released', () => {
  const old = '01990000-0000-7000-8000-00000000000a' as MessageId;
  const header = `Subject: S\r\nMessage-ID: <${old}@example.com>\r\n\r\n`;
  const release = (content: string | Buffer, bodyOffset = header.length) =>
    releasedMessage(
      {
        caller: CALLER,
        domain: 'example.com',
        recipient: { name: '', address: 'c@example.org', domain: 'example.org', kind: 'CC' },
        captured: {
          captureId: 'capture',
          message: { ...made(), id: old } as never,
          facts: { keepContent: true, bodyOffset, needsSmtpUtf8: false, eightBit: false, dateOffset: 6 },
          content: typeof content === 'string' ? Buffer.from(content) : content,
          places: null,
        },
      },
      { clock: createVirtualClock(NOW), random, maxAgeMs: null },
    );

  it('has an id of its own in the header, where ours was, and nothing else moves', () => {
    const body = `see <${old}@example.com>\r\n`;
    const message = release(`${header}${body}`);
    expect(message.id).not.toBe(old);
    expect(Buffer.from(message.content).toString()).toBe(`${header.replace(old, message.id)}${body}`);
  });

  it('keeps an id that is not ours, also where ours stands in the body', () => {
    const own = 'Message-ID: <theirs@example.com>\r\n\r\n';
    const content = `${own}<${old}@example.com>\r\n`;
    expect(Buffer.from(release(content, own.length).content).toString()).toBe(content);
  });

  it('goes to the one recipient for real, without a copy of the bytes that were read for it', () => {
    const captured = Buffer.from(header);
    const message = release(captured);
    expect(message.content.buffer).toBe(captured.buffer);
    expect(message).toMatchObject({ sandbox: false, releases: 'capture', sendAt: null });
    expect(message.recipients).toMatchObject([
      { address: 'c@example.org', kind: 'CC', sandbox: null, state: 'queued' },
    ]);
  });
});
