/** Who may do what, as the place Access asks for it: tokens, SMTP credentials, people, and who changed what. */
import type {
  AuditList,
  CreatePersonRequest,
  CreateTokenRequest,
  NewSmtpCredentialAnswer,
  NewTokenAnswer,
  Person,
  PersonList,
  RevokedTokenAnswer,
  RotatedTokenAnswer,
  SmtpCredentialList,
  TokenList,
  UpdatePersonRequest,
} from '../../src/client/api-types.ts';
import { call, open, pageReader, part, type Query } from './call.ts';
import { make } from './make.ts';

const PAGE = 100;

/** Pages of a hundred, the newest first. */
export const listTokens = pageReader<TokenList>('/tokens', PAGE);

export function createToken(body: CreateTokenRequest): Promise<NewTokenAnswer> {
  return make('/tokens', body, 'Token');
}

export function rotateToken(id: string, overlapSeconds: number): Promise<RotatedTokenAnswer> {
  return make(`/tokens/${part(id)}/rotate`, { Overlap: overlapSeconds }, 'Token');
}

export function revokeToken(id: string, children: boolean): Promise<RevokedTokenAnswer> {
  return call('DELETE', `/tokens/${part(id)}`, { query: { Children: children || undefined } });
}

export const listCredentials = pageReader<SmtpCredentialList>('/smtp-credentials', PAGE);

export function createCredential(body: {
  Name?: string;
  Domain: string;
  Sandbox: boolean;
  Notices: boolean;
}): Promise<NewSmtpCredentialAnswer> {
  return make('/smtp-credentials', body, 'Password');
}

export async function removeCredential(id: string): Promise<void> {
  await open('DELETE', `/smtp-credentials/${part(id)}`);
}

export const listPeople = pageReader<PersonList>('/people', PAGE);

export function addPerson(body: CreatePersonRequest): Promise<Person> {
  return make('/people', body);
}

/** All sessions of the person end, also where nothing else changes. */
export function changePerson(id: string, body: UpdatePersonRequest, children = false): Promise<Person> {
  return call('PATCH', `/people/${part(id)}`, { body, query: { Children: children || undefined } });
}

export function setPassword(id: string, password: string, children: boolean): Promise<Person> {
  const query = { Children: children || undefined };
  return call('PUT', `/people/${part(id)}/password`, { body: { Password: password }, query });
}

/** All sessions of the person end; the next account of the identity provider with the address counts. */
export function forgetIdentity(id: string): Promise<Person> {
  return call('DELETE', `/people/${part(id)}/identity`);
}

/** All sessions of the person end. */
export function resetSecondFactor(id: string): Promise<Person> {
  return call('DELETE', `/people/${part(id)}/totp`);
}

export async function removePerson(id: string, children: boolean): Promise<void> {
  await open('DELETE', `/people/${part(id)}`, { query: { Children: children || undefined } });
}

/** A page of fifty, the newest first. */
export function listAudit(query: Query, signal?: AbortSignal): Promise<AuditList> {
  return call('GET', '/audit', { query: { Limit: 50, ...query }, signal });
}
