/**
 * A listener on a free loopback port for the tests of this folder: real access control, real sockets, virtual time if
 * a test needs it. Takes the parts that a test cares about; returns a running listener, a token maker and a small
 * client. `close()` ends everything.
 */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createSystemRandom } from '../../lib/random.ts';
import { createSealer } from '../../lib/seal.ts';
import type { MessageId } from '../../model/message.ts';
import { PRESETS, type Token } from '../../model/token.ts';
import type { AcceptRequest, AcceptResult } from '../../pipeline/accept/acceptance.ts';
import { createAccess, type MintRequest } from '../../policy/access/access.ts';
import { createKnownDevices } from '../../policy/access/known-devices.ts';
import { createHashTurns, createPasswords } from '../../policy/access/password-hash.ts';
import { createPeople } from '../../policy/access/people.ts';
import { createRefusals } from '../../policy/access/refusals.ts';
import { createSecondFactors } from '../../policy/access/second-factor.ts';
import { createSessions, withSessions } from '../../policy/access/sessions.ts';
import { createSmtpCredentials } from '../../policy/access/smtp-credentials.ts';
import { createSendRate } from '../../policy/limits/send-rate.ts';
import type { HttpDeps, HttpOptions } from './deps.ts';
import { createHttpListener } from './server.ts';

export interface Reply {
  status: number;
  headers: Record<string, string | undefined>;
  text: string;
  json: () => Record<string, unknown>;
}

export interface SendOptions {
  headers?: Record<string, string>;
  body?: string | Uint8Array;
}

/** The listener's end of the next connection that any server of this process takes. */
export function nextConnection(): Promise<Socket> {
  return new Promise((resolve) => {
    const taken = (message: unknown) => {
      unsubscribe('net.server.socket', taken);
      resolve((message as { socket: Socket }).socket);
    };
    subscribe('net.server.socket', taken);
  });
}

/** One request; the connection is closed afterwards. `headers` are sent unchanged. */
export function send(url: string, method: string, options: SendOptions = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers: options.headers ?? {}, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string | undefined>,
          text,
          json: () => JSON.parse(text) as Record<string, unknown>,
        });
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(options.body);
  });
}

/** Tokens and keys in memory: a store for listener tests that only concern access control. */
export function tokenMemory() {
  const tokens = new Map<string, Token>();
  const keys: { kid: string; privateSealed: Uint8Array; publicJwk: string; createdAt: number }[] = [];
  return {
    signingKeys: async () => keys,
    addSigningKey: async (key: (typeof keys)[number]) => {
      keys.push(key);
    },
    getToken: async ({ id }: { id: string }) => tokens.get(id) ?? null,
    addToken: async ({ token }: { token: Token }) => {
      tokens.set(token.id, token);
      return true;
    },
    revokeToken: async ({ id, now }: { id: string; now: number }) => {
      const token = tokens.get(id);
      if (token === undefined) return false;
      token.revokedAt ??= now;
      return true;
    },
    rotateToken: async ({ token }: { token: Token }) => {
      tokens.set(token.id, token);
      return true;
    },
    touchToken: async () => {},
    listTokens: async () => [...tokens.values()],
    // Nothing is ever captured here.
    onCaptured: () => () => {},
    unreadCaptures: async () => [],
  };
}

/** Records its calls; used in tests that only concern the listener. */
export function recordingAcceptance(answer?: (request: AcceptRequest) => Promise<AcceptResult>) {
  const requests: AcceptRequest[] = [];
  return {
    requests,
    accept(request: AcceptRequest): Promise<AcceptResult> {
      requests.push(request);
      const messageId = '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b' as MessageId;
      return answer === undefined ? Promise.resolve({ kind: 'accepted', messageId }) : answer(request);
    },
    acceptBatch: () => Promise.reject(new Error('no batch is expected here')),
    release: () => Promise.reject(new Error('no release is expected here')),
    check: () => Promise.reject(new Error('no check is expected here')),
    close() {},
    personalOptions: async () => null,
    refusing: () => null,
  };
}

export const testSealer = createSealer([{ id: 'test', secret: new Uint8Array(32).fill(7) }]);

const silent = () => {};
export const quietLog = { info: silent, warn: silent, error: silent, debug: silent };

/** A started listener around `parts`. */
export async function startListener(
  parts: Partial<HttpDeps> & { store: HttpDeps['store'] },
  options: Partial<HttpOptions> = {},
  clock: Clock = systemClock,
) {
  const random = createSystemRandom();
  const shared = { store: parts.store, clock, random, log: quietLog };
  // The lowest scrypt cost: no test depends on it.
  const passwords = createPasswords({ random, hashTurns: createHashTurns() }, { log2: 4, r: 1, p: 1 });
  const secondFactors = createSecondFactors({ ...shared, sealer: testSealer });
  const devices = createKnownDevices({ ...shared, key: new Uint8Array(32) });
  const sessions = createSessions({ ...shared, passwords, secondFactors, devices });
  const people = createPeople({ ...shared, passwords, sessions });
  const instanceId = '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
  const own = createAccess({ ...shared, sealer: testSealer, instanceId });
  const access = parts.access ?? withSessions(own, sessions);
  const guard = { standing: () => null, warned: () => [] };
  const refusals = createRefusals({ clock, random, log: quietLog, count: silent });
  const deps = {
    access,
    people,
    sessions,
    secondFactors,
    smtpCredentials: createSmtpCredentials(shared),
    submission: () => [],
    fingerprintKey: testSealer.deriveKey('fingerprints'),
    clock,
    random,
    guard,
    refusals,
    sendRate: createSendRate(clock, { perSecond: null }),
    log: quietLog,
    ...parts,
  } as HttpDeps;
  const listener = createHttpListener(deps, options);
  await listener.start();
  const { url, port } = listener.address();
  return {
    listener,
    access,
    people,
    url,
    port,
    async token(given: Partial<MintRequest> = {}): Promise<string> {
      const minted = await access.mint({
        name: 'test',
        domains: ['example.com'],
        scopes: [...PRESETS.Default],
        expiresInSeconds: 3600,
        sandbox: false,
        ipAllowList: [],
        rateLimit: null,
        ...given,
      });
      return minted.jwt;
    },
    close: () => listener.stop(1000),
  };
}
