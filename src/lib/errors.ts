/**
 * The registry of all error codes that clients see: number, name, HTTP status, public text. Codes and names are stable
 * for version 1, texts are not. Expected refusals are thrown as `AppError` and turned into an answer in one place, the
 * listener; anything else that is thrown is a bug and becomes a 500 without details.
 */

export interface ErrorFacts {
  code: number;
  status: number;
  /** Public sentence; a thrown error may have a more specific one. */
  text: string;
}

/** Name → code, status and text, in the order of the documentation. */
export const ERRORS = {
  'token-missing': e(1, 401, 'Authorization header with a bearer token is required'),
  'from-email-required': e(3, 422, 'From.email is required'),
  'subject-required': e(8, 422, 'Subject is required'),
  'content-type-required': e(9, 422, 'ContentType is required'),
  'html-content-required': e(10, 422, 'HTMLContent is required when ContentType is HTML'),
  'plain-content-required': e(11, 422, 'PlainContent or HTMLContent is required when ContentType is Text'),
  'account-disabled': e(12, 401, 'The owner of this token is disabled'),
  'token-invalid': e(13, 401, 'The token is not valid'),
  'all-recipients-suppressed': e(14, 422, 'Every recipient is on the suppression list'),
  'template-not-found': e(15, 422, 'The template does not exist'),
  'quota-exceeded': e(17, 429, 'The mail quota is used up'),
  'to-email-required': e(18, 422, 'Each item of To needs an email'),
  'to-email-invalid': e(19, 422, 'An address in To is not valid'),
  'to-count': e(20, 422, 'To needs at least one recipient and no more than the limit'),
  'cc-email-required': e(21, 422, 'Each item of CC needs an email'),
  'cc-email-invalid': e(22, 422, 'An address in CC is not valid'),
  'from-email-invalid': e(23, 422, 'From.email is not a valid address'),
  'bcc-not-array': e(24, 422, 'BCC must be an array'),
  'bcc-email-required': e(25, 422, 'Each item of BCC needs an email'),
  'bcc-email-invalid': e(26, 422, 'An address in BCC is not valid'),
  'bcc-count': e(27, 422, 'Too many recipients in BCC'),
  'reply-to-not-array': e(28, 422, 'ReplyTo must be an array'),
  'reply-to-email-required': e(29, 422, 'Each item of ReplyTo needs an email'),
  'reply-to-email-invalid': e(30, 422, 'An address in ReplyTo is not valid'),
  'reply-to-count': e(31, 422, 'Too many addresses in ReplyTo'),
  'domain-not-verified': e(32, 403, 'The sender domain is not verified yet'),
  'from-domain-not-allowed': e(33, 403, 'This token may not send from that domain'),
  'scope-missing': e(34, 403, 'The token lacks the scope for this operation'),
  'ip-not-allowed': e(35, 403, 'The token may not be used from this address'),
  'http-malformed': e(400, 400, 'The HTTP request is malformed'),
  'not-found': e(404, 404, 'Not found'),
  'method-not-allowed': e(405, 405, 'The method is not allowed here'),
  'request-timeout': e(408, 408, 'The request took too long to arrive'),
  'content-expired': e(410, 410, 'The content is no longer kept'),
  'invalid-parameter': e(422, 422, 'A parameter is not valid'),
  'rate-limited': e(429, 429, 'Too many requests'),
  'headers-too-large': e(431, 431, 'The request headers are too large'),
  internal: e(500, 500, 'Something went wrong on our side'),
  unavailable: e(
    503,
    503,
    'The service cannot take work right now: try again later; postrider status and the log say why',
  ),
  'json-malformed': e(1001, 400, 'The body is not a JSON object in UTF-8'),
  'media-type': e(1002, 415, 'The body must be application/json'),
  'body-too-large': e(1003, 413, 'The request body is too large'),
  'message-too-large': e(1004, 413, 'The encoded message is too large'),
  'content-encoding': e(1005, 400, 'The Content-Encoding is not supported or the body does not match it'),
  'unknown-property': e(1006, 422, 'The property is not known'),
  'request-too-complex': e(1008, 422, 'Reading this request takes too long; make it smaller or simpler'),
  'duplicate-property': e(1007, 422, 'The property is given twice in different spellings'),
  'recipients-total': e(1101, 422, 'Too many recipients in To, CC and BCC together'),
  'cc-count': e(1102, 422, 'Too many recipients in CC'),
  'to-not-array': e(1105, 422, 'To must be an array'),
  'cc-not-array': e(1106, 422, 'CC must be an array'),
  'name-invalid': e(1107, 422, 'A display name is too long or holds control characters'),
  'wrong-type': e(1108, 422, 'The value has the wrong type'),
  'subject-too-long': e(1201, 422, 'Subject is too long'),
  'subject-control-char': e(1202, 422, 'Subject holds a control character'),
  'content-type-unknown': e(1203, 422, 'ContentType must be HTML or Text'),
  'html-too-large': e(1204, 422, 'HTMLContent is too large'),
  'plain-too-large': e(1205, 422, 'PlainContent is too large'),
  'tags-count': e(1301, 422, 'Too many tags'),
  'tag-invalid': e(1302, 422, 'A tag must have 1 to 128 characters, none of them a control character'),
  'headers-count': e(1401, 422, 'Too many custom headers, or too large together'),
  'header-name-invalid': e(1402, 422, 'A header name is not valid'),
  'header-not-allowed': e(1403, 422, 'This header is set by the service and cannot be given'),
  'header-value-invalid': e(1404, 422, 'A header value is not valid'),
  'attachments-count': e(1501, 422, 'Too many attachments'),
  'content-missing': e(1502, 422, 'Content of the attachment is required'),
  'content-not-base64': e(1503, 422, 'Content must be the bytes of the file in base64'),
  'filename-invalid': e(
    1504,
    422,
    'Filename must be a string of 1 to 255 characters, none of them a control character',
  ),
  'disposition-unknown': e(1505, 422, 'Disposition must be attachment or inline'),
  'inline-needs-content-id': e(1506, 422, 'An inline attachment needs a ContentId'),
  'content-id-invalid': e(
    1507,
    422,
    'ContentId must be a whole number, or 1 to 128 letters, digits and . _ - + @ = $',
  ),
  'content-id-duplicate': e(1508, 422, 'Two inline attachments share one ContentId'),
  'type-blocked': e(1509, 422, 'Files of this kind are not allowed here'),
  'media-type-invalid': e(1510, 422, 'Type must be a media type such as application/pdf'),
  'send-at-invalid': e(1601, 422, 'SendAt is not valid'),
  'metadata-invalid': e(1602, 422, 'Metadata is not valid'),
  'sandbox-result-unknown': e(1603, 422, 'Sandbox must be true, false or an object with a known Result'),
  'expires-at-invalid': e(1604, 422, 'ExpiresAt is not valid'),
  'priority-unknown': e(1605, 422, 'Priority must be critical, normal or bulk'),
  'field-unavailable': e(1606, 422, 'This field is not available here and was not ignored'),
  'tracking-invalid': e(1610, 422, 'Tracking must be an object with Opens and Clicks, each true or false'),
  'list-unsubscribe-invalid': e(1611, 422, 'ListUnsubscribe must be true or false'),
  'idempotency-key-invalid': e(1701, 400, 'Idempotency-Key must be 1 to 255 visible ASCII characters'),
  'idempotency-key-reused': e(
    1702,
    422,
    'This Idempotency-Key was used with another request: repeat that one unchanged, or use a new key',
  ),
  'idempotency-key-in-flight': e(1703, 409, 'A request with this Idempotency-Key is still running'),
  'not-cancelable': e(1801, 409, 'Nothing is left to cancel'),
  'not-retryable': e(1802, 409, 'Nothing can be tried again'),
  'not-scheduled': e(1803, 409, 'The message is not scheduled any more'),
  'not-releasable': e(1804, 409, 'The message cannot be sent from here'),
  'sandbox-rule-limit': e(1805, 409, 'The domain has reached its maximum number of sandbox rules'),
  'webhook-url-invalid': e(1901, 422, 'WebhookURL is not a valid or allowed address'),
  'webhook-event-unknown': e(1902, 422, 'Event is not known'),
  'webhook-limit': e(1903, 409, 'The domain has reached its maximum number of webhooks'),
  'domain-exists': e(2001, 409, 'The domain exists already'),
  'domain-invalid': e(2002, 422, 'The domain name is not valid'),
  'domain-ambiguous': e(2003, 422, 'Several sender domains are possible: name one in Domain'),
  'template-exists': e(2101, 409, 'The domain has a template of that name already'),
  'template-invalid': e(2102, 422, 'The template has a mistake'),
  'template-not-fillable': e(2103, 422, 'The template cannot be filled in with these variables'),
  'template-variable-missing': e(2104, 422, 'A variable that the template needs is missing'),
  'template-limit': e(2105, 409, 'The domain has reached its maximum number of templates'),
  'template-changed': e(2106, 409, 'The template was changed in the meantime'),
  'sign-in-failed': e(2201, 401, 'The email address or the password is not right'),
  'session-ended': e(2202, 401, 'The session has ended: sign in again'),
  'session-required': e(2203, 403, 'Only a person who has signed in can do this'),
  'origin-not-allowed': e(2204, 403, 'The request does not come from the dashboard of this server'),
  'person-exists': e(2205, 409, 'A person with this email address exists already'),
  'person-limit': e(2206, 409, 'The maximum number of people is reached'),
  'password-refused': e(2207, 422, 'The password is too easy to guess'),
  'password-wrong': e(2208, 422, 'The current password is not right'),
  'code-required': e(2209, 401, 'Enter the code of your authenticator app, or a recovery code'),
  'code-wrong': e(2210, 422, 'The code is not right, or was used before'),
  'identity-refused': e(2211, 403, 'The identity provider did not say who you are'),
  'identity-unavailable': e(
    2212,
    503,
    'The identity provider does not answer, or this server is not set up right for it: try again, or ask an operator',
  ),
  'identity-unknown': e(
    2213,
    403,
    'No person on this server belongs to this account of the identity provider: ask an operator to add your address, or to unlink its former account',
  ),
  'second-factor-required': e(
    2214,
    403,
    'This server requires a second factor of everybody who signs in with a password: set it up first',
  ),
  'proof-required': e(
    2215,
    403,
    'Confirm again who you are: the result of this request outlives the session',
  ),
  'token-limit': e(
    2301,
    409,
    'The domain has reached its maximum number of tokens: revoke some that nobody needs',
  ),
  'smtp-credential-limit': e(
    2302,
    409,
    'The domain has reached its maximum number of SMTP credentials: remove some that nobody needs',
  ),
  'key-not-published': e(2004, 409, 'The standby DKIM key is not published yet'),
} as const satisfies Record<string, ErrorFacts>;

