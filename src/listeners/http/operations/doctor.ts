/**
 * GET /doctor: runs every check of this server and of its sender domains, each with its fix, and shows the records of
 * each domain as lines of a zone file. For admin tokens of all domains, since the server is shared. A domain that was
 * checked a moment ago is shown with that result.
 */

import { z } from 'zod';
import { toALabelDomain } from '../../../mail/address.ts';
import type { Domain } from '../../../model/domain.ts';
import { zoneSnippet } from '../../../policy/domains/dns-records.ts';
import { checksOf } from '../../../policy/domains/domain-status.ts';
import { type Answer, time } from '../answer-schemas.ts';
import type { ApiParts } from '../deps.ts';
import { operation } from '../operation.ts';
import { text, word } from '../query.ts';
import { type ApiRoute, existing, isoTime, isoTimeOrNull } from '../route.ts';
import { change, changeItems, check, domainStatus, toCheckItem } from './domain-checks.ts';

const doctorDomain = z.object({
  Domain: z.string(),
  Status: domainStatus,
  CheckedAt: time.nullable(),
  Checks: z.array(check),
  Changes: z.array(change),
  Zone: z.string().describe('Its records as lines of a zone file'),
});

const doctorAnswer = z
  .object({
    CheckedAt: time,
    Instance: z.array(check).describe('This server itself'),
    Domains: z.array(doctorDomain),
  })
  .meta({ id: 'Doctor' });

/** Domains checked per call; others are shown with their last result. */
const MAX_EXAMINED = 50;
const PARTS = ['server', 'domains'] as const;
const AT_ONCE = 4;
const FRESH_MS = 10_000;

export function doctorOperation({ domains, doctor, clock }: ApiParts): ApiRoute {
  return operation('GET /doctor', {
    id: 'runDoctor',
    scope: 'admin',
    summary: 'Check everything again',
    description:
      'Runs all checks of this server and its sender domains (or of `Domain`): `{CheckedAt, Instance: [{Name, Status, Type, Host, Expected, Found, Message, Fix}], Domains: [{Domain, Status, CheckedAt, Checks, Changes, Zone}]}`; `Zone` contains the lines for a zone file. One call checks at most 50 domains, and none that was checked within 10 seconds; of the others it shows the last result. `Part=server` or `domains` leaves out the other. For tokens of all domains. [What the checks mean](../howto/dns-and-doctor.md)',
    query: {
      Domain: text('Only this sender domain', 255),
      Part: word(PARTS, 'is server or domains').optional().describe('Only this server, or only its domains'),
    },
    answer: doctorAnswer,
    handle: async ({ query }) => {
      const { Domain: name, Part: part } = query;
      const chosen = part === 'server' ? [] : await choose(name);
      const [instance, examined] = await Promise.all([
        part === 'domains' ? [] : doctor.instance(),
        examineAll(chosen),
      ]);
      return {
        CheckedAt: isoTime(clock.now()),
        Instance: instance.map(toCheckItem),
        Domains: examined.map(toItem),
      };
    },
  });

  async function choose(given: string | undefined): Promise<readonly Domain[]> {
    if (given === undefined) {
      const every: Domain[] = [];
      for await (const domain of domains.all()) every.push(domain);
      return every;
    }
    const name = toALabelDomain(given.trim());
    return [existing(name === null ? null : await domains.get(name))];
  }

  async function examineAll(chosen: readonly Domain[]): Promise<Domain[]> {
    const result = [...chosen];
    const waiting = [...chosen.keys()].slice(0, MAX_EXAMINED);
    const work = async (): Promise<void> => {
      for (let i = waiting.shift(); i !== undefined; i = waiting.shift()) {
        const domain = chosen[i];
        if (domain === undefined || clock.now() - (domain.lastCheckedAt ?? 0) < FRESH_MS) continue;
        result[i] = (await domains.verify(domain.name, { fresh: true })).domain;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return result;
  }

  function toItem(domain: Domain): Answer<typeof doctorDomain> {
    return {
      Domain: domain.name,
      Status: domain.status,
      CheckedAt: isoTimeOrNull(domain.lastCheckedAt),
      Checks: (checksOf(domain) ?? []).map(toCheckItem),
      Changes: changeItems(domain),
      Zone: zoneSnippet(domains.records(domain)),
    };
  }
}
