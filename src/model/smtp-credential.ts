/** A stored user name and password for SMTP submission, for programs that cannot use a token as a password. */
import type { Bounds } from './token.ts';

export interface SmtpCredential extends Bounds {
  /** UUIDv7. */
  id: string;
  /** Unique in the instance, lower case. */
  username: string;
  /** Its display name. */
  name: string;
  /** Scope of idempotency keys: its own id, so that its keys never collide with those of others. */
  owner: string;
  /** The only sender domain it may use, lower-case A-label. */
  domain: string;
  /** All mail sent with it stays in the sandbox. */
  sandbox: boolean;
  /** Whether its user gets notices by mail. */
  notices: boolean;
  /** scrypt: salt, derived key, and N as a power of two (r = 8, p = 1). */
  salt: Uint8Array;
  hash: Uint8Array;
  costLog2: number;
  /** Sends per second; null = the server's setting. */
  rateLimit: number | null;
  /** Id of the token that created it; null = unknown. */
  createdBy: string | null;
  createdAt: number;
}
