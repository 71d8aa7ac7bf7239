/**
 * Every exported function that is given text or octets from outside, called with a text of any kind. The test beside it finds
 * the functions in the source, so that a new one is either here or excused with a reason.
 */

import { z } from 'zod';
import { escapeHtml } from '../../src/lib/escape-html.ts';
import { plainIp } from '../../src/lib/loopback.ts';
import { inOneGo } from '../../src/lib/turns.ts';
import { bodyText, jsonProblem, parseJsonObject } from '../../src/listeners/http/body/json-body.ts';
import { requireJson } from '../../src/listeners/http/body/json-media-type.ts';
import { propertyTable } from '../../src/listeners/http/body/json-properties.ts';
import { prefersStrict } from '../../src/listeners/http/body/prefer.ts';
import { pointerSegment } from '../../src/listeners/http/body/problem-list.ts';
import { exceedsOctets, hasControl, isLongerThan } from '../../src/listeners/http/body/text-rules.ts';
import { parseIdempotencyKey } from '../../src/listeners/http/idempotency.ts';
import { cursor } from '../../src/listeners/http/paging.ts';
import { address, domainName, moment, queryReader } from '../../src/listeners/http/query.ts';
import { pathOfAbsoluteForm } from '../../src/listeners/http/request-facts.ts';
import { codesAndLinks } from '../../src/listeners/http/sandbox/captured-mail.ts';
import { harmlessHtml, pageOf } from '../../src/listeners/http/sandbox/captured-page.ts';
import { downloadAs, safeFilename } from '../../src/listeners/http/sandbox/captured-parts.ts';
import { searchedText } from '../../src/listeners/http/sandbox/captured-text.ts';
import { findCodes } from '../../src/listeners/http/sandbox/find-codes.ts';
import { findLinks as findTextLinks } from '../../src/listeners/http/sandbox/find-links.ts';
import {
  decodeBase64,
  hasUnsafeContentId,
  quoteLongContentIds,
} from '../../src/listeners/http/send/attachments.ts';
import { parseBody } from '../../src/listeners/http/send/email-reader.ts';
import { FIELD_NAMES } from '../../src/listeners/http/send/fields.ts';
import { DEFAULT_EMAIL_LIMITS } from '../../src/listeners/http/send/limits.ts';
import { parseEmailBody, readEmailObject } from '../../src/listeners/http/send/read-email.ts';
import { unknownMembers } from '../../src/listeners/http/send/unknown-members.ts';
import {
  readRender,
  readTemplate,
  renderTexts,
} from '../../src/listeners/http/templates/template-request.ts';
import { readExtensionFields } from '../../src/listeners/submission/extension-fields.ts';
import { aLabels, parseAddress, toALabelDomain } from '../../src/mail/address.ts';
import { addressProblem, domainOfAddress, isAscii } from '../../src/mail/address-text.ts';
import { readAttachedComplaint, readFeedbackReport } from '../../src/mail/arf.ts';
import { parseAuthor, shownDomains } from '../../src/mail/author-field.ts';
import {
  answersBySubject,
  autoReplySign,
  isAutoReplied,
  subjectOf as mailSubject,
} from '../../src/mail/auto-reply.ts';
import { readTextBounce, withReasonsOf } from '../../src/mail/bounce-text.ts';
import {
  isInvitation,
  parseMediaType,
  readType,
  textParameter,
  typeFromFilename,
} from '../../src/mail/content-type.ts';
import { decodeWords, textIn } from '../../src/mail/decode-words.ts';
import { bodyHash, bodyHashInTurns, headerFields } from '../../src/mail/dkim-canonical.ts';
import { verifyDkim } from '../../src/mail/dkim-verify.ts';
import { readDmarcReport } from '../../src/mail/dmarc-report.ts';
import { isFromMailSystem, isPassedOn, readDsn, returnedFields } from '../../src/mail/dsn.ts';
import { isSevenBitMessage } from '../../src/mail/dsn-writer.ts';
import { encodeWords } from '../../src/mail/encoded-word.ts';
import { cleanHeaderText, foldBracketed, foldUnstructured } from '../../src/mail/header-fold.ts';
import {
  checkHeader,
  isBracketedHeader,
  isComposedHeader,
  isHeaderName,
  isReservedHeader,
  repeatedField,
  submittedField,
} from '../../src/mail/header-rules.ts';
import { parseMailboxList, readQuoted } from '../../src/mail/mailbox-list.ts';
import { bodyOf, MAX_DEPTH, readMime, walkParts } from '../../src/mail/mime-tree.ts';
import { createPersonalTokens, targetDigest } from '../../src/mail/personal-token.ts';
import {
  rawFieldValue,
  readHeaderLines,
  readHeaderToSend,
  readRawHeader,
  strictFieldValue,
} from '../../src/mail/raw-header.ts';
import { readableText, textOfOctets } from '../../src/mail/readable-text.ts';
import { toSevenBitInSteps } from '../../src/mail/seven-bit.ts';
import { readTagList } from '../../src/mail/tag-list.ts';
import {
  countNonAscii,
  decodeQuotedPrintable,
  decodeTransfer,
  encodeBase64,
  encodeQuotedPrintable,
  encodeWithStretches,
  normaliseLineEnds,
} from '../../src/mail/transfer-encoding.ts';
import { createReturnPathTokens } from '../../src/mail/verp.ts';
import { inboxLabel } from '../../src/model/inbox.ts';
import type { PersonalOptions } from '../../src/model/personal.ts';
import { foldText } from '../../src/model/search-text.ts';
import { suppressionKey } from '../../src/model/suppression.ts';
import { checkUrl } from '../../src/net/checked-url.ts';
import { decodeMessage } from '../../src/net/dns-codec.ts';
import { encodeName, isHostName, normalizeName, readName, zoneOf } from '../../src/net/dns-name.ts';
import { parseIp, parseNetwork, reverseName } from '../../src/net/ip-address.ts';
import { isNamedByPolicy, parseMtaStsPolicy, readMtaStsRecord } from '../../src/net/mta-sts.ts';
import { parseServers } from '../../src/net/system-resolvers.ts';
import { decodeEntities } from '../../src/pipeline/compose/html-entities.ts';
import { findLinks, linkTarget } from '../../src/pipeline/compose/html-links.ts';
import { attributeOf, endTagOf, readTag } from '../../src/pipeline/compose/html-tags.ts';
import { leafText } from '../../src/pipeline/compose/leaf-text.ts';
import { personalHtml } from '../../src/pipeline/compose/personal-html.ts';
import { personalRaw } from '../../src/pipeline/compose/personal-raw.ts';
import { escapeFor, escapeUrl } from '../../src/pipeline/compose/template/escape.ts';
import { compileTemplate, fillTemplate } from '../../src/pipeline/compose/template/template.ts';
import { positionOf } from '../../src/pipeline/compose/template/template-error.ts';
import { afterUrlText, URL_START } from '../../src/pipeline/compose/template/url-position.ts';
import { textFromHtml } from '../../src/pipeline/compose/text-from-html.ts';
import { unsubscribeHeader } from '../../src/pipeline/compose/unsubscribe-header.ts';
import { createClassifier } from '../../src/pipeline/deliver/outcome/classifier/classify.ts';
import { withoutHosts } from '../../src/pipeline/deliver/outcome/classifier/host-names.ts';
import { featuresOf, learnedOf, likelihoods } from '../../src/pipeline/deliver/outcome/classifier/learned.ts';
import { kindsOf, meaningsOf } from '../../src/pipeline/deliver/outcome/classifier/meanings.ts';
import {
  enhancedIn,
  readReply,
  retryHintMs,
  subjectOf,
  withoutAccents,
} from '../../src/pipeline/deliver/outcome/classifier/normalise.ts';
import { notFinalIn } from '../../src/pipeline/deliver/outcome/classifier/not-final.ts';
import {
  namesOtherReason,
  namesOtherSubjects,
} from '../../src/pipeline/deliver/outcome/classifier/other-subjects.ts';
import { prefilterOf } from '../../src/pipeline/deliver/outcome/classifier/prefilter.ts';
import { quotesReply } from '../../src/pipeline/deliver/outcome/classifier/quoted-reply.ts';
import { replyShape } from '../../src/pipeline/deliver/outcome/classifier/shape.ts';
import { machineReason } from '../../src/pipeline/events/machine-marks.ts';
import { returnTarget } from '../../src/pipeline/events/return-target.ts';
import { keptBody } from '../../src/pipeline/webhooks/call.ts';
import { retryAfterMs } from '../../src/pipeline/webhooks/retry-schedule.ts';
import { isCidr, isWithin } from '../../src/policy/access/ip-allow-list.ts';
import { emailOf } from '../../src/policy/access/person-address.ts';
import { cookieText, isSessionRequest } from '../../src/policy/access/session-page.ts';
import { checkToken } from '../../src/policy/access/tokens.ts';
import { rsaBits } from '../../src/policy/domains/dkim-keys.ts';
import { compareKey, parseDkimRecord } from '../../src/policy/domains/dkim-record.ts';
import { relativeHost } from '../../src/policy/domains/dns-records.ts';
import { showable, shownTexts } from '../../src/policy/domains/doctor/check.ts';
import { isDmarc, parseDmarc } from '../../src/policy/domains/doctor/dmarc.ts';
import { judgeBimi } from '../../src/policy/domains/doctor/hosts.ts';
import { expandSpf, isDomainSpec, withoutMacros } from '../../src/policy/domains/doctor/spf-macros.ts';
import { isSpf, maskedNetwork, parseSpf } from '../../src/policy/domains/doctor/spf-record.ts';
import { readReport } from '../../src/policy/sandbox/spamd.ts';
import { isCleanText, isSafePath } from '../../src/smtp/command-guard.ts';
import { createReplyReader, enhancedCodeOf } from '../../src/smtp/reply.ts';
import { beginAuth } from '../../src/smtp/server-auth.ts';
import { decodeXtext, lineText, parseCommand, parseMail, parseRcpt } from '../../src/smtp/server-commands.ts';

