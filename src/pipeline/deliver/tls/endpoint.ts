/** One address to connect to, and how: made by routing from DNS or the configuration, used to open a connection and to learn from it. */
import type { TlsPlan } from './plan.ts';

export interface Endpoint {
  host: string;
  address: string;
  port: number;
  implicitTls: boolean;
  /** What is asked of TLS there. */
  tls: TlsPlan;
  auth: { user: string; pass: string } | null;
  /** A password may go without verified TLS: the peer is on loopback. */
  allowPlaintextAuth: boolean;
  route: 'mx' | 'relay';
  recipientDomain: string;
  /** No address of this answer comes after it. */
  isLast: boolean;
  /** Shared by the addresses of one answer. */
  budget: AttemptBudget;
}

/** What the addresses of one attempt may use up together. */
export interface AttemptBudget {
  /** Of the minute for connecting; whoever connects takes off what it cost. */
  connectLeftMs: number;
  /** Somebody waits for a one-time code: the last host gets no more patience than the others. */
  hurried: boolean;
}
