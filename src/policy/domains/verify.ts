/**
 * Looks up a sender domain's ownership and DKIM records, and says in sentences what is right, wrong and to be done.
 *
 * Verified means: the active selector's key is published. That proves ownership too, because only the owner of the zone
 * can publish a key that was created for it; the ownership record alone is not enough, so without it nothing fails. A
 * DNS failure says nothing about a record, so `temporary` marks a verdict that it made impossible. Answers can come from
 * anybody: they are compared completely, and shown cut and without control characters.
 */
import type { DkimKey } from '../../model/domain.ts';
import type { DnsAnswer, Resolver } from '../../net/dns-types.ts';
import { rsaBits } from './dkim-keys.ts';
import { compareKey, type KeyComparison } from './dkim-record.ts';
import { dkimHost, dkimValue, ownershipHost, ownershipValue, relativeHost } from './dns-records.ts';
import { type DomainCheck, shownTexts, unanswered } from './doctor/check.ts';

export interface DomainVerification {
  verified: boolean;
  checks: DomainCheck[];
  /** A look-up that the verdict depends on got no answer: `verified: false` then says nothing about the domain. */
  temporary: boolean;
}

/** The result for one record: `proven` if it is correct, `unknown` if the DNS gave no answer. */
interface Finding {
  check: DomainCheck;
  state: 'proven' | 'absent' | 'unknown';
}

const MAX_OWNERSHIP = 512;
/** Further texts at one name are not compared. */
const MAX_COMPARED = 100;
/** RFC 8301 §3.2: verifiers must not accept keys below the first; below the second, new keys should not be used. */
const REFUSED_BELOW_BITS = 1024;
const WEAK_BELOW_BITS = 2048;
/** How many parent zones are tried, to find a name to which the panel appended its zone a second time. */
const MAX_ZONES = 3;
/**
 * Checks the domain now. `keys`: at most one `active`; without one the domain cannot be verified. Never rejects because
 * of a DNS answer.
 */
export async function verifyDomain(params: {
  resolver: Pick<Resolver, 'txt'>;
  domain: string;
  verifyToken: string;
  keys: readonly Pick<DkimKey, 'selector' | 'role' | 'publicKey'>[];
}): Promise<DomainVerification> {
  const { resolver, domain, verifyToken, keys } = params;
  const [own, ...dkim] = await Promise.all([
    checkOwnership(resolver, domain, verifyToken),
    ...keys.map((key, i) => checkKey(resolver, domain, key, `dkim${i + 1}`)),
  ]);
  const active = dkim[keys.findIndex((key) => key.role === 'active')];
  const signing = active?.state ?? 'absent';
  if (own.state !== 'proven' && signing === 'proven') own.check = provenByKey(own.check);
  if (active !== undefined && signing !== 'proven') active.check.blocks = true;
  return {
    verified: signing === 'proven',
    checks: [own.check, ...dkim.map((finding) => finding.check)],
    temporary: signing === 'unknown',
  };
}

async function checkOwnership(
  resolver: Pick<Resolver, 'txt'>,
  domain: string,
  verifyToken: string,
): Promise<Finding> {
  const name = ownershipHost(domain);
  const expected = ownershipValue(verifyToken);
  // Never a failure: the domain is verified by its key alone.
  const isOurs = (text: string): boolean => unquoted(text).toLowerCase() === expected;
  const answer = await resolver.txt(name);
  const result = finding('own', name, expected, answer);
  if (answer.kind === 'failure') {
    const { severity, message, fix } = unanswered(name, answer.reason);
    return result('unknown', severity, message, fix);
  }
  if (textsOf(answer).some(isOurs)) return result('proven', 'ok', 'The ownership record is in place.', '');
  const appended = await findAppended(resolver, name, domain, isOurs);
  if (appended !== null) return result('absent', 'warn', ...appendedSentences(appended));
  if (answer.kind === 'found') {
    return result(
      'absent',
      'warn',
      `The text at ${name} is not the ownership record.`,
      `Add a TXT record at ${name} with exactly the text shown; other records there may stay.`,
    );
  }
  return result(
    'absent',
    'warn',
    `Ownership record not found at ${name}.`,
    'Publish it exactly as shown. A record published just now can take some minutes to be seen.',
  );
}

async function checkKey(
  resolver: Pick<Resolver, 'txt'>,
  domain: string,
  key: Pick<DkimKey, 'selector' | 'role' | 'publicKey'>,
  id: string,
): Promise<Finding> {
  const name = dkimHost(key.selector, domain);
  const answer = await resolver.txt(name);
  const result = finding(id, name, dkimValue(key.publicKey), answer);
  // Only the active key signs mail; a wrong standby key only prevents the next rotation.
  const wrong = key.role === 'active' ? 'fail' : 'warn';
  if (answer.kind === 'failure') {
    const { severity, message, fix } = unanswered(name, answer.reason);
    return result('unknown', severity, message, fix);
  }

  const [text, ...others] = textsOf(answer);
  if (text === undefined) {
    const isOurs = (found: string): boolean => compareKey(found, key.publicKey).kind === 'match';
    const appended = await findAppended(resolver, name, domain, isOurs);
    if (appended !== null) return result('absent', wrong, ...appendedSentences(appended));
    return result(
      'absent',
      wrong,
      `The DKIM record is missing at ${name}.`,
      'Publish it exactly as shown. A record published just now can take some minutes to be seen.',
    );
  }
  if (others.length > 0)
    return result('absent', wrong, ...severalSentences(name, [text, ...others], key.publicKey));
  const comparison = compareKey(text, key.publicKey);
  if (comparison.kind !== 'match') return result('absent', wrong, ...differenceSentences(name, comparison));

  const bits = rsaBits(key.publicKey);
  if (bits !== null && bits < REFUSED_BELOW_BITS) {
    return result(
      'absent',
      wrong,
      `The key at ${name} has ${bits} bits; receivers refuse fewer than 1024.`,
      ROTATE,
    );
  }
  if (comparison.testing) {
    return result(
      'proven',
      'warn',
      `The record at ${name} carries the test flag t=y, which tells receivers to treat signed mail as if it were not signed.`,
      'Remove t=y from the record.',
    );
  }
  if (bits !== null && bits < WEAK_BELOW_BITS) {
    return result('proven', 'warn', `The key at ${name} has ${bits} bits; 2048 are expected today.`, ROTATE);
  }
  return result('proven', 'ok', 'The DKIM record is in place.', '');
}

