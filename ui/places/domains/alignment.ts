/** What DMARC compares in a mail of a domain, in words: the From domain with the signature and with the return path. Pure. */
import type { Domain, DomainCheck } from '../../../src/client/api-types.ts';

export interface AlignedName {
  /** `DKIM signature`, `Return path`. */
  what: string;
  /** The domain that stands there. */
  domain: string;
  aligns: boolean;
  /** Why, in a short sentence. */
  why: string;
}

export interface AlignmentWords {
  from: string;
  names: readonly [dkim: AlignedName, returnPath: AlignedName];
  /** What follows for DMARC. */
  result: string;
  passes: boolean;
}

/** null before a check has looked at it. `Checks`: that of SPF, if it fails. */
export function alignmentWords({
  Domain: from,
  Alignment,
  Checks,
}: Pick<Domain, 'Domain' | 'Alignment'> & {
  Checks: readonly Pick<DomainCheck, 'Name' | 'Status'>[];
}): AlignmentWords | null {
  if (Alignment === null) return null;
  const { Dkim, ReturnPath } = Alignment;
  const signs = Dkim.Aligns && Dkim.Published;
  const refused = Checks.some(({ Name, Status }) => Name === 'spf' && Status === 'Failed');
  const covered = ReturnPath.Aligns && !refused;
  const dkim: AlignedName = {
    what: 'DKIM signature',
    domain: `d=${Dkim.Domain}`,
    aligns: signs,
    why: !Dkim.Published
      ? 'The record of the key is not published, so the signature proves nothing.'
      : Dkim.Aligns
        ? `Belongs to the From domain${Dkim.Strict ? ', which has to be the same (adkim=s)' : ''}.`
        : 'Not the same as the From domain of sub-domains, as adkim=s asks.',
  };
  const returnPath: AlignedName = {
    what: 'Return path',
    domain: ReturnPath.Host,
    aligns: covered,
    why: covered
      ? `Belongs to the From domain${ReturnPath.Strict ? ', which has to be the same (aspf=s)' : ''}.`
      : ReturnPath.Aligns
        ? 'Its SPF record does not allow this mail, so the return path proves nothing.'
        : ReturnPath.Strict
          ? 'Not the same as the From domain, as aspf=s asks.'
          : 'Another domain. A host of your own under Settings makes it belong.',
  };
  const passes = signs || covered;
  return {
    from,
    names: [dkim, returnPath],
    passes,
    result: passes
      ? signs && covered
        ? 'DMARC passes by both: one is enough, two are safer.'
        : `DMARC passes by the ${signs ? 'signature' : 'return path'} alone. One is enough.`
      : 'DMARC fails: neither speaks for the From domain.',
  };
}
