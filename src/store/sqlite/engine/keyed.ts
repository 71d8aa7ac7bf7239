/**
 * Idempotency keys of created things other than mail: webhooks, domains, tokens and others. Looks the key up before the
 * operation and stores it afterwards, in the same transaction: after a crash, both the thing and its key exist, or
 * neither. An operation that creates nothing (a limit, a taken name) leaves the key free.
 */

import { answerBody, hasCreated } from '../../shared/keyed.ts';
import type { ResultOf } from '../../shared/operation.ts';
import type { IdempotencyEntry } from '../../topics/acceptance.ts';
import { heldKey, storeKey } from '../acceptance.ts';
import type { WriteName } from '../operations.ts';
import type { Answer, WriteCall } from './protocol.ts';
import type { Session } from './session.ts';

/** Runs one call, with its key if it has one. */
export function runKeyed(
  session: Session,
  call: WriteCall,
  run: (session: Session, call: WriteCall) => ResultOf<WriteName>,
): Answer {
  const entry = keyOf(call);
  if (entry === undefined) return { kind: 'value', value: run(session, call) };
  const held = heldKey(session.db, entry);
  if (held !== null) return { kind: 'held', held };
  const value = run(session, call);
  if (hasCreated(value)) storeKey(session.db, { ...entry, body: answerBody(entry.body, value) });
  return { kind: 'value', value };
}

/** A commit of messages checks its key itself, before it charges a quota. */
function keyOf(call: WriteCall): IdempotencyEntry | undefined {
  if (call.name === 'commitAccepted' || !('idempotency' in call.params)) return undefined;
  return call.params.idempotency;
}