const ROTATE = 'Rotate the DKIM key of this domain; new keys have 2048 bits.';

/** Adds what all findings about one record have in common. */
function finding(id: string, name: string, expected: string, answer: DnsAnswer<string>) {
  const record: DomainCheck['record'] = {
    type: 'TXT',
    name,
    expected,
    found: shownTexts(textsOf(answer)),
  };
  return (
    state: Finding['state'],
    severity: DomainCheck['severity'],
    message: string,
    fix: string,
  ): Finding => ({ state, check: { id, severity, record, message, fix } });
}

function textsOf(answer: DnsAnswer<string>): readonly string[] {
  return answer.kind === 'found' ? answer.records.slice(0, MAX_COMPARED) : [];
}

/**
 * The name of our record if the panel appended its zone to a name that was already complete, with that zone; null if
 * not. The zone may be the domain or any parent of it.
 */
async function findAppended(
  resolver: Pick<Resolver, 'txt'>,
  name: string,
  domain: string,
  isOurs: (text: string) => boolean,
): Promise<{ found: string; relative: string } | null> {
  for (const zone of zonesOf(domain)) {
    const found = `${name}.${zone}`;
    if (found.length > 253) continue;
    if (textsOf(await resolver.txt(found)).some(isOurs)) {
      return { found, relative: relativeHost(name, zone) };
    }
  }
  return null;
}

/** The domain and its parents down to two labels; of many, the domain and the shortest. */
function zonesOf(domain: string): string[] {
  const labels = domain.split('.');
  const zones: string[] = [];
  for (let i = 0; i === 0 || i <= labels.length - 2; i++) zones.push(labels.slice(i).join('.'));
  return zones.length <= MAX_ZONES ? zones : [domain, ...zones.slice(1 - MAX_ZONES)];
}

function provenByKey(check: DomainCheck): DomainCheck {
  return {
    ...check,
    severity: 'ok',
    message: 'Ownership is proven by the DKIM record of the active key; the ownership record is not needed.',
    fix: '',
  };
}

type Sentences = [message: string, fix: string];

function appendedSentences(appended: { found: string; relative: string }): Sentences {
  return [
    `Found it on ${appended.found} — your DNS panel appended the zone.`,
    `Enter only the part before it as the name: ${appended.relative}`,
  ];
}

function severalSentences(name: string, texts: readonly string[], publicKey: string): Sentences {
  const count = `There are ${texts.length} TXT records at ${name}; DKIM allows one.`;
  if (texts.some((text) => compareKey(text, publicKey).kind === 'match')) {
    return [count, 'Ours is among them: remove the others.'];
  }
  const joined = [texts.join(''), [...texts].reverse().join('')];
  if (joined.some((text) => compareKey(text, publicKey).kind === 'match')) {
    return [
      `${count} Together they are our key: it was split into several records.`,
      'Publish one TXT record; a long text is split into several strings inside that one record.',
    ];
  }
  return [count, 'Remove them and publish the one shown.'];
}

function differenceSentences(name: string, comparison: Exclude<KeyComparison, { kind: 'match' }>): Sentences {
  switch (comparison.kind) {
    case 'different': {
      const { foundLength, ourLength, truncated, otherCase } = comparison;
      if (otherCase) {
        return [
          `The record at ${name} holds our key in another case: the panel changed capital and small letters, which count here.`,
          'Enter the text again exactly as shown; if the panel changes it, let a CNAME lead to a name elsewhere, or use another panel.',
        ];
      }
      const lengths = `found ${foundLength} of ${ourLength} characters`;
      return truncated
        ? [
            `The key at ${name} is cut off: ${lengths}.`,
            'Enter the whole text; if the panel takes no more than 255 characters at once, split it into several quoted strings of one record.',
          ]
        : foundLength < ourLength
          ? [
              `The key at ${name} differs from ours (maybe truncated at 255: ${lengths}).`,
              'Replace the record by the one shown.',
            ]
          : [`The key at ${name} differs from ours (${lengths}).`, 'Replace the record by the one shown.'];
    }
    case 'revoked':
      return [`The key at ${name} is revoked: its p= is empty.`, 'Replace the record by the one shown.'];
    case 'not-a-key':
      return [`The text at ${name} is not a DKIM key record.`, 'Replace it by the one shown.'];
    case 'escaped':
      return [
        `The record at ${name} holds our key, but quotes or backslashes were stored as part of the text.`,
        'Enter the text without quotes and backslashes.',
      ];
    case 'unusable':
      return [
        `The record at ${name} holds our key, but its ${comparison.tag}= tag shuts our signatures out.`,
        `Remove the ${comparison.tag}= tag or publish the record exactly as shown.`,
      ];
  }
}

/** One pair of quotes that a panel stored with the text is ignored. */
function unquoted(text: string): string {
  const trimmed = text.slice(0, MAX_OWNERSHIP).trim();
  return trimmed.startsWith('"') && trimmed.endsWith('"') ? trimmed.slice(1, -1).trim() : trimmed;
}
