/** What the doctor is told of this server: how it is configured, and the probes for what is not DNS. */
import type { CertificateFacts } from '../../../net/certificate-probe.ts';

/** An address that mail leaves from, and the name it gives in EHLO. */
export interface SendingAddress {
  address: string;
  ehlo: string;
}

/** A relay that mail leaves by, without its login. */
export interface RelayFacts {
  host: string;
  port: number;
  /** Mail is sent under a login. */
  login: boolean;
  /** Largest message that this server takes, bytes. */
  maxMessageBytes: number;
}

/** What a relay said to a greeting and a login; nothing is sent. */
export type RelayProbe =
  /** `size`: the largest message it takes, bytes; null = it does not say. */
  | { kind: 'ready'; tls: 'verified' | 'unverified' | 'none'; size: number | null }
  /** It has no address. */
  | { kind: 'unresolved'; detail: string }
  | { kind: 'unreachable'; detail: string }
  | { kind: 'tls'; detail: string }
  | { kind: 'login'; detail: string }
  | { kind: 'refused'; detail: string };

/** How this server is configured. */
export interface InstanceFacts {
  hostname: string;
  bounceDomain: string;
  /** Mail goes straight to the recipients' servers, or some of it does. */
  direct: boolean;
  /** Every relay that some route names. */
  relays: readonly RelayFacts[];
  /** Empty where nothing is sent directly, or no public address is known. */
  addresses: readonly SendingAddress[];
  /** Where bounces listen; `elsewhere`: in a process that is not this one. */
  returns: { host: string; port: number } | 'off' | 'elsewhere';
  operatorAddress: string | null;
  /** Zones of block lists that the operator may ask, keys included. */
  blockLists: readonly string[];
  dataFolder: string;
}

/** What is not DNS. Each answers in bounded time and never rejects. */
export interface InstanceProbes {
  port25(): Promise<{ kind: 'open' | 'blocked' | 'unknown'; detail: string }>;
  /** Connects to a relay as delivery would, as far as the login. */
  relay(relay: RelayFacts): Promise<RelayProbe>;
  /** STARTTLS at the listener for bounces, from this machine. */
  returns(): Promise<CertificateFacts | { kind: 'no-tls'; detail: string }>;
  /** This clock minus a clock that the operator named; null = none named, or it did not answer. */
  clockOffsetMs(): Promise<number | null>;
  freeSpace(): Promise<{ bytes: number; share: number } | null>;
  /** Of the data folder and the secrets in it, those that others than the owner can read. */
  readableByOthers(): Promise<readonly string[]>;
}
