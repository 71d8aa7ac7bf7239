/**
 * Reads one message of a request by the rules of POST /email: on the event loop if it is small, in a worker that also
 * composes it if it is large. The operations that accept such messages (send, validate, batch) share it, so that all
 * refuse alike. Returns the input of acceptance; throws AppError with every problem.
 */

import type { Clock } from '../../../lib/clock.ts';
import { AppError } from '../../../lib/errors.ts';
import { uuidv7 } from '../../../lib/ids.ts';
import type { Random } from '../../../lib/random.ts';
import type { MessageId } from '../../../model/message.ts';
import type { Caller } from '../../../model/submission.ts';
import type { Acceptance, AcceptRequest } from '../../../pipeline/accept/acceptance.ts';
import { sharersOf } from '../../../policy/access/rights.ts';
import type { StoredTemplates } from '../templates/stored-templates.ts';
import type { PersonalLookUp, WorkerPool } from '../worker-pool.ts';
import type { EmailLimits } from './limits.ts';
import { type EmailRemarks, type ParsedEmail, parseEmailBody, readEmailObject } from './read-email.ts';
import { FillElsewhere } from './template-fields.ts';

export interface EmailReaderOptions {
  limits: EmailLimits;
  /** Lower-case file name extensions that are refused, without the dot. */
  blockedExtensions: readonly string[];
  /** Bodies larger than this are read in a worker. */
  workerThresholdBytes: number;
}

export interface ParsedBody extends ParsedEmail {
  /** The same as octets, for a worker. */
  bytes(): Uint8Array;
}

const NOTHING = new Uint8Array(0);

/** The input of acceptance, and remarks about the message. */
export type ReadEmail = Pick<AcceptRequest, 'submission' | 'prepared'> & EmailRemarks;

export interface EmailWish {
  /** Unknown members are refused. */
  strict: boolean;
  /** Probable mistakes are searched for. */
  review?: boolean;
}

export interface EmailReader {
  isLarge(body: Uint8Array): boolean;
  /** A message that is parsed already. */
  read(caller: Caller, parsed: ParsedBody, wish: EmailWish): Promise<ReadEmail>;
  /** A large one; the bytes are transferred. */
  readLarge(caller: Caller, body: Uint8Array, wish: EmailWish): Promise<ReadEmail>;
}

/** One for all operations of a listener. */
export function createEmailReader(
  deps: {
    workers: WorkerPool;
    templates: StoredTemplates;
    acceptance: Pick<Acceptance, 'personalOptions'>;
    clock: Clock;
    random: Random;
  },
  options: EmailReaderOptions,
): EmailReader {
  const blockedExtensions = new Set(options.blockedExtensions);
  return {
    isLarge: (body) => body.length > options.workerThresholdBytes,

    async read(caller, parsed, wish) {
      const template = await deps.templates.forRequest(caller, parsed.object);
      const rules = { ...wish, blockedExtensions, nowMs: deps.clock.now(), template };
      try {
        const found = readEmailObject(parsed, options.limits, rules);
        if (!found.ok) throw new AppError(found.problems);
        return found;
      } catch (error) {
        // A small request may name a large template, or loop over a list many times.
        if (error instanceof FillElsewhere) return readLarge(caller, parsed.bytes(), wish);
        throw error;
      }
    },

    readLarge,
  };

  async function readLarge(caller: Caller, given: Uint8Array, wish: EmailWish): Promise<ReadEmail> {
    const messageId = uuidv7(deps.clock, deps.random) as MessageId;
    const dateMs = deps.clock.now();
    const job = {
      limits: options.limits,
      ...wish,
      blockedExtensions: options.blockedExtensions,
      messageId,
      dateMs,
    };
    const personal: PersonalLookUp = (facts) => deps.acceptance.personalOptions(caller, facts);
    let found = await deps.workers.run(sharersOf(caller), 'email', { ...job, body: given }, { personal });
    if (found.ok === 'needs-template') {
      const { named, body } = found;
      const template = await deps.templates.texts(caller, named.id, named.version);
      found = await deps.workers.run(sharersOf(caller), 'email', { ...job, body, template }, { personal });
    }
    if (found.ok === 'needs-template') throw new AppError('internal');
    if (!found.ok) throw new AppError(found.problems);
    const { ok: _, composed, ...email } = found;
    return { ...email, prepared: { messageId, dateMs, composed } };
  }
}

/** Throws AppError json-malformed. */
export function parseBody(body: Uint8Array, list?: string): ParsedBody {
  return { ...parseEmailBody(body, list), bytes: () => body };
}

/**
 * Releases a body that was read. Its text is as large as the message, and still referenced while the request waits for
 * its commit: with fifty of them, every garbage collection would copy all of it.
 */
export function forgetTexts(parsed: ParsedBody): void {
  parsed.object = {};
  parsed.withExactIds = () => null;
  parsed.bytes = () => NOTHING;
}
