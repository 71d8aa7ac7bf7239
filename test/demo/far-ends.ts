/**
 * The world around the demonstration, on loopback: a DNS, mail servers with habits, and two receivers of webhooks. What
 * happens at which hour of the month is decided here; the hour comes from the clock.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../src/lib/clock.ts';
import { createFakeDns, type FakeDns, type FakeZones } from '../fakes/fake-dns.ts';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { type SinkMessage, startSmtpSink } from '../fakes/smtp-sink.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export interface FarEnds {
  dns: FakeDns;
  /** Of all mail servers. */
  port: number;
  /** Takes every call, and answers 500 to every call. */
  webhooks: { works: string; fails: string };
  /** Messages taken since the last time. */
  taken(): SinkMessage[];
  close(): Promise<void>;
}

interface MailServer {
  domains: readonly string[];
  /** The reply that refuses a recipient at this time. */
  refuse?: (recipient: string, at: number) => string | null;
}

/** Recipients' domains, and how many of a hundred recipients have them. */
export const RECIPIENT_DOMAINS: readonly (readonly [domain: string, percent: number])[] = [
  ['bigmail.example', 34],
  ['webpost.example', 22],
  ['postbox.example', 15],
  ['corp.example', 10],
  ['school.example', 8],
  ['library.example', 5],
  ['slow.example', 1],
  ['closed.example', 5],
];

/** `untilMs`: the end of the month. */
export async function openFarEnds(clock: Clock, untilMs: number): Promise<FarEnds> {
  const closing: (() => Promise<unknown>)[] = [];
  const before = (days: number, hours = 0) => untilMs - days * DAY_MS - hours * HOUR_MS;
  const greeted = new Map<string, number>();
  const servers: MailServer[] = [
    {
      domains: ['bigmail.example', 'library.example'],
      refuse: (recipient, at) =>
        recipient.startsWith('news') && at > before(2)
          ? '550 5.7.1 Message refused: too many readers have marked mail like this as spam'
          : null,
    },
    {
      domains: ['webpost.example'],
      refuse: (recipient, at) =>
        at > before(9) && at < before(9, -5) && recipient.length % 5 < 3
          ? '421 4.7.28 Too many messages from your address, try again later'
          : null,
    },
    { domains: ['postbox.example', 'corp.example'] },
    {
      domains: ['school.example'],
      refuse(recipient, at) {
        const first = greeted.get(recipient) ?? at;
        greeted.set(recipient, first);
        return at - first < 240_000 ? '451 4.7.1 Greylisted, please try again in 4 minutes' : null;
      },
    },
    { domains: ['slow.example'], refuse: () => '451 4.3.2 System not accepting messages, try again later' },
  ];
  const zones: FakeZones = {};
  const messages: SinkMessage[] = [];
  let port = 0;
  for (const [i, { domains, refuse }] of servers.entries()) {
    const address = `127.77.0.${i + 1}`;
    const sink = await startSmtpSink({
      host: address,
      port,
      refuse: (recipient) => refuse?.(recipient, clock.now()) ?? usual(recipient),
      onMessage: (message) => void messages.push(message),
    });
    port = sink.port;
    closing.push(() => sink.close());
    publish(domains, address);
  }
  const closed = await startScriptedMx(
    {
      get banner() {
        return clock.now() > before(0, 7) ? '421 4.7.0 Too many connections, try again later' : '220 ready';
      },
    },
    { host: '127.77.0.20', port },
  );
  closing.push(() => closed.close());
  publish(['closed.example'], '127.77.0.20');
  const dns = await createFakeDns(zones, { clock });
  closing.push(() => dns.close());
  const works = await receiver(200);
  const fails = await receiver(500);

  return {
    dns,
    port,
    webhooks: { works: works.url, fails: fails.url },
    taken: () => messages.splice(0),
    async close() {
      for (const end of closing.reverse()) await end();
    },
  };

  function publish(domains: readonly string[], address: string): void {
    for (const domain of domains) {
      zones[domain] = { MX: [`mx.${domain}`] };
      zones[`mx.${domain}`] = { A: [address] };
    }
  }

  async function receiver(status: number): Promise<{ url: string }> {
    const server = createServer((request, response) => {
      request
        .resume()
        .on('end', () => response.writeHead(status).end(status === 200 ? 'ok' : 'database is down'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mail-events` };
  }
}

/** What every server says of some of its people. */
function usual(recipient: string): string | null {
  if (recipient.startsWith('gone')) return '550 5.1.1 No such user here';
  if (recipient.startsWith('full')) return '452 4.2.2 The mailbox is full';
  return null;
}
