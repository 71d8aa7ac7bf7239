/** What the doctor knows of this server: its configuration, and the checks that are not DNS. */
import type { Reach } from '../../../model/personal.ts';
import type { CertificateFacts } from '../../../net/certificate-probe.ts';
import type { DatabaseUpkeep } from '../../../store/topics/instance.ts';

/** An address that mail leaves from, and its EHLO name. */
export interface SendingAddress {
  address: string;
  ehlo: string;
}

/** A relay in use, without its login. */
export interface RelayFacts {
  host: string;
  port: number;
  /** A login is configured. */
  login: boolean;
  /** Largest message that this server accepts, in bytes. */
  maxMessageBytes: number;
}

/** The result of greeting a relay and logging in; nothing is sent. */
export type RelayProbe =
  /** `size`: the largest message it accepts, in bytes; null = not announced. */
  | { kind: 'ready'; tls: 'verified' | 'unverified' | 'none'; size: number | null }
  /** Its name has no address. */
  | { kind: 'unresolved'; detail: string }
  | { kind: 'unreachable'; detail: string }
  | { kind: 'tls'; detail: string }
  | { kind: 'login'; detail: string }
  /** It offers no login that this server can use, on this port and with this TLS. */
  | { kind: 'no-login'; detail: string }
  | { kind: 'refused'; detail: string };

/** Another process on the same database, beside this one. */
export interface OtherNode {
  name: string;
  /** Of the program; null = the same as here. */
  otherVersion: string | null;
  /** Settings that all nodes should have alike, in which it differs. */
  differsIn: readonly string[];
}

/** How this server is configured. */
export interface InstanceFacts {
  hostname: string;
  bounceDomain: string;
  /** All or some mail goes directly to the recipients' servers. */
  direct: boolean;
  /**
   * How the key ipv6 and the sources of this node differ, so that IPv6 is not used: the key is off though a source has an IPv6
   * address, or on though none has one; null = not.
   */
  unusedIpv6: 'off' | 'no-address' | null;
  /** Every relay that some route names. */
  relays: readonly RelayFacts[];
  /** Empty if nothing is sent directly, or no public address is known. */
  addresses: readonly SendingAddress[];
  /** Where bounces are received; `elsewhere`: in another process. */
  returns: { host: string; port: number } | 'off' | 'elsewhere';
  /** What clients call the listener of the API, where it has TLS; null = plain HTTP. */
  https: { host: string } | null;
  /** How the links begin that readers get, without a tracking host; null = no mail leaves. */
  links: { url: string; reach: Reach } | null;
  operatorAddress: string | null;
  /** Zones of block lists that the operator configured, including keys. */
  blockLists: readonly string[];
  dataFolder: string;
  /** Of the identity provider by which people sign in; null = none, or it is not asked. */
  identityIssuer: string | null;
}

/** Checks that are not DNS. Each ends in limited time and never rejects. */
export interface InstanceProbes {
  port25(): Promise<{ kind: 'open' | 'blocked' | 'unknown'; detail: string }>;
  /** Connects to a relay as delivery would, and logs in. */
  relay(relay: RelayFacts): Promise<RelayProbe>;
  /** STARTTLS at the listener for bounces, from this machine. */
  returns(): Promise<CertificateFacts | { kind: 'no-tls'; detail: string }>;
  /** TLS at the listener of the API, from this machine. */
  https(): Promise<CertificateFacts>;
  /** Those sources of this node whose address no interface of this machine has. */
  missingSources(): readonly { id: string; address: string }[];
  /** What is wrong with the files of the certificates that the listeners use, as sentences. */
  certificateProblems(): Promise<readonly string[]>;
  /** This clock minus a clock that the operator configured; null = none, or it did not answer. */
  clockOffsetMs(): Promise<number | null>;
  /** `fileShare`: of the files that the disk can hold, how many can still be made. */
  freeSpace(): Promise<{ bytes: number; share: number; fileShare: number } | null>;
  /** The data folder and those secrets in it that others than the owner can read. */
  readableByOthers(): Promise<readonly string[]>;
  /** null: it is alone with its database. */
  otherNodes(): Promise<readonly OtherNode[] | null>;
  /** null: not asked, or the database needs none. */
  databaseUpkeep(params: { heldMs: number }): Promise<DatabaseUpkeep | null>;
  /** What is wrong with the identity provider; null = nothing. */
  identityProvider(): Promise<string | null>;
}
