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

/** From where connections are made. */
export interface EgressSource {
  /** '' where none is configured. */
  id: string;
  /** Local address that sockets bind to, or null for the system's choice. */
  address: string | null;
  /** Name in EHLO, or null for the server's own. */
  heloName: string | null;
}

export const ANY_SOURCE: EgressSource = { id: '', address: null, heloName: null };

/** The way of a recipient: what the scheduler makes a path of. Recipients of one way share the very same object. */
export type Way =
  | { kind: 'sandbox' }
  | {
      kind: 'smtp';
      source: EgressSource;
      /** Tried in this order. Never empty. */
      targets: readonly Exclude<Route, { kind: 'sandbox' }>[];
      /** `relay:host:port`, joined with `|` where there are several; '' where none is among the targets. */
      relays: string;
      /** The recipient domain's own hosts are among the targets, so that its site is part of the path. */
      direct: boolean;
    };

export interface Routes {
  /** Name of the site; the same recipient always has the same. */
  siteOf(recipient: { recipientDomain: string; sandbox: SandboxResult | null }): string;
  /** The way of a recipient; decided by configuration alone, without waiting. */
  wayOf(recipient: { recipientDomain: string; senderDomain: string; sandbox: SandboxResult | null }): Way;
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
  const smtpTargets = targets.filter((target) => target.kind !== 'sandbox');
  const configured: Way =
    first.kind === 'sandbox'
      ? { kind: 'sandbox' }
      : {
          kind: 'smtp',
          source: ANY_SOURCE,
          targets: smtpTargets,
          relays: relays.map((relay) => `relay:${relay}`).join('|'),
          direct: perDomain,
        };
  const sandboxWay: Way = { kind: 'sandbox' };
  return {
    targets,
    wayOf: ({ sandbox }) => (sandbox === null ? configured : sandboxWay),
    siteOf({ recipientDomain, sandbox }) {
      if (sandbox !== null || first.kind === 'sandbox') return SANDBOX_SITE;
      const relay = relays.length === 0 ? '' : `relay:${relays.join('|')}`;
      return perDomain ? `${relay}mx:${recipientDomain}` : relay;
    },
  };
}
