/**
 * Composes a checked request into the exact bytes that every recipient gets, unsigned: one RFC 5322 message with CRLF
 * only, 7-bit (except for a non-ASCII local part of an address), no line over 998 octets, no blanks at line ends, no
 * Bcc. The same input gives the same bytes. Addresses must come from parseAddress, otherwise it throws; every other
 * text is made safe here as well. Structure: mixed( alternative( text, related( html, inline files ), invitations ),
 * files ), each level only if needed.
 */

import {
  isInvitation,
  OCTET_STREAM,
  parseMediaType,
  textParameter,
  typeFromFilename,
} from '../../mail/content-type.ts';
import { foldAddressList, foldBracketed, foldUnstructured, type Mailbox } from '../../mail/header-fold.ts';
import { isBracketedHeader, isComposedHeader, isHeaderName } from '../../mail/header-rules.ts';
import { type FilePart, type MimePart, type TextPart, writeMessage } from '../../mail/mime-writer.ts';
import { type PersonalOptions, slotOctets, type TokenSlot, type TokenSlots } from '../../model/personal.ts';
import type { SubmittedAttachment } from '../../model/submission.ts';
import { type PersonalText, personalHtml } from './personal-html.ts';
import { tokenSlots, type UnsubscribeHeader, unsubscribeHeader } from './unsubscribe-header.ts';

export type { Mailbox } from '../../mail/header-fold.ts';

/** HTML with a text alternative (null = none), or text alone. Any line ends. */
export type ComposeBody =
  | { readonly kind: 'html'; readonly html: string; readonly text: string | null }
  | { readonly kind: 'text'; readonly text: string };

/** Everything a message is made of. `fromDomain` is an A-label, `messageId` a UUID, `dateMs` the Date header. */
export interface ComposeInput {
  readonly messageId: string;
  readonly fromDomain: string;
  readonly dateMs: number;
  readonly from: Mailbox;
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
  readonly replyTo: readonly Mailbox[];
  readonly subject: string;
  readonly body: ComposeBody;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly attachments: readonly SubmittedAttachment[];
  /** Personal links to add; null or absent = none. */
  readonly personal?: PersonalOptions | null;
}

/** The message as sent, before signing and dot-stuffing. */
export interface Composed {
  readonly bytes: Uint8Array;
  /** Offset of the first body octet, after the empty line. */
  readonly bodyOffset: number;
  /** True if a header contains a non-ASCII local part, so that only servers with SMTPUTF8 accept the message. */
  readonly needsSmtpUtf8: boolean;
  /** The slots of each recipient's tokens; absent = all copies are equal. */
  readonly places?: TokenSlots;
}

/** A plain ASCII address without a blank, control character, bracket, comma or anything with a meaning in a header. */
const PLAIN_ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[a-z0-9.-]+$/;
const UTF8_ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.\u{a1}-\u{10ffff}-]+@[a-z0-9.-]+$/u;
const MESSAGE_ID_PART = /^[A-Za-z0-9.-]+$/;

/**
 * Writes the message. Headers in order: Date, List-Unsubscribe, From, To, Cc, Reply-To, Subject, Message-ID, MIME-Version, the caller's,
 * Content-*. A caller's header with an invalid name, or one that only compose may write, is left out; header-rules.ts
 * has refused it before, this is a second check. Throws if an address, the domain or the id was never parsed.
 */
export function compose(input: ComposeInput): Composed {
  const { messageId, fromDomain } = input;
  if (!MESSAGE_ID_PART.test(messageId) || !MESSAGE_ID_PART.test(fromDomain)) {
    throw new TypeError('compose was given a message id or a domain that was never parsed');
  }
  const needsSmtpUtf8 = checkAddresses([input.from], input.to, input.cc, input.replyTo);
  const personal = input.personal ?? null;
  let headers = `Date: ${dateText(input.dateMs)}\r\n`;
  // Near the start of the header, where everything before it has a known length in octets.
  const names = input.headers.map(([name]) => name);
  const unsubscribe = personal === null ? null : unsubscribeHeader(personal, headers.length, names);
  if (unsubscribe !== null) headers += unsubscribe.lines;
  headers += foldAddressList('From', [input.from]);
  headers += foldAddressList('To', input.to);
  headers += foldAddressList('Cc', input.cc);
  headers += foldAddressList('Reply-To', input.replyTo);
  headers += foldUnstructured('Subject', input.subject, true);
  headers += `Message-ID: <${messageId}@${fromDomain}>\r\nMIME-Version: 1.0\r\n`;
  for (const [name, value] of input.headers) {
    if (!isHeaderName(name) || isComposedHeader(name)) continue;
    headers += isBracketedHeader(name) ? foldBracketed(name, value) : foldUnstructured(name, value);
  }
  const html =
    personal === null || input.body.kind === 'text' ? null : personalHtml(input.body.html, personal);
  const written = writeMessage(headers, partTree(input.body, input.attachments, html), messageId);
  const { bytes, bodyOffset } = written;
  if (personal === null) return { bytes, bodyOffset, needsSmtpUtf8 };
  const places = placesOf(unsubscribe, html, written.placeOffsets);
  const slots = tokenSlots(personal.host, places, unsubscribe);
  return { bytes, bodyOffset, needsSmtpUtf8, ...(slots === null ? {} : { places: slots }) };
}

