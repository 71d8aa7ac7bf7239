/**
 * A month of an online shop, its newsletter and a club: sender domains, templates, tokens, webhooks, people, and mail with
 * all that can become of it. Sent by the API to the far ends of `far-ends.ts`, while the clock jumps from hour to hour.
 */
import { gzipSync } from 'node:zlib';
import PostalMime from 'postal-mime';
import { createDice } from '../../src/simulation/seeded.ts';
import type { SinkMessage } from '../fakes/smtp-sink.ts';
import { arf, attached, type DmarcRow, dmarcDocument, dsn, handIn } from '../scenarios/returns-kit.ts';
import type { Call } from './demo.ts';
import { DAY_MS, type FarEnds, HOUR_MS, RECIPIENT_DOMAINS } from './far-ends.ts';
import type { JumpingClock } from './jumping-clock.ts';
import {
  codeMail,
  FIRST_NAMES,
  invitation,
  LAST_NAMES,
  newsletter,
  receipt,
  SANDBOX_MAILS,
} from './mails.ts';
import { ORDER, TEMPLATES } from './templates.ts';

export interface MonthParams {
  clock: JumpingClock;
  farEnds: FarEnds;
  call: Call;
  returnsPort: number;
  days: number;
  seed: number;
  progress(line: string): void;
}

/** Longer leaps while the past is far away: the charts of the last days are read by the hour. */
const leap = (leftMs: number) => (leftMs > 3 * DAY_MS ? 4 : leftMs > DAY_MS ? 2 : 1) * HOUR_MS;
const AN_HOUR = 9;
const READERS = 220;
const DOMAINS = RECIPIENT_DOMAINS.flatMap(([domain, percent]) => Array<string>(percent).fill(domain));
const QUIET_MS = 1_500;
const POLL_MS = 40;
const CALM_POLLS = 2;
const RETRY_MS = 8 * 60_000;

