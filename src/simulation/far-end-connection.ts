/**
 * One connection to a mail server in memory: reads real SMTP bytes, answers by the plan and the current troubles of its
 * site (far-end.ts), late or never if they say so. TLS is in far-end-line.ts; far-end-envelope.ts records for whom the
 * messages are.
 */
import { createEnvelope, type EnvelopeDeps } from './far-end-envelope.ts';
import { createLine, type LineDeps } from './far-end-line.ts';
import type { ClientHalf, ServerHalf } from './network.ts';
import type { Dice } from './seeded.ts';
import { REFUSALS, type Refusal, TLS_TROUBLES, type Trouble, type TroubleKind } from './troubles.ts';
import type { OpenConnection, WireTransaction } from './wire.ts';

export interface SitePlan {
  name: string;
  provider: string | null;
  hosts: readonly { name: string; address: string }[];
  /** Round trip. */
  latencyMs: number;
  /** How long it thinks about a message. */
  dotMs: number;
  pipelining: boolean;
  /** Delay before the greeting, for the time that a TLS handshake would take. */
  setupMs?: number;
  /**
   * Each message represents this many, and takes as long as they do together; the time to open a connection stays the
   * same.
   */
  weight?: number;
  /** It takes messages by BDAT too. */
  chunking?: boolean;
  troubles: Trouble[];
  /** It does TLS, but for its troubles. */
  tls?: boolean;
  /** A relay that takes mail from whoever logs in. */
  login?: boolean;
}

/** What all connections to a site share. */
export interface Site {
  plan: SitePlan;
  /** The trouble of this kind that is on now. */
  trouble(kind: TroubleKind): Trouble | null;
  /** It is on, and meets this one. */
  strikes(kind: TroubleKind): boolean;
  /** Counts a message; whether there were more than `most` within a minute. */
  isTooFast(most: number): boolean;
  /** A source wrote to the address for the first time only lately. */
  isNew(source: string, address: string): boolean;
}

export interface FarEndDeps extends EnvelopeDeps, LineDeps {
  dice: Dice;
  /** A message was taken, with its bytes. */
  took?(transaction: WireTransaction, message: string): void;
}

