/** A route of the configuration: the sandbox, the hosts of the recipient's domain, or a relay. */

/** One route. */
export type Route =
  | { kind: 'sandbox' }
  /** `pool`: the pool whose sources it leaves from; absent: the pool `default`, if there is one. */
  | { kind: 'mx'; pool?: string }
  | {
      kind: 'relay';
      host: string;
      port: number;
      implicitTls: boolean;
      auth: { user: string; password: string } | null;
    };

/** Everything that mail may be sent by: the usual targets and those of the rules. */
export function allTargets(
  usual: readonly Route[],
  rules: readonly { targets: readonly Route[] }[],
): readonly Route[] {
  return [...usual, ...rules.flatMap(({ targets }) => targets)];
}

/** Nothing leaves this machine: all mail is captured. */
export function capturesAll(targets: readonly Route[]): boolean {
  return targets.every(({ kind }) => kind === 'sandbox');
}

const RELAY_SITE = 'relay:';

/** The name of the site of a relay: `relay:host:port`. Recipients' own sites never begin so, because host names have no colon. */
export function relaySite({ host, port }: { host: string; port: number }): string {
  return siteOfRelay(`${host}:${port}`);
}

/** `host:port` → `relay:host:port`. */
export function siteOfRelay(relay: string): string {
  return `${RELAY_SITE}${relay}`;
}

export function isRelaySite(site: string): boolean {
  return site.startsWith(RELAY_SITE);
}

/** `relay:host:port` → `host:port`; null: not the site of a relay. */
export function relayOfSite(site: string): string | null {
  return isRelaySite(site) ? site.slice(RELAY_SITE.length) : null;
}