/** Does everything that one reader does with a text. */
export type Reader = (text: string) => unknown;

const bytes = (text: string): Uint8Array => Buffer.from(text, 'utf8');
const NOTHING = {};
const tokens = createReturnPathTokens([{ id: 1, secret: new Uint8Array(32) }]);
const personalTokens = createPersonalTokens([{ id: 1, secret: new Uint8Array(32) }]);
const classifier = createClassifier();
const PERSONAL: PersonalOptions = {
  base: 'https://t.example',
  reach: 'one-click',
  host: '',
  opens: true,
  clicks: true,
  unsubscribe: true,
  mailtoDomain: null,
};
const EMAIL_OPTIONS = {
  strict: false,
  review: true,
  blockedExtensions: new Set(['exe']),
  nowMs: 1_790_000_000_000,
};

/** A message with the text at each place where somebody's text may stand. */
function mails(text: string): Uint8Array[] {
  const line = text.replace(/[\r\n]/g, ' ');
  return [
    `Subject: ${text}\r\nFrom: ${text}\r\n\r\n${text}`,
    `${text}\r\n\r\nx`,
    `Content-Type: ${line}\r\nContent-Disposition: attachment; filename=${line}\r\nContent-Id: ${line}\r\n\r\nx`,
    `Content-Type: multipart/mixed; x="${line}"; boundary=b\r\n\r\n--b\r\n${text}\r\n--b--\r\n${text}`,
    `Content-Type: multipart/mixed; boundary="${line.slice(0, 60)}"\r\n\r\n${text}`,
    `Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${text}\u00e9`,
    `Content-Type: text/html; charset=us-ascii\r\nContent-Transfer-Encoding: base64\r\n\r\n${text}`,
    `Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n--b\r\n\r\n${text}\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: ${line}\r\n\r\nFinal-Recipient: ${line}\r\nDiagnostic-Code: ${line}\r\nStatus: ${line}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n${text}\r\n--b--`,
    `Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n--b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: ${line}\r\n${text}\r\n--b--`,
    `From: MAILER-DAEMON@example.com\r\nSubject: Undelivered mail ${line}\r\n\r\nThis is the mail system.\r\n<${line}>: ${text}`,
    `DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=a; h=from; bh=${line}; b=${line}\r\nFrom: a\r\n\r\n${text}`,
  ].map(bytes);
}
/** As many multiparts inside each other as are read, each boundary the beginning of the next. */
function nested(text: string): Uint8Array {
  const levels = Array.from({ length: MAX_DEPTH }, (_, i) => '-'.repeat(3 * i + 1));
  const heads = levels.map(
    (boundary) => `Content-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n--${boundary}\r\n`,
  );
  return bytes(`${heads.join('')}\r\n${text}`);
}
const eachMail = (read: (message: Uint8Array) => unknown) => (text: string) => mails(text).map(read);
const eachMailLater = (read: (message: Uint8Array) => Promise<unknown>) => async (text: string) => {
  for (const message of mails(text)) await read(message);
};
/** What is thrown for a bad text is an answer like any other. */
const refusing =
  (read: Reader): Reader =>
  (text) => {
    try {
      return read(text);
    } catch {
      return null;
    }
  };
