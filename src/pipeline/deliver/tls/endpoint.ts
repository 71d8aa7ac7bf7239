/**
 * One address to connect to, and how. Routing makes it from the DNS or the configuration; it is used to open a
 * connection and to record observations.
 */
import type { TlsPlan } from './plan.ts';

export interface Endpoint {
  host: string;
  address: string;
  port: number;
  /** The address of the source that connects to it; absent = the system's choice. */
  localAddress?: string | undefined;
  implicitTls: boolean;
  /** The TLS requirement there. */
  tls: TlsPlan;
  auth: { user: string; pass: string } | null;
  /** A password may be sent without verified TLS, because the peer is on loopback. */
  allowPlaintextAuth: boolean;
  route: 'mx' | 'relay';
  recipientDomain: string;
  /** The last address of this answer. */
  isLast: boolean;
  /** Shared by the addresses of one answer. */
  budget: AttemptBudget;
}

/** Time that the addresses of one attempt share. */
export interface AttemptBudget {
  /** What is left of the minute for connecting; each connection subtracts its time. */
  connectLeftMs: number;
  /** Somebody waits for a one-time code: the last host gets no more time than the others. */
  hurried: boolean;
  /** For connecting to one address, and for each step until the first message; absent = the usual time of each. */
  test?: { connectMs: number; stepMs: number } | undefined;
}
