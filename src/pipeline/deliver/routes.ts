/**
 * Which way a recipient goes, and the site it is counted for. A site shares connections and limits: the sandbox, one
 * relay list, or one recipient domain. Pure: configuration and a recipient in, names out.
 */
import type { SandboxResult } from '../../model/message.ts';

/** Structurally the configuration's route targets. */
export type Route =
  | { kind: 'sandbox' }
  | { kind: 'mx' }
  | {
      kind: 'relay';
      host: string;
      port: number;
      implicitTls: boolean;
      auth: { user: string; password: string } | null;
    };

export const SANDBOX_SITE = 'sandbox';

export interface Routes {
  /** Name of the site; the same recipient always has the same. */
  siteOf(recipient: { recipientDomain: string; sandbox: SandboxResult | null }): string;
  /** Targets in the order they are tried. Never empty. */
  readonly targets: readonly Route[];
}

/** `targets`: the configured list; the first that works is used. */
export function createRoutes(targets: readonly Route[]): Routes {
  const [first] = targets;
  if (first === undefined) throw new TypeError('at least one route is needed');
  const perDomain = targets.some((target) => target.kind === 'mx');
  const relays = targets.flatMap((target) =>
    target.kind === 'relay' ? [`${target.host}:${target.port}`] : [],
  );
  return {
    targets,
    siteOf({ recipientDomain, sandbox }) {
      if (sandbox !== null || first.kind === 'sandbox') return SANDBOX_SITE;
      const relay = relays.length === 0 ? '' : `relay:${relays.join('|')}`;
      return perDomain ? `${relay}mx:${recipientDomain}` : relay;
    },
  };
}
