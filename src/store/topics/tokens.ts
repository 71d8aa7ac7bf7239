/**
 * Tokens, the keys that sign them, and SMTP credentials. Part of the Store (`../store.ts` says what all its operations
 * promise).
 */
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import type { Token } from '../../model/token.ts';
import type { IdempotencyEntry } from './acceptance.ts';

export interface CredentialStore {
  /** false where its maker was revoked meanwhile. Rejects where the id exists. */
  addToken(params: {
    token: Token;
    /** Taken in the same transaction where something is made; rejects with KeyTaken where it is taken already. */
    idempotency?: IdempotencyEntry;
  }): Promise<boolean>;
  getToken(params: { id: string }): Promise<Token | null>;
  /**
   * At most `limit`, by id, the newest first; only tokens whose every domain is among `domains` (undefined = all tokens).
   * `look` of all tokens are looked at; `nextId` is `beforeId` of the next look, null = that was all.
   */
  listTokens(params: {
    domains?: readonly string[];
    beforeId?: string;
    limit: number;
    look: number;
  }): Promise<{ tokens: readonly Token[]; nextId: string | null }>;
  /** Sets revokedAt once; false where the token does not exist. */
  revokeToken(params: { id: string; now: number }): Promise<boolean>;
  /**
   * Ends what was made with a token itself, a portion: revokes tokens, removes SMTP credentials and webhooks, at most
   * `limit` of each. `tokens`: all of the portion by id, also those that had ended before; `revoked`: the others.
   * `next`: `afterId` of the portion that follows, null = that was all.
   */
  endMadeWith(params: { id: string; now: number; afterId: string; limit: number }): Promise<{
    tokens: readonly string[];
    revoked: readonly string[];
    credentials: number;
    webhooks: number;
    next: string | null;
  }>;
  /**
   * Stores `token` and lets the old one end at `oldEndsAt` unless it ends before; where that is not after `now` it is
   * revoked. Nothing happens and false comes back where the old one does not exist or has ended already, or the maker of the
   * new one was revoked.
   */
  rotateToken(params: {
    oldId: string;
    oldEndsAt: number;
    token: Token;
    now: number;
    /** Taken in the same transaction where something is made; rejects with KeyTaken where it is taken already. */
    idempotency?: IdempotencyEntry;
  }): Promise<boolean>;
  /** Notes a use; not synced, may wait for company. */
  touchToken(params: { id: string; usedAt: number; ip: string }): Promise<void>;
  signingKeys(): Promise<
    readonly { kid: string; privateSealed: Uint8Array; publicJwk: string; createdAt: number }[]
  >;
  addSigningKey(params: {
    kid: string;
    privateSealed: Uint8Array;
    publicJwk: string;
    createdAt: number;
  }): Promise<void>;
  /** `taken` where the user name is in use, `ended` where its maker was revoked meanwhile. */
  addSmtpCredential(params: {
    credential: SmtpCredential;
    /** Taken in the same transaction where something is made; rejects with KeyTaken where it is taken already. */
    idempotency?: IdempotencyEntry;
  }): Promise<'added' | 'taken' | 'ended'>;
  getSmtpCredential(params: { username: string }): Promise<SmtpCredential | null>;
  /** At most `limit` below `beforeId`, by id, the newest first. `domains` undefined = all. */
  listSmtpCredentials(params: {
    domains?: readonly string[];
    beforeId?: string;
    limit: number;
  }): Promise<readonly SmtpCredential[]>;
  /** false where there is none of that id in those domains. */
  removeSmtpCredential(params: { id: string; domains?: readonly string[] }): Promise<boolean>;
}
