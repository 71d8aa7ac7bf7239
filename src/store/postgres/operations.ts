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
import type { Read, Write } from './engine/operation.ts';
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

/** A missing operation is a compiler error here. */
const ALL: { readonly [Name in OperationName]: Write<Name> | Read<Name> } = GATHERED;

/** By name; the files of topics export more than operations. */
export const OPERATIONS = Object.fromEntries(
  Object.entries(ALL).filter(([name, one]) => typeof one === 'function' && one.operation === name),
) as typeof ALL;