const inField =
  (
    read: (
      message: Uint8Array,
      field: { name: string; start: number; end: number; valueStart: number },
    ) => unknown,
  ): Reader =>
  (text) => {
    const message = bytes(`Subject: ${text}\r\n`);
    return read(message, { name: 'subject', start: 0, end: message.length, valueStart: 8 });
  };
/** An email request with the text in every field. */
const email = (text: string) => ({
  ...Object.fromEntries(FIELD_NAMES.names.map((name) => [name, text])),
  From: { email: `${text}@example.com`, name: text },
  To: [{ email: text, name: text }, { email: `"${text}"@example.com` }, { email: `a@${text}` }],
  CC: [{ email: `a@b.example`, name: text }],
  ReplyTo: [{ email: text }],
  ContentType: 'HTML',
  Tags: [text, text.slice(0, 40)],
  Headers: { 'X-A': text, [text]: 'x' },
  Metadata: { [text]: text },
  Attachments: [
    { Filename: text, Content: text, Type: text, ContentId: text },
    { Filename: `a${text}b`, Content: 'aGk=', Type: `text/plain; name=${text}` },
  ],
  [text]: text,
});
const template = (html: string) => {
  const compiled = compileTemplate({ subject: null, html, text: null });
  return refusing((text) => fillTemplate(compiled, { v: text, l: [text, { v: text }] }));
};

