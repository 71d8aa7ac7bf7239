/** A relay as the key `route` has it. Pure. */

export interface RelayAnswers {
  host: string;
  port: number;
  implicitTls: boolean;
  /** '' = no login. */
  user: string;
  password: string;
}

/** `smtp://user:password@host:port`, with special characters percent-encoded. */
export function relayUrl({ host, port, implicitTls, user, password }: RelayAnswers): string {
  const login = user === '' ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  const name = host.includes(':') ? `[${host}]` : host;
  return `${implicitTls ? 'smtps' : 'smtp'}://${login}${name}:${port}`;
}