/** Ends when the clock has jumped the whole time. */
export async function playMonth(params: MonthParams): Promise<void> {
  const { clock, farEnds, call, days, progress } = params;
  const dice = createDice(params.seed);
  const people = Array.from({ length: 900 }, (_, i) => person(i));
  const records = new Map<string, Record<string, string[]>>();
  await prepare();
  for (let left = days * DAY_MS; left > 0; ) {
    const step = Math.min(left, leap(left));
    const hour = new Date(clock.now()).getUTCHours();
    await sendHours(step / HOUR_MS, hour);
    if (isNewsDay(step)) await sendNewsletter();
    if (hour < step / HOUR_MS) await reportYesterday();
    if (left - step <= 2 * DAY_MS) breakClub();
    await quiet();
    await react();
    // What was greylisted is tried again before the longer leap.
    clock.jump(RETRY_MS);
    await quiet();
    clock.jump(step - RETRY_MS);
    left -= step;
    progress(`${Math.ceil(left / DAY_MS)} days left`);
  }
  const [shipped] = (await call('GET', '/templates?Name=order-shipped')).Items as { TemplateID: string }[];
  const { Name: _, Domain: __, ...texts } = ORDER;
  await call('PUT', `/templates/${shipped?.TemplateID}`, texts);
  for (const mail of SANDBOX_MAILS) await call('POST', '/email', { ...mail, Sandbox: true });
  await sendHours(1, new Date(clock.now()).getUTCHours());
  await quiet();

  function person(i: number): { name: string; email: string } {
    const first = dice.pick(FIRST_NAMES);
    const last = dice.pick(LAST_NAMES);
    const domain = dice.pick(DOMAINS);
    const local = `${first}.${last}`
      .toLowerCase()
      .normalize('NFD')
      .replace(/[^a-z.]/g, '');
    const trouble = i % 37 === 0 ? 'gone.' : i % 71 === 0 ? 'full.' : i % 23 === 0 ? 'news.' : '';
    return { name: `${first} ${last}`, email: `${trouble}${local}${i}@${domain}` };
  }

  async function prepare(): Promise<void> {
    for (const domain of ['acme.example', 'news.acme.example', 'club.example', 'new-project.example']) {
      const { DnsRecords } = (await call('POST', '/domains', { Domain: domain })) as {
        DnsRecords: { Type: string; Host: string; Value: string }[];
      };
      if (domain === 'new-project.example') continue;
      publish('MX', domain, `mx.${domain}`);
      for (const { Type, Host, Value } of DnsRecords) publish(Type, Host, Value);
      await call('POST', `/domains/${domain}/verify`, {});
    }
    await call('PATCH', '/domains/news.acme.example', {
      Tracking: { Opens: true, Clicks: true },
      ListUnsubscribe: true,
    });
    for (const template of TEMPLATES) await call('POST', '/templates', template);
    await call('POST', '/tokens', { Name: 'shop backend', Domains: ['acme.example'], Preset: 'Default' });
    await call('POST', '/tokens', {
      Name: 'newsletter tool',
      Domains: ['news.acme.example'],
      Preset: 'Full',
    });
    await call('POST', '/smtp-credentials', { Domain: 'club.example', Name: 'membership software' });
    await call('POST', '/webhooks', {
      Domain: 'acme.example',
      Event: 'all',
      WebhookURL: farEnds.webhooks.works,
    });
    await call('POST', '/webhooks', {
      Domain: 'club.example',
      Event: 'all',
      WebhookURL: farEnds.webhooks.fails,
    });
    const Password = 'only for looking around';
    await call('POST', '/people', { Email: 'grace@acme.example', Password, Role: 'operator' });
    await call('POST', '/people', {
      ...{
        Email: 'ada@acme.example',
        Password,
        Role: 'member',
        Preset: 'Default',
        Domains: ['acme.example'],
      },
    });
    await call('POST', '/people', {
      Email: 'tim@club.example',
      Password,
      Role: 'viewer',
      Domains: ['club.example'],
    });
  }

  function publish(type: string, host: string, value: string): void {
    const own = records.get(host) ?? {};
    own[type] = [...(own[type] ?? []), value];
    records.set(host, own);
    const { CNAME, ...others } = own;
    farEnds.dns.set(host, CNAME === undefined ? others : { CNAME: CNAME[0] ?? '' });
  }

  /** The club's administrator changes the zone and loses the signing keys. */
  function breakClub(): void {
    for (const host of records.keys())
      if (host.endsWith('_domainkey.club.example')) farEnds.dns.set(host, undefined);
  }

  function isNewsDay(step: number): boolean {
    const now = new Date(clock.now());
    return (
      now.getUTCDay() === 2 && now.getUTCHours() < 9 && now.getTime() + step >= now.setUTCHours(9, 0, 0, 0)
    );
  }

  /** Shops sleep at night. */
  async function sendHours(hours: number, hour: number): Promise<void> {
    const busy = hour < 6 ? 0.2 : hour < 9 ? 0.7 : hour > 21 ? 0.5 : 1;
    const count = Math.max(1, Math.round(hours * AN_HOUR * busy * (0.7 + 0.6 * dice.float())));
    const mails = Array.from({ length: count }, () => {
      const to = dice.pick(people);
      const make = dice.pick([receipt, receipt, codeMail, codeMail, invitation]);
      return make(to, dice.whole(10_000, 99_999));
    });
    await sendAll(mails);
  }

  async function sendNewsletter(): Promise<void> {
    const issue = Math.floor(clock.now() / (7 * DAY_MS)) % 100;
    const readers = people.filter((_, i) => i < READERS);
    await sendAll(readers.map((to) => newsletter(to, issue)));
  }

  async function sendAll(mails: readonly object[]): Promise<void> {
    for (let from = 0; from < mails.length; from += 100)
      await call('POST', '/email/batch', { Messages: mails.slice(from, from + 100) });
  }

  /** Until nothing is being sent and the waiting mail stays the same. */
  async function quiet(): Promise<void> {
    const deadline = performance.now() + QUIET_MS;
    let waiting = '';
    for (let calm = 0; calm < CALM_POLLS && performance.now() < deadline; ) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const sending = (await call('GET', '/email?Status=Sending&Limit=1')).Items;
      const now = JSON.stringify((await call('GET', '/email?Status=Queued&Limit=30')).Items);
      calm = Array.isArray(sending) && sending.length === 0 && now === waiting ? calm + 1 : 0;
      waiting = now;
    }
  }

  /** Readers open, click, unsubscribe and complain, and some mail comes back after it was taken. */
  async function react(): Promise<void> {
    for (const message of farEnds.taken()) {
      const isNews = message.data.includes('news.acme.example');
      if (!isNews && dice.chance(0.004)) {
        const recipient = message.rcpts[0] ?? '';
        await handBack(message.from, dsn([{ recipient, status: '5.1.1' }], { to: message.from }));
      }
      if (isNews) await readNews(message);
    }
  }

  async function readNews(message: SinkMessage): Promise<void> {
    if (!dice.chance(0.45)) return;
    const { html = '', headers } = await PostalMime.parse(new Uint8Array(message.data));
    const pixel = /<img src="([^"]*\/o\/[^"]*)"/.exec(html)?.[1];
    const links = [...html.matchAll(/href="([^"]*)"/g)]
      .map(([, url]) => url ?? '')
      .filter((url) => url.includes('/c/'));
    const optOut = /<(https?:[^>]*)>/.exec(
      headers.find(({ key }) => key === 'list-unsubscribe')?.value ?? '',
    )?.[1];
    if (pixel !== undefined) await visit(pixel);
    if (links.length > 0 && dice.chance(0.3)) await visit(dice.pick(links));
    if (optOut !== undefined && dice.chance(0.012)) await visit(optOut, 'POST');
    if (dice.chance(0.008)) await handBack(message.from, arf([`Return-Path: <${message.from}>`]));
  }

  async function visit(url: string, method = 'GET'): Promise<void> {
    const answer = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' },
      ...(method === 'POST' ? { body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) } : {}),
    });
    await answer.arrayBuffer();
  }

  /** Two receivers report what they counted: mail of this server, of a forwarder, and now and then of somebody else. */
  async function reportYesterday(): Promise<void> {
    const endS = Math.floor(clock.now() / DAY_MS) * (DAY_MS / 1000) - 1;
    for (const reporter of ['Big Mail', 'Post Online']) {
      const rows: DmarcRow[] = [
        { ip: '203.0.113.25', n: dice.whole(40, 90) },
        { ip: '198.51.100.40', n: dice.whole(1, 6), spf: 'fail', more: authResults('pass') },
      ];
      if (dice.chance(0.4)) {
        const forged = {
          dkim: 'fail',
          spf: 'fail',
          disposition: 'quarantine',
          more: authResults('fail'),
        } as const;
        rows.push({ ip: `192.0.2.${dice.whole(1, 40)}`, n: dice.whole(1, 4), ...forged });
      }
      const about = { domain: 'acme.example', id: `${reporter}-${endS}`, reporter, endS };
      await handBack(
        'dmarc@bounces.acme.example',
        attached('application/gzip', gzipSync(dmarcDocument(rows, about))),
      );
    }
  }

  function authResults(dkim: string): string {
    const signature = `<domain>acme.example</domain><selector>pr1</selector><result>${dkim}</result>`;
    return `<auth_results><dkim>${signature}</dkim><spf><domain>lists.example</domain><result>softfail</result></spf></auth_results>`;
  }

  async function handBack(to: string, data: string): Promise<void> {
    const ends: (() => unknown)[] = [];
    await handIn({ defer: (end) => void ends.push(end) }, params.returnsPort, to, data);
    for (const end of ends) await end();
  }
}
