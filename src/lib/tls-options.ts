/**
 * What TLS needs on every connection, of listeners and towards other servers: TLS 1.2 or newer (RFC 8997, RFC 8314 §4.1), and
 * no second handshake. In TLS 1.2 either side may ask for one at any time, which costs the other one as much as a new
 * connection, and Node's limit works for `tls.Server` alone. Nothing here needs one, and TLS 1.3 has none.
 */
import { constants } from 'node:crypto';

export const TLS_OPTIONS = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;