export type ErrorName = keyof typeof ERRORS;

function e(code: number, status: number, text: string): ErrorFacts {
  return { code, status, text };
}

/** One problem of a request: registry name, a sentence, and the field (a JSON Pointer in the documented spelling). */
export interface Problem {
  name: ErrorName;
  message?: string;
  field?: string;
  /** Line, from 1, if the problem is about a text. */
  line?: number;
  column?: number;
}

/** A named limit: the quota, its window in seconds, what is left, and the seconds until the window ends. */
export interface NamedLimit {
  name: string;
  quota: number;
  windowSeconds: number;
  left: number;
  resetSeconds: number;
}

/** Whether a text is a name of the registry. */
export function isErrorName(text: string): text is ErrorName {
  return Object.hasOwn(ERRORS, text);
}

/** A refusal with one or more problems; the first decides the HTTP status. */
export class AppError extends Error {
  readonly problems: readonly [Problem, ...Problem[]];
  /** Seconds for `Retry-After`, if waiting helps. */
  readonly retryAfterSeconds: number | undefined;
  /** `scope` of the `WWW-Authenticate` challenge of 401 and 403. */
  readonly scope: string | undefined;
  /** Further members of the error body (RFC 9457 §3.2). */
  readonly members: Readonly<Record<string, unknown>>;
  /** The limit that refuses, for the `RateLimit` fields. */
  readonly limit: NamedLimit | undefined;
  /** Sender domain of the refused mail, for logs; set by the code that knows it. */
  about: string | undefined;