/** Answers on one connection to a site. */
export function serveConnection(
  client: ClientHalf,
  connection: OpenConnection,
  site: Site,
  deps: FarEndDeps,
): ServerHalf {
  const { plan, trouble, strikes, isTooFast, isNew } = site;
  const { clock, dice, wire } = deps;
  const { weight = 1 } = plan;
  const input = createInput();
  const line = createLine(client, plan.name, deps, heard);
  const { say, flush } = line;
  const envelope = createEnvelope(deps, connection, line.isSecure);
  let byBdat = false;
  /** Its replies no longer match the commands, so the client may not have understood them. */
  let outOfStep = false;
  let busy = false;
  let arrivedMs = clock.monotonicMs();
  let loggedIn = false;
  wire.connect(connection);
  after(plan.latencyMs + (plan.setupMs ?? 0), greet);

  return {
    received: line.received,
    gone() {
      line.gone();
      leave();
    },
    missed(bytes) {
      input.add(bytes);
      leave();
    },
  };

  function heard(bytes: Buffer): void {
    input.add(bytes);
    arrivedMs = clock.monotonicMs();
    if (!busy) after(plan.latencyMs, work, envelope.isOpen() || input.isMessage() ? weight : 1);
  }

  function after(ms: number, next: () => void, times = 1): void {
    busy = true;
    const slower = trouble('tarpits');
    clock.setTimer(times * (slower === null ? ms : ms + slower.most * 1000), () => {
      busy = false;
      if (client.isOpen) next();
    });
  }

  function hangUp(text: string | null, how: 'end' | 'reset' = 'end'): void {
    if (text !== null) say(text);
    flush();
    leave();
    line.hangUp(how);
  }

  function leave(): void {
    wire.disconnect(connection);
    envelope.leave(input.clear(), arrivedMs, plan.chunking === true);
  }

  function greet() {
    if (trouble('mute') !== null) return;
    const few = trouble('few-connections');
    if (few !== null && wire.openNow(plan.name) > few.most) return hangUp(REFUSALS['few-connections'].text);
    if (trouble('greets-554') !== null) return hangUp(REFUSALS['greets-554'].text);
    if (trouble('greets-421') !== null) return hangUp(REFUSALS['greets-421'].text);
    say('220 mx.test ESMTP');
    flush();
    work();
  }

  function work(): void {
    while (!busy && client.isOpen) {
      const next = input.next();
      if (next === null) break;
      if (next.kind === 'chunk') onChunk(next.text);
      else if (next.kind === 'body') onMessage(next.text);
      else onCommand(next.text);
    }
    if (client.isOpen) flush();
  }

  function onCommand(command: string) {
    const verb = command.slice(0, 4).toUpperCase();
    switch (verb) {
      case 'EHLO':
        return say(
          ['250-mx.test', ...extensions().map((word) => `250-${word}`), '250 SIZE 10000000'].join('\r\n'),
        );
      case 'STAR':
        return onStartTls();
      case 'AUTH':
        loggedIn = trouble('login-refused') === null;
        return say(loggedIn ? '235 2.7.0 ok' : '535 5.7.8 Authentication credentials invalid');
      case 'MAIL':
        return onMail(command);
      case 'RCPT':
        return onRcpt(command);
      case 'DATA':
        if (envelope.accepted() === 0) return say('503 5.5.1 no valid recipients');
        if (strikes('drops-in-data')) return hangUp(null, 'reset');
        input.expectBody();
        byBdat = false;
        return say('354 go ahead');
      case 'BDAT':
        input.expectChunk(Number(command.split(' ')[1]));
        return;
      case 'RSET':
        envelope.forget();
        return say('250 2.0.0 forgotten');
      case 'QUIT':
        return hangUp('221 2.0.0 bye');
      default:
        return say('502 5.5.2 what?');
    }
  }

  function extensions(): string[] {
    const tls = plan.tls === true || TLS_TROUBLES.some((kind) => trouble(kind) !== null);
    return [
      ...(plan.pipelining ? ['PIPELINING'] : []),
      ...(plan.chunking === true ? ['CHUNKING'] : []),
      ...(tls && !line.isSecure() ? ['STARTTLS'] : []),
      ...(plan.login === true ? ['AUTH PLAIN'] : []),
    ];
  }

  function onStartTls() {
    const fault = TLS_TROUBLES.find(strikes);
    // A site that only offers STARTTLS because of its troubles cannot complete it.
    const meets = fault ?? (plan.tls === true ? null : 'tls-refused');
    if (meets !== null && meets !== 'tls-dies') deps.tls?.(plan.name, 'fault');
    switch (meets) {
      case 'tls-reset':
        return hangUp(null, 'reset');
      case 'tls-421':
        return hangUp('421 4.3.2 mx.test service shutting down');
      case 'tls-refused':
        return say('454 4.7.0 TLS not available due to temporary reason');
      case 'tls-broken':
        deps.tls?.(plan.name, 'definite');
        return line.failHandshake('broken');
      case 'tls-mute':
        return line.failHandshake('mute');
      default:
    }
    input.clear();
    line.startTls(() => {
      deps.tls?.(plan.name, meets === 'tls-dies' ? 'fault' : 'secure');
      if (meets === 'tls-dies') hangUp(null, 'reset');
    });
  }

  function onMail(command: string) {
    if (plan.login === true && !loggedIn) return say('530 5.7.0 Authentication required');
    envelope.begin(command, arrivedMs);
    const few = trouble('few-messages');
    if (few !== null && connection.messages > few.most) {
      refuseMail(REFUSALS['few-messages']);
      return hangUp(null);
    }
    const slow = trouble('slow-down');
    if (slow !== null && isTooFast(slow.most)) return refuseMail(REFUSALS['slow-down']);
    if (trouble('blocklisted') !== null) return refuseMail(REFUSALS.blocklisted);
    say('250 2.1.0 ok');
  }

  function refuseMail({ text, about }: Refusal): void {
    envelope.refuse(about === 'path');
    say(text);
  }

  function onRcpt(command: string) {
    const transaction = envelope.recipient(command);
    if (transaction === null) return say('503 5.5.1 MAIL first');
    const address = transaction.address ?? '';
    const refuse = ({ text, about }: Refusal): void => {
      transaction.blamedPath = about === 'path';
      say(text);
    };
    const few = trouble('few-recipients');
    if (few !== null && envelope.accepted() >= few.most) return refuse(REFUSALS['few-recipients']);
    const unknown = trouble('unknown-users');
    if (unknown !== null && shareOf(address) < unknown.share) return refuse(REFUSALS['unknown-users']);
    const full = trouble('full-mailboxes');
    if (full !== null && shareOf(address) > 1 - full.share) return refuse(REFUSALS['full-mailboxes']);
    if (strikes('lookup-failures')) return refuse(REFUSALS['lookup-failures']);
    if (trouble('greylists') !== null && isNew(connection.source, address)) return refuse(REFUSALS.greylists);
    envelope.accept(transaction);
    say('250 2.1.5 ok');
  }

  function onChunk(octets: string) {
    if (envelope.accepted() === 0) return say('503 5.5.1 no valid recipients');
    byBdat = true;
    if (!strikes('bdat-refused')) return onMessage(octets);
    envelope.forget();
    outOfStep = true;
    say('502 5.5.1 BDAT not implemented');
  }

  function onMessage(text: string) {
    const copies = envelope.end(text);
    if (copies.length === 0) return say('503 5.5.1 RCPT first');
    if (strikes('drops-after-dot')) {
      if (dice.chance(0.5)) take(copies, text);
      return hangUp(null, dice.chance(0.5) ? 'end' : 'reset');
    }
    if (strikes('mute-after-dot')) {
      take(copies, text);
      busy = true;
      return;
    }
    if (strikes('dislikes-content')) return say(REFUSALS['dislikes-content'].text);
    take(copies, text);
    flush();
    if (plan.dotMs > 0) return after(plan.dotMs, () => accept(copies), weight);
    confirm(copies);
  }

  function confirm(copies: readonly WireTransaction[]): void {
    if (byBdat && strikes('bdat-unanswered')) outOfStep = true;
    else say('250 2.0.0 kept');
    if (!outOfStep) for (const copy of copies) copy.confirmedAtMs = clock.monotonicMs();
    if (!byBdat || !strikes('bdat-twice')) return;
    say('250 2.0.0 kept');
    outOfStep = true;
  }

  function take(copies: readonly WireTransaction[], text: string): void {
    for (const copy of copies) {
      wire.take(copy, clock.monotonicMs());
      deps.took?.(copy, `${text}\r\n`);
    }
  }

  function accept(copies: readonly WireTransaction[]): void {
    confirm(copies);
    work();
  }
}

