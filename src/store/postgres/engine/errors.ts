/**
 * The meaning of an error of PostgreSQL, or of the connection to it: "cannot work now" (server stopped, restarting,
 * read-only, disk full), a conflict between transactions that is solved by running one again, or a bug. Codes:
 * appendix A of the PostgreSQL manual.
 */
import { StoreRefused } from '../../shared/refusal.ts';
import { StoreUnavailable } from '../../store.ts';

/** Of one process: what it opens where it may, and the fewest with which no work waits for other work until it fails. */
export const CONNECTIONS = { most: 12, fewest: 4 };

/** Classes of codes, and single codes, after which the same call may succeed later. */
const UNAVAILABLE: Readonly<Record<string, string>> = {
  '08': 'the connection to the database failed',
  '25006':
    'the database is read-only: set default_transaction_read_only to off where it is on, for the server, the database or the role',
  '25P03': 'the database ended a transaction in which this process was silent, as after a pause',
  '25P04': 'the database ended a transaction for its transaction_timeout: set it to 0 for the role',
  '26000': 'the database does not keep prepared statements',
  '42P05': 'the database does not keep prepared statements',
  '28P01':
    'the database refuses the password: if it was changed, start this process again with the new one in database-password, database or PGPASSWORD',
  '28': 'the database refuses the login',
  '3D000': 'the database does not exist',
  '42P01':
    'its tables are not in the database: a restore has not made them yet, or the search_path of the role or the database names another schema',
  '42501': 'the role may not do this in the database: make it the owner of the tables',
  '53300': `the database has no connection left for this process, which needs ${CONNECTIONS.fewest} and uses up to ${CONNECTIONS.most}: raise its max_connections, or the CONNECTION LIMIT of the role or the database`,
  '53100': 'the disk of the database is full',
  '53400':
    'the database limits temporary files too much: raise temp_file_limit of the server, the database or the role',
  '53': 'the database is out of resources',
  '55P03': 'the database is locked',
  '57014': 'the database ended what took too long',
  '57P03': 'the database takes no connections now',
  '57': 'the database is stopping or ended the work',
  '58': 'the disk of the database reports errors',
  XX001: 'the database is damaged',
  XX002: 'the database is damaged',
};

/** Codes of Node's sockets and resolver. */
const SOCKET = /^E[A-Z]+$/;

const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';
const UNIQUE_VIOLATION = '23505';

/** The code of an error of the server (five characters) or of a socket; null for any other error. */
export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** No connection could be made, so nothing was sent. */
export class NotConnected extends Error {
  constructor(cause: unknown) {
    super('No connection to the database', { cause });
  }
}

/**
 * Whether the transaction had no effect and may be run again at once. For example, another transaction has just
 * stored a row that this one did not find; when repeated, it will find the row.
 */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === SERIALIZATION_FAILURE || code === DEADLOCK || code === UNIQUE_VIOLATION;
}

/** Why the engine cannot work now, as a text, or null if the error has another meaning. */
export function unavailableReason(error: unknown): string | null {
  if (error instanceof StoreUnavailable || error instanceof StoreRefused) return error.message;
  if (error instanceof NotConnected) {
    const { cause } = error;
    return unavailableReason(cause) ?? `there is no connection to the database (${String(cause)})`;
  }
  if (!(error instanceof Error)) return null;
  const code = codeOf(error);
  if (code !== null) {
    const words = UNAVAILABLE[code] ?? UNAVAILABLE[code.slice(0, 2)];
    if (words !== undefined && !SOCKET.test(code)) return `${words} (${error.message})`;
    return SOCKET.test(code) ? `the database cannot be reached (${error.message || code})` : null;
  }
  if (error.message === NO_ANSWER_YET)
    return `the database takes the login and does not answer: if a pooler is between, its pool has no connection left (default_pool_size of pgbouncer: up to ${CONNECTIONS.most} for each process); otherwise look at the server and the network (${error.message})`;
  if (isSilence(error))
    return `the database does not answer: look at its server, and at the network between (${error.message})`;
  // pg's own, which have no code.
  return /^(Connection terminated|Client has encountered)/.test(error.message)
    ? `the connection to the database failed (${error.message})`
    : null;
}

export const NO_ANSWER = 'no answer in time';
/** To the first statement: a pooler takes the login by itself, and lets the statement wait for a connection of the server. */
export const NO_ANSWER_YET = 'no answer since the login';

/** Whether nothing came in time, neither an answer nor the end of the connection. The last is pg's own, of connecting. */
export function isSilence(error: unknown): boolean {
  return error instanceof Error && [NO_ANSWER, NO_ANSWER_YET, 'timeout expired'].includes(error.message);
}

/** Whether the server said it. */
export function isAnswer(error: unknown): boolean {
  const code = codeOf(error) ?? '';
  return /^[0-9A-Z]{5}$/.test(code) && !SOCKET.test(code);
}

/** Whether only this call failed, because it took too long or waited for a lock: the server answered. */
export function isOfOneCall(error: unknown): boolean {
  const code = codeOf(error);
  return code === '57014' || code === '55P03';
}

/** Whether a setting that the session got when it began makes it fail: the next session may have another. */
export function isOfSession(error: unknown): boolean {
  return codeOf(error) === '25006';
}

/** Whether the server, the database or the role has as many connections as it may have. */
export function isOutOfConnections(error: unknown): boolean {
  return codeOf(error) === '53300';
}

/** Whether the connection is unusable, and an answer may have been lost with it. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof NotConnected) return false;
  const code = codeOf(error);
  if (code === null) return unavailableReason(error) !== null;
  return SOCKET.test(code) || code.startsWith('08') || /^(57P0[1-5]|25P0[34])$/.test(code);
}
