/**
 * Operations on webhooks other than reading and deleting: creating one, whose secret is shown once and stored
 * encrypted, changing it, and sending a signed sample to test the receiver. The URL, and the addresses of its host, are
 * checked when it is set, so that a mistake is reported at once; the guarded client checks again at every call.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { uuidv7 } from '../../lib/ids.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import { EVENT_KINDS, type EventKind, MAIL_KINDS } from '../../model/event.ts';
import type { MessageId } from '../../model/message.ts';
import { OPERATOR_DOMAIN, type Webhook, type WebhookStatus } from '../../model/webhook.ts';
import type { AllowHttp } from '../../net/checked-url.ts';
import type { GuardedHttp } from '../../net/guarded-http.ts';
import { makerEnded } from '../../policy/access/access.ts';
import type { Store } from '../../store/store.ts';
import type { IdempotencyEntry } from '../../store/topics/acceptance.ts';
import type { EventDetail, EventView } from '../../store/topics/events.ts';
import { createMakeCall, SECRET_SEAL } from './call.ts';
import { callId, webhookBody } from './payload.ts';
import { newSecret, secretText } from './signature.ts';

/** The result of a sample call, in the words of the API. `StatusCode` 0 = no answer; then `Error` says why. */
export interface WebhookTest {
  StatusCode: number;
  LatencyMs: number;
  Body: string;
  Error: string;
}

export interface WebhookService {
  /**
   * Stores a webhook of `domain` for the tokens `events`. `secret` is the `whsec_` text, returned only here. Throws
   * AppError `webhook-url-invalid` (with a sentence) or `webhook-limit`.
   */
  create(
    params: {
      domain: string;
      events: readonly string[];
      url: string;
      description: string;
      /** Id of the token that creates it. */
      createdBy?: string;
      /** Id of the session of the person who creates it. */
      inSession?: string | undefined;
    },
    idempotency?: IdempotencyEntry,
  ): Promise<{ id: number; secret: string }>;
  /**
   * Changes a webhook; the URL is checked as at creation. Switching it on resumes calls made, tried or
   * replayed in the last 72 hours. null if those domains have no such webhook. Throws AppError `webhook-url-invalid`.
   */
  update(
    id: number,
    change: { events?: readonly string[]; url?: string; description?: string; status?: WebhookStatus },
    domains?: readonly string[],
  ): Promise<Webhook | null>;
  /**
   * A new secret, returned only here; the one before is also used for 24 hours. null if those domains have no such
   * webhook.
   */
  rotateSecret(
    id: number,
    domains?: readonly string[],
    idempotency?: (previousValidUntil: number) => IdempotencyEntry,
  ): Promise<{ secret: string; previousValidUntil: number } | null>;
  /** A part of the secret that distinguishes it from others: its last four characters; '' if it cannot be decrypted. */
  secretHint(webhook: Webhook): string;
  /** Sends a signed sample now and changes nothing; null if those domains have no such webhook. */
  test(id: number, domains?: readonly string[]): Promise<WebhookTest | null>;
}

/** The maximum per domain: the list has no paging. */
const MAX_WEBHOOKS_PER_DOMAIN = 100;
/** Calls that waited longer are not made when the webhook is switched on again. */
const RESUMED_MS = 72 * 3_600_000;
/** How long the secret before a rotation is also used. */
const PREVIOUS_SECRET_MS = 24 * 3_600_000;
const HINT_CHARS = 4;

