/** The check of an SPF record: what is wrong with the record that was read, and what to publish instead. */
import { type DomainCheck, type OpenCheck, openCheck, showable } from './check.ts';
import { MAX_LOOKUPS, MAX_WALKED, type SpfNode, type SpfReport } from './spf.ts';

/** A relay in use. `include`: the name under which its provider publishes its addresses; null = unknown. */
export interface SpfRelay {
  host: string;
  include: string | null;
}

/** RFC 7208 §4.6.4. */
const MAX_VOIDS = 2;

/** Checks the record at `report.root.host`. */
export function judgeSpf(
  report: SpfReport,
  params: {
    id: string;
    expected: string;
    /** Absent = none. */
    relays?: readonly SpfRelay[];
    informational?: boolean;
  },
): DomainCheck {
  const { root } = report;
  const { expected } = params;
  const addresses = report.results.map(({ address }) => address);
  const host = showable(root.host);
  const check = openCheck(params.id, 'TXT', root.host, { expected, found: root.texts });
  const fail = params.informational === true ? check.warn : check.fail;
  switch (root.state) {
    case 'unanswered':
      if (report.failure !== null) check.unanswered(root.host, report.failure.reason);
      else {
        check.unknown(
          `The SPF record at ${host} includes too much to be read to its end.`,
          'Remove includes that are no longer used.',
        );
      }
      return check.done();
    case 'none':
      if (params.informational === true) {
        return check.done(`${host} has no SPF record; return paths are elsewhere, so none is needed here.`);
      }
      fail(`There is no SPF record at ${host}, the host of the return paths.`, publish(host, expected));
      return check.done();
    case 'several':
      fail(
        `There are ${root.texts.length} SPF records at ${host}; with more than one, none counts.`,
        'Merge them into one record that begins with v=spf1 once.',
      );
      return check.done();
    case 'unreadable':
      fail(
        `The SPF record at ${host} cannot be read: ${root.detail}, so the whole record counts for nothing.`,
        'Correct or remove that term.',
      );
      return check.done();
    case 'record':
      judgeTerms(report, expected, { ...check, fail });
      judgeRelays(root, params.relays ?? [], check);
      return check.done(
        addresses.length === 0
          ? `The SPF record at ${host} is sound and costs ${report.lookups} of ${MAX_LOOKUPS} look-ups.`
          : `The SPF record at ${host} lets ${addresses.join(', ')} send and costs ${report.lookups} of ${MAX_LOOKUPS} look-ups.`,
      );
  }
}

/** Whether the record covers the relays: a relay that keeps our return path is checked against it. */
function judgeRelays(root: SpfNode, relays: readonly SpfRelay[], check: OpenCheck): void {
  const host = showable(root.host);
  for (const { host: relay, include } of relays) {
    if (include !== null && includesHost(root, include)) continue;
    if (include === null) {
      check.unknown(
        `Whether the SPF record at ${host} covers the relay ${showable(relay)} is not known.`,
        `Ask its provider what to include. A relay that puts its own return path in place of ours needs nothing here.`,
      );
    } else {
      check.warn(
        `Mail leaves by ${showable(relay)}, and the SPF record at ${host} does not include ${include}.`,
        `Add include:${include} before its end. A relay that puts its own return path in place of ours needs nothing here.`,
      );
    }
  }
}

function includesHost(node: SpfNode, name: string): boolean {
  return node.terms.some(({ child }) => child !== null && (child.host === name || includesHost(child, name)));
}

function judgeTerms(
  report: SpfReport,
  expected: string,
  { fail, warn }: Pick<OpenCheck, 'fail' | 'warn'>,
): void {
  const { root, lookups, voids, faults, results } = report;
  const host = showable(root.host);
  const all = root.terms.find(({ term }) => term.name === 'all')?.term;
  if (all?.qualifier === '+') {
    fail(
      `The SPF record at ${host} ends with +all: it lets everybody in the world send.`,
      'End it with ~all.',
    );
  }
  if (lookups > MAX_LOOKUPS) {
    const count = lookups > MAX_WALKED ? `more than ${MAX_WALKED}` : `${lookups}`;
    fail(
      `The SPF record at ${host} takes ${count} look-ups; receivers stop at ${MAX_LOOKUPS} and take it as an error.`,
      'Remove includes that are no longer used, or name their addresses with ip4: instead.',
    );
  }
  if (voids > MAX_VOIDS) {
    fail(
      `${voids} names in the SPF record at ${host} do not exist; receivers stop at more than ${MAX_VOIDS}.`,
      'Remove the terms whose names are gone.',
    );
  }
  for (const { term, fault } of faults) {
    const { name, value } = term;
    const written = value === '' ? name : `${name}${name === 'redirect' ? '=' : ':'}${showable(value)}`;
    fail(
      `The SPF record at ${host} uses ${written}, but ${fault}: receivers take that as an error.`,
      name === 'mx'
        ? `Replace ${written} by ip4: terms with the addresses of its hosts that send.`
        : `Remove ${written}, or let the owner of that record correct it.`,
    );
  }
  if (root.terms.some(({ term }) => term.name === 'ptr')) {
    warn(
      `The SPF record at ${host} uses ptr, which is slow and not looked at by many receivers (RFC 7208 §5.5).`,
      'Replace ptr by ip4: terms with the addresses.',
    );
  }
  if (all === undefined && !root.terms.some(({ term }) => term.name === 'redirect')) {
    warn(`The SPF record at ${host} has no end, so it refuses nobody.`, 'End it with ~all.');
  }
  const open = results.filter(({ result }) => result === 'unknown').map(({ address }) => address);
  const missing = results
    .filter(({ result }) => result !== '+' && result !== 'unknown')
    .map(({ address }) => address);
  if (open.length > 0) {
    warn(
      `Whether ${open.join(', ')} may send by the SPF record at ${host} cannot be told: it depends on what only the receiver knows (macros for the local part of the return path, names for an address), or on names that did not answer.`,
      `To be sure, add ${ipTerms(open)} to it.`,
    );
  }
  if (missing.length > 0) {
    const terms = ipTerms(missing);
    fail(
      `The SPF record at ${host} does not cover ${missing.join(', ')}, from which mail leaves.`,
      `Add ${terms} before its end${expected === '' || expected.includes(terms) ? '' : `, or what "${expected}" names`}.`,
    );
  }
}

function publish(host: string, expected: string): string {
  return expected === ''
    ? `Publish a TXT record at ${host} that begins with v=spf1.`
    : `Publish a TXT record at ${host}: ${expected}`;
}

/** The terms that cover these addresses. */
export function ipTerms(addresses: readonly string[]): string {
  return addresses.map((address) => `${address.includes(':') ? 'ip6' : 'ip4'}:${address}`).join(' ');
}
