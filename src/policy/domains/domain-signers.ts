/**
 * The keys that sign a message at its delivery: that of its sender domain, then that of the service domain. A domain
 * that was removed, is not verified or has no usable key gets "held" with a reason for the operator, so that nothing
 * is sent unsigned because something failed.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Sealer } from '../../lib/seal.ts';
import { createDkimSigner, type DkimSigner } from '../../mail/dkim.ts';
import type { Domain } from '../../model/domain.ts';
import { loadPrivateKey } from './dkim-keys.ts';
import type { CachedDomain, DomainCache } from './domain-cache.ts';
import { maySend } from './domain-status.ts';

type Signing =
  | { kind: 'signers'; signers: readonly DkimSigner[] }
  | { kind: 'unsigned'; reason: string }
  | { kind: 'held'; category: 'domain_not_verified' | 'signing_failed'; detail: string };

export interface DomainSigners {
  signersFor(domain: string): Promise<Signing>;
}

/** Purpose under which DKIM keys are encrypted. */
export const DKIM_SEAL = 'dkim-key';

/** The options mean what they mean in `DomainOptions`. */
export function createDomainSigners(
  { cache, sealer, clock }: { cache: DomainCache; sealer: Sealer; clock: Clock },
  options: { anyDomain: boolean; dkim: boolean; serviceDomain?: string | null },
): DomainSigners {
  return { signersFor };

  async function signersFor(name: string): Promise<Signing> {
    const cached = cache.known(name) ?? (await cache.lookUp(name));
    const { domain } = cached;
    if (domain === null) {
      return options.anyDomain
        ? ({ kind: 'unsigned', reason: `unsigned: ${name} was not added to this server` } as const)
        : held(
            'domain_not_verified',
            `the domain ${name} is no longer registered; to let its mail go on, run: postrider domain add ${name}`,
          );
    }
    if (!maySend(domain, clock.now()) && !options.anyDomain) {
      return held(
        'domain_not_verified',
        `the domain ${name} is not verified (${domain.status}); to see what is missing, run: postrider domain verify ${name}`,
      );
    }
    if (!options.dkim)
      return { kind: 'unsigned', reason: 'unsigned: signing is switched off (dkim=off)' } as const;
    const own = await keysOf(cached, domain);
    if (own.kind === 'held') return own;
    const service = await serviceSigners(name);
    if (service.kind === 'held') return service;
    // The order of the signatures: first the domain in From, then the service domain.
    return { kind: 'signers', signers: [...own.signers, ...service.signers] } as const;
  }

  async function keysOf(cached: CachedDomain, domain: Domain) {
    cached.signers ??= loadSigners(domain);
    try {
      return { kind: 'signers', signers: await cached.signers } as const;
    } catch (cause) {
      cached.signers = null;
      const why = (cause as Error).message;
      return held('signing_failed', `the DKIM key of ${domain.name} cannot be used: ${why}`);
    }
  }

  /** None while its records are not published, because nobody could verify the signature. */
  async function serviceSigners(name: string) {
    const { serviceDomain = null } = options;
    const none = { kind: 'signers', signers: [] as readonly DkimSigner[] } as const;
    if (serviceDomain === null || serviceDomain === name) return none;
    const cached = cache.known(serviceDomain) ?? (await cache.lookUp(serviceDomain));
    if (cached.domain === null || !maySend(cached.domain, clock.now())) return none;
    return keysOf(cached, cached.domain);
  }

  async function loadSigners(domain: Domain): Promise<readonly DkimSigner[]> {
    const key = domain.keys.find((each) => each.role === 'active');
    if (key === undefined) throw new Error('it has no active key');
    const privateKey = loadPrivateKey(sealer.open(key.privateSealed, DKIM_SEAL));
    return [createDkimSigner({ domain: domain.name, selector: key.selector, privateKey })];
  }
}

function held(category: 'domain_not_verified' | 'signing_failed', detail: string) {
  return { kind: 'held', category, detail } as const;
}
