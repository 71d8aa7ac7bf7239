/** Whether a sign-in is by the person it names, decided in the transaction that begins the session. */
import type { Person, SecondFactor, SecondProof } from '../../model/person.ts';
import type { Recognition } from '../topics/people.ts';

/** The person as the sign-in leaves them; null where it is somebody else, or nobody who may sign in. */
export function recognised(person: Person | null, by: Recognition): Person | null {
  if (person === null || person.disabledAt !== null) return null;
  if ('identity' in by) {
    const { issuer, subject } = person.identity ?? by.identity;
    const isSame = issuer === by.identity.issuer && subject === by.identity.subject;
    return isSame ? { ...person, identity: by.identity } : null;
  }
  const secondFactor = afterUse(person.secondFactor, by.proof);
  if (person.passwordHash !== by.passwordHash || secondFactor === undefined) return null;
  return { ...person, secondFactor };
}

/** What is left of a second factor; undefined where `proof` proves nothing (any more). */
function afterUse(factor: SecondFactor | null, proof: SecondProof | null): SecondFactor | null | undefined {
  if (factor === null || proof === null) return factor === null && proof === null ? null : undefined;
  if ('step' in proof) return proof.step > factor.lastStep ? { ...factor, lastStep: proof.step } : undefined;
  const recoveryHashes = factor.recoveryHashes.filter((one) => one !== proof.recoveryHash);
  return recoveryHashes.length < factor.recoveryHashes.length ? { ...factor, recoveryHashes } : undefined;
}
