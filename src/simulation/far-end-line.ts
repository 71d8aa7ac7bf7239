/**
 * The server's end of a connection in memory: bytes in clear text, or through TLS after STARTTLS, whose handshake may
 * fail or never end. Replies are collected until `flush`.
 */
import type { ClientHalf } from './network.ts';

/** The far end's half of a connection after STARTTLS, in clear text inside. */
export interface SecureHalf {
  /** Bytes as they come over the network. */
  received(bytes: Buffer): void;
  say(text: string): void;
  hangUp(how: 'end' | 'reset'): void;
  gone(): void;
}

export interface LineDeps {
  /** Makes the TLS side of a connection; if absent, no site may offer TLS. */
  secureHalf?(client: ClientHalf, heard: { secured(): void; data(bytes: Buffer): void }): SecureHalf;
  /** Told how a TLS handshake ended at a site. */
  tls?(site: string, how: TlsEnd): void;
}

/** `definite`: after two of these in a row, a host with which TLS did not work recently gets mail without TLS for a day. */
export type TlsEnd = 'secure' | 'fault' | 'definite';

/** A fatal alert: handshake_failure (RFC 8446 §6.2). */
const HANDSHAKE_FAILURE = '\x15\x03\x01\x00\x02\x02\x28';

/** `heard` gets what the client said, in clear text. */
export function createLine(client: ClientHalf, site: string, deps: LineDeps, heard: (bytes: Buffer) => void) {
  let out = '';
  let secure: SecureHalf | null = null;
  let isSecure = false;
  /** STARTTLS was answered with 220, but the handshake fails with an alert (`broken`) or gets no answer (`mute`). */
  let inHandshake: 'broken' | 'mute' | null = null;

  return {
    isSecure: () => isSecure,
    received(bytes: Buffer): void {
      if (secure !== null) secure.received(bytes);
      else if (inHandshake === null) heard(bytes);
      else if (inHandshake === 'broken') client.say(HANDSHAKE_FAILURE);
    },
    gone(): void {
      // A handshake without an answer ends when the client gives up.
      if (inHandshake !== null) deps.tls?.(site, 'fault');
      secure?.gone();
    },
    say,
    flush,
    hangUp(how: 'end' | 'reset'): void {
      if (secure === null) client[how]();
      else secure.hangUp(how);
    },
    /** Answers STARTTLS; the handshake that follows fails. */
    failHandshake(how: 'broken' | 'mute'): void {
      ready();
      inHandshake = how;
    },
    /** Answers STARTTLS; `secured`: the handshake that follows succeeded. */
    startTls(secured: () => void): void {
      ready();
      if (deps.secureHalf === undefined) throw new Error(`${site} offers TLS, and nothing here does it`);
      secure = deps.secureHalf(client, {
        secured() {
          isSecure = true;
          secured();
        },
        data: heard,
      });
    },
  };

  function ready(): void {
    say('220 2.0.0 ready');
    flush();
  }

  function say(text: string): void {
    out += `${text}\r\n`;
  }

  function flush(): void {
    if (out === '') return;
    if (secure === null) client.say(out);
    else secure.say(out);
    out = '';
  }
}
