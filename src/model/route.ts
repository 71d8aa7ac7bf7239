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
