/** An API token as stored: the row decides what it may do, the JWT only proves possession. */

export const SCOPES = [
  'email:send',
  'email:read',
  'events:read',
  'webhooks:read',
  'webhooks:write',
  'domains:read',
  'domains:write',
  'suppressions:read',
  'suppressions:write',
  'templates:read',
  'templates:write',
  'stats:read',
  'smtp:write',
  'tokens:read',
  'tokens:write',
  'admin',
] as const;
export type Scope = (typeof SCOPES)[number];

export const PRESETS = {
  Default: [
    'email:send',
    'email:read',
    'events:read',
    'webhooks:read',
    'webhooks:write',
    'suppressions:read',
    'stats:read',
  ],
  Send: ['email:send'],
  Full: SCOPES.filter((scope) => scope !== 'admin'),
  Admin: [...SCOPES],
} as const satisfies Record<string, readonly Scope[]>;
export type Preset = keyof typeof PRESETS;

/** How long a token may be valid, and the one before it after a rotation. */
export const LIFETIME_SECONDS = { min: 60, max: 315_576_000 } as const;
export const OVERLAP_SECONDS = { min: 0, max: 7 * 86_400 } as const;

/** A rate that sends count towards in addition to the token's own. */
export interface RateShare {
  /** Owner of the token that has this rate. */
  key: string;
  /** Sends per second; null = the server's setting. */
  perSecond: number | null;
}

/** Limits that everything a token creates has too; they can only be narrower. */
export interface Bounds {
  /** null = never expires. */
  expiresAt: number | null;
  /** CIDRs; empty = from any address. */
  ipAllowList: readonly string[];
  /**
   * The rates of its creators, the first creator first: many tokens of one creator together send no faster than one.
   */
  rateShares: readonly RateShare[];
}

export const NO_BOUNDS: Bounds = { expiresAt: null, ipAllowList: [], rateShares: [] };

export interface Token extends Bounds {
  /** `jti`: UUIDv7. */
  id: string;
  name: string;
  /** Owner: project or user id; scope of idempotency keys. */
  owner: string;
  /** Lower-case A-labels, or ['*'] for every domain. */
  domains: readonly string[];
  scopes: readonly Scope[];
  /** Everything this token sends stays in the sandbox. */
  sandbox: boolean;
  /** Sends per second; null = the server's setting. */
  rateLimit: number | null;
  /** Id of the token that created it; null = the server itself, or unknown. */
  createdBy: string | null;
  createdAt: number;
  lastUsedAt: number | null;
  lastUsedIp: string | null;
  revokedAt: number | null;
  /** Id of the token that replaced it. */
  replacedBy: string | null;
}
