/**
 * The SMTP reply for every error of the registry: reply code and enhanced code (RFC 3463, RFC 5248). They follow from the
 * error's HTTP status, except for those that SMTP tells apart. 4xx if waiting helps, 5xx if something must change; the
 * text is the error's own.
 */
import { AppError, ERRORS, type ErrorName } from '../../lib/errors.ts';
import { reply } from '../../smtp/server-reply.ts';
import type { ServerReply } from '../../smtp/server-types.ts';
import { StoreUnavailable } from '../../store/store.ts';

type Codes = readonly [code: number, enhanced: string];

const CONTENT: Codes = [550, '5.6.0'];
const POLICY: Codes = [550, '5.7.1'];
const LOGIN: Codes = [535, '5.7.8'];
const NO_RIGHT: Codes = [535, '5.7.13'];
const BUSY: Codes = [451, '4.3.0'];
const SYNTAX: Codes = [550, '5.5.4'];
const SENDER: Codes = [553, '5.1.7'];
const RECIPIENT: Codes = [553, '5.1.3'];
const RECIPIENTS: Codes = [452, '4.5.3'];
const TOO_LARGE: Codes = [552, '5.3.4'];
const STATE: Codes = [550, '5.3.0'];

/** For any other status the content is at fault. */
const BY_STATUS: Readonly<Record<number, Codes>> = {
  401: LOGIN,
  403: POLICY,
  405: SYNTAX,
  408: [421, '4.4.2'],
  409: SYNTAX,
  413: TOO_LARGE,
  429: [450, '4.7.1'],
  500: BUSY,
  503: [451, '4.3.2'],
};

const BY_NAME: { readonly [Name in ErrorName]?: Codes } = {
  'token-missing': [530, '5.7.0'],
  'from-email-required': SENDER,
  'from-email-invalid': SENDER,
  'account-disabled': NO_RIGHT,
  'scope-missing': NO_RIGHT,
  'ip-not-allowed': NO_RIGHT,
  'all-recipients-suppressed': POLICY,
  'type-blocked': POLICY,
  'quota-exceeded': [452, '4.7.1'],
  'to-email-required': RECIPIENT,
  'to-email-invalid': RECIPIENT,
  'cc-email-required': RECIPIENT,
  'cc-email-invalid': RECIPIENT,
  'bcc-email-required': RECIPIENT,
  'bcc-email-invalid': RECIPIENT,
  'to-count': RECIPIENTS,
  'cc-count': RECIPIENTS,
  'bcc-count': RECIPIENTS,
  'recipients-total': [550, '5.5.3'],
  'html-too-large': TOO_LARGE,
  'plain-too-large': TOO_LARGE,
  'http-malformed': SYNTAX,
  'invalid-parameter': SYNTAX,
  'webhook-url-invalid': SYNTAX,
  'webhook-event-unknown': SYNTAX,
  'domain-invalid': SYNTAX,
  'domain-ambiguous': SYNTAX,
  'password-refused': SYNTAX,
  'password-wrong': SYNTAX,
  'code-wrong': SYNTAX,
  'idempotency-key-in-flight': BUSY,
  'template-limit': STATE,
  'token-limit': STATE,
  'smtp-credential-limit': STATE,
  'template-changed': STATE,
  'key-not-published': STATE,
  'identity-refused': LOGIN,
  'identity-unavailable': LOGIN,
  'identity-unknown': LOGIN,
  'second-factor-required': LOGIN,
  'proof-required': LOGIN,
};

/** The reply code and the enhanced code for an error. */
export function smtpCodes(name: ErrorName): Codes {
  return BY_NAME[name] ?? BY_STATUS[ERRORS[name].status] ?? CONTENT;
}

/** The reply for an error: its first problem decides the codes, every problem has its sentence. */
export function smtpReply(error: AppError): ServerReply {
  const [first] = error.problems;
  const [code, enhanced] = smtpCodes(first.name);
  const sentences = error.problems.map((problem) => problem.message ?? ERRORS[problem.name].text);
  return { ...reply(code, enhanced, sentences), name: first.name };
}

/** The reply for anything thrown: null if it is a bug and must be reported. */
export function replyForThrown(thrown: unknown): ServerReply | null {
  if (thrown instanceof StoreUnavailable) return smtpReply(new AppError('unavailable'));
  return thrown instanceof AppError ? smtpReply(thrown) : null;
}
