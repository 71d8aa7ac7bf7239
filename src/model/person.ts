/** People who sign in to the dashboard, and their sessions, as stored. What a role may do is told here once. */
import { PRESETS, type Preset, SCOPES, type Scope } from './token.ts';

/** operator: everything. member: what a preset of tokens may, for named domains. viewer: reads, and changes nothing. */
export const ROLES = ['operator', 'member', 'viewer'] as const;
export type Role = (typeof ROLES)[number];

/** What a member may be given; Admin is the operator's. */
export const MEMBER_PRESETS = ['Default', 'Send', 'Full'] as const satisfies readonly Preset[];
export type MemberPreset = (typeof MEMBER_PRESETS)[number];

/** What decides over rights. */
export interface Standing {
  role: Role;
  /** Lower-case A-labels, or ['*'] for every domain: always so for operators, never for members. */
  domains: readonly string[];
  /** Of a member; null for the other roles. */
  preset: MemberPreset | null;
}

export interface Person extends Standing {
  /** UUIDv7. */
  id: string;
  /** Lower case, unique among the people of this server. */
  email: string;
  /** scrypt with its parameters and salt, as `password-hash.ts` writes it; null = signs in by the identity provider only. */
  passwordHash: string | null;
  createdAt: number;
  lastSignInAt: number | null;
  /** null = may sign in. */
  disabledAt: number | null;
  /** null = the password alone is enough. */
  secondFactor: SecondFactor | null;
  /** Since the first sign-in by an identity provider: nobody else at it is this person, whatever address they have. */
  identity: Identity | null;
}

/** Who somebody is at an identity provider (OpenID Connect Core §2). */
export interface Identity {
  issuer: string;
  subject: string;
}

/** Codes of an authenticator app (TOTP) and recovery codes. */
export interface SecondFactor {
  /** The app's secret, sealed; base64url. */
  secretSealed: string;
  /** The step of the last code that was used: none counts twice. */
  lastStep: number;
  /** SHA-256 of each recovery code that is left; base64url. */
  recoveryHashes: readonly string[];
}

/** What a right code proves, once. */
export type SecondProof = { step: number } | { recoveryHash: string };

/** A session that is not used for this time ends. */
export const SESSION_IDLE_MS = 12 * 3_600_000;

/** For this time after the person proved who they are, a session may make what outlives it. */
export const PROOF_MS = 10 * 60_000;

export interface PersonSession {
  /** UUIDv7; names it in lists and proves nothing. */
  id: string;
  /** SHA-256 of the text in the cookie, which is kept nowhere. */
  secretHash: Uint8Array;
  personId: string;
  createdAt: number;
  /** Exact to a minute. */
  lastUsedAt: number;
  /** When it ends however often it is used. */
  endsAt: number;
  /** Of the request that signed in; cut to 200 characters. */
  userAgent: string;
  ip: string;
  /** Begun by the identity provider, not with a password. */
  byProvider: boolean;
  /** When the person last proved who they are: with the password, or by the identity provider. 0 = not known. */
  provenAt: number;
}

/** The scopes of a person. */
export function scopesOf({ role, preset }: Pick<Standing, 'role' | 'preset'>): readonly Scope[] {
  if (role === 'operator') return PRESETS.Admin;
  if (role === 'member') return preset === null ? [] : PRESETS[preset];
  return SCOPES.filter((scope) => scope.endsWith(':read'));
}
