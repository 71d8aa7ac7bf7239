/**
 * Every operation of this engine, collected: those that both engines have (common.ts), and of the files of the topics each export made by `read` or `write`
 * (engine/operation.ts) with a name of the Store. A missing operation does not compile here; a new file needs its line.
 */

import type { OperationName } from '../shared/operation.ts';
import * as accept from './acceptance.ts';
import * as callPortions from './call-portions.ts';
import * as calls from './calls.ts';
import * as captures from './captures.ts';
import { COMMON } from './common.ts';
import type { LongRead, Read, Write } from './engine/operation.ts';
import * as erasing from './erasing.ts';
import * as events from './events.ts';
import * as messages from './messages.ts';
import * as nodes from './nodes.ts';
import * as queue from './queue.ts';
import * as retention from './retention.ts';
import * as sandboxRules from './sandbox-rules.ts';
import * as settling from './settling.ts';
import * as stats from './stats.ts';
import * as suppressions from './suppressions.ts';
import * as waiting from './waiting.ts';

const GATHERED = {
  ...COMMON,
  ...accept,
  ...callPortions,
  ...calls,
  ...captures,
  ...erasing,
  ...events,
  ...messages,
  ...nodes,
  ...queue,
  ...retention,
  ...sandboxRules,
  ...settling,
  ...stats,
  ...suppressions,
  ...waiting,
};

type Gathered = typeof GATHERED;
type NamesOf<Kind> = {
  [Name in keyof Gathered]: Gathered[Name] extends Kind & { operation: Name } ? Name : never;
}[keyof Gathered];
export type WriteName = NamesOf<{ kind: 'write' }>;
export type ReadName = NamesOf<{ kind: 'read' }>;
/** Those with a case in bounded.test.ts. */
export type MeasuredName = NamesOf<{ bound: 'measured' }>;

/** A missing operation is a compiler error here. */
const ALL: { readonly [Name in OperationName]: Write<Name> | Read<Name> | LongRead<Name> } = GATHERED;

/** Everything the writer thread can do. */
export const WRITES = ofKind('write') as { readonly [Name in WriteName]: Write<Name> };
/** Everything a reader thread can do. */
export const READS = ofKind('read') as { readonly [Name in ReadName]: Read<Name> | LongRead<Name> };

function ofKind(kind: 'write' | 'read'): object {
  return Object.fromEntries(Object.entries(ALL).filter(([, one]) => one.kind === kind));
}
