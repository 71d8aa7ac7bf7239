/** A user name and password for SMTP submission, as stored: for programs that cannot keep a token as a password. */
import type { Bounds } from './token.ts';

export interface SmtpCredential extends Bounds {
  /** UUIDv7. */
  id: string;
  /** Unique in the instance, lower case. */
  username: string;
  /** What people call it. */
  name: string;
  /** Scope of idempotency keys: its own id, so that nobody else's keys are in its way. */
  owner: string;
  /** The one sender domain it is for, lower-case A-label. */
  domain: string;
  /** Everything sent with it stays in the sandbox. */
  sandbox: boolean;
  /** Who logs in with it gets notices by mail. */
  notices: boolean;
  /** scrypt: salt, derived key, and N as a power of two (r = 8, p = 1). */
  salt: Uint8Array;
  hash: Uint8Array;
  costLog2: number;
  /** Sends per second; null = the instance's rule. */
  rateLimit: number | null;
  /** Id of the token that made it; null = unknown. */
  createdBy: string | null;
  createdAt: number;
}
