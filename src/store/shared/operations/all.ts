/**
 * Every operation that both engines have in common, collected from the files of the topics; a new file
 * needs its line. These files export nothing else.
 */
import * as alerts from './alerts.ts';
import * as audit from './audit.ts';
import * as cancelRetry from './cancel-retry.ts';
import * as captures from './captures.ts';
import * as causes from './causes.ts';
import * as dmarcReports from './dmarc-reports.ts';
import * as domains from './domains.ts';
import * as erasing from './erasing.ts';
import * as instance from './instance.ts';
import * as leftovers from './leftovers.ts';
import * as limits from './limits.ts';
import * as nodes from './nodes.ts';
import * as notices from './notices.ts';
import * as people from './people.ts';
import * as quota from './quota.ts';
import * as readers from './readers.ts';
import * as refile from './refile.ts';
import * as retention from './retention.ts';
import * as returns from './returns.ts';
import * as sandboxRules from './sandbox-rules.ts';
import * as smtpCredentials from './smtp-credentials.ts';
import * as stats from './stats.ts';
import * as suppressions from './suppressions.ts';
import * as templates from './templates.ts';
import * as tls from './tls.ts';
import * as tokens from './tokens.ts';
import * as webhooks from './webhooks.ts';

export const SHARED = {
  ...alerts,
  ...audit,
  ...cancelRetry,
  ...captures,
  ...causes,
  ...dmarcReports,
  ...domains,
  ...erasing,
  ...instance,
  ...leftovers,
  ...nodes,
  ...notices,
  ...quota,
  ...readers,
  ...sandboxRules,
  ...refile,
  ...retention,
  ...returns,
  ...limits,
  ...people,
  ...smtpCredentials,
  ...stats,
  ...suppressions,
  ...templates,
  ...tls,
  ...tokens,
  ...webhooks,
};
