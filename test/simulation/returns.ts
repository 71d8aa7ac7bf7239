/**
 * Returned mail in a simulated run: for mail that far ends took, bounces, complaints, opt-outs and automatic replies come back
 * early, late, twice, forged and at any node, and are tried again until somebody takes them. Each node has the real port, spool
 * and reader; its spool outlives its processes. Says where something was recorded twice, not at all, or of somebody else.
 */
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { uuidv7 } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { VirtualClock } from '../../src/lib/virtual-clock.ts';
import { createReadingLoop } from '../../src/listeners/returns/reading-loop.ts';
import { createReturnsHandler } from '../../src/listeners/returns/returns-handler.ts';
import { openSpool, type Spool } from '../../src/listeners/returns/spool.ts';
import { parseAddress } from '../../src/mail/address.ts';
import type { ReturnPathTokens } from '../../src/mail/verp.ts';
import { eventKindOf } from '../../src/model/event.ts';
import { createReturnedMailReader } from '../../src/pipeline/events/returned-mail.ts';
import { createReturnMetrics } from '../../src/pipeline/events/returns-metrics.ts';
import { BOUNCE_DOMAIN, type Process } from '../../src/simulation/process.ts';
import { createDice } from '../../src/simulation/seeded.ts';
import type { WireTransaction } from '../../src/simulation/wire.ts';
import { stateCode, suppressionReasonCode } from '../../src/store/shared/codes.ts';
import { ERASED } from '../../src/store/shared/erased.ts';
import { arf, dsn, plain } from '../scenarios/returns-kit.ts';
import { PARTS } from './parts.ts';
import type { Room } from './room.ts';

/** Returned mail is written and read thousands of times and needs no disk. */
const MEMORY = '/dev/shm';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** Whoever got no answer tries again by then. */
const UNANSWERED_MS = 3 * MINUTE;

const KINDS = [
  ...(['bounce', 'bounce', 'soft-bounce', 'shared-bounce', 'forwarded', 'delay'] as const),
  ...(['complaint', 'complaint', 'opt-out', 'opt-out', 'link', 'auto-reply', 'forged'] as const),
] as const;
type Kind = (typeof KINDS)[number] | 'not-spam';
/** Those that turn a delivered recipient into a bounced one. */
const BOUNCES: ReadonlySet<Kind> = new Set(['bounce', 'soft-bounce', 'shared-bounce', 'forwarded']);

interface Returned {
  kind: Kind;
  deliveryId: number;
  tenant: string;
  address: string;
  /** When it was last handed in; answered from then on, null = not yet. */
  handedInMs: number;
  answeredMs: number | null;
  /** What the delivery was at that time. */
  met: string;
}

/** One process at the port of its node. */
interface Desk {
  process: Process;
  spool: Spool;
  arrived(): void;
  stop(): Promise<void>;
}

export type Returns = ReturnType<typeof createReturns>;

