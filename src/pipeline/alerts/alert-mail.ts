/**
 * Mails the stored alert mails to the operator, through our own acceptance, so that they are signed, retried and shown
 * like any other mail. A crash between acceptance and removing the stored mail sends it once: its id is the idempotency
 * key. What cannot be sent for a day is dropped with a line of the log; the log and the webhooks have told it already.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { parseAddress } from '../../mail/address.ts';
import { SUBMISSION_DEFAULTS, type Submission, sendingCaller } from '../../model/submission.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { AlertMail } from '../../store/topics/alerts.ts';
import type { SenderDomains } from '../accept/accept.ts';
import type { Acceptance } from '../accept/acceptance.ts';
import { ownSender } from '../accept/own-sender.ts';

export interface AlertMailer {
  /** Whether a mail is to be written; false: there is nobody to send it to, or there were many this hour. */
  wants(): boolean;
  /** Sends what is stored. Rejects only if the store is unavailable. */
  send(): Promise<void>;
}

interface Deps {
  store: Pick<Store, 'listAlertMails' | 'removeAlertMail'>;
  acceptance: Pick<Acceptance, 'accept'>;
  senders: SenderDomains;
  clock: Clock;
  log: Logger;
}

interface Options {
  /** Where it is sent; null = nowhere. */
  operatorAddress: string | null;
  /** Our own domains, in the order in which they are tried as senders. */
  ownDomains: readonly string[];
}

const CALLER = sendingCaller('alerts');
const OPERATION = 'alert mail';
const ALERT_TAG = 'alert';
const AT_ONCE = 10;
const HOUR_MS = 3_600_000;
const MAX_PER_HOUR = 20;
const TOO_OLD_MS = 24 * HOUR_MS;

/** Throws for an invalid operator address. */
export function createAlertMailer(deps: Deps, { operatorAddress, ownDomains }: Options): AlertMailer {
  const { store, acceptance, senders, clock, log } = deps;
  const parsed = operatorAddress === null ? null : parseAddress(operatorAddress);
  if (parsed?.ok === false) throw new Error(`operator-address "${operatorAddress}" ${parsed.problem}`);
  const to = parsed?.address ?? null;
  const wanted: number[] = [];
  /** The mail that could not be sent last, so that the log says it once. */
  let delayed = '';
  return {
    wants() {
      if (to === null) return false;
      const now = clock.now();
      while (wanted[0] !== undefined && now - wanted[0] >= HOUR_MS) wanted.shift();
      if (wanted.length >= MAX_PER_HOUR) {
        log.warn({ perHour: MAX_PER_HOUR }, 'alerts are not mailed: there were many in the last hour');
        return false;
      }
      wanted.push(now);
      return true;
    },
    async send() {
      for (const mail of await store.listAlertMails({ limit: AT_ONCE })) {
        const why = await sendOne(mail);
        if (why !== null && clock.now() - mail.at < TOO_OLD_MS) {
          if (mail.id !== delayed) log.warn({ why }, 'an alert cannot be mailed yet');
          delayed = mail.id;
          return;
        }
        if (why !== null) log.warn({ why, subject: mail.subject }, 'a mail about alerts was dropped');
        await store.removeAlertMail({ id: mail.id });
      }
    },
  };

  /** Why it is not sent; null: it is accepted. */
  async function sendOne(mail: AlertMail): Promise<string | null> {
    if (to === null) return 'no operator-address is set';
    const { local, domain: toDomain } = to;
    const tried = [...ownDomains, toDomain];
    const from = await ownSender(senders, CALLER, tried);
    if (from === null) return `no verified sender domain covers ${tried.join(' or ')}`;
    const submission: Submission = {
      ...SUBMISSION_DEFAULTS,
      from: { name: 'Postrider', address: `postmaster@${from}` },
      fromDomain: from,
      recipients: [{ name: '', address: `${local}@${toDomain}`, domain: toDomain, kind: 'To' }],
      subject: mail.subject,
      tags: [ALERT_TAG],
      body: { kind: 'text', text: mail.text },
      headers: [['Auto-Submitted', 'auto-generated']],
    };
    const fingerprint = createHash('sha256').update(mail.id).digest();
    try {
      const idempotency = { operation: OPERATION, key: mail.id, fingerprint };
      await acceptance.accept({ caller: CALLER, submission, idempotency });
      return null;
    } catch (error) {
      if (error instanceof StoreUnavailable || !(error instanceof AppError)) throw error;
      return error.message;
    }
  }
}