  constructor(
    problem: ErrorName | Problem | readonly Problem[],
    options: {
      message?: string;
      field?: string;
      retryAfterSeconds?: number;
      scope?: string;
      members?: Readonly<Record<string, unknown>>;
      limit?: NamedLimit;
      cause?: unknown;
    } = {},
  ) {
    const list: readonly Problem[] =
      typeof problem === 'string'
        ? [
            {
              name: problem,
              ...(options.message === undefined ? {} : { message: options.message }),
              ...(options.field === undefined ? {} : { field: options.field }),
            },
          ]
        : Array.isArray(problem)
          ? problem
          : [problem as Problem];
    const [first, ...rest] = list;
    if (first === undefined) throw new TypeError('AppError needs at least one problem');
    super(
      first.message ?? ERRORS[first.name].text,
      options.cause === undefined ? {} : { cause: options.cause },
    );
    this.name = 'AppError';
    this.problems = [first, ...rest];
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.scope = options.scope;
    this.members = options.members ?? {};
    this.limit = options.limit;
  }

  /** HTTP status of the first problem. */
  get status(): number {
    return ERRORS[this.problems[0].name].status;
  }
}

/** The server or a command cannot start until an operator changes something; the message is sentences that say what. */
export class StartRefused extends Error {}

const NO_SUCH = 'There is no such ';
const NOT_VISIBLE = ', or you may not see it';

/** What a 404 says if nothing more is known than the kind of thing. */
export function noSuch(noun: string): string {
  return NO_SUCH + noun + NOT_VISIBLE;
}

/** Whether that is all that a 404 says. */
export function saysNoSuch(message: string): boolean {
  return message.startsWith(NO_SUCH) && message.endsWith(NOT_VISIBLE);
}
