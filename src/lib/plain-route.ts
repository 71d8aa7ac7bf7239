/**
 * A route at the root of the API's port without the API's authentication: health, public keys, personal links, the
 * dashboard, the pages of the reference. Each listener makes its own; `listeners/http` mounts them and asks them. What a
 * handler throws becomes a problem of the API.
 */
import type { Readable } from 'node:stream';

export interface PlainRoute {
  method: 'GET' | 'POST';
  /** From the root, e.g. `/healthz`. */
  path: string;
  /** Answered also while the listener stops (health). */
  whileStopping?: boolean;
  /** Octets of a request body; default: the listener's own limit. */
  maxBodyBytes?: number;
  handle(request: PlainRequest): Promise<PlainAnswer> | PlainAnswer;
}

export interface PlainRequest {
  /** HEAD is given to the route of GET. */
  method: string;
  /** The requested host, without the port, also behind a trusted proxy. */
  host: string;
  params: Readonly<Record<string, string>>;
  header(name: string): string | undefined;
  /** The client's address, as far as trusted proxies tell it. */
  ip: string;
}

export interface PlainAnswer {
  status: number;
  /** A list is sent as so many headers of that name. */
  headers?: Readonly<Record<string, string | string[]>>;
  /** A text is JSON unless the headers say otherwise. A stream is read as fast as the client takes it. */
  body: string | Uint8Array | Readable;
}
