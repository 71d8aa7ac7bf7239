/**
 * AUTH PLAIN and LOGIN (RFC 4954, RFC 4616) for relays.
 * Given: what the server offers, name and password, and a way to ask one command. Leaves behind: an authenticated
 * connection, or the reply or reason why not. The secret goes to the socket only; the log gets a placeholder.
 */
import type { Reply } from './reply.ts';

export interface AuthRequest {
  /** Mechanisms offered, upper case. */
  offered: readonly string[];
  user: string;
  pass: string;
  /** Sends one command (shown in the log as `shown`) and gives the reply, or null when the connection ended. */
  ask(command: string, shown: string): Promise<Reply | null>;
}

export type AuthResult =
  | { kind: 'authenticated' }
  | { kind: 'refused'; reply: Reply }
  | { kind: 'impossible'; detail: string }
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

/** PLAIN if offered, else LOGIN. */
export async function authenticate(request: AuthRequest): Promise<AuthResult> {
  if (request.user.includes('\0') || request.pass.includes('\0')) {
    return { kind: 'impossible', detail: 'user name or password holds NUL' };
  }
  const mechanism = ['PLAIN', 'LOGIN'].find((name) => request.offered.includes(name));
  if (mechanism === undefined) {
    return { kind: 'impossible', detail: 'the server offers neither AUTH PLAIN nor AUTH LOGIN' };
  }
  const reply = await (mechanism === 'PLAIN' ? plain(request) : login(request));
  if (reply === null) return { kind: 'lost' };
  return reply.code === 235 ? { kind: 'authenticated' } : { kind: 'refused', reply };
}
