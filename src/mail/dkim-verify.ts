/**
 * A small DKIM verifier (RFC 6376 §6, RFC 8301, RFC 8463), to decide whether a report really comes from a provider.
 * Takes a message as received, the signing domains that matter and a key look-up; returns one result for each of the
 * first signatures of these domains. Others cost nothing: no hash, no look-up. It is stricter than a receiver of mail: a
 * signature that covers part of the body (`l=`), does not cover From, uses SHA-1 or a short key, or has expired, does
 * not count. Never throws or rejects. Why it is our own: docs/decisions/0064-own-dkim-verifier.md.
 */

import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { asBuffer } from '../lib/as-buffer.ts';
import type { Turn } from '../lib/turns.ts';
import { domainOfAddress, isAtOrBelow } from './address-text.ts';
import { bodyHashInTurns, canonicalField } from './dkim-canonical.ts';
import { type RawField, type RawHeader, readRawHeader } from './raw-header.ts';
import { readTagList } from './tag-list.ts';

interface DkimVerdict {
  /** The `d=` domain, lower case. */
  domain: string;
  /** `unknown`: the key could not be looked up now. */
  result: 'pass' | 'fail' | 'unknown';
  /** What is wrong, '' for `pass`. */
  detail: string;
}

/** TXT records at a name (each joined to one text), none, or no answer. */
export type KeyLookup = (
  name: string,
) => Promise<{ kind: 'found'; texts: readonly string[] } | { kind: 'none' } | { kind: 'failure' }>;

type Header = Extract<RawHeader, { kind: 'header' }>;
type Canonical = 'simple' | 'relaxed';
type Check = { ok: true } | { ok: false; detail: string; unknown?: true };

const MAX_SIGNATURES = 5;
const MAX_TAGS = 40;
const MIN_RSA_BITS = 1024;
const MAX_RSA_BITS = 8192;
const DOMAIN = /^(?=.{3,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62}){1,20}$/;
const SELECTOR = /^(?=.{1,189}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62}){0,20}$/;
const ED25519_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const CRLF = Buffer.from('\r\n');
const BARE_LINE_END = /\r(?!\n)|(?<!\r)\n/;

interface DkimQuestion {
  /** Signing domains, lower case; signatures of others are not looked at. */
  domains: ReadonlySet<string>;
  lookUp: KeyLookup;
  nowMs: number;
  /** Awaited between the parts of the work. */
  turn: Turn;
}

/** The parts of the work that are the same for all signatures of a message. */
interface Signed {
  message: Uint8Array;
  header: Header;
  inWireForm: boolean;
  /** The `bh=` value of the body in this form; null: the body is not in wire form. */
  bodyHash(form: Canonical): Promise<string | null>;
}

/**
 * Results of the first five DKIM-Signature fields whose `d=` is one of `domains`, topmost first; empty if there are
 * none. The body is hashed at most once for each of the two canonical forms.
 */
export async function verifyDkim(
  message: Uint8Array,
  { domains, lookUp, nowMs, turn }: DkimQuestion,
): Promise<readonly DkimVerdict[]> {
  const header = readRawHeader(message);
  if (header.kind === 'malformed') return [];
  let signed: Signed | null = null;
  const verdicts: DkimVerdict[] = [];
  for (const field of header.fields) {
    if (field.name !== 'dkim-signature') continue;
    await turn();
    const tags = readTagList(fieldText(message, field), MAX_TAGS);
    const domain = (tags.get('d') ?? '').toLowerCase();
    if (!domains.has(domain)) continue;
    signed ??= signedOf(message, header, turn);
    const check = await checkSignature(signed, field, tags, lookUp, nowMs);
    verdicts.push(
      check.ok
        ? { domain, result: 'pass', detail: '' }
        : { domain, result: check.unknown === true ? 'unknown' : 'fail', detail: check.detail },
    );
    if (verdicts.length === MAX_SIGNATURES) break;
  }
  return verdicts;
}

function signedOf(message: Uint8Array, header: Header, turn: Turn): Signed {
  const hashes = new Map<Canonical, Promise<string | null>>();
  return {
    message,
    header,
    // Unfolding would read a bare CR as a blank, so text added after it would count as signed.
    inWireForm: !BARE_LINE_END.test(octets(message, 0, header.bodyOffset)),
    bodyHash(form) {
      const known = hashes.get(form);
      if (known !== undefined) return known;
      const hashed =
        form === 'relaxed'
          ? bodyHashInTurns(message, header.bodyOffset, turn).catch(() => null)
          : Promise.resolve(simpleBodyHash(message.subarray(header.bodyOffset)));
      hashes.set(form, hashed);
      return hashed;
    },
  };
}

async function checkSignature(
  { message, header, inWireForm, bodyHash }: Signed,
  field: RawField,
  tags: ReadonlyMap<string, string>,
  lookUp: KeyLookup,
  nowMs: number,
): Promise<Check> {
  const read = readSignature(tags, nowMs);
  if (typeof read === 'string') return no(read);
  if (!inWireForm) return no('the header is not in wire form');
  const hashed = await bodyHash(read.bodyForm);
  if (hashed === null) return no('the body is not in wire form');
  if (hashed !== read.bodyHash) return no('the body was changed');
  const key = await findKey(`${read.selector}._domainkey.${read.domain}`, read.algorithm, lookUp);
  if ('ok' in key) return key;
  const signed = Buffer.from(signedText(message, header, field, read.names, read.headerForm), 'latin1');
  const valid =
    read.algorithm === 'rsa-sha256'
      ? verify('sha256', signed, key.key, read.signature)
      : verify(null, createHash('sha256').update(signed).digest(), key.key, read.signature);
  return valid ? { ok: true } : no('the signature does not match');
}

