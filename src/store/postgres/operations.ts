/**
 * Every operation of this engine, collected from the files of the topics: each export made by `read` or `write`
 * (engine/operation.ts) with a name of the Store.
 */
import * as accept from './acceptance.ts';
import * as alerts from './alerts.ts';
import * as audit from './audit.ts';
import * as callPortions from './call-portions.ts';
import * as calls from './calls.ts';
import * as cancelRetry from './cancel-retry.ts';
import * as captureChanges from './capture-changes.ts';
import * as captures from './captures.ts';
import * as causes from './causes.ts';
import * as domains from './domains.ts';
import type { OperationName, Read, Write } from './engine/operation.ts';
import * as erasing from './erasing.ts';
import * as events from './events.ts';
import * as instance from './instance.ts';
import * as leftovers from './leftovers.ts';
import * as limits from './limits.ts';
import * as messages from './messages.ts';
import * as nodes from './nodes.ts';
import * as notices from './notices.ts';
import * as optOuts from './opt-outs.ts';
import * as people from './people.ts';
import * as queue from './queue.ts';
import * as quota from './quota.ts';
import * as readers from './readers.ts';
import * as refile from './refile.ts';
import * as retention from './retention.ts';
import * as returns from './returns.ts';
import * as sandboxRules from './sandbox-rules.ts';
import * as settling from './settling.ts';
import * as smtpCredentials from './smtp-credentials.ts';
import * as stats from './stats.ts';
import * as suppressions from './suppressions.ts';
import * as templates from './templates.ts';
import * as tls from './tls.ts';
import * as tokens from './tokens.ts';
import * as waiting from './waiting.ts';
import * as webhookChanges from './webhook-changes.ts';
import * as webhooks from './webhooks.ts';

const GATHERED: Readonly<Record<string, unknown>> = {
  ...accept,
  ...alerts,
  ...audit,
  ...callPortions,
  ...calls,
  ...cancelRetry,
  ...captureChanges,
  ...captures,
  ...causes,
  ...domains,
  ...erasing,
  ...events,
  ...instance,
  ...leftovers,
  ...limits,
  ...messages,
  ...nodes,
  ...notices,
  ...optOuts,
  ...people,
  ...queue,
  ...quota,
  ...readers,
  ...refile,
  ...retention,
  ...returns,
  ...sandboxRules,
  ...settling,
  ...smtpCredentials,
  ...stats,
  ...suppressions,
  ...templates,
  ...tls,
  ...tokens,
  ...waiting,
  ...webhookChanges,
  ...webhooks,
};

/** By name. */
export const OPERATIONS = Object.fromEntries(
  Object.values(GATHERED).flatMap((one) =>
    typeof one === 'function' && 'operation' in one && typeof one.operation === 'string'
      ? [[one.operation, one]]
      : [],
  ),
) as unknown as { readonly [Name in OperationName]: Write<Name> | Read<Name> };