/** `isAwake`: that process answers. `canWrite`: the store can. `isErased`: somebody of that address was. */
export function createReturns(
  seed: number,
  parts: { room: Room; clock: VirtualClock; tokens: ReturnPathTokens },
  world: { isAwake(process: Process): boolean; canWrite(): boolean; isErased(address: string): boolean },
  note: (what: string) => void,
) {
  const { room, clock, tokens } = parts;
  const dice = createDice(seed, 12);
  const share = dice.pick([0.1, 0.4, 1]);
  const folder = join(existsSync(MEMORY) ? MEMORY : tmpdir(), `postrider-returns-${process.pid}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const desks = new Map<string, Desk>();
  const sent: Returned[] = [];
  /** In the spools, also of nodes that are down. */
  const stored = new Set<string>();
  const lifted: { tenant: string; address: string; fromMs: number; untilMs: number }[] = [];
  let onItsWay = 0;
  let onDisk = 0;
  let last: Promise<unknown> = Promise.resolve();

  return {
    /** Whether a disk works at this moment: time stands still until it has. */
    busy: () => onDisk > 0,
    open,
    async stop(node: string) {
      await desks.get(node)?.stop();
      desks.delete(node);
    },
    gone: (node: string) => void desks.delete(node),
    taken,
    unfinished: () => onItsWay + stored.size,
    /** Deliveries that may have bounced after they were delivered. */
    bounced: (): ReadonlySet<number> =>
      new Set(sent.flatMap(({ kind, deliveryId }) => (BOUNCES.has(kind) ? deliveryId : []))),
    checkEnd,
  };

  // ── the nodes ───────────────────────────────────────────────────────────────────────────────────────────

  async function open(node: string, process: Process): Promise<void> {
    const { store, clock: own } = process;
    const spool = onOneDisk(await openSpool(join(folder, node), own), node, process);
    const metrics = createReturnMetrics(new Registry());
    const common = { store, tokens, clock: own, random: dice, log: silentLogger, metrics, eventsStored() {} };
    const reader = createReturnedMailReader({
      ...{ ...common, classifier: PARTS.classifier, keys: async () => ({ kind: 'none' }) },
    });
    const operatorMail = { passOn: async () => 'simulated' };
    const loop = createReadingLoop({ ...common, reader, operatorMail, spool });
    loop.wake();
    desks.set(node, { process, spool, arrived: loop.wake, stop: loop.stop });
  }

  /** Disks do one thing after another, and nothing for the dead. */
  function onOneDisk(spool: Spool, node: string, process: Process): Spool {
    const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
      if (!process.alive) return new Promise(() => {});
      onDisk += 1;
      const done = last.then(work).finally(() => {
        onDisk -= 1;
      });
      last = done.catch(() => {});
      return done;
    };
    const out = (id: string) => void stored.delete(`${node} ${id}`);
    return {
      ...spool,
      put: (id, mail) => inTurn(() => spool.put(id, mail)).then(() => void stored.add(`${node} ${id}`)),
      read: (id) => inTurn(() => spool.read(id)),
      remove: (id) => inTurn(() => spool.remove(id)).then(() => out(id)),
      async keep(id, kept, why) {
        note(`returned mail is kept for a person: ${kept}, ${why}`);
        await inTurn(() => spool.keep(id, kept, why)).then(() => out(id));
      },
    };
  }

  // ── what comes back ─────────────────────────────────────────────────────────────────────────────────────

  function taken({ deliveryId, address }: WireTransaction): void {
    if (address === null || !dice.chance(share)) return;
    for (let i = dice.whole(1, 3); i > 0; i--) {
      const kind = dice.pick(KINDS);
      const delays = [() => dice.ms(0, 50), () => dice.ms(0, 5 * SECOND), () => dice.ms(0, 40 * MINUTE)];
      for (let copies = dice.pick([1, 1, 2, 3]); copies > 0; copies--)
        later(kind, deliveryId, address, dice.pick(delays)());
      if (kind === 'complaint' && dice.chance(0.5))
        later('not-spam', deliveryId, address, dice.ms(MINUTE, 90 * MINUTE));
    }
  }

  function later(kind: Kind, deliveryId: number, address: string, ms: number): void {
    const tenant = room.mailOf(deliveryId)?.tenant ?? '';
    const mail: Returned = {
      ...{ kind, deliveryId, tenant, address, handedInMs: 0, answeredMs: null, met: '' },
    };
    sent.push(mail);
    onItsWay += 1;
    clock.setTimer(ms, () => void handIn(mail));
  }

  async function handIn(mail: Returned): Promise<void> {
    if (mail.answeredMs !== null) return;
    const again = (ms: number) => void clock.setTimer(ms, () => void handIn(mail));
    const awake = [...desks.values()].filter((one) => world.isAwake(one.process));
    // A complaint is withdrawn after it was read, and not the other way round.
    const comesEarly = mail.kind === 'not-spam' && (stored.size > 0 || isComplaintOnItsWay(mail));
    if (awake.length === 0 || comesEarly) return again(dice.ms(SECOND, MINUTE));
    const desk = dice.pick(awake);
    mail.handedInMs = clock.monotonicMs();
    mail.met = room.stateOf(mail.deliveryId);
    again(UNANSWERED_MS);
    const code = await answer(mail, desk);
    if (mail.answeredMs !== null) return;
    if (code >= 400 && code < 500) return;
    if ((code === 550) !== (mail.kind === 'forged') && !world.isErased(mail.address))
      note(`${mail.kind} of delivery ${mail.deliveryId} was answered by ${code}`);
    mail.answeredMs = clock.monotonicMs();
    onItsWay -= 1;
    if (mail.kind === 'opt-out' && dice.chance(0.3)) lift(mail);
  }

  function isComplaintOnItsWay({ deliveryId }: Returned): boolean {
    return sent.some(
      (one) => one.deliveryId === deliveryId && one.kind === 'complaint' && one.answeredMs === null,
    );
  }

  /** The code of the last reply. */
  async function answer({ kind, deliveryId, address }: Returned, desk: Desk): Promise<number> {
    const { store, clock: own } = desk.process;
    if (kind === 'link') {
      const event = { id: uuidv7(own, dice), kind: 'unsubscribed', at: own.now(), detail: null } as const;
      const params = { deliveryId, event, rule: 'one-click', now: own.now() };
      return store.unsubscribe(params).then(
        (result) => (result.kind === 'unknown' ? 550 : 250),
        () => 451,
      );
    }
    const handler = createReturnsHandler(
      {
        ...{ store, tokens, spool: desk.spool, clock: own, random: dice, log: silentLogger },
        ...{ metrics: createReturnMetrics(new Registry()), arrived: desk.arrived },
        isOwnDomain: async (domain) => domain === BOUNCE_DOMAIN,
      },
      { ip: `192.0.2.${dice.whole(1, 250)}` },
    );
    const facts = { helo: 'mx.test', esmtp: true, secured: false, authenticated: false };
    const { to, from, text } = written(kind, deliveryId, address);
    const envelope = {
      from: {
        address: addressOf(from),
        size: null,
        eightBitMime: false,
        smtpUtf8: false,
        ret: null,
        envid: null,
      },
      recipients: [],
    };
    const rcpt = { address: addressOf(`${to}@${BOUNCE_DOMAIN}`), notify: [], orcpt: null };
    try {
      const refused =
        (await handler.onMail(envelope.from, facts)) ?? (await handler.onRcpt(rcpt, envelope, facts));
      if (refused !== null) return refused.code;
      const message = { bytes: Buffer.from(text), eightBit: false };
      const told = await handler.onMessage({ ...envelope, recipients: [rcpt] }, message, facts);
      return told.code;
    } catch {
      return 451;
    }
  }

  function written(kind: Kind, deliveryId: number, address: string) {
    const to = tokens.make('b', deliveryId);
    const ref = `X-Postrider-Ref: ${tokens.ref(deliveryId)}`;
    const full = { status: '5.2.2', diagnostic: 'smtp; 552 5.2.2 Mailbox full' };
    const hello = (subject: string, ...more: string[]) =>
      plain([`From: ${address}`, `Subject: ${subject}`, ...more], 'Hello.');
    switch (kind) {
      case 'bounce':
        return { to, from: null, text: dsn([{ recipient: address }]) };
      case 'soft-bounce':
        return { to, from: null, text: dsn([{ recipient: address, ...full }]) };
      case 'shared-bounce': {
        const { seq } = room.db.get<{ seq: number }>(
          'SELECT message_seq AS seq FROM delivery WHERE id = ?',
          deliveryId,
        ) ?? { seq: 0 };
        return { to: tokens.make('g', seq), from: null, text: dsn([{ recipient: address }]) };
      }
      case 'forwarded': {
        // Who wrote it names somebody whom others write to.
        const victim = room.db.get<{ address: string }>(
          'SELECT address FROM delivery WHERE address <> ? ORDER BY id LIMIT 1',
          address,
        );
        return { to, from: null, text: dsn([{ recipient: victim?.address ?? 'x@elsewhere.test' }]) };
      }
      case 'delay':
        return { to, from: null, text: dsn([{ recipient: address, action: 'delayed', status: '4.4.1' }]) };
      case 'complaint':
      case 'not-spam': {
        const type = kind === 'complaint' ? 'abuse' : kind;
        return {
          to: dice.pick([to, 'fbl', 'fbl-provider']),
          from: 'fbl@mx.test',
          text: arf([ref], { type }),
        };
      }
      case 'opt-out':
        return { to: tokens.make('u', deliveryId), from: address, text: hello('unsubscribe') };
      case 'auto-reply':
        return { to, from: null, text: hello('Away', 'Auto-Submitted: auto-replied') };
      default:
        // The proof of one purpose is none of another.
        return { to: `u${to.slice(1)}`, from: address, text: hello('unsubscribe') };
    }
  }

  /** Somebody takes the reader off the list, as the API does it, where nothing is under way. */
  function lift({ tenant, address }: Returned): void {
    clock.setTimer(dice.ms(SECOND, 30 * MINUTE), async () => {
      const desk = [...desks.values()].find((one) => world.isAwake(one.process));
      if (desk === undefined || !world.canWrite()) return;
      const { clock: own, store } = desk.process;
      const entry = { tenant, address, fromMs: clock.monotonicMs(), untilMs: Number.POSITIVE_INFINITY };
      lifted.push(entry);
      const params = { domain: tenant, address, reason: 'Unsubscribe' as const, now: own.now() };
      await store.removeSuppressions({ ...params, eventIds: [uuidv7(own, dice)] }).catch(() => {});
      entry.untilMs = clock.monotonicMs();
    });
  }

  function addressOf(text: string | null) {
    if (text === null) return null;
    const read = parseAddress(text);
    if (!read.ok) throw new Error(`${text} ${read.problem}`);
    return read.address;
  }

  // ── what must be true ───────────────────────────────────────────────────────────────────────────────────

  function checkEnd(transactionsOf: (deliveryId: number) => readonly WireTransaction[]): void {
    rmSync(folder, { recursive: true, force: true });
    if (onItsWay + stored.size > 0) note(`${onItsWay} returns are not taken, ${stored.size} are not read`);
    const events = Map.groupBy(
      room.db.all<{ delivery_id: number; kind: number; detail: string | null; foreign_domain: number }>(
        `SELECT e.delivery_id, e.kind, e.detail, e.domain_id <> m.domain_id AS foreign_domain
         FROM event e JOIN delivery d ON d.id = e.delivery_id JOIN message m ON m.seq = d.message_seq`,
      ),
      ({ delivery_id }) => delivery_id,
    );
    const of = Map.groupBy(
      sent.filter(({ address }) => !world.isErased(address)),
      ({ deliveryId }) => deliveryId,
    );
    const isKnown = new Set(of.keys());
    for (const [id, own] of events) {
      if (sent.some((one) => one.deliveryId === id) && !isKnown.has(id)) continue;
      if (own.some(({ foreign_domain }) => foreign_domain === 1))
        note(`delivery ${id} has an event of another tenant`);
      const count = (kind: string) => own.filter((one) => eventKindOf(one.kind) === kind).length;
      const back = of.get(id) ?? [];
      const came = (...kinds: Kind[]) => back.filter(({ kind }) => kinds.includes(kind)).length > 0;
      const once = (kind: string, ...kinds: Kind[]) => {
        const due = came(...kinds) ? 1 : 0;
        if (count(kind) !== due) note(`delivery ${id} has ${count(kind)} events ${kind} instead of ${due}`);
      };
      once('complained', 'complaint');
      once('complaint_withdrawn', 'not-spam');
      const isLifted = lifted.some(
        ({ tenant, address }) => back[0]?.tenant === tenant && back[0].address === address,
      );
      if (!isLifted) once('unsubscribed', 'opt-out', 'link');
      if (came('auto-reply') !== count('auto_reply') > 0)
        note(`delivery ${id} has ${count('auto_reply')} automatic replies`);
      const state = room.stateOf(id);
      const isOnce = transactionsOf(id).length === 1;
      const late = back.find(
        ({ kind, met }) => BOUNCES.has(kind) && (met === 'delivered' || (met === 'sending' && isOnce)),
      );
      if (state === 'delivered' && late !== undefined)
        note(`delivery ${id} is delivered, and a ${late.kind} came back`);
      if (state === 'bounced' && count('delivered') > 0 && !back.some(({ kind }) => BOUNCES.has(kind)))
        note(`delivery ${id} has bounced, and nothing came back`);
    }
    checkList(of, events);
  }

  function checkList(
    of: ReadonlyMap<number, readonly Returned[]>,
    events: ReadonlyMap<number, readonly { kind: number; detail: string | null }[]>,
  ): void {
    const list = room.db.all<{
      tenant: string;
      address: string;
      reason: number;
      message_id: Uint8Array | null;
    }>(
      'SELECT n.text AS tenant, s.address, s.reason, s.message_id FROM suppression s JOIN name n ON n.id = s.domain_id',
    );
    const key = (tenant: string, address: string, reason: string) => `${tenant} ${address} ${reason}`;
    const entries = new Set(
      list.map(({ tenant, address, reason }) => key(tenant, address, suppressionReasonCode.word(reason))),
    );
    const due = new Set<string>();
    const maybe = new Set<string>();
    for (const [id, back] of of) {
      const [{ tenant, address } = { tenant: '', address: '' }] = back;
      const came = (kind: Kind) => back.some((one) => one.kind === kind);
      if (came('complaint') && !came('not-spam')) due.add(key(tenant, address, 'Complaint'));
      const own = events.get(id) ?? [];
      const isDirect = own.some(
        ({ kind, detail }) =>
          eventKindOf(kind) === 'bounced' &&
          detail?.includes('"Phase":"Async"') === true &&
          detail.includes('"Class":"RecipientInvalid"') &&
          !came('shared-bounce') &&
          !came('forwarded'),
      );
      if (isDirect) due.add(key(tenant, address, 'Bounce'));
      const wishes = back.filter(({ kind }) => kind === 'opt-out' || kind === 'link');
      const lifts = lifted.filter((one) => one.tenant === tenant && one.address === address);
      const lastMs = Math.max(...lifts.map(({ untilMs }) => untilMs));
      if (wishes.length > 0) maybe.add(key(tenant, address, 'Unsubscribe'));
      if (wishes.some(({ handedInMs }) => handedInMs > lastMs)) due.add(key(tenant, address, 'Unsubscribe'));
    }
    for (const one of due) if (!entries.has(one)) note(`${one} is not on the list`);
    for (const { tenant, address, reason } of list) {
      if (address === ERASED || world.isErased(address)) continue;
      const word = suppressionReasonCode.word(reason);
      const one = key(tenant, address, word);
      if (word === 'Complaint' && !due.has(one)) note(`${one} is on the list without a complaint`);
      if (word === 'Unsubscribe' && !maybe.has(one)) note(`${one} is on the list without an opt-out`);
      if (word !== 'Bounce') continue;
      const bounced = room.db.get(
        `SELECT 1 FROM delivery d JOIN message m ON m.seq = d.message_seq JOIN name n ON n.id = m.domain_id
         WHERE n.text = ? AND d.address = ? AND d.state = ?`,
        ...[tenant, address, stateCode.of('bounced')],
      );
      if (bounced === undefined) note(`${one} is on the list, and nothing bounced`);
    }
  }
}