interface Signature {
  algorithm: 'rsa-sha256' | 'ed25519-sha256';
  domain: string;
  selector: string;
  headerForm: Canonical;
  bodyForm: Canonical;
  bodyHash: string;
  names: readonly string[];
  signature: Buffer;
}

/** The signature's tags, or the problem with them. */
function readSignature(tags: ReadonlyMap<string, string>, nowMs: number): Signature | string {
  const tag = (name: string) => tags.get(name) ?? '';
  if (tag('v') !== '1') return 'not version 1';
  const algorithm = tag('a').toLowerCase();
  if (algorithm !== 'rsa-sha256' && algorithm !== 'ed25519-sha256') return 'an algorithm that does not count';
  const domain = tag('d').toLowerCase();
  const selector = tag('s').toLowerCase();
  if (!DOMAIN.test(domain) || !SELECTOR.test(selector)) return 'no domain or selector';
  if (tags.has('l')) return 'it covers only part of the body';
  const [headerForm = 'simple', bodyForm = 'simple'] = (tags.has('c') ? tag('c') : 'simple/simple')
    .toLowerCase()
    .split('/');
  if (!isForm(headerForm) || !isForm(bodyForm)) return 'an unknown canonicalisation';
  const names = tag('h')
    .split(':', 200)
    .map((name) => name.trim().toLowerCase());
  if (!names.includes('from')) return 'From is not signed';
  const expires = tags.has('x') ? Number(tag('x')) : Number.POSITIVE_INFINITY;
  if (!(expires * 1000 >= nowMs)) return 'it has expired';
  const identity = tag('i').toLowerCase();
  if (identity !== '' && !isAtOrBelow(domainOfAddress(identity), domain)) return 'i= is outside d=';
  const signature = Buffer.from(tag('b').replace(/\s+/g, ''), 'base64');
  if (signature.length === 0) return 'no signature';
  return {
    algorithm,
    domain,
    selector,
    headerForm,
    bodyForm,
    bodyHash: tag('bh').replace(/\s+/g, ''),
    names,
    signature,
  };
}

function isForm(text: string): text is Canonical {
  return text === 'simple' || text === 'relaxed';
}

async function findKey(
  name: string,
  algorithm: Signature['algorithm'],
  lookUp: KeyLookup,
): Promise<Check | { key: KeyObject }> {
  const answer = await lookUp(name).catch(() => ({ kind: 'failure' as const }));
  if (answer.kind === 'failure')
    return { ok: false, detail: 'the key could not be looked up', unknown: true };
  if (answer.kind === 'none') return no('there is no key');
  const [text] = answer.texts;
  if (text === undefined || answer.texts.length > 1) return no('there is not exactly one key');
  const tags = readTagList(text, MAX_TAGS);
  const kind = (tags.get('k') ?? 'rsa').toLowerCase();
  if ((tags.get('v') ?? 'DKIM1') !== 'DKIM1' || !algorithm.startsWith(kind))
    return no('the key is of another kind');
  const hashes = tags.get('h');
  if (hashes !== undefined && !hashes.toLowerCase().split(':').includes('sha256'))
    return no('the key allows no SHA-256');
  const bytes = Buffer.from((tags.get('p') ?? '').replace(/\s+/g, ''), 'base64');
  if (bytes.length === 0) return no('the key was revoked');
  try {
    const der = kind === 'rsa' || bytes.length !== 32 ? bytes : Buffer.concat([ED25519_PREFIX, bytes]);
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    if (key.asymmetricKeyType !== kind) return no('the key is of another kind');
    const bits = key.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS;
    return bits < MIN_RSA_BITS || bits > MAX_RSA_BITS ? no(`a key of ${bits} bits`) : { key };
  } catch {
    return no('the key cannot be read');
  }
}

/** What the signature covers (RFC 6376 §3.7): the named fields, from the bottom upwards, then itself without `b=`. */
function signedText(
  message: Uint8Array,
  header: Header,
  own: RawField,
  names: readonly string[],
  form: Canonical,
): string {
  const left = Map.groupBy(header.fields, ({ name }) => name);
  let out = '';
  for (const name of names) {
    const field = left.get(name)?.pop();
    if (field !== undefined) out += `${formed(message, field, form)}\r\n`;
  }
  const itself = formed(message, own, form);
  return out + withoutSignature(itself);
}

function formed(message: Uint8Array, field: RawField, form: Canonical): string {
  if (form === 'simple') return octets(message, field.start, field.end).replace(/\r\n$/, '');
  return canonicalField({ name: field.name, value: fieldText(message, field) });
}

/** Removes the value of `b=` and keeps its name; `bh=` is another tag. */
function withoutSignature(text: string): string {
  const colon = text.indexOf(':');
  const tags = text.slice(colon + 1).split(';');
  return (
    text.slice(0, colon + 1) +
    tags
      .map((tag) => {
        const equals = tag.indexOf('=');
        return equals !== -1 && tag.slice(0, equals).trim() === 'b' ? tag.slice(0, equals + 1) : tag;
      })
      .join(';')
  );
}

/** RFC 6376 §3.4.3: empty lines at the end are one line end. */
function simpleBodyHash(body: Uint8Array): string {
  let end = body.length;
  while (end >= 2 && body[end - 1] === 10 && body[end - 2] === 13) end -= 2;
  return createHash('sha256').update(body.subarray(0, end)).update(CRLF).digest('base64');
}

/** The value as written, with its folds. */
function fieldText(message: Uint8Array, field: RawField): string {
  return octets(message, field.valueStart, field.end).replace(/\r\n$/, '');
}

function octets(message: Uint8Array, from: number, to: number): string {
  return asBuffer(message, from, to).toString('latin1');
}

function no(detail: string): Check & { ok: false } {
  return { ok: false, detail };
}
