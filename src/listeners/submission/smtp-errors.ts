/**
 * The SMTP reply for every error of the registry: reply code and enhanced code (RFC 3463, RFC 5248). A name without an
 * entry does not compile. 4xx if waiting helps, 5xx if something must change; the text is the error's own.
 */
import { AppError, ERRORS, type ErrorName } from '../../lib/errors.ts';
import { reply } from '../../smtp/server-reply.ts';
import type { ServerReply } from '../../smtp/server-types.ts';

const CONTENT = [550, '5.6.0'] as const;
const POLICY = [550, '5.7.1'] as const;
const LOGIN = [535, '5.7.8'] as const;
const BUSY = [451, '4.3.0'] as const;
const SYNTAX = [550, '5.5.4'] as const;
const SENDER = [553, '5.1.7'] as const;
const RECIPIENT = [553, '5.1.3'] as const;

export const SMTP_ERRORS: { readonly [Name in ErrorName]: readonly [code: number, enhanced: string] } = {
  'token-missing': [530, '5.7.0'],
  'from-email-required': SENDER,
  'subject-required': CONTENT,
  'content-type-required': CONTENT,
  'html-content-required': CONTENT,
  'plain-content-required': CONTENT,
  'account-disabled': [535, '5.7.13'],
  'token-invalid': LOGIN,
  'all-recipients-suppressed': POLICY,
  'template-not-found': CONTENT,
  'quota-exceeded': [452, '4.7.1'],
  'to-email-required': RECIPIENT,
  'to-email-invalid': RECIPIENT,
  'to-count': [452, '4.5.3'],
  'cc-email-required': RECIPIENT,
  'cc-email-invalid': RECIPIENT,
  'from-email-invalid': SENDER,
  'bcc-not-array': CONTENT,
  'bcc-email-required': RECIPIENT,
  'bcc-email-invalid': RECIPIENT,
  'bcc-count': [452, '4.5.3'],
  'reply-to-not-array': CONTENT,
  'reply-to-email-required': CONTENT,
  'reply-to-email-invalid': CONTENT,
  'reply-to-count': CONTENT,
  'domain-not-verified': POLICY,
  'from-domain-not-allowed': POLICY,
  'scope-missing': [535, '5.7.13'],
  'ip-not-allowed': [535, '5.7.13'],
  'http-malformed': SYNTAX,
  'not-found': CONTENT,
  'method-not-allowed': SYNTAX,
  'request-timeout': [421, '4.4.2'],
  'content-expired': CONTENT,
  'invalid-parameter': SYNTAX,
  'rate-limited': [450, '4.7.1'],
  'headers-too-large': CONTENT,
  internal: BUSY,
  unavailable: [451, '4.3.2'],
  'json-malformed': CONTENT,
  'media-type': CONTENT,
  'body-too-large': [552, '5.3.4'],
  'message-too-large': [552, '5.3.4'],
  'content-encoding': CONTENT,
  'unknown-property': CONTENT,
  'request-too-complex': CONTENT,
  'duplicate-property': CONTENT,
  'recipients-total': [452, '4.5.3'],
  'cc-count': [452, '4.5.3'],
  'to-not-array': CONTENT,
  'cc-not-array': CONTENT,
  'name-invalid': CONTENT,
  'wrong-type': CONTENT,
  'subject-too-long': CONTENT,
  'subject-control-char': CONTENT,
  'content-type-unknown': CONTENT,
  'html-too-large': [552, '5.3.4'],
  'plain-too-large': [552, '5.3.4'],
  'tags-count': CONTENT,
  'tag-invalid': CONTENT,
  'headers-count': CONTENT,
  'header-name-invalid': CONTENT,
  'header-not-allowed': CONTENT,
  'header-value-invalid': CONTENT,
  'attachments-count': CONTENT,
  'content-missing': CONTENT,
  'content-not-base64': CONTENT,
  'filename-invalid': CONTENT,
  'disposition-unknown': CONTENT,
  'inline-needs-content-id': CONTENT,
  'content-id-invalid': CONTENT,
  'content-id-duplicate': CONTENT,
  'type-blocked': [550, '5.7.1'],
  'media-type-invalid': CONTENT,
  'send-at-invalid': CONTENT,
  'metadata-invalid': CONTENT,
  'sandbox-result-unknown': CONTENT,
  'expires-at-invalid': CONTENT,
  'priority-unknown': CONTENT,
  'field-unavailable': CONTENT,
  'tracking-invalid': CONTENT,
  'list-unsubscribe-invalid': CONTENT,
  'idempotency-key-invalid': CONTENT,
  'idempotency-key-reused': CONTENT,
  'idempotency-key-in-flight': BUSY,
  'not-cancelable': SYNTAX,
  'not-retryable': SYNTAX,
  'not-scheduled': SYNTAX,
  'not-releasable': SYNTAX,
  'sandbox-rule-limit': SYNTAX,
  'webhook-url-invalid': SYNTAX,
  'webhook-event-unknown': SYNTAX,
  'webhook-limit': SYNTAX,
  'domain-exists': SYNTAX,
  'domain-invalid': SYNTAX,
  'domain-ambiguous': SYNTAX,
  'template-exists': SYNTAX,
  'template-invalid': CONTENT,
  'template-not-fillable': CONTENT,
  'template-variable-missing': CONTENT,
  'template-limit': [550, '5.3.0'],
  'template-changed': [550, '5.3.0'],
  'sign-in-failed': LOGIN,
  'code-required': LOGIN,
  'session-ended': LOGIN,
  'session-required': POLICY,
  'origin-not-allowed': POLICY,
  'person-exists': SYNTAX,
  'person-limit': SYNTAX,
  'password-refused': SYNTAX,
  'password-wrong': SYNTAX,
  'code-wrong': SYNTAX,
  'identity-refused': LOGIN,
  'identity-unavailable': LOGIN,
  'identity-unknown': LOGIN,
  'second-factor-required': LOGIN,
  'proof-required': LOGIN,
  'key-not-published': [550, '5.3.0'],
};

/** The reply for an error: its first problem decides the codes, every problem has its sentence. */
export function smtpReply(error: AppError): ServerReply {
  const [first] = error.problems;
  const [code, enhanced] = SMTP_ERRORS[first.name];
  const sentences = error.problems.map((problem) => problem.message ?? ERRORS[problem.name].text);
  return { ...reply(code, enhanced, sentences), name: first.name };
}

/** The reply for anything thrown: null if it is not one of our errors and must be reported. */
export function replyForThrown(thrown: unknown): ServerReply | null {
  return thrown instanceof AppError ? smtpReply(thrown) : null;
}