/** What came and was not read yet: command lines, the body after DATA, the octets after BDAT. */
function createInput() {
  let input = '';
  let inBody = false;
  /** Octets of BDAT that are still to come. */
  let chunk: number | null = null;

  return {
    add(bytes: Buffer): void {
      input += bytes.toString('latin1');
    },
    expectBody(): void {
      inBody = true;
    },
    expectChunk(octets: number): void {
      chunk = octets;
    },
    /** It belongs to a message, and not to the opening of the connection. */
    isMessage: () => inBody || chunk !== null || /^MAIL/im.test(input),
    /** null: its end has not come yet. */
    next(): { kind: 'command' | 'body' | 'chunk'; text: string } | null {
      if (chunk !== null) {
        if (input.length < chunk) return null;
        const text = take(chunk, 0);
        chunk = null;
        return { kind: 'chunk', text };
      }
      const end = inBody && input.startsWith('.\r\n') ? 0 : input.indexOf(inBody ? '\r\n.\r\n' : '\r\n');
      if (end < 0) return null;
      if (!inBody) return { kind: 'command', text: take(end, 2) };
      inBody = false;
      return { kind: 'body', text: take(end, end === 0 ? 3 : 5) };
    },
    /** Forgets, and returns, what came. */
    clear: (): string => take(input.length, 0),
  };

  /** The first `octets`, and drops their end. */
  function take(octets: number, end: number): string {
    const text = input.slice(0, octets);
    input = input.slice(octets + end);
    return text;
  }
}

/** A number from 0 to 1, always the same for one address. */
function shareOf(address: string): number {
  let hash = 2_166_136_261;
  for (let i = 0; i < address.length; i++) hash = Math.imul(hash ^ address.charCodeAt(i), 16_777_619);
  return (hash >>> 0) / 4_294_967_296;
}