/** The slots of the header and then of the HTML, at their offsets in the message. */
function placesOf(
  header: UnsubscribeHeader | null,
  html: PersonalText | null,
  offsets: readonly number[],
): readonly TokenSlot[] {
  const inHtml = (html?.places ?? []).map((place, i) => ({ ...place, offset: offsets[i] ?? -1 }));
  return [...(header?.places ?? []), ...inHtml];
}

/** Offset of the Date field's value in every message that `compose` writes. */
export const DATE_OFFSET = 'Date: '.length;

/**
 * A time as `Sat, 21 Nov 2026 11:44:00 +0000` (RFC 5322 §3.3): UTC, always 31 characters, so it can be replaced in
 * place.
 */
export function dateText(ms: number): string {
  return `${new Date(ms).toUTCString().slice(0, 26)}+0000`;
}

function partTree(
  body: ComposeBody,
  attachments: readonly SubmittedAttachment[],
  personal: PersonalText | null,
): MimePart {
  const inline: FilePart[] = [];
  const invitations: FilePart[] = [];
  const files: FilePart[] = [];
  for (const attachment of attachments) {
    if (isInvitation(attachment.type, attachment.disposition)) {
      invitations.push(invitationPart(attachment));
      continue;
    }
    // The HTML refers to an inline part by its Content-ID: without HTML or id it is a plain attachment.
    const isInline =
      attachment.disposition === 'inline' && body.kind === 'html' && attachment.contentId !== null;
    (isInline ? inline : files).push(filePart(attachment, isInline));
  }
  const forms: MimePart[] = [];
  if (body.text !== null) forms.push({ kind: 'text', subtype: 'plain', text: body.text });
  if (body.kind === 'html') {
    const html = htmlPart(body.html, personal);
    forms.push(
      inline.length === 0
        ? html
        : { kind: 'multi', subtype: 'related', label: 'r', parts: [html, ...inline] },
    );
  }
  forms.push(...invitations);
  const root: MimePart =
    forms.length === 1
      ? (forms[0] as MimePart)
      : { kind: 'multi', subtype: 'alternative', label: 'a', parts: forms };
  if (files.length === 0) return root;
  return { kind: 'multi', subtype: 'mixed', label: 'm', parts: [root, ...files] };
}

function htmlPart(html: string, personal: PersonalText | null): TextPart {
  if (personal === null || personal.places.length === 0) return { kind: 'text', subtype: 'html', text: html };
  const places = personal.places.map(({ kind, offset }) => ({ start: offset, length: slotOctets(kind) }));
  return { kind: 'text', subtype: 'html', text: personal.text, places };
}

/** Programs show the buttons of an invitation where it is one of the forms of the text, which a file is not. */
function invitationPart({ type, content }: SubmittedAttachment): FilePart {
  const charset = /;[ \t]*charset=/i.test(type) ? '' : ';\r\n charset=utf-8';
  return { kind: 'file', headers: `Content-Type: ${typeText(type, '')}${charset}\r\n`, content };
}

function filePart(attachment: SubmittedAttachment, inline: boolean): FilePart {
  const { filename } = attachment;
  let headers = `Content-Type: ${typeText(attachment.type, filename)}${textParameter('name', filename)}\r\n`;
  headers += `Content-Disposition: ${inline ? 'inline' : 'attachment'}${textParameter('filename', filename)}\r\n`;
  const contentId = (attachment.contentId ?? '').replace(/[^A-Za-z0-9._\-+@=$]/g, '').slice(0, 900);
  if (contentId !== '') headers += `Content-ID: <${contentId}>\r\n`;
  return { kind: 'file', headers, content: attachment.content };
}

/** The media type as sent: parameters on separate lines, without those that this file writes itself. */
function typeText(type: string, filename: string): string {
  const media = parseMediaType(type === '' ? typeFromFilename(filename) : type);
  // A nested message or multipart must not be base64 (RFC 2046 §5), so it is sent as an ordinary file.
  if (media === null || /^(?:message|multipart)\//.test(media.type)) return OCTET_STREAM;
  let text = media.type;
  for (const [name, value] of media.parameters) {
    if (!/^(?:name|filename|boundary)(?:\*|$)/.test(name)) text += `;\r\n ${name}=${value}`;
  }
  return text;
}

/** True if some local part is not ASCII. Throws for anything that parseAddress would have refused. */
function checkAddresses(...lists: readonly (readonly Mailbox[])[]): boolean {
  let needsSmtpUtf8 = false;
  for (const list of lists) {
    for (const { address } of list) {
      if (PLAIN_ADDRESS.test(address)) continue;
      if (!UTF8_ADDRESS.test(address))
        throw new TypeError('compose was given an address that was never parsed');
      needsSmtpUtf8 = true;
    }
  }
  return needsSmtpUtf8;
}
