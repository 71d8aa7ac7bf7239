/**
 * Tokens, the keys that sign them, and SMTP credentials. Part of the Store (`../store.ts` says what all its operations
 * promise).
 */
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import type { Token } from '../../model/token.ts';
import type { IdempotencyEntry } from './acceptance.ts';

/** A key that signs tokens. */
export interface StoredSigningKey {
  kid: string;
  privateSealed: Uint8Array;
  publicJwk: string;
  createdAt: number;
}

export interface CredentialStore {
  /**
   * `ended` if its creator was revoked meanwhile, or the session of the person has ended; `full` if `maxPerDomain`
   * tokens have the same first domain, of which one that has ended makes room. Tokens of all domains are not counted.
   */
  addToken(params: {
    token: Token;
    maxPerDomain: number;
    /** Id of the session in which a person makes it: who changes the person's rights ends it. */
    inSession?: string | undefined;
    /** Stored in the same transaction if something is created; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<'added' | 'ended' | 'full'>;
  getToken(params: { id: string }): Promise<Token | null>;
  /**
   * At most `limit`, by id, newest first; only tokens all of whose domains are among `domains` (undefined = all
   * tokens). `look` tokens are examined; `nextId` is `beforeId` of the next look, null = that was all.
   */
  listTokens(params: {
    domains?: readonly string[];
    beforeId?: string;
    limit: number;
    look: number;
  }): Promise<{ tokens: readonly Token[]; nextId: string | null }>;
  /** Sets revokedAt once; false if the token does not exist. */
  revokeToken(params: { id: string; now: number }): Promise<boolean>;
  /**
   * Ends what was created with a token, one portion: revokes tokens, removes SMTP credentials and webhooks, at most
   * `limit` of each. `tokens`: all of the portion by id, also those that had ended before; `revoked`: the others.
   * `next`: `afterId` of the next portion, null = that was all.
   */
  endMadeWith(params: { id: string; now: number; afterId: string; limit: number }): Promise<{
    tokens: readonly string[];
    revoked: readonly string[];
    credentials: number;
    webhooks: number;
    next: string | null;
  }>;
  /**
   * Stores `token` and lets the old one end at `oldEndsAt` unless it ends before; if that is not after `now`, it is
   * revoked. `ended`, and nothing happens, if the old one does not exist, has already ended or was replaced, or the creator of
   * the new one was revoked, or its session has ended; `full` as of `addToken`.
   */
  rotateToken(params: {
    oldId: string;
    oldEndsAt: number;
    token: Token;
    maxPerDomain: number;
    /** As of `addToken`. */
    inSession?: string | undefined;
    now: number;
    /** Stored in the same transaction if something is created; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<'rotated' | 'ended' | 'full'>;
  /**
   * Removes tokens that ended before `before` and made nothing that is still stored, so that what they made can be
   * revoked with their own makers; `look` tokens are examined, the newest first. `nextId` as of `listTokens`.
   */
  purgeTokens(params: {
    before: number;
    beforeId?: string;
    look: number;
  }): Promise<{ removed: number; nextId: string | null }>;
  /** Records a use; not synced, may wait for other operations. */
  touchToken(params: { id: string; usedAt: number; ip: string }): Promise<void>;
  signingKeys(): Promise<readonly StoredSigningKey[]>;
  addSigningKey(params: StoredSigningKey): Promise<void>;
  /**
   * `taken` if the user name is in use, `ended` if its creator was revoked meanwhile, or the session has ended; `full` if
   * its domain has `maxPerDomain`, of which one that has expired makes room.
   */
  addSmtpCredential(params: {
    credential: SmtpCredential;
    maxPerDomain: number;
    /** As of `addToken`. */
    inSession?: string | undefined;
    /** Stored in the same transaction if something is created; rejects with KeyTaken if it is taken. */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<'added' | 'taken' | 'ended' | 'full'>;
  getSmtpCredential(params: { username: string }): Promise<SmtpCredential | null>;
  /** At most `limit` below `beforeId`, by id, newest first. `domains` undefined = all. */
  listSmtpCredentials(params: {
    domains?: readonly string[];
    beforeId?: string;
    limit: number;
  }): Promise<readonly SmtpCredential[]>;
  /** false if those domains have none with this id. */
  removeSmtpCredential(params: { id: string; domains?: readonly string[] }): Promise<boolean>;
  /** Removes at most `limit` that expired before `before`; how many. */
  purgeSmtpCredentials(params: { before: number; limit: number }): Promise<number>;
}