export function createWebhookService(
  deps: {
    store: Pick<
      Store,
      'getDomain' | 'createWebhook' | 'getWebhook' | 'updateWebhook' | 'rotateWebhookSecret'
    >;
    http: Pick<GuardedHttp, 'post' | 'checkTarget'>;
    clock: Clock;
    random: Random;
    sealer: Sealer;
  },
  options: { maxPerDomain?: number; allowHttp?: AllowHttp } = {},
): WebhookService {
  const { store, http, clock, random, sealer } = deps;
  const allowHttp = options.allowHttp ?? 'listed-networks';
  const makeCall = createMakeCall(deps, allowHttp);

  return {
    async create({ domain, events, url, description, createdBy, inSession }, idempotency) {
      const known = await store.getDomain({ name: domain });
      // Its host is looked up, which can take seconds.
      await checkUrl(url, domain);
      const secret = newSecret(random);
      const created = await store.createWebhook({
        domain,
        domainId: known?.id ?? null,
        events,
        url,
        description,
        secretSealed: sealer.seal(secret.bytes, SECRET_SEAL),
        createdBy: createdBy ?? null,
        inSession,
        createdAt: clock.now(),
        maxPerDomain: options.maxPerDomain ?? MAX_WEBHOOKS_PER_DOMAIN,
        idempotency,
      });
      if (created.kind === 'ended') throw makerEnded({ inSession });
      if (created.kind === 'gone') {
        throw new AppError('not-found', { field: '/Domain', message: `The domain ${domain} was removed` });
      }
      if (created.kind === 'limit') throw new AppError('webhook-limit');
      return { id: created.id, secret: secret.text };
    },
    async update(id, change, domains) {
      if (change.url !== undefined) {
        const known = await find(id, domains);
        if (known === null) return null;
        await checkUrl(change.url, known.domain);
      }
      const now = clock.now();
      const scope = domains === undefined ? {} : { domains };
      const found = await store.updateWebhook({
        id,
        now,
        resumeSince: now - RESUMED_MS,
        ...scope,
        ...change,
      });
      return found ? find(id, domains) : null;
    },
    async rotateSecret(id, domains, idempotency) {
      const secret = newSecret(random);
      const now = clock.now();
      const previousValidUntil = now + PREVIOUS_SECRET_MS;
      const found = await store.rotateWebhookSecret({
        id,
        ...(domains === undefined ? {} : { domains }),
        secretSealed: sealer.seal(secret.bytes, SECRET_SEAL),
        previousUntil: previousValidUntil,
        now,
        idempotency: idempotency?.(previousValidUntil),
      });
      return found ? { secret: secret.text, previousValidUntil } : null;
    },
    secretHint(webhook) {
      try {
        return secretText(sealer.open(webhook.secretSealed, SECRET_SEAL)).slice(-HINT_CHARS);
      } catch {
        // If the key is gone, the calls report it; a list must still show its webhooks.
        return '';
      }
    },
    async test(id, domains) {
      const webhook = await find(id, domains);
      if (webhook === null) return null;
      const sample = sampleEvent(webhook, clock, random);
      const made = await makeCall(webhook, callId(sample.id), webhookBody(sample, id));
      if (made.kind === 'unsigned') {
        throw new Error('The secret of a webhook cannot be opened', { cause: made.cause });
      }
      if (made.kind === 'local') return { StatusCode: 0, LatencyMs: 0, Body: '', Error: made.detail };
      const { status, latencyMs, body, error } = made.result;
      return { StatusCode: status, LatencyMs: latencyMs, Body: body, Error: error };
    },
  };

  function find(id: number, domains: readonly string[] | undefined): Promise<Webhook | null> {
    return store.getWebhook({ id, ...(domains === undefined ? {} : { domains }) });
  }

  async function checkUrl(url: string, domain: string): Promise<void> {
    const verdict = await http.checkTarget(url, allowHttp, domain);
    if (verdict.kind === 'refused') {
      throw new AppError('webhook-url-invalid', { field: '/WebhookURL', message: verdict.detail });
    }
  }
}

/**
 * A made-up event of the first kind that the webhook names (a delivery for `all`), marked as sandbox, with reserved
 * names only.
 */
function sampleEvent(webhook: Webhook, clock: Clock, random: Random): EventView {
  const kinds = Object.keys(EVENT_KINDS) as EventKind[];
  const kind =
    webhook.domain === OPERATOR_DOMAIN
      ? 'operator.alert'
      : (kinds.find((candidate) => EVENT_KINDS[candidate].token === webhook.events[0]) ?? 'delivered');
  const isAboutMessage = MAIL_KINDS.includes(kind);
  return {
    seq: 0,
    id: uuidv7(clock, random),
    kind,
    at: clock.now(),
    domain: webhook.domain,
    detail: sampleDetail(kind, webhook.id, clock.now()),
    message: isAboutMessage
      ? {
          id: uuidv7(clock, random) as MessageId,
          lists: {
            from: { name: '', address: `sender@${webhook.domain}` },
            to: [{ name: '', address: 'recipient@example.com' }],
            cc: [],
            bcc: [],
            replyTo: [],
          },
          subject: 'A sample event',
          size: 1024,
          tags: ['sample'],
          metadata: {},
          sandbox: true,
        }
      : null,
    recipient: isAboutMessage ? 'recipient@example.com' : null,
    deliveryId: null,
    route: kind === 'delivered' ? 'sandbox' : null,
  };
}

function sampleDetail(kind: EventKind, webhookId: number, now: number): EventDetail {
  switch (kind) {
    case 'bounced':
    case 'deferred': {
      const isFinal = kind === 'bounced';
      const bounce = {
        Type: isFinal ? 'Permanent' : 'Transient',
        Class: isFinal ? 'RecipientInvalid' : 'Greylisted',
        Scope: 'recipient',
        Phase: 'Session',
        SmtpCode: isFinal ? 550 : 451,
        EnhancedCode: isFinal ? '5.1.1' : '4.7.1',
        Diagnostic: isFinal ? '550 5.1.1 No such user' : '451 4.7.1 Try again later',
        RemoteMta: 'mx.example.com',
      } as const;
      return isFinal ? { attempt: 1, bounce } : { attempt: 1, bounce, nextAttemptAt: now + 300_000 };
    }
    case 'delivered':
      return { attempt: 1, route: 'sandbox' };
    case 'opened':
    case 'clicked':
      return { ipAddress: '192.0.2.1', userAgent: 'Sample/1.0', url: 'https://example.com/', bot: false };
    case 'webhook.disabled':
      return { webhookId, reason: 'A sample event' };
    case 'operator.alert':
      return {
        reason: 'A sample alert',
        alert: { kind: 'server', subject: 'sample', fix: 'Nothing.', since: now, endedAt: null },
      };
    default:
      return { reason: 'A sample event' };
  }
}
