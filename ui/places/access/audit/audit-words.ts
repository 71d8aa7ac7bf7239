/** An entry of the audit as a sentence without its subject: `made the token shop`. Pure. */
import type { AuditEntry } from '../../../../src/client/api-types.ts';

/** What was done to what; a fixed phrase where the entry names nothing. */
const WORDS: Readonly<Record<string, readonly [verb: string, thing: string] | string>> = {
  createToken: ['made', 'token'],
  rotateToken: ['replaced a token by', 'token'],
  revokeToken: ['revoked', 'token'],
  createSmtpCredential: ['made', 'SMTP credential'],
  deleteSmtpCredential: ['revoked', 'SMTP credential'],
  createPerson: ['added', 'person'],
  updatePerson: ['changed rights or sessions of', 'person'],
  setPassword: ['set a new password of', 'person'],
  deletePerson: ['removed', 'person'],
  resetTotp: ['reset the second factor of', 'person'],
  forgetIdentity: ['forgot the account at the identity provider of', 'person'],
  signInByProvider: 'signed in by the identity provider',
  switchOnTotp: 'switched on their second factor',
  switchOffTotp: 'switched off their second factor',
  changePassword: 'changed their own password',
  createDomain: ['added', 'domain'],
  updateDomain: ['changed settings of', 'domain'],
  deleteDomain: ['removed', 'domain'],
  rotateDkimKey: ['changed the DKIM key of', 'domain'],
  createWebhook: ['made', 'webhook'],
  updateWebhook: ['changed', 'webhook'],
  deleteWebhook: ['removed', 'webhook'],
  rotateWebhookSecret: ['changed the secret of', 'webhook'],
  replayWebhook: ['repeated calls of', 'webhook'],
  addSuppressions: 'added addresses to the suppression list',
  deleteSuppression: 'took an address off the suppression list',
  createTemplate: ['made', 'template'],
  updateTemplate: ['changed', 'template'],
  deleteTemplate: ['removed', 'template'],
  erasePerson: 'erased everything about an address',
  tryPath: ['had mail tried at once to', 'site'],
  holdQueue: 'held mail',
  releaseQueue: 'released held mail',
  deleteOverride: 'lifted a limit that was learned from replies',
  resendCause: ['sent again all mail of', 'cause'],
};

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Operations that are known here, for a filter: id and words. */
export const OPERATIONS: readonly (readonly [id: string, words: string])[] = Object.keys(WORDS).map((id) => [
  id,
  auditText({ Operation: id, Resource: '' }, () => null),
]);

/** `nameOf`: what is known by an id. An operation that is not known here is told as the API names it. */
export function auditText(
  { Operation, Resource }: Pick<AuditEntry, 'Operation' | 'Resource'>,
  nameOf: (id: string) => string | null,
): string {
  const words = WORDS[Operation];
  if (words === undefined) return `called ${Operation} on ${Resource}`;
  if (typeof words === 'string') return words;
  const [verb, thing] = words;
  const id = idOf(Resource);
  const name = nameOf(id) ?? (UUID.test(id) ? '' : id);
  if (name === '') return `${verb} ${thing === 'SMTP credential' ? 'an' : 'a'} ${thing}`;
  return `${verb} the ${thing} ${name}`;
}

/** The thing itself: the part of the path behind its kind. */
function idOf(resource: string): string {
  const [first, second = '', third = ''] = resource.split('/');
  return first === 'queue' ? third : second;
}
