/**
 * The JWT half of a token: a compact JWS of the RFC 9068 profile under the rules of RFC 8725. Given a token row it
 * writes the text that is shown once; given a text it says which row the text proves possession of, and nothing
 * more: whether that row is still valid is for `access.ts`. No claim but `jti` decides anything later.
 */
import { errors, type JWTHeaderParameters, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import type { Token } from '../../model/token.ts';
import type { SigningKeys } from './signing-keys.ts';

/** `typ` of every token; what is signed for another purpose can never pass as one (RFC 8725 §3.11). */
export const TOKEN_TYPE = 'at+jwt';
/** Tolerated difference between the clocks of two nodes. */
export const LEEWAY_SECONDS = 60;
/**
 * The same for when a token begins. It is older than its first use whatever its claims say, so this only tells of clocks;
 * a clock that is set back by more is worth a word of its own.
 */
export const EARLY_LEEWAY_SECONDS = 300;
/** A real token has about 500 characters; a hundred domains still fit. */
export const MAX_TOKEN_CHARS = 8192;

/** Header members by which a token could bring or name its own key: refused, never followed (RFC 8725 §3.5, §3.10). */
const KEY_BEARING = ['jwk', 'jku', 'x5u', 'x5c', 'x5t', 'x5t#S256'] as const;

export type TokenCheck =
  | { kind: 'valid'; tokenId: string }
  /** Signed by us, and begins later than the clock says it is: the clock was ahead then, or is behind now. */
  | { kind: 'early'; tokenId: string; validFrom: number }
  /** `reason` is for the log only; clients get one text for all. */
  | { kind: 'invalid'; reason: string; tokenId: string | null };

/** Signs the text for `token`; `instance` is the full `urn:postrider:<uuid>`. */
export async function signToken(keys: SigningKeys, instance: string, token: Token): Promise<string> {
  const { kid, privateKey } = await keys.signer();
  const issuedAt = Math.floor(token.createdAt / 1000);
  const claims = {
    scope: token.scopes.join(' '),
    dom: token.domains,
    sbx: token.sandbox,
    client_id: token.owner,
  };
  const jwt = new SignJWT(claims)
    .setProtectedHeader({ alg: 'EdDSA', typ: TOKEN_TYPE, kid })
    .setIssuer(instance)
    .setAudience(instance)
    .setSubject(token.owner)
    .setJti(token.id)
    .setIssuedAt(issuedAt)
    .setNotBefore(issuedAt);
  if (token.expiresAt !== null) jwt.setExpirationTime(Math.floor(token.expiresAt / 1000));
  return jwt.sign(privateKey);
}

/** Checks signature, header and claims of `text`. Rejects only where the store of keys does. */
export async function checkToken(
  deps: { keys: SigningKeys; clock: Clock; instance: string },
  text: string,
): Promise<TokenCheck> {
  try {
    const { payload } = await jwtVerify(text, (header) => pinnedKey(deps.keys, header), {
      algorithms: ['EdDSA'],
      typ: TOKEN_TYPE,
      issuer: deps.instance,
      audience: deps.instance,
      clockTolerance: LEEWAY_SECONDS,
      currentDate: new Date(deps.clock.now()),
      requiredClaims: ['sub', 'jti', 'iat', 'nbf'],
    });
    const { jti } = payload;
    if (typeof jti !== 'string' || jti === '') {
      return { kind: 'invalid', reason: 'jti is not a text', tokenId: null };
    }
    return { kind: 'valid', tokenId: jti };
  } catch (error) {
    // Everything jose refuses is a JOSEError; anything else (the store is away) is not the token's fault.
    if (!(error instanceof errors.JOSEError)) throw error;
    const early = beginsLater(error);
    if (early !== null) {
      const aheadMs = early.validFrom - deps.clock.now();
      return aheadMs <= EARLY_LEEWAY_SECONDS * 1000 ? { kind: 'valid', tokenId: early.tokenId } : early;
    }
    return { kind: 'invalid', reason: `${error.code}: ${error.message}`, tokenId: claimedId(error) };
  }
}

/** The key stored under `kid`. Its kind is Ed25519 by construction, so the algorithm is pinned with it. */
async function pinnedKey(keys: SigningKeys, header: JWTHeaderParameters) {
  for (const name of KEY_BEARING) {
    if (header[name] !== undefined) throw new errors.JWSInvalid(`header member ${name} is not allowed`);
  }
  if (typeof header.kid !== 'string') throw new errors.JWSInvalid('header has no kid');
  const key = await keys.verifier(header.kid);
  if (key === null) throw new errors.JWKSNoMatchingKey('kid is not known');
  return key;
}

/** A token of ours of which nothing is wrong but its beginning; its end is that of its row. */
function beginsLater(error: errors.JOSEError): Extract<TokenCheck, { kind: 'early' }> | null {
  if (!(error instanceof errors.JWTClaimValidationFailed)) return null;
  if (error.claim !== 'nbf' || error.reason !== 'check_failed') return null;
  const { jti, nbf } = error.payload;
  if (typeof jti !== 'string' || jti === '' || typeof nbf !== 'number') return null;
  return { kind: 'early', tokenId: jti, validFrom: nbf * 1000 };
}

/** jti of a token whose signature held but whose claims did not; null where nothing in it can be believed. */
function claimedId(error: errors.JOSEError): string | null {
  const isClaimError = error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed;
  const jti = isClaimError ? error.payload.jti : undefined;
  return typeof jti === 'string' ? jti.slice(0, 64) : null;
}
