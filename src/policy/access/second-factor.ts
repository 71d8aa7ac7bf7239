/**
 * The second factor of a person: codes of an authenticator app, and recovery codes in case the app is lost. Creates a
 * secret, switches it on with a first code, and checks codes. The store marks a code as used in the transaction that
 * begins the session. The secret is stored encrypted, recovery codes as hashes.
 */
import { hash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Random } from '../../lib/random.ts';
import type { Sealer } from '../../lib/seal.ts';
import { base32, stepOfCode, TOTP_SECRET_BYTES, totpSecretOf, totpUri } from '../../lib/totp.ts';
import type { SecondFactor, SecondProof } from '../../model/person.ts';

export interface SecondFactors {
  /** A new secret for an app; it is not stored before it is switched on. */
  newSecret(email: string): { secret: string; uri: string };
  /**
   * What to store, and the recovery codes, which are shown once; null if `code` is not a current code of `secret`.
   */
  begin(secret: string, code: string): { factor: SecondFactor; recoveryCodes: readonly string[] } | null;
  /** The proof that `code` is; null if it is wrong or was used. */
  proofOf(factor: SecondFactor, code: string): SecondProof | null;
}

const SEAL = 'totp-secret';
const ISSUER = 'postrider';
const RECOVERY_CODES = 10;
/** 80 bits, so that a plain hash is enough: 16 digits of base32. */
const RECOVERY_BYTES = 10;
const RECOVERY_CODE = /^[A-Z2-7]{16}$/;

export function createSecondFactors(deps: { sealer: Sealer; clock: Clock; random: Random }): SecondFactors {
  const { sealer, clock, random } = deps;
  return {
    newSecret(email) {
      const secret = base32(random.bytes(TOTP_SECRET_BYTES));
      return { secret, uri: totpUri({ secret, account: email, issuer: ISSUER }) };
    },
    begin(text, code) {
      const secret = totpSecretOf(text);
      const lastStep = secret === null ? null : stepOfCode(secret, plain(code), clock.now(), 0);
      if (secret === null || lastStep === null) return null;
      const codes = Array.from({ length: RECOVERY_CODES }, () => base32(random.bytes(RECOVERY_BYTES)));
      const secretSealed = Buffer.from(sealer.seal(secret, SEAL)).toString('base64url');
      return {
        factor: { secretSealed, lastStep, recoveryHashes: codes.map(hashOf) },
        recoveryCodes: codes.map((one) => one.replaceAll(/(.{4})(?=.)/g, '$1-')),
      };
    },
    proofOf(factor, given) {
      const code = plain(given);
      if (RECOVERY_CODE.test(code)) {
        const recoveryHash = hashOf(code);
        return factor.recoveryHashes.includes(recoveryHash) ? { recoveryHash } : null;
      }
      const secret = sealer.open(Buffer.from(factor.secretSealed, 'base64url'), SEAL);
      const step = stepOfCode(secret, code, clock.now(), factor.lastStep);
      return step === null ? null : { step };
    },
  };
}

/** Without the spaces and dashes that people type between groups. */
function plain(code: string): string {
  return code.replaceAll(/[ -]/g, '').toUpperCase();
}

function hashOf(code: string): string {
  return hash('sha256', code, 'base64url');
}