/** `file name` below src → the reader. */
export const READERS: Readonly<Record<string, Reader>> = {
  'listeners/http/request-facts.ts pathOfAbsoluteForm': (text) => [
    pathOfAbsoluteForm(text),
    pathOfAbsoluteForm(`http://${text}`),
  ],
  'lib/escape-html.ts escapeHtml': escapeHtml,
  'lib/loopback.ts plainIp': (text) => plainIp(`::ffff:${text}`),
  'listeners/http/sandbox/captured-mail.ts codesAndLinks': (text) =>
    codesAndLinks({ subject: text, text, html: text }),
  'listeners/http/sandbox/find-codes.ts findCodes': (text) => findCodes([text, `code: ${text}`], text),
  'listeners/http/sandbox/find-links.ts findLinks': (text) => [
    findTextLinks(text, ''),
    findTextLinks('', text),
  ],
  'listeners/http/sandbox/captured-page.ts harmlessHtml': harmlessHtml,
  'listeners/http/sandbox/captured-page.ts pageOf': (text) => [
    pageOf(text, new Map()),
    pageOf(`<a href=${text}`, new Map([[text, text]])),
  ],
  'listeners/http/sandbox/captured-parts.ts downloadAs': downloadAs,
  'listeners/http/sandbox/captured-parts.ts safeFilename': (text) => [
    safeFilename(text, 0),
    safeFilename(`${text}"`, 0),
  ],
  'listeners/http/sandbox/captured-text.ts searchedText': (text) =>
    searchedText({
      HTMLContent: text,
      PlainContent: text,
      Headers: [],
      Attachments: [],
      Links: [],
      Codes: [],
      ParseError: null,
    }),
  'listeners/http/send/attachments.ts decodeBase64': decodeBase64,
  'listeners/http/send/attachments.ts hasUnsafeContentId': hasUnsafeContentId,
  'listeners/http/send/attachments.ts quoteLongContentIds': (text) => [
    quoteLongContentIds(text),
    quoteLongContentIds(`{"Attachments":[{"ContentId":${text}`),
  ],
  'listeners/http/send/read-email.ts parseEmailBody': (text) =>
    readEmailObject(parseEmailBody(bytes(JSON.stringify(email(text)))), DEFAULT_EMAIL_LIMITS, EMAIL_OPTIONS),
  'listeners/http/send/unknown-members.ts unknownMembers': (text) =>
    unknownMembers({ [text]: 1 }, propertyTable(['From', 'PlainContent']), 25),
  'listeners/http/body/json-body.ts bodyText': (text) => bodyText(bytes(text)),
  'listeners/http/body/json-body.ts jsonProblem': (text) => [jsonProblem(text), jsonProblem(`{"a":"${text}`)],
  'listeners/http/body/json-body.ts parseJsonObject': (text) => [
    parseJsonObject(text),
    parseJsonObject(`{"a":${text}`),
  ],
  'listeners/http/body/problem-list.ts pointerSegment': pointerSegment,
  'listeners/http/body/text-rules.ts exceedsOctets': (text) => exceedsOctets(text, 1_000_000),
  'listeners/http/body/text-rules.ts hasControl': (text) => hasControl(text, true),
  'listeners/http/body/text-rules.ts isLongerThan': (text) => isLongerThan(text, 1_000_000),
  'listeners/http/send/email-reader.ts parseBody': refusing((text) => parseBody(bytes(text))),
  'listeners/http/idempotency.ts parseIdempotencyKey': refusing(parseIdempotencyKey),
  'listeners/http/body/json-media-type.ts requireJson': refusing((text) =>
    requireJson(`application/json${text}`),
  ),
  'listeners/http/body/prefer.ts prefersStrict': prefersStrict,
  'listeners/http/paging.ts cursor': (text) => cursor('list', z.string()).safeParse(text),
  'listeners/http/query.ts address': (text) => address('To').safeParse(text),
  'listeners/http/query.ts domainName': (text) => domainName('RecipientDomain').safeParse(text),
  'listeners/http/query.ts moment': (text) => moment('Since').safeParse(text),
  'listeners/http/query.ts queryReader': refusing((text) =>
    queryReader({ Since: moment('Since') })(
      new Map([...text].map((_, i) => [text.slice(i, i + 64), text])),
      true,
    ),
  ),

  'listeners/http/templates/template-request.ts readRender': refusing((text) =>
    readRender(bytes(JSON.stringify({ Variables: { [text]: text } })), false),
  ),
  'listeners/http/templates/template-request.ts readTemplate': refusing((text) =>
    readTemplate(
      bytes(JSON.stringify({ Name: text, Subject: text, HTMLContent: text, PlainContent: text })),
      { strict: false, isNew: true },
    ),
  ),
  'listeners/http/templates/template-request.ts renderTexts': refusing((text) =>
    renderTexts(
      bytes(JSON.stringify({ Subject: text, HTMLContent: text, Variables: { [text]: text } })),
      false,
    ),
  ),
  'listeners/submission/extension-fields.ts readExtensionFields': refusing((text) =>
    readExtensionFields(
      [
        'tags',
        'metadata',
        'send-at',
        'expires-at',
        'priority',
        'sandbox',
        'tracking',
        'idempotency-key',
        text,
      ].map((name) => [name, text]),
      1_790_000_000_000,
    ),
  ),
  'mail/address-text.ts domainOfAddress': domainOfAddress,
  'mail/address-text.ts isAscii': isAscii,
  'mail/address-text.ts addressProblem': (text) => [addressProblem(text), addressProblem(`a@${text}`)],
  'mail/address.ts parseAddress': (text) => [
    parseAddress(text),
    parseAddress(`${text}@example.com`),
    parseAddress(`a@${text}`),
    parseAddress(`"${text}"@a.example`),
  ],
  'mail/address.ts aLabels': aLabels,
  'mail/address.ts toALabelDomain': toALabelDomain,
  'mail/arf.ts readAttachedComplaint': eachMail((message) => readAttachedComplaint(readMime(message))),
  'mail/arf.ts readFeedbackReport': eachMail((message) => readFeedbackReport(readMime(message))),
  'mail/author-field.ts parseAuthor': (text) => [
    parseAuthor(text),
    parseAuthor(`"${text}" <a@b.example>`),
    parseAuthor(`a (${text}`),
  ],
  'mail/author-field.ts shownDomains': shownDomains,
  'mail/auto-reply.ts answersBySubject': eachMail((message) => answersBySubject(readMime(message))),
  'mail/auto-reply.ts autoReplySign': eachMail((message) => autoReplySign(readMime(message))),
  'mail/auto-reply.ts isAutoReplied': eachMail((message) => isAutoReplied(readMime(message))),
  'mail/auto-reply.ts subjectOf': eachMail((message) => mailSubject(readMime(message))),
  'mail/bounce-text.ts readTextBounce': eachMail((message) => readTextBounce(readMime(message))),
  'mail/bounce-text.ts withReasonsOf': eachMail((message) => {
    const mail = readMime(message);
    const report = readDsn(mail);
    return report === null ? null : withReasonsOf(mail, report);
  }),
  'mail/content-type.ts isInvitation': (text) => isInvitation(text, 'inline'),
  'mail/content-type.ts parseMediaType': (text) => [
    parseMediaType(text),
    parseMediaType(`text/plain; a="${text}`),
  ],
  'mail/content-type.ts readType': (text) => [
    readType(text, 'text/plain'),
    readType(`text/html; a="${text}`, 'text/plain'),
  ],
  'mail/content-type.ts textParameter': (text) => textParameter('filename', text),
  'mail/content-type.ts typeFromFilename': typeFromFilename,
  'mail/decode-words.ts decodeWords': (text) => [
    decodeWords(text),
    decodeWords(`=?utf-8?q?${text}`),
    decodeWords(`=?utf-8?b?${text}?=`),
  ],
  'mail/decode-words.ts textIn': (text) =>
    ['gb18030', 'iso-2022-jp', text].map((charset) => textIn(charset, Buffer.from(text, 'latin1'))),
  'mail/dkim-canonical.ts bodyHash': (text) => bodyHash(bytes(text.replace(/\r\n|\r|\n/g, '\r\n')), 0),
  'mail/dkim-canonical.ts bodyHashInTurns': (text) =>
    bodyHashInTurns(bytes(text.replace(/\r\n|\r|\n/g, '\r\n')), 0, () => undefined),
  'mail/dkim-canonical.ts headerFields': refusing((text) =>
    headerFields(bytes(`A: ${text}\r\n\r\n`), Buffer.byteLength(text) + 7),
  ),
  'mail/dkim-verify.ts verifyDkim': eachMailLater((message) =>
    verifyDkim(message, {
      domains: new Set(['example.com']),
      lookUp: async () => ({ kind: 'none' }),
      nowMs: 0,
      turn: () => undefined,
    }),
  ),
  'mail/dmarc-report.ts readDmarcReport': async (text) => {
    const documents = [
      text,
      `<feedback>${text}`,
      `<feedback ${text}`,
      `<!--${text}`,
      `<![CDATA[${text}`,
      `<!DOCTYPE ${text}`,
    ];
    for (const document of documents) {
      const message = bytes(`Content-Type: text/xml\r\n\r\n${document}`);
      await readDmarcReport(readMime(message), () => undefined);
    }
  },
  'mail/dsn.ts isFromMailSystem': eachMail((message) => isFromMailSystem(readMime(message))),
  'mail/dsn.ts isPassedOn': eachMail((message) => isPassedOn(readMime(message))),
  'mail/dsn.ts readDsn': eachMail((message) => readDsn(readMime(message))),
  'mail/dsn.ts returnedFields': eachMail((message) => returnedFields(readMime(message))),
  'mail/dsn-writer.ts isSevenBitMessage': (text) => isSevenBitMessage(bytes(text)),
  'mail/encoded-word.ts encodeWords': (text) => encodeWords(text),
  'mail/header-fold.ts cleanHeaderText': cleanHeaderText,
  'mail/header-fold.ts foldUnstructured': (text) => [
    foldUnstructured('Subject', text),
    foldUnstructured('Subject', text, true),
  ],
  'mail/header-fold.ts foldBracketed': (text) => foldBracketed('List-Id', `é${text}`),
  'mail/header-rules.ts checkHeader': (text) => [
    checkHeader('X-A', text),
    checkHeader('List-Id', text),
    checkHeader(text, 'x'),
  ],
  'mail/header-rules.ts isBracketedHeader': isBracketedHeader,
  'mail/header-rules.ts isComposedHeader': isComposedHeader,
  'mail/header-rules.ts isHeaderName': isHeaderName,
  'mail/header-rules.ts isReservedHeader': isReservedHeader,
  'mail/header-rules.ts repeatedField': (text) => repeatedField(text.split(',')),
  'mail/header-rules.ts submittedField': submittedField,
  'mail/mailbox-list.ts parseMailboxList': (text) => [
    parseMailboxList(text),
    parseMailboxList(`"${text}`),
    parseMailboxList(`a: ${text};`),
    parseMailboxList(`${'\t'.repeat(text.length)}${','.repeat(text.length)}`),
  ],
  'mail/mailbox-list.ts readQuoted': (text) => [
    readQuoted(`"${text}`, 0),
    readQuoted(`"${'\\'.repeat(text.length)}`, 0),
  ],
  'mail/mime-tree.ts readMime': (text) =>
    [...mails(text), nested(text), nested(`\n--${text}`), nested(text.replace(/./gs, '--$&\n'))].map(
      (message) => [...walkParts(readMime(message))].map((part) => bodyOf(part, 1_000_000)),
    ),
  'mail/personal-token.ts createPersonalTokens': (text) =>
    personalTokens.parse({ purpose: 'o', host: text, digest: '' }, text),
  'mail/personal-token.ts targetDigest': targetDigest,
  'mail/raw-header.ts rawFieldValue': inField(rawFieldValue),
  'mail/raw-header.ts readHeaderLines': (text) => [
    readHeaderLines(bytes(text), 0),
    readHeaderLines(bytes(text), 0, () => false),
  ],
  'mail/raw-header.ts readHeaderToSend': eachMail(readHeaderToSend),
  'mail/raw-header.ts readRawHeader': eachMail(readRawHeader),
  'mail/raw-header.ts strictFieldValue': inField(strictFieldValue),
  'mail/readable-text.ts readableText': readableText,
  'mail/readable-text.ts textOfOctets': (text) => textOfOctets(Buffer.from(text, 'latin1')),
  'mail/seven-bit.ts toSevenBitInSteps': eachMail((message) => inOneGo(toSevenBitInSteps(message))),
  'mail/tag-list.ts readTagList': (text) => readTagList(text, 64),
  'mail/transfer-encoding.ts countNonAscii': (text) => countNonAscii(bytes(text)),
  'mail/transfer-encoding.ts decodeQuotedPrintable': (text) => decodeQuotedPrintable(Buffer.from(text)),
  'mail/transfer-encoding.ts decodeTransfer': (text) =>
    ['7bit', 'base64', text].map((encoding) => decodeTransfer(Buffer.from(text), encoding)),
  'mail/transfer-encoding.ts encodeBase64': (text) =>
    encodeBase64(bytes(text), new Uint8Array(8 * text.length + 100), 0),
  'mail/transfer-encoding.ts encodeQuotedPrintable': (text) =>
    encodeQuotedPrintable(bytes(text), new Uint8Array(16 * text.length + 100), 0),
  'mail/transfer-encoding.ts encodeWithStretches': (text) =>
    encodeWithStretches(bytes(text), new Uint8Array(16 * text.length + 100), 0, [], []),
  'mail/transfer-encoding.ts normaliseLineEnds': normaliseLineEnds,
  'model/inbox.ts inboxLabel': inboxLabel,
  'model/search-text.ts foldText': foldText,
  'model/suppression.ts suppressionKey': suppressionKey,
  'net/checked-url.ts checkUrl': (text) => {
    const filter = { check: () => ({ ok: false, reason: 'x' }) as never };
    return [
      checkUrl(text, filter, 'always'),
      checkUrl(`https://${text}/`, filter, 'always'),
      checkUrl(`https://a.example/${text}`, filter, 'always'),
    ];
  },
  'net/dns-codec.ts decodeMessage': refusing((text) =>
    decodeMessage(bytes(`\u0000\u0001\u0001\u0000\u0000\u0001\u0000\u0040\u0000\u0000\u0000\u0000${text}`)),
  ),
  'net/dns-name.ts encodeName': refusing(encodeName),
  'net/dns-name.ts isHostName': isHostName,
  'net/dns-name.ts normalizeName': normalizeName,
  'net/dns-name.ts readName': refusing((text) => readName(bytes(text), 0)),
  'net/dns-name.ts zoneOf': zoneOf,
  'net/ip-address.ts parseIp': parseIp,
  'net/ip-address.ts parseNetwork': parseNetwork,
  'net/ip-address.ts reverseName': refusing(reverseName),
  'net/mta-sts.ts isNamedByPolicy': (text) => isNamedByPolicy({ mx: [text, `*.${text}`] }, text),
  'net/mta-sts.ts parseMtaStsPolicy': (text) => [
    parseMtaStsPolicy(text),
    parseMtaStsPolicy(`version: STSv1\nmx: ${text}`),
  ],
  'net/mta-sts.ts readMtaStsRecord': (text) => readMtaStsRecord([text, `v=STSv1; id=${text}`]),
  'policy/sandbox/spamd.ts readReport': (text) => [
    readReport(text),
    readReport(`SPAMD/1.1 0 EX_OK\r\nSpam: True ; 9 / 5\r\n\r\n 1.0 RULE ${text}\n${' '.repeat(20)}${text}`),
  ],
  'net/system-resolvers.ts parseServers': parseServers,
  'pipeline/compose/html-entities.ts decodeEntities': decodeEntities,
  'pipeline/compose/html-links.ts findLinks': (text) => [
    findLinks(text, 1_000),
    findLinks(`<a href="${text}`, 1_000),
    findLinks(`<a href="https://a.example/">${text}`, 1_000),
  ],
  'pipeline/compose/html-links.ts linkTarget': (text) => [linkTarget(text), linkTarget(`https://${text}`)],
  'pipeline/compose/html-tags.ts readTag': (text) =>
    [`<${text}`, `<a ${text}>`, `<!--${text}`, `</a${text}`].map((html) => {
      const tag = readTag(html, 0);
      return typeof tag === 'number' ? tag : attributeOf(html, tag, 'href');
    }),
  'pipeline/compose/html-tags.ts endTagOf': (text) => [endTagOf(text, 'a', 0), endTagOf(text, 'script', 0)],
  'pipeline/compose/leaf-text.ts leafText': (text) => [
    leafText(Buffer.from(text), 'utf-8'),
    leafText(Buffer.from(text), 'iso-8859-1'),
  ],
  'pipeline/compose/personal-html.ts personalHtml': (text) =>
    personalHtml(`<a href="https://a.example/">${text}`, PERSONAL),
  'pipeline/compose/personal-raw.ts personalRaw': eachMail((message) =>
    inOneGo(personalRaw({ bytes: message, bodyOffset: 0 }, PERSONAL)),
  ),
  'pipeline/compose/template/compile.ts compilePart': refusing((text) =>
    compileTemplate({ subject: null, html: text, text: null }),
  ),
  'pipeline/compose/template/escape.ts escapeFor': (text) =>
    (['plain', 'subject', 'raw', 'text', 'attribute-bare', 'css-quoted'] as const).map((place) =>
      escapeFor(place, text),
    ),
  'pipeline/compose/template/escape.ts escapeUrl': (text) =>
    (['start', 'word', 'slash', 'host', 'path', 'query'] as const).map((place) =>
      escapeUrl('url-bare', text, { place, word: 'x' }),
    ),
  'pipeline/compose/template/render.ts renderProgram': template(
    '{{v}}{{#l}}{{.}}{{v}}{{/l}}<a href="{{v}}/{{v}}" title={{v}}>',
  ),
  'pipeline/compose/template/scan.ts scan': refusing((text) =>
    compileTemplate({ subject: null, html: null, text: `{{a}}${text}` }),
  ),
  'pipeline/compose/template/template-error.ts positionOf': (text) => positionOf(text, text.length),
  'pipeline/compose/template/url-position.ts afterUrlText': (text) => afterUrlText(URL_START, text, true),
  'pipeline/compose/unsubscribe-header.ts unsubscribeHeader': (text) =>
    unsubscribeHeader(
      { base: 'https://m.example', reach: 'one-click', unsubscribe: true, mailtoDomain: null },
      0,
      [text],
    ),
  'pipeline/compose/text-from-html.ts textFromHtml': (text) => [
    textFromHtml(text),
    textFromHtml(`<a href="${text}">${text}</a><table>${text}`),
  ],
  'pipeline/deliver/outcome/classifier/classify.ts classify': (text) =>
    classifier.classify({ stage: 'data', code: 550, enhanced: null, text, origin: 'remote' } as never),
  'pipeline/deliver/outcome/classifier/host-names.ts withoutHosts': (text) => withoutHosts(text),
  'pipeline/deliver/outcome/classifier/not-final.ts notFinalIn': notFinalIn,
  'pipeline/deliver/outcome/classifier/quoted-reply.ts quotesReply': quotesReply,
  'pipeline/deliver/outcome/classifier/meanings.ts kindsOf': kindsOf,
  'pipeline/deliver/outcome/classifier/meanings.ts meaningsOf': meaningsOf,
  'pipeline/deliver/outcome/classifier/learned.ts featuresOf': (text) => featuresOf(text, 'rcpt', null),
  'pipeline/deliver/outcome/classifier/learned.ts likelihoods': (text) =>
    likelihoods(featuresOf(text, 'rcpt', null), new Map(), 3),
  'pipeline/deliver/outcome/classifier/learned.ts learnedOf': (text) => learnedOf(text, 'rcpt', null),
  'pipeline/deliver/outcome/classifier/normalise.ts enhancedIn': enhancedIn,
  'pipeline/deliver/outcome/classifier/normalise.ts readReply': (text) => [
    readReply(text),
    readReply(`550 ${text}`),
  ],
  'pipeline/deliver/outcome/classifier/normalise.ts retryHintMs': retryHintMs,
  'pipeline/deliver/outcome/classifier/normalise.ts subjectOf': (text) => subjectOf(550, null, text),
  'pipeline/deliver/outcome/classifier/normalise.ts withoutAccents': withoutAccents,
  'pipeline/deliver/outcome/classifier/other-subjects.ts namesOtherReason': namesOtherReason,
  'pipeline/deliver/outcome/classifier/other-subjects.ts namesOtherSubjects': namesOtherSubjects,
  'pipeline/deliver/outcome/classifier/shape.ts replyShape': replyShape,
  'pipeline/deliver/outcome/classifier/prefilter.ts prefilterOf': prefilterOf,
  'pipeline/events/machine-marks.ts machineReason': machineReason,
  'pipeline/events/return-target.ts returnTarget': (text) => returnTarget(text, tokens),
  'policy/domains/doctor/hosts.ts judgeBimi': (text) =>
    judgeBimi('example.com', { kind: 'found', records: [text, `v=BIMI1; l=${text}`] } as never),
  'pipeline/webhooks/call.ts keptBody': (text) => keptBody(bytes(text)),
  'pipeline/webhooks/retry-schedule.ts retryAfterMs': (text) => retryAfterMs(503, text, 0),
  'policy/access/ip-allow-list.ts isWithin': (text) => isWithin([text], [text]),
  'policy/access/ip-allow-list.ts isCidr': isCidr,
  'policy/access/session-page.ts isSessionRequest': (text) => {
    const request = { method: 'POST', header: () => text };
    return [
      cookieText('session', request),
      cookieText('pending', request),
      cookieText('device', request),
      isSessionRequest(request, 'https://mail.example.com'),
    ];
  },
  'policy/access/person-address.ts emailOf': emailOf,
  'policy/access/tokens.ts checkToken': (text) =>
    checkToken({ keys: NOTHING as never, clock: { now: () => 0 } as never, instance: 'x' }, text).catch(
      () => null,
    ),
  'policy/domains/dkim-keys.ts rsaBits': refusing(rsaBits),
  'policy/domains/dkim-record.ts compareKey': (text) => [
    compareKey(text, text),
    compareKey(`v=DKIM1; p=${text}`, text),
  ],
  'policy/domains/dkim-record.ts parseDkimRecord': (text) => [
    parseDkimRecord(text),
    parseDkimRecord(`v=DKIM1; p=${text}`),
  ],
  'policy/domains/dns-records.ts relativeHost': (text) => relativeHost(text, 'example.com'),
  'policy/domains/doctor/check.ts showable': showable,
  'policy/domains/doctor/check.ts shownTexts': (text) => shownTexts([text, text]),
  'policy/domains/doctor/dmarc.ts isDmarc': isDmarc,
  'policy/domains/doctor/dmarc.ts parseDmarc': (text) => [
    parseDmarc(text),
    parseDmarc(`v=DMARC1; p=none; rua=${text}`),
  ],
  'policy/domains/doctor/spf-macros.ts expandSpf': (text) => {
    const macros = { local: text, domain: 'a.example', current: 'a.example', from: null };
    return [expandSpf(text, macros), expandSpf('%{S}%{lr-}', macros)];
  },
  'policy/domains/doctor/spf-macros.ts isDomainSpec': isDomainSpec,
  'policy/domains/doctor/spf-macros.ts withoutMacros': withoutMacros,
  'policy/domains/doctor/spf-record.ts isSpf': isSpf,
  'policy/domains/doctor/spf-record.ts maskedNetwork': maskedNetwork,
  'policy/domains/doctor/spf-record.ts parseSpf': (text) => [
    parseSpf(text),
    parseSpf(`v=spf1 ${text}`),
    parseSpf(`v=spf1 include:${text}`),
  ],
  'smtp/command-guard.ts isCleanText': (text) => isCleanText(text, true),
  'smtp/command-guard.ts isSafePath': isSafePath,
  'smtp/reply.ts createReplyReader': (text) =>
    createReplyReader().push(Buffer.from(`250-${text.replaceAll('\n', '\r\n250-')}\r\n250 x\r\n`)),
  'smtp/reply.ts enhancedCodeOf': enhancedCodeOf,
  'smtp/server-auth.ts beginAuth': (text) => beginAuth('PLAIN', Buffer.from(text).toString('base64')),
  'smtp/server-commands.ts decodeXtext': decodeXtext,
  'smtp/server-commands.ts lineText': (text) => lineText(bytes(`${text}\r\n`), text.length, true),
  'smtp/server-commands.ts parseCommand': parseCommand,
  'smtp/server-commands.ts parseMail': (text) =>
    [text, `FROM:<${text}>`, `FROM:<a@b.example> ENVID=${text}`].map((each) =>
      parseMail(each, { maxMessageBytes: 1_000, dsn: true, minLabels: 2 }),
    ),
  'smtp/server-commands.ts parseRcpt': (text) =>
    [text, `TO:<${text}>`, `TO:<a@b.example> ORCPT=rfc822;${text}`].map((each) =>
      parseRcpt(each, { smtpUtf8: true, dsn: true, minLabels: 2 }),
    ),
};
