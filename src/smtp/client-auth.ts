/**
 * AUTH PLAIN and LOGIN (RFC 4954, RFC 4616) for relays. Takes the server's mechanisms, name and password, and a
 * function that sends one command. Returns nothing more if the login succeeded, otherwise the reply or the reason. The
 * secret goes only to the socket; the log gets a placeholder.
 */
import type { Reply } from './reply.ts';

interface AuthRequest {
  /** Offered mechanisms, upper case. */
  offered: readonly string[];
  user: string;
  pass: string;
  /** Sends one command (the log shows `shown`) and returns the reply, or null if the connection ended. */
  ask(command: string, shown: string): Promise<Reply | null>;
}

export type AuthResult =
  | { kind: 'authenticated' }
  | { kind: 'refused'; reply: Reply }
  | { kind: 'impossible'; detail: string }
  /** No AUTH, or only in ways that this client does not have. */
  | { kind: 'not-offered' }
  | { kind: 'lost' };

const base64 = (text: string) => Buffer.from(text, 'utf8').toString('base64');

async function plain(request: AuthRequest): Promise<Reply | null> {
  return request.ask(`AUTH PLAIN ${base64(`\0${request.user}\0${request.pass}`)}`, 'AUTH PLAIN (secret)');
}

async function login(request: AuthRequest): Promise<Reply | null> {
  const first = await request.ask('AUTH LOGIN', 'AUTH LOGIN');
  if (first?.code !== 334) return first;
  const second = await request.ask(base64(request.user), '(user)');
  if (second?.code !== 334) return second;
  return request.ask(base64(request.pass), '(secret)');
}

/** Uses PLAIN if offered, otherwise LOGIN. */
export async function authenticate(request: AuthRequest): Promise<AuthResult> {
  if (request.user.includes('\0') || request.pass.includes('\0')) {
    return { kind: 'impossible', detail: 'user name or password holds NUL' };
  }
  const mechanism = ['PLAIN', 'LOGIN'].find((name) => request.offered.includes(name));
  if (mechanism === undefined) return { kind: 'not-offered' };
  const reply = await (mechanism === 'PLAIN' ? plain(request) : login(request));
  if (reply === null) return { kind: 'lost' };
  return reply.code === 235 ? { kind: 'authenticated' } : { kind: 'refused', reply };
}
