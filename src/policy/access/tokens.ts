/**
 * The JWT of a token: a compact JWS with the RFC 9068 profile and the rules of RFC 8725. Writes the text of a token
 * row, which is shown once; reads a text and returns the row that it proves possession of. Whether that row is still
 * valid is decided in `access.ts`. Only the claim `jti` is used later.
 */
import { errors, type JWTHeaderParameters, jwtVerify, SignJWT } from 'jose';
import type { Clock } from '../../lib/clock.ts';
import type { Token } from '../../model/token.ts';
import type { SigningKeys } from './signing-keys.ts';

/** `typ` of every token, so that nothing signed for another purpose can be used as one (RFC 8725 §3.11). */
const TOKEN_TYPE = 'at+jwt';
/** Tolerated difference between the clocks of two nodes. */
const LEEWAY_SECONDS = 60;
/**
 * The same for the time from which a token is valid. A token is always older than its first use, so an earlier time
 * only means a wrong clock; a larger difference gets a message of its own.
 */
const EARLY_LEEWAY_SECONDS = 300;
/** A real token has about 500 characters; one with a hundred domains still fits. */
export const MAX_TOKEN_CHARS = 8192;

/** Header members that contain or name a key: refused, never used (RFC 8725 §3.5, §3.10). */
const KEY_BEARING = ['jwk', 'jku', 'x5u', 'x5c', 'x5t', 'x5t#S256'] as const;

export type TokenCheck =
  | { kind: 'valid'; tokenId: string }
  /** Signed by us, but valid only from a later time: the clock was ahead then, or is behind now. */
  | { kind: 'early'; tokenId: string; validFrom: number }
  /** Signed by us, and past its end. */
  | { kind: 'expired'; tokenId: string; at: number }
  /** `reason` is for the log only; clients get the same text for all. */
  | { kind: 'invalid'; reason: string; tokenId: string | null };

/** Signs the text of `token`; `instance` is the full `urn:postrider:<uuid>`. */
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

/** Checks signature, header and claims of `text`. Rejects only if the store of keys rejects. */
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
    // jose throws a JOSEError for every refusal; anything else (the store is unavailable) is not the token's fault.
    if (!(error instanceof errors.JOSEError)) throw error;
    const early = beginsLater(error);
    if (early !== null) {
      const aheadMs = early.validFrom - deps.clock.now();
      return aheadMs <= EARLY_LEEWAY_SECONDS * 1000 ? { kind: 'valid', tokenId: early.tokenId } : early;
    }
    const tokenId = claimedId(error);
    if (error instanceof errors.JWTExpired && tokenId !== null && typeof error.payload.exp === 'number')
      return { kind: 'expired', tokenId, at: error.payload.exp * 1000 };
    return { kind: 'invalid', reason: `${error.code}: ${error.message}`, tokenId };
  }
}

/** The key stored under `kid`. It is always an Ed25519 key, so the algorithm is fixed too. */
async function pinnedKey(keys: SigningKeys, header: JWTHeaderParameters) {
  for (const name of KEY_BEARING) {
    if (header[name] !== undefined) throw new errors.JWSInvalid(`header member ${name} is not allowed`);
  }
  if (typeof header.kid !== 'string') throw new errors.JWSInvalid('header has no kid');
  const key = await keys.verifier(header.kid);
  if (key === null) throw new errors.JWKSNoMatchingKey('kid is not known');
  return key;
}

/** One of our tokens that is only not valid yet; its expiry is that of its row. */
function beginsLater(error: errors.JOSEError): Extract<TokenCheck, { kind: 'early' }> | null {
  if (!(error instanceof errors.JWTClaimValidationFailed)) return null;
  if (error.claim !== 'nbf' || error.reason !== 'check_failed') return null;
  const { jti, nbf } = error.payload;
  if (typeof jti !== 'string' || jti === '' || typeof nbf !== 'number') return null;
  return { kind: 'early', tokenId: jti, validFrom: nbf * 1000 };
}

/** jti of a token with a valid signature but invalid claims; null if nothing in it can be trusted. */
function claimedId(error: errors.JOSEError): string | null {
  const isClaimError = error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed;
  const jti = isClaimError ? error.payload.jti : undefined;
  return typeof jti === 'string' ? jti.slice(0, 64) : null;
}
