/**
 * What TLS needs on every connection, of listeners and towards other servers: TLS 1.2 or newer (RFC 8997, RFC 8314 §4.1), and
 * no second handshake. In TLS 1.2 either side may ask for one at any time, which costs the other one as much as a new
 * connection, and Node's limit works for `tls.Server` alone. Nothing here needs one, and TLS 1.3 has none. And no
 * Diffie-Hellman in a group that the server makes up: with 10,000 bits it holds the event loop for a second. Whoever has no
 * elliptic curves, nor TLS 1.3 with its fixed groups, has RSA.
 */
import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';

const NO_MADE_UP_GROUPS = '!kDHE';

export const TLS_OPTIONS = {
  minVersion: 'TLSv1.2',
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  ciphers: `${DEFAULT_CIPHERS}:${NO_MADE_UP_GROUPS}`,
} as const;

/** Towards servers whose mail would go in the clear otherwise: old versions are better than none; OpenSSL 3 disables them by its security level. */
export const OLD_TLS_OPTIONS = {
  ...TLS_OPTIONS,
  minVersion: 'TLSv1',
  ciphers: `DEFAULT:${NO_MADE_UP_GROUPS}:@SECLEVEL=0`,
} as const;
