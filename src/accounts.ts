/**
 * Builds access control: tokens, SMTP logins, people and their sessions, the send rate of each, and the administrator's own
 * token, which is created at the first start and again when it is no longer valid.
 */
import type { DataFolder } from './data-folder.ts';
import type { Clock } from './lib/clock.ts';
import type { Logger } from './lib/log.ts';
import type { Random } from './lib/random.ts';
import type { Sealer } from './lib/seal.ts';
import type { GuardedHttp } from './net/guarded-http.ts';
import { type Access, createAccess } from './policy/access/access.ts';
import {
  createIdentityProvider,
  type IdentityProvider,
  type IdentitySettings,
} from './policy/access/identity-provider.ts';
import { createKnownDevices } from './policy/access/known-devices.ts';
import { createHashTurns, createPasswords } from './policy/access/password-hash.ts';
import { createPeople, type People } from './policy/access/people.ts';
import { createRefusals, type Refusals } from './policy/access/refusals.ts';
import { createSecondFactors, type SecondFactors } from './policy/access/second-factor.ts';
import { createSessions, type Sessions, withSessions } from './policy/access/sessions.ts';
import { createSmtpCredentials } from './policy/access/smtp-credentials.ts';
import { createSendRate, type SendRate } from './policy/limits/send-rate.ts';
import type { Store } from './store/store.ts';

/** Authentication of callers, and the administrator's token. */
export interface Accounts {
  access: Access;
  smtpCredentials: ReturnType<typeof createSmtpCredentials>;
  people: People;
  sessions: Sessions;
  secondFactors: SecondFactors;
  /** null = none is configured. */
  identityProvider: IdentityProvider | null;
  sendRate: SendRate;
  /** Recent refusals of all listeners. */
  refusals: Refusals;
  /** Also in the file `admin-token`. */
  adminToken: string;
  /** Another node has changed tokens, credentials or people. */
  readAgain(): void;
}

/** `perSecond`: sends per second of a token without its own limit. `identity`: null = people sign in by passwords only. */
export async function openAccounts(
  deps: {
    store: Store;
    clock: Clock;
    random: Random;
    sealer: Sealer;
    instanceId: string;
    log: Logger;
    mailLog: Logger;
    countRefusal: Parameters<typeof createRefusals>[0]['count'];
    /** HTTP to hosts that the operator chose, and to others. */
    operatorHttp: GuardedHttp;
    http: GuardedHttp;
  },
  folder: Pick<DataFolder, 'adminToken'>,
  options: Parameters<typeof createSendRate>[1] & {
    identity: IdentitySettings | null;
    requiresSecondFactor: boolean;
  },
): Promise<Accounts> {
  const hashTurns = createHashTurns();
  const passwords = createPasswords({ ...deps, hashTurns });
  const secondFactors = createSecondFactors(deps);
  const devices = createKnownDevices({ ...deps, key: deps.sealer.deriveKey('known-devices') });
  const sessions = createSessions({ ...deps, passwords, secondFactors, devices }, options);
  const access = withSessions(createAccess(deps), sessions);
  const isUsable = (jwt: string): Promise<boolean> =>
    access.authenticate(`Bearer ${jwt}`, '127.0.0.1').then(
      () => true,
      () => false,
    );
  const adminToken = await folder.adminToken(async (existing) => {
    if (existing !== null && (await isUsable(existing))) return existing;
    const minted = await access.mint({
      name: 'admin',
      domains: ['*'],
      scopes: ['admin'],
      expiresInSeconds: null,
      sandbox: false,
      ipAllowList: [],
      rateLimit: null,
    });
    return minted.jwt;
  });
  const smtpCredentials = createSmtpCredentials({ ...deps, hashTurns });
  return {
    access,
    smtpCredentials,
    people: createPeople({ ...deps, passwords, sessions }),
    sessions,
    secondFactors,
    identityProvider:
      options.identity === null
        ? null
        : createIdentityProvider({ ...deps, own: deps.operatorHttp }, options.identity),
    refusals: createRefusals({ ...deps, log: deps.mailLog, count: deps.countRefusal }),
    sendRate: createSendRate(deps.clock, options),
    adminToken,
    readAgain() {
      access.readAgain();
      smtpCredentials.forget();
      sessions.forget();
    },
  };
}
