/**
 * Every operation of this engine, collected from the files of the topics: each export made by `read` or `write`
 * (engine/operation.ts) with a name of the Store. A missing operation does not compile here; a new file needs its line.
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
import * as dmarcReports from './dmarc-reports.ts';
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

const GATHERED = {
  ...accept,
  ...alerts,
  ...audit,
  ...callPortions,
  ...calls,
  ...cancelRetry,
  ...captureChanges,
  ...captures,
  ...causes,
  ...dmarcReports,
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

/** A missing operation is a compiler error here. */
const ALL: { readonly [Name in OperationName]: Write<Name> | Read<Name> } = GATHERED;

/** By name; the files of topics export more than operations. */
export const OPERATIONS = Object.fromEntries(
  Object.entries(ALL).filter(([name, one]) => typeof one === 'function' && one.operation === name),
) as typeof ALL;
