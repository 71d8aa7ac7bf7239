/** Where the listener is reached: its address once it listens, and the URL that links in answers begin with. */
import type { AddressInfo } from 'node:net';

export interface OwnAddress {
  /** After it has begun to listen. */
  listens(address: AddressInfo): void;
  /** Throws before. */
  address(): { host: string; port: number; url: string };
  /** Base of links, without a slash at its end; '' if it is not configured and nothing listens yet. */
  publicUrl(): string;
  /** Whether everybody else reaches it by https. */
  readonly isPublicByTls: boolean;
}

/** `configured`: the URL that everybody uses. `derive`: of a listener without it. */
export function createOwnAddress(
  configured: string | undefined,
  derive: (() => string) | undefined,
): OwnAddress {
  let listening: { host: string; port: number; url: string } | null = null;

  return {
    listens({ family, address, port }) {
      const host = family === 'IPv6' ? `[${address}]` : address;
      listening = { host: address, port, url: `http://${host}:${port}` };
    },
    address() {
      if (listening === null) throw new TypeError('the HTTP listener has not started');
      return listening;
    },
    publicUrl: () => configured ?? derive?.() ?? listening?.url ?? '',
    isPublicByTls: configured?.startsWith('https://') === true,
  };
}
