/**
 * The SMTP submission listener (RFC 6409): up to two ports, one without TLS that offers STARTTLS, one that begins with
 * TLS (RFC 8314). Each connection gets its own handler. Here it is decided, by the peer's address, who may send without
 * a login.
 */

import { isLoopbackAddress } from '../../lib/loopback.ts';
import type { Certificates } from '../../lib/server-certificates.ts';
import type { Service } from '../../lib/service.ts';
import type { Caller } from '../../model/submission.ts';
import { addressKey, networkKey } from '../../policy/access/failed-logins.ts';
import { createSmtpPorts, type ListenAddress } from '../../smtp/server-listener.ts';
import { SERVER_LIMITS, type ServerLimits } from '../../smtp/server-types.ts';
import { createSubmissionHandler, type HandlerDeps } from './submission-handler.ts';

export interface SubmissionListener extends Service {
  /** The real addresses of the ports, after `start()`. */
  addresses(): { submission: ListenAddress | null; submissionTls: ListenAddress | null };
}

export interface SubmissionDeps extends HandlerDeps {
  certificates: Certificates;
}

export interface SubmissionOptions {
  /** Port 0 = any free one; null = no such port. */
  submission: ListenAddress | null;
  submissionTls: ListenAddress | null;
  hostname: string;
  /** The port without TLS offers STARTTLS. */
  startTls: boolean;
  /** Settings for development only; null = none. */
  development: {
    /** Peers on loopback send without a login, or with any, as this caller. */
    anybody: Caller;
    /** Mail does not leave this machine, so `noreply@localhost` is a valid address. */
    anyAddress: boolean;
  } | null;
  maxConnections: number;
  maxConnectionsPerAddress: number;
  /** Octets that all arriving messages may hold together. */
  maxMemoryBytes: number;
  limits: ServerLimits;
}

export const DEFAULT_SUBMISSION_OPTIONS: Omit<SubmissionOptions, 'hostname'> = {
  submission: null,
  submissionTls: null,
  startTls: true,
  development: null,
  maxConnections: 500,
  maxConnectionsPerAddress: 50,
  maxMemoryBytes: 256 * 1024 * 1024,
  limits: SERVER_LIMITS,
};

/** Nothing listens before `start()`, which rejects if a port is in use. */
export function createSubmissionListener(
  deps: SubmissionDeps,
  given: Partial<SubmissionOptions> & { hostname: string },
): SubmissionListener {
  const options: SubmissionOptions = { ...DEFAULT_SUBMISSION_OPTIONS, ...given };
  const { hostname, submission, submissionTls, startTls, development } = options;
  const ports = createSmtpPorts(
    {
      clock: deps.clock,
      log: deps.log,
      certificates: deps.certificates,
      peerKey: addressKey,
      ownerKey: networkKey,
      terms({ ip }) {
        const anybody = isLoopbackAddress(ip) ? (development?.anybody ?? null) : null;
        const minLabels = development?.anyAddress === true ? 1 : 2;
        return {
          handler: createSubmissionHandler(deps, { hostname, ip, anybody, minLabels }),
          // A development server that is open to a container network has no TLS that clients would trust.
          auth: {
            required: anybody === null,
            plainText: anybody !== null || (development !== null && !startTls),
          },
          limits: options.limits,
          startTls,
          minLabels,
        };
      },
    },
    {
      ports: [
        ...(submission === null ? [] : [{ ...submission, implicitTls: false }]),
        ...(submissionTls === null ? [] : [{ ...submissionTls, implicitTls: true }]),
      ],
      hostname,
      maxConnections: options.maxConnections,
      maxConnectionsPerAddress: options.maxConnectionsPerAddress,
      maxMemoryBytes: options.maxMemoryBytes,
      dsn: true,
    },
  );
  return {
    start: () => ports.start(),
    stop: (deadlineMs) => ports.stop(deadlineMs),
    addresses() {
      const [first = null, second = null] = ports.addresses();
      return submission === null
        ? { submission: null, submissionTls: first }
        : { submission: first, submissionTls: second };
    },
  };
}
